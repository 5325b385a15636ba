/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/lane/merge.h"

#include <string.h>

enum { REASON_LOST = TSM_FILTERED_COUNT, REASON_NO_LANE, REASON_STOPPED, REASON_TORN };

static const char *const reasons[] = {
    [TSM_FILTERED_STREAM] = "TS_STREAMS",
    [TSM_FILTERED_KERNEL] = "TS_KERNELS",
    [TSM_FILTERED_THREAD] = "TS_THREAD_NAMES",
    [TSM_FILTERED_API] = "TS_APIS",
    [TSM_FILTERED_SAMPLE] = "TS_SAMPLE",
    [TSM_FILTERED_RATE] = "TS_RATE",
    [TSM_FILTERED_KEEP] = "TS_KEEP",
    [REASON_LOST] = "lane full, or a call that was left by a jump",
    [REASON_NO_LANE] = "no lane for a thread",
    [REASON_TORN] = "damaged lane: at least one record of each",
};

static void add_missing(struct tsm_missing *sum, const struct tsm_missing *part, uint64_t told)
{
    if (part->count <= told)
        return;
    if (sum->count == 0 || part->first < sum->first)
        sum->first = part->first;
    if (part->last > sum->last)
        sum->last = part->last;
    sum->streams |= part->streams;
    sum->count += part->count - told;
}

void tsm_merge_ending_add(struct tsm_merge_ending *ending, const struct tsm_lane_header *lane)
{
    add_missing(&ending->lost, &lane->lost, lane->lost_told);
    ending->lost_count += lane->lost.count;
    for (int i = 0; i < TSM_FILTERED_COUNT; i++)
        add_missing(&ending->filtered[i], &lane->filtered[i], 0);
}

void tsm_merge_ending_torn(struct tsm_merge_ending *ending, const struct tsm_merge *m,
                           const struct tsm_merge_lane *lane)
{
    uint64_t now = m->clock.from.ticks, from = lane->key ? lane->key : now;
    struct tsm_missing one = {1, from, from > now ? from : now, UINT64_MAX};

    add_missing(&ending->torn, &one, 0);
}

int tsm_merge_unfinished(struct tsm_merge *m, const struct tsm_lane_header *lane, uint64_t until)
{
    uint64_t inside = __atomic_load_n(&lane->inside, __ATOMIC_ACQUIRE);
    struct sbt_record record = {
        .type = (uint32_t)inside,
        .thread = __atomic_load_n(&lane->thread, __ATOMIC_RELAXED),
        .stream = (uint32_t)(inside >> 32),
        .flags = SBT_RECORD_UNFINISHED,
    };
    uint64_t since = __atomic_load_n(&lane->since, __ATOMIC_RELAXED);

    if (record.type == 0 || (lane->closing != 0 && lane->closing == lane->head))
        return 0;
    if (record.stream != SBT_STREAM_NONE)
        record.position = __atomic_load_n(&lane->position, __ATOMIC_RELAXED);
    return tsm_merge_write(m, &record, since, until > since ? until : since);
}

/* One LOST or FILTERED record. */
static int write_missing(struct tsm_merge *m, uint32_t call, const struct tsm_missing *missing,
                         int reason)
{
    uint64_t slots[5] = {missing->count, tsm_merge_ns(m, missing->first),
                         tsm_merge_ns(m, missing->last), TSM_OWN_STRING(reason), missing->streams};
    struct sbt_record record = {
        .type = SBT_TYPE(SBT_API_CORE, call),
        .stream = SBT_STREAM_NONE,
        .slot_count = 5,
        .slots = slots,
    };
    int error;

    if (missing->count == 0)
        return 0;
    error = sbt_writer_string(m->writer, TSM_OWN_STRING(reason), reasons[reason],
                              strlen(reasons[reason]));
    return error ? error : tsm_merge_write(m, &record, missing->last, missing->last);
}

static int write_stopped(struct tsm_merge *m, const char *why, size_t size)
{
    uint64_t slot = TSM_OWN_STRING(REASON_STOPPED);
    struct sbt_record record = {
        .type = SBT_TYPE(SBT_API_CORE, SBT_CORE_STOPPED),
        .stream = SBT_STREAM_NONE,
        .slot_count = 1,
        .slots = &slot,
    };
    size_t length = strnlen(why, size);
    uint64_t now = m->clock.from.ticks;
    int error;

    if (length == 0)
        return 0;
    error = sbt_writer_string(m->writer, TSM_OWN_STRING(REASON_STOPPED), why, length);
    return error ? error : tsm_merge_write(m, &record, now, now);
}

int tsm_merge_end(struct tsm_merge *m, const struct tsm_merge_ending *ending,
                  const struct tsm_lanes_header *lanes, enum sbt_end end)
{
    struct sbt_totals totals = {
        .lost_count = ending->lost_count + lanes->no_lane.count + ending->torn.count,
        .filtered_count = m->kept_out.count,
    };
    int error = write_missing(m, SBT_CORE_LOST, &ending->lost, REASON_LOST);

    if (!error)
        error = write_missing(m, SBT_CORE_LOST, &lanes->no_lane, REASON_NO_LANE);
    if (!error)
        error = write_missing(m, SBT_CORE_LOST, &ending->torn, REASON_TORN);
    for (int i = 0; i < TSM_FILTERED_COUNT && !error; i++) {
        totals.filtered_count += ending->filtered[i].count;
        if (i != TSM_FILTERED_KEEP)
            error = write_missing(m, SBT_CORE_FILTERED, &ending->filtered[i], i);
    }
    if (!error)
        error = write_missing(m, SBT_CORE_FILTERED, &m->kept_out, TSM_FILTERED_KEEP);
    if (!error)
        error = write_stopped(m, lanes->stopped, sizeof(lanes->stopped));
    return error ? error : sbt_writer_finish(m->writer, &totals, end);
}
