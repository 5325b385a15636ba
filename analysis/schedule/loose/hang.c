/* SPDX-License-Identifier: Apache-2.0
 *
 * Loose commands that have not finished: what each waits for, and which wait for each other. A
 * command may signal when a part of it is over, and may begin before all that it waits for is: so
 * each has five steps, which wait for steps of others. A step goes on when all that it waits for
 * have.
 */
#include "analysis/schedule/loose/outcomes.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE TSM_WORKLOAD_NONE

enum step {
    STEP_BEGIN,   /* some of it has begun */
    STEP_STARTED, /* all that it waits for is over, but for what barriers in it ask for */
    STEP_PASSED,  /* that, too, as far as barriers lie before all its work */
    STEP_END,
    STEP_ALL, /* it has ended, and all before it on its stream have */
    STEP_COUNT
};

/* One step waits for another one. */
struct edge {
    uint32_t from, to; /* numbers of steps; `to` ends the wait of `from` */
    enum tsm_hindrance reason;
    uint32_t wait;  /* place; NONE: it is none for a value */
    bool is_choice; /* other steps would end the wait, too: those of the edges with the same `from`
                       and `wait`, or, where these are too many, others */
    bool is_listed; /* these edges are all of them */
};

struct finding {
    struct tsm_loose *l;
    uint32_t *node_of;  /* by command: place + 1; 0: it has finished */
    uint32_t *before;   /* by place in `sorted`: nodes of its stream before it: place + 1 of the
                           last; 0: none */
    struct edge *edges; /* by `from` */
    size_t edge_count, edge_capacity, step_count;
    uint32_t *first_edge; /* by step; one more at the end */
    bool *goes_on;        /* by step: nothing that it waits for waits for it */
    bool *is_free;        /* by step: it waits for nothing that is left */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for what commands wait for");
}

static uint32_t step_of(uint32_t node, enum step step)
{
    return node * STEP_COUNT + step;
}

/* ---- edges ------------------------------------------------------------------------------------
 */

static bool add_edge(struct finding *f, uint32_t from, uint32_t to, enum tsm_hindrance reason,
                     uint32_t wait)
{
    const uint32_t choices = wait == NONE ? 0 : f->l->waits[wait].choices;

    return TSM_ARRAY_PUSH(f->edges, f->edge_count, f->edge_capacity,
                          (struct edge){from, to, reason, wait, choices > 1,
                                        choices > 1 && f->l->waits[wait].has_bringers});
}

static bool has_bringer(const struct tsm_loose *l, uint32_t wait, uint32_t command)
{
    size_t at;

    TSM_BISECT(at, l->bringer_count, l->bringers[at].wait >= wait);
    while (at < l->bringer_count && l->bringers[at].wait == wait &&
           l->bringers[at].command != command)
        at++;
    return at < l->bringer_count && l->bringers[at].wait == wait;
}

/* Returns the wait of a command for an object that another one ends; else the first that is not
 * over, or the first; or NONE. */
static uint32_t wait_for(const struct tsm_loose *l, uint32_t command, uint64_t object, uint32_t by)
{
    uint32_t found = NONE;
    size_t at;

    TSM_BISECT(at, l->wait_count,
               l->waits[at].command > command ||
                   (l->waits[at].command == command && l->waits[at].object >= object));
    for (; at < l->wait_count && l->waits[at].command == command && l->waits[at].object == object;
         at++) {
        if (has_bringer(l, (uint32_t)at, by))
            return (uint32_t)at;
        if (found == NONE || (l->waits[found].is_over && !l->waits[at].is_over))
            found = (uint32_t)at;
    }
    return found;
}

/* Adds that a step waits for what an edge of the graph comes from. */
static bool add_graph_edge(struct finding *f, uint32_t step, uint32_t command,
                           const struct tsm_dependency *e)
{
    const struct tsm_loose *l = f->l;
    const uint32_t from = tsm_loose_find_command(l, e->from);
    const enum tsm_hindrance reason =
        e->reason == TSM_DEPENDS_SIGNAL ? TSM_HINDRANCE_SIGNAL : TSM_HINDRANCE_STREAM;
    const uint32_t wait = e->object ? wait_for(l, command, e->object, from) : NONE;
    uint32_t first, last, node;

    if (from == NONE || e->reason == TSM_DEPENDS_UNKNOWN)
        return true;
    node = f->node_of[from];
    tsm_loose_over_with(l, e, &first, &last);
    if (e->is_begin && node && !add_edge(f, step, step_of(node - 1, STEP_BEGIN), reason, wait))
        return false;
    if (first == last)
        return true;
    if (e->is_alone)
        return !node || add_edge(f, step, step_of(node - 1, STEP_END), reason, wait);
    node = f->node_of[l->sorted[last - 1]] ? f->node_of[l->sorted[last - 1]] : f->before[last - 1];
    return !node || add_edge(f, step, step_of(node - 1, STEP_ALL), reason, wait);
}

/* Adds what the steps of one command wait for. Commands begin in the order of their stream. */
static bool add_edges(struct finding *f, uint32_t node)
{
    const struct tsm_loose *l = f->l;
    const uint32_t command = l->nodes[node].command, before = f->before[l->commands[command].order];
    const uint32_t begin = step_of(node, STEP_BEGIN), started = step_of(node, STEP_STARTED),
                   passed = step_of(node, STEP_PASSED), end = step_of(node, STEP_END),
                   all = step_of(node, STEP_ALL);
    const struct tsm_dependency *e, *last;
    bool ok = add_edge(f, started, begin, TSM_HINDRANCE_UNKNOWN, NONE) &&
              add_edge(f, passed, started, TSM_HINDRANCE_UNKNOWN, NONE) &&
              add_edge(f, end, passed, TSM_HINDRANCE_UNKNOWN, NONE) &&
              add_edge(f, all, end, TSM_HINDRANCE_UNKNOWN, NONE);

    for (tsm_loose_edges_to(l, command, &e, &last); e < last && ok; e++)
        ok = add_graph_edge(f,
                            e->reason == TSM_DEPENDS_BARRIER ? (e->is_part ? end : passed)
                            : e->is_part                     ? started
                                                             : begin,
                            command, e);
    if (ok && before)
        ok = add_edge(f, begin, step_of(before - 1, STEP_STARTED), TSM_HINDRANCE_STREAM, NONE) &&
             add_edge(f, all, step_of(before - 1, STEP_ALL), TSM_HINDRANCE_STREAM, NONE);
    return ok;
}

static bool add_bringers(struct finding *f)
{
    const struct tsm_loose *l = f->l;
    bool ok = true;

    for (size_t i = 0; i < l->bringer_count && ok; i++) {
        const struct tsm_loose_wait *w = &l->waits[l->bringers[i].wait];
        const uint32_t node = f->node_of[w->command], by = f->node_of[l->bringers[i].command];

        ok = add_edge(f, step_of(node - 1, w->is_part ? STEP_STARTED : STEP_BEGIN),
                      step_of(by - 1, l->bringers[i].is_begin ? STEP_BEGIN : STEP_END),
                      TSM_HINDRANCE_SIGNAL, l->bringers[i].wait);
    }
    return ok;
}

static int by_from(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->reason != y->reason) /* waits for values say most */
        return x->reason > y->reason ? -1 : 1;
    if (x->wait != y->wait)
        return x->wait < y->wait ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Tests whether it is the first edge of its step, or of those of a wait that any of them ends. */
static bool is_first(const struct finding *f, size_t edge)
{
    const struct edge *e = &f->edges[edge], *before = edge ? e - 1 : NULL;

    return !e->is_choice || !before || before->from != e->from || before->wait != e->wait;
}

/* Returns the place behind the edges of which any ends the wait, from the first of them on. */
static size_t behind_choices(const struct finding *f, size_t edge)
{
    do
        edge++;
    while (edge < f->edge_count && !is_first(f, edge));
    return edge;
}

static int make_nodes(struct finding *f)
{
    struct tsm_loose *l = f->l;

    f->node_of = calloc(l->command_count + 1, sizeof(*f->node_of));
    f->before = calloc(l->command_count + 1, sizeof(*f->before));
    l->nodes = calloc(l->unfinished_count + 1, sizeof(*l->nodes));
    if (!f->node_of || !f->before || !l->nodes)
        return no_memory();
    for (uint32_t i = 0; i < l->command_count; i++)
        if (!tsm_loose_has_finished(l, i)) {
            l->nodes[l->node_count] =
                (struct tsm_loose_node){.command = i, .next = NONE, .wait = NONE};
            f->node_of[i] = (uint32_t)++l->node_count;
        }
    for (size_t i = 0; i < l->stream_count; i++)
        for (uint32_t k = 1; k < l->streams[i].count; k++) {
            const uint32_t at = l->streams[i].first + k, node = f->node_of[l->sorted[at - 1]];
            const bool is_present = l->commands[l->sorted[at - 1]].is_present;

            f->before[at] = node && !is_present ? node : f->before[at - 1];
        }
    return 0;
}

static int make_edges(struct finding *f)
{
    size_t at = 0;
    bool ok = true;

    f->step_count = f->l->node_count * STEP_COUNT;
    for (uint32_t i = 0; i < f->l->node_count && ok; i++)
        ok = add_edges(f, i);
    f->first_edge = malloc((f->step_count + 1) * sizeof(*f->first_edge));
    if (!ok || !f->first_edge || !add_bringers(f) || f->edge_count >= NONE)
        return no_memory();
    qsort(f->edges, f->edge_count, sizeof(*f->edges), by_from);
    for (uint32_t i = 0; i <= f->step_count; i++) {
        while (at < f->edge_count && f->edges[at].from < i)
            at++;
        f->first_edge[i] = (uint32_t)at;
    }
    return 0;
}

/* ---- steps that go on -------------------------------------------------------------------------
 */

static bool is_open_end(const struct tsm_loose_wait *w)
{
    return w->is_never || w->is_unsure;
}

/* Tests whether nothing but steps can hold one up. A command that has begun may take any time, and
 * a value that nothing brings never comes. */
static bool is_ruled(const struct finding *f, uint32_t step)
{
    const uint32_t command = f->l->nodes[step / STEP_COUNT].command;
    const bool is_part = step % STEP_COUNT == STEP_STARTED;
    const struct tsm_loose *l = f->l;
    size_t at;

    if (step % STEP_COUNT > STEP_PASSED || l->commands[command].is_unreturned)
        return false;
    if (step % STEP_COUNT == STEP_PASSED)
        return true;
    TSM_BISECT(at, l->wait_count, l->waits[at].command >= command);
    for (; at < l->wait_count && l->waits[at].command == command; at++)
        if (is_open_end(&l->waits[at]) && l->waits[at].is_part == is_part)
            return false;
    return true;
}

/* Tests whether the edge counts among what holds its step up: the first of several that would end
 * one wait, if these are all. */
static bool counts(const struct finding *f, size_t edge)
{
    const struct edge *e = &f->edges[edge];

    return !e->is_choice || (e->is_listed && is_first(f, edge));
}

/* Notes that what an edge leads to goes on. Returns whether a wait is over with it. */
static bool note_going(const struct finding *f, size_t edge, bool *is_met)
{
    if (f->edges[edge].is_choice && !f->edges[edge].is_listed)
        return false;
    while (!is_first(f, edge))
        edge--;
    if (is_met[edge])
        return false;
    is_met[edge] = true;
    return true;
}

/* Finds the steps that what they wait for lets go on, from those on that wait for nothing: a wait
 * holds nothing up here that more would end than are known. With `is_free`: those that are free to
 * go on now. `waiters`: edges by `to`. */
static bool find_going(const struct finding *f, const uint32_t *waiters, const uint32_t *first,
                       bool is_free)
{
    bool *out = is_free ? f->is_free : f->goes_on;
    uint32_t *left = calloc(f->step_count + 1, sizeof(*left));
    uint32_t *todo = malloc((f->step_count + 1) * sizeof(*todo));
    bool *is_met = calloc(f->edge_count + 1, sizeof(*is_met));
    const bool ok = left && todo && is_met;
    size_t count = 0;

    for (size_t i = 0; i < f->edge_count && ok; i++)
        left[f->edges[i].from] += counts(f, i);
    for (uint32_t i = 0; i < f->step_count && ok; i++)
        if (!left[i] && (!is_free || is_ruled(f, i)))
            todo[count++] = i;
    while (count) {
        const uint32_t step = todo[--count];

        out[step] = true;
        for (uint32_t i = first[step]; i < first[step + 1]; i++) {
            const struct edge *e = &f->edges[waiters[i]];

            if (note_going(f, waiters[i], is_met) && !--left[e->from] &&
                (!is_free || is_ruled(f, e->from)))
                todo[count++] = e->from;
        }
    }
    free(todo);
    free(left);
    free(is_met);
    return ok;
}

static int find_steps(struct finding *f)
{
    uint32_t *first = calloc(f->step_count + 2, sizeof(*first)), at = 0;
    uint32_t *waiters = malloc((f->edge_count + 1) * sizeof(*waiters));
    bool ok;

    f->goes_on = calloc(f->step_count + 1, sizeof(*f->goes_on));
    f->is_free = calloc(f->step_count + 1, sizeof(*f->is_free));
    ok = first && waiters && f->goes_on && f->is_free;
    for (size_t i = 0; i < f->edge_count && ok; i++)
        first[f->edges[i].to + 2]++;
    for (size_t i = 2; i < f->step_count + 2 && ok; i++) {
        at += first[i];
        first[i] = at;
    }
    for (size_t i = 0; i < f->edge_count && ok; i++)
        waiters[first[f->edges[i].to + 1]++] = (uint32_t)i;
    ok = ok && find_going(f, waiters, first, false) && find_going(f, waiters, first, true);
    free(first);
    free(waiters);
    return ok ? 0 : no_memory();
}

/* ---- what each waits for ----------------------------------------------------------------------
 */

/* Tests whether any of the steps goes on, or is free to, that would end a wait. */
static bool is_ended(const struct finding *f, size_t edge, const bool *steps)
{
    const size_t behind = behind_choices(f, edge);

    while (edge < behind && !steps[f->edges[edge].to])
        edge++;
    return edge < behind;
}

/* Returns the first edge of those that a stuck step waits for that are stuck, too; NULL: none. */
static const struct edge *stuck_edge(const struct finding *f, uint32_t step)
{
    for (size_t i = f->first_edge[step]; i < f->first_edge[step + 1]; i = behind_choices(f, i))
        if (counts(f, i) && !is_ended(f, i, f->goes_on))
            return &f->edges[i];
    return NULL;
}

/* Returns the edge of a step to what holds it up: a step that is stuck before others; NULL: none.
 */
static const struct edge *edge_of(const struct finding *f, uint32_t step)
{
    const struct edge *stuck = stuck_edge(f, step);

    for (size_t i = f->first_edge[step]; i < f->first_edge[step + 1] && !stuck;
         i = behind_choices(f, i))
        if (!is_ended(f, i, f->is_free))
            return &f->edges[i];
    return stuck;
}

/* Returns the step that a step stands for: of all up to a place of a stream the one that is stuck,
 * or the last. */
static uint32_t real_step(const struct finding *f, uint32_t step)
{
    while (step % STEP_COUNT == STEP_ALL) {
        const uint32_t end = step - STEP_ALL + STEP_END;
        const struct edge *e = f->goes_on[end] && !f->goes_on[step] ? edge_of(f, step) : NULL;

        step = e && e->to != end ? e->to : end;
    }
    return step;
}

/* Says why the node waits: by the first of its steps that something else holds up. */
static void explain(struct finding *f, uint32_t place)
{
    struct tsm_loose *l = f->l;
    struct tsm_loose_node *n = &l->nodes[place];
    struct tsm_command_outcome *o = &l->commands[n->command].outcome;
    const struct edge *e = edge_of(f, step_of(place, STEP_BEGIN));
    size_t at;

    TSM_BISECT(at, l->wait_count, l->waits[at].command >= n->command);
    if (!e && f->is_free[step_of(place, STEP_BEGIN)])
        e = edge_of(f, step_of(place, STEP_STARTED));
    if (!e && f->is_free[step_of(place, STEP_STARTED)])
        e = edge_of(f, step_of(place, STEP_PASSED));
    n->reason = (l->is_waiting && !l->commands[n->command].is_unreturned) ||
                        l->commands[n->command].is_begun
                    ? TSM_HINDRANCE_WAITED
                    : TSM_HINDRANCE_UNKNOWN;
    if (e) {
        n->next = l->nodes[real_step(f, e->to) / STEP_COUNT].command;
        n->reason = e->reason;
        n->wait = e->wait;
    }
    for (; !e && at < l->wait_count && l->waits[at].command == n->command; at++)
        if (is_open_end(&l->waits[at])) {
            n->reason = TSM_HINDRANCE_SIGNAL;
            n->wait = (uint32_t)at;
        }
    o->hindrance = n->reason;
    o->by = n->next;
}

/* ---- cycles -----------------------------------------------------------------------------------
 */

/* Adds the commands of a cycle of steps, of which `at` is one: those between which something is
 * waited for. */
static bool add_cycle(struct finding *f, uint32_t at, uint32_t number, size_t *capacity)
{
    struct tsm_loose *l = f->l;
    const size_t first = l->cycle_count;
    const uint32_t begin = at;

    do {
        const struct edge *e = stuck_edge(f, at);
        const uint32_t from = at / STEP_COUNT;
        const struct tsm_loose_node row = {l->nodes[from].command, NONE, number, e->wait,
                                           e->reason};

        l->nodes[from].cycle = at % STEP_COUNT == STEP_ALL ? l->nodes[from].cycle : number;
        if (at % STEP_COUNT != STEP_ALL && e->reason != TSM_HINDRANCE_UNKNOWN &&
            !TSM_ARRAY_PUSH(l->cycles, l->cycle_count, *capacity, row))
            return false;
        at = e->to;
    } while (at != begin);
    for (size_t i = first; i < l->cycle_count; i++)
        l->cycles[i].next = l->cycles[i + 1 < l->cycle_count ? i + 1 : first].command;
    return true;
}

static int find_cycles(struct finding *f)
{
    uint32_t *seen = calloc(f->step_count + 1, sizeof(*seen)); /* walk that came by, from 1 */
    uint32_t count = 0;
    size_t capacity = 0;
    bool ok = seen;

    for (uint32_t i = 0; i < f->step_count && ok; i++) {
        uint32_t at = i;

        while (!f->goes_on[at] && !seen[at]) {
            seen[at] = i + 1;
            at = stuck_edge(f, at)->to;
        }
        if (!f->goes_on[at] && seen[at] == i + 1)
            ok = add_cycle(f, at, ++count, &capacity);
    }
    free(seen);
    return ok ? 0 : no_memory();
}

/* ---- all --------------------------------------------------------------------------------------
 */

static int find(struct finding *f)
{
    int error = make_nodes(f);

    if (!error)
        error = make_edges(f);
    if (!error)
        error = find_steps(f);
    if (!error)
        error = find_cycles(f);
    for (uint32_t i = 0; i < f->l->node_count && !error; i++)
        explain(f, i);
    return error;
}

int tsm_loose_hang_find(struct tsm_loose *l)
{
    struct finding f = {.l = l};
    const int error = find(&f);

    free(f.node_of);
    free(f.before);
    free(f.edges);
    free(f.first_edge);
    free(f.goes_on);
    free(f.is_free);
    return error;
}
