/* SPDX-License-Identifier: Apache-2.0
 *
 * The dependency graph as a picture, in Graphviz's DOT: a column for each stream and each thread
 * that waits, time downwards, a style for each reason, and a legend of those that occur.
 */
#ifndef TOOLS_TEXT_DOT_H
#define TOOLS_TEXT_DOT_H

#include "analysis/dependencies/graph.h"

struct tsm_dot {
    const struct tsm_dependency_graph *graph;
    bool has_redundant; /* draw redundant edges, too, in grey */
    bool has_ordered;   /* ... conflicts in memory that other edges put into an order */
    /* Tests whether a node is to be drawn; an edge is if both of its ends are. */
    bool (*is_shown)(void *user, const struct tsm_dependency_node *node);
    void *user;
};

/* Prints to stdout. Returns 0 or a negative tsm_error. */
int tsm_dot_print(const struct tsm_dot *dot);

#endif
