/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands whose times are yet to come from CUPTI: joined with its records by our own number of the
 * command, which CUPTI repeats beside the number of its own for the driver's call. Records come in
 * any order, late, or never; memory is bounded, and what there is no room for has no time and is
 * counted.
 *
 * A command that is one piece of work is settled when its records were delivered. A launch of a
 * graph has records for an unknown number of nodes: it is settled when it was known to be complete
 * before all records were delivered. Any thread, CUPTI's own too, but as said below.
 */
#ifndef API_CUDA_SOURCE_CUPTI_COMMANDS_H
#define API_CUDA_SOURCE_CUPTI_COMMANDS_H

#include "capture/capture.h"

/* Makes room, or forgets all commands, those of an earlier session. False: no memory. */
bool cupti_commands_begin(void);

/* Returns the number of a command that the driver gets next, 0: no room. */
uint64_t cupti_command_begin(const struct tsm_call *call, bool is_graph);
/* The driver has it, or has refused it. */
void cupti_command_end(uint64_t id, bool ok);

/* Takes what records say. `type`: of a call that does the same. */
void cupti_command_named(uint64_t id, uint32_t correlation);
void cupti_command_ran(uint32_t correlation, uint32_t type, uint64_t start_ns, uint64_t end_ns);

/* A flush of CUPTI's records begins: notes which commands are complete by now. Between these two
 * and in next() and written() one thread at a time. */
void cupti_flush_begins(bool (*is_complete)(const struct tsm_stream *stream));
/* It is over; `is_last`: there will be none after it. */
void cupti_flush_ended(bool is_last);

/* When the device ran a command, or nodes of a graph, on CUPTI's clock. */
struct cupti_node {
    struct cupti_node *next;
    uint64_t start_ns, end_ns;
    uint32_t type;
};

struct cupti_settled {
    struct cupti_node *nodes; /* of a graph: by their start */
    uint64_t position, start_ns, end_ns, inner_ns;
    uint32_t stream;
};

/* Takes the next settled command out, after a flush. False: no more. */
bool cupti_command_next(struct cupti_settled *out);
/* Its nodes were written. */
void cupti_command_written(struct cupti_settled *settled);

/* Are so many under way that a flush should not wait? */
bool cupti_commands_crowded(void);

/* Counts what has no time since the last call, to be said. */
struct cupti_losses {
    uint32_t commands; /* too many under way */
    uint32_t nodes;    /* too many of graphs */
    uint32_t late;     /* records behind the time that was written */
    uint32_t unknown;  /* CUPTI has no time */
};
struct cupti_losses cupti_commands_losses(void);

/* In the child of a fork: the parent's locks are not ours. */
void cupti_commands_forked(void);

#endif
