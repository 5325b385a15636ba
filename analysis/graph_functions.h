/* SPDX-License-Identifier: Apache-2.0
 *
 * How many functions of the program a launch of a graph calls. Each takes a place on the
 * launch's stream, right after the launch, without a record of its own.
 */
#ifndef ANALYSIS_GRAPH_FUNCTIONS_H
#define ANALYSIS_GRAPH_FUNCTIONS_H

#include "base/map.h"
#include "tracesmith/reader.h"

/* A count with this bit is only the highest that is possible. */
#define TSM_GRAPH_FUNCTIONS_UNSURE (1ull << 63)
/* Highest count; of an executable graph that no record creates, too, with the bit. */
#define TSM_GRAPH_FUNCTIONS_MAX ((1ull << 32) - 1)

/* Zeroed at first. Keys are ids. */
struct tsm_graph_functions {
    struct tsm_map graphs, execs; /* -> count */
    struct tsm_map parents;       /* graph within a node -> graph of that node */
    struct tsm_map nodes;         /* -> graph */
    struct tsm_map node_counts;
    struct tsm_map begun, begun_mixed; /* stream -> `captured`, `mixed` when its capture began */
    uint64_t captured;                 /* functions in captures so far */
    uint64_t mixed;                    /* ... while several captures ran */
    uint64_t open;                     /* captures that run */
};

/* Notes a record of any kind. Call it for all of a trace, in order. */
int tsm_graph_functions_note(struct tsm_graph_functions *g, struct sbt_reader *reader,
                             const struct sbt_record *record);
void tsm_graph_functions_finish(struct tsm_graph_functions *g);

/* Returns how many functions the record calls as a launch of a graph; 0 when it is none. */
uint64_t tsm_graph_functions_count(const struct tsm_graph_functions *g,
                                   const struct sbt_record *record);

#endif
