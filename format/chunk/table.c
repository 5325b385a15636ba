/* SPDX-License-Identifier: Apache-2.0 */
#include "format/chunk/table.h"

#include "format/limits.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

void sbt_table_finish(struct sbt_table *t)
{
    tsm_buffer_finish(&t->payload);
    *t = (struct sbt_table){0};
}

void sbt_table_clear(struct sbt_table *t)
{
    tsm_buffer_clear(&t->payload);
    t->count = 0;
    t->first_id = t->last_id = 0;
}

/* An item's size is known at its end: begin returns where to put it. */
static size_t item_begin(struct tsm_buffer *b)
{
    tsm_buffer_add_u32(b, 0);
    return b->size;
}

static void item_end(struct tsm_buffer *b, size_t start)
{
    if (!b->failed)
        tsm_put_u32(b->data + start - 4, (uint32_t)(b->size - start));
}

static void put_text(struct tsm_buffer *b, const char *text, size_t size)
{
    tsm_buffer_add_u32(b, (uint32_t)size);
    tsm_buffer_add(b, text, size);
    tsm_buffer_add_u8(b, 0);
}

static void table_id(struct sbt_table *t, uint32_t id)
{
    t->first_id = t->count == 0 || id < t->first_id ? id : t->first_id;
    t->last_id = id > t->last_id ? id : t->last_id;
}

void sbt_table_metadata(struct sbt_table *t, const char *name, const char *value)
{
    size_t start = item_begin(&t->payload);

    put_text(&t->payload, name, strlen(name));
    put_text(&t->payload, value, strlen(value));
    item_end(&t->payload, start);
    t->count++;
}

static void put_field(struct tsm_buffer *b, const struct sbt_field *field)
{
    const char *detail = field->detail ? field->detail : "";
    size_t start = item_begin(b);

    tsm_buffer_add_u16(b, (uint16_t)field->type);
    tsm_buffer_add_u16(b, (uint16_t)field->role);
    put_text(b, field->name, strlen(field->name));
    put_text(b, detail, strlen(detail));
    item_end(b, start);
}

void sbt_table_schema(struct sbt_table *t, const struct sbt_schema *schema)
{
    const char *result_enum = schema->result_enum ? schema->result_enum : "";
    struct tsm_buffer *b = &t->payload;
    size_t start = item_begin(b);

    tsm_buffer_add_u32(b, schema->type);
    tsm_buffer_add_u32(b, (uint32_t)schema->kind);
    tsm_buffer_add_u32(b, schema->flags);
    tsm_buffer_add_u32(b, schema->field_count);
    put_text(b, schema->name, strlen(schema->name));
    put_text(b, result_enum, strlen(result_enum));
    for (uint32_t i = 0; i < schema->field_count; i++)
        put_field(b, &schema->fields[i]);
    item_end(b, start);
    t->count++;
}

void sbt_table_enum(struct sbt_table *t, const struct sbt_enum *table)
{
    struct tsm_buffer *b = &t->payload;
    size_t start = item_begin(b);

    tsm_buffer_add_u32(b, table->value_count);
    put_text(b, table->name, strlen(table->name));
    for (uint32_t i = 0; i < table->value_count; i++) {
        tsm_buffer_add_u64(b, (uint64_t)table->values[i].value);
        put_text(b, table->values[i].name, strlen(table->values[i].name));
    }
    item_end(b, start);
    t->count++;
}

static void put_member(struct tsm_buffer *b, const struct sbt_member *member)
{
    const char *detail = member->detail ? member->detail : "";
    size_t start = item_begin(b);

    tsm_buffer_add_u16(b, (uint16_t)member->type);
    tsm_buffer_add_u16(b, (uint16_t)member->form);
    put_text(b, member->name, strlen(member->name));
    put_text(b, detail, strlen(detail));
    item_end(b, start);
}

void sbt_table_struct(struct sbt_table *t, const struct sbt_struct *structure)
{
    struct tsm_buffer *b = &t->payload;
    size_t start = item_begin(b);

    tsm_buffer_add_u32(b, structure->id);
    tsm_buffer_add_u32(b, structure->flags);
    tsm_buffer_add_u32(b, structure->member_count);
    put_text(b, structure->name, strlen(structure->name));
    for (uint32_t i = 0; i < structure->member_count; i++)
        put_member(b, &structure->members[i]);
    item_end(b, start);
    t->count++;
}

void sbt_table_string(struct sbt_table *t, uint32_t id, const char *text, size_t size)
{
    size_t start = item_begin(&t->payload);

    tsm_buffer_add_u32(&t->payload, id);
    put_text(&t->payload, text, size);
    item_end(&t->payload, start);
    table_id(t, id);
    t->count++;
}

void sbt_table_stack(struct sbt_table *t, uint32_t id, const uint64_t *frames, uint32_t count)
{
    size_t start = item_begin(&t->payload);

    tsm_buffer_add_u32(&t->payload, id);
    for (uint32_t i = 0; i < count; i++)
        tsm_buffer_add_u64(&t->payload, frames[i]);
    item_end(&t->payload, start);
    table_id(t, id);
    t->count++;
}

void sbt_table_mapping(struct sbt_table *t, const struct sbt_mapping *mapping)
{
    size_t start = item_begin(&t->payload);

    tsm_buffer_add_u64(&t->payload, mapping->start);
    tsm_buffer_add_u64(&t->payload, mapping->end);
    tsm_buffer_add_u64(&t->payload, mapping->file_offset);
    put_text(&t->payload, mapping->path, strlen(mapping->path));
    tsm_buffer_add_u32(&t->payload, mapping->build_id_size);
    tsm_buffer_add(&t->payload, mapping->build_id, mapping->build_id_size);
    item_end(&t->payload, start);
    t->count++;
}

/* ---- reading ---- */

struct sbt_items sbt_items_init(const void *payload, size_t size, uint32_t count)
{
    struct sbt_items items = {.in = tsm_view_init(payload, size), .left = count};
    return items;
}

bool sbt_items_next(struct sbt_items *items, struct tsm_view *item)
{
    uint32_t size;
    const uint8_t *bytes;

    if (items->left == 0) {
        if (tsm_view_left(&items->in) != 0)
            items->in.failed = true;
        return false;
    }
    items->left--;
    size = tsm_view_u32(&items->in);
    bytes = tsm_view_take(&items->in, size);
    if (!bytes)
        return false;
    *item = tsm_view_init(bytes, size);
    return true;
}

const char *sbt_view_text(struct tsm_view *v, size_t limit)
{
    uint32_t size = tsm_view_u32(v);
    const uint8_t *bytes = size <= limit ? tsm_view_take(v, (size_t)size + 1) : NULL;

    /* Exactly one zero byte, and that at the end. */
    if (!bytes || memchr(bytes, 0, (size_t)size + 1) != bytes + size) {
        v->failed = true;
        return NULL;
    }
    return (const char *)bytes;
}

/* Fields of records and members of structs are written alike; `second`: the role or the form. */
struct part {
    uint16_t type, second;
    const char *name, *detail;
};

static bool item_part(struct tsm_view *item, struct part *out)
{
    uint32_t size = tsm_view_u32(item);
    const uint8_t *bytes = tsm_view_take(item, size);
    struct tsm_view v;

    if (!bytes)
        return false;
    v = tsm_view_init(bytes, size);
    out->type = tsm_view_u16(&v);
    out->second = tsm_view_u16(&v);
    out->name = sbt_view_text(&v, SBT_NAME_MAX);
    out->detail = sbt_view_text(&v, SBT_NAME_MAX);
    return !v.failed;
}

static bool item_field(struct tsm_view *item, struct sbt_field *out)
{
    struct part p;

    if (!item_part(item, &p))
        return false;
    *out =
        (struct sbt_field){p.name, (enum sbt_field_type)p.type, (enum sbt_role)p.second, p.detail};
    return true;
}

bool sbt_item_schema(struct tsm_view *item, struct sbt_schema *out, struct sbt_field **fields)
{
    struct sbt_field *list;
    struct sbt_schema s;

    s.type = tsm_view_u32(item);
    s.kind = (enum sbt_kind)tsm_view_u32(item);
    s.flags = tsm_view_u32(item);
    s.field_count = tsm_view_u32(item);
    s.name = sbt_view_text(item, SBT_NAME_MAX);
    s.result_enum = sbt_view_text(item, SBT_NAME_MAX);
    if (item->failed || s.field_count > SBT_FIELD_COUNT_MAX)
        return false;
    list = calloc(s.field_count ? s.field_count : 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < s.field_count; i++) {
        if (!item_field(item, &list[i])) {
            free(list);
            return false;
        }
    }
    s.fields = list;
    *fields = list;
    *out = s;
    return true;
}

bool sbt_item_enum(struct tsm_view *item, struct sbt_enum *out, struct sbt_enum_value **values)
{
    struct sbt_enum_value *list;
    struct sbt_enum e;

    e.value_count = tsm_view_u32(item);
    e.name = sbt_view_text(item, SBT_NAME_MAX);
    /* A value takes at least 13 bytes, so this bounds the allocation by the item's size. */
    if (item->failed || e.value_count > SBT_ENUM_VALUES_MAX ||
        e.value_count > tsm_view_left(item) / 13)
        return false;
    list = calloc(e.value_count ? e.value_count : 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < e.value_count; i++) {
        list[i].value = (int64_t)tsm_view_u64(item);
        list[i].name = sbt_view_text(item, SBT_NAME_MAX);
    }
    if (item->failed) {
        free(list);
        return false;
    }
    e.values = list;
    *values = list;
    *out = e;
    return true;
}

static bool item_member(struct tsm_view *item, struct sbt_member *out)
{
    struct part p;

    if (!item_part(item, &p))
        return false;
    *out =
        (struct sbt_member){p.name, (enum sbt_field_type)p.type, (enum sbt_form)p.second, p.detail};
    return true;
}

bool sbt_item_struct(struct tsm_view *item, struct sbt_struct *out, struct sbt_member **members)
{
    struct sbt_member *list;
    struct sbt_struct s;

    s.id = tsm_view_u32(item);
    s.flags = tsm_view_u32(item);
    s.member_count = tsm_view_u32(item);
    s.name = sbt_view_text(item, SBT_NAME_MAX);
    /* A member takes at least 18 bytes, so this bounds the allocation by the item's size. */
    if (item->failed || s.member_count > SBT_STRUCT_MEMBERS_MAX ||
        s.member_count > tsm_view_left(item) / 18)
        return false;
    list = calloc(s.member_count ? s.member_count : 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < s.member_count; i++) {
        if (!item_member(item, &list[i])) {
            free(list);
            return false;
        }
    }
    s.members = list;
    *members = list;
    *out = s;
    return true;
}

bool sbt_item_mapping(struct tsm_view *item, struct sbt_mapping *out)
{
    out->start = tsm_view_u64(item);
    out->end = tsm_view_u64(item);
    out->file_offset = tsm_view_u64(item);
    out->path = sbt_view_text(item, SBT_TEXT_MAX);
    out->build_id_size = tsm_view_u32(item);
    if (out->build_id_size > SBT_BUILD_ID_MAX)
        return false;
    out->build_id = tsm_view_take(item, out->build_id_size);
    if (out->build_id_size == 0)
        out->build_id = NULL;
    return !item->failed;
}

/* ---- CHECKPOINT ---- */

bool sbt_checkpoint_of(const struct sbt_record *r, struct sbt_checkpoint *out)
{
    if (r->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKPOINT_END) || r->slot_count < 4)
        return false;
    *out = (struct sbt_checkpoint){.number = (uint32_t)r->slots[0],
                                   .flags = (uint32_t)r->slots[1],
                                   .seq = r->seq,
                                   .time_ns = r->time_ns,
                                   .item_count = r->slots[2],
                                   .size = r->slots[3]};
    return true;
}

void sbt_checkpoint_put(struct tsm_buffer *payload, const struct sbt_checkpoint *c)
{
    tsm_buffer_add_u32(payload, 40);
    tsm_buffer_add_u32(payload, c->number);
    tsm_buffer_add_u32(payload, c->flags);
    tsm_buffer_add_u64(payload, c->seq);
    tsm_buffer_add_u64(payload, c->time_ns);
    tsm_buffer_add_u64(payload, c->item_count);
    tsm_buffer_add_u64(payload, c->size);
}

bool sbt_item_checkpoint(struct tsm_view *item, struct sbt_checkpoint *out)
{
    out->number = tsm_view_u32(item);
    out->flags = tsm_view_u32(item);
    out->seq = tsm_view_u64(item);
    out->time_ns = tsm_view_u64(item);
    out->item_count = tsm_view_u64(item);
    out->size = tsm_view_u64(item);
    return !item->failed;
}
