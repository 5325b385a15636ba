/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads and parts take turns: a part runs when no thread can send anything any more that would be
 * ready before it. So all devices see their work in the order of time, and nothing is taken back.
 */
#include "analysis/schedule/simulate.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define RECENT                                                                                     \
    64u /* kernels of a device, among which the one is looked for that another waits for */

/* Something waits for the end of a part. */
struct waiting {
    uint32_t who;  /* part, or thread with TSM_SCHEDULE_STEP */
    uint32_t next; /* in the list of the part */
    enum tsm_schedule_bound bound;
};

struct part_state {
    uint32_t waiting; /* first of the list; TSM_WORKLOAD_NONE: none */
    uint32_t left;    /* parts that it waits for itself */
};

struct stream_state {
    uint64_t end_ns;     /* of what has ended */
    uint32_t end_part;   /* ... and came last */
    uint32_t last;       /* part that was sent last; TSM_WORKLOAD_NONE: none */
    uint32_t first_node; /* of nodes at the end, which do not wait for each other */
};

struct thread_state {
    uint64_t clock_ns;
    uint32_t step;   /* the next one */
    uint32_t left;   /* parts that it waits for */
    uint64_t end_ns; /* of those that have ended */
    uint32_t by;     /* ... the last */
    bool is_waiting;
};

struct device_state {
    struct tsm_device_model model;
    uint32_t on_engine[3][TSM_MACHINE_ENGINES_MAX]; /* part that ran there last */
    uint32_t kernels[RECENT];
    size_t kernel_count;
};

struct simulation {
    const struct tsm_workload *w;
    struct tsm_workload *learning; /* NULL: nothing is calibrated */
    struct tsm_schedule *out;
    struct part_state *parts;
    struct stream_state *streams;
    struct thread_state *threads;
    struct device_state *devices;
    struct waiting *waitings;
    size_t waiting_count, waiting_capacity;
    uint32_t *heap; /* parts that are ready */
    size_t heap_count, heap_capacity;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory to simulate the trace");
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Adds times, which stop at the last one. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    const uint64_t sum = a + b;

    return sum < a || sum > TSM_MACHINE_TIME_MAX ? TSM_MACHINE_TIME_MAX : sum;
}

static const struct tsm_workload_command *command_of(const struct simulation *s, uint32_t part)
{
    return &s->w->commands[s->w->parts[part].command];
}

static const struct tsm_workload_stream *stream_of(const struct simulation *s, uint32_t part)
{
    return &s->w->streams[command_of(s, part)->stream];
}

/* ---- parts that are ready ---------------------------------------------------------------------
 */

static bool is_before(const struct simulation *s, uint32_t a, uint32_t b)
{
    const struct tsm_workload_stream *x = stream_of(s, a), *y = stream_of(s, b);
    const uint64_t p = s->out->parts[a].ready_ns, q = s->out->parts[b].ready_ns;

    if (p != q)
        return p < q;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (x->queue != y->queue)
        return x->queue < y->queue;
    return a < b;
}

static bool heap_push(struct simulation *s, uint32_t part)
{
    size_t at = s->heap_count;

    if (!TSM_ARRAY_PUSH(s->heap, s->heap_count, s->heap_capacity, part))
        return false;
    for (; at && is_before(s, part, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = part;
    return true;
}

static uint32_t heap_pop(struct simulation *s)
{
    const uint32_t first = s->heap[0], moved = s->heap[--s->heap_count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= s->heap_count)
            break;
        if (child + 1 < s->heap_count && is_before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!is_before(s, s->heap[child], moved))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = moved;
    return first;
}

/* ---- what waits for what ----------------------------------------------------------------------
 */

static void bind(struct tsm_scheduled_part *p, uint64_t ns, enum tsm_schedule_bound bound,
                 uint32_t by)
{
    if (ns < p->ready_ns || (ns == p->ready_ns && by == TSM_WORKLOAD_NONE))
        return;
    p->ready_ns = ns;
    p->bound = bound;
    p->by = by;
}

/* Makes a part wait for another one. */
static bool wait_part(struct simulation *s, uint32_t part, uint32_t for_part,
                      enum tsm_schedule_bound bound)
{
    const struct tsm_scheduled_part *earlier = &s->out->parts[for_part];

    if (for_part == part || !earlier->is_sent)
        return true;
    if (!TSM_ARRAY_PUSH(s->out->before, s->out->before_count, s->out->before_capacity, for_part))
        return false;
    s->out->parts[part].before_count++;
    if (earlier->is_done) {
        bind(&s->out->parts[part], earlier->end_ns, bound, for_part);
        return true;
    }
    if (s->waiting_count >= TSM_SCHEDULE_STEP ||
        !TSM_ARRAY_PUSH(s->waitings, s->waiting_count, s->waiting_capacity,
                        (struct waiting){part, s->parts[for_part].waiting, bound}))
        return false;
    s->parts[for_part].waiting = (uint32_t)s->waiting_count - 1;
    s->parts[part].left++;
    return true;
}

static bool wait_thread(struct simulation *s, uint32_t thread, uint32_t for_part)
{
    const struct tsm_scheduled_part *earlier = &s->out->parts[for_part];
    struct thread_state *t = &s->threads[thread];

    if (!earlier->is_sent)
        return true;
    if (!TSM_ARRAY_PUSH(s->out->before, s->out->before_count, s->out->before_capacity, for_part))
        return false;
    s->out->steps[t->step].before_count++;
    if (earlier->is_done) {
        if (t->end_ns <= earlier->end_ns) {
            t->end_ns = earlier->end_ns;
            t->by = for_part;
        }
        return true;
    }
    if (s->waiting_count >= TSM_SCHEDULE_STEP ||
        !TSM_ARRAY_PUSH(s->waitings, s->waiting_count, s->waiting_capacity,
                        (struct waiting){thread | TSM_SCHEDULE_STEP, s->parts[for_part].waiting,
                                         TSM_BOUND_WAIT}))
        return false;
    s->parts[for_part].waiting = (uint32_t)s->waiting_count - 1;
    t->left++;
    return true;
}

/* Calls wait_part() or wait_thread() for what a stream was given last. */
static bool wait_stream(struct simulation *s, uint32_t who, uint32_t stream,
                        enum tsm_schedule_bound bound)
{
    const struct stream_state *state = &s->streams[stream];
    bool ok = true;

    if (state->last == TSM_WORKLOAD_NONE)
        return true;
    if (state->end_part != TSM_WORKLOAD_NONE)
        ok = bound == TSM_BOUND_WAIT ? wait_thread(s, who, state->end_part)
                                     : wait_part(s, who, state->end_part, bound);
    for (uint32_t i = state->first_node; ok && i <= state->last; i++)
        ok = bound == TSM_BOUND_WAIT ? wait_thread(s, who, i) : wait_part(s, who, i, bound);
    return ok;
}

/* A stream that waits for the default stream of its owner, and that waits for it. */
static bool joins(const struct tsm_workload_stream *a, const struct tsm_workload_stream *b)
{
    return a->owner == b->owner && a != b &&
           ((a->is_default && !b->is_apart && !b->is_default) ||
            (b->is_default && !a->is_apart && !a->is_default));
}

static bool wait_default(struct simulation *s, uint32_t part)
{
    const struct tsm_workload_stream *own = stream_of(s, part);
    bool ok = true;

    for (size_t i = 0; i < s->w->stream_count && ok && !own->is_apart; i++)
        if (joins(own, &s->w->streams[i]))
            ok = wait_stream(s, part, (uint32_t)i, TSM_BOUND_DEFAULT);
    return ok;
}

/* ---- sending ----------------------------------------------------------------------------------
 */

static bool send_part(struct simulation *s, const struct tsm_workload_command *c, uint32_t place,
                      uint64_t sent_ns)
{
    const struct tsm_workload_part *part = &s->w->parts[place];
    struct tsm_scheduled_part *p = &s->out->parts[place];
    struct stream_state *stream = &s->streams[c->stream];
    bool ok = true;

    *p = (struct tsm_scheduled_part){.sent_ns = sent_ns,
                                     .ready_ns = plus(sent_ns, s->w->machine.launch_latency_ns),
                                     .bound = TSM_BOUND_THREAD,
                                     .by = c->step,
                                     .first_before = s->out->before_count,
                                     .is_sent = true};
    for (uint32_t i = 0; i < part->parent_count && ok; i++)
        ok = wait_part(s, place, s->w->parents[part->first_parent + i], TSM_BOUND_PARENT);
    if (!part->is_node) {
        ok = ok && wait_stream(s, place, c->stream, TSM_BOUND_STREAM);
        for (uint32_t i = 0; i < c->event_count && ok; i++) {
            const struct tsm_workload_command *e =
                &s->w->commands[s->w->events[c->first_event + i]];

            ok = wait_part(s, place, e->first_part + e->part_count - 1, TSM_BOUND_EVENT);
        }
    }
    ok = ok && wait_default(s, place);
    if (!part->is_node || stream->last == TSM_WORKLOAD_NONE || !s->w->parts[stream->last].is_node)
        stream->first_node = place;
    stream->last = place;
    return ok && (s->parts[place].left || heap_push(s, place));
}

static bool send_command(struct simulation *s, const struct tsm_workload_command *c,
                         uint64_t sent_ns)
{
    bool ok = true;

    for (uint32_t i = 0; i < c->part_count && ok; i++)
        ok = send_part(s, c, c->first_part + i, sent_ns);
    return ok;
}

/* ---- threads ----------------------------------------------------------------------------------
 */

static uint64_t cost_of(const struct simulation *s, const struct tsm_workload_step *step)
{
    if (step->is_dropped || step->is_fused)
        return 0;
    return s->w->is_virtual ? s->w->machine.call_ns : step->cost_ns;
}

/* Returns when the thread's next call has been charged, or, where times are measured, begins. */
static uint64_t next_ns(const struct simulation *s, const struct thread_state *t)
{
    const struct tsm_workload_step *step = &s->w->steps[t->step];

    return plus(plus(t->clock_ns, step->gap_ns), s->w->is_virtual ? cost_of(s, step) : 0);
}

static void end_step(struct simulation *s, struct thread_state *t, uint64_t end_ns)
{
    struct tsm_scheduled_step *done = &s->out->steps[t->step];

    done->end_ns = end_ns;
    done->is_done = true;
    done->by = t->by;
    s->out->order[s->out->order_count++] = t->step | TSM_SCHEDULE_STEP;
    if (end_ns >= s->out->end_ns) {
        s->out->end_ns = end_ns;
        s->out->last = t->step | TSM_SCHEDULE_STEP;
    }
    t->clock_ns = end_ns;
    t->step = s->w->steps[t->step].next;
    t->is_waiting = false;
}

/* Returns the clock of a thread that asked again and again until `end_ns`. */
static uint64_t poll_end(const struct simulation *s, uint64_t asked_ns, uint64_t end_ns)
{
    const uint64_t period = s->w->is_virtual ? s->w->machine.call_ns : 0;

    if (end_ns <= asked_ns)
        return asked_ns;
    return period ? plus(asked_ns, (end_ns - asked_ns + period - 1) / period * period) : end_ns;
}

/* All that the thread waited for has ended. */
static void wake(struct simulation *s, struct thread_state *t)
{
    const struct tsm_workload_step *step = &s->w->steps[t->step];
    struct tsm_workload_step *learn = s->learning ? &s->learning->steps[t->step] : NULL;
    uint64_t end_ns;

    s->out->steps[t->step].waited_ns = t->end_ns > t->clock_ns ? t->end_ns - t->clock_ns : 0;
    if (step->kind == TSM_STEP_POLL)
        end_ns = poll_end(s, t->clock_ns, t->end_ns);
    else
        end_ns = later(t->clock_ns, t->end_ns);
    if (t->end_ns <= t->clock_ns)
        t->by = TSM_WORKLOAD_NONE;
    if (learn && !s->w->is_virtual)
        learn->cost_ns = step->returned_ns > end_ns ? step->returned_ns - end_ns : 0;
    end_step(s, t, s->w->is_virtual ? end_ns : plus(end_ns, cost_of(s, step)));
}

static bool wait_target(struct simulation *s, uint32_t thread, const struct tsm_workload_step *step)
{
    const struct tsm_workload *w = s->w;
    bool ok = true;

    switch (step->target) {
    case TSM_TARGET_NOTHING:
        return true;
    case TSM_TARGET_COMMAND: {
        const struct tsm_workload_command *c = &w->commands[step->of];

        return wait_thread(s, thread, c->first_part + c->part_count - 1);
    }
    case TSM_TARGET_STREAM:
        ok = wait_stream(s, thread, (uint32_t)step->of, TSM_BOUND_WAIT);
        for (size_t i = 0; i < w->stream_count && ok && w->streams[step->of].is_default; i++)
            if (joins(&w->streams[step->of], &w->streams[i]))
                ok = wait_stream(s, thread, (uint32_t)i, TSM_BOUND_WAIT);
        return ok;
    case TSM_TARGET_OWNER:
    case TSM_TARGET_ALL:
        for (size_t i = 0; i < w->stream_count && ok; i++)
            if (step->target == TSM_TARGET_ALL || w->streams[i].owner == step->of)
                ok = wait_stream(s, thread, (uint32_t)i, TSM_BOUND_WAIT);
        return ok;
    }
    return ok;
}

/* In virtual time the recording says when the thread sent: what it did before is the difference. */
static void learn_gap(struct simulation *s, struct thread_state *t,
                      const struct tsm_workload_command *c)
{
    struct tsm_workload_step *step = &s->learning->steps[t->step];

    if (!c->has_work || c->sent_ns <= t->clock_ns)
        return;
    step->gap_ns += c->sent_ns - t->clock_ns;
    s->out->steps[t->step].begin_ns += c->sent_ns - t->clock_ns;
    t->clock_ns = c->sent_ns;
}

/* Makes the thread's next call. */
static bool take_step(struct simulation *s, uint32_t thread)
{
    struct thread_state *t = &s->threads[thread];
    const struct tsm_workload_step *step = &s->w->steps[t->step];
    const bool sends = step->kind == TSM_STEP_SEND && !step->is_dropped;
    bool ok = true;

    s->out->steps[t->step].begin_ns = plus(t->clock_ns, step->gap_ns);
    t->clock_ns = next_ns(s, t);
    t->left = 0;
    t->end_ns = 0;
    t->by = TSM_WORKLOAD_NONE;
    if (sends && s->learning && s->w->is_virtual)
        learn_gap(s, t, &s->w->commands[step->command]);
    if (sends) {
        const struct tsm_workload_command *c = &s->w->commands[step->command];

        ok = send_command(s, c, t->clock_ns);
        s->out->steps[t->step].first_before = s->out->before_count;
        if (ok && step->waits)
            ok = wait_thread(s, thread, c->first_part + c->part_count - 1);
    } else if (!step->is_dropped) {
        s->out->steps[t->step].first_before = s->out->before_count;
        ok = wait_target(s, thread, step);
    }
    if (t->left)
        t->is_waiting = true;
    else if (ok)
        wake(s, t);
    return ok;
}

/* Tests whether the thread must wait until another one has sent what it refers to. */
static bool is_early(const struct simulation *s, const struct thread_state *t)
{
    const struct tsm_workload_step *step = &s->w->steps[t->step];

    if (step->is_dropped)
        return false;
    if (step->kind != TSM_STEP_SEND)
        return step->target == TSM_TARGET_COMMAND && !s->w->commands[step->of].is_dropped &&
               !s->out->parts[s->w->commands[step->of].first_part].is_sent;
    for (uint32_t i = 0; i < s->w->commands[step->command].event_count; i++) {
        const struct tsm_workload_command *e =
            &s->w->commands[s->w->events[s->w->commands[step->command].first_event + i]];

        if (!e->is_dropped && !s->out->parts[e->first_part].is_sent)
            return true;
    }
    return false;
}

/* Returns the thread that calls next, or TSM_WORKLOAD_NONE. */
static uint32_t next_thread(const struct simulation *s)
{
    uint32_t found = TSM_WORKLOAD_NONE;

    for (size_t i = 0; i < s->w->thread_count; i++) {
        const struct thread_state *t = &s->threads[i];

        if (t->step == TSM_WORKLOAD_NONE || t->is_waiting || is_early(s, t))
            continue;
        if (found == TSM_WORKLOAD_NONE || next_ns(s, t) < next_ns(s, &s->threads[found]) ||
            (next_ns(s, t) == next_ns(s, &s->threads[found]) && t->step < s->threads[found].step))
            found = (uint32_t)i;
    }
    return found;
}

/* ---- devices ----------------------------------------------------------------------------------
 */

/* Returns the kernel that has the slots until `start_ns`. */
static uint32_t slots_holder(const struct simulation *s, const struct device_state *d,
                             uint64_t start_ns)
{
    const uint64_t tail = s->w->machine.kernel_ns;
    uint32_t found = TSM_WORKLOAD_NONE;
    uint64_t best = 0;

    for (size_t i = 0; i < RECENT && i < d->kernel_count; i++) {
        const uint64_t end = s->out->parts[d->kernels[i]].end_ns;
        const uint64_t free_ns = end > tail ? end - tail : 0;

        if (free_ns == start_ns)
            return d->kernels[i];
        if (found == TSM_WORKLOAD_NONE || (free_ns <= start_ns && free_ns > best)) {
            found = d->kernels[i];
            best = free_ns;
        }
    }
    return found;
}

static int engine_of(enum tsm_device_work_kind kind)
{
    return kind == TSM_DEVICE_TO_DEVICE       ? 0
           : kind == TSM_DEVICE_TO_HOST       ? 1
           : kind == TSM_DEVICE_HOST_FUNCTION ? 2
                                              : -1;
}

/* Runs the work, and says in *before which part had the engine. */
static struct tsm_device_span run_on(struct simulation *s, struct device_state *d, uint32_t part,
                                     uint32_t *before)
{
    const struct tsm_device_work *work = &s->w->parts[part].work;
    const int engine = engine_of(work->kind);
    const uint64_t ready_ns = s->out->parts[part].ready_ns;
    uint64_t old[TSM_MACHINE_ENGINES_MAX];
    struct tsm_device_span span;

    *before = TSM_WORKLOAD_NONE;
    if (engine >= 0)
        memcpy(old, d->model.engine_ns[engine], sizeof(old));
    span = tsm_device_model_run(&d->model, work, ready_ns);
    for (size_t i = 0; engine >= 0 && i < TSM_MACHINE_ENGINES_MAX; i++)
        if (old[i] != d->model.engine_ns[engine][i]) {
            *before = d->on_engine[engine][i];
            d->on_engine[engine][i] = part;
        }
    if (work->kind != TSM_DEVICE_KERNEL || work->is_fixed)
        return span;
    if (span.start_ns > ready_ns)
        *before = slots_holder(s, d, span.start_ns);
    d->kernels[d->kernel_count++ % RECENT] = part;
    return span;
}

/* The part has ended: what waited for it goes on. */
static bool release(struct simulation *s, uint32_t part)
{
    const uint64_t end_ns = s->out->parts[part].end_ns;
    bool ok = true;

    for (uint32_t at = s->parts[part].waiting; at != TSM_WORKLOAD_NONE && ok;
         at = s->waitings[at].next) {
        const struct waiting *one = &s->waitings[at];

        if (one->who & TSM_SCHEDULE_STEP) {
            struct thread_state *t = &s->threads[one->who & ~TSM_SCHEDULE_STEP];

            if (t->end_ns <= end_ns) {
                t->end_ns = end_ns;
                t->by = part;
            }
            if (!--t->left)
                wake(s, t);
            continue;
        }
        bind(&s->out->parts[one->who], end_ns, one->bound, part);
        if (!--s->parts[one->who].left)
            ok = heap_push(s, one->who);
    }
    return ok;
}

/* Returns when the part is ready, given that a stream needs some time from one command to the next.
 */
static uint64_t turned_around(const struct simulation *s, const struct tsm_scheduled_part *p)
{
    return p->bound == TSM_BOUND_STREAM || p->bound == TSM_BOUND_EVENT
               ? plus(p->ready_ns, s->w->turnaround_ns)
               : p->ready_ns;
}

static bool run_part(struct simulation *s, uint32_t part)
{
    struct tsm_scheduled_part *p = &s->out->parts[part];
    const struct tsm_workload_command *c = command_of(s, part);
    struct stream_state *stream = &s->streams[c->stream];
    struct tsm_device_span span;
    uint32_t before;

    if (s->w->turnaround_ns && s->w->parts[part].work.kind != TSM_DEVICE_NONE)
        p->ready_ns = turned_around(s, p);
    if (s->learning && !s->w->is_virtual && c->recorded.kind == TSM_TIME_MEASURED) {
        span.start_ns = c->recorded.start_ns > 0 ? (uint64_t)c->recorded.start_ns : 0;
        span.end_ns = c->recorded.end_ns > 0 ? (uint64_t)c->recorded.end_ns : 0;
        before = TSM_WORKLOAD_NONE;
    } else {
        span = run_on(s, &s->devices[s->w->streams[c->stream].device], part, &before);
    }
    if (span.start_ns > p->ready_ns && before != TSM_WORKLOAD_NONE) {
        p->bound = TSM_BOUND_ENGINE;
        p->by = before;
    }
    p->start_ns = span.start_ns;
    p->end_ns = span.end_ns;
    p->is_done = true;
    if (stream->end_ns <= span.end_ns || stream->end_part == TSM_WORKLOAD_NONE) {
        stream->end_ns = span.end_ns;
        stream->end_part = part;
    }
    s->out->order[s->out->order_count++] = part;
    if (span.end_ns > s->out->end_ns || s->out->last == TSM_WORKLOAD_NONE) {
        s->out->end_ns = span.end_ns;
        s->out->last = part;
    }
    return release(s, part);
}

/* ---- running ----------------------------------------------------------------------------------
 */

/* Tests whether a part that is ready at `ns` comes before all that the thread may send. */
static bool is_certain(const struct simulation *s, uint32_t thread, uint64_t ns)
{
    return thread == TSM_WORKLOAD_NONE ||
           ns < plus(next_ns(s, &s->threads[thread]), s->w->machine.launch_latency_ns);
}

static bool run(struct simulation *s)
{
    for (;;) {
        const uint32_t thread = next_thread(s);
        bool ok;

        if (s->heap_count && is_certain(s, thread, s->out->parts[s->heap[0]].ready_ns))
            ok = run_part(s, heap_pop(s));
        else if (thread != TSM_WORKLOAD_NONE)
            ok = take_step(s, thread);
        else
            return true;
        if (!ok)
            return false;
    }
}

static bool begin(struct simulation *s)
{
    const struct tsm_workload *w = s->w;

    s->parts = calloc(w->part_count + 1, sizeof(*s->parts));
    s->streams = calloc(w->stream_count + 1, sizeof(*s->streams));
    s->threads = calloc(w->thread_count + 1, sizeof(*s->threads));
    s->devices = calloc(w->device_count + 1, sizeof(*s->devices));
    s->out->parts = calloc(w->part_count + 1, sizeof(*s->out->parts));
    s->out->steps = calloc(w->step_count + 1, sizeof(*s->out->steps));
    s->out->order = calloc(w->part_count + w->step_count + 1, sizeof(*s->out->order));
    if (!s->parts || !s->streams || !s->threads || !s->devices || !s->out->parts ||
        !s->out->steps || !s->out->order)
        return false;
    for (size_t i = 0; i < w->part_count; i++)
        s->parts[i].waiting = TSM_WORKLOAD_NONE;
    for (size_t i = 0; i < w->stream_count; i++)
        s->streams[i].last = s->streams[i].end_part = TSM_WORKLOAD_NONE;
    for (size_t i = 0; i < w->thread_count; i++) {
        s->threads[i].step = w->threads[i].first;
        s->threads[i].clock_ns = w->begin_ns;
    }
    for (size_t i = 0; i < w->device_count; i++) {
        memset(s->devices[i].on_engine, 0xff, sizeof(s->devices[i].on_engine));
        if (tsm_device_model_init(&s->devices[i].model, &w->machine))
            return false;
    }
    return true;
}

static void finish(struct simulation *s)
{
    for (size_t i = 0; s->devices && i < s->w->device_count; i++)
        tsm_device_model_finish(&s->devices[i].model);
    free(s->parts);
    free(s->streams);
    free(s->threads);
    free(s->devices);
    free(s->waitings);
    free(s->heap);
}

static int simulate(struct tsm_schedule *out, const struct tsm_workload *w,
                    struct tsm_workload *learning)
{
    struct simulation s = {.w = w, .learning = learning, .out = out};
    bool ok;

    *out = (struct tsm_schedule){
        .last = TSM_WORKLOAD_NONE, .begin_ns = w->begin_ns, .end_ns = w->begin_ns};
    ok = begin(&s) && run(&s);
    for (size_t i = 0; ok && i < w->thread_count; i++)
        out->is_stuck |= s.threads[i].step != TSM_WORKLOAD_NONE;
    for (size_t i = 0; ok && i < w->part_count; i++)
        out->is_stuck |= out->parts[i].is_sent && !out->parts[i].is_done;
    finish(&s);
    return ok ? 0 : no_memory();
}

int tsm_schedule_simulate(struct tsm_schedule *out, const struct tsm_workload *w)
{
    return simulate(out, w, NULL);
}

/* ---- calibrating ------------------------------------------------------------------------------
 */

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Returns the median of what parts waited for after all that is known was over, of those that
 * waited for their thread, or for others, last. */
static int median_delay(uint64_t *out, const struct tsm_workload *w, const struct tsm_schedule *s,
                        bool of_thread)
{
    uint64_t *list = malloc((w->part_count + 1) * sizeof(*list));
    size_t count = 0;

    *out = 0;
    if (!list)
        return no_memory();
    for (size_t i = 0; i < w->part_count; i++) {
        const struct tsm_scheduled_part *p = &s->parts[i];
        const bool is_wanted = of_thread
                                   ? p->bound == TSM_BOUND_THREAD
                                   : p->bound == TSM_BOUND_STREAM || p->bound == TSM_BOUND_EVENT;

        if (p->is_done && is_wanted && w->parts[i].work.kind != TSM_DEVICE_NONE &&
            w->commands[w->parts[i].command].recorded.kind == TSM_TIME_MEASURED)
            list[count++] = p->start_ns > p->ready_ns ? p->start_ns - p->ready_ns : 0;
    }
    qsort(list, count, sizeof(*list), by_size);
    if (count)
        *out = list[count / 2];
    free(list);
    return 0;
}

/* What threads did between their calls, as recorded. */
static void read_gaps(struct tsm_workload *w)
{
    w->begin_ns = UINT64_MAX;
    for (size_t i = 0; i < w->thread_count; i++) {
        const uint32_t first = w->threads[i].first;

        if (w->steps[first].call_ns < w->begin_ns)
            w->begin_ns = w->steps[first].call_ns;
    }
    if (w->begin_ns == UINT64_MAX)
        w->begin_ns = 0;
    for (size_t i = 0; i < w->thread_count; i++) {
        uint64_t before_ns = w->begin_ns;

        for (uint32_t at = w->threads[i].first; at != TSM_WORKLOAD_NONE; at = w->steps[at].next) {
            struct tsm_workload_step *step = &w->steps[at];

            step->gap_ns = step->call_ns > before_ns ? step->call_ns - before_ns : 0;
            before_ns = step->returned_ns;
        }
    }
}

/* Tests whether the thread went on, to the nanosecond, when its command had ended: a copy of which
 * the call alone does not say whether it waits. */
static bool has_waited(const struct tsm_workload *w, const struct tsm_workload_step *step)
{
    const struct tsm_workload_step *next =
        step->next == TSM_WORKLOAD_NONE ? NULL : &w->steps[step->next];
    const struct tsm_workload_command *c, *then;

    if (step->kind != TSM_STEP_SEND || !next || next->kind != TSM_STEP_SEND)
        return false;
    c = &w->commands[step->command];
    then = &w->commands[next->command];
    return c->has_work && then->has_work && c->recorded.kind == TSM_TIME_MEASURED &&
           then->sent_ns > c->sent_ns + w->machine.call_ns &&
           then->sent_ns - w->machine.call_ns == (uint64_t)c->recorded.end_ns;
}

int tsm_schedule_calibrate(struct tsm_workload *w)
{
    struct tsm_schedule s;
    uint64_t latency_ns = 0;
    int error;

    if (!w->is_virtual) {
        read_gaps(w);
        w->machine.launch_latency_ns = 0;
    }
    for (size_t i = 0; i < w->step_count && w->is_virtual; i++)
        w->steps[i].waits = w->steps[i].waits || has_waited(w, &w->steps[i]);
    error = simulate(&s, w, w);
    if (!error && !w->is_virtual) {
        error = median_delay(&latency_ns, w, &s, true);
        if (!error)
            error = median_delay(&w->turnaround_ns, w, &s, false);
        w->machine.launch_latency_ns = latency_ns;
    }
    tsm_schedule_finish(&s);
    return error;
}

void tsm_schedule_finish(struct tsm_schedule *s)
{
    free(s->parts);
    free(s->steps);
    free(s->order);
    free(s->before);
    *s = (struct tsm_schedule){0};
}
