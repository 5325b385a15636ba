/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/plan.h"

#include <stdlib.h>
#include <string.h>

#include "replay/order.h"

/* Positions [first, end) were missing when the record `seq` came. */
struct gap {
    uint64_t first, end, seq;
};

struct scan {
    struct tsm_plan *plan;
    const struct tsm_api_description *api;
    struct scan_stream {
        uint64_t position;
        struct gap *gaps; /* in order of position; a late command leaves its own there */
        size_t gap_count, gap_capacity;
    } * streams;
    uint32_t capacity;
    uint64_t next_seq;
    uint32_t from_number;   /* of the checkpoint, 0 none */
    struct sbt_map made_at; /* address -> seq + 1 of the record that made memory there, | NAMED */
    struct sbt_map size_at; /* ... and its size */
    bool in_checkpoint;     /* one has begun and not ended */
};

const struct sbt_schema *tsm_plan_schema(struct sbt_reader *reader, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);

    if (!schema && SBT_TYPE_API(record->type) == SBT_API_CORE)
        schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    return schema;
}

/* ---- which records count ------------------------------------------------------------------ */

static const struct tsm_call_description *find_call(const struct tsm_api_description *api,
                                                    uint32_t type)
{
    for (size_t i = 0; i < api->call_count; i++)
        if (api->calls[i].schema->type == type)
            return &api->calls[i];
    return NULL;
}

/* Descriptions list calls in order of their numbers; only gaps in them need the search. */
static const struct tsm_call_description *guess_call(const struct tsm_api_description *api,
                                                     uint32_t type)
{
    uint32_t call = SBT_TYPE_CALL(type);

    for (uint32_t back = 0; back <= 1 && back <= call; back++)
        if (call - back < api->call_count && api->calls[call - back].schema->type == type)
            return &api->calls[call - back];
    return find_call(api, type);
}

/* APIs share nothing that a trace could replay: each has its own pass. */
static bool is_others(const struct tsm_api_description *api, uint32_t type)
{
    if (SBT_TYPE_API(type) == SBT_API_HIP)
        return true; /* says where HSA's records come from */
    for (size_t i = 0; SBT_TYPE_API(type) != (uint32_t)api->api && tsm_backends[i]; i++)
        if (SBT_TYPE_API(type) == (uint32_t)tsm_backends[i]->description->api)
            return true;
    return false;
}

enum tsm_treatment tsm_plan_treatment(const struct tsm_api_description *api,
                                      const struct sbt_record *record,
                                      const struct sbt_schema *schema)
{
    const struct tsm_call_description *call;

    if (SBT_TYPE_API(record->type) == SBT_API_CORE) {
        if (SBT_TYPE_CALL(record->type) == SBT_CORE_UNMODELLED)
            return TSM_TREAT_UNMODELLED;
        return sbt_core_schema(SBT_TYPE_CALL(record->type)) ? TSM_TREAT_REPLAY : TSM_TREAT_SKIP;
    }
    if (is_others(api, record->type))
        return TSM_TREAT_OTHER;
    if (record->flags & SBT_RECORD_FAILED)
        return TSM_TREAT_SKIP;
    if (record->flags & (SBT_RECORD_TRUNCATED | SBT_RECORD_UNFINISHED))
        return TSM_TREAT_UNMODELLED;
    if (!schema || SBT_TYPE_API(record->type) != (uint32_t)api->api)
        return TSM_TREAT_UNMODELLED;
    call = guess_call(api, record->type);
    return call && call->status != TSM_CALL_UNMODELLED ? TSM_TREAT_REPLAY : TSM_TREAT_UNMODELLED;
}

/* Could leaving this record out change what the GPU computes? */
static bool taints(const struct sbt_record *record, const struct sbt_schema *schema,
                   enum tsm_treatment treatment)
{
    if (record->flags & SBT_RECORD_TAINTS)
        return true;
    if (treatment != TSM_TREAT_UNMODELLED || SBT_TYPE_API(record->type) == SBT_API_CORE)
        return false;
    if (record->flags & SBT_RECORD_TRUNCATED)
        return true;
    return schema && (schema->flags & SBT_SCHEMA_TAINTS);
}

static const char *tainting_name(struct sbt_reader *reader, const struct sbt_record *record,
                                 const struct sbt_schema *schema)
{
    uint64_t id = schema && SBT_TYPE_API(record->type) == SBT_API_CORE
                      ? sbt_record_role(schema, record, SBT_ROLE_NAME, 0)
                      : 0;
    const char *name = id ? sbt_reader_string(reader, (uint32_t)id) : NULL;

    return name ? name : schema ? schema->name : "an unknown call";
}

static void count_treatment(struct tsm_plan *plan, struct sbt_reader *reader,
                            const struct sbt_record *record, const struct sbt_schema *schema,
                            enum tsm_treatment treatment)
{
    plan->unmodelled_count += treatment == TSM_TREAT_UNMODELLED;
    if (!taints(record, schema, treatment))
        return;
    if (!plan->tainted_count++)
        plan->first_tainting = tainting_name(reader, record, schema);
}

/* ---- streams ------------------------------------------------------------------------------ */

static int grow_streams(struct scan *scan, uint32_t stream)
{
    struct tsm_plan *plan = scan->plan;
    uint32_t more = scan->capacity ? scan->capacity : 16;

    if (stream >= TSM_STREAM_COUNT_MAX)
        return tsm_fail(TSM_E_LIMIT, "stream number %u is over this build's limit of %u", stream,
                        TSM_STREAM_COUNT_MAX);
    while (more <= stream)
        more *= 2;
    if (more > scan->capacity) {
        struct scan_stream *streams = realloc(scan->streams, more * sizeof(*streams));
        if (streams)
            scan->streams = streams;
        bool *made = realloc(plan->is_made, more * sizeof(*made));
        if (made)
            plan->is_made = made;
        if (!streams || !made)
            return tsm_fail(TSM_E_MEMORY, "no memory for %u streams", more);
        memset(streams + scan->capacity, 0, (more - scan->capacity) * sizeof(*streams));
        memset(made + scan->capacity, 0, (more - scan->capacity) * sizeof(*made));
        scan->capacity = more;
    }
    if (stream >= plan->stream_count)
        plan->stream_count = stream + 1;
    return 0;
}

static bool makes_default_stream(const struct sbt_schema *schema)
{
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    return object >= 0 && !strcmp(schema->fields[object].detail, "context");
}

static int note_made(struct scan *scan, const struct sbt_record *record,
                     const struct sbt_schema *schema)
{
    uint64_t made =
        sbt_record_role(schema, record, SBT_ROLE_STREAM_MADE, (uint64_t)SBT_STREAM_NONE);

    if (made >= SBT_STREAM_NONE || (record->flags & SBT_RECORD_FAILED))
        return 0;
    int error = grow_streams(scan, (uint32_t)made);
    /* A context brings its default stream along. */
    if (!error && !makes_default_stream(schema))
        scan->plan->is_made[made] = true;
    return error;
}

/* ---- late commands ------------------------------------------------------------------------ */

static int add_pull(struct tsm_plan *plan, struct tsm_pull pull)
{
    if (plan->pull_count == plan->pull_capacity) {
        size_t more = plan->pull_capacity ? plan->pull_capacity * 2 : 64;
        struct tsm_pull *grown = realloc(plan->pulls, more * sizeof(*grown));
        if (!grown)
            return tsm_fail(TSM_E_MEMORY, "no memory for the order of commands");
        plan->pulls = grown;
        plan->pull_capacity = more;
    }
    plan->pulls[plan->pull_count++] = pull;
    return 0;
}

static int add_gap(struct scan_stream *stream, struct gap gap)
{
    if (stream->gap_count == stream->gap_capacity) {
        size_t more = stream->gap_capacity ? stream->gap_capacity * 2 : 16;
        struct gap *grown = realloc(stream->gaps, more * sizeof(*grown));
        if (!grown)
            return tsm_fail(TSM_E_MEMORY, "no memory for the order of commands");
        stream->gaps = grown;
        stream->gap_capacity = more;
    }
    stream->gaps[stream->gap_count++] = gap;
    return 0;
}

static int note_late(struct scan *scan, struct scan_stream *stream, const struct sbt_record *record)
{
    size_t low = 0, high = stream->gap_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stream->gaps[middle].end <= record->position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == stream->gap_count || stream->gaps[low].first > record->position)
        return 0;
    return add_pull(scan->plan, (struct tsm_pull){stream->gaps[low].seq, record->seq,
                                                  record->stream, record->position});
}

static bool is_submitted(const struct sbt_record *record, const struct sbt_schema *schema)
{
    if (record->flags & SBT_RECORD_CAPTURED)
        return false;
    return schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
           schema->kind == SBT_KIND_WAIT;
}

static int note_position(struct scan *scan, const struct sbt_record *record, bool is_command)
{
    struct scan_stream *stream;
    int error = grow_streams(scan, record->stream);

    if (error || !record->position)
        return error;
    stream = &scan->streams[record->stream];
    scan->plan->sending_count += stream->position == 0;
    if (record->position < stream->position)
        return is_command ? note_late(scan, stream, record) : 0;
    if (record->position > stream->position + 1)
        error = add_gap(stream, (struct gap){stream->position + 1, record->position, record->seq});
    stream->position = record->position;
    return error;
}

static int compare_pulls(const void *a, const void *b)
{
    const struct tsm_pull *x = a, *y = b;

    if (x->before_seq != y->before_seq)
        return x->before_seq < y->before_seq ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* ---- checkpoints -------------------------------------------------------------------------- */

#define NAMED (1ull << 63)

/* A record that is carried out names an address: what lies there must be there, even if it is freed
 * before the checkpoint. */
static void note_named(struct scan *scan, uint64_t address)
{
    uint64_t *made = sbt_map_find(&scan->made_at, address);

    for (size_t i = 0; !made && i < scan->size_at.capacity; i++) {
        const struct sbt_map_slot *slot = &scan->size_at.slots[i];
        if (slot->used && address - slot->key < slot->value)
            made = sbt_map_find(&scan->made_at, slot->key);
    }
    if (made && *made)
        *made |= NAMED;
}

static void note_names(struct scan *scan, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++) {
        uint32_t type = schema->fields[i].type;
        if ((type == SBT_FIELD_DEVPTR || type == SBT_FIELD_HOSTPTR) && record->slots[i] &&
            schema->fields[i].role != SBT_ROLE_ADDRESS)
            note_named(scan, record->slots[i]);
    }
}

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for allocations");
}

static int note_made_at(struct scan *scan, const struct sbt_record *record,
                        const struct sbt_schema *schema, uint64_t address)
{
    bool added;
    uint64_t *size = sbt_map_insert(&scan->size_at, address, &added);
    uint64_t *made = size ? sbt_map_insert(&scan->made_at, address, &added) : NULL;

    if (!made)
        return no_memory();
    *size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0);
    *made = record->seq + 1;
    return 0;
}

static int note_freed(struct scan *scan, const struct sbt_record *record, uint64_t address)
{
    uint64_t *made = sbt_map_find(&scan->made_at, address);
    bool added;

    if (!made || !*made)
        return 0;
    if (!(*made & NAMED) && (!sbt_map_insert(&scan->plan->dead, *made, &added) ||
                             !sbt_map_insert(&scan->plan->dead, record->seq + 1, &added)))
        return no_memory();
    *made = 0;
    return 0;
}

/* Programs that allocate for each step have made and freed memory many times over before the
 * checkpoint; only what is alive there is needed, and what other records name. */
static int note_memory(struct scan *scan, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    uint64_t address = sbt_record_role(schema, record, SBT_ROLE_ADDRESS, 0);

    if (record->seq >= scan->plan->from_seq || is_submitted(record, schema) ||
        schema->kind == SBT_KIND_SYNC)
        return 0;
    note_names(scan, record, schema);
    if (address && schema->kind == SBT_KIND_CREATE)
        return note_made_at(scan, record, schema, address);
    return address && schema->kind == SBT_KIND_DESTROY ? note_freed(scan, record, address) : 0;
}

static void note_checkpoint(struct scan *scan, const struct sbt_record *record)
{
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKPOINT_BEGIN)) {
        scan->plan->interrupted_count += scan->in_checkpoint;
        scan->in_checkpoint = true;
    } else if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKPOINT_END)) {
        scan->in_checkpoint = false;
    } else if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_MEMORY) && record->slot_count) {
        scan->plan->item_count += scan->from_number && record->slots[0] == scan->from_number;
    }
}

/* ---- the pass ----------------------------------------------------------------------------- */

static void note_span(struct tsm_plan *plan, const struct sbt_record *record)
{
    if (!plan->last_command_ns || record->time_ns < plan->first_command_ns)
        plan->first_command_ns = record->time_ns;
    if (record->time_ns + record->duration_ns > plan->last_command_ns)
        plan->last_command_ns = record->time_ns + record->duration_ns;
}

static void note_missing(struct scan *scan, const struct sbt_record *record)
{
    struct tsm_plan *plan = scan->plan;

    if (record->seq > scan->next_seq)
        plan->lost_count += record->seq - scan->next_seq;
    scan->next_seq = record->seq + 1;
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST) && !plan->lost_count)
        plan->lost_count = 1;
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_FILTERED) && !plan->filtered_count)
        plan->filtered_count = 1;
}

static int scan_record(struct scan *scan, struct sbt_reader *reader,
                       const struct tsm_backend *backend, struct tsm_backend_state *state,
                       const struct sbt_record *record)
{
    const struct sbt_schema *schema = tsm_plan_schema(reader, record);
    enum tsm_treatment treatment = tsm_plan_treatment(scan->api, record, schema);
    bool is_command = schema && treatment == TSM_TREAT_REPLAY && is_submitted(record, schema);
    int error = 0;

    note_missing(scan, record);
    note_checkpoint(scan, record);
    scan->plan->record_count++;
    count_treatment(scan->plan, reader, record, schema, treatment);
    if (record->stream != SBT_STREAM_NONE)
        error = note_position(scan, record, is_command);
    if (!error && treatment == TSM_TREAT_OTHER && record->stream != SBT_STREAM_NONE) {
        bool added;
        if (!sbt_map_insert(&scan->plan->other_streams, record->stream, &added))
            return tsm_fail(TSM_E_MEMORY, "no memory for streams");
    }
    if (!error && schema)
        error = note_made(scan, record, schema);
    if (!error && treatment == TSM_TREAT_REPLAY && schema)
        error = note_memory(scan, record, schema);
    if (error || treatment != TSM_TREAT_REPLAY)
        return error;
    if (is_command)
        note_span(scan->plan, record);
    return state && backend->plan ? backend->plan(state, record, schema) : 0;
}

int tsm_plan_make(struct tsm_plan *out, struct sbt_reader *reader,
                  const struct tsm_backend *backend, struct tsm_backend_state *state,
                  const struct sbt_checkpoint *from)
{
    const struct sbt_totals *totals = sbt_reader_totals(reader);
    struct scan scan = {.plan = out, .api = backend->description};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error;

    memset(out, 0, sizeof(*out));
    out->lost_count = totals->lost_count;
    out->filtered_count = totals->filtered_count;
    out->from_seq = from ? from->seq : 0;
    scan.from_number = from ? from->number : 0;
    error = sbt_cursor_create(&cursor, reader, NULL, 1);
    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = scan_record(&scan, reader, backend, state, record);
    sbt_cursor_destroy(cursor);
    out->interrupted_count += scan.in_checkpoint;
    for (uint32_t i = 0; i < scan.capacity; i++)
        free(scan.streams[i].gaps);
    free(scan.streams);
    sbt_map_finish(&scan.made_at);
    sbt_map_finish(&scan.size_at);
    if (!error && out->pull_count)
        qsort(out->pulls, out->pull_count, sizeof(*out->pulls), compare_pulls);
    return error;
}

void tsm_plan_finish(struct tsm_plan *plan)
{
    free(plan->is_made);
    free(plan->pulls);
    sbt_map_finish(&plan->dead);
    sbt_map_finish(&plan->other_streams);
    memset(plan, 0, sizeof(*plan));
}
