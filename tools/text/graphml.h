/* SPDX-License-Identifier: Apache-2.0
 *
 * The dependency graph in GraphML: nodes with call or kernel, stream and thread, edges with reason.
 */
#ifndef TOOLS_TEXT_GRAPHML_H
#define TOOLS_TEXT_GRAPHML_H

#include "analysis/dependencies/graph.h"

struct tsm_graphml {
    const struct tsm_dependency_graph *graph;
    bool has_redundant; /* redundant edges, too */
    /* Tests whether a node is to be there; an edge is if both of its ends are. */
    bool (*is_shown)(void *user, const struct tsm_dependency_node *node);
    void *user;
};

/* Prints to stdout. */
void tsm_graphml_print(const struct tsm_graphml *graphml);

#endif
