/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/usage.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/diff/survey.h"
#include "api/traits.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"

#define LINKS_MAX   ((size_t)4 << 20) /* of one trace: 64 MiB */
#define BEGIN_CALLS 32u
#define KIND_STREAM 1u
#define KIND_EXTENT 2u

uint64_t tsm_usage_mix(uint64_t a, uint64_t b)
{
    const uint64_t words[2] = {a, b};

    return tsm_hash64(words, sizeof(words));
}

/* One record, as its fields are gone through. */
struct visit {
    struct tsm_usage *usage;
    struct sbt_reader *reader;
    const struct tsm_extents *extents;
    const struct sbt_record *record;
    const struct sbt_schema *schema;
    size_t links_max; /* of one thread */
    uint32_t thread;
    uint64_t where; /* hash of the call */
    uint64_t part;  /* of the record, counted from 0 */
    uint64_t all, stable;
    bool has_no_memory;
};

static void add_stable(struct visit *v, uint64_t word)
{
    v->stable = tsm_usage_mix(v->stable, word);
    v->all = tsm_usage_mix(v->all, word);
}

static void add_bytes(struct visit *v, const uint8_t *bytes, size_t size)
{
    add_stable(v, size ? tsm_hash64(bytes, size) : 0);
}

/* ---- links -------------------------------------------------------------------------------- */

static uint32_t find_object(struct visit *v, uint64_t kind, uint64_t id)
{
    struct tsm_map *objects = &v->usage->objects;
    bool added;
    uint64_t *place = tsm_map_insert(objects, tsm_usage_mix(kind, id), &added);

    v->has_no_memory |= !place;
    if (place && added)
        *place = objects->count;
    return place ? (uint32_t)*place - 1 : 0;
}

/* Returns the stream; NULL: out of memory. */
static struct tsm_usage_stream *find_stream(struct visit *v, uint32_t number)
{
    struct tsm_usage *u = v->usage;
    bool added;
    uint64_t *place = tsm_map_insert(&u->stream_numbers, number, &added);

    if (place && added &&
        TSM_ARRAY_PUSH(u->streams, u->stream_count, u->stream_capacity,
                       (struct tsm_usage_stream){.number = number,
                                                 .maker = UINT32_MAX,
                                                 .sender = UINT32_MAX,
                                                 .object = find_object(v, KIND_STREAM, number)}))
        *place = u->stream_count;
    else
        v->has_no_memory |= !place || added;
    return v->has_no_memory ? NULL : &u->streams[*place - 1];
}

static void add_link(struct visit *v, uint64_t kind, uint64_t id, uint64_t detail)
{
    struct tsm_usage *u = v->usage;
    struct tsm_usage_thread *thread = &u->threads[v->thread];
    const uint64_t where = tsm_usage_mix(v->where, tsm_usage_mix(v->part, detail));

    if (thread->link_count >= v->links_max)
        return;
    thread->link_count++;
    v->has_no_memory |=
        !TSM_ARRAY_PUSH(u->links, u->link_count, u->link_capacity,
                        (struct tsm_usage_link){v->thread, find_object(v, kind, id), where});
}

/* Returns true when the address lies in an allocation. */
static bool add_address(struct visit *v, uint64_t address)
{
    const struct tsm_extent *e =
        address ? tsm_extents_find(v->extents, address, v->record->seq) : NULL;

    if (e)
        add_link(v, KIND_EXTENT, (uint64_t)(e - v->extents->list), address - e->address);
    return e;
}

static void add_handle(struct visit *v, const char *detail, uint64_t id)
{
    if (id)
        add_link(v, tsm_hash64(detail, strcspn(detail, "/")), id, 0);
}

/* ---- values ------------------------------------------------------------------------------- */

static void add_number(struct visit *v, enum sbt_field_type type, const char *detail,
                       uint64_t number)
{
    const bool has_failed = v->record->flags & SBT_RECORD_FAILED;

    switch (type) {
    case SBT_FIELD_HOSTPTR:
        return;
    case SBT_FIELD_HANDLE:
        if (!has_failed)
            add_handle(v, detail, number);
        return;
    case SBT_FIELD_DEVPTR:
        if (!has_failed)
            add_address(v, number);
        return;
    case SBT_FIELD_INT:
    case SBT_FIELD_HEX: /* numbers that a driver drew up, too */
        if (!*detail)
            add_stable(v, number);
        return;
    default:
        add_stable(v, number);
    }
}

static void add_step(struct visit *v, const struct sbt_step *step)
{
    v->part++;
    if (step->kind == SBT_STEP_OPEN || step->kind == SBT_STEP_CLOSE || step->none) {
        add_stable(v, step->kind == SBT_STEP_OPEN ? step->number : 0);
        return;
    }
    if (step->kind == SBT_STEP_UNKNOWN || step->member->type == SBT_FIELD_BYTES ||
        step->member->type == SBT_FIELD_STRING)
        add_bytes(v, step->data, step->size);
    else
        add_number(v, step->member->type, step->member->detail, step->number);
}

static void add_value(struct visit *v, uint32_t index)
{
    struct sbt_value value = {0};
    struct sbt_walk walk;
    struct sbt_step step;

    if (sbt_reader_value(v->reader, v->record, index, &value) == 1 &&
        !sbt_walk_begin(&walk, v->reader, v->schema->fields[index].detail, value.data, value.size))
        while (sbt_walk_next(&walk, &step) == 1)
            add_step(v, &step);
    sbt_value_finish(&value);
}

/* Words of an argument block, or of what is sent: addresses, and what else the GPU gets. */
static void add_words(struct visit *v, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += 8) {
        const size_t length = size - at < 8 ? size - at : 8;
        v->part++;
        if (length < 8 || !add_address(v, tsm_get_u64(bytes + at)))
            v->all = tsm_usage_mix(v->all, tsm_hash64(bytes + at, length));
    }
}

static void add_list(struct visit *v, const char *detail, const uint8_t *bytes, size_t size)
{
    const size_t stride = tsm_pairing_list(detail);

    for (size_t at = 0; at + stride <= size; at += stride, v->part++)
        add_handle(v, detail, tsm_get_u32(bytes + at));
}

static void add_data(struct visit *v, uint32_t index)
{
    const struct sbt_field *field = &v->schema->fields[index];
    const uint8_t *bytes = NULL;
    size_t size = 0;

    if (!sbt_record_bytes(v->record, index, &bytes, &size))
        return;
    if (field->role == SBT_ROLE_ARGUMENTS) {
        add_words(v, bytes, size);
    } else if (tsm_pairing_list(field->detail)) {
        add_list(v, field->detail, bytes, size);
    } else {
        add_bytes(v, bytes, size);
    }
}

static uint64_t hash_blob(const struct sbt_blob *blob)
{
    return blob->bytes ? tsm_hash64(blob->bytes, blob->size)
                       : tsm_hash64(blob->keys, 16 * blob->piece_count);
}

/* Whether a record has its payload may be chance (flag late), and what it holds may be addresses.
 */
static void add_blob(struct visit *v, uint32_t index)
{
    const char *detail = v->schema->fields[index].detail;
    struct sbt_blob blob;

    if ((v->record->flags & SBT_RECORD_LATE) || !sbt_record_blob(v->record, index, &blob))
        return;
    if (tsm_pairing_list(detail)) {
        if (blob.bytes)
            add_list(v, detail, blob.bytes, (size_t)blob.size);
        return;
    }
    if (blob.bytes && blob.size % 8 == 0)
        add_words(v, blob.bytes, (size_t)blob.size);
    else
        v->all = tsm_usage_mix(v->all, hash_blob(&blob));
}

static void add_text(struct visit *v, uint64_t id)
{
    const char *text = sbt_reader_string(v->reader, (uint32_t)id);

    add_stable(v, text ? tsm_hash64(text, strlen(text)) : 0);
}

/* A stream that no command is sent to must stand for one stream, too. */
static void add_stream(struct visit *v, uint64_t number)
{
    if (number < SBT_STREAM_NONE)
        find_stream(v, (uint32_t)number);
    add_link(v, KIND_STREAM, number, 0);
}

static void add_field(struct visit *v, uint32_t index)
{
    const struct sbt_field *field = &v->schema->fields[index];
    const uint64_t slot = v->record->slots[index];

    v->part++;
    if (field->role == SBT_ROLE_STREAM_MADE ||
        (field->type == SBT_FIELD_UINT && !strcmp(field->detail, SBT_DETAIL_STREAM)))
        add_stream(v, slot);
    else if (field->type == SBT_FIELD_STRING)
        add_text(v, slot);
    else if (field->type == SBT_FIELD_BYTES)
        add_data(v, index);
    else if (field->type == SBT_FIELD_BLOB)
        add_blob(v, index);
    else if (field->type == SBT_FIELD_STRUCT)
        add_value(v, index);
    else
        add_number(v, field->type, field->detail, slot);
}

/* ---- threads and streams ------------------------------------------------------------------ */

#define QUEUE_ID ((uint64_t)1 << 32) /* beyond all threads' ids */

uint64_t tsm_usage_sender(const struct sbt_record *record, const struct sbt_schema *schema)
{
    return record->stream != SBT_STREAM_NONE &&
                   tsm_call_traits(schema).traits & TSM_TRAIT_FROM_QUEUE
               ? QUEUE_ID | record->stream
               : record->thread;
}

/* Returns the thread's number; UINT32_MAX when out of memory. */
static uint32_t find_thread(struct tsm_usage *u, uint64_t id)
{
    const uint32_t queue = id & QUEUE_ID ? (uint32_t)id : SBT_STREAM_NONE;
    bool added;
    uint64_t *place = tsm_map_insert(&u->thread_numbers, id, &added);

    if (!place || (added && !TSM_ARRAY_PUSH(u->threads, u->thread_count, u->thread_capacity,
                                            (struct tsm_usage_thread){.queue = queue})))
        return UINT32_MAX;
    if (added)
        *place = u->thread_count;
    return (uint32_t)*place - 1;
}

static void note_made(struct visit *v, uint32_t number)
{
    struct tsm_usage_stream *stream = find_stream(v, number);

    if (!stream || stream->maker != UINT32_MAX)
        return;
    stream->maker = v->thread;
    stream->nth = v->usage->threads[v->thread].made_count++;
}

static void note_sent(struct visit *v, uint32_t number)
{
    struct tsm_usage_stream *stream = find_stream(v, number);

    if (!stream)
        return;
    stream->is_shared |= stream->sender != UINT32_MAX && stream->sender != v->thread;
    stream->sender = v->thread;
    add_link(v, KIND_STREAM, number, 0);
}

static bool is_queue(const struct visit *v)
{
    return v->usage->threads[v->thread].queue != SBT_STREAM_NONE;
}

/* How many calls of this type the thread made before, so that one call more by chance does not
 * change what the others are. */
static uint64_t count_call(struct visit *v)
{
    bool added;
    uint64_t *place;

    if (is_queue(v))
        return 0;
    place =
        tsm_map_insert(&v->usage->call_counts, tsm_usage_mix(v->thread, v->record->type), &added);

    v->has_no_memory |= !place;
    return place ? (*place)++ : 0;
}

static void add_call(struct visit *v)
{
    const struct sbt_record *record = v->record;
    const uint64_t made = sbt_record_role(v->schema, record, SBT_ROLE_STREAM_MADE, SBT_STREAM_NONE);
    struct tsm_usage_thread *thread;
    uint32_t count = record->slot_count;

    v->where = tsm_usage_mix(record->type, count_call(v));
    v->all = v->stable = tsm_usage_mix(record->type, (uint64_t)record->result);
    if (made < SBT_STREAM_NONE && !(record->flags & SBT_RECORD_FAILED))
        note_made(v, (uint32_t)made);
    if (record->stream != SBT_STREAM_NONE)
        note_sent(v, record->stream);
    for (uint32_t i = 0; i < count && i < v->schema->field_count; i++)
        add_field(v, i);
    thread = &v->usage->threads[v->thread];
    thread->order = tsm_usage_mix(thread->order, v->all);
    thread->full = thread->all = is_queue(v) ? thread->all + v->all : thread->order;
    thread->stable = tsm_usage_mix(thread->stable, v->stable);
    if (thread->call_count++ < BEGIN_CALLS)
        thread->begin = tsm_usage_mix(
            thread->begin, tsm_usage_mix(tsm_usage_mix(record->type, (uint64_t)record->result),
                                         sbt_record_role(v->schema, record, SBT_ROLE_SIZE, 0)));
}

static int visit(struct visit *v)
{
    if (!v->schema || tsm_survey_is_wait(v->schema) ||
        SBT_TYPE_API(v->record->type) == SBT_API_CORE)
        return 0;
    v->part = 0;
    v->thread = find_thread(v->usage, tsm_usage_sender(v->record, v->schema));
    v->has_no_memory |= v->thread == UINT32_MAX;
    if (!v->has_no_memory)
        add_call(v);
    return v->has_no_memory ? tsm_fail(TSM_E_MEMORY, "no memory for what threads do") : 0;
}

int tsm_usage_collect(struct tsm_usage *out, struct sbt_reader *reader,
                      const struct tsm_extents *extents, size_t thread_count)
{
    struct visit v = {.usage = out,
                      .reader = reader,
                      .extents = extents,
                      .links_max = LINKS_MAX / (thread_count ? thread_count : 1)};
    struct sbt_cursor *cursor = NULL;
    int error = sbt_cursor_create(&cursor, reader, NULL, 1);

    while (!error && (error = sbt_cursor_next(cursor, &v.record)) == 1) {
        v.schema = tsm_survey_schema(reader, v.record);
        error = visit(&v);
    }
    sbt_cursor_destroy(cursor);
    return error;
}

/* ---- results ------------------------------------------------------------------------------ */

/* Tests for bytes of which it is not chance that there are any: of others there may be more when
 * the program asks more often. */
static bool is_result(const struct sbt_record *record)
{
    return record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK) &&
           !(record->flags & SBT_RECORD_HELD);
}

/* Notes which command of which thread stands at a place of a stream that several use: its position
 * is chance. */
static bool note_place(struct tsm_usage *u, struct tsm_map *places, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    const uint64_t stream = tsm_map_get(&u->stream_numbers, record->stream, 0);
    const uint64_t thread = tsm_map_get(&u->thread_numbers, tsm_usage_sender(record, schema), 0);

    return !stream || !thread || !u->streams[stream - 1].is_shared ||
           tsm_map_set(places, tsm_usage_mix(record->stream, record->position),
                       thread << 32 | ++u->threads[thread - 1].command_count);
}

static uint64_t hash_result(const struct sbt_record *record, const struct sbt_schema *schema)
{
    const int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, &blob))
        return 0;
    return hash_blob(&blob);
}

static void add_result(struct tsm_usage *u, const struct tsm_map *places,
                       const struct sbt_record *record, const struct sbt_schema *schema)
{
    const uint64_t number = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const uint64_t stream = tsm_map_get(&u->stream_numbers, number, 0);
    uint64_t position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);
    uint32_t thread = stream ? u->streams[stream - 1].sender : UINT32_MAX;

    if (stream && u->streams[stream - 1].is_shared) {
        position = tsm_map_get(places, tsm_usage_mix(number, position), 0);
        thread = (uint32_t)(position >> 32) - 1;
        position = (uint32_t)position;
    }
    if (thread != UINT32_MAX)
        u->threads[thread].full += tsm_usage_mix(position, hash_result(record, schema));
}

int tsm_usage_collect_results(struct tsm_usage *u, struct sbt_reader *reader)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    struct tsm_map places = {0};
    int error = sbt_cursor_create(&cursor, reader, NULL, 1);

    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1) {
        const struct sbt_schema *schema = tsm_survey_schema(reader, record);
        error = 0;
        if (schema && is_result(record))
            add_result(u, &places, record, schema);
        else if (schema && record->stream != SBT_STREAM_NONE && !tsm_survey_is_wait(schema) &&
                 !note_place(u, &places, record, schema))
            error = tsm_fail(TSM_E_MEMORY, "no memory for who sent what");
    }
    sbt_cursor_destroy(cursor);
    tsm_map_finish(&places);
    return error;
}

void tsm_usage_finish(struct tsm_usage *usage)
{
    tsm_map_finish(&usage->thread_numbers);
    tsm_map_finish(&usage->stream_numbers);
    tsm_map_finish(&usage->objects);
    tsm_map_finish(&usage->call_counts);
    free(usage->threads);
    free(usage->streams);
    free(usage->links);
    memset(usage, 0, sizeof(*usage));
}

/* ---- colors ------------------------------------------------------------------------------- */

/* Sums, since neither users of an object nor the links of a thread have an order that both traces
 * share: where a link is tells which it is. */
void tsm_usage_refine(const struct tsm_usage *u, uint64_t *colors, uint64_t *object_colors)
{
    memset(object_colors, 0, u->objects.count * sizeof(*object_colors));
    for (size_t i = 0; i < u->link_count; i++)
        object_colors[u->links[i].object] +=
            tsm_usage_mix(colors[u->links[i].thread], u->links[i].where);
    for (size_t i = 0; i < u->thread_count; i++)
        colors[i] = tsm_usage_mix(colors[i], 0);
    for (size_t i = 0; i < u->link_count; i++)
        colors[u->links[i].thread] +=
            tsm_usage_mix(object_colors[u->links[i].object], u->links[i].where);
}

void tsm_usage_order(const struct tsm_usage *u, const uint64_t *object_names, uint64_t *orders)
{
    for (size_t i = 0; i < u->thread_count; i++)
        orders[i] = u->threads[i].order;
    for (size_t i = 0; i < u->link_count; i++) {
        const struct tsm_usage_link *link = &u->links[i];
        orders[link->thread] = tsm_usage_mix(
            orders[link->thread], tsm_usage_mix(object_names[link->object], link->where));
    }
}
