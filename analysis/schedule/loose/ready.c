/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/loose/ready.h"

#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE TSM_WORKLOAD_NONE

uint64_t tsm_loose_step_seq(const struct tsm_loose *l, uint32_t step)
{
    return step < l->command_count ? l->commands[step].seq : l->calls[step - l->command_count].seq;
}

uint32_t tsm_loose_later_end(const struct tsm_loose *l, uint32_t a, uint32_t b)
{
    if (a == NONE || b == NONE)
        return a == NONE ? b : a;
    return l->commands[b].end_ns > l->commands[a].end_ns ? b : a;
}

static void find_ends(struct tsm_loose_readiness *m)
{
    const struct tsm_loose *l = m->l;

    for (uint32_t i = 0; i < l->command_count; i++) {
        const uint32_t command = l->sorted[i];
        const struct tsm_loose_command *c = &l->commands[command];
        const bool is_first = i == l->streams[c->stream].first;

        m->last_end[i] = tsm_loose_later_end(l, is_first ? NONE : m->last_end[i - 1],
                                             c->has_time ? command : NONE);
        m->sure_end[i] = tsm_loose_later_end(l, is_first ? NONE : m->sure_end[i - 1],
                                             c->has_time && !c->is_at_most ? command : NONE);
        m->untimed[i] = !c->has_time && !c->is_mark && !c->is_present ? command
                        : is_first                                    ? NONE
                                                                      : m->untimed[i - 1];
    }
}

static enum tsm_state_reason reason_of(const struct tsm_dependency *e)
{
    return e->reason == TSM_DEPENDS_STREAM ? TSM_REASON_STREAM : TSM_REASON_SIGNAL;
}

static void note_ready(struct tsm_loose_ready *r, uint64_t ns, enum tsm_state_reason reason,
                       uint32_t by, uint32_t step)
{
    if (ns <= r->ns)
        return;
    r->ns = ns;
    r->reason = reason;
    r->by = r->from = by;
    r->step = r->from_step = step;
}

/* Notes that something called at `call_ns` waited for a command that has no time. */
static void note_untimed(const struct tsm_loose *l, struct tsm_loose_ready *r, uint64_t call_ns,
                         uint32_t by)
{
    if (by != NONE && l->commands[by].over_ns > call_ns)
        r->unsure = by;
}

/* Notes when what an edge of the graph comes from was over. */
static void note_edge(const struct tsm_loose_readiness *m, struct tsm_loose_ready *r,
                      uint64_t call_ns, const struct tsm_dependency *e)
{
    const struct tsm_loose *l = m->l;
    const uint32_t from = tsm_loose_find_command(l, e->from);
    const uint32_t call = from == NONE && (e->from > e->to || e->reason == TSM_DEPENDS_HOST)
                              ? tsm_loose_find_call(l, e->from)
                              : NONE;
    uint32_t first, last;

    if (call != NONE)
        note_ready(r, l->calls[call].call_ns, TSM_REASON_SIGNAL, NONE,
                   (uint32_t)l->command_count + call);
    if (from == NONE)
        return;
    if (e->is_begin && l->commands[from].has_time)
        note_ready(r, l->commands[from].start_ns, reason_of(e), from, NONE);
    tsm_loose_over_with(l, e, &first, &last);
    if (e->is_alone && !e->is_begin) {
        if (l->commands[from].has_time)
            note_ready(r, l->commands[from].end_ns, reason_of(e), from, NONE);
        else
            note_untimed(l, r, call_ns, from);
    } else if (first < last) {
        const uint32_t by = m->last_end[last - 1];

        if (by != NONE)
            note_ready(r, l->commands[by].end_ns, reason_of(e), by, NONE);
        note_untimed(l, r, call_ns, m->untimed[last - 1]);
    }
}

static struct tsm_loose_ready nothing(void)
{
    return (struct tsm_loose_ready){
        .by = NONE, .step = NONE, .from = NONE, .from_step = NONE, .unsure = NONE};
}

/* Notes edges to a command: the host had waited for all else before it sent the command. */
static struct tsm_loose_ready ready_by_edges(const struct tsm_loose_readiness *m, uint32_t command)
{
    struct tsm_loose_ready r = nothing();
    const struct tsm_dependency *e, *end;
    bool is_needed = false;

    for (tsm_loose_edges_to(m->l, command, &e, &end); e < end; e++) {
        if (e->is_part || (e->reason != TSM_DEPENDS_STREAM && e->reason != TSM_DEPENDS_SIGNAL))
            continue;
        note_edge(m, &r, m->l->commands[command].call_ns, e);
        r.has_object |= e->reason == TSM_DEPENDS_SIGNAL;
        is_needed |= e->reason == TSM_DEPENDS_SIGNAL && !e->is_redundant;
    }
    r.is_redundant = r.has_object && !is_needed;
    return r;
}

static void find_ready(struct tsm_loose_readiness *m)
{
    const struct tsm_loose *l = m->l;
    uint32_t before = NONE;

    for (uint32_t i = 0; i < l->command_count; i++) {
        const uint32_t command = l->sorted[i];
        struct tsm_loose_ready *r = &m->list[command];

        if (i == l->streams[l->commands[command].stream].first)
            before = NONE;
        *r = ready_by_edges(m, command);
        if (before != NONE) {
            const struct tsm_loose_ready *b = &m->list[before];

            r->before_ns = b->ns;
            if (b->ns > r->ns) {
                note_ready(r, b->ns, TSM_REASON_STREAM, before, NONE);
                r->from = b->from;
                r->from_step = b->from_step;
            }
            if (r->unsure == NONE && b->unsure != NONE)
                note_untimed(l, r, l->commands[command].call_ns, b->unsure);
        }
        if (!l->commands[command].is_present)
            before = command;
    }
}

struct tsm_loose_ready tsm_loose_ready_of_call(const struct tsm_loose_readiness *m, uint64_t seq,
                                               uint64_t call_ns)
{
    const struct tsm_dependency_graph *g = &m->l->graph;
    const struct tsm_dependency_node *node = tsm_dependency_graph_find(g, seq);
    struct tsm_loose_ready r = nothing();
    bool is_needed = false;

    for (size_t i = node ? node[0].first_edge : 0; i < (node ? node[1].first_edge : 0); i++) {
        if (g->edges[i].reason != TSM_DEPENDS_HOST)
            continue;
        note_edge(m, &r, call_ns, &g->edges[i]);
        r.has_object = true;
        is_needed |= !g->edges[i].is_redundant;
    }
    r.is_redundant = r.has_object && !is_needed;
    return r;
}

static bool allocate(struct tsm_loose_readiness *m)
{
    const size_t count = m->l->command_count + 1;

    m->list = malloc(count * sizeof(*m->list));
    m->last_end = malloc(count * sizeof(*m->last_end));
    m->sure_end = malloc(count * sizeof(*m->sure_end));
    m->untimed = malloc(count * sizeof(*m->untimed));
    return m->list && m->last_end && m->sure_end && m->untimed;
}

int tsm_loose_readiness_make(struct tsm_loose_readiness *out, const struct tsm_loose *l)
{
    *out = (struct tsm_loose_readiness){.l = l};
    if (!allocate(out))
        return tsm_fail(TSM_E_MEMORY, "no memory for what commands waited for");
    find_ends(out);
    find_ready(out);
    return 0;
}

int tsm_loose_settle_taken(struct tsm_loose *l)
{
    struct tsm_loose_readiness r;
    const int error = tsm_loose_readiness_make(&r, l);

    for (size_t i = 0; i < l->command_count && !error; i++) {
        struct tsm_loose_command *c = &l->commands[i];
        const uint64_t ready_ns = r.list[i].ns < c->end_ns ? r.list[i].ns : c->end_ns;

        if (c->is_taken && ready_ns > c->start_ns)
            c->start_ns = ready_ns;
    }
    tsm_loose_readiness_finish(&r);
    return error;
}

void tsm_loose_readiness_finish(struct tsm_loose_readiness *r)
{
    free(r->list);
    free(r->last_end);
    free(r->sure_end);
    free(r->untimed);
    *r = (struct tsm_loose_readiness){0};
}
