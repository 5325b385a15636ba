/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/edit/trace_copy.h"

#include "base/array.h"
#include "base/hash.h"
#include "tools/edit/redact.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ALONE_RECORDS 1000u /* take less time than to start a thread */

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory to copy a trace");
}

/* ---- what records are described by ---------------------------------------------------------- */

/* 1: it is new. */
static int note_name(struct tsm_trace_copy *copy, const char *name)
{
    for (size_t i = 0; i < copy->name_count; i++)
        if (copy->names[i] == name || strcmp(copy->names[i], name) == 0)
            return 0;
    if (!TSM_ARRAY_PUSH(copy->names, copy->name_count, copy->name_capacity, name))
        return no_memory();
    return 1;
}

static int note_type(struct tsm_trace_copy *copy, uint32_t type)
{
    for (size_t i = 0; i < copy->type_count; i++)
        if (copy->types[i] == type)
            return 0;
    if (!TSM_ARRAY_PUSH(copy->types, copy->type_count, copy->type_capacity, type))
        return no_memory();
    return 1;
}

static int copy_enum(struct tsm_trace_copy *copy, const char *name)
{
    const struct sbt_enum *table = *name ? sbt_reader_enum(copy->reader, name) : NULL;
    int is_new;

    for (uint32_t i = 0; *name && !table && sbt_core_enum(i); i++)
        if (strcmp(sbt_core_enum(i)->name, name) == 0)
            table = sbt_core_enum(i);
    is_new = table ? note_name(copy, table->name) : 0;
    return is_new > 0 ? sbt_writer_enum(copy->writer, table) : is_new;
}

static int copy_struct(struct tsm_trace_copy *copy, const char *name);

static int copy_detail(struct tsm_trace_copy *copy, enum sbt_field_type type, const char *detail)
{
    if (type == SBT_FIELD_ENUM || type == SBT_FIELD_FLAGS)
        return copy_enum(copy, detail);
    return type == SBT_FIELD_STRUCT && *detail ? copy_struct(copy, detail) : 0;
}

/* Copies the description of a struct, and of those that its members name. */
static int copy_struct(struct tsm_trace_copy *copy, const char *name)
{
    const struct sbt_struct *s = sbt_reader_struct(copy->reader, name);
    int error = s ? note_name(copy, s->name) : 0;

    if (error <= 0)
        return error;
    error = sbt_writer_struct(copy->writer, s);
    for (uint32_t i = 0; i < s->member_count && !error; i++)
        error = copy_detail(copy, s->members[i].type, s->members[i].detail);
    return error;
}

static int copy_schema(struct tsm_trace_copy *copy, const struct sbt_schema *schema)
{
    int error = note_type(copy, schema->type);

    if (error <= 0)
        return error;
    error = copy_enum(copy, schema->result_enum);
    for (uint32_t i = 0; i < schema->field_count && !error; i++)
        error = copy_detail(copy, schema->fields[i].type, schema->fields[i].detail);
    return error ? error : sbt_writer_schema(copy->writer, schema);
}

/* ---- what records name ---------------------------------------------------------------------- */

/* A record on its way. What it names and is not there is not named by the copy: a number that names
 * nothing may come to name something else. */
struct passage {
    struct tsm_trace_copy *copy;
    struct sbt_record record;
    uint64_t slots[SBT_FIELD_COUNT_MAX];
    uint8_t *data;   /* NULL: that of the other trace's record */
    bool lacks_part; /* the record says so: it is truncated */
};

/* Tells whether an error is of this machine, and not of what the trace holds. */
static bool is_ours(int error)
{
    return error == TSM_E_IO || error == TSM_E_MEMORY;
}

static void drop(struct passage *p, uint32_t index)
{
    p->slots[index] = 0;
    p->lacks_part = true;
    p->copy->skipped_count++;
}

/* Piece `i` of a blob becomes one of zeros. */
static int drop_piece(struct passage *p, const struct sbt_blob *blob, uint64_t i)
{
    const struct sbt_record *from = &p->record;
    size_t at = (size_t)(blob->keys - from->data) + 16 * (size_t)i;

    if (!p->data) {
        p->data = malloc(from->data_size);
        if (!p->data)
            return no_memory();
        memcpy(p->data, from->data, from->data_size);
    }
    memset(p->data + at, 0, 16);
    p->lacks_part = true;
    p->copy->skipped_count++;
    return 0;
}

static bool may_lack_pieces(const struct passage *p)
{
    const uint64_t features = sbt_reader_session(p->copy->reader)->optional_features;

    return features & SBT_OPTIONAL_NO_CONTENTS ||
           (features & SBT_OPTIONAL_NO_READBACKS &&
            p->record.type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK));
}

static int copy_pieces(struct passage *p, const struct sbt_blob *blob)
{
    const bool may_lack = may_lack_pieces(p);
    uint8_t piece[SBT_PIECE_SIZE];
    struct sbt_key key;
    int error = 0;

    for (uint64_t i = 0; i < blob->piece_count && !error; i++) {
        uint64_t left = blob->size - i * SBT_PIECE_SIZE;
        memcpy(key.bytes, blob->keys + 16 * i, sizeof(key.bytes));
        if (tsm_key_is_zero(&key))
            continue;
        int size = sbt_reader_piece(p->copy->reader, &key, piece);
        if (is_ours(size))
            error = size;
        else if (size == TSM_E_NOT_FOUND && may_lack)
            continue; /* the copy has none, either */
        else if (size < 0 || (uint64_t)size < (left < SBT_PIECE_SIZE ? left : SBT_PIECE_SIZE))
            error = drop_piece(p, blob, i);
        else
            error = sbt_writer_piece(p->copy->writer, &key, piece, (size_t)size);
    }
    return error;
}

/* The structs that a value is made of: what a chain holds, no schema says. 1: the value is whole.
 */
static int copy_value(struct tsm_trace_copy *copy, const struct sbt_value *value,
                      const char *detail)
{
    struct sbt_walk walk;
    struct sbt_step step;
    int error = 0, more = sbt_walk_begin(&walk, copy->reader, detail, value->data, value->size);

    while (!error && more >= 0 && (more = sbt_walk_next(&walk, &step)) == 1)
        if (step.kind == SBT_STEP_OPEN && step.structure)
            error = copy_struct(copy, step.structure->name);
    return error ? error : more == 0;
}

static int copy_structured(struct passage *p, uint32_t index, const char *detail)
{
    struct sbt_value value;
    const uint8_t *data;
    struct sbt_blob blob;
    size_t size;
    int got = sbt_reader_value(p->copy->reader, &p->record, index, &value);

    if (got == 1)
        got = copy_value(p->copy, &value, detail);
    else if (got == 0)
        got = 1; /* there is none */
    sbt_value_finish(&value);
    if (is_ours(got))
        return got;
    if (got == 1 && !p->copy->redact &&
        sbt_record_struct(&p->record, index, &data, &size, &blob) == 2)
        return copy_pieces(p, &blob);
    if (got != 1)
        drop(p, index);
    return 0;
}

static int copy_string(struct passage *p, uint32_t index)
{
    struct tsm_trace_copy *copy = p->copy;
    uint64_t id = p->record.slots[index];
    const char *text =
        id && id <= UINT32_MAX ? sbt_reader_string(copy->reader, (uint32_t)id) : NULL;

    if (id && !text)
        drop(p, index);
    return text ? sbt_writer_string(copy->writer, (uint32_t)id, text, strlen(text)) : 0;
}

static int copy_field(struct passage *p, uint32_t index, const struct sbt_field *field)
{
    const struct tsm_trace_copy *copy = p->copy;
    const uint8_t *data;
    struct sbt_blob blob;
    size_t size;

    switch (field->type) {
    case SBT_FIELD_STRING:
        return copy->redact ? 0 : copy_string(p, index);
    case SBT_FIELD_BLOB:
        if (!sbt_record_blob(&p->record, index, &blob))
            drop(p, index);
        else if (!copy->redact || !(copy->redact->what & TSM_REDACT_CONTENTS))
            return copy_pieces(p, &blob);
        return 0;
    case SBT_FIELD_STRUCT:
        return copy_structured(p, index, field->detail);
    case SBT_FIELD_BYTES:
        if (!sbt_record_bytes(&p->record, index, &data, &size))
            drop(p, index);
        return 0;
    default:
        return 0;
    }
}

static int copy_stack(struct passage *p)
{
    struct tsm_trace_copy *copy = p->copy;
    uint32_t id = p->record.stack;
    const uint64_t *frames;
    int count = id ? sbt_reader_stack(copy->reader, id, &frames) : 0;

    if (is_ours(count))
        return count;
    if (count < 0) {
        p->record.stack = 0;
        copy->skipped_count++;
    }
    return count > 0 ? sbt_writer_stack(copy->writer, id, frames, (uint32_t)count) : 0;
}

/* Objects that a field of a later version's type names would not be copied. */
static bool is_known(const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type < SBT_FIELD_UINT || schema->fields[i].type > SBT_FIELD_STRUCT)
            return false;
    return true;
}

/* NULL: nothing says what the record's slots are. */
static const struct sbt_schema *schema_of(const struct tsm_trace_copy *copy,
                                          const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(copy->reader, record->type);

    if (!schema && SBT_TYPE_API(record->type) == SBT_API_CORE)
        schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    return schema && schema->field_count == record->slot_count && is_known(schema) ? schema : NULL;
}

static int copy_parts(struct passage *p, const struct sbt_schema *schema)
{
    int error = copy_schema(p->copy, schema);

    for (uint32_t i = 0; i < schema->field_count && !error; i++)
        error = copy_field(p, i, &schema->fields[i]);
    return error ? error : copy_stack(p);
}

int tsm_trace_copy_record(struct tsm_trace_copy *copy, const struct sbt_record *record)
{
    const struct sbt_schema *schema = schema_of(copy, record);
    struct passage p = {.copy = copy, .record = *record};
    struct sbt_record own;
    int error;

    if (!schema) {
        copy->skipped_count++;
        return 0;
    }
    memcpy(p.slots, record->slots, record->slot_count * sizeof(*p.slots));
    error = copy_parts(&p, schema);
    p.record.seq = copy->count;
    p.record.slots = p.slots;
    if (p.data)
        p.record.data = p.data;
    if (p.lacks_part)
        p.record.flags |= SBT_RECORD_TRUNCATED;
    if (!error)
        error = copy->redact
                    ? tsm_redact_record(copy->redact, copy->writer, schema, &p.record, &own)
                    : 0;
    if (!error)
        error = sbt_writer_record(copy->writer, copy->redact ? &own : &p.record);
    copy->count += !error;
    free(p.data);
    return error;
}

int tsm_trace_copy_own(struct tsm_trace_copy *copy, struct sbt_record *record)
{
    int error = copy_schema(copy, sbt_core_schema(SBT_TYPE_CALL(record->type)));

    record->seq = copy->count;
    if (!error)
        error = sbt_writer_record(copy->writer, record);
    copy->count += !error;
    return error;
}

/* ---- begin and end -------------------------------------------------------------------------- */

static int copy_fact(struct tsm_trace_copy *copy, const char *name, const char *value)
{
    if (!*name) { /* against the rules */
        copy->skipped_count++;
        return 0;
    }
    if (copy->redact)
        value = tsm_redact_metadata(copy->redact, name, value);
    return value ? sbt_writer_metadata(copy->writer, name, value) : no_memory();
}

static int copy_mapping(struct tsm_trace_copy *copy, const struct sbt_mapping *mapping)
{
    struct sbt_mapping own = *mapping;

    if (copy->redact)
        own.path = tsm_redact_path(copy->redact, own.path);
    return own.path ? sbt_writer_mapping(copy->writer, &own) : no_memory();
}

static int copy_facts(struct tsm_trace_copy *copy)
{
    const char *name, *value;
    int error = 0;

    for (size_t i = 0; i < sbt_reader_metadata_count(copy->reader) && !error; i++) {
        sbt_reader_metadata(copy->reader, i, &name, &value);
        error = copy_fact(copy, name, value);
    }
    if (!error && !sbt_reader_metadata_count(copy->reader)) /* it is lost, and must come first */
        error = sbt_writer_metadata(copy->writer, "trace.recovered", "true");
    for (size_t i = 0; i < sbt_reader_mapping_count(copy->reader) && !error; i++)
        error = copy_mapping(copy, sbt_reader_mapping(copy->reader, i));
    return error;
}

int tsm_trace_copy_begin(struct tsm_trace_copy *copy, struct sbt_reader *reader, const char *path,
                         struct tsm_redact *redact)
{
    const struct sbt_writer_options options = {.threads = sbt_reader_totals(reader)->record_count >
                                                          ALONE_RECORDS,
                                               .level = 12}; /* nobody waits for it */
    struct sbt_session session = *sbt_reader_session(reader);
    int error;

    *copy = (struct tsm_trace_copy){.reader = reader, .redact = redact};
    if (getrandom(session.id, sizeof(session.id), 0) != (ssize_t)sizeof(session.id))
        return tsm_fail(TSM_E_IO, "no random number for a session");
    session.id[6] = (uint8_t)((session.id[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
    session.id[8] = (uint8_t)((session.id[8] & 0x3f) | 0x80);
    if (redact && redact->what & TSM_REDACT_CONTENTS)
        session.optional_features |= SBT_OPTIONAL_NO_CONTENTS;
    error = sbt_writer_create(&copy->writer, path, &session, &options);
    return error ? error : copy_facts(copy);
}

uint64_t tsm_trace_copy_missing(const struct tsm_trace_copy *copy, uint64_t seq_end, bool *end)
{
    struct sbt_missing missing;

    sbt_reader_missing(copy->reader, seq_end, &missing);
    *end = missing.end;
    return missing.record_count + missing.chunk_count + copy->skipped_count +
           (copy->redact ? copy->redact->missing_count : 0);
}

int tsm_trace_copy_end(struct tsm_trace_copy *copy, uint64_t seq_end, int error)
{
    struct sbt_totals totals = *sbt_reader_totals(copy->reader);
    enum sbt_end end = sbt_reader_end(copy->reader);
    bool lacks_end;

    sbt_writer_lost(copy->writer, tsm_trace_copy_missing(copy, seq_end, &lacks_end));
    if (lacks_end)
        end = SBT_END_CUT;
    else if (end != SBT_END_RECOVERED)
        end = SBT_END_FINISHED; /* the part's own end is there */
    if (!error)
        error = sbt_writer_finish(copy->writer, &totals, end);
    sbt_writer_destroy(copy->writer);
    free(copy->names);
    free(copy->types);
    return error;
}
