/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replay/timed_trace.h"

#include "base/text.h"
#include "tools/edit/trace_copy.h"
#include "tools/kernel/copy.h"
#include "tools/trace_open.h"
#include "tracesmith/error.h"

#include <inttypes.h>

static int write_facts(struct sbt_writer *writer, const struct tsm_timed_facts *facts)
{
    char runs[16];
    int error;

    tsm_format(runs, sizeof(runs), "%u", facts->run_count);
    error = sbt_writer_metadata(writer, "timed.runs", runs);
    if (!error)
        error = sbt_writer_metadata(writer, "timed.device", facts->device);
    if (!error && *facts->driver)
        error = sbt_writer_metadata(writer, "timed.driver", facts->driver);
    return error ? error
                 : sbt_writer_metadata(writer, "timed.clocks",
                                       *facts->clocks ? facts->clocks : "not known");
}

static int write_time(struct tsm_trace_copy *copy, const struct sbt_record *command,
                      const struct tsm_replay_time *time)
{
    const uint64_t slots[] = {time->stream,      time->position, time->part,     time->start_ns,
                              time->duration_ns, time->flags,    time->error_ns, time->run,
                              time->buffer,      time->command,  time->of_type,  time->object,
                              time->inner_ns};
    struct sbt_record record = {.type = SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME),
                                .time_ns = command->time_ns,
                                .thread = command->thread,
                                .stream = SBT_STREAM_NONE,
                                .slots = slots,
                                .slot_count = sizeof(slots) / sizeof(*slots)};

    return tsm_trace_copy_own(copy, &record);
}

static int copy_record(struct tsm_trace_copy *copy, const struct sbt_record *record,
                       struct tsm_run_times *times)
{
    struct tsm_replay_time time;
    int error, more;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME) ||
        record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_WORK)) /* of the recording */
        return 0;
    error = tsm_trace_copy_record(copy, record);
    if (error || record->stream == SBT_STREAM_NONE)
        return error;
    while (!error && (more = tsm_run_times_next(times, record->seq, &time)) != 0)
        error = more < 0 ? more : write_time(copy, record, &time);
    return error;
}

static int copy_records(struct tsm_trace_copy *copy, struct tsm_run_times *times)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int error = sbt_cursor_create(&cursor, copy->reader, NULL, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = copy_record(copy, record, times);
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

static int check_whole(const struct tsm_trace_copy *copy, bool is_lossy)
{
    bool lacks_end;
    const uint64_t missing = tsm_trace_copy_missing(copy, 0, &lacks_end);

    if (is_lossy || !missing)
        return 0;
    return tsm_fail(TSM_E_LOSSY,
                    "%s: %" PRIu64
                    " records or other parts are missing from it; --lossy keeps what "
                    "is there and notes the loss",
                    sbt_reader_name(copy->reader), missing);
}

int tsm_timed_trace_write(const struct tsm_output *output, struct sbt_reader *reader,
                          struct tsm_run_times *times, const struct tsm_timed_facts *facts)
{
    struct tsm_trace_copy copy;
    int error = tsm_trace_copy_begin(&copy, reader, output->written, NULL);

    if (!copy.writer)
        return error;
    if (!error)
        error = write_facts(copy.writer, facts);
    if (!error)
        error = tsm_run_times_rewind(times);
    tsm_trace_show_progress(reader, "copying");
    if (!error)
        error = copy_records(&copy, times);
    tsm_trace_show_progress(reader, NULL);
    if (!error)
        error = tsm_kernel_copy(copy.writer, reader, 0, UINT64_MAX);
    if (!error)
        error = check_whole(&copy, facts->is_lossy);
    return tsm_output_end(output, tsm_trace_copy_end(&copy, 0, error));
}
