/* SPDX-License-Identifier: Apache-2.0
 *
 * Immediate dominators of a flow graph.
 */
#ifndef EMU_PTX_PARSE_DOMINATOR_H
#define EMU_PTX_PARSE_DOMINATOR_H

#include <stdbool.h>
#include <stdint.h>

#define PTX_NO_NODE 0xffffffffu

/* Edges as lists one after the other: those of node n are items[start[n] .. start[n + 1]). */
struct ptx_edges {
    const uint32_t *start;
    const uint32_t *items;
};

/* The immediate dominator of each of `count` nodes as seen from `root`: `dominator[root]` is
 * `root`, of a node that `root` does not reach PTX_NO_NODE. `in` are the edges of `out` turned
 * round. Time is that of the edges times a logarithm, memory that of the nodes, the stack is not
 * used. False when out of memory. */
bool ptx_dominators(uint32_t *dominator, uint32_t count, uint32_t root, struct ptx_edges out,
                    struct ptx_edges in);

#endif
