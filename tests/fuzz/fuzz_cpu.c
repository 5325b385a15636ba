/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of CPU events as an enemy writes them: trace-cmd's, perf's, text. Reading ends with events
 * or with an error; what was read can be asked, and comes back from its records the same.
 */
#include "analysis/cpu/ftrace_dat.h"
#include "analysis/cpu/ftrace_text.h"
#include "analysis/cpu/perf_data.h"
#include "analysis/cpu/time.h"
#include "analysis/ring/jobs.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct tsm_cpu_events *events)
{
    struct tsm_cpu_time time = {0};
    struct tsm_cpu_sum sum;

    if (tsm_cpu_time_build(&time, events) < 0)
        __builtin_trap();
    for (size_t i = 0; i < tsm_cpu_events_count(events) && i < 64; i++) {
        const struct tsm_cpu_event *e = tsm_cpu_events_at(events, i);
        uint64_t from_ns = time.first_ns + i * 1000;
        uint64_t to_ns = from_ns + (time.last_ns - from_ns) / 2;

        tsm_cpu_time_sum(&sum, &time, e->tid, e->pid, from_ns, to_ns);
        if (sum.off_ns != TSM_CPU_NA && sum.io_ns != TSM_CPU_NA && sum.io_ns > to_ns - from_ns)
            __builtin_trap();
        tsm_cpu_time_runs(&time, e->other_tid, from_ns);
        tsm_cpu_time_name(&time, events, e->tid);
    }
    tsm_cpu_time_finish(&time);
}

static size_t count_real(const struct tsm_cpu_events *events)
{
    size_t count = 0;

    for (size_t i = 0; i < tsm_cpu_events_count(events); i++)
        count += tsm_cpu_events_at(events, i)->type != TSM_CPU_LOST;
    return count;
}

static void keep(const struct tsm_cpu_events *events)
{
    struct tsm_cpu_events again = {0};
    struct tsm_ring_jobs jobs = {0};
    struct tsm_buffer records = {0};

    if (tsm_cpu_events_encode(&records, events, "fuzz") < 0 ||
        tsm_ring_jobs_add(&jobs, records.data, records.size) < 0 ||
        tsm_ring_jobs_build(&jobs) < 0 || tsm_cpu_events_take(&again, &jobs) < 0 ||
        count_real(events) != count_real(&again) || jobs.lost_count)
        __builtin_trap();
    tsm_cpu_events_finish(&again);
    tsm_ring_jobs_finish(&jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsm_cpu_events events = {0};

    if (tsm_ftrace_dat_is(data, size))
        tsm_ftrace_dat(&events, data, size);
    else if (tsm_perf_data_is(data, size))
        tsm_perf_data(&events, data, size);
    else
        tsm_ftrace_text(&events, data, size);
    if (tsm_cpu_events_align(&events, TSM_CLOCK_AUTO, 0, 0) == 0 ||
        tsm_cpu_events_align(&events, TSM_CLOCK_MONO, 0, 0) == 0) {
        ask(&events);
        keep(&events);
    }
    tsm_cpu_events_finish(&events);
    return 0;
}
