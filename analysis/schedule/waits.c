/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/waits.h"

#include "analysis/schedule/change.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define SIMULATED_MAX (1u << 25) /* calls and parts of commands in all simulations */
#define COSTS_MIN     4u

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for waits");
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_waited_event(const struct tsm_workload *w, const struct tsm_workload_command *c,
                            uint32_t part)
{
    for (uint32_t i = 0; i < c->event_count; i++)
        if (w->events[c->first_event + i].part == part)
            return true;
    return false;
}

/* Returns how much later a command was ready than it would have been without the events that it
 * waits for. */
static uint64_t waited_for_events(const struct tsm_workload *w, const struct tsm_prediction *s,
                                  const struct tsm_workload_command *c)
{
    const struct tsm_scheduled_part *p = &s->parts[c->first_part];
    uint64_t ready_ns = p->sent_ns + w->machine.launch_latency_ns;

    if (!p->is_done)
        return 0;
    for (size_t i = p->first_before; i < p->first_before + p->before_count; i++)
        if (!is_waited_event(w, c, s->before[i]))
            ready_ns = later(ready_ns, s->parts[s->before[i]].end_ns);
    return p->ready_ns > ready_ns ? p->ready_ns - ready_ns : 0;
}

static uint64_t waited_by(const struct tsm_workload *w, const struct tsm_prediction *s,
                          uint32_t step)
{
    const struct tsm_workload_step *of = &w->steps[step];

    if (of->kind == TSM_STEP_SEND && w->commands[of->command].schema->kind == SBT_KIND_WAIT)
        return waited_for_events(w, s, &w->commands[of->command]);
    return of->kind != TSM_STEP_SEND || of->waits ? s->steps[step].waited_ns : 0;
}

static int by_waited(const void *a, const void *b)
{
    const struct tsm_wait_cost *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns > y->waited_ns ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_gain(const void *a, const void *b)
{
    const struct tsm_wait_cost *x = a, *y = b;

    if (x->gain_ns != y->gain_ns)
        return x->gain_ns > y->gain_ns ? -1 : 1;
    return by_waited(a, b);
}

/* Simulates the schedule without the wait. */
static int find_gain(struct tsm_wait_cost *cost, struct tsm_workload *w,
                     const struct tsm_prediction *s)
{
    const struct tsm_workload_step step = w->steps[cost->step];
    const bool sends = step.kind == TSM_STEP_SEND;
    const struct tsm_workload_command command =
        sends ? w->commands[step.command] : (struct tsm_workload_command){0};
    struct tsm_prediction without = {0};
    int error = tsm_change_drop(w, cost->seq);

    if (!error)
        error = tsm_prediction_make(&without, w);
    if (!error && without.end_ns < s->end_ns)
        cost->gain_ns = s->end_ns - without.end_ns;
    tsm_prediction_finish(&without);
    w->steps[cost->step] = step;
    if (sends)
        w->commands[step.command] = command;
    return error;
}

static size_t count_max(const struct tsm_workload *w)
{
    const size_t count = SIMULATED_MAX / (w->step_count + w->part_count + 1);

    return count < COSTS_MIN ? COSTS_MIN : count > TSM_WAIT_COSTS_MAX ? TSM_WAIT_COSTS_MAX : count;
}

int tsm_wait_costs_make(struct tsm_wait_costs *out, struct tsm_workload *w,
                        const struct tsm_prediction *s)
{
    size_t capacity = 0;
    int error = 0;

    *out = (struct tsm_wait_costs){0};
    for (size_t i = 0; i < w->step_count; i++) {
        const struct tsm_wait_cost cost = {
            .seq = w->steps[i].seq, .step = (uint32_t)i, .waited_ns = waited_by(w, s, (uint32_t)i)};

        if (cost.waited_ns && !TSM_ARRAY_PUSH(out->list, out->count, capacity, cost))
            return no_memory();
    }
    out->all_count = out->count;
    if (!out->count)
        return 0;
    qsort(out->list, out->count, sizeof(*out->list), by_waited);
    if (out->count > count_max(w))
        out->count = count_max(w);
    for (size_t i = 0; i < out->count && !error; i++)
        error = find_gain(&out->list[i], w, s);
    qsort(out->list, out->count, sizeof(*out->list), by_gain);
    return error;
}

void tsm_wait_costs_finish(struct tsm_wait_costs *costs)
{
    free(costs->list);
    *costs = (struct tsm_wait_costs){0};
}
