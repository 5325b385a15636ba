/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses of all commands of a trace, and which pairs of them conflict: one of both writes bytes
 * that the other one accesses. Unlike the edges of memory_edges.h each pair can be asked for, also
 * where others lie between the two. About 100 bytes a command.
 */
#ifndef ANALYSIS_DEPENDENCIES_COMMAND_ACCESSES_H
#define ANALYSIS_DEPENDENCIES_COMMAND_ACCESSES_H

#include "analysis/dependencies/accesses.h"
#include "analysis/dependencies/edges.h"

/* A command, or a record of memory that the program wrote. */
struct tsm_accessing {
    uint64_t seq, position; /* position: 0 for the host's */
    uint64_t owner;         /* key of its context */
    uint32_t stream, thread;
    bool is_unknown; /* it may access anything of its context */
    bool is_upload;  /* it carries bytes of the program */
    size_t first, count;
};

struct tsm_freed_range {
    uint64_t seq, start, end;
};

/* A zeroed struct is empty. */
struct tsm_command_accesses {
    struct tsm_accesses accesses; /* follows the records */
    struct tsm_accessing *list;   /* by seq */
    size_t count, capacity;
    struct tsm_access *ranges;
    size_t range_count, range_capacity;
    struct tsm_freed_range *freed; /* by seq */
    size_t freed_count, freed_capacity;
    struct tsm_freed_range change; /* the last one; its record comes next */
    struct tsm_map places;         /* of stream and position -> place + 1 */
};

/* Conflict of two commands, as in struct tsm_dependency. */
struct tsm_access_conflict {
    enum tsm_access_kind access;
    enum tsm_dependency_reason reason;
    uint64_t start, size; /* of bytes; size 0: not known */
};

/* Take records into account, in the order of the trace: a change of memory comes before the call
 * that makes it. Return 0 or a negative tsm_error. */
int tsm_command_accesses_note(struct tsm_command_accesses *a, struct sbt_reader *reader,
                              const struct tsm_call_node *call);
int tsm_command_accesses_note_core(struct tsm_command_accesses *a, const struct sbt_record *record);
void tsm_command_accesses_change(struct tsm_command_accesses *a,
                                 const struct tsm_memory_node *change);

/* Reads the whole trace. Finish it in any case. */
int tsm_command_accesses_collect(struct tsm_command_accesses *out, struct sbt_reader *reader);
void tsm_command_accesses_finish(struct tsm_command_accesses *a);

/* Return NULL where there is none. */
const struct tsm_accessing *tsm_command_accesses_find(const struct tsm_command_accesses *a,
                                                      uint64_t seq);
const struct tsm_accessing *tsm_command_accesses_at(const struct tsm_command_accesses *a,
                                                    uint32_t stream, uint64_t position);

/* Finds how sure it is that two conflict, of which `from` came first. Memory that a call freed in
 * between, when the device had come to its end, is another one then. */
bool tsm_command_accesses_conflict(struct tsm_access_conflict *out,
                                   const struct tsm_command_accesses *a,
                                   const struct tsm_accessing *from,
                                   const struct tsm_accessing *to);

/* Tests whether both carry bytes that the program had in the same place. */
bool tsm_command_accesses_share_source(const struct tsm_command_accesses *a,
                                       const struct tsm_accessing *x,
                                       const struct tsm_accessing *y);

#endif
