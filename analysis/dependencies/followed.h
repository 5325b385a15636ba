/* SPDX-License-Identifier: Apache-2.0
 *
 * State that edges.c follows: streams, events, threads, and contexts with their default streams.
 */
#ifndef ANALYSIS_DEPENDENCIES_FOLLOWED_H
#define ANALYSIS_DEPENDENCIES_FOLLOWED_H

#include "analysis/dependencies/edges.h"

/* Positions [first, end) of a stream that no record had so far, between two that have one. */
struct tsm_dependency_gap {
    uint64_t first, end, before_seq, after_seq;
};

struct tsm_dependency_stream {
    uint32_t number;
    bool is_default; /* it came with a context */
    bool is_apart;   /* made so that it does not join the default stream */
    bool is_recent;  /* in the list of its owner */
    bool is_loose;   /* its commands may overlap */
    size_t owner;    /* place + 1; 0: it has sent nothing */
    uint64_t group;  /* key of what it was made of beside a context; 0: nothing of the kind */
    uint64_t seq, position;        /* of its last command; 0: none */
    uint64_t returned_ns;          /* ... of its call */
    uint32_t sender;               /* ... its thread */
    struct tsm_vector_clock known; /* has ended when the last command begins; loose: when all of its
                                      commands have ended */
    size_t thread;                 /* place + 1 of the one whose knowledge is in `known` ... */
    uint64_t thread_version;       /* ... of then */
    uint64_t barrier_version;
    uint64_t activity;     /* number of its last command among all */
    size_t earlier, later; /* places + 1 of the streams whose last commands are next to that */
    struct tsm_dependency_gap *gaps;
    size_t gap_count, gap_capacity;
};

/* An event as it was recorded last. */
struct tsm_dependency_event {
    uint64_t seq, position, returned_ns;
    uint32_t stream, sender;
    uint64_t unseen; /* unseen_count when that was */
    struct tsm_vector_clock known;
};

struct tsm_dependency_thread {
    uint64_t seq;         /* of its last wait; 0: none */
    uint64_t returned_ns; /* ... of its call */
    bool is_begin;        /* ... which proves that a command has begun, not that it has ended */
    bool is_more;         /* its waits taught it more than `known` can hold */
    uint64_t version;     /* how often it has waited */
    struct tsm_vector_clock known;
    uint64_t owner, activity; /* it has waited for all commands of the owner (0: of all) up to it */
};

/* Streams of one context, or of a part of one. */
struct tsm_dependency_owner {
    uint64_t key;
    size_t held; /* place + 1 of the stream whose last command all wait for that is sent later */
    size_t default_stream; /* place + 1 of the one that sent last; 0: none */
    size_t *recent;        /* places of streams that sent after its last command and join it */
    size_t recent_count, recent_capacity;
};

/* Return what has this number, or id; a new one where it is not known. NULL: out of memory. Valid
 * until the next one is added. */
struct tsm_dependency_stream *tsm_dependency_stream_of(struct tsm_dependencies *d, uint32_t number);
struct tsm_dependency_event *tsm_dependency_event_of(struct tsm_dependencies *d, uint64_t id);
struct tsm_dependency_thread *tsm_dependency_thread_of(struct tsm_dependencies *d, uint32_t number);

/* Notes the stream that a call makes, if it makes one. */
int tsm_dependency_stream_created(struct tsm_dependencies *d, const struct tsm_call_node *call);
/* Notes what the stream belongs to, when it is sent to first. */
int tsm_dependency_stream_enter(struct tsm_dependencies *d, struct tsm_dependency_stream *s,
                                uint64_t owner);
/* Tests whether the stream belongs to what a key stands for. */
bool tsm_dependency_stream_is_of(const struct tsm_dependencies *d,
                                 const struct tsm_dependency_stream *s, uint64_t key);
/* Notes that what is sent to the streams of `key` from now on waits for the last command of `s`. */
int tsm_dependency_stream_holds(struct tsm_dependencies *d, const struct tsm_dependency_stream *s,
                                uint64_t key);
/* Returns the stream that holds back those of `key`; NULL: none. */
const struct tsm_dependency_stream *tsm_dependency_held_by(const struct tsm_dependencies *d,
                                                           uint64_t key);
/* Notes that the stream has a new last command. */
int tsm_dependency_stream_advance(struct tsm_dependencies *d, struct tsm_dependency_stream *s,
                                  const struct sbt_record *record);

/* Tests whether the driver got a call before it got that of the record: calls that two threads make
 * at once are in the trace in any order. */
bool tsm_dependency_is_before(uint32_t sender, uint64_t returned_ns,
                              const struct sbt_record *record);

/* A record may come after others that follow it on its stream: its call returned later. Returns
 * where it belongs; NULL: between which others is not known. */
struct tsm_dependency_gap *tsm_dependency_gap_find(const struct tsm_dependency_stream *s,
                                                   uint64_t position);

#endif
