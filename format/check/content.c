/* SPDX-License-Identifier: Apache-2.0 */
#include "format/check/state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "format/kernel_events.h"
#include "format/limits.h"
#include "format/values/names.h"
#include "format/chunk/table.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(const struct sbt_checker *c)
{
    return tsm_fail(TSM_E_MEMORY, "%s: out of memory", c->name);
}

/* Note that `key` is there now; `what` it is, if it must not be twice. */
static int note(struct sbt_checker *c, struct tsm_map *map, uint64_t key, uint64_t value,
                const char *what)
{
    bool added;
    uint64_t *place = tsm_map_insert(map, key, &added);

    if (!place)
        return out_of_memory(c);
    if (added)
        *place = value;
    else if (what)
        sbt_check_say(c, "%s %llu is there twice", what, (unsigned long long)key);
    return 0;
}

/* ---- tables ---- */

typedef int item_check(struct sbt_checker *c, struct tsm_view *item);

static int check_table(struct sbt_checker *c, item_check *each)
{
    struct sbt_items items = sbt_items_init(c->payload, c->head.raw_size, c->head.count);
    struct tsm_view item;
    int error = 0;

    while (!error && sbt_items_next(&items, &item))
        error = each(c, &item);
    if (items.in.failed)
        sbt_check_say(c, "the items of the %s chunk do not add up",
                      sbt_chunk_type_name(c->head.type));
    return error;
}

static int check_metadata(struct sbt_checker *c, struct tsm_view *item)
{
    const char *name = sbt_view_text(item, SBT_NAME_MAX);

    sbt_view_text(item, SBT_TEXT_MAX);
    if (item->failed || !name[0])
        sbt_check_say(c, "a metadata item is malformed");
    return 0;
}

static void check_fields_of(struct sbt_checker *c, const struct sbt_schema *s)
{
    uint64_t roles = 0;

    for (uint32_t i = 0; i < s->field_count; i++) {
        uint32_t role = (uint32_t)s->fields[i].role, type = (uint32_t)s->fields[i].type;
        if (role > 0 && role < 64 && (roles >> role & 1))
            sbt_check_say(c, "schema %s has two fields of role %u", s->name, role);
        if (role < 64)
            roles |= 1ull << role;
        if (type == 0 || (c->header.minor == 0 && type > SBT_FIELD_STRUCT))
            sbt_check_say(c, "field %s of schema %s has type %u", s->fields[i].name, s->name, type);
    }
}

/* Names of the structs of its STRUCT fields, for the records that come. Returns where. */
static size_t keep_details(struct sbt_checker *c, const struct sbt_schema *s)
{
    size_t at = c->details.size;

    for (uint32_t i = 0; i < s->field_count; i++) {
        if (s->fields[i].type == SBT_FIELD_STRUCT)
            tsm_buffer_add(&c->details, s->fields[i].detail, strlen(s->fields[i].detail) + 1);
    }
    return at;
}

static int check_schema(struct sbt_checker *c, struct tsm_view *item)
{
    struct sbt_check_schema made = {0};
    struct sbt_schema s;
    struct sbt_field *fields;

    if (!sbt_item_schema(item, &s, &fields)) {
        sbt_check_say(c, "a schema is malformed");
        return 0;
    }
    check_fields_of(c, &s);
    made.flags = s.flags;
    made.field_count = s.field_count;
    for (uint32_t i = 0; i < s.field_count; i++) {
        made.strings |= (uint64_t)(fields[i].type == SBT_FIELD_STRING) << i;
        made.bytes |= (uint64_t)(fields[i].type == SBT_FIELD_BYTES) << i;
        made.blobs |= (uint64_t)(fields[i].type == SBT_FIELD_BLOB) << i;
        made.structs |= (uint64_t)(fields[i].type == SBT_FIELD_STRUCT) << i;
    }
    made.details = made.structs ? keep_details(c, &s) : 0;
    free(fields);
    if (c->details.failed)
        return out_of_memory(c);
    tsm_buffer_add(&c->schemas, &made, sizeof(made));
    if (c->schemas.failed)
        return out_of_memory(c);
    return note(c, &c->types, s.type, c->schemas.size / sizeof(made), "the schema of type");
}

static int check_enum(struct sbt_checker *c, struct tsm_view *item)
{
    struct sbt_enum_value *values;
    struct sbt_enum e;

    if (!sbt_item_enum(item, &e, &values)) {
        sbt_check_say(c, "a value table is malformed");
        return 0;
    }
    free(values);
    if (tsm_map_find(&c->enums, sbt_name_hash(e.name)))
        sbt_check_say(c, "value table %s is there twice", e.name);
    return note(c, &c->enums, sbt_name_hash(e.name), 0, NULL);
}

static void check_members_of(struct sbt_checker *c, const struct sbt_struct *s)
{
    for (uint32_t i = 0; i < s->member_count; i++) {
        const struct sbt_member *m = &s->members[i];
        uint32_t type = (uint32_t)m->type, form = (uint32_t)m->form;
        if (type == 0 || type == SBT_FIELD_BLOB ||
            (c->header.minor == 0 && type > SBT_FIELD_STRUCT))
            sbt_check_say(c, "member %s of struct %s has type %u", m->name, s->name, type);
        if ((c->header.minor == 0 && form > SBT_FORM_CHAIN) ||
            (form == SBT_FORM_CHAIN && (type != SBT_FIELD_STRUCT || m->detail[0])))
            sbt_check_say(c, "member %s of struct %s has form %u", m->name, s->name, form);
    }
}

/* Keeps a block until the end of the check, which frees it. */
static int keep(struct sbt_checker *c, void *block)
{
    tsm_buffer_add(&c->kept, &block, sizeof(block));
    if (!c->kept.failed)
        return 0;
    free(block);
    return out_of_memory(c);
}

static int check_struct(struct sbt_checker *c, struct tsm_view *item)
{
    struct sbt_member *members;
    struct sbt_struct s;
    int error;

    if (!sbt_item_struct(item, &s, &members)) {
        sbt_check_say(c, "a struct is malformed");
        return 0;
    }
    if (SBT_TYPE_CALL(s.id) == 0 || !s.name[0] ||
        (c->header.minor == 0 && (s.flags & ~SBT_STRUCT_UNION)))
        sbt_check_say(c, "struct \"%s\" has id %#x and flags %#x", s.name, s.id, s.flags);
    check_members_of(c, &s);
    error = keep(c, members);
    if (error)
        return error;
    switch (sbt_structs_add(&c->structs, &s)) {
    case SBT_STRUCTS_ADDED:
        return 0;
    case SBT_STRUCTS_SAME_NAME:
        sbt_check_say(c, "struct %s is there twice", s.name);
        return 0;
    case SBT_STRUCTS_SAME_ID:
        sbt_check_say(c, "struct %s has id %#x, which another one has", s.name, s.id);
        return 0;
    case SBT_STRUCTS_NO_MEMORY:
        break;
    }
    return out_of_memory(c);
}

/* Checks the structs, and keeps the payload: values of them come after the chunk was released. */
static int check_structs(struct sbt_checker *c)
{
    int error = check_table(c, check_struct);
    void *payload = c->payload;

    c->payload = NULL;
    return keep(c, payload) ? TSM_E_MEMORY : error;
}

static void check_id(struct sbt_checker *c, uint32_t id)
{
    if (id == 0 || id < c->head.first_seq || id > c->head.last_seq)
        sbt_check_say(c, "id %u is outside the range that the chunk header states", id);
}

static int check_string(struct sbt_checker *c, struct tsm_view *item)
{
    uint32_t id = tsm_view_u32(item);

    sbt_view_text(item, SBT_TEXT_MAX);
    if (item->failed)
        sbt_check_say(c, "a string is malformed");
    check_id(c, id);
    return note(c, &c->strings, id, 0, "string");
}

static int check_stack(struct sbt_checker *c, struct tsm_view *item)
{
    uint32_t id = tsm_view_u32(item);
    size_t size = tsm_view_left(item);

    if (item->failed || size == 0 || size % 8 != 0 || size / 8 > SBT_STACK_DEPTH_MAX)
        sbt_check_say(c, "stack %u has %zu bytes of frames", id, size);
    check_id(c, id);
    return note(c, &c->stacks, id, 0, "stack");
}

static int check_mapping(struct sbt_checker *c, struct tsm_view *item)
{
    struct sbt_mapping m;

    if (!sbt_item_mapping(item, &m) || m.end < m.start)
        sbt_check_say(c, "a mapping is malformed");
    return 0;
}

/* ---- bytes ---- */

/* A piece of a key that was there before. Bytes can be made to have the key of others. */
static void check_twin(struct sbt_checker *c, const struct sbt_key *key, const uint8_t *bytes,
                       uint32_t size, uint32_t i)
{
    uint8_t first[SBT_PIECE_SIZE];
    int got;

    if (!c->twins && (c->has_no_twins || sbt_reader_open(&c->twins, c->name) < 0)) {
        c->has_no_twins = true;
        return;
    }
    got = sbt_reader_piece(c->twins, key, first);
    if (got >= 0 && ((uint32_t)got != size || memcmp(first, bytes, size) != 0))
        sbt_check_say(c, "piece %u has the key of another piece and other bytes", i);
}

static int check_pieces_of(struct sbt_checker *c, const uint8_t *list)
{
    size_t room = c->head.raw_size - (size_t)c->head.count * SBT_PIECE_ENTRY_SIZE, at = 0;

    for (uint32_t i = 0; i < c->head.count; i++, list += SBT_PIECE_ENTRY_SIZE) {
        uint32_t size = tsm_get_u32(list + 16);
        struct sbt_key key, got;
        memcpy(key.bytes, list, sizeof(key.bytes));
        if (size == 0 || size > SBT_PIECE_SIZE || size > room - at) {
            sbt_check_say(c, "piece %u has %u bytes", i, size);
            return 0;
        }
        got = tsm_hash_key(c->payload + at, size);
        if (!tsm_key_equal(&got, &key))
            sbt_check_say(c, "the bytes of piece %u do not match its key", i);
        if (sbt_keyset_has(&c->pieces, &key)) {
            check_twin(c, &key, c->payload + at, size, i);
            if (c->pieces.count < SBT_KEYSET_MAX) /* after that a writer may forget */
                sbt_check_say(c, "piece %u was stored before", i);
        } else if (!sbt_keyset_add(&c->pieces, &key)) {
            return out_of_memory(c);
        }
        at += size;
    }
    if (at != room)
        sbt_check_say(c, "the sizes of the pieces do not add up");
    return 0;
}

static int check_blobs(struct sbt_checker *c)
{
    uint64_t size = (uint64_t)c->head.count * SBT_PIECE_ENTRY_SIZE;
    const uint8_t *list;
    int error;

    if (size > c->head.raw_size) {
        sbt_check_say(c, "the list of pieces is longer than the payload");
        return 0;
    }
    list = c->payload + c->head.raw_size - size;
    error = check_pieces_of(c, list);
    return error ? error : note(c, &c->piece_lists, c->head.number, tsm_hash64(list, size), NULL);
}

static int check_piece_lists(struct sbt_checker *c)
{
    struct tsm_view v = tsm_view_init(c->payload, c->head.raw_size);
    int error = 0;

    for (uint32_t i = 0; i < c->head.count && !error; i++) {
        uint32_t number = tsm_view_u32(&v), count = tsm_view_u32(&v);
        size_t size = (size_t)count * SBT_PIECE_ENTRY_SIZE;
        const uint8_t *list = tsm_view_take(&v, size);
        const uint64_t *hash = tsm_map_find(&c->piece_lists, number);
        if (!list)
            break;
        if (!hash || *hash != tsm_hash64(list, size))
            sbt_check_say_following(c, "the pieces of chunk %u are not those listed", number);
        error = note(c, &c->listed, number, 0, NULL);
    }
    if (!error && (v.failed || tsm_view_left(&v) != 0))
        sbt_check_say(c, "the PIECES chunk is malformed");
    return error;
}

/* ---- checkpoints ---- */

static int check_checkpoint(struct sbt_checker *c, struct tsm_view *item)
{
    const struct sbt_checkpoint *end = &c->last_end;
    struct sbt_checkpoint said = {0};

    if (!sbt_item_checkpoint(item, &said))
        sbt_check_say(c, "a checkpoint is malformed");
    else if (!c->has_last_end || c->head.count != 1)
        sbt_check_say_missing(c,
                              "a CHECKPOINT chunk without a checkpoint_end record right before it");
    else if (said.number != end->number || said.flags != end->flags || said.seq != end->seq ||
             said.time_ns != end->time_ns || said.item_count != end->item_count ||
             said.size != end->size)
        sbt_check_say_following(
            c, "the CHECKPOINT chunk and the checkpoint_end record before it differ");
    return 0;
}

/* ---- the first chunk ---- */

static int check_stream_info(struct sbt_checker *c)
{
    struct tsm_view v = tsm_view_init(c->payload, c->head.raw_size);
    uint32_t major = tsm_view_u16(&v), minor = tsm_view_u16(&v);
    const uint8_t *id = tsm_view_take(&v, 16);
    uint64_t required = tsm_view_u64(&v), optional = tsm_view_u64(&v);

    tsm_view_take(&v, 16); /* start times: any */
    sbt_view_text(&v, SBT_NAME_MAX);
    if (v.failed) {
        sbt_check_say(c, "the STREAM_INFO chunk is malformed");
    } else if (c->has_no_header) {
        c->header.minor = (uint16_t)minor;
        c->header.required_features = required;
        c->header.optional_features = optional;
    } else if (major != c->header.major || minor != c->header.minor ||
               memcmp(id, c->header.session, 16) != 0 || required != c->header.required_features ||
               optional != c->header.optional_features) {
        sbt_check_say(c, "STREAM_INFO and the file header differ");
    }
    return 0;
}

/* Its records must be the next ones, or none. */
static void check_void(struct sbt_checker *c)
{
    const struct sbt_chunk *h = &c->head;
    bool is_notable = (h->flags & SBT_CHUNK_NOTABLE) != 0;

    c->void_count += is_notable ? h->count : 0;
    if (h->first_seq == h->last_seq)
        return;
    if (h->first_seq != c->next_seq || !is_notable) {
        sbt_check_say(c, "the VOID chunk stands for other records than those that are due");
        return;
    }
    c->void_records += h->last_seq - h->first_seq;
    c->next_seq = h->last_seq;
}

static int check_content(struct sbt_checker *c)
{
    switch ((enum sbt_chunk_type)c->head.type) {
    case SBT_CHUNK_STREAM_INFO:
        return check_stream_info(c);
    case SBT_CHUNK_METADATA:
        return check_table(c, check_metadata);
    case SBT_CHUNK_SCHEMA:
        return check_table(c, check_schema);
    case SBT_CHUNK_ENUMS:
        return check_table(c, check_enum);
    case SBT_CHUNK_STRINGS:
        return check_table(c, check_string);
    case SBT_CHUNK_STACKS:
        return check_table(c, check_stack);
    case SBT_CHUNK_MAPPINGS:
        return check_table(c, check_mapping);
    case SBT_CHUNK_STRUCTS:
        return check_structs(c);
    case SBT_CHUNK_EVENTS:
        return sbt_check_events(c);
    case SBT_CHUNK_BLOBS:
        return check_blobs(c);
    case SBT_CHUNK_PIECES:
        return check_piece_lists(c);
    case SBT_CHUNK_INDEX:
        return sbt_check_index(c);
    case SBT_CHUNK_TRAILER:
        return sbt_check_trailer(c);
    case SBT_CHUNK_CHECKPOINT:
        return check_table(c, check_checkpoint);
    case SBT_CHUNK_KERNEL_EVENTS:
        if (sbt_kernel_record_count(c->payload, c->head.raw_size) != c->head.count)
            sbt_check_say(c, "its kernel records are malformed, or not %u", c->head.count);
        break;
    case SBT_CHUNK_VOID:
        check_void(c);
        break;
    case SBT_CHUNK_CODE:
    case SBT_CHUNK_TYPE_END:
        break;
    }
    return 0;
}

int sbt_check_content(struct sbt_checker *c)
{
    int error;

    /* Only memory that ran out makes it ENOMEM: then what was said may be wrong. */
    errno = 0;
    error = check_content(c);
    return !error && errno == ENOMEM ? tsm_fail(TSM_E_MEMORY, "%s: out of memory", c->name) : error;
}
