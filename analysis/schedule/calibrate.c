/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/work.h"
#include "analysis/schedule/simulate.h"

#include "tracesmith/error.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Returns the median of what parts waited for after all that is known was over, of those that
 * waited for their thread, or for others, last. */
static int median_delay(uint64_t *out, const struct tsm_workload *w, const struct tsm_prediction *s,
                        bool of_thread)
{
    uint64_t *list = malloc((w->part_count + 1) * sizeof(*list));
    size_t count = 0;

    *out = 0;
    if (!list)
        return tsm_fail(TSM_E_MEMORY, "no memory to calibrate");
    for (size_t i = 0; i < w->part_count; i++) {
        const struct tsm_scheduled_part *p = &s->parts[i];
        const bool is_wanted = of_thread
                                   ? p->bound == TSM_BOUND_THREAD
                                   : p->bound == TSM_BOUND_STREAM || p->bound == TSM_BOUND_EVENT;

        if (p->is_done && is_wanted && tsm_workload_kind(w, i) != TSM_DEVICE_NONE &&
            w->commands[w->parts[i].command].recorded.kind == TSM_TIME_MEASURED &&
            w->commands[w->parts[i].command].recorded.axis == TSM_AXIS_HOST)
            list[count++] = p->start_ns > p->ready_ns ? p->start_ns - p->ready_ns : 0;
    }
    qsort(list, count, sizeof(*list), by_size);
    if (count)
        *out = list[count / 2];
    free(list);
    return 0;
}

/* Reads what threads did between their calls, as recorded. */
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

/* Tests whether the software GPU, on which times are virtual, waits in such a copy. */
static bool is_waiting_copy(const struct tsm_workload_step *step,
                            const struct tsm_workload_command *c)
{
    return tsm_work_of_type(c->schema).work == TSM_WORK_COPY &&
           (c->to == TSM_PLACE_UNKNOWN ||
            (step->may_wait && (c->from <= TSM_PLACE_HOST || c->to <= TSM_PLACE_HOST)));
}

/* Tests whether the call returned when its command had ended: of a copy the call alone may not say
 * whether it waits, or say that it does where the memory is of another kind than it is meant for.
 * Each call takes the same time, so the next command of the thread whose time of sending is known
 * says when the call returned, unless the thread has waited in between: then the memory of the copy
 * decides, if the times allow it. */
static bool has_waited(const struct tsm_workload *w, const struct tsm_workload_step *step)
{
    const struct tsm_workload_command *c, *then = NULL;
    uint64_t end_ns;
    bool has_waits = false;

    if (step->kind != TSM_STEP_SEND)
        return false;
    c = &w->commands[step->command];
    if (!c->has_work || c->recorded.kind != TSM_TIME_MEASURED)
        return step->waits || is_waiting_copy(step, c);
    end_ns = (uint64_t)c->recorded.end_ns;
    for (uint32_t at = step->next; at != TSM_WORKLOAD_NONE && !then; at = w->steps[at].next) {
        const struct tsm_workload_step *next = &w->steps[at];

        end_ns += w->machine.call_ns;
        if (next->kind == TSM_STEP_SEND && w->commands[next->command].has_work)
            then = &w->commands[next->command];
        has_waits |= next->kind != TSM_STEP_SEND || next->waits;
    }
    if (then && then->sent_ns < end_ns)
        return false;
    if (step->waits)
        return true;
    if (then && !has_waits && then->sent_ns == end_ns)
        return (uint64_t)c->recorded.end_ns > c->sent_ns;
    return is_waiting_copy(step, c);
}

int tsm_workload_calibrate(struct tsm_workload *w)
{
    struct tsm_prediction s;
    uint64_t latency_ns = 0;
    int error;

    if (!w->is_virtual) {
        read_gaps(w);
        w->machine.launch_latency_ns = 0;
    }
    for (size_t i = 0; i < w->step_count && w->is_virtual; i++)
        w->steps[i].waits = has_waited(w, &w->steps[i]);
    error = tsm_prediction_learn(&s, w);
    if (!error && !w->is_virtual) {
        error = median_delay(&latency_ns, w, &s, true);
        if (!error)
            error = median_delay(&w->turnaround_ns, w, &s, false);
        w->machine.launch_latency_ns = latency_ns;
    }
    tsm_prediction_finish(&s);
    return error;
}
