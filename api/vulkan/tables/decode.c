/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/codec.h"

#include "tracesmith/trace.h"

#define DEPTH_MAX 32u /* FORMAT.md 13 */

static void decode_struct(struct vk_decoder *d, const struct vk_struct *type, void *memory,
                          bool in_chain, uint32_t choice);

void vk_decoder_init(struct vk_decoder *d, struct vk_arena *arena, const void *data, size_t size)
{
    *d = (struct vk_decoder){.arena = arena};
    if (data)
        d->in = tsm_view_init(data, size);
}

static void fail(struct vk_decoder *d)
{
    d->in.failed = true;
}

static void *take(struct vk_decoder *d, uint64_t count, uint64_t size)
{
    void *memory = NULL;
    uint64_t bytes;

    /* A list of no values gets memory, too: the pointer is not NULL. */
    if (!d->in.failed && !__builtin_mul_overflow(count, size, &bytes))
        memory = vk_arena_take(d->arena, bytes > 0 ? bytes : 1);
    if (!memory)
        fail(d);
    return memory;
}

static bool enter(struct vk_decoder *d)
{
    if (++d->depth > DEPTH_MAX)
        fail(d);
    return !d->in.failed;
}

static void set_pointer(void *at, const void *value)
{
    memcpy(at, &value, sizeof(value));
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t handle(struct vk_decoder *d, uint32_t object_type)
{
    uint64_t id = tsm_view_varint(&d->in), raw = id;

    if (!id || d->output || d->in.failed)
        return 0;
    if (d->handle && !d->handle(d->user, object_type, id, &raw))
        fail(d);
    return raw;
}

/* Fails if a driver may not get a null handle or pointer for the member: where the registry
 * requires it and no rule makes it ignored. */
static void need(struct vk_decoder *d, const struct vk_member *m)
{
    if (d->strict && !m->rule && !(m->flags & VK_MEMBER_OPTIONAL))
        fail(d);
}

static void decode_handle(struct vk_decoder *d, const struct vk_member *m, void *at)
{
    uint64_t raw = handle(d, m->type);

    if (!raw && m->form == VK_FORM_ONE && !d->output)
        need(d, m);
    vk_store(at, 8, raw);
}

static void decode_float(struct vk_decoder *d, size_t size, void *at)
{
    const uint8_t *bytes = tsm_view_take(&d->in, size);

    if (bytes)
        memcpy(at, bytes, size);
}

static void store_number(struct vk_decoder *d, size_t size, void *at, uint64_t value)
{
    if (size < 8 && value >> (8 * size))
        fail(d);
    vk_store(at, size, value);
}

static void store_signed(struct vk_decoder *d, size_t size, void *at, int64_t value)
{
    if (size < 8 && (value >> (8 * size - 1)) != 0 && (value >> (8 * size - 1)) != -1)
        fail(d);
    vk_store(at, size, (uint64_t)value);
}

static void decode_bits(struct vk_decoder *d, const struct vk_member *m, void *at)
{
    uint64_t value = tsm_view_varint(&d->in);
    uint32_t shift = m->count & 0xffu, width = m->count >> 8;

    if (value >> width)
        fail(d);
    else
        vk_store(at, 4, vk_load(at, 4) | value << shift);
}

/* Skips the value of a program's pointer. */
static void decode_host(struct vk_decoder *d, const struct vk_member *m,
                        const struct vk_struct *owner, void *at)
{
    uint64_t recorded = tsm_view_varint(&d->in);
    bool asks = recorded && m->kind == VK_KIND_POINTER && d->host && !d->output;

    set_pointer(at, asks ? d->host(d->user, owner, recorded) : NULL);
}

static void decode_inner(struct vk_decoder *d, const struct vk_member *m,
                         const struct vk_member *siblings, const void *memory, void *at)
{
    const struct vk_struct *type = &vk_structs[m->type];
    uint32_t choice = type->choose;

    if (m->count_kind == VK_COUNT_SELECTOR)
        choice = vk_choose(type, (int64_t)vk_sibling(siblings, m->count, memory));
    decode_struct(d, type, at, false, choice);
}

static void decode_value(struct vk_decoder *d, const struct vk_member *m,
                         const struct vk_member *siblings, const void *memory,
                         const struct vk_struct *owner, void *at)
{
    size_t size = vk_value_size(m);

    switch (m->kind) {
    case VK_KIND_I8:
    case VK_KIND_I16:
    case VK_KIND_I32:
    case VK_KIND_I64:
    case VK_KIND_ENUM:
        store_signed(d, size, at, tsm_unzigzag(tsm_view_varint(&d->in)));
        break;
    case VK_KIND_F32:
    case VK_KIND_F64:
        decode_float(d, size, at);
        break;
    case VK_KIND_HANDLE:
        decode_handle(d, m, at);
        break;
    case VK_KIND_OBJECT:
        vk_store(at, 8, handle(d, vk_object_of((uint32_t)vk_sibling(siblings, m->count, memory))));
        break;
    case VK_KIND_ADDRESS: {
        uint64_t value = tsm_view_varint(&d->in);
        vk_store(at, 8, value && d->address ? d->address(d->user, value) : value);
        break;
    }
    case VK_KIND_POINTER:
    case VK_KIND_FUNCTION:
        decode_host(d, m, owner, at);
        break;
    case VK_KIND_BITS:
        decode_bits(d, m, at);
        break;
    case VK_KIND_STRUCT:
        decode_inner(d, m, siblings, memory, at);
        break;
    default:
        store_number(d, size, at, tsm_view_varint(&d->in));
    }
}

/* ---- lists, texts, bytes -----------------------------------------------------------------------
 */

/* "0 for none, else n + 1". False: none. */
static bool take_count(struct vk_decoder *d, uint64_t *count)
{
    uint64_t n = tsm_view_varint(&d->in);

    *count = n - 1;
    if (n && *count > tsm_view_left(&d->in))
        fail(d); /* a value is a byte at least */
    return n && !d->in.failed;
}

static char *decode_string(struct vk_decoder *d)
{
    uint64_t count;
    const uint8_t *bytes;
    char *text;

    if (!take_count(d, &count))
        return NULL;
    bytes = tsm_view_take(&d->in, count);
    text = take(d, count + 1, 1);
    if (bytes && text)
        memcpy(text, bytes, count);
    return text;
}

static void decode_values(struct vk_decoder *d, const struct vk_member *m,
                          const struct vk_member *siblings, const void *memory,
                          const struct vk_struct *owner, uint8_t *at, uint64_t count)
{
    uint64_t step = vk_step(m, siblings, memory);

    if (enter(d))
        for (uint64_t i = 0; i < count && !d->in.failed; i++)
            decode_value(d, m, siblings, memory, owner, at + i * step);
    d->depth--;
}

static void decode_array(struct vk_decoder *d, const struct vk_member *m,
                         const struct vk_member *siblings, const void *memory,
                         const struct vk_struct *owner, uint8_t *at)
{
    bool flat = m->kind == VK_KIND_CHAR || m->kind == VK_KIND_BYTE;
    const uint8_t *bytes;
    uint64_t count;

    if (!take_count(d, &count))
        return; /* ignored, and zero */
    if (m->kind == VK_KIND_CHAR || m->stride ? count > m->count : count != m->count) {
        fail(d);
        return;
    }
    bytes = flat ? tsm_view_take(&d->in, count) : NULL;
    if (bytes)
        memcpy(at, bytes, count);
    else if (!flat)
        decode_values(d, m, siblings, memory, owner, at, count);
}

static void decode_row(struct vk_decoder *d, const struct vk_member *m,
                       const struct vk_member *siblings, const void *memory, uint64_t row, void *at)
{
    uint64_t count;
    void *values;

    if (!take_count(d, &count))
        return;
    if (count != vk_rows(m->stride, memory, row))
        fail(d);
    values = take(d, count, vk_value_size(m));
    set_pointer(at, values);
    if (values)
        decode_values(d, m, siblings, memory, NULL, values, count);
}

static void decode_pointers(struct vk_decoder *d, const struct vk_member *m,
                            const struct vk_member *siblings, const void *memory,
                            const struct vk_struct *owner, uint8_t *at, uint64_t count)
{
    if (enter(d))
        for (uint64_t i = 0; i < count && !d->in.failed; i++, at += sizeof(void *)) {
            void *value = NULL;
            if (m->kind == VK_KIND_CHAR) {
                set_pointer(at, decode_string(d));
            } else if (m->form == VK_FORM_ROWS) {
                decode_row(d, m, siblings, memory, i, at);
            } else {
                value = take(d, 1, vk_value_size(m));
                set_pointer(at, value);
                if (value)
                    decode_value(d, m, siblings, memory, owner, value);
            }
        }
    d->depth--;
}

static void decode_pointer(struct vk_decoder *d, const struct vk_member *m,
                           const struct vk_member *siblings, const void *memory,
                           const struct vk_struct *owner, void *at)
{
    bool indirect = m->form != VK_FORM_POINTER;
    const uint8_t *bytes;
    uint64_t count;
    void *values;

    if (m->count_kind == VK_COUNT_STRING && !indirect) {
        values = decode_string(d);
        set_pointer(at, values);
        if (!values)
            need(d, m);
        return;
    }
    if (!take_count(d, &count)) {
        if (vk_member_count(m, siblings, memory))
            need(d, m);
        return;
    }
    /* Readers of this memory trust its count member. */
    if (count != vk_member_count(m, siblings, memory)) {
        fail(d);
        return;
    }
    values = take(d, count, indirect ? sizeof(void *) : vk_step(m, siblings, memory));
    set_pointer(at, values);
    if (!values)
        return;
    if (indirect) {
        decode_pointers(d, m, siblings, memory, owner, values, count);
    } else if (m->kind == VK_KIND_BYTE) {
        bytes = tsm_view_take(&d->in, count);
        if (bytes)
            memcpy(values, bytes, count);
    } else {
        decode_values(d, m, siblings, memory, owner, values, count);
    }
}

/* ---- chains ---------------------------------------------------------------------------------- */

struct chain_head {
    int32_t stype;
    struct chain_head *next;
};

/* One struct of a chain; NULL: left out. */
static struct chain_head *decode_link(struct vk_decoder *d, uint64_t id)
{
    const struct vk_struct *type = NULL;
    uint64_t size = tsm_view_varint(&d->in);
    const uint8_t *bytes = size <= tsm_view_left(&d->in) ? tsm_view_take(&d->in, size) : NULL;
    struct tsm_view outer = d->in;
    struct chain_head *link;

    if (!bytes) {
        fail(d);
        return NULL;
    }
    if (id >> 16 == SBT_API_VULKAN)
        type = vk_struct_numbered((uint32_t)id & 0xffff);
    if (!type || !(type->flags & VK_STRUCT_TYPED) || (d->wanted && !d->wanted(d->user, type))) {
        d->skipped++;
        return NULL;
    }
    link = take(d, 1, type->size);
    if (!link)
        return NULL;
    d->in = tsm_view_init(bytes, size);
    decode_struct(d, type, link, true, 0);
    outer.failed = d->in.failed || tsm_view_left(&d->in);
    d->in = outer;
    return link;
}

static void decode_chain(struct vk_decoder *d, bool in_chain, void *at)
{
    struct chain_head *link;
    uint64_t id;

    if (enter(d))
        while ((id = tsm_view_varint(&d->in)) != 0 && !d->in.failed) {
            link = in_chain ? NULL : decode_link(d, id);
            if (in_chain)
                fail(d); /* the chain goes on where it begins */
            if (!link)
                continue;
            set_pointer(at, link);
            at = &link->next;
        }
    d->depth--;
}

/* ---- structs --------------------------------------------------------------------------------- */

static void decode_member(struct vk_decoder *d, const struct vk_member *m,
                          const struct vk_member *siblings, void *memory,
                          const struct vk_struct *owner, bool in_chain)
{
    uint8_t *at = (uint8_t *)memory + m->offset;

    if (m->flags & VK_MEMBER_OMIT)
        return;
    if (m->kind == VK_KIND_CHAIN)
        decode_chain(d, in_chain, at);
    else if (m->form == VK_FORM_ONE)
        decode_value(d, m, siblings, memory, owner, at);
    else if (m->form == VK_FORM_ARRAY)
        decode_array(d, m, siblings, memory, owner, at);
    else
        decode_pointer(d, m, siblings, memory, owner, at);
}

/* A union has the member that its selector names, or none: pointers of another one would be numbers
 * of the file. */
static void decode_union(struct vk_decoder *d, const struct vk_struct *type, void *memory,
                         uint32_t choice)
{
    const struct vk_member *members = &vk_members[type->first];
    uint64_t there = tsm_view_varint(&d->in);

    if (there && there != choice)
        fail(d);
    else if (there)
        decode_member(d, &members[there - 1], members, memory, type, false);
}

static void decode_struct(struct vk_decoder *d, const struct vk_struct *type, void *memory,
                          bool in_chain, uint32_t choice)
{
    const struct vk_member *members = &vk_members[type->first];

    memset(memory, 0, type->size);
    if (type->flags & VK_STRUCT_TYPED)
        memcpy(memory, &type->stype, sizeof(type->stype));
    if (!enter(d))
        ;
    else if (type->flags & VK_STRUCT_UNION)
        decode_union(d, type, memory, choice);
    else
        for (uint32_t i = 0; i < type->member_count && !d->in.failed; i++)
            decode_member(d, &members[i], members, memory, type, in_chain);
    d->depth--;
}

bool vk_decode_struct(struct vk_decoder *d, const struct vk_struct *type, void *memory)
{
    decode_struct(d, type, memory, false, type->choose);
    return !d->in.failed && tsm_view_left(&d->in) == 0;
}

bool vk_decode_argument(struct vk_decoder *d, const struct vk_command *command, uint32_t place,
                        void *args)
{
    const struct vk_member *arguments = &vk_arguments[command->first], *m = &arguments[place];
    void *at = (uint8_t *)args + m->offset, *value;

    d->output = m->flags & VK_MEMBER_OUT;
    if (m->list) {
        d->depth++;
        decode_member(d, m, arguments, args, NULL, false);
        d->depth--;
    } else if (m->kind == VK_KIND_STRUCT) {
        value = take(d, 1, vk_value_size(m));
        set_pointer(at, value);
        if (value)
            decode_value(d, m, arguments, args, NULL, value);
    } else {
        fail(d);
    }
    return !d->in.failed && tsm_view_left(&d->in) == 0;
}
