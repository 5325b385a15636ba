/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/source/encode.h"

#include <string.h>

#define LIST_SIZE_MAX SBT_VALUE_MAX
#define DEPTH_MAX     8u
#define PAGE          4096u

/* A struct that is being encoded, and the one around it. */
struct place {
    const struct drm_struct *type;
    const uint8_t *memory;
    uint64_t address; /* of what `memory` may be a copy of */
    const struct place *around;
    uint32_t depth;
};

static void put_struct(struct drm_encoder *e, const struct place *place);

/* ---- counts -----------------------------------------------------------------------------------
 */

static uint64_t sibling(const struct place *place, uint32_t number)
{
    return drm_load_member(place->type, number, place->memory);
}

/* The struct whose members a count is made of. */
static const struct place *counted_in(const struct place *place, const struct drm_member *m)
{
    if (m->around)
        while (place && place->type != &drm_structs[m->around - 1])
            place = place->around;
    else if (place->type->flags & DRM_STRUCT_BORROWED)
        place = place->around;
    return place;
}

static const uint8_t *fetch(struct drm_encoder *e, uint64_t address, uint64_t size, bool careful);

/* UINT64_MAX: what says it is not there. */
static uint64_t sum_of(struct drm_encoder *e, const struct place *place, const struct drm_member *m)
{
    const struct drm_member *list = &drm_members[place->type->first + m->number];
    uint64_t count = drm_count(place->type, list, place->memory);
    uint64_t address = drm_load(place->memory + list->offset, 8);
    const uint8_t *numbers = count && address ? fetch(e, address, 4 * count, e->careful) : NULL;

    if (!numbers)
        return count ? UINT64_MAX : 0;
    return drm_sum((const uint32_t *)(const void *)numbers, count);
}

/* The kernel may say that there is more than the program has room for. */
static uint64_t count_of(struct drm_encoder *e, const struct place *place,
                         const struct drm_member *m)
{
    uint64_t count, room;

    place = counted_in(place, m);
    if (!place)
        return 0;
    if (m->count == DRM_COUNT_SUM)
        return sum_of(e, place, m);
    count = drm_count(place->type, m, place->memory);
    if (!e->is_out || !e->before || place->depth)
        return count;
    room = drm_count(place->type, m, e->before);
    return room < count ? room : count;
}

/* ---- values -----------------------------------------------------------------------------------
 */

static bool is_signed(const struct drm_member *m)
{
    return m->flags & DRM_MEMBER_SIGNED;
}

static int64_t extended(const struct drm_member *m, uint64_t value)
{
    unsigned unused = m->flags & DRM_MEMBER_UNSIGNED ? 0 : 64 - 8 * m->size;

    return (int64_t)(value << unused) >> unused;
}

static void put_number(struct drm_encoder *e, const struct drm_member *m, const uint8_t *at)
{
    uint64_t value = drm_load(at, m->size);

    if (is_signed(m))
        sbt_out_zigzag(&e->out, extended(m, value));
    else
        sbt_out_varint(&e->out, value);
}

/* `at` holds the address. */
static void tell_shared(struct drm_encoder *e, const struct place *place,
                        const struct drm_member *m, const uint8_t *at)
{
    const struct place *counted = counted_in(place, m);

    if (counted && m->count == DRM_COUNT_MEMBER)
        e->shared(e, drm_load(at, m->size), sibling(counted, m->number));
}

static void put_value(struct drm_encoder *e, const struct place *place, const struct drm_member *m,
                      const uint8_t *at, uint64_t address)
{
    struct place inner = {&drm_structs[m->type], at, address, place, place->depth + 1};

    if (m->flags & DRM_MEMBER_USER && e->shared && !e->is_out)
        tell_shared(e, place, m, at);

    if (m->kind == DRM_KIND_STRUCT)
        put_struct(e, &inner);
    else
        put_number(e, m, at);
}

static void put_values(struct drm_encoder *e, const struct place *place, const struct drm_member *m,
                       const uint8_t *values, uint64_t address, uint64_t count)
{
    size_t size = drm_value_size(m);

    if (m->kind == DRM_KIND_TEXT || m->kind == DRM_KIND_BYTES) {
        sbt_out_bytes(&e->out, values,
                      m->kind == DRM_KIND_TEXT ? strnlen((const char *)values, count) : count);
        return;
    }
    sbt_out_list(&e->out, count);
    for (uint64_t i = 0; i < count && !e->out.overflow; i++)
        put_value(e, place, m, values + i * size, address + i * size);
}

/* ---- what pointers lead to ----------------------------------------------------------------------
 */

/* `size` bytes at an address of the program. NULL: they cannot be had. */
static const uint8_t *fetch(struct drm_encoder *e, uint64_t address, uint64_t size, bool careful)
{
    void *copy;

    if (size > LIST_SIZE_MAX)
        return NULL;
    if (!careful)
        return (const uint8_t *)(uintptr_t)address;
    copy = e->memory(e, size);
    return copy && e->read(copy, address, size) ? copy : NULL;
}

/* At an address that may be anything: it ends with a zero byte, and after that there may be
 * nothing. */
static const uint8_t *fetch_text(struct drm_encoder *e, uint64_t address, uint64_t *size)
{
    const uint8_t *all = fetch(e, address, *size, true);
    uint64_t here = PAGE - address % PAGE;

    if (all || here >= *size)
        return all;
    *size = here;
    return fetch(e, address, here, true);
}

static void put_none(struct drm_encoder *e, bool missing)
{
    e->missing |= missing;
    sbt_out_none(&e->out);
}

/* `pointers` to one value each. */
static void put_scattered(struct drm_encoder *e, const struct place *place,
                          const struct drm_member *m, const uint8_t *pointers, uint64_t count)
{
    size_t size = drm_value_size(m);
    uint8_t *copies = e->memory(e, count * size);

    for (uint64_t i = 0; copies && i < count; i++) {
        const uint8_t *at = fetch(e, drm_load(pointers + 8 * i, 8), size, e->careful);
        if (!at) {
            put_none(e, true);
            return;
        }
        memcpy(copies + i * size, at, size);
    }
    if (copies)
        put_values(e, place, m, copies, 0, count);
    else
        put_none(e, true);
}

static void put_list(struct drm_encoder *e, const struct place *place, const struct drm_member *m)
{
    uint64_t address = m->form == DRM_FORM_TAIL ? place->address + m->offset
                                                : drm_load(place->memory + m->offset, 8);
    uint64_t count = count_of(e, place, m);
    size_t size = m->form == DRM_FORM_POINTERS ? 8 : drm_value_size(m);
    bool careful = e->careful || m->form == DRM_FORM_TAIL || (e->is_out && place->depth > 0);
    const uint8_t *values;

    if (!address || !(m->flags & (e->is_out ? DRM_MEMBER_OUT : DRM_MEMBER_IN))) {
        put_none(e, false);
        return;
    }
    if (m->kind == DRM_KIND_TEXT && careful)
        values = fetch_text(e, address, &count);
    else
        values = count ? fetch(e, address, count * size, careful) : place->memory;
    if (!values)
        put_none(e, true);
    else if (m->form == DRM_FORM_POINTERS)
        put_scattered(e, place, m, values, count);
    else
        put_values(e, place, m, values, address, count);
}

/* ---- chains -------------------------------------------------------------------------------------
 */

/* One struct of a chain, read to `memory`. *next: address of the next one. */
static bool put_element(struct drm_encoder *e, const struct place *place,
                        const struct drm_struct *chain, uint8_t *memory, uint64_t *next)
{
    const struct drm_struct *header = drm_chain_header(chain);
    struct place inner = {header, memory, *next, place, place->depth + 1};
    uint32_t one;
    size_t begun;

    if (!e->read(memory, *next, header->size))
        return false;
    one = drm_choose(chain, drm_load_member(header, chain->selector, memory));
    inner.type = &drm_structs[drm_members[chain->first + one].type];
    if (!e->read(memory, *next, inner.type->size))
        return false;
    e->unknown += one == chain->otherwise;
    begun = sbt_out_element(&e->out, SBT_TYPE(SBT_API_DRM, inner.type->id));
    put_struct(e, &inner);
    sbt_out_element_end(&e->out, begun);
    *next = drm_load_member(header, chain->next, memory);
    return true;
}

/* Nobody but the kernel knows whether it reads the chain at all: the address may be anything. */
static void put_chain(struct drm_encoder *e, const struct place *place, const struct drm_member *m)
{
    const struct drm_struct *chain = &drm_structs[m->type];
    uint64_t next = e->is_out ? 0 : drm_load(place->memory + m->offset, 8);
    uint8_t *memory = next && place->depth <= DEPTH_MAX ? e->memory(e, chain->size) : NULL;
    bool careful = e->careful;

    e->careful = true;
    for (uint32_t i = 0; memory && next && i < DRM_CHAIN_MAX && !e->out.overflow; i++)
        if (!put_element(e, place, chain, memory, &next))
            break;
    e->careful = careful;
    e->missing |= next != 0;
    sbt_out_chain_end(&e->out);
}

/* ---- structs ------------------------------------------------------------------------------------
 */

static void put_member(struct drm_encoder *e, const struct place *place, const struct drm_member *m)
{
    const uint8_t *at = place->memory + m->offset;
    uint64_t address = place->address + m->offset;

    if (m->kind == DRM_KIND_NOTHING) {
        if (place->type->flags & DRM_STRUCT_UNION)
            sbt_out_none(&e->out);
    } else if (m->form == DRM_FORM_ONE) {
        put_value(e, place, m, at, address);
    } else if (m->form == DRM_FORM_ARRAY) {
        put_values(e, place, m, at, address, m->number);
    } else if (m->form == DRM_FORM_CHAIN) {
        put_chain(e, place, m);
    } else {
        put_list(e, place, m);
    }
}

static uint32_t chosen(const struct place *place)
{
    if (place->type->selector == DRM_NO_MEMBER || !place->around)
        return place->type->otherwise;
    return drm_choose(place->type, sibling(place->around, place->type->selector));
}

uint8_t *drm_encode_flat(uint8_t *out, const struct drm_struct *type, const void *memory)
{
    const struct drm_member *m = &drm_members[type->first], *end = m + type->count;

    for (; m < end; m++) {
        uint64_t value = drm_load((const uint8_t *)memory + m->offset, m->size);
        if (__builtin_expect(is_signed(m), 0))
            value = tsm_zigzag(extended(m, value));
        while (__builtin_expect(value >= 0x80, 0)) {
            *out++ = (uint8_t)(value | 0x80);
            value >>= 7;
        }
        *out++ = (uint8_t)value;
    }
    return out;
}

static void put_struct(struct drm_encoder *e, const struct place *place)
{
    const struct drm_member *members = &drm_members[place->type->first];
    uint32_t one;

    if (place->type->flags & DRM_STRUCT_FLAT) {
        if (sbt_out_room(&e->out, DRM_VALUE_SIZE_MAX * (size_t)place->type->count))
            e->out.at = drm_encode_flat(e->out.at, place->type, place->memory);
        return;
    }

    if (!(place->type->flags & DRM_STRUCT_UNION)) {
        for (uint32_t i = 0; i < place->type->count; i++)
            put_member(e, place, &members[i]);
        return;
    }
    one = chosen(place);
    if (one >= place->type->count || place->depth > DEPTH_MAX) {
        sbt_out_none(&e->out);
        return;
    }
    sbt_out_varint(&e->out, one + 1);
    put_member(e, place, &members[one]);
}

void drm_encode(struct drm_encoder *e, uint32_t type, const void *memory)
{
    struct place place = {&drm_structs[type], memory, e->address, NULL, 0};

    put_struct(e, &place);
}
