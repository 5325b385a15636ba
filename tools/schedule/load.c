/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/load.h"

#include "base/text.h"
#include "tools/kernel/report.h"
#include "tools/terminal.h"
#include "tracesmith/error.h"

#include <inttypes.h>

int tsm_workload_load(struct tsm_workload *out, struct sbt_reader *reader)
{
    const int error = tsm_workload_make(out, reader);

    if (error)
        return error;
    if (!out->command_count)
        return tsm_fail(TSM_E_NOT_FOUND,
                        "%s: no commands that could be scheduled: CUDA's alone so far",
                        tsm_clean(sbt_reader_name(reader)));
    return tsm_workload_calibrate(out);
}

int tsm_loose_load(struct tsm_loose *out, struct sbt_reader *reader, bool leaves_kernel)
{
    struct tsm_ring_jobs jobs = {.lost_count = 0};
    int error = leaves_kernel ? 0 : tsm_report_load(&jobs, reader);

    *out = (struct tsm_loose){.leaves_kernel = leaves_kernel};
    if (!error)
        error =
            tsm_loose_make(out, reader, tsm_ring_jobs_count(&jobs) ? &jobs : NULL, leaves_kernel);
    tsm_ring_jobs_finish(&jobs);
    return error;
}

void tsm_workload_note(const struct tsm_workload *w, struct sbt_reader *reader)
{
    const char *name = tsm_clean(sbt_reader_name(reader));

    if (w->untimed_count)
        tsm_note("%s: %" PRIu64 " of %zu commands have no time, and take none here; record with "
                 "--gpu-time",
                 name, w->untimed_count, w->command_count);
    if (w->workless_count)
        tsm_note("%s: of %" PRIu64 " commands the machine's work is not known; they take what they "
                 "took",
                 name, w->workless_count);
    if (w->passed_count)
        tsm_note("%s: %" PRIu64 " commands are left out: CUDA's alone are scheduled so far", name,
                 w->passed_count);
}
