/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/loose/slack.h"

#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define NONE TSM_WORKLOAD_NONE

/* A command or a call of the host. They are sorted by their ends, the last first; a call comes
 * before the commands that it may have waited for. */
struct item {
    uint64_t end_ns, start_ns;
    uint32_t command, call; /* one of them is NONE */
    uint32_t order;
};

struct slack {
    const struct tsm_loose_schedule *s;
    uint64_t *commands; /* how much later each may end */
    uint64_t *calls;    /* likewise */
    uint64_t *limits;   /* a tree over `sorted`: when commands of a range have to be over */
    struct item *items;
    size_t item_count;
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns from - to, or 0. */
static uint64_t above(uint64_t from, uint64_t to)
{
    return from > to ? from - to : 0;
}

static void lower(uint64_t *slack, uint64_t to)
{
    *slack = earlier(*slack, to);
}

/* ---- limits -----------------------------------------------------------------------------------
 */

/* Has commands of `sorted`, [first, last), be over at `ns`. */
static void limit_range(struct slack *k, uint32_t first, uint32_t last, uint64_t ns)
{
    size_t a = first + k->s->l->command_count, b = last + k->s->l->command_count;

    for (; a < b; a /= 2, b /= 2) {
        if (a & 1)
            lower(&k->limits[a++], ns);
        if (b & 1)
            lower(&k->limits[--b], ns);
    }
}

static uint64_t limit_of(const struct slack *k, uint32_t order)
{
    uint64_t ns = UINT64_MAX;

    for (size_t at = order + k->s->l->command_count; at; at /= 2)
        ns = earlier(ns, k->limits[at]);
    return ns;
}

/* ---- items ------------------------------------------------------------------------------------
 */

static uint64_t ready_of(const struct slack *k, uint32_t command)
{
    const struct tsm_loose_command *c = &k->s->l->commands[command];

    return later(k->s->ready.list[command].ns, later(c->returned_ns, c->call_ns));
}

static uint64_t start_of(const struct slack *k, uint32_t command)
{
    const struct tsm_loose_command *c = &k->s->l->commands[command];

    return c->has_time ? c->start_ns : ready_of(k, command);
}

static uint64_t end_of(const struct slack *k, uint32_t command)
{
    const struct tsm_loose_command *c = &k->s->l->commands[command];

    return c->has_time ? c->end_ns : ready_of(k, command);
}

static int by_end(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    if ((x->call == NONE) != (y->call == NONE))
        return x->call == NONE ? 1 : -1;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? -1 : 1;
    return x->order > y->order ? -1 : x->order < y->order;
}

static void list_items(struct slack *k)
{
    const struct tsm_loose_schedule *s = k->s;

    for (uint32_t i = 0; i < s->l->command_count; i++)
        k->items[k->item_count++] =
            (struct item){end_of(k, i), start_of(k, i), i, NONE, s->l->commands[i].order};
    for (uint32_t i = 0; i < s->calls.count; i++)
        k->items[k->item_count++] = (struct item){
            s->calls.list[i].end_ns, s->calls.list[i].begin_ns, NONE, i, s->calls.list[i].order};
    qsort(k->items, k->item_count, sizeof(*k->items), by_end);
}

/* ---- what comes before ------------------------------------------------------------------------
 */

/* Has what an edge comes from be over at `ns`. */
static void pass_back_edge(struct slack *k, const struct tsm_dependency *e, uint64_t ns)
{
    const struct tsm_loose *l = k->s->l;
    const uint32_t from = tsm_loose_find_command(l, e->from),
                   call = from == NONE ? tsm_loose_host_calls_find(&k->s->calls, e->from) : NONE;
    uint32_t first, last;

    if (call != NONE)
        lower(&k->calls[call], above(ns, k->s->calls.list[call].end_ns));
    if (from == NONE)
        return;
    if (e->is_begin) {
        lower(&k->commands[from], above(ns, start_of(k, from)));
        return;
    }
    tsm_loose_over_with(l, e, &first, &last);
    if (e->is_alone)
        limit_range(k, l->commands[from].order, l->commands[from].order + 1, ns);
    else if (first < last)
        limit_range(k, first, last, ns);
}

static bool is_followed(enum tsm_dependency_reason reason)
{
    return reason == TSM_DEPENDS_STREAM || reason == TSM_DEPENDS_SIGNAL ||
           reason == TSM_DEPENDS_BARRIER;
}

static void pass_back_command(struct slack *k, uint32_t command)
{
    const struct tsm_loose *l = k->s->l;
    const struct tsm_loose_command *c = &l->commands[command];
    const uint32_t call = tsm_loose_host_calls_find(&k->s->calls, c->seq),
                   before = k->s->before[command];
    const uint64_t start_ns = start_of(k, command), ready_ns = ready_of(k, command);
    uint64_t could_ns = earlier(ready_ns, start_ns), own;
    const struct tsm_dependency *e, *end;

    lower(&k->commands[command], above(limit_of(k, c->order), end_of(k, command)));
    own = k->commands[command];
    /* The command before may have had the queue (critical.c): then nothing else held it up.
     */
    if (before != NONE && end_of(k, before) > could_ns && end_of(k, before) <= start_ns) {
        could_ns = end_of(k, before);
        lower(&k->commands[before], own);
    }
    for (tsm_loose_edges_to(l, command, &e, &end); e < end; e++)
        if (is_followed(e->reason))
            pass_back_edge(k, e, own + (e->is_part ? end_of(k, command) : could_ns));
    if (call != NONE)
        lower(&k->calls[call], own + above(could_ns, k->s->calls.list[call].end_ns));
}

static void pass_back_call(struct slack *k, uint32_t call)
{
    const struct tsm_loose_host_call *c = &k->s->calls.list[call];
    const struct tsm_dependency_graph *g = &k->s->l->graph;
    const struct tsm_dependency_node *node = tsm_dependency_graph_find(g, c->seq);
    const struct tsm_loose_ready r = tsm_loose_ready_of_call(&k->s->ready, c->seq, c->begin_ns);
    const uint32_t before = tsm_loose_host_call_before(&k->s->calls, call),
                   sent =
                       c->is_wait && c->is_command ? tsm_loose_find_command(k->s->l, c->seq) : NONE;
    uint64_t since_ns = c->begin_ns;

    if (sent != NONE)
        lower(&k->commands[sent], k->calls[call] + above(c->begin_ns, end_of(k, sent)));
    else if (r.ns > since_ns) /* it could begin so much later */
        since_ns = earlier(r.ns, c->end_ns);
    for (size_t i = node ? node[0].first_edge : 0; i < (node ? node[1].first_edge : 0); i++)
        if (g->edges[i].reason == TSM_DEPENDS_HOST)
            pass_back_edge(k, &g->edges[i], k->calls[call] + since_ns);
    if (before != NONE)
        lower(&k->calls[before], k->calls[call] + (since_ns - c->begin_ns));
}

static bool begin(struct slack *k)
{
    const struct tsm_loose_schedule *s = k->s;
    const size_t count = s->l->command_count;

    k->commands = malloc((count + 1) * sizeof(*k->commands));
    k->calls = malloc((s->calls.count + 1) * sizeof(*k->calls));
    k->limits = malloc((2 * count + 2) * sizeof(*k->limits));
    k->items = malloc((count + s->calls.count + 1) * sizeof(*k->items));
    if (!k->commands || !k->calls || !k->limits || !k->items)
        return false;
    for (uint32_t i = 0; i < count; i++)
        k->commands[i] = above(s->end_ns, end_of(k, i));
    for (size_t i = 0; i < s->calls.count; i++)
        k->calls[i] = above(s->end_ns, s->calls.list[i].end_ns);
    memset(k->limits, 0xff, (2 * count + 2) * sizeof(*k->limits));
    list_items(k);
    return true;
}

int tsm_loose_slack(uint64_t **out, const struct tsm_loose_schedule *s)
{
    struct slack k = {.s = s};
    const bool ok = begin(&k);

    for (size_t i = 0; ok && i < k.item_count; i++) {
        if (k.items[i].call == NONE)
            pass_back_command(&k, k.items[i].command);
        else
            pass_back_call(&k, k.items[i].call);
    }
    free(k.calls);
    free(k.limits);
    free(k.items);
    if (!ok) {
        free(k.commands);
        k.commands = NULL;
    }
    *out = k.commands;
    return ok ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for slack");
}
