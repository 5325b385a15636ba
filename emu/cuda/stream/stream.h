/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and the commands in them.
 *
 * A command is done after the commands before it in its stream, and after those that it names with
 * emu_command_after(). Everything that orders streams is expressed that way: an event is the last
 * command before its record, a wait names it, and the legacy default stream names the last command
 * of each blocking stream (and they its last one). A wait for a value in memory is a command that
 * is not ready before the value is there.
 *
 * TS_EMU_STREAMS=concurrent (the default): a host thread per stream, started by its first command.
 * serial: one thread runs one command at a time, and only while the program waits for something, so
 * that all that was sent is there to choose from. Among the streams whose first command is ready,
 * TS_EMU_SCHEDULE chooses: fifo takes the oldest command (the order of the calls), reverse the
 * youngest, random any. The choice depends on nothing but the calls and the seed. So that a program
 * that watches memory without asking the driver goes on, waiting commands also run after a second
 * without any call. A function of the program that itself waits for the program is overtaken by
 * other streams (serial.c).
 */
#ifndef EMU_STREAM_H
#define EMU_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"
#include "tracesmith/trace.h"

struct emu_accesses;
struct emu_command;
struct emu_value;
struct emu_capture;
struct emu_edges;
struct tsm_device_work;
struct tsm_emu_ticket;

/* Functions of a kind of command. */
struct emu_command_type {
    /* Mandatory. On a thread of the stream, with no lock held. An error that is not
     * CUDA_SUCCESS stays with the context. */
    CUresult (*run)(struct emu_command *command);
    /* Optional: may it start? Called often; must be quick. */
    bool (*is_ready)(struct emu_command *command);
    /* Optional: release what the payload owns. Called once, also when `run` was not. */
    void (*finish)(struct emu_command *command);
    /* Optional: the payload was copied from another command: take what it owns once more. */
    void (*cloned)(struct emu_command *command);
    /* Optional: make one byte of what it has written wrong. */
    void (*spoil)(struct emu_command *command);
    /* Run it although the context has an error (callbacks that are told of it, frees). */
    bool runs_after_error;
    /* For graphs. 1 + the CUgraphNodeType that such a command is; 0: it cannot be in a graph. */
    int node;
    /* Say the command in the driver's terms; pointers in *out lead into the command. */
    void (*describe)(struct emu_command *command, CUgraphNodeParams *out);
    /* Optional: how to send what this template says, where that is not one command like it. */
    CUresult (*submit)(const struct emu_command *command, CUstream stream);
    /* A host thread that waits may run it, which saves two changes of threads: it calls nothing of
     * the program's. */
    bool runs_anywhere;
    /* It is the program's code that runs: a pause does not wait for it. */
    bool is_programs;
    /* Optional: says what the device has to do (*out is TSM_DEVICE_NONE). The instructions of a
     * kernel are known when it has run. */
    void (*measure)(const struct emu_command *command, struct tsm_device_work *out);
    /* Optional: when it has run, and before finish(), adds what of memory it has read and written,
     * with no lock held. False, or no such function: that is not known. */
    bool (*accesses)(const struct emu_command *command, struct emu_accesses *out);
    /* Optional: says which value in memory it waits for, or writes. */
    void (*value)(const struct emu_command *command, struct emu_value *out);
};

/* A value in memory that a command waits for, or writes. */
struct emu_value {
    enum sbt_value_access access;
    unsigned size; /* 4 or 8 */
    uint64_t address, value;
};

struct emu_command {
    const struct emu_command_type *type;
    CUstream stream;
    uint64_t number; /* order of submission in the process, from 1 */
    uint64_t mark;   /* of who sent it (emu/cuda/stream/outcomes.h) */
    /* Times: CLOCK_MONOTONIC, or virtual (emu/cuda/stream/virtual_time.h), which has all of them.
     */
    uint64_t arrival_ns; /* at the device */
    uint64_t after_ns;   /* not ready before that: the end of what was done when it was sent, ... */
    uint64_t ready_ns, start_ns;
    uint64_t done_ns; /* valid when done */
    bool is_done;     /* under the scheduler's lock: emu_command_is_done() */
    bool is_finished; /* the type's finish() was called */
    bool is_node;     /* virtual time: it waits for parents (emu/cuda/stream/node_order.h) */
    bool is_aside;    /* virtual time: it takes no time */
    /* Virtual time, of a command that has is_ready(): what that waits for is there, since when, and
     * by the end of which command; 0: it was not the device. */
    bool is_value_there;
    uint64_t brought_ns, brought_by;
    struct emu_command *next_awaiting; /* such one that is not done */
    /* Virtual time: numbers of those that emu_command_after() named. */
    uint64_t *awaited;
    size_t awaited_count, awaited_capacity;
    void *event; /* that it records, as a graph's node; never followed */
    unsigned references;
    struct tsm_emu_ticket
        *ticket;            /* of the call that sent it (emu/cuda/stream/ticket.h), or NULL */
    unsigned ticket_number; /* among the commands of that */
    struct emu_command *next;
    struct emu_command **after;
    size_t after_count;
    size_t after_capacity;
    size_t payload_size;
    _Alignas(16) uint8_t payload[];
};

struct CUstream_st {
    CUcontext context;
    unsigned flags; /* CU_STREAM_NON_BLOCKING */
    int priority;
    int sync_policy; /* CUsynchronizationPolicy; 0: not set */
    unsigned long long id;
    bool is_legacy;
    CUgreenCtx green;            /* that it was made in, or NULL */
    uint64_t thread;             /* of a per-thread default stream, else 0 */
    struct emu_capture *capture; /* under the captures' lock (emu/cuda/graph/capture.h) */
    struct emu_edges *captured;  /* what the next node depends on; owned */
    /* The rest is the scheduler's, under its lock. */
    bool has_worker;
    bool is_destroyed; /* no handle any more; goes when its last command is done */
    bool is_running;
    bool is_waiting;          /* its worker waits for the first command to become ready */
    uint64_t end_ns;          /* of the last command that is done */
    struct emu_command *head; /* not done; a running command stays here */
    struct emu_command *tail;
    pthread_cond_t wake;
    CUstream next; /* of all streams, in order of creation */
};

/* A command with a zeroed payload and one reference, or NULL when out of memory. */
struct emu_command *emu_command_create(const struct emu_command_type *type, size_t payload_size);
/* A new one of the same type and payload. The payload owns nothing, or the type has a `cloned`.
 * NULL: out of memory. */
struct emu_command *emu_command_clone(const struct emu_command *command);
void emu_command_ref(struct emu_command *command);
void emu_command_unref(struct emu_command *command); /* NULL: nothing */

/* `command`, not yet submitted, shall wait for `earlier` (NULL: nothing). False: out of memory. */
bool emu_command_after(struct emu_command *command, struct emu_command *earlier);

bool emu_command_is_done(struct emu_command *command);
/* Done, and the calling thread's clock is not before its end. */
bool emu_command_is_past(struct emu_command *command);
void emu_command_wait(struct emu_command *command);

/* Append. The stream takes a reference of its own; the caller keeps its one. */
CUresult emu_stream_submit(CUstream stream, struct emu_command *command);

/* emu_stream_submit(), then give the reference up, after waiting for the command if told to. The
 * context's error is the result when it has one. A stream that captures makes a node of it instead,
 * and refuses to wait. */
CUresult emu_stream_send(CUstream stream, struct emu_command *command, bool wait);

/* NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a handle -> a stream of the current context.
 * per_thread: NULL means the calling thread's default stream, as in the *_ptsz entry points. Does
 * what emu_enter() does first. */
CUresult emu_stream_enter(CUstream *out, CUstream handle, bool per_thread);

/* A number of the calling thread, never used again. */
uint64_t emu_thread_number(void);

/* Wait for all that was submitted: to the stream (the legacy stream: and all blocking ones), to the
 * context. The result is the context's error. */
CUresult emu_stream_synchronize(CUstream stream);
CUresult emu_context_synchronize(CUcontext context);

/* Nothing left to do, in the same sense? */
bool emu_stream_is_idle(CUstream stream);

/* Nothing left to do in any stream of any context, destroyed ones too? */
bool emu_streams_are_idle(void);

/* Makes later commands of `stream` wait for the commands sent to `leader` so far. */
CUresult emu_stream_follow(CUstream stream, CUstream leader);

/* A priority that streams can have. */
int emu_priority(int wanted);

/* `command` shall wait for all that was submitted to the context so far. False: out of memory. */
bool emu_command_after_context(struct emu_command *command, CUcontext context);

/* A command that does nothing: a place in a stream. */
extern const struct emu_command_type emu_command_mark;

/* thread: of a per-thread default stream, else 0. */
CUresult emu_stream_create(CUstream *out, CUcontext context, unsigned flags, int priority,
                           bool is_legacy, uint64_t thread);

/* Its commands run to their end first; the handle is destroyed at once. NULL: nothing. */
void emu_stream_destroy(CUstream stream);

/* All streams of the context, whose commands are done. */
void emu_context_destroy_streams(CUcontext context);

/* The per-thread default stream of a thread, created at first use; NULL: out of memory. */
CUstream emu_stream_of_thread(CUcontext context, uint64_t thread);

/* Call `callback` for every stream of the context that has a handle. Stops at the first error. */
CUresult emu_stream_each(CUcontext context, CUresult (*callback)(CUstream stream, void *user),
                         void *user);

/* Wait until nothing runs that can write memory of the device, and let nothing begin until
 * emu_resume(). CUDA_ERROR_NOT_READY, and no pause, when something still runs after ten seconds: a
 * kernel may wait for the host thread that asks. */
CUresult emu_pause(void);
void emu_resume(void);
/* A host thread that writes there itself, not through a command. May wait for the end of a pause.
 */
void emu_writing_begin(void);
void emu_writing_end(void);

/* In serial mode, let one command run if one can, so that a program that polls goes on. */
void emu_poll(void);

/* The program asks what is complete. The same, but in virtual time all runs that is ready by the
 * calling thread's clock, and the answer is what has ended by then. */
void emu_query(void);

#endif
