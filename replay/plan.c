/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/address_tree.h"
#include "replay/order.h"
#include "analysis/places.h"
#include "api/traits.h"
#include "format/memory_key.h"

/* Positions [first, end) were missing when the record `seq` came. */
struct gap {
    uint64_t first, end, seq;
};

struct scan {
    struct tsm_plan *plan;
    const struct tsm_api_description *api;
    struct scan_stream {
        uint64_t position;
        struct tsm_places places;
        struct gap *gaps; /* in order of position; a late command leaves its own there */
        size_t gap_count, gap_capacity;
    } * streams;
    size_t capacity;
    uint64_t next_seq;
    uint64_t end_seq;   /* of the part that is replayed; 0: it has no end */
    uint64_t start_seq; /* recording of commands began after this record */
    bool has_start;
    uint32_t from_number; /* of the checkpoint, 0 none */
    struct tsm_graph_functions functions;
    struct tsm_map made_at; /* tsm_memory_key() -> seq + 1 of what made memory there, | NAMED */
    struct tsm_address_tree unnamed; /* where it was, by key, until an address in it is named */
    bool in_checkpoint;              /* one has begun and not ended */
};

const struct sbt_schema *tsm_plan_schema(struct sbt_reader *reader, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);

    if (!schema && SBT_TYPE_API(record->type) == SBT_API_CORE)
        schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    return schema;
}

/* ---- what cannot be carried out ----------------------------------------------------------- */

static bool is_in_part(const struct scan *scan, const struct sbt_record *record)
{
    return !scan->end_seq || record->seq < scan->end_seq;
}

static void note_treatment(struct scan *scan, struct sbt_reader *reader,
                           const struct sbt_record *record, const struct sbt_schema *schema,
                           enum tsm_treatment treatment)
{
    struct tsm_plan *plan = scan->plan;
    enum tsm_harm harm = tsm_left_out_harm(scan->api, record, schema, treatment);

    plan->unmodelled_count += treatment == TSM_TREAT_UNMODELLED;
    if (!is_in_part(scan, record))
        return;
    if (harm >= TSM_HARM_POSSIBLE)
        tsm_left_out_add(&plan->harmful, reader, record, schema);
    if (harm == TSM_HARM_LATER)
        tsm_left_out_add(&plan->unfinished, reader, record, schema);
    if (harm == TSM_HARM_TAINTS)
        tsm_left_out_add(&plan->tainting, reader, record, schema);
}

static int note_failed(struct scan *scan, const struct sbt_record *record,
                       enum tsm_treatment treatment)
{
    bool added;

    if (treatment != TSM_TREAT_SKIP || record->stream == SBT_STREAM_NONE || !record->position)
        return 0;
    if (!tsm_map_insert(&scan->plan->failed_places,
                        tsm_plan_place(record->stream, record->position), &added))
        return tsm_fail(TSM_E_MEMORY, "no memory for commands that failed");
    return 0;
}

/* Tests whether a call says that commands which were sent before it have failed. */
static bool says_failure(struct sbt_reader *reader, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    const char *result = schema && record->flags & SBT_RECORD_FAILED
                             ? sbt_reader_enum_name(reader, schema->result_enum, record->result)
                             : NULL;

    return result && tsm_result_says_failure(record->type, result);
}

/* Recording ended: because somebody asked for it, or because it could not go on. */
static void note_stopped(struct scan *scan, struct sbt_reader *reader,
                         const struct sbt_record *record)
{
    const char *reason;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_STOPPED) || !is_in_part(scan, record) ||
        !record->slot_count)
        return;
    reason = sbt_reader_string(reader, (uint32_t)record->slots[0]);
    if (!reason || strcmp(reason, SBT_STOPPED_AS_ASKED))
        scan->plan->stopped = reason ? reason : "unknown";
}

/* ---- streams ------------------------------------------------------------------------------ */

static int grow_streams(struct scan *scan, uint32_t stream)
{
    struct tsm_plan *plan = scan->plan;
    size_t made = scan->capacity, early = made, need = (size_t)stream + 1;

    if (stream >= TSM_STREAM_COUNT_MAX)
        return tsm_fail(TSM_E_LIMIT, "stream number %u is over this build's limit of %u", stream,
                        TSM_STREAM_COUNT_MAX);
    if (!TSM_ARRAY_EXTEND(plan->is_made, made, need) ||
        !TSM_ARRAY_EXTEND(plan->early_positions, early, need) ||
        !TSM_ARRAY_EXTEND(scan->streams, scan->capacity, need))
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu streams", need);
    if (stream >= plan->stream_count)
        plan->stream_count = stream + 1;
    return 0;
}

static bool makes_default_stream(const struct sbt_schema *schema)
{
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    return object >= 0 && (tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_CONTEXT);
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
    return TSM_ARRAY_PUSH(plan->pulls, plan->pull_count, plan->pull_capacity, pull)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for the order of commands");
}

static int add_gap(struct scan_stream *stream, struct gap gap)
{
    return TSM_ARRAY_PUSH(stream->gaps, stream->gap_count, stream->gap_capacity, gap)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for the order of commands");
}

static int note_late(struct scan *scan, struct scan_stream *stream, const struct sbt_record *record)
{
    size_t at;

    TSM_BISECT(at, stream->gap_count, stream->gaps[at].end > record->position);
    if (at == stream->gap_count || stream->gaps[at].first > record->position)
        return 0;
    return add_pull(scan->plan, (struct tsm_pull){stream->gaps[at].seq, record->seq, record->stream,
                                                  record->position});
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

/* Notes the record's place on its stream. After the part's end only records that come late count.
 */
static void note_place(struct scan *scan, const struct sbt_record *record)
{
    uint64_t *early;

    if (record->stream == SBT_STREAM_NONE)
        return;
    early = &scan->plan->early_positions[record->stream];
    if (record->seq < scan->plan->from_seq && *early < record->position)
        *early = record->position;
    if (scan->has_start && record->seq <= scan->start_seq)
        return;
    struct tsm_places *places = &scan->streams[record->stream].places;
    if (is_in_part(scan, record) || record->position < places->last)
        tsm_places_note(places, record, tsm_graph_functions_count(&scan->functions, record));
}

static void count_gaps(struct scan *scan, struct sbt_reader *reader)
{
    for (uint32_t i = 0; i < scan->plan->stream_count; i++) {
        uint64_t missing = tsm_places_missing(&scan->streams[i].places, !scan->has_start);
        uint64_t known = missing ? tsm_places_known(reader, i) : 0;
        if (missing > known && !scan->plan->gap_count)
            scan->plan->gap_stream = i;
        scan->plan->gap_count += missing > known ? missing - known : 0;
    }
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

/* Marks what lives at a key. Returns false if nothing does. */
static bool note_named_key(struct scan *scan, uint64_t key)
{
    uint64_t *made = tsm_map_find(&scan->made_at, key);

    if (!made || !*made)
        return false;
    *made |= NAMED;
    return true;
}

/* A record that is carried out names an address: what lies there must be there, even if it is freed
 * before the checkpoint. */
static void note_named(struct scan *scan, uint64_t address)
{
    const bool is_device = note_named_key(scan, address);
    const bool is_host = note_named_key(scan, address | TSM_MEMORY_KEY_HOST);
    uint64_t key;

    /* It begins there, or the address lies in it: in each that is left. */
    while (!is_device && !is_host && tsm_address_tree_take(&scan->unnamed, address, &key))
        note_named_key(scan, key);
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
                        const struct sbt_schema *schema, uint64_t key)
{
    const uint64_t start = key & ~TSM_MEMORY_KEY_HOST;
    bool added;
    uint64_t *made = tsm_map_insert(&scan->made_at, key, &added);

    if (!made)
        return no_memory();
    if (!added)
        tsm_address_tree_remove(&scan->unnamed, start, key);
    if (!tsm_address_tree_add(&scan->unnamed, start,
                              sbt_record_role(schema, record, SBT_ROLE_SIZE, 0), key))
        return no_memory();
    *made = record->seq + 1;
    return 0;
}

static int note_ended(struct scan *scan, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    uint64_t *made = tsm_memory_ended(&scan->made_at, schema, record);
    bool added;

    if (!made || !*made)
        return 0;
    if (!(*made & NAMED) && (!tsm_map_insert(&scan->plan->dead, *made, &added) ||
                             !tsm_map_insert(&scan->plan->dead, record->seq + 1, &added)))
        return no_memory();
    *made = 0;
    return 0;
}

/* Programs that allocate for each step have made and freed memory many times over before the
 * checkpoint; only what is alive there is needed, and what other records name. */
static int note_memory(struct scan *scan, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    const uint64_t key = tsm_memory_key(schema, record);

    if (record->seq >= scan->plan->from_seq || is_submitted(record, schema) ||
        schema->kind == SBT_KIND_SYNC)
        return 0;
    note_names(scan, record, schema);
    if (key && schema->kind == SBT_KIND_CREATE)
        return note_made_at(scan, record, schema, key);
    return key && schema->kind == SBT_KIND_DESTROY ? note_ended(scan, record, schema) : 0;
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

    if (record->seq > scan->next_seq && plan->missing_seq > scan->next_seq)
        plan->missing_seq = scan->next_seq;
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
    note_treatment(scan, reader, record, schema, treatment);
    note_stopped(scan, reader, record);
    scan->plan->has_failure |= says_failure(reader, record, schema);
    error = tsm_graph_functions_note(&scan->functions, reader, record);
    if (!error && record->stream != SBT_STREAM_NONE)
        error = note_position(scan, record, is_command);
    if (!error)
        error = note_failed(scan, record, treatment);
    if (!error && treatment != TSM_TREAT_OTHER)
        note_place(scan, record);
    if (!error && treatment == TSM_TREAT_OTHER && record->stream != SBT_STREAM_NONE) {
        bool added;
        if (!tsm_map_insert(&scan->plan->other_streams, record->stream, &added))
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

/* Finds the checkpoint at which the recording of commands started, if there is one. */
static void find_start(struct scan *scan, struct sbt_reader *reader)
{
    for (size_t i = 0; i < sbt_reader_checkpoint_count(reader); i++) {
        const struct sbt_checkpoint *c = sbt_reader_checkpoint(reader, i);
        if (!(c->flags & SBT_CHECKPOINT_START))
            continue;
        scan->has_start = true;
        scan->start_seq = c->seq;
    }
}

int tsm_plan_make(struct tsm_plan *out, struct sbt_reader *reader,
                  const struct tsm_backend *backend, struct tsm_backend_state *state,
                  const struct sbt_checkpoint *from, uint64_t end_seq)
{
    const struct sbt_totals *totals = sbt_reader_totals(reader);
    struct scan scan = {.plan = out, .api = backend->description, .end_seq = end_seq};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    struct sbt_missing missing;
    int error;

    memset(out, 0, sizeof(*out));
    out->lost_count = totals->lost_count;
    out->filtered_count = totals->filtered_count;
    out->missing_seq = out->lost_count || out->filtered_count ? 0 : UINT64_MAX;
    out->from_seq = from ? from->seq : 0;
    find_start(&scan, reader);
    scan.from_number = from ? from->number : 0;
    error = sbt_cursor_create(&cursor, reader, NULL, 1);
    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = scan_record(&scan, reader, backend, state, record);
    sbt_cursor_destroy(cursor);
    out->interrupted_count += scan.in_checkpoint;
    sbt_reader_missing(reader, 0, &missing); /* all chunks of records were read */
    out->lost_count += missing.record_count;
    out->next_seq = scan.next_seq;
    if (out->lost_count + out->filtered_count && out->missing_seq == UINT64_MAX)
        out->missing_seq = 0;
    count_gaps(&scan, reader);
    for (uint32_t i = 0; i < scan.capacity; i++)
        free(scan.streams[i].gaps);
    free(scan.streams);
    tsm_graph_functions_finish(&scan.functions);
    tsm_map_finish(&scan.made_at);
    tsm_address_tree_finish(&scan.unnamed);
    if (!error && out->pull_count)
        qsort(out->pulls, out->pull_count, sizeof(*out->pulls), compare_pulls);
    return error;
}

void tsm_plan_finish(struct tsm_plan *plan)
{
    free(plan->is_made);
    free(plan->early_positions);
    free(plan->pulls);
    tsm_map_finish(&plan->dead);
    tsm_map_finish(&plan->failed_places);
    tsm_map_finish(&plan->other_streams);
    memset(plan, 0, sizeof(*plan));
}
