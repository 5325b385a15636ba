/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain thread's own state, shared by capture/lane/drain.c (the loop) and
 * capture/lane/drain_setup.c (what it does once, at the start).
 */
#ifndef CAPTURE_LANE_DRAIN_H
#define CAPTURE_LANE_DRAIN_H

#include "capture/call/declare.h"
#include "capture/lane/merge.h"
#include "capture/session.h"

#include <pthread.h>

struct tsm_drain_lane {
    struct tsm_lane_header *header;
    uint64_t head;         /* as read in this round */
    uint64_t flush_target; /* what a flush request must wait for */
    uint64_t flushed[2];   /* copy of the header's, so that it need not be touched */
};

struct tsm_drain {
    struct tsm_session *session;
    struct tsm_merge merge; /* merge.lanes[i], session->lanes[i] and lanes[i] belong together */
    struct tsm_drain_lane *lanes;
    size_t lane_capacity;
    int lanes_fd;
    int folder_fd; /* that the files are in, for a program that changes its root; -1 none */
    uint64_t lanes_file_size;
    struct tsm_clock_pair last_pair;
    uint64_t clock_due_ns;
    uint64_t awake_ns; /* CLOCK_BOOTTIME less CLOCK_MONOTONIC at the start; grows while the machine
                          sleeps */
    uint64_t slept_ns; /* since the start, as the trace says */
    uint64_t first_unflushed_ns; /* 0: everything is flushed */
    uint64_t unflushed;          /* bytes of lanes */
    uint64_t finish_seen_ns;     /* when somebody asked for the end */
    uint32_t flush_request;      /* being worked on; session->flush_done: none */
    uint64_t request_ns;
    int declare_error; /* what tsm_drain_declare() gave to nobody yet */
    struct tsm_declare *declare[TSM_TYPE_API_COUNT]; /* of APIs that are described bit by bit */
    bool waited_for;                                 /* some thread waits for space in its lane */
    bool has_membarrier;
    bool own_descriptors; /* the table of descriptors is not shared with the program */
    uint64_t last_thread_due_ns;
    bool main_ended; /* the program's first thread has ended, others go on */
    bool ending;     /* all have; the process is being ended */
};

/* Open the output, make lane 0 and the first lanes, begin the trace. Leaves drain_message. */
int tsm_drain_setup(struct tsm_drain *d);

/* Write what describes an API's records; what was written already is not written again. */
int tsm_drain_declare(struct tsm_drain *d, uint32_t api);
/* The file with the whole description is not needed any more. */
void tsm_drain_undeclare(struct tsm_drain *d);

/* Make at least `count` lanes and put them on the free list. */
int tsm_drain_add_lanes(struct tsm_drain *d, uint32_t count);

/* Continue the clock line from here. */
void tsm_drain_calibrate(struct tsm_drain *d);

/* ---- the program's last thread (capture/process/last_thread.c)
 * --------------------------------------- */

enum tsm_last_thread {
    TSM_THREAD_MAIN,  /* its first thread is there, or nothing is known */
    TSM_THREAD_OTHER, /* that one has ended, others are there */
    TSM_THREAD_NONE,  /* all have ended */
};

enum tsm_last_thread tsm_last_thread(const struct tsm_drain *d);

/* On a thread of the program, when recording has begun. */
void tsm_last_thread_begin(struct tsm_session *session);
/* Has exit(0) called, as libc would have done on the last thread. False: libc would not have. */
bool tsm_last_thread_leave(struct tsm_session *session);
/* Ends this thread, the last one, with the status of the first. */
void tsm_end_at_once(void);

#endif
