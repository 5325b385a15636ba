/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/contributors.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define RANGES_MAX 16u /* of one node; of more those nearest each other are joined */
#define ROUNDS_MAX 64u /* that a node's bytes have become more: then it is all of them */

struct range {
    uint64_t first, last;
};

/* Bytes of what a node writes that are asked for, in order, apart from each other. */
struct wanted {
    struct range *list;
    size_t count, capacity;
    uint32_t step; /* place + 1 in the list; 0: not found so far */
    uint8_t rounds;
    bool is_queued;
};

struct search {
    struct tsm_contributors *out;
    const struct tsm_dependency_graph *g;
    struct wanted *wanted; /* of each node */
    size_t *queue;         /* places of nodes whose edges are to be followed */
    size_t queue_count, queue_capacity;
    size_t swept; /* nodes before this one are all found, because of something unknown */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for what contributed");
}

static int enqueue(struct search *s, size_t place)
{
    if (s->wanted[place].is_queued)
        return 0;
    s->wanted[place].is_queued = true;
    return TSM_ARRAY_PUSH(s->queue, s->queue_count, s->queue_capacity, place) ? 0 : no_memory();
}

/* Joins the two ranges that have the smallest gap between them. */
static void join_nearest(struct wanted *w)
{
    size_t best = 1;

    for (size_t i = 2; i < w->count; i++)
        if (w->list[i].first - w->list[i - 1].last < w->list[best].first - w->list[best - 1].last)
            best = i;
    w->list[best - 1].last = w->list[best].last;
    TSM_ARRAY_REMOVE(w->list, w->count, best);
}

static bool is_wanted(const struct wanted *w, uint64_t first, uint64_t last)
{
    size_t at;

    TSM_BISECT(at, w->count, w->list[at].last >= first);
    return at < w->count && w->list[at].first <= first && last <= w->list[at].last;
}

/* Adds bytes, with those of all ranges that they meet. Returns false if out of memory. */
static bool want(struct wanted *w, uint64_t first, uint64_t last)
{
    size_t at, end;

    TSM_BISECT(at, w->count, w->list[at].last >= first);
    for (end = at; end < w->count && w->list[end].first <= last; end++) {
        first = w->list[end].first < first ? w->list[end].first : first;
        last = w->list[end].last > last ? w->list[end].last : last;
    }
    while (end > at)
        TSM_ARRAY_REMOVE(w->list, w->count, --end);
    if (!TSM_ARRAY_INSERT(w->list, w->count, w->capacity, at, ((struct range){first, last})))
        return false;
    if (w->count > RANGES_MAX)
        join_nearest(w);
    return true;
}

/* Adds a node, or more of its bytes. */
static int add(struct search *s, size_t place, const struct tsm_dependency_step *step,
               enum tsm_access_kind kind, uint64_t first, uint64_t last)
{
    struct wanted *w = &s->wanted[place];

    if (!w->step) {
        if (s->out->count == UINT32_MAX ||
            !TSM_ARRAY_PUSH(s->out->list, s->out->count, s->out->capacity, *step))
            return no_memory();
        w->step = (uint32_t)s->out->count;
        s->out->kinds[kind] += step->count != 0;
    }
    if (is_wanted(w, first, last))
        return 0;
    /* Hostile edges could go on and on. */
    if (++w->rounds > ROUNDS_MAX) {
        first = 0;
        last = UINT64_MAX;
    }
    return want(w, first, last) ? enqueue(s, place) : no_memory();
}

/* Adds what an edge comes from, with these of its bytes. */
static int add_from(struct search *s, const struct tsm_dependency *edge, uint32_t count,
                    uint64_t first, uint64_t last)
{
    const struct tsm_dependency_node *from = tsm_dependency_graph_find(s->g, edge->from);

    return from ? add(s, (size_t)(from - s->g->nodes),
                      &(struct tsm_dependency_step){from, edge, count + 1},
                      (enum tsm_access_kind)edge->access, first, last)
                : 0;
}

/* Adds what a write may have left as it was, or what may have come after it, of the bytes that are
 * wanted. */
static int follow_write(struct search *s, size_t place, const struct tsm_dependency *edge,
                        uint64_t first, uint64_t last)
{
    const uint32_t count = s->out->list[s->wanted[place].step - 1].count;
    int error = 0;

    for (size_t i = 0; i < s->wanted[place].count && !error; i++) {
        const struct range r = s->wanted[place].list[i];

        if (r.first <= last && first <= r.last)
            error = add_from(s, edge, count, r.first > first ? r.first : first,
                             r.last < last ? r.last : last);
    }
    return error;
}

static int follow(struct search *s, size_t place)
{
    const struct tsm_dependency_graph *g = s->g;
    const uint32_t count = s->out->list[s->wanted[place].step - 1].count;
    int error = 0;

    for (size_t e = g->nodes[place].first_edge; e < g->nodes[place + 1].first_edge && !error; e++) {
        const struct tsm_dependency *edge = &g->edges[e];
        const uint64_t first = edge->size ? edge->start : 0,
                       last = edge->size ? edge->start + (edge->size - 1) : UINT64_MAX;

        if (!tsm_dependency_is_memory(edge))
            continue;
        if (edge->reason == TSM_DEPENDS_READ_AFTER_WRITE)
            error = add_from(s, edge, count, first, last);
        else if (edge->reason == TSM_DEPENDS_WRITE_AFTER_WRITE &&
                 (edge->is_partial || (count && edge->is_unordered)))
            error = follow_write(s, place, edge, first, last);
    }
    return error;
}

/* Adds all that may write before something unknown. */
static int sweep(struct search *s, size_t place)
{
    const struct tsm_dependency_graph *g = s->g;
    const uint32_t count = s->out->list[s->wanted[place].step - 1].count;
    int error = 0;

    for (; s->swept < place && !error; s->swept++)
        if (g->nodes[s->swept].writes)
            error = add(s, s->swept,
                        &(struct tsm_dependency_step){&g->nodes[s->swept], NULL, count + 1},
                        TSM_ACCESS_UNKNOWN, 0, UINT64_MAX);
    return error;
}

int tsm_contributors_find(struct tsm_contributors *out, const struct tsm_dependency_graph *g,
                          const struct tsm_dependency_node *node)
{
    struct search s = {.out = out, .g = g};
    const struct tsm_dependency_step start = {node, NULL, 0};
    int error;

    *out = (struct tsm_contributors){0};
    s.wanted = calloc(g->node_count + 1, sizeof(*s.wanted));
    error = s.wanted
                ? add(&s, (size_t)(node - g->nodes), &start, TSM_ACCESS_DECLARED, 0, UINT64_MAX)
                : no_memory();
    for (size_t i = 0; i < s.queue_count && !error; i++) {
        s.wanted[s.queue[i]].is_queued = false;
        error = follow(&s, s.queue[i]);
        if (!error && g->nodes[s.queue[i]].is_unknown)
            error = sweep(&s, s.queue[i]);
    }
    for (size_t i = 0; i < g->node_count && s.wanted; i++)
        free(s.wanted[i].list);
    free(s.wanted);
    free(s.queue);
    return error;
}

void tsm_contributors_finish(struct tsm_contributors *c)
{
    free(c->list);
    *c = (struct tsm_contributors){0};
}
