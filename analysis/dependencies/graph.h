/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole dependency graph of a trace, for searches: about 120 bytes a command.
 */
#ifndef ANALYSIS_DEPENDENCIES_GRAPH_H
#define ANALYSIS_DEPENDENCIES_GRAPH_H

#include "analysis/dependencies/edges.h"

/* A command, a wait of the host, a call of which it is not known what it changes, or, with memory,
 * a record of what the program wrote. */
struct tsm_dependency_node {
    uint64_t seq;
    const struct sbt_schema *schema; /* lives as long as the reader */
    const char *kernel;              /* name of what a launch runs; NULL: none. Likewise */
    uint32_t stream, thread;         /* stream: SBT_STREAM_NONE for what is on none */
    bool is_command;
    bool is_unknown, writes; /* with memory: it may access anything; it may write */
    size_t first_edge;       /* of those to it, up to the next node's */
};

struct tsm_dependency_graph {
    struct tsm_dependency_node *nodes; /* by seq; one more at the end, for its first_edge */
    size_t node_count, node_capacity;
    struct tsm_dependency *edges; /* by what they lead to */
    size_t edge_count, edge_capacity;
    size_t *blocks;           /* place of the first node of each block of numbers, and one more */
    unsigned block_shift;     /* a block has 2^block_shift numbers */
    uint64_t passed_count;    /* commands of APIs that are not known: they are in no edge */
    uint64_t shortened_count; /* edges of barriers that say less than is known */
    uint64_t left_out;        /* edges of memory that were too many, and records that came late */
};

/* Reads the trace; `has_memory`: with the edges of memory_edges.h. Finish it in any case. */
int tsm_dependency_graph_make(struct tsm_dependency_graph *out, struct sbt_reader *reader,
                              bool has_memory);
void tsm_dependency_graph_finish(struct tsm_dependency_graph *g);

/* Returns the name of a node's call. */
static inline const char *tsm_dependency_node_call(const struct tsm_dependency_node *node)
{
    return node->schema ? node->schema->name : "unknown";
}

/* Returns the node of a record; NULL: it is none. */
const struct tsm_dependency_node *tsm_dependency_graph_find(const struct tsm_dependency_graph *g,
                                                            uint64_t seq);

/* One thing that something had to wait for, directly or not. */
struct tsm_dependency_step {
    const struct tsm_dependency_node *node;
    const struct tsm_dependency *edge; /* the next one of the chain; NULL: the chain ends here */
    uint32_t count;                    /* of edges in the shortest chain */
};

/* Finds what a node had to wait for, by edges that are not redundant nor memory's, shortest chains
 * first; the node itself is the first. `until` (NULL: none) ends the search. free() the list. */
int tsm_dependency_graph_before(struct tsm_dependency_step **out, size_t *count,
                                const struct tsm_dependency_graph *g,
                                const struct tsm_dependency_node *node,
                                const struct tsm_dependency_node *until);

#endif
