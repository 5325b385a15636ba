/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a capture session, seen by all of capture/ and nobody else.
 *
 * A session belongs to one process. It is reached through `tsm_live`, a page that the kernel zeroes
 * in the child of a fork (MADV_WIPEONFORK): there the first call finds state 0 and starts a session
 * of its own, with memory, locks and lanes of its own; the parent's are never touched. The child of
 * vfork shares the page; what it may call before exec (flush, finish) compares process ids first.
 *
 * Who may wait for whom: threads of the program wait for the drain thread (space, a lane, the end)
 * and for short locks among each other. The drain thread waits for nobody and takes no lock that
 * the program can hold, the dynamic linker's included. Nobody holds a lock of ours while calling
 * something that takes the dynamic linker's.
 */
#ifndef CAPTURE_SESSION_H
#define CAPTURE_SESSION_H

#include "capture/capture.h"
#include "capture/lane/lane.h"
#include "capture/lock.h"

#include <signal.h>
#include <sys/types.h>

enum tsm_live_state {
    TSM_LIVE_NONE = 0, /* before the first call, and in the child of a fork */
    TSM_LIVE_ON,
    TSM_LIVE_PAUSED,
    TSM_LIVE_WAITING, /* for the start: what makes objects is recorded, commands are not */
    TSM_LIVE_STARTING,
    TSM_LIVE_OFF,
    TSM_LIVE_HELD, /* a checkpoint is being taken: calls wait until it is over */
};

struct tsm_live {
    uint32_t state; /* enum tsm_live_state; also a futex while STARTING and HELD */
    struct tsm_session *session;
};

extern struct tsm_live *tsm_live;

/* State of one thread. */
struct tsm_thread {
    struct tsm_session *session; /* `lane` belongs to this one */
    struct tsm_lane *lane;
    struct tsm_call *call; /* begun and not committed or dropped, NULL none */
    uint32_t inside;       /* code of ours that calls must not be recorded from */
    int cancel_state;      /* the program's, while `inside` */
};

/* Initial-exec: the default model may call malloc from a thread's first access. */
extern __thread struct tsm_thread tsm_thread __attribute__((tls_model("initial-exec")));

enum tsm_drain_state {
    TSM_DRAIN_STARTING = 0,
    TSM_DRAIN_RUNNING,
    TSM_DRAIN_FAILED, /* the trace cannot be written (any more); nothing is recorded */
    TSM_DRAIN_DONE,   /* the trace is complete */
};

/* Facts about a record type for the call path; an entry of session->types. */
#define TSM_TYPE_KIND  0x0fu /* enum sbt_kind */
#define TSM_TYPE_NEW   0x10u /* the trace lacks its API's description: see tsm_api_used() */
#define TSM_TYPE_STACK 0x20u /* carries a host stack under the present settings */
#define TSM_TYPE_OFF   0x40u /* API excluded by TS_APIS */
#define TSM_TYPE_EARLY 0x80u /* recorded while WAITING, too: objects cannot be made without it */

struct tsm_session {
    /* Read on every call. */
    uint8_t *types;    /* [api * TSM_TYPE_CALL_COUNT + call] */
    bool filtering;    /* some filter is set: see capture/call/filter.c */
    uint8_t apis_used; /* a bit for each enum sbt_api of which a call has begun */
    pid_t pid;

    struct tsm_settings settings;
    char path[TSM_PATH_MAX];       /* absolute */
    char lanes_path[TSM_PATH_MAX]; /* path + ".lanes" */
    uint8_t id[16];
    struct tsm_clock_pair start;
    uint64_t start_realtime_ns;

    /* lanes: made by the drain thread, handed out and taken back by capture/process/thread.c */
    struct tsm_lanes_header *lanes_header;
    struct tsm_lane *lanes; /* [TSM_LANE_COUNT_MAX] */
    uint32_t lane_count;
    struct tsm_lock lanes_lock;
    struct tsm_lane *free_lanes;
    uint32_t lanes_wanted; /* by threads that wait */
    uint32_t lanes_made;   /* futex: a request was answered */

    /* the drain thread */
    uint32_t drain_state;    /* enum tsm_drain_state; futex */
    struct tsm_drain *drain; /* its own state */
    uint32_t drain_signal;   /* futex: somebody wants something */
    uint32_t drain_sleeping;
    uint32_t flush_wanted; /* serial number of the last request ... */
    uint32_t flush_done;   /* ... and of the last one answered; futex */
    uint32_t finish_wanted;
    pid_t drain_thread;
    /* Children that were forked in a signal handler which may have interrupted code of ours. */
    uint32_t forked_count;
    int forked[64];
    uint32_t lanes_cut;   /* the lanes file was made shorter: what is in lanes is lost */
    bool lanes_guarded;   /* SIGBUS comes to us */
    uint32_t last_thread; /* futex: see capture/process/last_thread.c */
    sigset_t last_mask;
    bool end_at_once; /* no thread of the program is left, and libc knows it not */
    struct tsm_lock favour_lock;
    void (*favour)(void *argument); /* to be called by the drain thread; NULL when done */
    void *favour_argument;
    uint32_t favour_done;    /* futex */
    char drain_message[512]; /* why it failed */

    struct tsm_lock define_lock; /* lane 0 */
    struct tsm_intern *intern;
    struct tsm_stacks *stacks;
    struct tsm_pieces *pieces;
    struct tsm_handles *handles;
    struct tsm_streams *streams;
    struct tsm_readbacks *readbacks;
    struct tsm_hostmem *hostmem;
    struct tsm_values *values;
    struct tsm_filter *filter;
    struct tsm_notes *notes;
    struct tsm_mappings *mappings;

    uint64_t call_count;  /* when TS_STOP_CALL is set */
    uint64_t start_count; /* while WAITING, when TS_START_CALL is set */
    uint32_t mapping_busy;
    const char *stop_text; /* asked from outside; for the metadata */

    /* checkpoints */
    uint64_t command_count; /* when TS_CHECKPOINT is set */
    uint64_t checkpoint_due_command, checkpoint_due_ns;
    uint64_t checkpoint_retry_ns; /* after a failure not before */
    uint32_t checkpoint_failures; /* since the last one; changed while the state is HELD */
    uint32_t checkpoint_number;   /* of the last one begun ... */
    uint32_t checkpoint_count;    /* ... and how many are whole */
    struct tsm_checkpoint_run *checkpoint_run;
};

/* Start the session of this process, or wait until another thread has. Returns the new state. */
uint32_t tsm_session_start(void);

/* Nudge the drain thread. */
void tsm_session_nudge(struct tsm_session *session);

/* The session that this thread's process captures in, NULL when there is none. */
struct tsm_session *tsm_session_current(void);
/* That of this thread's call, also when it has been stopped since: the call is still recorded.
 * Outside of calls the current one. */
struct tsm_session *tsm_session_of_call(void);

/* This thread's lane in `session`; takes one when it has none. NULL: none to be had, counted. */
struct tsm_lane *tsm_thread_lane(struct tsm_session *session);

/* End the session from a thread that records nothing. */
void tsm_session_stop_quietly(struct tsm_session *session, const char *text);

#endif
