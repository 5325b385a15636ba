/* SPDX-License-Identifier: Apache-2.0
 *
 * The graphs of conditional nodes. A driver names them when the node is made, and never again: they
 * are kept for the launches of graphs that hold the node.
 */
#include "api/cuda/source/graph/node.h"

#include <stdatomic.h>
#include <string.h>

struct bodies {
    struct bodies *next;
    CUgraphNode node;
    size_t count;
    CUgraph list[];
};

/* The latest first: a driver may give a node the address of one that was destroyed. */
static _Atomic(struct bodies *) all;

static struct bodies *find(CUgraphNode node)
{
    struct bodies *b = atomic_load(&all);

    while (b && b->node != node)
        b = b->next;
    return b;
}

void cuda_graph_keep_bodies(CUgraphNode node, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    struct bodies *b = find(node);

    if (!b || b->count != p->size) {
        b = cuda_keep(sizeof(*b) + p->size * sizeof(*b->list));
        if (!b)
            return; /* the trace says so */
        b->node = node;
        b->count = p->size;
        memcpy(b->list, p->phGraph_out, b->count * sizeof(*b->list));
        b->next = atomic_load(&all);
        while (!atomic_compare_exchange_weak(&all, &b->next, b))
            ;
    }
    memcpy(b->list, p->phGraph_out, b->count * sizeof(*b->list));
}

const CUgraph *cuda_graph_bodies(CUgraphNode node, size_t *count)
{
    const struct bodies *b = find(node);

    *count = b ? b->count : 0;
    return b ? b->list : NULL;
}
