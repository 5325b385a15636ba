/* SPDX-License-Identifier: Apache-2.0 */
#include "format/write/state.h"

#include "base/hash.h"
#include "format/limits.h"
#include "format/values/names.h"

#include <string.h>

static int text_check(const struct sbt_writer *w, const char *what, const char *text, size_t limit)
{
    size_t size = text ? strnlen(text, limit + 1) : 0;

    if (!text)
        return tsm_fail(TSM_E_ARGUMENT, "%s: a %s is missing", w->queue.path, what);
    if (size > limit)
        return tsm_fail(TSM_E_LIMIT, "%s: a %s is longer than %zu bytes", w->queue.path, what,
                        limit);
    return 0;
}

static int table_after_add(struct sbt_writer *w, enum sbt_writer_table which)
{
    if (w->tables[which].payload.size < w->chunk_size)
        return 0;
    return sbt_writer_stick(w, sbt_writer_table_flush(w, which));
}

int sbt_writer_metadata(struct sbt_writer *w, const char *name, const char *value)
{
    int error = sbt_writer_check(w);

    if (!error)
        error = text_check(w, "metadata name", name, SBT_NAME_MAX);
    if (!error)
        error = text_check(w, "metadata value", value, SBT_TEXT_MAX);
    if (error)
        return error;
    sbt_table_metadata(&w->tables[SBT_TABLE_METADATA], name, value);
    w->has_metadata = true;
    return table_after_add(w, SBT_TABLE_METADATA);
}

/* A role names one field. */
static int roles_check(const struct sbt_writer *w, const struct sbt_schema *s)
{
    uint64_t roles = 0;

    for (uint32_t i = 0; i < s->field_count; i++) {
        uint32_t role = (uint32_t)s->fields[i].role;
        if (role > 0 && role < 64 && (roles >> role & 1))
            return tsm_fail(TSM_E_ARGUMENT, "%s: schema %s has two fields of role %u",
                            w->queue.path, s->name, role);
        if (role < 64)
            roles |= 1ull << role;
    }
    return 0;
}

static int schema_check(struct sbt_writer *w, const struct sbt_schema *s)
{
    int error = text_check(w, "schema name", s->name, SBT_NAME_MAX);

    if (!error && s->result_enum)
        error = text_check(w, "result table name", s->result_enum, SBT_NAME_MAX);
    if (!error && s->field_count > SBT_FIELD_COUNT_MAX)
        error = tsm_fail(TSM_E_LIMIT, "%s: schema %s has over %d fields", w->queue.path, s->name,
                         SBT_FIELD_COUNT_MAX);
    for (uint32_t i = 0; !error && i < s->field_count; i++) {
        error = text_check(w, "field name", s->fields[i].name, SBT_NAME_MAX);
        if (!error && s->fields[i].detail)
            error = text_check(w, "field detail", s->fields[i].detail, SBT_NAME_MAX);
    }
    return error ? error : roles_check(w, s);
}

static struct sbt_writer_schema schema_note(const struct sbt_schema *s, uint64_t hash)
{
    struct sbt_writer_schema note = {
        .type = s->type,
        .flags = s->flags,
        .field_count = s->field_count,
        .hash = hash,
    };

    for (uint32_t i = 0; i < s->field_count; i++) {
        note.blobs |= (uint64_t)(s->fields[i].type == SBT_FIELD_BLOB) << i;
        note.structs |= (uint64_t)(s->fields[i].type == SBT_FIELD_STRUCT) << i;
        note.variable |= (uint64_t)(s->fields[i].type == SBT_FIELD_BYTES) << i;
    }
    note.variable |= note.blobs | note.structs;
    return note;
}

static uint64_t schema_hash(const struct sbt_schema *s)
{
    struct sbt_table alone = {0};
    uint64_t hash;

    sbt_table_schema(&alone, s);
    hash = tsm_hash64(alone.payload.data, alone.payload.size);
    sbt_table_finish(&alone);
    return hash;
}

int sbt_writer_schema_note(struct sbt_writer *w, const struct sbt_schema *s, bool *known)
{
    struct sbt_writer_schema note = schema_note(s, schema_hash(s));
    const struct sbt_writer_schema *before;
    bool added;
    uint64_t *place = tsm_map_insert(&w->types, s->type, &added);

    if (!place)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for schemas", w->queue.path);
    *known = !added;
    if (added) {
        *place = w->schemas.size / sizeof(note);
        tsm_buffer_add(&w->schemas, &note, sizeof(note));
        if (w->schemas.failed)
            return tsm_fail(TSM_E_MEMORY, "out of memory for schemas");
        return w->contents ? sbt_contents_schema(w->contents, s) : 0;
    }
    before = (const struct sbt_writer_schema *)(const void *)w->schemas.data + *place;
    if (before->hash != note.hash)
        return tsm_fail(TSM_E_ARGUMENT, "%s: type %#x already has another schema than this %s",
                        w->queue.path, s->type, s->name);
    return 0;
}

int sbt_writer_schema(struct sbt_writer *w, const struct sbt_schema *schema)
{
    int error = sbt_writer_check_begun(w);
    bool known = false;

    if (!error)
        error = schema_check(w, schema);
    if (!error)
        error = sbt_writer_schema_note(w, schema, &known);
    if (error || known)
        return error;
    sbt_table_schema(&w->tables[SBT_TABLE_SCHEMA], schema);
    return table_after_add(w, SBT_TABLE_SCHEMA);
}

/* Whether `key` is new; a repetition must have the same content. */
int sbt_writer_note(struct sbt_writer *w, struct tsm_map *map, const char *what, uint64_t key,
                    uint64_t content, bool *added)
{
    uint64_t *place = tsm_map_insert(map, key, added);

    if (!place)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a %s", w->queue.path, what);
    if (*added)
        *place = content;
    else if (*place != content)
        return tsm_fail(TSM_E_ARGUMENT, "%s: %s is already used for another content", w->queue.path,
                        what);
    return 0;
}

uint64_t sbt_writer_enum_hash(const struct sbt_enum *e)
{
    struct sbt_table alone = {0};
    uint64_t hash;

    sbt_table_enum(&alone, e);
    hash = tsm_hash64(alone.payload.data, alone.payload.size);
    sbt_table_finish(&alone);
    return hash;
}

int sbt_writer_enum(struct sbt_writer *w, const struct sbt_enum *table)
{
    int error = sbt_writer_check_begun(w);
    bool added = false;

    if (!error)
        error = text_check(w, "value table name", table->name, SBT_NAME_MAX);
    if (!error && table->value_count > SBT_ENUM_VALUES_MAX)
        error = tsm_fail(TSM_E_LIMIT, "%s: value table %s is too long", w->queue.path, table->name);
    for (uint32_t i = 0; !error && i < table->value_count; i++)
        error = text_check(w, "value name", table->values[i].name, SBT_NAME_MAX);
    if (!error)
        error = sbt_writer_note(w, &w->enums, "value table name", sbt_name_hash(table->name),
                                sbt_writer_enum_hash(table), &added);
    if (error || !added)
        return error;
    sbt_table_enum(&w->tables[SBT_TABLE_ENUMS], table);
    return table_after_add(w, SBT_TABLE_ENUMS);
}

static int member_check(const struct sbt_writer *w, const struct sbt_struct *s,
                        const struct sbt_member *m)
{
    bool is_list = m->form == SBT_FORM_ONE || m->form == SBT_FORM_LIST;
    int error = text_check(w, "member name", m->name, SBT_NAME_MAX);

    if (!error && m->detail)
        error = text_check(w, "member detail", m->detail, SBT_NAME_MAX);
    if (!error && (m->type < SBT_FIELD_UINT || m->type > SBT_FIELD_STRUCT ||
                   m->type == SBT_FIELD_BLOB || (!is_list && m->form != SBT_FORM_CHAIN) ||
                   (!is_list && (m->type != SBT_FIELD_STRUCT || (m->detail && m->detail[0])))))
        error = tsm_fail(TSM_E_ARGUMENT, "%s: member %s of struct %s has type %d, form %d",
                         w->queue.path, m->name, s->name, (int)m->type, (int)m->form);
    return error;
}

static int struct_check(const struct sbt_writer *w, const struct sbt_struct *s)
{
    int error = text_check(w, "struct name", s->name, SBT_NAME_MAX);

    if (!error && SBT_TYPE_CALL(s->id) == 0)
        error = tsm_fail(TSM_E_ARGUMENT, "%s: struct %s has id %#x", w->queue.path, s->name, s->id);
    if (!error && (s->flags & ~SBT_STRUCT_UNION))
        error =
            tsm_fail(TSM_E_ARGUMENT, "%s: struct %s has flags %#x, of which this version knows %#x",
                     w->queue.path, s->name, s->flags, SBT_STRUCT_UNION);
    if (!error && s->member_count > SBT_STRUCT_MEMBERS_MAX)
        error = tsm_fail(TSM_E_LIMIT, "%s: struct %s has over %u members", w->queue.path, s->name,
                         SBT_STRUCT_MEMBERS_MAX);
    for (uint32_t i = 0; !error && i < s->member_count; i++)
        error = member_check(w, s, &s->members[i]);
    return error;
}

int sbt_writer_struct_note(struct sbt_writer *w, const struct sbt_struct *s, bool *added)
{
    uint64_t name = sbt_name_hash(s->name), hash;
    const uint64_t *before = tsm_map_find(&w->structs, name);
    struct sbt_table alone = {0};
    bool id_added;
    int error;

    sbt_table_struct(&alone, s);
    hash = tsm_hash64(alone.payload.data, alone.payload.size);
    sbt_table_finish(&alone);
    if (before && *before != hash)
        return tsm_fail(TSM_E_ARGUMENT, "%s: there is another struct %s already", w->queue.path,
                        s->name);
    error = sbt_writer_note(w, &w->struct_ids, "struct id", s->id, hash, &id_added);
    if (!error)
        error = sbt_writer_note(w, &w->structs, "struct name", name, hash, added);
    return !error && *added && w->contents ? sbt_contents_struct(w->contents, s) : error;
}

int sbt_writer_struct(struct sbt_writer *w, const struct sbt_struct *structure)
{
    int error = sbt_writer_check_begun(w);
    bool added = false;

    if (!error)
        error = struct_check(w, structure);
    if (!error)
        error = sbt_writer_struct_note(w, structure, &added);
    if (error || !added)
        return error;
    sbt_table_struct(&w->tables[SBT_TABLE_STRUCTS], structure);
    return table_after_add(w, SBT_TABLE_STRUCTS);
}

int sbt_writer_string(struct sbt_writer *w, uint32_t id, const char *text, size_t size)
{
    int error = sbt_writer_check_begun(w);
    bool added = false;

    if (error)
        return error;
    if (id == 0 || size > SBT_TEXT_MAX || memchr(text, 0, size))
        return tsm_fail(TSM_E_ARGUMENT, "%s: string %u has no id, is over 1 MiB or has a zero byte",
                        w->queue.path, id);
    error = sbt_writer_note(w, &w->strings, "string id", id, tsm_hash64(text, size), &added);
    if (error || !added)
        return error;
    sbt_table_string(&w->tables[SBT_TABLE_STRINGS], id, text, size);
    return table_after_add(w, SBT_TABLE_STRINGS);
}

int sbt_writer_stack(struct sbt_writer *w, uint32_t id, const uint64_t *frames, uint32_t count)
{
    int error = sbt_writer_check_begun(w);
    bool added = false;

    if (error)
        return error;
    if (id == 0 || count == 0 || count > SBT_STACK_DEPTH_MAX)
        return tsm_fail(TSM_E_ARGUMENT, "%s: stack %u has no id or not 1 to %d frames",
                        w->queue.path, id, SBT_STACK_DEPTH_MAX);
    error = sbt_writer_note(w, &w->stacks, "stack id", id,
                            tsm_hash64(frames, count * sizeof(*frames)), &added);
    if (error || !added)
        return error;
    sbt_table_stack(&w->tables[SBT_TABLE_STACKS], id, frames, count);
    return table_after_add(w, SBT_TABLE_STACKS);
}

int sbt_writer_mapping(struct sbt_writer *w, const struct sbt_mapping *mapping)
{
    int error = sbt_writer_check_begun(w);

    if (!error)
        error = text_check(w, "path of a mapping", mapping->path, SBT_TEXT_MAX);
    if (!error && (mapping->build_id_size > SBT_BUILD_ID_MAX || mapping->end < mapping->start))
        error = tsm_fail(TSM_E_ARGUMENT, "%s: a mapping is malformed", w->queue.path);
    if (error)
        return error;
    sbt_table_mapping(&w->tables[SBT_TABLE_MAPPINGS], mapping);
    return table_after_add(w, SBT_TABLE_MAPPINGS);
}
