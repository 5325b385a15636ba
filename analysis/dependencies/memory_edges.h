/* SPDX-License-Identifier: Apache-2.0
 *
 * Edges that memory makes: which earlier commands a command conflicts with, because one of both
 * writes bytes that the other one accesses: those that still matter there (history.h), through
 * which it conflicts with all others. Where one pair has several reasons at the same bytes, the
 * first counts: read after write, write after write, write after read.
 *
 * An edge is redundant when the order of the two is known from edges.h, and unordered else: a race,
 * unless threads of the program told each other what the trace does not say. How sure that is says
 * the kind of access. What may do anything conflicts with the last commands of all streams of its
 * context, and with all that come later and access bytes that were not written since.
 *
 * What the program wrote into memory that the device reaches is a node, too; what it reads there is
 * not known. Freeing memory ends its history. A record that came late, after others that follow it
 * on its stream, has no such edges, and is counted.
 */
#ifndef ANALYSIS_DEPENDENCIES_MEMORY_EDGES_H
#define ANALYSIS_DEPENDENCIES_MEMORY_EDGES_H

#include "analysis/dependencies/edges.h"
#include "analysis/dependencies/history.h"

#define TSM_MEMORY_EDGES_MAX 1024u /* to one command; others are left out */

struct tsm_memory_owner;

/* The last access of a stream, or its last command that may do anything. */
struct tsm_stream_access {
    uint64_t seq, position;
    uint32_t stream;
};

/* A zeroed struct with `order` is empty. */
struct tsm_memory_edges {
    const struct tsm_dependencies *order; /* which notes each record before */
    /* Results of the last record: */
    struct tsm_accesses accesses; /* list and is_unknown */
    struct tsm_dependency *found; /* edges to it */
    size_t found_count, found_capacity;
    uint64_t left_out; /* edges so far that were too many, and records that came late */
    /* State: */
    const struct tsm_memory *memory; /* NULL: not known yet */
    struct tsm_history elsewhere, objects;
    struct tsm_history *regions; /* of allocations */
    size_t region_count, region_capacity;
    size_t *unused; /* places of regions */
    size_t unused_count, unused_capacity;
    struct tsm_map region_places; /* start of an allocation -> place + 1 */
    struct tsm_history_budget budget;
    struct tsm_map owner_places; /* key -> place + 1 */
    struct tsm_memory_owner *owners;
    size_t owner_count, owner_capacity;
    struct tsm_map last_positions; /* stream -> the highest position so far */
    struct tsm_memory_slot {
        uint64_t round, from;
        uint32_t reason, edge; /* the last one of both */
    } slots[2 * TSM_MEMORY_EDGES_MAX];
    uint64_t round; /* slots of earlier ones are free */
};

/* Takes a record into account; the others had it before. Return 0 or a negative tsm_error. */
int tsm_memory_edges_note(struct tsm_memory_edges *m, struct sbt_reader *reader,
                          const struct tsm_call_node *call);
int tsm_memory_edges_note_core(struct tsm_memory_edges *m, const struct sbt_record *record);

/* Takes into account that memory was allocated or freed, before its record. */
void tsm_memory_edges_change(struct tsm_memory_edges *m, const struct tsm_memory_node *change);

void tsm_memory_edges_finish(struct tsm_memory_edges *m);

#endif
