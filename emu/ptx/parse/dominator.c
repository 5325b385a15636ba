/* SPDX-License-Identifier: Apache-2.0
 *
 * The algorithm of Lengauer and Tarjan (1979), with path compression alone. Nodes are known by
 * their number in the depth-first walk from the root.
 */
#include "emu/ptx/parse/dominator.h"

#include <stdlib.h>
#include <string.h>

struct walk {
    uint32_t count;   /* reached */
    uint32_t *number; /* of a node; the arrays below are by number */
    uint32_t *node;
    uint32_t *parent;   /* in the tree of the walk */
    uint32_t *semi;     /* the semidominator */
    uint32_t *ancestor; /* in the forest of what is done; PTX_NO_NODE: a root of it */
    uint32_t *best;     /* where semi is least on the way to the ancestor */
    uint32_t *bucket;   /* first of those whose semidominator this is, and next of them */
    uint32_t *next;
    uint32_t *stack;
    uint32_t *edge; /* by node: the next edge of the walk */
};

static void reach(struct walk *w, uint32_t node, uint32_t parent)
{
    w->number[node] = w->count;
    w->node[w->count] = node;
    w->parent[w->count] = parent;
    w->count++;
}

static void number_nodes(struct walk *w, uint32_t root, struct ptx_edges out)
{
    uint32_t depth = 0;

    reach(w, root, 0);
    w->stack[depth++] = root;
    while (depth) {
        uint32_t n = w->stack[depth - 1];
        uint32_t at = out.start[n] + w->edge[n];
        if (at == out.start[n + 1]) {
            depth--;
            continue;
        }
        w->edge[n]++;
        if (w->number[out.items[at]] != PTX_NO_NODE)
            continue;
        reach(w, out.items[at], w->number[n]);
        w->stack[depth++] = out.items[at];
    }
}

/* Every node on the way to the forest's root learns the best one of it, and becomes its child. */
static uint32_t evaluate(struct walk *w, uint32_t v)
{
    uint32_t depth = 0;

    if (w->ancestor[v] == PTX_NO_NODE)
        return v;
    for (uint32_t u = v; w->ancestor[w->ancestor[u]] != PTX_NO_NODE; u = w->ancestor[u])
        w->stack[depth++] = u;
    while (depth) {
        uint32_t u = w->stack[--depth];
        uint32_t above = w->ancestor[u];
        if (w->semi[w->best[above]] < w->semi[w->best[u]])
            w->best[u] = w->best[above];
        w->ancestor[u] = w->ancestor[above];
    }
    return w->best[v];
}

/* `idom`, by number: exact where it is the semidominator, else where to look for it later. */
static void take_bucket(struct walk *w, uint32_t parent, uint32_t *idom)
{
    for (uint32_t v = w->bucket[parent]; v != PTX_NO_NODE; v = w->next[v]) {
        uint32_t u = evaluate(w, v);
        idom[v] = w->semi[u] < w->semi[v] ? u : parent;
    }
    w->bucket[parent] = PTX_NO_NODE;
}

static void find(struct walk *w, struct ptx_edges in, uint32_t *idom)
{
    for (uint32_t v = w->count - 1; v > 0; v--) {
        uint32_t n = w->node[v];
        for (uint32_t k = in.start[n]; k < in.start[n + 1]; k++) {
            uint32_t from = w->number[in.items[k]];
            uint32_t u = from == PTX_NO_NODE ? v : evaluate(w, from);
            if (w->semi[u] < w->semi[v])
                w->semi[v] = w->semi[u];
        }
        w->next[v] = w->bucket[w->semi[v]];
        w->bucket[w->semi[v]] = v;
        w->ancestor[v] = w->parent[v];
        take_bucket(w, w->parent[v], idom);
    }
    for (uint32_t v = 1; v < w->count; v++)
        if (idom[v] != w->semi[v])
            idom[v] = idom[idom[v]];
}

bool ptx_dominators(uint32_t *dominator, uint32_t count, uint32_t root, struct ptx_edges out,
                    struct ptx_edges in)
{
    enum { ARRAYS = 11 };
    uint32_t *memory = malloc(((size_t)count + 1) * ARRAYS * sizeof(*memory));
    struct walk w = {0};
    uint32_t **arrays[ARRAYS - 1] = {&w.number, &w.node,   &w.parent, &w.semi,  &w.ancestor,
                                     &w.best,   &w.bucket, &w.next,   &w.stack, &w.edge};

    if (!memory)
        return false;
    for (size_t k = 0; k < ARRAYS - 1; k++)
        *arrays[k] = memory + k * (count + 1);
    uint32_t *idom = memory + (size_t)(ARRAYS - 1) * (count + 1);
    memset(w.number, 0xff, count * sizeof(uint32_t));
    memset(w.ancestor, 0xff, count * sizeof(uint32_t));
    memset(w.bucket, 0xff, count * sizeof(uint32_t));
    memset(w.edge, 0, count * sizeof(uint32_t));
    for (uint32_t k = 0; k < count; k++)
        w.semi[k] = w.best[k] = k;
    number_nodes(&w, root, out);
    idom[0] = 0;
    find(&w, in, idom);
    for (uint32_t n = 0; n < count; n++)
        dominator[n] = w.number[n] == PTX_NO_NODE ? PTX_NO_NODE : w.node[idom[w.number[n]]];
    free(memory);
    return true;
}
