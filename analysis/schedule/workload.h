/* SPDX-License-Identifier: Apache-2.0
 *
 * A workload: the commands of a trace, the threads that send them and wait for them, and what each
 * one waits for. It says nothing of when: simulate.h does. Only of APIs whose commands on a stream
 * begin when those before them have ended (TSM_API_IN_ORDER).
 *
 * Places are numbers in its lists. TSM_WORKLOAD_NONE is none. About 300 bytes a command.
 */
#ifndef ANALYSIS_SCHEDULE_WORKLOAD_H
#define ANALYSIS_SCHEDULE_WORKLOAD_H

#include "analysis/model/node.h"
#include "api/values.h"
#include "base/machine.h"
#include "tracesmith/reader.h"

#define TSM_WORKLOAD_NONE        UINT32_MAX
#define TSM_WORKLOAD_DEVICES_MAX 256u

/* Work that the device does in one go: a command has one part, a launch of a graph one for each
 * node. */
struct tsm_workload_part {
    struct tsm_device_work work;
    uint32_t command;                    /* place */
    uint32_t first_parent, parent_count; /* in the list of parents: parts that it waits for */
    bool is_node; /* it waits for these alone, not for what its stream was given before */
    /* In the list of awaited ones: parts of other commands that it waits for, as a node. */
    uint32_t first_awaited, awaited_count;
    uint32_t first_inner, inner_count; /* in the list of inner work: what runs inside of it, at once
                                          one after the other */
    uint32_t value;                    /* place of the value that it waits for or writes */
    uint64_t id;                       /* in the recording; 0: not known */
};

/* A value in memory that a part waits for or writes. */
struct tsm_workload_value {
    struct tsm_value_access access;
    uint32_t part;
    uint32_t cell;       /* number of the address */
    uint32_t rank;       /* of a write: among those of the cell, in the recording; of a wait: of the
                            first write that can end it; NONE: none does */
    uint32_t brought_by; /* of a wait: part that is no write of a value and whose end ended it */
    uint64_t host_ns;    /* ... or the program wrote it, and called then; 0: it did not */
    uint32_t host_step;  /* ... this one, NONE: not known */
    uint64_t host_ago_ns; /* ... when that call had been charged so long ago */
};

/* Command that another one waits for, up to that part of it. */
struct tsm_workload_event {
    uint32_t command, part;
};

struct tsm_workload_command {
    uint64_t seq, position;
    const struct sbt_schema *schema; /* lives as long as the reader */
    const char *kernel;              /* likewise; NULL: none */
    uint64_t event;                  /* id of the one that it records or waits for; 0: none */
    uint32_t stream;                 /* place */
    uint32_t step;                   /* that sends it */
    uint32_t first_part, part_count;
    uint32_t previous;                 /* place of the one before it on its stream */
    uint32_t first_event, event_count; /* in the list of events: that it waits for */
    struct tsm_span recorded;
    uint64_t sent_ns;        /* in virtual time, with has_work */
    bool has_work;           /* its parts are those that the recording's machine carried out */
    enum tsm_place from, to; /* of a copy */
    bool is_redundant;       /* all events that it waits for are known to have ended then */
    bool is_dropped;         /* by a change: nobody sends it */
};

enum tsm_workload_step_kind {
    TSM_STEP_SEND,
    TSM_STEP_WAIT,
    TSM_STEP_POLL, /* asks until the answer is that all has ended */
};

/* Aim of a wait or a poll: all that was sent to it before. */
enum tsm_workload_target {
    TSM_TARGET_NOTHING,
    TSM_TARGET_COMMAND,
    TSM_TARGET_STREAM, /* of a default stream: and to those that join it */
    TSM_TARGET_OWNER,  /* all streams of a context */
    TSM_TARGET_ALL,
    TSM_TARGET_LIST, /* commands of the list of events */
};

/* A call of the host. */
struct tsm_workload_step {
    uint64_t seq;
    const struct sbt_schema *schema;
    enum tsm_workload_step_kind kind;
    enum tsm_workload_target target;
    uint64_t of;       /* place of the command or stream; key of the owner; first of the list */
    uint32_t of_count; /* of the list */
    uint32_t part;     /* of the command, up to which it waits; NONE: to its end */
    uint64_t event;    /* id of the one that it waits for; 0: none */
    uint32_t command;  /* that it sends */
    uint32_t thread;   /* place */
    uint32_t previous, next; /* of the thread */
    uint32_t rank;  /* of calls at one time that with the lowest is made first: its place */
    uint32_t epoch; /* calls before it that no command may pass: they free, destroy, change */
    uint32_t stack;
    bool may_wait;                 /* a send that may wait, as its call says */
    bool waits;                    /* a send that returns when its command has ended */
    bool is_dropped;               /* by a change: nobody makes the call */
    bool is_fused;                 /* by a change: it is part of the call before it */
    uint64_t gap_ns;               /* that the thread does other things before it */
    uint64_t cost_ns;              /* of the call, without what it waits for; not in virtual time */
    uint64_t call_ns, returned_ns; /* as recorded */
};

struct tsm_workload_stream {
    uint32_t number;
    uint64_t owner;
    bool is_default, is_apart; /* as in struct tsm_dependency_stream */
    uint32_t device;           /* place */
    uint64_t queue;            /* see struct tsm_emu_work */
    int32_t priority;
};

struct tsm_workload_thread {
    uint32_t number;
    uint32_t first, last; /* steps */
};

struct tsm_workload {
    struct tsm_workload_command *commands; /* by seq */
    struct tsm_workload_part *parts;       /* by command */
    struct tsm_workload_step *steps;       /* by seq */
    struct tsm_workload_stream *streams;
    struct tsm_workload_thread *threads;
    struct tsm_device *devices;
    struct tsm_workload_event *events;
    struct tsm_workload_value *values;
    struct tsm_device_work *inner;
    uint32_t *parents, *awaited;
    size_t command_count, part_count, step_count, stream_count, thread_count, device_count;
    size_t parent_count, event_count, awaited_count, inner_count, value_count;
    size_t cell_count; /* addresses of values */
    struct tsm_machine machine;
    bool is_virtual;         /* the commands are those of a machine in virtual time */
    uint64_t begin_ns;       /* of the first call; 0 in virtual time */
    uint64_t turnaround_ns;  /* from the end of a command to the begin of the next; not virtual */
    uint64_t untimed_count;  /* commands without a time: they take none */
    uint64_t workless_count; /* ... in virtual time without their work: they take what they took */
    uint64_t passed_count;   /* commands of APIs that are not in it */
    uint32_t epoch;          /* of the end */
};

/* Returns the kind of work that a part counts as: with others inside of it, a kernel. */
static inline enum tsm_device_work_kind tsm_workload_kind(const struct tsm_workload *w, size_t part)
{
    return w->parts[part].inner_count ? TSM_DEVICE_KERNEL : w->parts[part].work.kind;
}

static inline uint32_t tsm_workload_last_part(const struct tsm_workload *w, uint32_t command)
{
    return w->commands[command].first_part + w->commands[command].part_count - 1;
}

/* Reads the trace. Finish it in any case. */
int tsm_workload_make(struct tsm_workload *out, struct sbt_reader *reader);
void tsm_workload_finish(struct tsm_workload *w);

/* Returns the place of the command or step of that record, or TSM_WORKLOAD_NONE. */
uint32_t tsm_workload_find_command(const struct tsm_workload *w, uint64_t seq);
uint32_t tsm_workload_find_step(const struct tsm_workload *w, uint64_t seq);

#endif
