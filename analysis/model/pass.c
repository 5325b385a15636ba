/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/pass.h"

#include "analysis/model/devices.h"
#include "analysis/model/labels.h"
#include "analysis/model/memory.h"
#include "analysis/model/pending.h"
#include "analysis/model/work.h"
#include "base/array.h"
#include "format/filter.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define LOOK_BEHIND 65536u /* records behind the selection that may hold times of its commands */

/* Slots of a GPU_TIME record. */
enum {
    TIME_STREAM,
    TIME_POSITION,
    TIME_PART,
    TIME_START,
    TIME_DURATION,
    TIME_FLAGS,
    TIME_ERROR,
    TIME_RUN,
    TIME_BUFFER,
    TIME_COMMAND, /* 0: a whole part */
    TIME_TYPE,
    TIME_OBJECT,
    TIME_INNER
};

struct pass {
    struct tsm_model_counts *counts;
    struct sbt_reader *reader;
    const struct sbt_filter *filter;
    const struct tsm_model_visitor *visitor;
    struct tsm_map places; /* record type -> place in `types` */
    struct tsm_type_work *types;
    size_t type_count, type_capacity;
    struct tsm_labels labels;
    struct tsm_memory memory;
    struct tsm_devices devices;
    struct tsm_pending pending;
    struct tsm_programs programs;
    uint64_t behind_count;
    bool follows_commands; /* somebody asks for them, or for counts */
};

/* ---- what is known of types, streams and selections ---------------------------------------- */

/* NULL: out of memory. Valid until the next call. */
static const struct tsm_type_work *find_type(struct pass *p, const struct sbt_record *record)
{
    bool added;
    uint64_t *place = tsm_map_insert(&p->places, record->type, &added);

    if (!place)
        return NULL;
    if (added) {
        if (!TSM_ARRAY_PUSH(p->types, p->type_count, p->type_capacity,
                            tsm_work_of_type(sbt_reader_schema(p->reader, record->type))))
            return NULL;
        *place = p->type_count - 1;
    }
    return &p->types[*place];
}

static bool is_selected(const struct pass *p, const struct sbt_record *record)
{
    const struct sbt_filter *f = p->filter;

    return !f || (sbt_filter_has_stream(f, record->stream) && sbt_filter_in_range(f, record));
}

/* Tests whether this record and all after it are behind the selection. Times of records are begins
 * of calls, and those are not quite in order. */
static bool is_behind(const struct pass *p, const struct sbt_record *record)
{
    return p->filter && p->filter->seq_end && record->seq >= p->filter->seq_end;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static void widen(int64_t *first_ns, int64_t *last_ns, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < *first_ns)
        *first_ns = start_ns;
    if (end_ns > *last_ns)
        *last_ns = end_ns;
}

static void note_span(struct tsm_model_counts *c, const struct tsm_span *span)
{
    if (span->kind == TSM_TIME_UNKNOWN || span->axis == TSM_AXIS_DEVICE)
        return;
    if (span->axis == TSM_AXIS_HOST) {
        widen(&c->first_ns, &c->last_ns, span->start_ns, span->end_ns);
        return;
    }
    c->virtual_count++;
    widen(&c->virtual_first_ns, &c->virtual_last_ns, span->start_ns, span->end_ns);
}

static int report_command(void *user, const struct tsm_command_node *command)
{
    struct pass *p = user;
    struct tsm_model_counts *c = p->counts;

    c->command_count++;
    if (command->work == TSM_WORK_ORDER)
        c->order_count++;
    else if (command->gpu.kind == TSM_TIME_MEASURED)
        c->measured_count++;
    else if (command->gpu.kind == TSM_TIME_DERIVED)
        c->derived_count++;
    else
        c->unknown_count++;
    if (command->work != TSM_WORK_ORDER)
        note_span(c, &command->gpu);
    return p->visitor->command ? p->visitor->command(p->visitor->user, command) : 0;
}

/* A call that returns when its command is complete says when the command ran, more or less. */
static struct tsm_span derived_span(const struct tsm_type_work *type,
                                    const struct sbt_record *record)
{
    struct tsm_span span = {.axis = TSM_AXIS_HOST};

    if (!(type->schema->flags & SBT_SCHEMA_BLOCKS) || record->flags & SBT_RECORD_UNFINISHED)
        return span;
    span.kind = TSM_TIME_DERIVED;
    span.is_at_most = true;
    span.start_ns = (int64_t)record->time_ns;
    span.end_ns = (int64_t)(record->time_ns + record->duration_ns);
    span.error_ns = record->duration_ns;
    return span;
}

/* Reports a command inside of a command buffer of `outer` (NULL: it is not there). */
static int report_inner(struct pass *p, const struct tsm_command_node *outer,
                        const struct tsm_command_time *time)
{
    const struct sbt_schema *schema = sbt_reader_schema(p->reader, time->type);
    struct tsm_inner_node node = {.outer = outer,
                                  .schema = schema,
                                  .buffer = time->buffer,
                                  .command = time->command,
                                  .gpu = time->span};

    if (!schema || !outer) {
        p->counts->stray_time_count++;
        return 0;
    }
    node.work = tsm_work_inside(schema);
    node.name = tsm_programs_text(&p->programs, schema, time->object);
    if (!node.name)
        return tsm_fail(TSM_E_MEMORY, "out of memory for names of commands");
    p->counts->inner_count++;
    return p->visitor->inner ? p->visitor->inner(p->visitor->user, &node) : 0;
}

/* Reports a command with each of its times from elsewhere; without one if there is none. */
static int report_times(struct pass *p, const struct tsm_command_node *command)
{
    const struct tsm_model_times *times = p->visitor->times;
    struct tsm_command_node node = *command;
    struct tsm_command_time time = {.stream = node.stream, .position = node.position};
    bool is_timed = false;
    int more, error = 0;

    while (!error && (more = times->next(times->user, node.seq, &time)) != 0) {
        if (more < 0)
            return more;
        node.part = time.part;
        node.run = time.run;
        if (time.command) {
            error = report_inner(p, &node, &time);
            continue;
        }
        node.gpu = time.span;
        node.inner_ns = time.inner_ns;
        is_timed = true;
        error = report_command(p, &node);
    }
    return error || is_timed ? error : report_command(p, &node);
}

static int add_command(struct pass *p, const struct sbt_record *record,
                       const struct tsm_type_work *type, const char *label,
                       const struct tsm_destination *to)
{
    struct tsm_command_node node = {
        .schema = type->schema,
        .label = label,
        .seq = record->seq,
        .position = record->position,
        .stream = record->stream,
        .device = to->device,
        .owner = to->owner,
        .thread = record->thread,
        .stack = record->stack,
        .call_ns = record->time_ns,
        .returned_ns = record->time_ns + record->duration_ns,
    };

    tsm_work_describe(&node, p->reader, record, type, &p->memory);
    if (p->visitor->times)
        return report_times(p, &node);
    node.gpu = derived_span(type, record);
    return tsm_pending_add(&p->pending, &node);
}

static bool is_sent(const struct sbt_record *record, const struct tsm_type_work *type)
{
    return type->is_command && record->stream != SBT_STREAM_NONE &&
           !(record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED));
}

static int visit_call(struct pass *p, const struct sbt_record *record,
                      const struct tsm_type_work *type, const struct tsm_destination *to)
{
    const struct tsm_call_node call = {
        .record = record,
        .schema = type->schema,
        .label = tsm_labels_of(&p->labels, record->thread),
        .is_command = is_sent(record, type),
        .is_wait = type->is_wait,
        .work = type->work,
        .memory = &p->memory,
        .owner = to->owner,
    };
    int error = 0;

    p->counts->record_count++;
    if (SBT_TYPE_API(record->type) == SBT_API_CORE)
        return p->visitor->core ? p->visitor->core(p->visitor->user, record) : 0;
    widen(&p->counts->first_ns, &p->counts->last_ns, (int64_t)record->time_ns,
          (int64_t)(record->time_ns + record->duration_ns));
    if (p->visitor->call)
        error = p->visitor->call(p->visitor->user, &call);
    return error || !call.is_command || !p->follows_commands
               ? error
               : add_command(p, record, type, call.label, to);
}

struct tsm_span tsm_span_of_time(uint64_t start_ns, uint64_t duration_ns, uint32_t flags,
                                 uint64_t error_ns)
{
    const struct tsm_span span = {
        .kind = TSM_TIME_MEASURED,
        .axis = flags & SBT_GPU_TIME_VIRTUAL      ? TSM_AXIS_VIRTUAL
                : flags & SBT_GPU_TIME_CALIBRATED ? TSM_AXIS_HOST
                                                  : TSM_AXIS_DEVICE,
        .is_at_most = flags & SBT_GPU_TIME_AT_MOST,
        .start_ns = (int64_t)start_ns,
        .end_ns = (int64_t)(start_ns + duration_ns),
        .error_ns = error_ns,
    };

    if (span.end_ns < span.start_ns) /* a time that nothing can have */
        return (struct tsm_span){.kind = TSM_TIME_UNKNOWN};
    return span;
}

static uint64_t time_slot(const struct sbt_record *record, uint32_t slot)
{
    return record->slot_count > slot ? record->slots[slot] : 0;
}

static int note_time(struct pass *p, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    const uint64_t run = time_slot(record, TIME_RUN);
    struct tsm_command_time time;
    int result;

    if (p->visitor->times || !p->follows_commands || record->slot_count <= TIME_FLAGS ||
        s[TIME_STREAM] > UINT32_MAX || s[TIME_PART] > UINT32_MAX || run > UINT32_MAX)
        return 0;
    time = (struct tsm_command_time){.stream = (uint32_t)s[TIME_STREAM],
                                     .position = s[TIME_POSITION],
                                     .part = (uint32_t)s[TIME_PART],
                                     .run = (uint32_t)run,
                                     .inner_ns = time_slot(record, TIME_INNER),
                                     .buffer = (uint32_t)time_slot(record, TIME_BUFFER),
                                     .command = (uint32_t)time_slot(record, TIME_COMMAND),
                                     .type = (uint32_t)time_slot(record, TIME_TYPE),
                                     .object = time_slot(record, TIME_OBJECT)};
    time.span = tsm_span_of_time(s[TIME_START], s[TIME_DURATION], (uint32_t)s[TIME_FLAGS],
                                 time_slot(record, TIME_ERROR));
    if (time.command)
        return report_inner(p, tsm_pending_find(&p->pending, time.stream, time.position), &time);
    result = tsm_pending_time(&p->pending, &time);
    p->counts->stray_time_count += result == 1;
    return result == 1 ? 0 : result;
}

/* Slots of a MARK record. */
enum {
    MARK_NAME,
    MARK_PHASE,
    MARK_ID,
    MARK_COUNT_FIRST, /* traces of earlier versions have no more */
    MARK_DOMAIN = MARK_COUNT_FIRST,
    MARK_CATEGORY,
    MARK_CATEGORY_NAME,
    MARK_COLOR,
    MARK_PAYLOAD_TYPE,
    MARK_PAYLOAD,
    MARK_COUNT
};

bool tsm_mark_is_nested(const struct tsm_mark_node *mark)
{
    return mark->id == 0 || mark->id >> SBT_MARK_NEST_SHIFT;
}

static const char *find_text(const struct pass *p, uint64_t id)
{
    return id ? sbt_reader_string(p->reader, (uint32_t)id) : NULL;
}

static void add_facts(const struct pass *p, struct tsm_mark_node *mark, const uint64_t *slots)
{
    mark->domain = find_text(p, slots[MARK_DOMAIN]);
    mark->category = (uint32_t)slots[MARK_CATEGORY];
    mark->category_name = find_text(p, slots[MARK_CATEGORY_NAME]);
    mark->color = (uint32_t)slots[MARK_COLOR];
    if (slots[MARK_PAYLOAD_TYPE] < SBT_PAYLOAD_COUNT) {
        mark->payload_type = (uint32_t)slots[MARK_PAYLOAD_TYPE];
        mark->payload = slots[MARK_PAYLOAD];
    }
}

static int note_mark(struct pass *p, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    struct tsm_mark_node mark = {
        .seq = record->seq, .time_ns = record->time_ns, .thread = record->thread};
    int error = tsm_labels_note(&p->labels, p->reader, record);

    if (error || !p->visitor->mark || !is_selected(p, record) ||
        record->slot_count < MARK_COUNT_FIRST || s[MARK_PHASE] > TSM_MARK_END)
        return error;
    mark.name = find_text(p, s[MARK_NAME]);
    mark.phase = (enum tsm_mark_phase)s[MARK_PHASE];
    mark.id = s[MARK_ID];
    if (record->slot_count >= MARK_COUNT)
        add_facts(p, &mark, s);
    return p->visitor->mark(p->visitor->user, &mark);
}

/* ---- the pass ------------------------------------------------------------------------------ */

static int note_memory(struct pass *p, const struct sbt_record *record,
                       const struct tsm_type_work *type, bool is_wanted)
{
    struct tsm_memory_node change;
    int result = type->schema ? tsm_memory_note(&p->memory, record, type->schema, &change) : 0;

    if (result != 1)
        return result;
    return is_wanted && p->visitor->memory ? p->visitor->memory(p->visitor->user, &change) : 0;
}

static int note_record(struct pass *p, const struct sbt_record *record)
{
    const bool is_wanted = is_selected(p, record);
    const struct tsm_type_work *type;
    struct tsm_destination to;
    int error;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME))
        return note_time(p, record);
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK))
        return note_mark(p, record);
    type = find_type(p, record);
    if (!type)
        return tsm_fail(TSM_E_MEMORY, "out of memory for types of records");
    error =
        type->gives_names ? tsm_programs_note(&p->programs, p->reader, record, type->schema) : 0;
    if (error)
        return error;
    error = note_memory(p, record, type, is_wanted);
    if (!error)
        error = tsm_devices_note(&p->devices, &to, p->reader, record, type->schema, &type->device);
    return !error && is_wanted ? visit_call(p, record, type, &to) : error;
}

static int read_records(struct pass *p)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int error = sbt_cursor_create(&cursor, p->reader, NULL, 1);

    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1) {
        if (is_behind(p, record) &&
            (!p->pending.untimed_count || p->behind_count++ > LOOK_BEHIND)) {
            error = 0;
            break;
        }
        error = note_record(p, record);
    }
    sbt_cursor_destroy(cursor);
    return error ? error : tsm_pending_end(&p->pending);
}

int tsm_model_pass(struct tsm_model_counts *out, struct sbt_reader *reader,
                   const struct sbt_filter *filter, const struct tsm_model_visitor *visitor)
{
    struct tsm_model_counts unasked;
    struct pass p = {.counts = out ? out : &unasked,
                     .reader = reader,
                     .filter = filter,
                     .visitor = visitor,
                     .follows_commands = out || visitor->command || visitor->inner};
    int error;

    out = p.counts;
    *out = (struct tsm_model_counts){.first_ns = INT64_MAX,
                                     .last_ns = INT64_MIN,
                                     .virtual_first_ns = INT64_MAX,
                                     .virtual_last_ns = INT64_MIN};
    p.pending.report = report_command;
    p.pending.user = &p;
    error = read_records(&p);
    if (out->first_ns > out->last_ns)
        out->first_ns = out->last_ns = 0;
    if (!out->virtual_count)
        out->virtual_first_ns = out->virtual_last_ns = 0;
    free(p.types);
    tsm_map_finish(&p.places);
    tsm_labels_finish(&p.labels);
    tsm_memory_finish(&p.memory);
    tsm_devices_finish(&p.devices);
    tsm_pending_finish(&p.pending);
    if (!error && visitor->programs)
        *visitor->programs = p.programs;
    else
        tsm_programs_finish(&p.programs);
    return error;
}
