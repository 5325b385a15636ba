/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/contributors.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

/* Bytes of what a node writes that are asked for: all between the first and the last. */
struct wanted {
    uint64_t first, last;
    uint32_t step;  /* place + 1 in the list; 0: not found so far */
    uint8_t rounds; /* how often they have become more */
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

/* Adds a node, or more of its bytes. */
static int add(struct search *s, size_t place, const struct tsm_dependency_step *step,
               enum tsm_access_kind kind, uint64_t first, uint64_t last)
{
    struct wanted *w = &s->wanted[place];

    if (!w->step) {
        if (s->out->count == UINT32_MAX ||
            !TSM_ARRAY_PUSH(s->out->list, s->out->count, s->out->capacity, *step))
            return no_memory();
        *w = (struct wanted){first, last, (uint32_t)s->out->count, 0, false};
        s->out->kinds[kind] += step->count != 0;
        return enqueue(s, place);
    }
    if (first >= w->first && last <= w->last)
        return 0;
    /* The third time it is all: hostile edges could go on and on. */
    w->rounds++;
    w->first = w->rounds > 2 ? 0 : first < w->first ? first : w->first;
    w->last = w->rounds > 2 ? UINT64_MAX : last > w->last ? last : w->last;
    return enqueue(s, place);
}

/* Limits the bytes of an edge to those that are wanted of what it leads to. Returns false if none
 * is. */
static bool limit(const struct tsm_dependency *edge, const struct wanted *to, uint64_t *first,
                  uint64_t *last)
{
    *first = edge->size ? edge->start : 0;
    *last = edge->size ? edge->start + (edge->size - 1) : UINT64_MAX;
    if (edge->reason == TSM_DEPENDS_READ_AFTER_WRITE)
        return true;
    if (edge->reason != TSM_DEPENDS_WRITE_AFTER_WRITE || !edge->is_partial)
        return false;
    if (*first < to->first)
        *first = to->first;
    if (*last > to->last)
        *last = to->last;
    return *first <= *last;
}

static int follow(struct search *s, size_t place)
{
    const struct tsm_dependency_graph *g = s->g;
    const struct wanted to = s->wanted[place];
    const uint32_t count = s->out->list[to.step - 1].count;
    int error = 0;

    for (size_t e = g->nodes[place].first_edge; e < g->nodes[place + 1].first_edge && !error; e++) {
        const struct tsm_dependency *edge = &g->edges[e];
        const struct tsm_dependency_node *from;
        uint64_t first, last;

        if (!tsm_dependency_is_memory(edge) || !limit(edge, &to, &first, &last))
            continue;
        from = tsm_dependency_graph_find(g, edge->from);
        if (from)
            error = add(s, (size_t)(from - g->nodes),
                        &(struct tsm_dependency_step){from, edge, count + 1},
                        (enum tsm_access_kind)edge->access, first, last);
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
    free(s.wanted);
    free(s.queue);
    return error;
}

void tsm_contributors_finish(struct tsm_contributors *c)
{
    free(c->list);
    *c = (struct tsm_contributors){0};
}
