/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/schedule_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/traits.h"
#include "base/array.h"
#include "base/clock.h"
#include "replay/walk.h"

/* ---- a run --------------------------------------------------------------------------------- */

void tsm_schedule_run_begin(struct tsm_schedule_run *s)
{
    tsm_schedule_order_rewind(&s->order);
    tsm_map_finish(&s->places);
    sbt_cursor_destroy(s->items);
    sbt_cursor_destroy(s->results);
    s->items = s->results = NULL;
    s->ordinal = s->unseen_seq = s->told_seq = 0;
    s->later_count = s->source_count = 0;
    s->has_more_sources = false;
}

void tsm_schedule_run_finish(struct tsm_schedule_run *s)
{
    if (!s)
        return;
    sbt_cursor_destroy(s->items);
    sbt_cursor_destroy(s->results);
    tsm_map_finish(&s->places);
    tsm_schedule_order_finish(&s->order);
    tsm_schedule_finish(&s->schedule);
    free(s->later);
    free(s->sources);
    free(s);
}

static int read_record(struct tsm_replay *p, struct sbt_cursor **cursor, uint64_t seq,
                       const struct sbt_record **record)
{
    int error = *cursor ? 0 : sbt_cursor_create(cursor, p->reader, NULL, 0);

    if (!error)
        error = sbt_cursor_seek(*cursor, seq);
    if (error >= 0)
        error = sbt_cursor_next(*cursor, record);
    if (error < 0)
        return error;
    return error == 1 && (*record)->seq == seq
               ? 0
               : tsm_fail(TSM_E_FORMAT, "%s: record %llu cannot be read again",
                          sbt_reader_name(p->reader), (unsigned long long)seq);
}

/* ---- results ------------------------------------------------------------------------------- */

/* The program may have made what it sends now of a result that it had read by then. */
static void note_ahead(struct tsm_schedule_run *s, uint64_t seq)
{
    if (!s->later_count || s->later[0].seq > seq)
        return;
    if (!s->ahead_count++) {
        s->ahead_seq = seq;
        s->ahead_of = s->later[0].seq;
    }
}

static int compare(struct tsm_replay *p, const struct sbt_record *record,
                   const struct sbt_schema *schema)
{
    int equal;

    tsm_failures_spoil(
        p, (uint32_t)sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE));
    equal = tsm_verify_readback(&p->verify, record, schema);

    if (equal >= 0)
        tsm_walk_settle(p, equal);
    return equal < 0 ? equal : 0;
}

/* Compares a result later than it was recorded. Where another command, or the program, wrote to the
 * same place by then, what lies there now says nothing. */
static int compare_later(struct tsm_replay *p, uint64_t seq)
{
    const struct sbt_record *record;
    int error = read_record(p, &p->scheduled->results, seq, &record);

    if (error)
        return error;
    if (record->flags & SBT_RECORD_HELD) {
        tsm_verify_pass_over(&p->verify, TSM_UNCOMPARED_SHARED);
        return 0;
    }
    return compare(p, record, tsm_plan_schema(p->reader, record));
}

int tsm_schedule_run_settle(struct tsm_replay *p)
{
    struct tsm_schedule_run *s = p->scheduled;
    size_t kept = 0;
    int error = 0;

    for (size_t i = 0; i < s->later_count; i++) {
        const struct tsm_result_later *later = &s->later[i];
        if (!error && !p->stop && tsm_schedule_run_is_complete(p, later->item, later->stream))
            error = compare_later(p, later->seq);
        else
            s->later[kept++] = *later;
    }
    s->later_count = kept;
    return error;
}

/* All memory is as it was if all commands before the record were sent, and none behind it. */
static int compare_checksum(struct tsm_replay *p, const struct sbt_record *record,
                            const struct sbt_schema *schema)
{
    int error, equal;

    if (tsm_schedule_order_left(&p->scheduled->order, TSM_HOST_NOT_USED)) {
        tsm_verify_pass_over(&p->verify, TSM_UNCOMPARED_ORDER);
        return 0;
    }
    error = tsm_walk_wait_for_device(p);
    if (error)
        return error;
    tsm_failures_spoil(p, SBT_STREAM_NONE);
    equal = tsm_verify_checksum(&p->verify, record, schema);
    if (equal >= 0)
        tsm_walk_settle(p, equal);
    return equal < 0 ? equal : 0;
}

/* Returns the item of the command that gave a result, or NULL: it is not replayed. */
static const struct tsm_schedule_item *command_of(const struct tsm_replay *p, uint64_t stream,
                                                  uint64_t position)
{
    const struct tsm_schedule_run *s = p->scheduled;
    const uint64_t *index =
        stream < p->order.track_count && position
            ? tsm_map_find(&s->places, tsm_plan_place((uint32_t)stream, position))
            : NULL;

    return index && *index ? &s->schedule.items[*index - 1] : NULL;
}

static bool is_earlier(const struct tsm_replay *p, uint64_t stream, uint64_t position)
{
    return stream < p->plan.stream_count && position && position <= p->plan.early_positions[stream];
}

/* Waits for a command that the program knew to be complete: it alone, where others of its stream
 * may be elsewhere; else all of the stream. */
static int await_command(struct tsm_replay *p, const struct tsm_schedule_item *item,
                         const struct sbt_record *record, const struct sbt_schema *schema,
                         uint32_t stream)
{
    if (!item->has_on)
        return tsm_walk_wait_for_stream(p, stream);
    p->backend->schedule->await_next(p->state, &item->seq, 1);
    p->last_complete_ns = tsm_monotonic_ns();
    tsm_schedule_order_turn_of(&p->scheduled->order, item)->is_over = true;
    return tsm_walk_host(p, record, schema, TSM_JOB_AWAIT);
}

static void end_if_sent(struct tsm_schedule_run *s, const struct tsm_schedule_item *item)
{
    struct tsm_schedule_turn *turn = tsm_schedule_order_turn_of(&s->order, item);

    turn->is_over |= turn->ordinal != 0;
}

/* Notes that all is complete that was sent by a recorded stream, or, with SBT_STREAM_NONE, by any:
 * of those commands of which somebody asks that. */
static void note_over(struct tsm_schedule_run *s, uint32_t stream)
{
    for (size_t i = 0; i < s->later_count; i++)
        if (stream == SBT_STREAM_NONE || s->later[i].stream == stream)
            end_if_sent(s, s->later[i].item);
    for (size_t i = 0; i < s->source_count; i++)
        if (stream == SBT_STREAM_NONE || s->sources[i].stream == stream)
            end_if_sent(s, s->sources[i].item);
}

static int result_of(struct tsm_replay *p, const struct sbt_record *record,
                     const struct sbt_schema *schema, const struct tsm_schedule_item *item)
{
    struct tsm_schedule_run *s = p->scheduled;
    const uint32_t stream =
        (uint32_t)sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const bool is_sent = tsm_schedule_order_turn_of(&s->order, item)->ordinal != 0;
    bool is_over = is_sent && tsm_schedule_run_is_complete(p, item, stream);
    int error = 0;

    /* The program knew that the command was complete. If a wait that was left out may have told it,
     * it does not know that now. */
    if (is_sent && s->unseen_seq <= item->seq && !is_over &&
        (!item->has_on || record->flags & SBT_RECORD_HELD)) {
        error = await_command(p, item, record, schema, stream);
        is_over = true;
    }
    if (!error && is_over)
        return compare(p, record, schema);
    if (error)
        return error;
    tsm_schedule_order_turn_of(&s->order, item)->gives_result |= s->told_seq <= item->seq;
    return TSM_ARRAY_PUSH(s->later, s->later_count, s->later_capacity,
                          (struct tsm_result_later){record->seq, item, stream})
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for results that are compared later");
}

int tsm_schedule_run_result(struct tsm_replay *p, const struct sbt_record *record,
                            const struct sbt_schema *schema)
{
    const uint64_t stream = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const uint64_t position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);
    const struct tsm_schedule_item *item;

    if (!tsm_timing_is_compared(p) || record->seq < p->plan.from_seq ||
        (record->flags & SBT_RECORD_SPOT)) /* memory of a moment that may be in no such order */
        return 0;
    item = command_of(p, stream, position);
    if (!item && is_earlier(p, stream, position))
        return 0;
    if (SBT_TYPE_CALL(record->type) == SBT_CORE_CHECKSUM &&
        (item || stream == SBT_STREAM_NONE || !position))
        return p->order.has_sent ? compare_checksum(p, record, schema) : 0;
    if (item)
        return result_of(p, record, schema, item);
    tsm_verify_pass_over(&p->verify, TSM_UNCOMPARED_NOT_RUN);
    return 0;
}

/* ---- commands ------------------------------------------------------------------------------ */

/* The program may make what it sends of results that it had read by then, as it knew that their
 * commands were complete. On streams of the replay's own nothing has told that yet: here it is
 * waited for, where it matters. */
static int settle_known(struct tsm_replay *p, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    struct tsm_schedule_run *s = p->scheduled;
    int error = 0;

    for (size_t i = 0; i < s->later_count && s->later[i].seq < record->seq && !error; i++) {
        const struct tsm_schedule_item *item = s->later[i].item;
        const struct tsm_schedule_turn *turn = tsm_schedule_order_turn_of(&s->order, item);

        if (item->has_on && turn->ordinal && !turn->is_over && s->unseen_seq <= item->seq)
            error = await_command(p, item, record, schema, s->later[i].stream);
    }
    return error ? error : tsm_schedule_run_settle(p);
}

static bool has_bytes_of_program(const struct sbt_record *record, const struct sbt_schema *schema)
{
    const int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    return record->flags & SBT_RECORD_LATE ||
           (index >= 0 && sbt_record_blob(record, (uint32_t)index, &blob) && blob.size);
}

int tsm_schedule_run_host_write(struct tsm_replay *p, const struct sbt_record *record,
                                const struct sbt_schema *schema)
{
    int error = p->scheduled->schedule.has_on ? settle_known(p, record, schema) : 0;

    note_ahead(p->scheduled, record->seq);
    tsm_schedule_sources_pass(p, record, schema);
    return error;
}

/* Waits until `ns` of the run, where time is real. */
static int wait_until(struct tsm_replay *p, const struct tsm_schedule_item *item)
{
    const uint64_t at = p->start_ns + item->at_ns, now = tsm_monotonic_ns();
    const struct timespec t = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};

    if (at > now && at - now > p->crew->timeout_ns)
        return tsm_fail(TSM_E_ARGUMENT,
                        "%s:%llu: nothing would be sent for %.3g s until then, longer than "
                        "--timeout, %.3g s; make that longer, or \"at\" earlier",
                        p->scheduled->schedule.name, (unsigned long long)item->line,
                        (double)(at - now) / 1e9, (double)p->crew->timeout_ns / 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
    return 0;
}

static int send(struct tsm_replay *p, const struct tsm_schedule_item *item,
                const struct sbt_record *record, const struct sbt_schema *schema)
{
    struct tsm_schedule_run *s = p->scheduled;
    struct tsm_schedule_turn *turn = tsm_schedule_order_turn_of(&s->order, item);
    int error = 0;

    if (has_bytes_of_program(record, schema))
        error = tsm_schedule_run_host_write(p, record, schema);
    if (!error && item->has_at && !p->backend->schedule->send_at(p->state, item->at_ns))
        error = wait_until(p, item);
    if (!error && item->has_on)
        error = p->backend->schedule->place(
            p->state, item->on, s->schedule.after + item->first_after, item->after_count);
    s->ordinal++;
    if (!error)
        error = tsm_walk_command(p, record, schema);
    if (!error)
        error = tsm_walk_await_sent(p, record->stream);
    turn->ordinal = s->ordinal;
    turn->is_over = (schema->flags & SBT_SCHEMA_BLOCKS) != 0;
    if (!error && turn->gives_result)
        error = await_command(p, item, record, schema, record->stream);
    return error || !(turn->gives_result || schema->flags & SBT_SCHEMA_BLOCKS)
               ? error
               : tsm_schedule_run_settle(p);
}

/* Notes which item the command is that has this place on its stream. */
static int note_place(struct tsm_schedule_run *s, const struct sbt_record *record,
                      const struct tsm_schedule_item *item)
{
    const uint64_t index = (uint64_t)(item - s->schedule.items) + 1;

    return tsm_map_set(&s->places, tsm_plan_place(record->stream, record->position), index)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for the order of commands");
}

int tsm_schedule_run_command(struct tsm_replay *p, const struct sbt_record *record,
                             const struct sbt_schema *schema)
{
    struct tsm_schedule_run *s = p->scheduled;
    const struct tsm_schedule_item *item = tsm_schedule_order_find(&s->order, record->seq);
    int error = item ? note_place(s, record, item) : 0;

    if (!error && item)
        error = tsm_schedule_sources_meet(p, record, schema, item);
    if (error || !item)
        return error;
    switch (tsm_schedule_order_meet(&s->order, item, TSM_HOST_NOT_USED)) {
    case TSM_TURN_NOW:
        return send(p, item, record, schema);
    case TSM_TURN_LATER:
        return p->backend->schedule->leave(p->state, record);
    case TSM_TURN_NEVER:
        break;
    }
    p->result.skipped_count++;
    return 0;
}

/* ---- waits --------------------------------------------------------------------------------- */

/* The program knew that a command was complete, and so all before it on its stream. */
static void note_reached(struct tsm_replay *p, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    const uint64_t stream = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const struct tsm_schedule_item *item =
        command_of(p, stream, sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0));
    uint64_t ordinal = item ? tsm_schedule_order_turn_of(&p->scheduled->order, item)->ordinal : 0;

    if (item && p->order.tracks[stream].complete_position < ordinal)
        p->order.tracks[stream].complete_position = ordinal;
    if (item)
        end_if_sent(p->scheduled, item);
}

/* The same of a wait of the host. An event says nothing: the schedule has no such. */
static void note_waited(struct tsm_replay *p, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    const int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    if (record->stream != SBT_STREAM_NONE)
        note_over(p->scheduled, record->stream);
    else if (object < 0 || !(tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_EVENT))
        note_over(p->scheduled, SBT_STREAM_NONE);
}

/* `item`: NULL, or says which commands have to be over. */
static int carry_out_wait(struct tsm_replay *p, const struct sbt_record *record,
                          const struct sbt_schema *schema, const struct tsm_schedule_item *item)
{
    int error = 0;

    if (item && item->after_count) {
        p->backend->schedule->await_next(p->state, p->scheduled->schedule.after + item->first_after,
                                         item->after_count);
        error = tsm_walk_host(p, record, schema, TSM_JOB_AWAIT);
        p->last_complete_ns = tsm_monotonic_ns();
    }
    if (!error)
        error = tsm_walk_wait(p, record, schema);

    if (!error && SBT_TYPE_API(record->type) == SBT_API_CORE)
        note_reached(p, record, schema);
    else if (!error)
        note_waited(p, record, schema);
    return error ? error : tsm_schedule_run_settle(p);
}

int tsm_schedule_run_wait(struct tsm_replay *p, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    struct tsm_schedule_run *s = p->scheduled;
    const struct tsm_schedule_item *item = tsm_schedule_order_find(&s->order, record->seq);

    s->told_seq = record->seq + 1;
    if (!item || tsm_schedule_order_meet(&s->order, item, TSM_HOST_NOT_USED) == TSM_TURN_NOW)
        return carry_out_wait(p, record, schema, item);
    s->unseen_seq = record->seq + 1;
    return 0;
}

/* ---- the walk ------------------------------------------------------------------------------ */

static int carry_out_item(struct tsm_replay *p, const struct tsm_schedule_item *item)
{
    const struct sbt_record *record;
    int error = read_record(p, &p->scheduled->items, item->seq, &record);
    const struct sbt_schema *schema = error ? NULL : tsm_plan_schema(p->reader, record);

    if (!schema)
        return error;
    return item->kind == TSM_SCHEDULE_SEND ? send(p, item, record, schema)
                                           : carry_out_wait(p, record, schema, item);
}

int tsm_schedule_run_before(struct tsm_replay *p, uint64_t seq)
{
    const struct tsm_schedule_item *item;
    int error = 0;

    while (!error && !p->stop && (item = tsm_schedule_order_take(&p->scheduled->order, seq)))
        error = carry_out_item(p, item);
    return error;
}

void tsm_schedule_run_asked(struct tsm_replay *p, const struct sbt_record *record)
{
    p->scheduled->told_seq = record->seq + 1;
}

/* Memory goes, or a context: what is still to come back comes before that. */
int tsm_schedule_run_destroy(struct tsm_replay *p, const struct sbt_record *record,
                             const struct sbt_schema *schema)
{
    const int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);
    const bool is_context =
        object >= 0 && (tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_CONTEXT);
    int error;

    (void)record;
    if (!p->scheduled->later_count || schema->kind != SBT_KIND_DESTROY ||
        (!is_context && sbt_schema_role(schema, SBT_ROLE_ADDRESS) < 0))
        return 0;
    error = tsm_walk_wait_for_device(p);
    if (!error)
        note_over(p->scheduled, SBT_STREAM_NONE);
    return error ? error : tsm_schedule_run_settle(p);
}

int tsm_schedule_run_end(struct tsm_replay *p)
{
    note_over(p->scheduled, SBT_STREAM_NONE);
    return tsm_schedule_run_settle(p);
}
