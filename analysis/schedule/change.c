/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/change.h"

#include "tracesmith/error.h"

#include <fnmatch.h>
#include <inttypes.h>

static bool is_stream_wait(const struct tsm_workload_command *c)
{
    return c->schema && c->schema->kind == SBT_KIND_WAIT;
}

static void drop_command(struct tsm_workload *w, struct tsm_workload_command *c)
{
    c->is_dropped = true;
    w->steps[c->step].is_dropped = true;
}

int tsm_change_drop(struct tsm_workload *w, uint64_t seq)
{
    const uint32_t place = tsm_workload_find_step(w, seq);
    struct tsm_workload_step *step = place == TSM_WORKLOAD_NONE ? NULL : &w->steps[place];

    if (step && step->kind != TSM_STEP_SEND) {
        step->is_dropped = true;
        return 0;
    }
    if (step && is_stream_wait(&w->commands[step->command])) {
        drop_command(w, &w->commands[step->command]);
        return 0;
    }
    if (step && step->waits) {
        step->waits = false;
        return 0;
    }
    return tsm_fail(TSM_E_NOT_FOUND,
                    "record %" PRIu64 " waits for nothing: neither the host nor a stream does",
                    seq);
}

size_t tsm_change_drop_all(struct tsm_workload *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->step_count; i++) {
        struct tsm_workload_step *step = &w->steps[i];

        count += step->kind != TSM_STEP_SEND || step->waits;
        if (step->kind != TSM_STEP_SEND)
            step->is_dropped = true;
        step->waits = false;
    }
    return count;
}

size_t tsm_change_drop_redundant(struct tsm_workload *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->command_count; i++) {
        struct tsm_workload_command *c = &w->commands[i];

        if (!is_stream_wait(c) || !c->event_count || !c->is_redundant)
            continue;
        drop_command(w, c);
        count++;
    }
    return count;
}

/* Returns value * permille / 1000, rounded up, and no more than can be counted. */
static uint64_t scaled(uint64_t value, uint64_t permille)
{
    __extension__ const unsigned __int128 product = (unsigned __int128)value * permille + 999;

    return product / 1000 > UINT64_MAX ? UINT64_MAX : (uint64_t)(product / 1000);
}

size_t tsm_change_scale(struct tsm_workload *w, const char *kernel, uint64_t permille)
{
    size_t count = 0;

    for (size_t i = 0; i < w->command_count; i++) {
        const struct tsm_workload_command *c = &w->commands[i];

        if (!c->kernel || fnmatch(kernel, c->kernel, 0))
            continue;
        for (uint32_t k = c->first_part; k < c->first_part + c->part_count; k++) {
            struct tsm_device_work *work = &w->parts[k].work;

            work->instructions = scaled(work->instructions, permille);
            work->fixed_ns = scaled(work->fixed_ns, permille);
        }
        count++;
    }
    return count;
}

int tsm_change_priority(struct tsm_workload *w, uint32_t stream, int32_t priority)
{
    for (size_t i = 0; i < w->stream_count; i++)
        if (w->streams[i].number == stream) {
            w->streams[i].priority = priority;
            return 0;
        }
    return tsm_fail(TSM_E_NOT_FOUND, "nothing is sent to stream %u", stream);
}

size_t tsm_change_fuse(struct tsm_workload *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->step_count; i++) {
        struct tsm_workload_step *step = &w->steps[i];
        const struct tsm_workload_step *before =
            step->previous == TSM_WORKLOAD_NONE ? NULL : &w->steps[step->previous];

        if (!before || step->kind != TSM_STEP_SEND || before->kind != TSM_STEP_SEND ||
            step->is_dropped || before->is_dropped || before->waits || step->waits ||
            w->commands[step->command].stream != w->commands[before->command].stream)
            continue;
        step->is_fused = true;
        step->gap_ns = 0;
        count++;
    }
    return count;
}
