/* SPDX-License-Identifier: Apache-2.0
 *
 * States over time: of each command, stream, engine and device, with the reason. A command is idle
 * before its first interval and finished behind its last one; but one that failed, or of which
 * nothing says that it finished, has a single interval from its call to the end of all: when it
 * began is not known. The intervals of all others cover the time from the first call to the last
 * end.
 */
#ifndef ANALYSIS_SCHEDULE_STATES_H
#define ANALYSIS_SCHEDULE_STATES_H

#include "analysis/schedule/critical.h"
#include "analysis/schedule/outcomes.h"

enum tsm_state {
    TSM_STATE_IDLE,    /* nothing was sent to it */
    TSM_STATE_PENDING, /* it could run as far as other commands go, and is not begun */
    TSM_STATE_WAIT,    /* for other commands */
    TSM_STATE_RUNNING,
    TSM_STATE_SENT,       /* it waited, ran or had ended at some time in it: nothing says when */
    TSM_STATE_UNFINISHED, /* nothing says that it has finished */
    TSM_STATE_FAILED,
    TSM_STATE_MAY_HAVE_FAILED, /* it or others, of which nobody knows more */
};

enum tsm_state_of {
    TSM_STATE_OF_COMMAND,
    TSM_STATE_OF_STREAM,
    TSM_STATE_OF_ENGINE, /* place: enum tsm_device_work_kind */
    TSM_STATE_OF_DEVICE,
    TSM_STATE_OF_COUNT
};

enum tsm_state_reason {
    TSM_REASON_NONE,
    TSM_REASON_HOST,    /* the host has sent nothing more */
    TSM_REASON_LATENCY, /* it is on its way to the device */
    TSM_REASON_STREAM,  /* for the command before it on its stream */
    TSM_REASON_DEFAULT, /* for a default stream, or what that waits for */
    TSM_REASON_EVENT,
    TSM_REASON_SIGNAL,  /* for a semaphore, or signal */
    TSM_REASON_GRAPH,   /* for another node, or the launch before */
    TSM_REASON_ENGINE,  /* which another command has */
    TSM_REASON_DEVICE,  /* of the device; not known */
    TSM_REASON_VALUE,   /* for a value in memory */
    TSM_REASON_FAILURE, /* of another command of its context */
    TSM_REASON_RUNNING, /* nothing else: it runs, or is about to, while the host waits */
    TSM_REASON_UNKNOWN, /* likewise, but nobody waits: perhaps it has finished */
    TSM_REASON_UNTIMED, /* it, or the command that it waits for, has no time */
};

struct tsm_state_interval {
    enum tsm_state_of of;
    enum tsm_state state;
    enum tsm_state_reason reason;
    uint32_t device, place; /* place: of the command, or of the stream, of the workload */
    uint32_t command;       /* that runs, or that waits; TSM_WORKLOAD_NONE: none */
    uint32_t by;            /* command that it waits for, likewise */
    uint32_t step;          /* HOST: the call that ends it, if it is known */
    uint64_t begin_ns, end_ns;
};

/* Something that cannot be. */
struct tsm_state_finding {
    uint32_t command;
    uint32_t
        before;     /* command that was not over when it began; NONE: it began before it was sent */
    uint64_t by_ns; /* so much too early, at least */
};

struct tsm_states {
    struct tsm_state_interval *list; /* by kind, device, place, begin */
    size_t count, capacity;
    struct tsm_state_finding *findings;
    size_t finding_count, finding_capacity;
};

/* Makes the states of a schedule. Finish them in any case. */
int tsm_states_make(struct tsm_states *out, const struct tsm_workload *w,
                    const struct tsm_prediction *s, const struct tsm_outcomes *outcomes);
void tsm_states_finish(struct tsm_states *states);

/* State and reason of a command that has not finished. */
enum tsm_state tsm_state_of_outcome(const struct tsm_command_outcome *outcome);
enum tsm_state_reason tsm_state_reason_of(const struct tsm_command_outcome *outcome);

/* "idle", "pending", "wait", "running", "not finished"...; "command", "stream"...; "host",
 * "latency"... */
const char *tsm_state_name(enum tsm_state state);
const char *tsm_state_of_name(enum tsm_state_of of);
const char *tsm_state_reason_name(enum tsm_state_reason reason);
/* "kernels", "to device"...: an engine by its number. */
const char *tsm_engine_name(uint32_t engine);

#endif
