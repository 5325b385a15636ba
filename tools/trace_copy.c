/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/trace_copy.h"

#include "tools/redact.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

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
    if (copy->name_count == copy->name_capacity) {
        size_t more = copy->name_capacity ? copy->name_capacity * 2 : 64;
        const char **grown = realloc(copy->names, more * sizeof(*grown));
        if (!grown)
            return no_memory();
        copy->names = grown;
        copy->name_capacity = more;
    }
    copy->names[copy->name_count++] = name;
    return 1;
}

static int note_type(struct tsm_trace_copy *copy, uint32_t type)
{
    for (size_t i = 0; i < copy->type_count; i++)
        if (copy->types[i] == type)
            return 0;
    if (copy->type_count == copy->type_capacity) {
        size_t more = copy->type_capacity ? copy->type_capacity * 2 : 64;
        uint32_t *grown = realloc(copy->types, more * sizeof(*grown));
        if (!grown)
            return no_memory();
        copy->types = grown;
        copy->type_capacity = more;
    }
    copy->types[copy->type_count++] = type;
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

/* With those that its members name. */
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

static int copy_pieces(struct tsm_trace_copy *copy, const struct sbt_blob *blob)
{
    static const struct sbt_key zero;
    uint8_t piece[SBT_PIECE_SIZE];
    struct sbt_key key;
    int error = 0;

    for (uint64_t i = 0; i < blob->piece_count && !error; i++) {
        memcpy(key.bytes, blob->keys + 16 * i, sizeof(key.bytes));
        if (memcmp(&key, &zero, sizeof(key)) == 0)
            continue;
        int size = sbt_reader_piece(copy->reader, &key, piece);
        error = size < 0 ? size : sbt_writer_piece(copy->writer, &key, piece, (size_t)size);
    }
    return error;
}

/* What a chain holds, no schema says. */
static int copy_chains(struct tsm_trace_copy *copy, const struct sbt_record *record, uint32_t index,
                       const char *detail)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    int error = 0;

    if (sbt_reader_value(copy->reader, record, index, &value) == 1 &&
        sbt_walk_begin(&walk, copy->reader, detail, value.data, value.size) == 0)
        while (!error && sbt_walk_next(&walk, &step) == 1)
            if (step.kind == SBT_STEP_OPEN && step.structure)
                error = copy_struct(copy, step.structure->name);
    sbt_value_finish(&value);
    return error;
}

static int copy_string(struct tsm_trace_copy *copy, uint64_t id)
{
    const char *text = id ? sbt_reader_string(copy->reader, (uint32_t)id) : NULL;

    copy->skipped_count += id && !text;
    return text ? sbt_writer_string(copy->writer, (uint32_t)id, text, strlen(text)) : 0;
}

static int copy_field(struct tsm_trace_copy *copy, const struct sbt_record *record, uint32_t index,
                      const struct sbt_field *field)
{
    const uint8_t *data;
    struct sbt_blob blob;
    size_t size;
    int error;

    switch (field->type) {
    case SBT_FIELD_STRING:
        return copy->redact ? 0 : copy_string(copy, record->slots[index]);
    case SBT_FIELD_BLOB:
        if (copy->redact && copy->redact->what & TSM_REDACT_CONTENTS)
            return 0;
        return sbt_record_blob(record, index, &blob) ? copy_pieces(copy, &blob) : 0;
    case SBT_FIELD_STRUCT:
        error = copy_chains(copy, record, index, field->detail);
        if (!error && !copy->redact && sbt_record_struct(record, index, &data, &size, &blob) == 2)
            error = copy_pieces(copy, &blob);
        return error;
    default:
        return 0;
    }
}

static int copy_stack(struct tsm_trace_copy *copy, uint32_t id)
{
    const uint64_t *frames;
    int count = id ? sbt_reader_stack(copy->reader, id, &frames) : 0;

    copy->skipped_count += count < 0;
    return count > 0 ? sbt_writer_stack(copy->writer, id, frames, (uint32_t)count) : 0;
}

int tsm_trace_copy_record(struct tsm_trace_copy *copy, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(copy->reader, record->type);
    struct sbt_record own = *record;
    int error;

    if (!schema)
        return tsm_fail(TSM_E_FORMAT, "record %llu is of a type that the trace does not describe",
                        (unsigned long long)record->seq);
    error = copy_schema(copy, schema);
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count && !error; i++)
        error = copy_field(copy, record, i, &schema->fields[i]);
    if (!error)
        error = copy_stack(copy, record->stack);
    if (!error && copy->redact)
        error = tsm_redact_record(copy->redact, copy->writer, record, &own);
    own.seq = copy->count;
    if (!error)
        error = sbt_writer_record(copy->writer, &own);
    copy->count += !error;
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
    for (size_t i = 0; i < sbt_reader_mapping_count(copy->reader) && !error; i++)
        error = copy_mapping(copy, sbt_reader_mapping(copy->reader, i));
    return error;
}

int tsm_trace_copy_begin(struct tsm_trace_copy *copy, struct sbt_reader *reader, const char *path,
                         struct tsm_redact *redact)
{
    const struct sbt_writer_options options = {.threads = 1, .level = 12}; /* nobody waits for it */
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
