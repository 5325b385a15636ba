/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream as capture knows it: its commands' positions, and what other streams' commands are known
 * to be complete when its own are. That is kept as edges: "what this stream is given after position
 * `at` runs after position `position` of stream `from`". They serve to tell which bytes the device
 * has given back; an edge too few only means that a readback is recorded later.
 */
#ifndef CAPTURE_CALL_STREAMS_H
#define CAPTURE_CALL_STREAMS_H

#include "capture/capture.h"
#include "capture/lock.h"

#define TSM_EDGE_COUNT 64u /* the newest ones are kept */

struct tsm_running;
struct tsm_streams;

struct tsm_edge {
    uint64_t at;       /* last position of the waiting stream before the wait */
    uint64_t position; /* on the stream waited for */
    uint64_t ticks;    /* when the wait was sent */
    struct tsm_stream *from;
    uint16_t incarnation; /* of it */
    bool is_exact;        /* says nothing of commands before `position` */
    bool is_own;          /* ... and nothing of commands behind `at` + 1 */
};

struct tsm_stream {
    struct tsm_lock lock; /* held across an enqueueing call */
    struct tsm_turn {     /* of calls that put something on the stream without the lock */
        uint64_t last;    /* position of the last one */
        uint64_t past;    /* nobody waits for those up to here any more */
        uint32_t count;   /* in progress; grows under the lock */
        uint32_t word;    /* futex: changes when one returns */
        uint32_t waiters;
    } turn;
    uint32_t number;
    enum sbt_api api;
    uint16_t incarnation; /* changes when the stream is forgotten and another one is made of it */
    bool is_forgotten;
    uint64_t position;         /* of the last command */
    uint64_t stamp;            /* end of the last enqueueing call */
    uint64_t sent;             /* the driver has accepted the commands up to here */
    uint64_t completed;        /* the host knows that the commands up to here are complete */
    struct tsm_stream *legacy; /* synchronises implicitly with this one */
    uint64_t legacy_seen;      /* position of it that the last edge names */
    struct tsm_stream *joined; /* of a legacy stream: the list of those that join it */
    struct tsm_stream *next_joined, *previous_joined;
    struct tsm_stream *next_forgotten;
    uint64_t joined_seen; /* position of this one that the legacy stream's last edge names */
    uint64_t function;    /* position of the last function of the program that was sent */
    uint64_t left;        /* position of the last one that has returned */
    uint64_t hold;        /* position of the last command that may wait for the program: no exact
                             edge from before it tells of commands behind it */
    uint64_t function_ticks;
    void *user;          /* the source's own */
    uint32_t edge_count; /* ever made; edge i is edges[i % TSM_EDGE_COUNT] */
    struct tsm_edge edges[TSM_EDGE_COUNT];
};

/* Works like tsm_call_on_stream(). `locked`: the caller holds the stream's lock. */
void tsm_call_on_stream_slowly(struct tsm_call *call, struct tsm_stream *stream,
                               enum tsm_stream_use use, bool locked);

/* Waits until the calls in progress that put something on the stream have returned, for a limited
 * time. The lock is held before and after, not meanwhile. */
void tsm_turn_await(struct tsm_stream *stream);
extern uint64_t tsm_turn_limit_ns;

/* Takes the stream's lock; after tsm_turn_limit_ns from whoever holds it, and taints the trace. */
void tsm_stream_lock_wait(struct tsm_stream *stream);

/* A call begins that puts something on the stream without the lock, which is held. */
void tsm_turn_begin(struct tsm_stream *stream, uint64_t position);

/* ... and has returned. */
void tsm_turn_end(struct tsm_stream *stream, uint64_t position);

static inline bool tsm_turn_is_taken(const struct tsm_stream *stream)
{
    return __atomic_load_n(&stream->turn.count, __ATOMIC_ACQUIRE) != 0;
}

/* Note what the next command waits for: the legacy default stream, or those that join it. The
 * stream's lock is held. */
void tsm_stream_join(struct tsm_stream *stream);

/* Is there something to note? The stream's lock is held. */
static inline bool tsm_stream_is_joined(const struct tsm_stream *stream)
{
    const struct tsm_stream *legacy = stream->legacy;

    return __atomic_load_n(&stream->joined, __ATOMIC_RELAXED) ||
           (legacy && __atomic_load_n(&legacy->sent, __ATOMIC_ACQUIRE) != stream->legacy_seen);
}

/* The command at `position` was accepted by the driver. */
static inline void tsm_stream_sent(struct tsm_stream *stream, uint64_t position)
{
    if (__atomic_load_n(&stream->sent, __ATOMIC_RELAXED) < position)
        __atomic_store_n(&stream->sent, position, __ATOMIC_RELEASE);
}

/* Commands up to `position` are complete, and with them what they waited for. */
void tsm_stream_complete(struct tsm_stream *stream, uint64_t position);

/* The command behind `done` runs: what it waited for is complete, on its stream and on others. */
void tsm_stream_reached(uint32_t number, uint64_t done);
/* The function of the program at `position` returns. */
void tsm_stream_function_left(uint32_t number, uint64_t position);
/* Lists commands of other streams that the command behind `done` waits for, and none before it, and
 * which are not known to be complete. Returns how many, `capacity` at most. */
uint32_t tsm_stream_joined_at(uint32_t number, uint64_t done, struct tsm_running *out,
                              uint32_t capacity);

/* Completes the streams that commands of `stream` sent before `ticks` had to wait for. Call it when
 * these commands are complete. */
void tsm_stream_complete_waits(struct tsm_stream *stream, uint64_t ticks);
/* Tests whether the command at `position` of the stream waits, as far as it is known, until the one
 * at `of_position` of `of_stream`, which is not complete, is. */
bool tsm_stream_is_behind(const struct tsm_stream *stream, uint64_t position, uint32_t of_stream,
                          uint64_t of_position);

/* ---- functions of the program that the GPU calls ---- */

/* The command at `position` is one; now. */
void tsm_stream_function_sent(struct tsm_stream *stream, uint64_t position);

/* Is there one of which the host does not know that it has run? Cheap where there never was one. */
bool tsm_streams_await_functions(struct tsm_streams *streams);

/* Completes the host functions sent before `ticks` to `stream` (NULL: to all streams of `api`). */
void tsm_streams_functions_complete(struct tsm_streams *streams, enum sbt_api api,
                                    const struct tsm_stream *stream, uint64_t ticks);

#endif
