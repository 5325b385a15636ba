/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that contributed to the bytes that one writes, or reads: backwards by read after write,
 * and by write after write where the later one may have left bytes as they were. A write that is
 * sure to have replaced all of them ends the search. Whatever may do anything may have read what
 * any earlier command has written.
 */
#ifndef ANALYSIS_DEPENDENCIES_CONTRIBUTORS_H
#define ANALYSIS_DEPENDENCIES_CONTRIBUTORS_H

#include "analysis/dependencies/accesses.h"
#include "analysis/dependencies/graph.h"

struct tsm_contributors {
    /* The node itself is the first. A step without an edge, but with a count, is one that something
     * unknown may have read from. */
    struct tsm_dependency_step *list;
    size_t count, capacity;
    uint64_t kinds[TSM_ACCESS_KIND_COUNT]; /* steps by how sure they are */
};

/* Searches a graph that was made with memory. Finish it in any case. */
int tsm_contributors_find(struct tsm_contributors *out, const struct tsm_dependency_graph *g,
                          const struct tsm_dependency_node *node);
void tsm_contributors_finish(struct tsm_contributors *c);

#endif
