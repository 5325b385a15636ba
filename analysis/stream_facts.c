/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/stream_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/diff/pairing.h"
#include "analysis/held_memory.h"
#include "api/traits.h"
#include "base/array.h"
#include "base/bytes.h"

#define STREAM_COUNT_MAX 65536u

struct pass {
    struct tsm_stream_facts *facts;
    struct sbt_reader *reader;
    uint32_t stream; /* that uses what a record names */
    struct tsm_extents extents;
    struct tsm_held_memory held;
    struct tsm_map users; /* index of an allocation, or an object -> a stream that names it */
    struct tsm_map apart; /* value table, by its address -> bits of streams that do not join */
};

/* ---- streams ------------------------------------------------------------------------------ */

static int grow(struct tsm_stream_facts *f, uint32_t stream)
{
    if (stream >= STREAM_COUNT_MAX)
        return tsm_fail(TSM_E_LIMIT, "stream number %u is over this build's limit of %u", stream,
                        STREAM_COUNT_MAX);
    if (!TSM_ARRAY_RESERVE(f->streams, f->capacity, (size_t)stream + 1))
        return tsm_fail(TSM_E_MEMORY, "no memory for %u streams", stream + 1);
    for (; f->count <= stream; f->count++)
        f->streams[f->count] = (struct tsm_stream_fact){.is_default = true, .sharing = f->count};
    return 0;
}

/* Bits of a value table that say that a stream does not join the default stream. The trace names
 * its own flags. */
static uint64_t apart_bits(struct tsm_map *tables, const struct sbt_enum *table)
{
    bool is_new = false;
    uint64_t *known = tsm_map_insert(tables, (uintptr_t)table, &is_new), bits = 0;

    if (known && !is_new)
        return *known;
    for (uint32_t i = 0; i < table->value_count; i++)
        if (strstr(table->values[i].name, "NON_BLOCKING"))
            bits |= (uint64_t)table->values[i].value;
    if (known)
        *known = bits;
    return bits;
}

bool tsm_stream_made_apart(struct tsm_map *known, struct sbt_reader *reader,
                           const struct sbt_record *record, const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++) {
        const struct sbt_enum *table = schema->fields[i].type == SBT_FIELD_FLAGS
                                           ? sbt_reader_enum(reader, schema->fields[i].detail)
                                           : NULL;
        if (table && (record->slots[i] & apart_bits(known, table)))
            return true;
    }
    return false;
}

static int note_made(struct pass *p, const struct sbt_record *record,
                     const struct sbt_schema *schema)
{
    uint64_t made = sbt_record_role(schema, record, SBT_ROLE_STREAM_MADE, SBT_STREAM_NONE);
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    if (made >= SBT_STREAM_NONE || (record->flags & SBT_RECORD_FAILED))
        return 0;
    int error = grow(p->facts, (uint32_t)made);
    /* A context brings its default stream along. */
    if (error ||
        (object >= 0 && (tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_CONTEXT)))
        return error;
    p->facts->streams[made].is_default = false;
    p->facts->streams[made].is_apart = tsm_stream_made_apart(&p->apart, p->reader, record, schema);
    return 0;
}

/* ---- shared memory ------------------------------------------------------------------------ */

uint32_t tsm_stream_facts_group(const struct tsm_stream_facts *facts, uint32_t stream)
{
    while (stream < facts->count && facts->streams[stream].sharing != stream)
        stream = facts->streams[stream].sharing;
    return stream;
}

/* Returns the same, and shortens the chain for the next search. */
static uint32_t find_group(struct pass *p, uint32_t stream)
{
    struct tsm_stream_fact *streams = p->facts->streams;

    while (streams[stream].sharing != stream)
        stream = streams[stream].sharing = streams[streams[stream].sharing].sharing;
    return stream;
}

/* Streams that name the same thing share it. */
static int note_user(struct pass *p, uint64_t thing)
{
    bool added;
    uint64_t *user = tsm_map_insert(&p->users, thing, &added);

    if (!user)
        return tsm_fail(TSM_E_MEMORY, "no memory for allocations");
    if (added)
        *user = p->stream;
    uint32_t a = find_group(p, p->stream), b = find_group(p, (uint32_t)*user);
    p->facts->streams[a > b ? a : b].sharing = a < b ? a : b;
    return 0;
}

static int note_address(struct pass *p, const struct sbt_record *record, uint64_t address)
{
    struct tsm_extent *extent =
        address ? tsm_extents_find(&p->extents, address, record->seq) : NULL;

    return extent ? note_user(p, (uint64_t)(extent - p->extents.list) + 1) : 0;
}

/* An address or an object; 0 is none. */
static int note_thing(struct pass *p, const struct sbt_record *record, uint64_t thing)
{
    return thing & TSM_HELD_OBJECT ? note_user(p, thing) : note_address(p, record, thing);
}

static int note_arguments(struct pass *p, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    int arguments = sbt_schema_role(schema, SBT_ROLE_ARGUMENTS);
    const uint8_t *bytes = NULL;
    size_t size = 0;
    int error = 0;

    if (arguments < 0 || !sbt_record_bytes(record, (uint32_t)arguments, &bytes, &size))
        return 0;
    for (size_t at = 0; at + 8 <= size && !error; at += 8) {
        uint64_t word = tsm_get_u64(bytes + at);
        error = note_address(p, record, word);
        if (!error)
            error = note_thing(p, record, tsm_held_memory_number(&p->held, word));
    }
    return error;
}

static int note_memory(struct pass *p, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    static const uint32_t roles[] = {SBT_ROLE_DST, SBT_ROLE_SRC, SBT_ROLE_HOST_DST};
    int error = 0;

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]) && !error; i++)
        error = note_address(p, record, sbt_record_role(schema, record, roles[i], 0));
    if (!error && (record->flags & SBT_RECORD_LATE)) /* else the record has the bytes */
        error = note_address(p, record, sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0));
    for (uint32_t i = 0; i < schema->field_count && !error; i++)
        error = note_thing(p, record, tsm_held_memory_field(&p->held, record, schema, i));
    return error ? error : note_arguments(p, record, schema);
}

/* Memory that a function of the program wrote, in its stream's order. */
static int note_written(struct pass *p, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_HOST_WRITE);
    const uint64_t of = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    int error;

    if (of >= SBT_STREAM_NONE)
        return 0;
    p->stream = (uint32_t)of;
    error = grow(p->facts, p->stream);
    return error ? error
                 : note_address(p, record, sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0));
}

/* ---- threads ------------------------------------------------------------------------------ */

static int note_thread(struct tsm_stream_facts *f, const struct sbt_record *record)
{
    bool added;
    uint64_t *first = tsm_map_insert(&f->thread_first, record->thread, &added);

    if (!first)
        return tsm_fail(TSM_E_MEMORY, "no memory for threads");
    if (added)
        *first = record->seq + 1;
    return 0;
}

uint64_t tsm_stream_facts_thread_first(const struct tsm_stream_facts *facts, uint32_t thread)
{
    const uint64_t *first = tsm_map_find(&facts->thread_first, thread);

    return first ? *first - 1 : UINT64_MAX;
}

/* ---- the pass ----------------------------------------------------------------------------- */

static int look_at(struct pass *p, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(p->reader, record->type);
    int error = note_thread(p->facts, record);

    p->stream = record->stream;
    if (!error && record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE))
        return note_written(p, record);
    if (!error && record->stream != SBT_STREAM_NONE)
        error = grow(p->facts, record->stream);
    if (!error && schema)
        error = note_made(p, record, schema);
    if (!error && schema)
        error = tsm_held_memory_note(&p->held, record, schema);
    if (!error && schema && record->stream != SBT_STREAM_NONE)
        error = note_memory(p, record, schema);
    return error;
}

int tsm_stream_facts_collect(struct tsm_stream_facts *out, struct sbt_reader *reader)
{
    struct pass p = {.facts = out, .reader = reader};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = tsm_extents_collect(&p.extents, reader);

    memset(out, 0, sizeof(*out));
    if (!error)
        error = sbt_cursor_create(&cursor, reader, NULL, 1);
    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = look_at(&p, record);
    /* A launch does not say which references it reads through: all streams share what is bound. */
    for (uint32_t i = 0; p.held.has_references && i < out->count; i++)
        out->streams[i].sharing = 0;
    for (uint32_t i = 0; i < out->count; i++) /* a stream shares with lower ones */
        out->streams[i].sharing = out->streams[out->streams[i].sharing].sharing;
    sbt_cursor_destroy(cursor);
    tsm_extents_finish(&p.extents);
    tsm_held_memory_finish(&p.held);
    tsm_map_finish(&p.users);
    tsm_map_finish(&p.apart);
    return error;
}

void tsm_stream_facts_finish(struct tsm_stream_facts *facts)
{
    free(facts->streams);
    tsm_map_finish(&facts->thread_first);
    memset(facts, 0, sizeof(*facts));
}
