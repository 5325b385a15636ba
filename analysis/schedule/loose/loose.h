/* SPDX-License-Identifier: Apache-2.0
 *
 * Loose commands of a trace: those of a stream may overlap, as Vulkan's, HSA's and DRM's do (see
 * analysis/dependencies/edges.h). No simulation carries them out: what each one waited for are the
 * edges of the dependency graph, and its times are those that were recorded.
 *
 * A loose command has finished when it has a time, when the host learnt so, or when a command that
 * had to wait for it has. Places are numbers in lists; TSM_WORKLOAD_NONE is none. About 500 bytes a
 * command, with its states.
 */
#ifndef ANALYSIS_SCHEDULE_LOOSE_LOOSE_H
#define ANALYSIS_SCHEDULE_LOOSE_LOOSE_H

#include "analysis/dependencies/graph.h"
#include "analysis/ring/jobs.h"
#include "analysis/schedule/outcomes.h"

/* Times are in ns after the session's start. */
struct tsm_loose_command {
    uint64_t seq, position, owner;
    const struct sbt_schema *schema; /* lives as long as the reader */
    const char *kernel;              /* likewise; NULL: none */
    uint64_t call_ns, returned_ns;
    uint32_t stream, device; /* places */
    uint32_t thread, stack;
    uint32_t order;     /* place in `sorted` */
    bool is_unreturned; /* its call, which waits for nothing, had not returned: of its arguments
                           nothing is known */
    bool is_mark;       /* it has no work of its own: its time is that of its wait */
    bool is_present;    /* its queue goes on meanwhile */
    bool is_found;      /* in a queue, perhaps later than the device found it there */
    bool has_ended;     /* a time says so, whatever clock that is on */
    bool has_time;      /* start_ns and end_ns are known, on the host's clock */
    bool is_at_most;    /* the end may have been earlier */
    bool is_taken;      /* the start is when a ring took it, and nothing held it up: it may have
                           begun later */
    bool has_failed;    /* its ring says so; it has ended */
    bool is_begun;      /* a ring took it, and told of no end */
    uint64_t start_ns, end_ns, error_ns;
    uint64_t over_ns; /* it had ended by then, as far as others say; UINT64_MAX: nothing is said */
    struct tsm_command_outcome outcome;
};

/* A call of the host that is no command, and takes part in the graph. */
struct tsm_loose_call {
    uint64_t seq, call_ns;
    bool is_over; /* a wait that has returned */
};

struct tsm_loose_stream {
    uint32_t number, device;
    uint32_t first, count; /* of its commands in `sorted` */
};

/* A value of an object that a command waits for which has not finished. */
struct tsm_loose_wait {
    uint32_t command;
    uint64_t object; /* as of TSM_WAIT_KEY */
    uint64_t value;
    bool is_exact;     /* it waits for this value alone, not for what is beyond it, too */
    bool has_value;    /* the object has values */
    bool is_part;      /* a part of the command does not wait */
    bool is_sent;      /* what brings the object there was sent before */
    bool is_never;     /* nothing that is recorded brings the object to the value ... */
    uint64_t comes_to; /* ... but to this one at most */
    uint32_t choices;  /* commands that have not finished, any of which brings a counter to it */
    bool has_bringers; /* ... and all of these are known */
    bool is_over;      /* the object has come to the value */
    bool is_unsure;    /* whether it has is not known */
};

/* A command that has not finished brings the object of a wait to its value: alone, with others or,
 * where there are choices, as well as others. */
struct tsm_loose_bringer {
    uint32_t wait, command; /* places */
    bool is_begin;          /* when it has begun */
};

/* A command that has not finished, and what it waits for. */
struct tsm_loose_node {
    uint32_t command;
    uint32_t next;  /* command that it waits for; NONE: none of those that are known */
    uint32_t cycle; /* number of the cycle that it is in, from 1; 0: none */
    uint32_t wait;  /* place of the wait that it stands in; NONE: it is none for a value */
    enum tsm_hindrance reason;
};

struct tsm_loose {
    struct tsm_dependency_graph graph;
    struct tsm_loose_command *commands; /* by seq */
    struct tsm_loose_call *calls;       /* by seq */
    struct tsm_loose_stream *streams;
    struct tsm_device *devices;
    uint32_t *sorted; /* places of commands by stream and position */
    size_t command_count, call_count, stream_count, device_count;
    size_t kernel_count;     /* commands of the kernel's own APIs */
    size_t unfinished_count; /* commands that have not finished, or failed */
    struct tsm_failures failures;
    /* Commands that have not finished: */
    struct tsm_loose_wait *waits;       /* by command, object, value */
    struct tsm_loose_bringer *bringers; /* by wait */
    struct tsm_loose_node *nodes;       /* by command */
    struct tsm_loose_node *cycles;      /* each waits for the next one of its cycle */
    size_t wait_count, bringer_count, node_count, cycle_count; /* cycle_count: of nodes in it */
    bool leaves_kernel;    /* commands of the kernel's own APIs are passed over */
    bool is_waiting;       /* a wait of the host had not returned */
    bool is_unseen;        /* something is not in the trace that may have changed any object */
    uint64_t passed_count; /* commands of APIs that are not known */
    uint64_t begin_ns;     /* of the first call or command */
    uint64_t end_ns;       /* of the last one; if any has not finished, of the recording */
    /* Commands that have finished and have no time on the host's clock; those of the kernel's own
     * APIs among them. */
    uint64_t untimed_count, untimed_kernel_count;
};

/* Reads the trace. `jobs`: of the kernel's rings, which need not live longer; NULL: none.
 * `leaves_kernel`: commands of the kernel's own APIs (TSM_API_KERNEL) are passed over. Finish it in
 * any case. */
int tsm_loose_make(struct tsm_loose *out, struct sbt_reader *reader,
                   const struct tsm_ring_jobs *jobs, bool leaves_kernel);
void tsm_loose_finish(struct tsm_loose *l);

/* Returns the place of the command or call of that record, or TSM_WORKLOAD_NONE. */
uint32_t tsm_loose_find_command(const struct tsm_loose *l, uint64_t seq);
uint32_t tsm_loose_find_call(const struct tsm_loose *l, uint64_t seq);

/* Tests whether commands of a record's API are loose, and not passed over. */
bool tsm_loose_has(const struct tsm_loose *l, uint32_t record_type);

/* Edges of the graph to a command: [*first, *last). */
void tsm_loose_edges_to(const struct tsm_loose *l, uint32_t command,
                        const struct tsm_dependency **first, const struct tsm_dependency **last);

/* Commands that an edge says are over when it is: those of a stream in `sorted`, [*first, *last).
 * None for an edge that comes from no loose command, or that is not sure. */
void tsm_loose_over_with(const struct tsm_loose *l, const struct tsm_dependency *edge,
                         uint32_t *first, uint32_t *last);

#endif
