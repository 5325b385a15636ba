/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads and parts take turns: a part runs when no thread can send anything any more that would be
 * ready before it. So all devices see their work in the order of time, and nothing is taken back.
 */
#include "analysis/schedule/simulation.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY,
                    "no memory to simulate the trace, or more waits than can be followed");
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

static const struct tsm_workload_stream *stream_of(const struct tsm_simulation *s, uint32_t part)
{
    return &s->w->streams[tsm_simulation_command(s, part)->stream];
}

/* ---- what comes next --------------------------------------------------------------------------
 */

typedef bool (*order_function)(const struct tsm_simulation *s, uint32_t a, uint32_t b);

static bool is_part_before(const struct tsm_simulation *s, uint32_t a, uint32_t b)
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

static bool heap_push(const struct tsm_simulation *s, struct tsm_simulated_heap *heap,
                      uint32_t value, order_function is_before)
{
    size_t at = heap->count;

    if (!TSM_ARRAY_PUSH(heap->list, heap->count, heap->capacity, value))
        return false;
    for (; at && is_before(s, value, heap->list[(at - 1) / 2]); at = (at - 1) / 2)
        heap->list[at] = heap->list[(at - 1) / 2];
    heap->list[at] = value;
    return true;
}

static uint32_t heap_pop(const struct tsm_simulation *s, struct tsm_simulated_heap *heap,
                         order_function is_before)
{
    const uint32_t first = heap->list[0], moved = heap->list[--heap->count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && is_before(s, heap->list[child + 1], heap->list[child]))
            child++;
        if (!is_before(s, heap->list[child], moved))
            break;
        heap->list[at] = heap->list[child];
        at = child;
    }
    heap->list[at] = moved;
    return first;
}

bool tsm_simulation_push_ready(struct tsm_simulation *s, uint32_t part)
{
    return heap_push(s, &s->ready, part, is_part_before);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

static bool send_part(struct tsm_simulation *s, const struct tsm_workload_command *c,
                      uint32_t place, uint64_t sent_ns)
{
    const struct tsm_workload_part *part = &s->w->parts[place];
    struct tsm_scheduled_part *p = &s->out->parts[place];
    struct tsm_simulated_stream *stream = &s->streams[c->stream];
    /* Commands without a time among measured ones must not be later than they. */
    const uint64_t latency_ns =
        s->learning && !s->w->is_virtual ? 0 : s->w->machine.launch_latency_ns;
    bool ok = true;

    *p = (struct tsm_scheduled_part){.sent_ns = sent_ns,
                                     .ready_ns = plus(sent_ns, latency_ns),
                                     .bound = TSM_BOUND_THREAD,
                                     .by = c->step,
                                     .brought_by = TSM_WORKLOAD_NONE,
                                     .first_before = s->out->before_count,
                                     .is_sent = true};
    for (uint32_t i = 0; i < part->parent_count && ok; i++)
        ok = tsm_simulation_wait_part(s, place, s->w->parents[part->first_parent + i],
                                      TSM_BOUND_PARENT);
    if (!part->is_node) {
        ok = ok && tsm_simulation_wait_stream(s, place, c->stream, TSM_BOUND_STREAM);
        for (uint32_t i = 0; i < c->event_count && ok; i++)
            ok = tsm_simulation_wait_part(s, place, s->w->events[c->first_event + i].part,
                                          TSM_BOUND_EVENT);
    }
    for (uint32_t i = 0; i < part->awaited_count && ok; i++)
        ok = tsm_simulation_wait_part(s, place, s->w->awaited[part->first_awaited + i],
                                      TSM_BOUND_EVENT);
    ok = ok && tsm_simulation_wait_default(s, place) && tsm_simulation_wait_value(s, place);
    if (!part->is_node || stream->last == TSM_WORKLOAD_NONE || !s->w->parts[stream->last].is_node)
        stream->first_node = place;
    stream->last = place;
    tsm_simulation_note_sent(s, c->stream);
    return ok && (s->parts[place].left || tsm_simulation_push_ready(s, place));
}

static bool push_caller(struct tsm_simulation *s, uint32_t thread);

static bool send_command(struct tsm_simulation *s, const struct tsm_workload_command *c,
                         uint64_t sent_ns)
{
    uint32_t parked = s->parts[c->first_part].parked;
    bool ok = true;

    for (uint32_t i = 0; i < c->part_count && ok; i++)
        ok = send_part(s, c, c->first_part + i, sent_ns);
    s->parts[c->first_part].parked = TSM_WORKLOAD_NONE;
    while (parked != TSM_WORKLOAD_NONE && ok) {
        const uint32_t thread = parked;

        parked = s->threads[thread].next_parked;
        ok = push_caller(s, thread);
    }
    return ok;
}

/* ---- threads ----------------------------------------------------------------------------------
 */

static uint64_t cost_of(const struct tsm_simulation *s, const struct tsm_workload_step *step)
{
    if (step->is_dropped || step->is_fused)
        return 0;
    return s->w->is_virtual ? s->w->machine.call_ns : step->cost_ns;
}

/* Returns when the thread's next call has been charged, or, where times are measured, begins. */
static uint64_t next_ns(const struct tsm_simulation *s, const struct tsm_simulated_thread *t)
{
    const struct tsm_workload_step *step = &s->w->steps[t->step];

    return plus(plus(t->clock_ns, step->gap_ns), s->w->is_virtual ? cost_of(s, step) : 0);
}

static bool end_step(struct tsm_simulation *s, struct tsm_simulated_thread *t, uint64_t end_ns)
{
    struct tsm_scheduled_step *done = &s->out->steps[t->step];

    done->end_ns = end_ns;
    done->is_done = true;
    done->by = t->by;
    s->out->order[s->out->order_count++] = t->step | TSM_PREDICTION_STEP;
    if (end_ns >= s->out->end_ns) {
        s->out->end_ns = end_ns;
        s->out->last = t->step | TSM_PREDICTION_STEP;
    }
    t->clock_ns = end_ns;
    t->step = s->w->steps[t->step].next;
    return push_caller(s, (uint32_t)(t - s->threads));
}

/* Returns the clock of a thread that asked again and again until `end_ns`. */
static uint64_t poll_end(const struct tsm_simulation *s, uint64_t asked_ns, uint64_t end_ns)
{
    const uint64_t period = s->w->is_virtual ? s->w->machine.call_ns : 0;

    if (end_ns <= asked_ns)
        return asked_ns;
    return period ? plus(asked_ns, (end_ns - asked_ns + period - 1) / period * period) : end_ns;
}

/* All that the thread waited for has ended. */
static bool wake(struct tsm_simulation *s, struct tsm_simulated_thread *t)
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
    return end_step(s, t, s->w->is_virtual ? end_ns : plus(end_ns, cost_of(s, step)));
}

static bool wait_target(struct tsm_simulation *s, uint32_t thread,
                        const struct tsm_workload_step *step)
{
    const struct tsm_workload *w = s->w;
    bool ok = true;

    switch (step->target) {
    case TSM_TARGET_NOTHING:
        return true;
    case TSM_TARGET_COMMAND:
        return tsm_simulation_wait_thread(s, thread,
                                          step->part == TSM_WORKLOAD_NONE
                                              ? tsm_workload_last_part(w, (uint32_t)step->of)
                                              : step->part);
    case TSM_TARGET_STREAM:
        ok = tsm_simulation_wait_stream(s, thread, (uint32_t)step->of, TSM_BOUND_WAIT);
        if (ok && w->streams[step->of].is_default)
            ok = tsm_simulation_wait_recent(s, thread, (uint32_t)step->of, TSM_BOUND_WAIT);
        return ok;
    case TSM_TARGET_OWNER:
        return tsm_simulation_wait_owner(s, thread, &step->of);
    case TSM_TARGET_ALL:
        return tsm_simulation_wait_owner(s, thread, NULL);
    case TSM_TARGET_LIST:
        for (uint32_t i = 0; i < step->of_count && ok; i++)
            ok = tsm_simulation_wait_thread(s, thread, w->events[step->of + i].part);
        return ok;
    }
    return ok;
}

/* In virtual time the recording says when the thread sent: what it did before is the difference. */
static void learn_gap(struct tsm_simulation *s, struct tsm_simulated_thread *t,
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
static bool take_step(struct tsm_simulation *s, uint32_t thread)
{
    struct tsm_simulated_thread *t = &s->threads[thread];
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
    s->out->steps[t->step].is_begun = true;
    if (!step->is_dropped && !tsm_simulation_note_call(s, t->step, t->clock_ns))
        return false;
    if (sends) {
        const struct tsm_workload_command *c = &s->w->commands[step->command];

        ok = send_command(s, c, t->clock_ns);
        s->out->steps[t->step].first_before = s->out->before_count;
        if (ok && step->waits)
            ok = tsm_simulation_wait_thread(s, thread, c->first_part + c->part_count - 1);
    } else if (!step->is_dropped) {
        s->out->steps[t->step].first_before = s->out->before_count;
        ok = wait_target(s, thread, step);
    }
    return ok && (t->left || wake(s, t));
}

/* Returns the first part of what the host waits for that another thread has not sent yet, or
 * TSM_WORKLOAD_NONE. */
static uint32_t missing_target(const struct tsm_simulation *s, const struct tsm_workload_step *step)
{
    const struct tsm_workload *w = s->w;
    const uint32_t count = step->target == TSM_TARGET_COMMAND ? 1
                           : step->target == TSM_TARGET_LIST  ? step->of_count
                                                              : 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct tsm_workload_command *c =
            &w->commands[step->target == TSM_TARGET_LIST ? w->events[step->of + i].command
                                                         : step->of];

        if (!c->is_dropped && !s->out->parts[c->first_part].is_sent)
            return c->first_part;
    }
    return TSM_WORKLOAD_NONE;
}

/* Returns the first part of what nodes of the command wait for that nobody has sent yet, ... */
static uint32_t missing_awaited(const struct tsm_simulation *s,
                                const struct tsm_workload_command *c)
{
    const struct tsm_workload *w = s->w;

    for (uint32_t k = 0; k < c->part_count && w->awaited_count; k++) {
        const struct tsm_workload_part *part = &w->parts[c->first_part + k];

        for (uint32_t i = 0; i < part->awaited_count; i++) {
            const uint32_t other = w->parts[w->awaited[part->first_awaited + i]].command;
            const struct tsm_workload_command *e = &w->commands[other];

            if (e != c && !e->is_dropped && !s->out->parts[e->first_part].is_sent)
                return e->first_part;
        }
    }
    return TSM_WORKLOAD_NONE;
}

/* Returns the part that another thread must have sent before this one makes its call, or
 * TSM_WORKLOAD_NONE. */
static uint32_t missing_part(const struct tsm_simulation *s, const struct tsm_simulated_thread *t)
{
    const struct tsm_workload *w = s->w;
    const struct tsm_workload_step *step = &w->steps[t->step];
    const struct tsm_workload_command *c;
    uint32_t part;

    if (step->is_dropped)
        return TSM_WORKLOAD_NONE;
    if (step->kind != TSM_STEP_SEND)
        return missing_target(s, step);
    c = &w->commands[step->command];
    for (uint32_t i = 0; i < c->event_count; i++) {
        const struct tsm_workload_command *e = &w->commands[w->events[c->first_event + i].command];

        if (!e->is_dropped && !s->out->parts[e->first_part].is_sent)
            return e->first_part;
    }
    part = missing_awaited(s, c);
    if (part != TSM_WORKLOAD_NONE)
        return part;
    /* Threads that send to one stream do so as recorded. */
    while (c->previous != TSM_WORKLOAD_NONE && w->commands[c->previous].is_dropped)
        c = &w->commands[c->previous];
    if (c->previous != TSM_WORKLOAD_NONE &&
        !s->out->parts[w->commands[c->previous].first_part].is_sent)
        return w->commands[c->previous].first_part;
    return TSM_WORKLOAD_NONE;
}

static bool is_call_before(const struct tsm_simulation *s, uint32_t a, uint32_t b)
{
    const uint64_t x = next_ns(s, &s->threads[a]), y = next_ns(s, &s->threads[b]);

    return x != y ? x < y
                  : s->w->steps[s->threads[a].step].rank < s->w->steps[s->threads[b].step].rank;
}

/* Lets the thread make its next call, if it has one, in its turn; or when what it refers to was
 * sent. */
static bool push_caller(struct tsm_simulation *s, uint32_t thread)
{
    struct tsm_simulated_thread *t = &s->threads[thread];
    uint32_t part;

    if (t->step == TSM_WORKLOAD_NONE)
        return true;
    part = missing_part(s, t);
    if (part == TSM_WORKLOAD_NONE)
        return heap_push(s, &s->callers, thread, is_call_before);
    t->next_parked = s->parts[part].parked;
    s->parts[part].parked = thread;
    return true;
}

/* ---- devices ----------------------------------------------------------------------------------
 */

/* Returns the kernel that has the slots until `start_ns`. */
static uint32_t slots_holder(const struct tsm_simulation *s, const struct tsm_simulated_device *d,
                             uint64_t start_ns)
{
    const uint64_t tail = s->w->machine.kernel_ns;
    uint32_t found = TSM_WORKLOAD_NONE;
    uint64_t best = 0;

    for (size_t i = 0; i < TSM_SIMULATION_RECENT && i < d->kernel_count; i++) {
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
static struct tsm_device_span run_on(struct tsm_simulation *s, struct tsm_simulated_device *d,
                                     uint32_t part, uint32_t *before)
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
    for (uint32_t i = 0; i < s->w->parts[part].inner_count; i++)
        span.end_ns = tsm_device_model_run(
                          &d->model, &s->w->inner[s->w->parts[part].first_inner + i], span.end_ns)
                          .end_ns;
    for (size_t i = 0; engine >= 0 && i < TSM_MACHINE_ENGINES_MAX; i++)
        if (old[i] != d->model.engine_ns[engine][i]) {
            *before = d->on_engine[engine][i];
            d->on_engine[engine][i] = part;
        }
    if (work->kind != TSM_DEVICE_KERNEL || work->is_fixed)
        return span;
    if (span.start_ns > ready_ns)
        *before = slots_holder(s, d, span.start_ns);
    d->kernels[d->kernel_count++ % TSM_SIMULATION_RECENT] = part;
    return span;
}

/* The part has ended: what waited for it goes on. */
static bool release(struct tsm_simulation *s, uint32_t part)
{
    const uint64_t end_ns = s->out->parts[part].end_ns;
    bool ok = true;

    for (uint32_t at = s->parts[part].waiting; at != TSM_WORKLOAD_NONE && ok;
         at = s->waitings[at].next) {
        const struct tsm_simulated_wait *one = &s->waitings[at];

        if (one->who & TSM_PREDICTION_STEP) {
            struct tsm_simulated_thread *t = &s->threads[one->who & ~TSM_PREDICTION_STEP];

            if (t->end_ns <= end_ns) {
                t->end_ns = end_ns;
                t->by = part;
            }
            if (!--t->left)
                ok = wake(s, t);
            continue;
        }
        tsm_simulation_bind(&s->out->parts[one->who], end_ns, one->bound, part);
        if (!--s->parts[one->who].left)
            ok = tsm_simulation_push_ready(s, one->who);
    }
    return ok;
}

/* Returns when the part is ready, given that a stream needs some time from one command to the next.
 */
static uint64_t turned_around(const struct tsm_simulation *s, const struct tsm_scheduled_part *p)
{
    return p->bound == TSM_BOUND_STREAM || p->bound == TSM_BOUND_EVENT
               ? plus(p->ready_ns, s->w->turnaround_ns)
               : p->ready_ns;
}

static bool run_part(struct tsm_simulation *s, uint32_t part)
{
    struct tsm_scheduled_part *p = &s->out->parts[part];
    const struct tsm_workload_command *c = tsm_simulation_command(s, part);
    struct tsm_device_span span;
    uint32_t before;

    if (tsm_simulation_has_lost_value(s, part)) {
        tsm_simulation_await_again(s, part);
        return true;
    }
    if (s->w->turnaround_ns && s->w->parts[part].work.kind != TSM_DEVICE_NONE)
        p->ready_ns = turned_around(s, p);
    if (s->learning && !s->w->is_virtual && c->recorded.kind == TSM_TIME_MEASURED &&
        c->recorded.axis == TSM_AXIS_HOST) {
        span.start_ns = c->recorded.start_ns > 0 ? (uint64_t)c->recorded.start_ns : 0;
        span.end_ns = c->recorded.end_ns > 0 ? (uint64_t)c->recorded.end_ns : 0;
        before = TSM_WORKLOAD_NONE;
    } else {
        span = run_on(s, &s->devices[s->w->streams[c->stream].device], part, &before);
    }
    p->waited_for = p->bound;
    p->waited_by = p->by;
    if (span.start_ns > p->ready_ns && before != TSM_WORKLOAD_NONE) {
        p->bound = TSM_BOUND_ENGINE;
        p->by = before;
    }
    p->start_ns = span.start_ns;
    p->end_ns = span.end_ns;
    p->is_done = true;
    tsm_simulation_note_done(s, c->stream, part);
    s->out->order[s->out->order_count++] = part;
    if (span.end_ns > s->out->end_ns || s->out->last == TSM_WORKLOAD_NONE) {
        s->out->end_ns = span.end_ns;
        s->out->last = part;
    }
    return release(s, part) && tsm_simulation_note_value(s, part);
}

/* ---- running ----------------------------------------------------------------------------------
 */

/* Tests whether a part that is ready at `ns` comes before all that threads may send, or may have
 * written for others that wait. */
static bool is_certain(const struct tsm_simulation *s, uint64_t ns)
{
    const uint64_t latency_ns = s->host_waiting_count ? 0 : s->w->machine.launch_latency_ns;

    return !s->callers.count || ns < plus(next_ns(s, &s->threads[s->callers.list[0]]), latency_ns);
}

static bool run(struct tsm_simulation *s)
{
    bool ok = true;

    while (ok && (s->ready.count || s->callers.count || s->host_waiting_count))
        if (s->ready.count && is_certain(s, s->out->parts[s->ready.list[0]].ready_ns))
            ok = run_part(s, heap_pop(s, &s->ready, is_part_before));
        else if (s->callers.count)
            ok = take_step(s, heap_pop(s, &s->callers, is_call_before));
        else
            ok = tsm_simulation_note_call(s, TSM_WORKLOAD_NONE, 0);
    return ok;
}

static bool begin(struct tsm_simulation *s)
{
    const struct tsm_workload *w = s->w;

    s->parts = calloc(w->part_count + 1, sizeof(*s->parts));
    s->streams = calloc(w->stream_count + 1, sizeof(*s->streams));
    s->threads = calloc(w->thread_count + 1, sizeof(*s->threads));
    s->devices = calloc(w->device_count + 1, sizeof(*s->devices));
    s->busy = calloc(w->stream_count + 1, sizeof(*s->busy));
    s->cells = calloc(w->cell_count + 1, sizeof(*s->cells));
    s->next_waiting = calloc(w->value_count + 1, sizeof(*s->next_waiting));
    s->host_waiting = calloc(w->value_count + 1, sizeof(*s->host_waiting));
    s->end.part = TSM_WORKLOAD_NONE;
    s->out->parts = calloc(w->part_count + 1, sizeof(*s->out->parts));
    s->out->steps = calloc(w->step_count + 1, sizeof(*s->out->steps));
    s->out->order = calloc(w->part_count + w->step_count + 1, sizeof(*s->out->order));
    if (!s->parts || !s->streams || !s->threads || !s->devices || !s->busy || !s->cells ||
        !s->next_waiting || !s->host_waiting || !s->out->parts || !s->out->steps || !s->out->order)
        return false;
    for (size_t i = 0; i < w->part_count; i++)
        s->parts[i].waiting = s->parts[i].parked = TSM_WORKLOAD_NONE;
    for (size_t i = 0; i < w->cell_count; i++)
        s->cells[i] = (struct tsm_simulated_cell){TSM_WORKLOAD_NONE, TSM_WORKLOAD_NONE};
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
    if (!tsm_simulation_make_owners(s))
        return false;
    for (size_t i = 0; i < w->thread_count; i++)
        if (!push_caller(s, (uint32_t)i))
            return false;
    return true;
}

static void finish(struct tsm_simulation *s)
{
    for (size_t i = 0; s->devices && i < s->w->device_count; i++)
        tsm_device_model_finish(&s->devices[i].model);
    free(s->parts);
    free(s->streams);
    free(s->threads);
    free(s->devices);
    for (size_t i = 0; i < s->owner_count; i++) {
        free(s->owners[i].defaults);
        free(s->owners[i].recent);
    }
    free(s->owners);
    tsm_map_finish(&s->owner_places);
    free(s->busy);
    free(s->cells);
    free(s->next_waiting);
    free(s->host_waiting);
    free(s->waitings);
    free(s->ready.list);
    free(s->callers.list);
}

static int simulate(struct tsm_prediction *out, const struct tsm_workload *w,
                    struct tsm_workload *learning)
{
    struct tsm_simulation s = {.w = w, .learning = learning, .out = out};
    bool ok;

    *out = (struct tsm_prediction){
        .last = TSM_WORKLOAD_NONE, .begin_ns = w->begin_ns, .end_ns = w->begin_ns};
    ok = begin(&s) && run(&s);
    for (size_t i = 0; ok && i < w->thread_count; i++)
        out->is_stuck |= s.threads[i].step != TSM_WORKLOAD_NONE;
    for (size_t i = 0; ok && i < w->part_count; i++)
        out->is_stuck |= out->parts[i].is_sent && !out->parts[i].is_done;
    finish(&s);
    return ok ? 0 : no_memory();
}

int tsm_prediction_make(struct tsm_prediction *out, const struct tsm_workload *w)
{
    return simulate(out, w, NULL);
}

int tsm_prediction_learn(struct tsm_prediction *out, struct tsm_workload *w)
{
    return simulate(out, w, w);
}

void tsm_prediction_finish(struct tsm_prediction *s)
{
    free(s->parts);
    free(s->steps);
    free(s->order);
    free(s->before);
    *s = (struct tsm_prediction){0};
}
