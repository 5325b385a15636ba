/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that the walk comes to: which of them are those of the part that is replayed, and can be
 * compared.
 */
#include "format/filter.h"
#include "replay/walk.h"

/* Tests whether this is the result of a command before the checkpoint that the replay starts from,
 * or of no work at all. */
static bool is_earlier(const struct tsm_replay *p, uint64_t stream, uint64_t position)
{
    if (stream == SBT_STREAM_NONE || !position)
        return !p->order.has_sent;
    return stream < p->plan.stream_count && position <= p->plan.early_positions[stream];
}

/* Tests whether the command that gave this result was carried out. A result that names no command
 * is that of all commands sent. */
static bool was_run(const struct tsm_replay *p, uint64_t stream, uint64_t position)
{
    const struct tsm_track *track;

    if (stream == SBT_STREAM_NONE || !position)
        return true;
    if (stream >= p->order.track_count)
        return false;
    track = &p->order.tracks[stream];
    return track->first_position && position >= track->first_position &&
           position <= track->position &&
           !tsm_map_find(&p->plan.failed_places, tsm_plan_place((uint32_t)stream, position));
}

/* Tests whether all streams were carried out up to the record, so that all memory is as it was. */
static bool is_whole_state(const struct tsm_replay *p, const struct sbt_record *record)
{
    if (!p->has_need || !p->options.filter.streams)
        return true;
    for (uint32_t i = 0; i < p->need.stream_count; i++)
        if (p->need.until_seq[i] < record->seq)
            return false;
    return true;
}

/* The GPU had come to its end by itself where a spot check was taken, so it is waited for here. */
static int spot_check(struct tsm_replay *p, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    bool is_stuck = true;
    int error;

    if (p->options.no_spot_checks || tsm_walk_is_past(p, record) || !p->order.has_sent ||
        !sbt_filter_in_range(&p->options.filter, record) || !is_whole_state(p, record))
        return 0;
    error = tsm_walk_find_stuck(p, &is_stuck);
    if (error || is_stuck)
        return error;
    error = tsm_walk_wait_for_device(p);
    if (error || atomic_load(&p->failures.any)) /* not all memory can be read */
        return error;
    return tsm_verify_spot(&p->verify, record, schema);
}

int tsm_walk_result(struct tsm_replay *p, const struct sbt_record *record,
                    const struct sbt_schema *schema)
{
    bool is_readback = SBT_TYPE_CALL(record->type) == SBT_CORE_READBACK;
    uint64_t stream = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    uint64_t position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);
    int error = 0, equal;

    if (!tsm_timing_is_compared(p) || record->seq < p->plan.from_seq)
        return 0;
    if (record->flags & SBT_RECORD_SPOT)
        return spot_check(p, record, schema);
    if (is_readback && !sbt_filter_in_range(&p->options.filter, record))
        return tsm_verify_skip(&p->verify, record, schema);
    if (tsm_walk_is_past(p, record) || !sbt_filter_in_range(&p->options.filter, record) ||
        (stream == SBT_STREAM_NONE && !is_whole_state(p, record)) ||
        (stream != SBT_STREAM_NONE && (!tsm_is_wanted_stream(p, (uint32_t)stream) ||
                                       tsm_map_find(&p->plan.other_streams, stream))))
        return 0;
    if (!was_run(p, stream, position) || (is_readback && stream >= p->order.track_count)) {
        if (!is_earlier(p, stream, position))
            tsm_verify_pass_over(&p->verify, TSM_UNCOMPARED_NOT_RUN);
        return 0;
    }
    if (p->backend->waits_show_results && stream < p->order.track_count)
        error = tsm_walk_await_sent(p, (uint32_t)stream);
    else if (!is_readback)
        error = tsm_walk_wait_for_api(p, stream < p->order.track_count ? p->order.tracks[stream].api
                                                                       : 0);
    else if (p->order.tracks[stream].complete_position < position)
        error = tsm_walk_wait_for_stream(p, (uint32_t)stream);
    if (error)
        return error;
    tsm_failures_spoil(p, (uint32_t)stream);
    equal = is_readback ? tsm_verify_readback(&p->verify, record, schema)
                        : tsm_verify_checksum(&p->verify, record, schema);
    if (equal >= 0)
        tsm_walk_settle(p, equal);
    return equal < 0 ? equal : 0;
}

int tsm_walk_regions(struct tsm_replay *p, const struct sbt_record *record)
{
    if (!sbt_filter_in_range(&p->options.filter, record) || !tsm_timing_is_compared(p))
        return 0;
    bool is_stuck;
    int error = tsm_walk_find_stuck(p, &is_stuck);

    if (error || is_stuck)
        return error;
    error = tsm_walk_wait_for_device(p);
    if (error || atomic_load(&p->failures.any)) /* not all memory can be read */
        return error;
    return tsm_verify_regions(&p->verify, record);
}
