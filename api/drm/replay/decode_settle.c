/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes through an argument made of a trace as the kernel is going to: by its counts and selectors,
 * whatever the trace said was there. Everything that a pointer leads to must be memory of the
 * decoder's that was made for that pointer, and as much as the counts promise.
 */
#include "api/drm/replay/decode.h"

#include "tracesmith/error.h"

#include <string.h>

#define BLOCK_SEARCH_MAX 4096

/* A struct, and the one around it. */
struct place {
    const struct drm_struct *type;
    uint8_t *memory;
    const struct place *around;
    bool unsure; /* in a union: what is there may have been put there as something else */
};

static int settle_struct(struct drm_decoder *d, const struct place *place);

/* Returns the block that pointer `m` leads to; NULL: none of ours. */
static struct drm_block *find_block(const struct drm_decoder *d, const struct place *place,
                                    const struct drm_member *m, uint64_t there)
{
    struct drm_block *block = d->blocks;

    if (!place->unsure)
        return drm_block_of((void *)(uintptr_t)there);
    for (int i = 0; block && i < BLOCK_SEARCH_MAX && (uintptr_t)block->bytes != there; i++)
        block = block->next;
    return block && (uintptr_t)block->bytes == there && block->of == m ? block : NULL;
}

static const struct place *counted_in(const struct place *place, const struct drm_member *m)
{
    if (m->around)
        while (place && place->type != &drm_structs[m->around - 1])
            place = place->around;
    else if (place->type->flags & DRM_STRUCT_BORROWED)
        place = place->around;
    return place;
}

/* UINT64_MAX: what says it is not there. */
static uint64_t count_of(const struct drm_decoder *d, const struct place *place,
                         const struct drm_member *m)
{
    const struct drm_member *list;
    const struct drm_block *block;
    uint64_t count, there;

    place = counted_in(place, m);
    if (!place)
        return UINT64_MAX;
    if (m->count != DRM_COUNT_SUM)
        return drm_count(place->type, m, place->memory);
    list = &drm_members[place->type->first + m->number];
    count = drm_count(place->type, list, place->memory);
    there = drm_load(place->memory + list->offset, 8);
    block = count && there ? find_block(d, place, list, there) : NULL;
    if (!block)
        return count ? UINT64_MAX : 0;
    return count <= block->size / 4 ? drm_sum((const uint32_t *)(const void *)block->bytes, count)
                                    : UINT64_MAX;
}

static bool is_plain(const struct drm_member *m)
{
    return m->kind != DRM_KIND_STRUCT || drm_structs[m->type].flags & DRM_STRUCT_FLAT;
}

/* `count` values, one after the other. */
static int settle_values(struct drm_decoder *d, const struct place *place,
                         const struct drm_member *m, uint8_t *values, uint64_t count)
{
    int error = 0;

    for (uint64_t i = 0; !is_plain(m) && i < count && !error; i++) {
        const struct place inner = {&drm_structs[m->type], values + i * drm_value_size(m), place,
                                    place->unsure};
        error = settle_struct(d, &inner);
    }
    return error;
}

static int make_room(struct drm_decoder *d, const struct drm_member *m, uint8_t *at, uint64_t count)
{
    uint8_t *values;

    if (!count)
        return 0;
    values = drm_decode_take(d, m, count * drm_value_size(m));
    drm_store(at, (uintptr_t)values, 8);
    return values ? 0 : TSM_E_LIMIT;
}

/* The trace has a text up to its end; the kernel may read all that there was room for. */
static uint8_t *lengthened(struct drm_decoder *d, const struct drm_member *m,
                           const struct drm_block *text, uint64_t size)
{
    uint8_t *bytes = drm_decode_take(d, m, size);

    if (bytes)
        memcpy(bytes, text->bytes, text->size);
    return bytes;
}

static int settle_list(struct drm_decoder *d, const struct place *place, const struct drm_member *m,
                       uint64_t count)
{
    uint64_t there = drm_load(place->memory + m->offset, 8);
    bool scattered = m->form == DRM_FORM_POINTERS;
    const struct drm_block *block;
    int error = 0;

    if (!there && !(m->flags & DRM_MEMBER_OUT))
        return 0;
    if (count > DRM_DECODE_MAX)
        return drm_decode_malformed();
    if (!there)
        return make_room(d, m, place->memory + m->offset, count);
    block = find_block(d, place, m, there);
    if (block && m->kind == DRM_KIND_TEXT && block->size < count) {
        there = (uintptr_t)lengthened(d, m, block, count);
        drm_store(place->memory + m->offset, there, 8);
        return there ? 0 : TSM_E_LIMIT;
    }
    if (!block || block->size < count * (scattered ? 8 : drm_value_size(m)))
        return drm_decode_malformed();
    if (!scattered)
        return settle_values(d, place, m, (uint8_t *)(uintptr_t)there, count);
    for (uint64_t i = 0; i < count && !error; i++)
        error =
            settle_values(d, place, m, (uint8_t *)(uintptr_t)drm_load(block->bytes + 8 * i, 8), 1);
    return error;
}

/* The struct has its block for itself. */
static int settle_tail(struct drm_decoder *d, const struct place *place, const struct drm_member *m,
                       uint64_t count)
{
    if (count > DRM_DECODE_MAX ||
        drm_block_of(place->memory)->size < m->offset + count * drm_value_size(m))
        return drm_decode_malformed();
    return settle_values(d, place, m, place->memory + m->offset, count);
}

static int settle_chain(struct drm_decoder *d, const struct place *place,
                        const struct drm_member *m)
{
    const struct drm_struct *chain = &drm_structs[m->type], *header = drm_chain_header(chain);
    uint64_t there = drm_load(place->memory + m->offset, 8);
    int error = 0;

    for (uint32_t i = 0; there && !error; i++) {
        struct drm_block *block = find_block(d, place, m, there);
        struct place inner = {NULL, block ? block->bytes : NULL, place, place->unsure};
        uint32_t one;
        if (!block || i == DRM_CHAIN_MAX)
            return drm_decode_malformed();
        one = drm_choose(chain, drm_load_member(header, chain->selector, block->bytes));
        if (one == chain->otherwise || drm_members[chain->first + one].type != block->type)
            return drm_decode_malformed();
        inner.type = &drm_structs[block->type];
        error = settle_struct(d, &inner);
        there = drm_load_member(header, chain->next, block->bytes);
    }
    return error;
}

/* Addresses that are no pointers to anything the kernel reads in this call. */
static int settle_address(struct drm_decoder *d, const struct place *place,
                          const struct drm_member *m)
{
    const struct place *counted = counted_in(place, m);
    uint64_t value = drm_load(place->memory + m->offset, m->size), size = 0;

    if (!value || !d->address)
        return 0;
    if (m->flags & DRM_MEMBER_USER && counted && m->count == DRM_COUNT_MEMBER)
        size = drm_load_member(counted->type, m->number, counted->memory);
    if (!d->address(d->user, m, size, &value))
        return TSM_E_NOT_FOUND;
    drm_store(place->memory + m->offset, value, m->size);
    return 0;
}

static int settle_member(struct drm_decoder *d, const struct place *place,
                         const struct drm_member *m)
{
    uint64_t count;

    if (m->kind == DRM_KIND_NOTHING)
        return 0;
    if (m->kind == DRM_KIND_HOSTPTR && m->form == DRM_FORM_ONE)
        return settle_address(d, place, m);
    if (m->form == DRM_FORM_ONE || m->form == DRM_FORM_ARRAY)
        return settle_values(d, place, m, place->memory + m->offset,
                             m->form == DRM_FORM_ONE ? 1 : m->number);
    if (m->form == DRM_FORM_CHAIN)
        return settle_chain(d, place, m);
    count = count_of(d, place, m);
    return m->form == DRM_FORM_TAIL ? settle_tail(d, place, m, count)
                                    : settle_list(d, place, m, count);
}

/* Settles the members of a struct. A union without a selector does not say which member is meant:
 * all of them must be right. */
static int settle_struct(struct drm_decoder *d, const struct place *place)
{
    const struct drm_struct *t = place->type;
    struct place here = *place;
    uint32_t first = 0, end = t->count;
    int error = 0;

    if (t->flags & DRM_STRUCT_UNION) {
        here.unsure = true;
        if (t->selector != DRM_NO_MEMBER && place->around) {
            const struct place *around = place->around;
            first = drm_choose(t, drm_load_member(around->type, t->selector, around->memory));
            end = first < t->count ? first + 1 : first;
        }
    }
    for (uint32_t i = first; i < end && !error; i++)
        error = settle_member(d, &here, &drm_members[t->first + i]);
    return error;
}

int drm_decode_check_reach(struct drm_decoder *d, uint32_t type, uint8_t *memory)
{
    const struct place place = {&drm_structs[type], memory, NULL, false};

    return settle_struct(d, &place);
}
