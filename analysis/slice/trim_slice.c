/* SPDX-License-Identifier: Apache-2.0
 *
 * Three passes: over the part, for what it names; over what comes before, for what has died by
 * then; backwards over that, where a record that is kept makes needed all that it names. What ends
 * objects is decided last: an object may turn out to be needed only by what came before its end.
 */
#include "analysis/slice/trim_slice.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/diff/pairing.h"
#include "analysis/handles.h"
#include "analysis/slice/trim_rules.h"
#include "api/traits.h"
#include "format/memory_key.h"

enum object_flag {
    NEEDED = 1,
    CONTENT = 2, /* and what was recorded into it, if it is a command buffer */
    DEAD = 4,    /* ended before the part */
    CLOSED = 8,  /* going backwards: what comes before does not matter any more */
};

struct pass {
    struct tsm_trim_slice *keep;
    struct sbt_reader *reader;
    const struct sbt_schema *schema;
    const struct sbt_record *record;
    struct tsm_trim_rule rule;
    struct tsm_extents extents; /* memory of all of the trace */
    /* Result of going through a record's objects. */
    uint32_t object_field; /* whose objects it makes or ends */
    uint32_t named_count, dead_count, needed_count, target_count;
    uint64_t target, target_key; /* the last one's flags, and its place in `objects` */
    bool has_target;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory to find what a part of the trace needs");
}

/* ---- objects ------------------------------------------------------------------------------ */

static uint32_t type_number(struct tsm_trim_slice *keep, const char *type)
{
    for (uint32_t i = 0; i < keep->type_count; i++)
        if (keep->types[i] == type || strcmp(keep->types[i], type) == 0)
            return i + 1;
    if (keep->type_count == TSM_TRIM_SLICE_TYPE_MAX)
        return 0;
    keep->types[keep->type_count] = type;
    return ++keep->type_count;
}

/* NULL: out of memory. */
static uint64_t *flags_of(struct tsm_trim_slice *keep, const char *type, uint64_t id)
{
    bool added;

    return tsm_map_insert(&keep->objects, (uint64_t)type_number(keep, type) << 48 | id, &added);
}

static int need(struct pass *p, const struct tsm_handle_name *name, uint64_t flags)
{
    uint64_t *known = flags_of(p->keep, name->type, name->id);

    if (!known)
        return no_memory();
    *known |= flags;
    return 0;
}

static int need_named(void *user, const struct tsm_handle_name *name)
{
    return need(user, name, NEEDED | CONTENT);
}

/* ---- the part itself ---------------------------------------------------------------------- */

/* A command buffer that the part begins again is not needed with what was in it. */
static int need_in_part(void *user, const struct tsm_handle_name *name)
{
    struct pass *p = user;
    bool renews = p->rule.how == TSM_TRIM_KEEP_BEGIN || p->rule.how == TSM_TRIM_KEEP_RESET;
    uint64_t *known = flags_of(p->keep, name->type, name->id);

    if (!known)
        return no_memory();
    if (renews && name->field == 0 && !(*known & NEEDED))
        *known |= CLOSED; /* whoever names it later does not mean what it was */
    *known |= NEEDED | (*known & CLOSED ? 0 : CONTENT);
    return 0;
}

static int visit_part(struct pass *p)
{
    bool added;

    if (p->record->stream != SBT_STREAM_NONE &&
        !tsm_map_insert(&p->keep->streams, p->record->stream, &added))
        return no_memory();
    return tsm_handles_each(p->reader, p->record, p->schema, need_in_part, p);
}

/* ---- what has died ------------------------------------------------------------------------ */

static int end_object(void *user, const struct tsm_handle_name *name)
{
    struct pass *p = user;

    return name->field == p->object_field ? need(p, name, DEAD) : 0;
}

static int note_made_memory(struct pass *p)
{
    bool added;
    uint64_t *made = tsm_map_insert(&p->keep->memory, tsm_memory_key(p->schema, p->record), &added);

    if (!made)
        return no_memory();
    *made = p->record->seq + 1;
    return 0;
}

static int note_ended_memory(struct pass *p)
{
    struct tsm_trim_slice *keep = p->keep;
    uint64_t *made = tsm_memory_ended(&keep->memory, p->schema, p->record);
    bool added;

    if (!made || !*made)
        return 0;
    if (!tsm_map_insert(&keep->dead, *made, &added) ||
        !tsm_map_insert(&keep->dead, p->record->seq + 1, &added))
        return no_memory();
    *made = 0;
    return 0;
}

/* Keeps the memory at an address that a kept record names, be it in the middle of an allocation. */
static void unbury_address(struct pass *p, uint64_t address)
{
    const struct tsm_extent *e = tsm_extents_find(&p->extents, address, p->record->seq);

    for (int i = 0; i < 2 && e; i++) {
        const uint64_t key = e->address | (i ? TSM_MEMORY_KEY_HOST : 0);
        uint64_t *made = tsm_map_find(&p->keep->memory, key);
        if (made && *made == e->made_seq + 1)
            *made = 0;
    }
}

/* Keeps the memory that a record names which may be kept. */
static void unbury(struct pass *p)
{
    for (uint32_t i = 0; i < p->schema->field_count && i < p->record->slot_count; i++) {
        const struct sbt_field *f = &p->schema->fields[i];
        if ((f->type == SBT_FIELD_DEVPTR || f->type == SBT_FIELD_HOSTPTR) &&
            f->role != SBT_ROLE_ADDRESS && p->record->slots[i])
            unbury_address(p, p->record->slots[i]);
    }
}

static int visit_death(struct pass *p)
{
    const bool is_memory = tsm_memory_key(p->schema, p->record) != 0;

    if (p->rule.how == TSM_TRIM_KEEP_TARGET || p->rule.how == TSM_TRIM_KEEP_ALWAYS ||
        p->rule.how == TSM_TRIM_KEEP_CREATED)
        unbury(p);
    if (is_memory && p->schema->kind == SBT_KIND_CREATE)
        return note_made_memory(p);
    if (is_memory && p->schema->kind == SBT_KIND_DESTROY)
        return note_ended_memory(p);
    return p->schema->kind == SBT_KIND_DESTROY
               ? tsm_handles_each(p->reader, p->record, p->schema, end_object, p)
               : 0;
}

/* ---- backwards ---------------------------------------------------------------------------- */

static void keep_record(struct pass *p)
{
    uint8_t *byte = &p->keep->records[p->record->seq / 8];
    uint8_t bit = (uint8_t)(1u << p->record->seq % 8);

    p->keep->kept_count += !(*byte & bit);
    *byte |= bit;
}

static int keep_with_all(struct pass *p)
{
    keep_record(p);
    return tsm_handles_each(p->reader, p->record, p->schema, need_named, p);
}

static bool is_object(const struct pass *p, const struct tsm_handle_name *name)
{
    switch (p->rule.how) {
    case TSM_TRIM_KEEP_CREATED:
    case TSM_TRIM_KEEP_DESTROYED:
        return name->field == p->object_field;
    default:
        if (tsm_trim_is_ground(name->type))
            return false;
        return p->rule.target ? name->member && strcmp(name->member, p->rule.target) == 0
                              : !p->has_target;
    }
}

static int look_at(void *user, const struct tsm_handle_name *name)
{
    struct pass *p = user;
    uint64_t *known = flags_of(p->keep, name->type, name->id);

    if (!known)
        return no_memory();
    if (!tsm_trim_may_drop(name->type) || tsm_trim_is_ground(name->type))
        *known |= *known & DEAD ? 0 : NEEDED | CONTENT;
    if (!is_object(p, name)) {
        p->named_count += !tsm_trim_is_ground(name->type);
        p->dead_count += !tsm_trim_is_ground(name->type) && (*known & DEAD);
        return 0;
    }
    p->has_target = true;
    p->target_count++;
    p->needed_count += *known & NEEDED ? 1 : 0;
    p->target = *known;
    p->target_key = (uint64_t)type_number(p->keep, name->type) << 48 | name->id;
    return 0;
}

/* A record that makes objects, makes a stream, or makes memory. */
static int visit_made(struct pass *p)
{
    uint64_t stream = sbt_record_role(p->schema, p->record, SBT_ROLE_STREAM_MADE, SBT_STREAM_NONE);
    bool wanted = p->needed_count > 0 || p->target_count == 0;

    if (sbt_record_role(p->schema, p->record, SBT_ROLE_ADDRESS, 0))
        wanted = !tsm_map_find(&p->keep->dead, p->record->seq + 1);
    if (stream != SBT_STREAM_NONE && tsm_map_find(&p->keep->streams, stream))
        wanted = true;
    return wanted ? keep_with_all(p) : 0;
}

/* Command buffers are filled from their begin on. */
static int visit_target(struct pass *p)
{
    bool closed = p->target_count == 1 && (p->target & CLOSED);
    bool empty = p->target_count == 1 && !(p->target & CONTENT);

    if (p->target_count == 0)
        return keep_with_all(p);
    if (!p->needed_count || closed || empty)
        return 0;
    if (p->rule.target && p->dead_count > 0 && p->dead_count == p->named_count)
        return 0; /* speaks of nothing that is still there */
    if (p->rule.how != TSM_TRIM_KEEP_TARGET)
        *tsm_map_find(&p->keep->objects, p->target_key) |= CLOSED;
    return p->rule.how == TSM_TRIM_KEEP_RESET ? 0 : keep_with_all(p);
}

/* Keeps a record of a root with all that it names, unless the root was destroyed and is not needed:
 * its address may still be in memory, but leads nowhere. */
static int visit_root(struct pass *p)
{
    return p->target_count > 0 && (p->target & DEAD) && !(p->target & NEEDED) ? 0
                                                                              : keep_with_all(p);
}

static int visit_before(struct pass *p)
{
    int error;

    p->named_count = p->dead_count = p->needed_count = p->target_count = 0;
    p->has_target = false;
    if (p->rule.how == TSM_TRIM_KEEP_NEVER || p->rule.how == TSM_TRIM_KEEP_DESTROYED)
        return 0;
    if (p->rule.how == TSM_TRIM_KEEP_ALWAYS)
        return keep_with_all(p);
    error = tsm_handles_each(p->reader, p->record, p->schema, look_at, p);
    if (error)
        return error;
    switch (p->rule.how) {
    case TSM_TRIM_KEEP_CREATED:
        return visit_made(p);
    case TSM_TRIM_KEEP_ROOT:
        return visit_root(p);
    default:
        return visit_target(p);
    }
}

/* ---- ends, once all is known -------------------------------------------------------------- */

static int visit_end(struct pass *p)
{
    int error;

    if (p->rule.how != TSM_TRIM_KEEP_DESTROYED)
        return 0;
    p->named_count = p->dead_count = p->needed_count = p->target_count = 0;
    if (sbt_record_role(p->schema, p->record, SBT_ROLE_ADDRESS, 0)) {
        if (!tsm_map_find(&p->keep->dead, p->record->seq + 1))
            keep_record(p);
        return 0;
    }
    error = tsm_handles_each(p->reader, p->record, p->schema, look_at, p);
    if (!error && p->target_count > 0 && p->needed_count == p->target_count)
        keep_record(p);
    return error;
}

/* ---- names of objects --------------------------------------------------------------------- */

static int visit_name(struct pass *p)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step = {0};
    const char *type = NULL;
    uint64_t id = 0;

    if (p->rule.how != TSM_TRIM_KEEP_NAME || p->record->slot_count < 2)
        return 0;
    if (sbt_reader_value(p->reader, p->record, 1, &value) == 1 &&
        sbt_walk_begin(&walk, p->reader, p->schema->fields[1].detail, value.data, value.size) == 0)
        while (sbt_walk_next(&walk, &step) == 1) {
            if (step.kind == SBT_STEP_VALUE && step.member->type == SBT_FIELD_ENUM)
                type = sbt_reader_enum_name(p->reader, step.member->detail, (int64_t)step.number);
            else if (step.kind == SBT_STEP_VALUE && step.member->type == SBT_FIELD_HANDLE)
                id = step.number;
        }
    sbt_value_finish(&value);
    for (uint32_t i = 0; type && id && i < p->keep->type_count; i++)
        if (tsm_object_type_is(type, p->keep->types[i]) &&
            tsm_trim_slice_has_object(p->keep, p->keep->types[i], id))
            keep_record(p);
    return 0;
}

/* ---- passes ------------------------------------------------------------------------------- */

/* The field whose objects a record makes or ends: that of the role, or the last that has any. */
static uint32_t object_field(const struct sbt_schema *schema)
{
    int field = sbt_schema_role(schema, SBT_ROLE_OBJECT);
    uint32_t last = 0;

    for (uint32_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type == SBT_FIELD_HANDLE ||
            (schema->fields[i].type == SBT_FIELD_STRUCT && strstr(schema->fields[i].detail, "[]")))
            last = i;
    return field >= 0 ? (uint32_t)field : last;
}

static int visit(struct pass *p, const struct sbt_record *record, int (*each)(struct pass *p))
{
    p->record = record;
    p->schema = sbt_reader_schema(p->reader, record->type);
    if (!p->schema || (record->flags & SBT_RECORD_FAILED))
        return 0;
    p->rule = tsm_trim_rule_of(p->schema);
    /* Captured: a node of a graph, whatever else it is. */
    if (record->flags & (SBT_RECORD_TAINTS | SBT_RECORD_CAPTURED))
        p->rule.how = TSM_TRIM_KEEP_ALWAYS;
    p->object_field = object_field(p->schema);
    return each(p);
}

static int forwards(struct pass *p, uint64_t first, uint64_t end, int (*each)(struct pass *p))
{
    const struct sbt_filter filter = {.seq_first = first, .seq_end = end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, p->reader, &filter, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = visit(p, record, each);
    sbt_cursor_destroy(cursor);
    return error;
}

static int backwards(struct pass *p, uint64_t end, int (*each)(struct pass *p))
{
    const struct sbt_filter filter = {.seq_end = end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, p->reader, &filter, 1);

    if (!error)
        error = sbt_cursor_seek(cursor, UINT64_MAX);
    while (error >= 0 && (error = sbt_cursor_previous(cursor, &record)) == 1)
        error = visit(p, record, each);
    sbt_cursor_destroy(cursor);
    return error;
}

/* A root found late may need what was passed over already: until nothing more is found. Flags that
 * one way back has left are not those of the next. */
static int settle(struct pass *p)
{
    uint64_t before;
    int error;

    do {
        before = p->keep->kept_count;
        for (size_t i = 0; i < p->keep->objects.capacity; i++)
            if (p->keep->objects.slots[i].used && (p->keep->objects.slots[i].value & CONTENT))
                p->keep->objects.slots[i].value &= ~(uint64_t)CLOSED;
        error = backwards(p, p->keep->seq_first, visit_before);
    } while (!error && p->keep->kept_count != before);
    return error;
}

static int find(struct pass *p, uint64_t seq_end)
{
    uint64_t first = p->keep->seq_first;
    int error = tsm_extents_collect(&p->extents, p->reader);

    if (!error)
        error = forwards(p, first, seq_end, visit_part);
    if (!error)
        error = forwards(p, 0, first, visit_death);
    if (!error)
        error = settle(p);
    if (!error)
        error = forwards(p, 0, first, visit_end);
    return error ? error : forwards(p, 0, first, visit_name);
}

int tsm_trim_slice_find(struct tsm_trim_slice *out, struct sbt_reader *reader, uint64_t seq_first,
                        uint64_t seq_end)
{
    struct pass p = {.keep = out, .reader = reader};
    int error;

    *out = (struct tsm_trim_slice){.seq_first = seq_first};
    out->records = calloc(1, seq_first / 8 + 1);
    if (!out->records)
        return no_memory();
    if (seq_first == 0)
        return 0;
    error = find(&p, seq_end);
    tsm_extents_finish(&p.extents);
    return error;
}

void tsm_trim_slice_finish(struct tsm_trim_slice *keep)
{
    free(keep->records);
    tsm_map_finish(&keep->objects);
    tsm_map_finish(&keep->streams);
    tsm_map_finish(&keep->memory);
    tsm_map_finish(&keep->dead);
    memset(keep, 0, sizeof(*keep));
}

bool tsm_trim_slice_has_record(const struct tsm_trim_slice *keep, uint64_t seq)
{
    return seq < keep->seq_first && (keep->records[seq / 8] >> seq % 8 & 1);
}

bool tsm_trim_slice_has_object(const struct tsm_trim_slice *keep, const char *type, uint64_t id)
{
    for (uint32_t i = 0; i < keep->type_count; i++) {
        const uint64_t *flags;
        if (strcmp(keep->types[i], type) != 0)
            continue;
        flags = tsm_map_find(&keep->objects, (uint64_t)(i + 1) << 48 | id);
        return flags && (*flags & NEEDED);
    }
    return false;
}
