/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/critical.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the critical path");
}

/* ---- walking back -----------------------------------------------------------------------------
 */

struct walk {
    const struct tsm_workload *w;
    const struct tsm_prediction *s;
    struct tsm_critical_path *path;
    uint64_t until_ns; /* the walk ends here */
    uint64_t at_ns;    /* all that is later is in the path */
    bool failed;
};

/* Adds the piece from `begin_ns` to where the walk is. */
static void add(struct walk *walk, enum tsm_cause cause, uint64_t begin_ns, uint32_t part,
                uint32_t step)
{
    if (begin_ns < walk->until_ns)
        begin_ns = walk->until_ns;
    if (begin_ns >= walk->at_ns)
        return;
    if (!TSM_ARRAY_PUSH(walk->path->pieces, walk->path->count, walk->path->capacity,
                        (struct tsm_critical_piece){cause, begin_ns, walk->at_ns, part, step}))
        walk->failed = true;
    walk->at_ns = begin_ns;
}

/* Adds what a part waited for, and then did, up to where the walk is. Returns what comes before it,
 * as in `order`. */
static uint32_t pass_part(struct walk *walk, uint32_t part, bool is_holder)
{
    const struct tsm_scheduled_part *p = &walk->s->parts[part];

    add(walk, is_holder ? TSM_CAUSE_ENGINE : TSM_CAUSE_WORK, p->start_ns, part, TSM_WORKLOAD_NONE);
    if (p->bound == TSM_BOUND_HOST && p->by != TSM_WORKLOAD_NONE)
        return p->by | TSM_PREDICTION_STEP;
    if (p->bound == TSM_BOUND_THREAD || p->by == TSM_WORKLOAD_NONE) {
        const uint32_t step = walk->w->commands[walk->w->parts[part].command].step;

        add(walk, TSM_CAUSE_LATENCY, p->sent_ns, part, TSM_WORKLOAD_NONE);
        return step | TSM_PREDICTION_STEP;
    }
    if (walk->s->parts[p->by].end_ns < walk->at_ns)
        add(walk, TSM_CAUSE_TURNAROUND, walk->s->parts[p->by].end_ns, part, TSM_WORKLOAD_NONE);
    return p->by;
}

/* The same for a call. */
static uint32_t pass_step(struct walk *walk, uint32_t step)
{
    const struct tsm_scheduled_step *s = &walk->s->steps[step];
    const uint32_t previous = walk->w->steps[step].previous;
    uint64_t before_ns = walk->s->begin_ns;

    /* A call that another one's end is not later than: it had waited for that. */
    if (s->by != TSM_WORKLOAD_NONE && walk->s->parts[s->by].end_ns <= walk->at_ns) {
        add(walk, TSM_CAUSE_CALL, walk->s->parts[s->by].end_ns, TSM_WORKLOAD_NONE, step);
        return s->by;
    }
    add(walk, TSM_CAUSE_CALL, s->begin_ns, TSM_WORKLOAD_NONE, step);
    if (previous != TSM_WORKLOAD_NONE)
        before_ns = walk->s->steps[previous].end_ns;
    add(walk, TSM_CAUSE_HOST, before_ns, TSM_WORKLOAD_NONE, step);
    return previous == TSM_WORKLOAD_NONE ? TSM_WORKLOAD_NONE : previous | TSM_PREDICTION_STEP;
}

/* Walks back from `from` until there is nothing before it: over each part once, over each call
 * twice where it waited for what it had sent. */
static void walk_back(struct walk *walk, uint32_t from)
{
    size_t left = 2 * walk->s->order_count + 1;
    bool is_holder = false;

    while (from != TSM_WORKLOAD_NONE && walk->at_ns > walk->until_ns && left-- && !walk->failed) {
        if (from & TSM_PREDICTION_STEP) {
            from = pass_step(walk, from & ~TSM_PREDICTION_STEP);
            is_holder = false;
            continue;
        }
        const bool waited_for_engine = walk->s->parts[from].bound == TSM_BOUND_ENGINE;

        from = pass_part(walk, from, is_holder);
        is_holder = waited_for_engine;
    }
}

int tsm_critical_path_find(struct tsm_critical_path *out, const struct tsm_workload *w,
                           const struct tsm_prediction *s)
{
    struct walk walk = {.w = w, .s = s, .path = out, .until_ns = s->begin_ns, .at_ns = s->end_ns};

    *out = (struct tsm_critical_path){0};
    walk_back(&walk, s->last);
    return walk.failed ? no_memory() : 0;
}

void tsm_critical_path_finish(struct tsm_critical_path *path)
{
    free(path->pieces);
    *path = (struct tsm_critical_path){0};
}

/* ---- idle devices -----------------------------------------------------------------------------
 */

struct start {
    uint64_t start_ns, end_ns;
    uint32_t part;
};

static int by_start(const void *a, const void *b)
{
    const struct start *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* Lists the parts of a device that do something, by their starts. */
static struct start *list_starts(size_t *count, const struct tsm_workload *w,
                                 const struct tsm_prediction *s, uint32_t device)
{
    struct start *list = malloc((w->part_count + 1) * sizeof(*list));

    *count = 0;
    for (size_t i = 0; list && i < w->part_count; i++)
        if (s->parts[i].is_done && tsm_workload_kind(w, i) != TSM_DEVICE_NONE &&
            w->streams[w->commands[w->parts[i].command].stream].device == device)
            list[(*count)++] =
                (struct start){s->parts[i].start_ns, s->parts[i].end_ns, (uint32_t)i};
    if (list)
        qsort(list, *count, sizeof(*list), by_start);
    return list;
}

int tsm_critical_idle(struct tsm_critical_path *out, const struct tsm_workload *w,
                      const struct tsm_prediction *s, uint32_t device)
{
    struct walk walk = {.w = w, .s = s, .path = out};
    size_t count;
    struct start *list = list_starts(&count, w, s, device);
    uint64_t busy_ns = s->begin_ns;

    *out = (struct tsm_critical_path){0};
    if (!list)
        return no_memory();
    for (size_t i = 0; i < count; i++) {
        if (list[i].start_ns > busy_ns) {
            const struct tsm_scheduled_part *p = &s->parts[list[i].part];

            walk.until_ns = busy_ns;
            walk.at_ns = p->start_ns;
            walk_back(&walk, list[i].part);
        }
        if (list[i].end_ns > busy_ns)
            busy_ns = list[i].end_ns;
    }
    walk.until_ns = busy_ns;
    walk.at_ns = s->end_ns;
    walk_back(&walk, s->last);
    free(list);
    return walk.failed ? no_memory() : 0;
}

/* ---- slack ------------------------------------------------------------------------------------
 */

struct slack {
    const struct tsm_workload *w;
    const struct tsm_prediction *s;
    uint64_t *ends; /* of parts, then of calls: how much later they may end */
};

static void lower(uint64_t *slack, uint64_t to)
{
    if (to < *slack)
        *slack = to;
}

/* Returns from - to, or 0. */
static uint64_t above(uint64_t from, uint64_t to)
{
    return from > to ? from - to : 0;
}

/* Lets the call be that much later, and so the end of the one before it. */
static void pass_back_send(struct slack *k, uint32_t step, uint64_t later_ns)
{
    const uint32_t previous = k->w->steps[step].previous;

    if (previous != TSM_WORKLOAD_NONE)
        lower(&k->ends[k->w->part_count + previous], later_ns);
}

/* Lets what comes before the part end as much later as the part itself, and what lies between. */
static void pass_back_part(struct slack *k, uint32_t part)
{
    const struct tsm_scheduled_part *p = &k->s->parts[part];
    const uint64_t arrival_ns = p->sent_ns + k->w->machine.launch_latency_ns;

    for (size_t i = p->first_before; i < p->first_before + p->before_count; i++) {
        const uint32_t before = k->s->before[i];

        lower(&k->ends[before], k->ends[part] + above(p->start_ns, k->s->parts[before].end_ns));
    }
    if (p->bound == TSM_BOUND_ENGINE)
        lower(&k->ends[p->by], k->ends[part] + above(p->start_ns, k->s->parts[p->by].end_ns));
    if (p->brought_by != TSM_WORKLOAD_NONE)
        lower(&k->ends[p->brought_by],
              k->ends[part] + above(p->start_ns, k->s->parts[p->brought_by].end_ns));
    if (p->bound == TSM_BOUND_HOST && p->by != TSM_WORKLOAD_NONE)
        pass_back_send(k, p->by, k->ends[part] + above(p->start_ns, p->ready_ns));
    pass_back_send(k, k->w->commands[k->w->parts[part].command].step,
                   k->ends[part] + above(p->start_ns, arrival_ns));
}

static void pass_back_step(struct slack *k, uint32_t step)
{
    const struct tsm_scheduled_step *done = &k->s->steps[step];
    const uint64_t own = k->ends[k->w->part_count + step];

    for (size_t i = done->first_before; i < done->first_before + done->before_count; i++)
        lower(&k->ends[k->s->before[i]],
              own + above(done->end_ns, k->s->parts[k->s->before[i]].end_ns));
    pass_back_send(k, step, own + done->waited_ns); /* a call that waits may be made later */
}

int tsm_critical_slack(uint64_t **out, const struct tsm_workload *w, const struct tsm_prediction *s)
{
    struct slack k = {.w = w, .s = s};

    k.ends = *out = malloc((w->part_count + w->step_count + 1) * sizeof(*k.ends));
    if (!k.ends)
        return no_memory();
    for (size_t i = 0; i < w->part_count; i++)
        k.ends[i] = s->parts[i].is_done ? s->end_ns - s->parts[i].end_ns : 0;
    for (size_t i = 0; i < w->step_count; i++)
        k.ends[w->part_count + i] = s->steps[i].is_done ? s->end_ns - s->steps[i].end_ns : 0;
    for (size_t i = s->order_count; i-- > 0;) {
        const uint32_t what = s->order[i];

        if (what & TSM_PREDICTION_STEP)
            pass_back_step(&k, what & ~TSM_PREDICTION_STEP);
        else
            pass_back_part(&k, what);
    }
    return 0;
}
