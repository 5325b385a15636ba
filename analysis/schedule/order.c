/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/order.h"

#include "analysis/model/work.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define RUN_MAX       128u  /* calls that are ordered at once */
#define NEAR_MAX      4096u /* commands before one that it is compared with */
#define PAIRS_MAX     (1u << 22)
#define ROUNDS_MAX    8u         /* of longest path first */
#define ORDERS_MAX    384u       /* that are simulated */
#define SIMULATED_MAX (1u << 25) /* calls and parts of commands in all simulations */

/* Calls of one thread with nothing in between that they may not pass. */
struct run {
    uint32_t first, count; /* places */
};

/* Two commands on two streams that access the same memory. */
struct pair {
    uint32_t first, second; /* the first one began first */
    bool is_apart;          /* ... and ended before the second one began */
};

struct search {
    struct tsm_workload *w;
    const struct tsm_command_accesses *accesses;
    const struct tsm_accessing **accessing; /* of commands; NULL: a command accesses nothing */
    struct run *runs;
    size_t run_count, run_capacity;
    uint32_t *order; /* of the calls in runs: run after run, places from `first` on */
    uint32_t *best;  /* likewise, of the best order so far */
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    uint64_t *behind; /* of commands: the longest path behind, with itself */
    uint64_t end_ns;  /* of the best */
    size_t left;      /* orders that may still be simulated */
    struct tsm_order_search *out;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory to search for another order");
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- what may change places -------------------------------------------------------------------
 */

/* Numbers of threads that use something: one, or more. */
enum { NOBODY, SEVERAL = UINT32_MAX };

static void note_user(uint32_t *user, uint32_t thread)
{
    *user = *user == NOBODY || *user == thread + 1 ? thread + 1 : SEVERAL;
}

/* Finds streams and events that several threads use. */
static bool find_users(const struct tsm_workload *w, uint32_t *streams, struct tsm_map *events)
{
    for (size_t i = 0; i < w->command_count; i++) {
        const struct tsm_workload_command *c = &w->commands[i];
        const uint32_t thread = w->steps[c->step].thread;
        bool added;
        uint64_t *at = c->event ? tsm_map_insert(events, c->event, &added) : NULL;
        uint32_t user = at ? (uint32_t)*at : NOBODY;

        note_user(&streams[c->stream], thread);
        if (c->event && !at)
            return false;
        note_user(&user, thread);
        if (at)
            *at = user;
    }
    return true;
}

static bool is_copy_of_pageable(const struct tsm_workload_command *c)
{
    return tsm_work_of_type(c->schema).work == TSM_WORK_COPY &&
           (c->from == TSM_PLACE_UNKNOWN || c->to == TSM_PLACE_UNKNOWN);
}

/* Tests whether the call may change its place. */
static bool is_free(const struct search *s, uint32_t place, const uint32_t *streams,
                    const struct tsm_map *events)
{
    const struct tsm_workload_step *step = &s->w->steps[place];
    const struct tsm_workload_command *c;
    const struct tsm_accessing *accessing;

    if (step->kind != TSM_STEP_SEND || step->waits || step->may_wait || step->is_dropped ||
        step->is_fused)
        return false;
    c = &s->w->commands[step->command];
    accessing = s->accessing[step->command];
    if (streams[c->stream] == SEVERAL || is_copy_of_pageable(c))
        return false;
    if (c->event)
        return tsm_map_get(events, c->event, 0) != SEVERAL;
    return accessing && !accessing->is_unknown;
}

/* Calls that may change places are next to each other in the trace. */
static bool find_runs(struct search *s, const uint32_t *streams, const struct tsm_map *events)
{
    struct run run = {0};

    for (uint32_t i = 0; i <= s->w->step_count; i++) {
        const struct tsm_workload_step *step = &s->w->steps[i];
        const bool goes_on = i < s->w->step_count && is_free(s, i, streams, events);

        if (run.count &&
            (!goes_on || run.count == RUN_MAX || step->thread != s->w->steps[run.first].thread ||
             step->epoch != s->w->steps[run.first].epoch)) {
            if (run.count > 1 && !TSM_ARRAY_PUSH(s->runs, s->run_count, s->run_capacity, run))
                return false;
            s->out->free_count += run.count > 1 ? run.count : 0;
            run.count = 0;
        }
        if (goes_on && !run.count++)
            run.first = i;
    }
    return true;
}

/* Tests whether one of the streams is a default stream that the other one joins. */
static bool is_joined(const struct tsm_workload_stream *x, const struct tsm_workload_stream *y)
{
    return x->owner == y->owner &&
           ((x->is_default && !y->is_apart) || (y->is_default && !x->is_apart));
}

/* Tests whether two calls of a run keep their order. */
static bool is_kept(const struct search *s, uint32_t first, uint32_t second)
{
    const struct tsm_workload *w = s->w;
    const uint32_t x = w->steps[first].command, y = w->steps[second].command;
    const struct tsm_workload_command *a = &w->commands[x], *b = &w->commands[y];
    struct tsm_access_conflict conflict;

    if (a->stream == b->stream || is_joined(&w->streams[a->stream], &w->streams[b->stream]))
        return true;
    if (a->event && a->event == b->event)
        return a->schema->kind == SBT_KIND_SIGNAL || b->schema->kind == SBT_KIND_SIGNAL;
    return s->accessing[x] && s->accessing[y] &&
           (tsm_command_accesses_conflict(&conflict, s->accesses, s->accessing[x],
                                          s->accessing[y]) ||
            tsm_command_accesses_share_source(s->accesses, s->accessing[x], s->accessing[y]));
}

/* ---- commands without order -------------------------------------------------------------------
 */

/* Returns when the command begins and ends to do something. */
static struct tsm_device_span span_of(const struct search *s, const struct tsm_prediction *p,
                                      uint32_t command)
{
    const struct tsm_workload_command *c = &s->w->commands[command];
    struct tsm_device_span span = {.start_ns = UINT64_MAX};

    for (uint32_t i = c->first_part; i < c->first_part + c->part_count; i++) {
        if (tsm_workload_kind(s->w, i) == TSM_DEVICE_NONE)
            continue;
        if (p->parts[i].start_ns < span.start_ns)
            span.start_ns = p->parts[i].start_ns;
        span.end_ns = later(span.end_ns, p->parts[i].end_ns);
    }
    return span;
}

static bool add_pair(struct search *s, const struct tsm_prediction *p, uint32_t x, uint32_t y)
{
    const struct tsm_device_span a = span_of(s, p, x), b = span_of(s, p, y);
    const bool is_first = a.start_ns <= b.start_ns;
    const struct pair pair = {is_first ? x : y, is_first ? y : x,
                              is_first ? a.end_ns <= b.start_ns : b.end_ns <= a.start_ns};

    return s->pair_count < PAIRS_MAX &&
           TSM_ARRAY_PUSH(s->pairs, s->pair_count, s->pair_capacity, pair);
}

/* Lists commands that access the same memory, each with those of the last ones before it. */
static int find_pairs(struct search *s, const struct tsm_prediction *p)
{
    for (uint32_t y = 0; y < s->w->command_count; y++) {
        const uint32_t first = y > NEAR_MAX ? y - NEAR_MAX : 0;

        for (uint32_t x = first; x < y && s->accessing[y]; x++) {
            struct tsm_access_conflict conflict;

            if (!s->accessing[x] || s->w->commands[x].stream == s->w->commands[y].stream ||
                !tsm_command_accesses_conflict(&conflict, s->accesses, s->accessing[x],
                                               s->accessing[y]))
                continue;
            if (!add_pair(s, p, x, y))
                return tsm_fail(TSM_E_LIMIT, "too many commands access the same memory to search "
                                             "for another order of them");
        }
    }
    return 0;
}

static bool keeps_pairs(const struct search *s, const struct tsm_prediction *p)
{
    for (size_t i = 0; i < s->pair_count; i++) {
        const struct tsm_device_span a = span_of(s, p, s->pairs[i].first),
                                     b = span_of(s, p, s->pairs[i].second);

        if (a.start_ns > b.start_ns || (s->pairs[i].is_apart && a.end_ns > b.start_ns))
            return false;
    }
    return true;
}

/* ---- orders -----------------------------------------------------------------------------------
 */

/* Links the calls of a run in their order. */
static void link_run(struct tsm_workload *w, const struct run *run, const uint32_t *order)
{
    uint32_t before = TSM_WORKLOAD_NONE, behind = TSM_WORKLOAD_NONE;
    struct tsm_workload_thread *t = &w->threads[w->steps[run->first].thread];

    for (uint32_t i = 0; i < run->count; i++) {
        const struct tsm_workload_step *step = &w->steps[run->first + i];

        if (step->previous == TSM_WORKLOAD_NONE || step->previous < run->first)
            before = step->previous;
        if (step->next == TSM_WORKLOAD_NONE || step->next >= run->first + run->count)
            behind = step->next;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        struct tsm_workload_step *step = &w->steps[order[i]];

        step->rank = run->first + i;
        step->previous = i ? order[i - 1] : before;
        step->next = i + 1 < run->count ? order[i + 1] : behind;
    }
    if (before == TSM_WORKLOAD_NONE)
        t->first = order[0];
    else
        w->steps[before].next = order[0];
    if (behind == TSM_WORKLOAD_NONE)
        t->last = order[run->count - 1];
    else
        w->steps[behind].previous = order[run->count - 1];
}

static void link_all(struct search *s)
{
    for (size_t i = 0; i < s->run_count; i++)
        link_run(s->w, &s->runs[i], s->order + s->runs[i].first);
}

/* Takes the order if all ends earlier with it; else the best one is back. */
static int try_order(struct search *s, struct tsm_prediction *out, bool *is_better)
{
    const size_t size = s->w->step_count * sizeof(*s->order);
    int error;

    link_all(s);
    s->out->tried_count++;
    s->left--;
    error = tsm_prediction_make(out, s->w);
    *is_better = !error && !out->is_stuck && out->end_ns < s->end_ns;
    if (*is_better && !keeps_pairs(s, out)) {
        *is_better = false;
        s->out->refused_count++;
    }
    if (*is_better) {
        s->end_ns = out->end_ns;
        memcpy(s->best, s->order, size);
        return 0;
    }
    memcpy(s->order, s->best, size);
    link_all(s);
    return error;
}

/* ---- longest path first -----------------------------------------------------------------------
 */

/* Paths behind parts and calls, while they are found. */
struct paths {
    uint64_t *parts; /* what waits for them */
    uint64_t *steps; /* from their begin on */
};

static void pass_part(struct search *s, const struct tsm_prediction *p, struct paths *paths,
                      uint32_t part)
{
    const struct tsm_scheduled_part *done = &p->parts[part];
    const uint32_t command = s->w->parts[part].command;
    uint64_t *step = &paths->steps[s->w->commands[command].step];
    const uint64_t own = done->end_ns - done->start_ns + paths->parts[part];

    for (size_t i = done->first_before; i < done->first_before + done->before_count; i++)
        paths->parts[p->before[i]] = later(paths->parts[p->before[i]], own);
    s->behind[command] = later(s->behind[command], own);
    *step = later(*step, own + s->w->machine.launch_latency_ns);
}

static void pass_step(const struct search *s, const struct tsm_prediction *p, struct paths *paths,
                      uint32_t step)
{
    const struct tsm_scheduled_step *done = &p->steps[step];
    const uint32_t next = s->w->steps[step].next;
    const uint64_t own = next == TSM_WORKLOAD_NONE ? 0 : paths->steps[next];

    for (size_t i = done->first_before; i < done->first_before + done->before_count; i++)
        paths->parts[p->before[i]] = later(paths->parts[p->before[i]], own);
    paths->steps[step] =
        later(paths->steps[step], own + done->end_ns - done->begin_ns - done->waited_ns);
}

/* Finds the longest path behind each command: of work, waits and calls that come after it. */
static int find_paths(struct search *s, const struct tsm_prediction *p)
{
    struct paths paths = {calloc(s->w->part_count + 1, sizeof(uint64_t)),
                          calloc(s->w->step_count + 1, sizeof(uint64_t))};
    const bool ok = paths.parts && paths.steps;

    memset(s->behind, 0, s->w->command_count * sizeof(*s->behind));
    for (size_t i = p->order_count; i-- > 0 && ok;) {
        const uint32_t what = p->order[i];

        if (what & TSM_PREDICTION_STEP)
            pass_step(s, p, &paths, what & ~TSM_PREDICTION_STEP);
        else
            pass_part(s, p, &paths, what);
    }
    free(paths.parts);
    free(paths.steps);
    return ok ? 0 : no_memory();
}

/* Orders a run: of the calls that have to come after none that is left, that with the longest
 * path. */
static void order_run(struct search *s, const struct run *run)
{
    uint32_t left[RUN_MAX], count = run->count, *order = s->order + run->first;

    memcpy(left, order, count * sizeof(*left));
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t chosen = TSM_WORKLOAD_NONE;

        for (uint32_t k = 0; k < count; k++) {
            bool is_ready = true;

            if (chosen != TSM_WORKLOAD_NONE && s->behind[s->w->steps[left[k]].command] <=
                                                   s->behind[s->w->steps[left[chosen]].command])
                continue;
            for (uint32_t before = 0; before < k && is_ready; before++)
                is_ready = !is_kept(s, left[before], left[k]);
            if (is_ready)
                chosen = k;
        }
        order[i] = left[chosen];
        memmove(left + chosen, left + chosen + 1, (--count - chosen) * sizeof(*left));
    }
}

static int search_paths(struct search *s, struct tsm_prediction *p)
{
    bool is_better = true;
    int error = 0;

    for (unsigned i = 0; i < ROUNDS_MAX && is_better && !error && s->left; i++) {
        error = find_paths(s, p);
        for (size_t k = 0; k < s->run_count && !error; k++)
            order_run(s, &s->runs[k]);
        tsm_prediction_finish(p);
        if (!error)
            error = try_order(s, p, &is_better);
    }
    return error;
}

/* ---- single moves -----------------------------------------------------------------------------
 */

/* Moves a call ahead as far as it may. Returns false if that is nowhere. */
static bool move_ahead(struct search *s, const struct run *run, uint32_t from)
{
    uint32_t *order = s->order + run->first, to = from;
    const uint32_t moved = order[from];

    while (to && !is_kept(s, order[to - 1], moved))
        to--;
    memmove(order + to + 1, order + to, (from - to) * sizeof(*order));
    order[to] = moved;
    return to != from;
}

static int search_moves(struct search *s)
{
    int error = 0;

    for (size_t i = 0; i < s->run_count; i++)
        for (uint32_t k = 1; k < s->runs[i].count && s->left && !error; k++) {
            struct tsm_prediction p = {0};
            bool is_better;

            if (move_ahead(s, &s->runs[i], k))
                error = try_order(s, &p, &is_better);
            tsm_prediction_finish(&p);
        }
    return error;
}

/* ---- searching --------------------------------------------------------------------------------
 */

static int begin(struct search *s)
{
    const struct tsm_workload *w = s->w;
    uint32_t *streams = calloc(w->stream_count + 1, sizeof(*streams));
    struct tsm_map events = {0};
    bool ok;

    s->order = calloc(w->step_count + 1, sizeof(*s->order));
    s->best = calloc(w->step_count + 1, sizeof(*s->best));
    s->behind = calloc(w->command_count + 1, sizeof(*s->behind));
    s->accessing = calloc(w->command_count + 1, sizeof(*s->accessing));
    ok = streams && s->order && s->best && s->behind && s->accessing;
    for (size_t i = 0; i < w->step_count && ok; i++)
        s->order[i] = s->best[i] = (uint32_t)i;
    for (size_t i = 0; i < w->command_count && ok; i++)
        s->accessing[i] = tsm_command_accesses_find(s->accesses, w->commands[i].seq);
    ok = ok && find_users(w, streams, &events) && find_runs(s, streams, &events);
    s->left = SIMULATED_MAX / (w->step_count + w->part_count + 1) + 1;
    if (s->left > ORDERS_MAX)
        s->left = ORDERS_MAX;
    free(streams);
    tsm_map_finish(&events);
    return ok ? 0 : no_memory();
}

int tsm_order_search(struct tsm_order_search *out, struct tsm_workload *w,
                     const struct tsm_command_accesses *accesses)
{
    struct search s = {.w = w, .accesses = accesses, .out = out};
    struct tsm_prediction p = {0};
    int error;

    *out = (struct tsm_order_search){0};
    error = begin(&s);
    if (!error && s.run_count)
        error = tsm_prediction_make(&p, w);
    if (!error && s.run_count)
        error = find_pairs(&s, &p);
    s.end_ns = p.end_ns;
    if (!error && s.run_count)
        error = search_paths(&s, &p);
    if (!error)
        error = search_moves(&s);
    for (size_t i = 0; i < w->step_count && !error; i++)
        out->moved_count += w->steps[i].rank != i;
    tsm_prediction_finish(&p);
    free(s.accessing);
    free(s.runs);
    free(s.pairs);
    free(s.order);
    free(s.best);
    free(s.behind);
    return error;
}
