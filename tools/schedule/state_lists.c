/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/state_lists.h"

#include "analysis/model/work.h"
#include "analysis/schedule/loose/ready.h"
#include "analysis/schedule/loose/states.h"
#include "base/text.h"
#include "tools/schedule/load.h"
#include "tools/terminal.h"
#include "tracesmith/error.h"

#include <inttypes.h>

uint64_t tsm_state_lists_seq(const struct tsm_state_lists *v, bool is_loose, uint32_t command)
{
    return is_loose ? v->loose.commands[command].seq : v->w.commands[command].seq;
}

uint64_t tsm_state_lists_begin(const struct tsm_state_lists *v, bool is_loose, uint32_t command)
{
    const struct tsm_loose_command *c;

    if (!is_loose)
        return v->w.commands[command].recorded.start_ns > 0
                   ? (uint64_t)v->w.commands[command].recorded.start_ns
                   : 0;
    c = &v->loose.commands[command];
    return c->has_time ? c->start_ns : c->call_ns;
}

const char *tsm_state_lists_name(const struct tsm_state_lists *v, bool is_loose, uint32_t command)
{
    const char *kernel =
        is_loose ? v->loose.commands[command].kernel : v->w.commands[command].kernel;

    return kernel     ? kernel
           : is_loose ? v->loose.commands[command].schema->name
                      : v->w.commands[command].schema->name;
}

uint64_t tsm_state_lists_step(const struct tsm_state_lists *v, bool is_loose, uint32_t step)
{
    return is_loose ? tsm_loose_step_seq(&v->loose, step) : v->w.steps[step].seq;
}

void tsm_state_lists_subject(const struct tsm_state_lists *v, bool is_loose,
                             const struct tsm_state_interval *i, char *out, size_t size)
{
    char device[TSM_DEVICE_NAME_MAX];
    const char *name =
        tsm_device_name(device, is_loose ? &v->loose.devices[i->device] : &v->w.devices[i->device]);

    switch (i->of) {
    case TSM_STATE_OF_COMMAND:
        tsm_format(out, size, "command %" PRIu64, tsm_state_lists_seq(v, is_loose, i->place));
        return;
    case TSM_STATE_OF_STREAM:
        tsm_format(out, size, "stream %u",
                   is_loose ? v->loose.streams[i->place].number : v->w.streams[i->place].number);
        return;
    case TSM_STATE_OF_ENGINE:
        tsm_format(out, size, "%s %s", name ? name : "device", tsm_engine_name(i->place));
        return;
    default:
        tsm_format(out, size, "%s", name ? name : "device");
    }
}

/* Leaves commands without an end out of those for which a time was to be had. */
static void count_timeless(struct tsm_state_lists *v)
{
    for (size_t i = 0; i < v->w.command_count; i++)
        if (v->outcomes.list[i].outcome != TSM_OUTCOME_FINISHED && v->w.untimed_count &&
            tsm_work_of_type(v->w.commands[i].schema).work != TSM_WORK_ORDER)
            v->w.untimed_count--;
}

/* Makes outcomes of commands that a simulation puts in order, and that. */
static int make_in_order(struct tsm_state_lists *v)
{
    int error = tsm_workload_calibrate(&v->w);

    if (!error)
        error = tsm_prediction_learn(&v->s, &v->w);
    if (!error)
        error = tsm_outcomes_make(&v->outcomes, &v->w, v->reader);
    if (!error && !v->w.is_virtual)
        count_timeless(v);
    /* Commands that have not finished last until the recording ends. */
    if (!error && v->outcomes.unfinished_count && !v->w.is_virtual &&
        v->s.end_ns < v->outcomes.last_ns)
        v->s.end_ns = v->outcomes.last_ns;
    v->begin_ns = v->s.begin_ns;
    v->end_ns = v->s.end_ns;
    return error;
}

/* Tests whether the times of one list cannot be compared with those of the other. */
static bool is_apart(const struct tsm_state_lists *v)
{
    return v->w.is_virtual && v->w.command_count;
}

/* Has both lists cover the same time. */
static void join_ranges(struct tsm_state_lists *v)
{
    if (is_apart(v))
        return;
    if (!v->w.command_count || v->loose.begin_ns < v->begin_ns)
        v->begin_ns = v->loose.begin_ns;
    if (v->loose.end_ns > v->end_ns)
        v->end_ns = v->loose.end_ns;
    v->s.begin_ns = v->begin_ns;
    v->s.end_ns = v->end_ns;
}

int tsm_state_lists_make(struct tsm_state_lists *v)
{
    int error = tsm_workload_make(&v->w, v->reader);

    if (!error)
        error = tsm_loose_load(&v->loose, v->reader, false);
    if (!error && !v->w.command_count && !v->loose.command_count)
        error = tsm_fail(TSM_E_NOT_FOUND, "%s: no commands of CUDA, Vulkan, HSA or DRM",
                         tsm_clean(sbt_reader_name(v->reader)));
    if (!error && v->w.command_count)
        error = make_in_order(v);
    if (!error && v->loose.command_count)
        join_ranges(v);
    if (!error && v->w.command_count)
        error = tsm_states_make(&v->states, &v->w, &v->s, &v->outcomes);
    return error ? error
                 : tsm_loose_states_make(&v->loose_states, &v->loose,
                                         is_apart(v) ? v->loose.begin_ns : v->begin_ns,
                                         is_apart(v) ? v->loose.end_ns : v->end_ns);
}

void tsm_state_lists_note(struct tsm_state_lists *v)
{
    const char *name = tsm_clean(sbt_reader_name(v->reader));
    const struct tsm_loose *l = &v->loose;

    v->w.passed_count = 0;
    tsm_workload_note(&v->w, v->reader);
    if (l->untimed_count > l->untimed_kernel_count)
        tsm_note("%s: %" PRIu64 " of %zu commands of Vulkan and HSA have no time: when they ran is "
                 "not known; record with --gpu-time",
                 name, l->untimed_count - l->untimed_kernel_count,
                 l->command_count - l->kernel_count);
    if (l->untimed_kernel_count)
        tsm_note("%s: %" PRIu64 " of %zu commands of DRM have no time: when they ran is not known; "
                 "record with --kernel, where the driver tells",
                 name, l->untimed_kernel_count, l->kernel_count);
    if (is_apart(v) && v->loose.command_count)
        tsm_note("%s: commands of CUDA are in virtual time, the others are not: their times cannot "
                 "be compared",
                 name);
    if (v->loose.passed_count)
        tsm_note("%s: %" PRIu64
                 " commands are left out: those of CUDA, Vulkan, HSA and DRM are followed "
                 "so far",
                 name, v->loose.passed_count);
}

void tsm_state_lists_finish(struct tsm_state_lists *v)
{
    tsm_states_finish(&v->loose_states);
    tsm_loose_finish(&v->loose);
    tsm_states_finish(&v->states);
    tsm_outcomes_finish(&v->outcomes);
    tsm_prediction_finish(&v->s);
    tsm_workload_finish(&v->w);
}
