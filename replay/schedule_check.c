/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a replay can follow a schedule: before anything runs.
 */
#include "replay/schedule_run.h"

#include <inttypes.h>
#include <stdlib.h>

#include "replay/player.h"

/* ---- records ------------------------------------------------------------------------------- */

static enum tsm_schedule_part part_of_core(const struct tsm_replay *p,
                                           const struct sbt_record *record,
                                           const struct sbt_schema *schema)
{
    switch (SBT_TYPE_CALL(record->type)) {
    case SBT_CORE_COMPLETE:
        return p->backend->sync && p->backend->sync->reached ? TSM_PART_WAIT : TSM_PART_ANY;
    case SBT_CORE_HOST_WRITE:
    case SBT_CORE_HOST_RUNS:
        return sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE) ==
                       SBT_STREAM_NONE
                   ? TSM_PART_HOST_WRITE
                   : TSM_PART_ANY;
    default:
        return TSM_PART_ANY;
    }
}

enum tsm_schedule_part tsm_schedule_part(const struct tsm_replay *p,
                                         const struct sbt_record *record,
                                         const struct sbt_schema *schema)
{
    const struct tsm_backend_schedule *backend = p->backend->schedule;

    if (record->seq < p->plan.from_seq ||
        tsm_plan_treatment(p->backend->description, record, schema) != TSM_TREAT_REPLAY)
        return TSM_PART_ANY;
    if (SBT_TYPE_API(record->type) == SBT_API_CORE)
        return part_of_core(p, record, schema);
    if (record->flags & SBT_RECORD_CAPTURED)
        return TSM_PART_ANY; /* between two that are fixed */
    switch (schema->kind) {
    case SBT_KIND_META:
    case SBT_KIND_QUERY:
    case SBT_KIND_INIT:
    case SBT_KIND_CREATE:
        return TSM_PART_ANY;
    case SBT_KIND_SYNC:
        return TSM_PART_WAIT;
    case SBT_KIND_COMMAND:
    case SBT_KIND_SIGNAL:
    case SBT_KIND_WAIT:
        return record->stream == SBT_STREAM_NONE ? TSM_PART_FIXED : TSM_PART_COMMAND;
    default:
        return backend->commutes && backend->commutes(p->state, record) ? TSM_PART_ANY
                                                                        : TSM_PART_FIXED;
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

typedef unsigned long long ull; /* for formats */

static int fail_item(const struct tsm_schedule_run *s, const struct tsm_schedule_item *item,
                     const char *what)
{
    return tsm_fail(TSM_E_FORMAT, "%s:%llu: record %llu %s", s->schedule.name, (ull)item->line,
                    (ull)item->seq, what);
}

static int fail_order(const struct tsm_schedule_run *s, const struct tsm_schedule_item *early,
                      const struct tsm_schedule_item *late, const struct sbt_record *between,
                      const struct sbt_schema *schema, const char *why)
{
    return tsm_fail(TSM_E_UNSUPPORTED,
                    "%s:%llu: has record %llu before record %llu, but record %llu, %s, lies "
                    "between them, %s; put record %llu above it",
                    s->schedule.name, (ull)early->line, (ull)early->seq, (ull)late->seq,
                    (ull)between->seq, schema->name, why, (ull)late->seq);
}

/* Returns where the program wrote; runs may be anywhere. */
static struct tsm_host_span written(const struct sbt_record *record,
                                    const struct sbt_schema *schema)
{
    const uint64_t address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0);
    const int payload = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    if (SBT_TYPE_CALL(record->type) != SBT_CORE_HOST_WRITE || payload < 0 ||
        !sbt_record_blob(record, (uint32_t)payload, &blob) || blob.size > UINT64_MAX - address)
        return (struct tsm_host_span){0, UINT64_MAX};
    return (struct tsm_host_span){address, address + blob.size};
}

/* Tests whether a record that is carried out now may be what a command needs that is sent later,
 * though it came before it. */
static int check_left(struct tsm_schedule_run *s, const struct sbt_record *record,
                      const struct sbt_schema *schema, enum tsm_schedule_part part)
{
    const bool is_write = part == TSM_PART_HOST_WRITE;
    const struct tsm_host_span span =
        is_write ? written(record, schema) : (struct tsm_host_span){0};
    const struct tsm_schedule_item *left =
        is_write ? tsm_schedule_order_left_in(&s->order, &span)
                 : tsm_schedule_order_left(&s->order, TSM_HOST_NOT_USED);

    if (!left)
        return 0;
    return fail_order(s, tsm_schedule_order_next(&s->order), left, record, schema,
                      is_write ? "which writes memory of the host that may be used there"
                               : "which frees or changes what may be used there");
}

/* Refuses another order of functions of the program: what they wrote is recorded page by page. */
static int check_functions(struct tsm_schedule_run *s, const struct tsm_schedule_item *item,
                           enum tsm_host_use use)
{
    const struct tsm_schedule_item *left =
        use == TSM_HOST_FUNCTION ? tsm_schedule_order_left(&s->order, TSM_HOST_FUNCTION) : NULL;

    if (!left || left->seq > item->seq)
        return 0;
    return tsm_fail(TSM_E_UNSUPPORTED,
                    "%s:%llu: has record %llu before record %llu, but functions of the program "
                    "wrote memory in both, which can only be repeated in the order that was "
                    "recorded; put record %llu above it",
                    s->schedule.name, (ull)item->line, (ull)item->seq, (ull)left->seq,
                    (ull)left->seq);
}

/* Tests whether a command may be left out: a wait, and an event where commands go to streams of the
 * replay's own. */
static bool may_drop(const struct tsm_schedule_run *s, const struct sbt_schema *schema)
{
    return schema->kind == SBT_KIND_WAIT || (s->schedule.has_on && schema->kind == SBT_KIND_SIGNAL);
}

static const char *fail_kind(const struct tsm_schedule_run *s, const struct tsm_schedule_item *item,
                             enum tsm_schedule_part part, const struct sbt_schema *schema)
{
    if (part == TSM_PART_COMMAND && item->kind == TSM_SCHEDULE_WAIT)
        return "is a command, no wait of the host: \"send\" it";
    if (part == TSM_PART_COMMAND && item->kind == TSM_SCHEDULE_DROP && !may_drop(s, schema))
        return "is a command that is no wait, and cannot be left out: \"send\" it";
    if (part == TSM_PART_WAIT && item->kind == TSM_SCHEDULE_SEND)
        return "is a wait of the host: \"wait\" there, or \"drop\" it";
    return NULL;
}

/* ---- the trace ----------------------------------------------------------------------------- */

static int meet(struct tsm_replay *p, const struct sbt_record *record,
                const struct sbt_schema *schema, enum tsm_schedule_part part)
{
    struct tsm_schedule_run *s = p->scheduled;
    const struct tsm_schedule_item *item = tsm_schedule_order_find(&s->order, record->seq);
    enum tsm_host_use use = TSM_HOST_NOT_USED;
    struct tsm_host_span span = {0, UINT64_MAX};
    const char *what;

    if (!item && part == TSM_PART_WAIT)
        return 0;
    if (!item)
        return tsm_fail(TSM_E_FORMAT,
                        "%s: has no record %llu, %s: a schedule names each command of the trace; "
                        "add \"send %llu\" where it is to be sent",
                        s->schedule.name, (ull)record->seq, schema->name, (ull)record->seq);
    what = fail_kind(s, item, part, schema);
    if (what)
        return fail_item(s, item, what);
    if (part == TSM_PART_COMMAND && p->backend->schedule->host_use)
        use = p->backend->schedule->host_use(p->state, record, schema, &span);
    tsm_schedule_order_turn_of(&s->order, item)->span = span;
    return tsm_schedule_order_meet(&s->order, item, use) == TSM_TURN_NOW
               ? check_functions(s, item, use)
               : 0;
}

static int check_before(struct tsm_schedule_run *s, uint64_t seq)
{
    const struct tsm_schedule_item *item;
    int error = 0;

    while (!error && (item = tsm_schedule_order_next(&s->order)) && item->seq < seq) {
        const struct tsm_schedule_turn *turn = tsm_schedule_order_turn_of(&s->order, item);

        if (!turn->is_met)
            return fail_item(s, item,
                             "is no command and no wait that a replay carries out; 'tsview' shows "
                             "what the trace has");
        tsm_schedule_order_take(&s->order, seq);
        error = check_functions(s, item, turn->use);
    }
    return error;
}

static int check_record(struct tsm_replay *p, const struct sbt_record *record)
{
    const struct sbt_schema *schema = tsm_plan_schema(p->reader, record);
    enum tsm_schedule_part part;
    int error = check_before(p->scheduled, record->seq);

    if (error || !schema)
        return error;
    part = tsm_schedule_part(p, record, schema);
    if (part == TSM_PART_COMMAND || part == TSM_PART_WAIT)
        return meet(p, record, schema, part);
    return part == TSM_PART_ANY ? 0 : check_left(p->scheduled, record, schema, part);
}

/* Refuses to wait for what is not sent before, or not to a stream of the replay's own. */
static int check_after(struct tsm_schedule_run *s)
{
    for (size_t i = 0; i < s->schedule.count; i++) {
        const struct tsm_schedule_item *item = &s->schedule.items[i];

        for (size_t k = 0; k < item->after_count; k++) {
            const uint64_t seq = s->schedule.after[item->first_after + k];
            const struct tsm_schedule_item *other = tsm_schedule_order_find(&s->order, seq);

            if (!other || other >= item || !other->has_on)
                return tsm_fail(TSM_E_FORMAT,
                                "%s:%llu: waits for record %llu, which no line above sends with "
                                "\"on=\"",
                                s->schedule.name, (ull)item->line, (ull)seq);
        }
    }
    return 0;
}

/* Also of those that were dropped, which have no turn. */
static int check_met(struct tsm_schedule_run *s)
{
    for (size_t i = 0; i < s->schedule.count; i++)
        if (!s->order.turns[i].is_met)
            return fail_item(s, &s->schedule.items[i],
                             "is no command and no wait that a replay carries out; 'tsview' shows "
                             "what the trace has");
    return 0;
}

static int check_trace(struct tsm_replay *p)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, p->reader, NULL, 1), more = 1;

    while (!error && (more = sbt_cursor_next(cursor, &record)) == 1)
        error = check_record(p, record);
    sbt_cursor_destroy(cursor);
    if (!error)
        error = more;
    if (!error)
        error = check_before(p->scheduled, UINT64_MAX);
    return error ? error : check_met(p->scheduled);
}

/* ---- options ------------------------------------------------------------------------------- */

/* Options that say another order, or that the schedule's commands are not all. */
static int check_options(const struct tsm_replay *p)
{
    const struct tsm_replay_options *o = &p->options;
    const struct sbt_filter *f = &o->filter;
    const char *other = NULL;

    if (f->streams || f->seq_first || f->seq_end || f->time_first_ns || f->time_end_ns)
        other = "a part of the trace (--range, --streams): 'tracesmith trim' makes a trace of it, "
                "which can have a schedule of its own";
    else if (o->permute || o->delay)
        other = "another order (--order)";
    else if (o->pace != TSM_PACE_FAST)
        other = "another pace (--pace): \"at=\" says when";
    else if (o->grain != TSM_GRAIN_READBACK)
        other = "hashes of memory (--grain): at each moment it holds what another order left there";
    else if (o->inspect)
        other = "a look at what was drawn";
    else if (o->no_checkpoint)
        other = "--from-checkpoint";
    if (other)
        return tsm_fail(TSM_E_ARGUMENT, "%s: a schedule cannot go with %s", o->schedule, other);
    if (!p->backend->schedule)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: a schedule is followed with commands of CUDA only, and it has some of "
                        "%s",
                        sbt_reader_name(p->reader), p->backend->description->name);
    return 0;
}

int tsm_schedule_check(struct tsm_replay *p)
{
    struct tsm_schedule_run *s;
    int error = check_options(p);

    if (error)
        return error;
    p->scheduled = s = calloc(1, sizeof(*s));
    if (!s)
        return tsm_fail(TSM_E_MEMORY, "%s: no memory for a schedule", p->options.schedule);
    error = tsm_schedule_read(&s->schedule, p->options.schedule, p->plan.record_count);
    if (!error)
        error = tsm_schedule_order_init(&s->order, &s->schedule);
    if (!error)
        error = check_after(s);
    if (!error && s->schedule.has_on && !p->backend->schedule->place)
        error = tsm_fail(TSM_E_UNSUPPORTED, "%s: \"on=\" is for commands of CUDA only",
                         s->schedule.name);
    return error ? error : check_trace(p);
}
