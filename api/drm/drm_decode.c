/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/drm_decode.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/error.h"

#define BLOCK_SEARCH_MAX 4096

/* Memory of a value, given back all at once. */
struct drm_block {
    struct drm_block *next;
    uint64_t size; /* of bytes */
    uint8_t bytes[];
};

static int decode_struct(struct drm_decoder *d, uint32_t type, uint8_t *memory);

static uint8_t *take(struct drm_decoder *d, uint64_t size)
{
    struct drm_block *block;

    if (size > DRM_DECODE_MAX - d->used) {
        tsm_fail(TSM_E_LIMIT, "an ioctl's argument is over this build's limit of %u bytes",
                 DRM_DECODE_MAX);
        return NULL;
    }
    block = calloc(1, sizeof(*block) + size + 8);
    if (!block) {
        tsm_fail(TSM_E_MEMORY, "no memory for an ioctl's argument");
        return NULL;
    }
    d->used += size;
    block->next = d->blocks;
    block->size = size;
    d->blocks = block;
    return block->bytes;
}

void drm_decode_finish(struct drm_decoder *d)
{
    while (d->blocks) {
        struct drm_block *next = d->blocks->next;
        free(d->blocks);
        d->blocks = next;
    }
    d->used = 0;
}

static int malformed(void)
{
    return tsm_fail(TSM_E_FORMAT,
                    "an ioctl's argument is not what the tables of this build expect");
}

/* 1: a step; 0: the value is over. */
static int next(struct drm_decoder *d, struct sbt_step *step)
{
    int got = sbt_walk_next(&d->walk, step);

    return got < 0 ? malformed() : got;
}

/* What `step` has opened is over. */
static int skip(struct drm_decoder *d, const struct sbt_step *opened)
{
    struct sbt_step step;
    int got = 1;

    if (opened->kind != SBT_STEP_OPEN)
        return 0;
    while ((got = next(d, &step)) == 1)
        if (step.kind == SBT_STEP_CLOSE && step.depth == opened->depth)
            return 0;
    return got < 0 ? got : malformed();
}

/* ---- values -----------------------------------------------------------------------------------
 */

static int put_number(struct drm_decoder *d, const struct drm_member *m, uint8_t *at,
                      uint64_t value)
{
    bool is_object = m->kind == DRM_KIND_HANDLE || m->kind == DRM_KIND_FD;

    if (d->keeps_targets && !strcmp(drm_text + m->name, "target_handle"))
        is_object = false;
    if (is_object && d->translate && !d->translate(d->user, m, &value))
        return TSM_E_NOT_FOUND;
    drm_store(at, value, m->size);
    return 0;
}

/* One value, of which `step` is the first step. */
static int put_value(struct drm_decoder *d, const struct drm_member *m, uint8_t *at,
                     const struct sbt_step *step)
{
    if (m->kind == DRM_KIND_STRUCT)
        return step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_STRUCT
                   ? decode_struct(d, m->type, at)
                   : malformed();
    return step->kind == SBT_STEP_VALUE ? put_number(d, m, at, step->number) : malformed();
}

/* A list that `opened` has opened; no more than `room` values are kept. */
static int put_items(struct drm_decoder *d, const struct drm_member *m, uint8_t *values,
                     uint64_t room, const struct sbt_step *opened)
{
    size_t size = drm_value_size(m);
    struct sbt_step step;
    int got, error = 0;

    while (!error && (got = next(d, &step)) == 1) {
        if (step.kind == SBT_STEP_CLOSE && step.depth == opened->depth)
            return 0;
        error =
            step.index < room ? put_value(d, m, values + step.index * size, &step) : skip(d, &step);
    }
    return error ? error : malformed();
}

static bool is_bytes(const struct drm_member *m)
{
    return m->kind == DRM_KIND_TEXT || m->kind == DRM_KIND_BYTES;
}

static int put_array(struct drm_decoder *d, const struct drm_member *m, uint8_t *at,
                     const struct sbt_step *step)
{
    if (is_bytes(m)) {
        size_t size = step->size < m->number ? step->size : m->number;
        if (step->kind != SBT_STEP_VALUE)
            return malformed();
        if (step->data)
            memcpy(at, step->data, size);
        return 0;
    }
    if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_LIST)
        return put_items(d, m, at, m->number, step);
    return step->none ? 0 : malformed();
}

/* Addresses of `count` values, which lie at `values`. */
static uint8_t *point_to(struct drm_decoder *d, const struct drm_member *m, uint8_t *values,
                         uint64_t count)
{
    uint8_t *pointers = take(d, 8 * count);

    for (uint64_t i = 0; pointers && i < count; i++)
        drm_store(pointers + 8 * i, (uintptr_t)values + i * drm_value_size(m), 8);
    return pointers;
}

static int put_list(struct drm_decoder *d, const struct drm_member *m, uint8_t *at,
                    const struct sbt_step *step)
{
    uint8_t *values;
    uint64_t count = is_bytes(m) ? step->size : step->number;
    int error = 0;

    if (m->form == DRM_FORM_TAIL)
        return tsm_fail(TSM_E_UNSUPPORTED, "an ioctl's argument has values behind its end");
    if (step->kind == SBT_STEP_VALUE && step->none)
        return 0;
    if (count > DRM_DECODE_MAX || !(values = take(d, count * drm_value_size(m))))
        return count > DRM_DECODE_MAX ? malformed() : TSM_E_MEMORY;
    if (is_bytes(m) && step->kind == SBT_STEP_VALUE)
        memcpy(values, step->data, count);
    else if (!is_bytes(m) && step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_LIST)
        error = put_items(d, m, values, count, step);
    else
        error = malformed();
    if (!error && m->form == DRM_FORM_POINTERS && !(values = point_to(d, m, values, count)))
        error = TSM_E_MEMORY;
    drm_store(at, (uintptr_t)values, 8);
    return error;
}

/* ---- structs ------------------------------------------------------------------------------------
 */

static const struct drm_member *find_member(const struct drm_struct *type, const char *name)
{
    for (uint32_t i = 0; i < type->count; i++)
        if (!strcmp(drm_text + drm_members[type->first + i].name, name))
            return &drm_members[type->first + i];
    return NULL;
}

static int put_member(struct drm_decoder *d, const struct drm_struct *type, uint8_t *memory,
                      const struct sbt_step *step)
{
    const struct drm_member *m = step->member ? find_member(type, step->member->name) : NULL;

    if (!m || m->kind == DRM_KIND_NOTHING)
        return skip(d, step);
    if (m->form == DRM_FORM_ONE)
        return put_value(d, m, memory + m->offset, step);
    return m->form == DRM_FORM_ARRAY ? put_array(d, m, memory + m->offset, step)
                                     : put_list(d, m, memory + m->offset, step);
}

static uint64_t count_of(const struct drm_struct *type, const struct drm_member *m,
                         const uint8_t *memory)
{
    const struct drm_member *counter;
    uint64_t count;

    if (m->count != DRM_COUNT_MEMBER)
        return m->number;
    counter = &drm_members[type->first + m->number];
    count = drm_load(memory + counter->offset, counter->size);
    return count > DRM_DECODE_MAX ? DRM_DECODE_MAX : count * m->scale / m->per;
}

static bool is_list(const struct drm_member *m)
{
    return m->form == DRM_FORM_LIST || m->form == DRM_FORM_POINTERS;
}

/* A list has as many values as the struct says: the kernel believes that. */
static bool is_whole(const struct drm_member *m, const struct drm_block *block, uint64_t count)
{
    return block->size >= count * (m->form == DRM_FORM_POINTERS ? 8 : drm_value_size(m));
}

/* In a union there may be anything at the place of a list's address. */
static const struct drm_block *find_block(const struct drm_decoder *d, uint64_t values)
{
    const struct drm_block *block = d->blocks;

    for (int i = 0; block && i < BLOCK_SEARCH_MAX && (uintptr_t)block->bytes != values; i++)
        block = block->next;
    return block && (uintptr_t)block->bytes == values ? block : NULL;
}

/* A list of a union whose count and kind lie in the struct around it, as the kernel will see it. */
static int check_borrowed(const struct drm_decoder *d, const struct drm_struct *type,
                          const struct drm_member *m, const uint8_t *memory)
{
    const struct drm_struct *borrowed = &drm_structs[m->type];
    uint32_t one = borrowed->otherwise;
    const struct drm_block *block;
    const struct drm_member *list, *selector;
    uint64_t there;

    if (borrowed->selector != DRM_NO_MEMBER) {
        selector = &drm_members[type->first + borrowed->selector];
        one = drm_choose(borrowed, drm_load(memory + selector->offset, selector->size));
    }
    list = one < borrowed->count ? &drm_members[borrowed->first + one] : NULL;
    there = list && is_list(list) ? drm_load(memory + m->offset + list->offset, 8) : 0;
    if (!there)
        return 0;
    block = find_block(d, there);
    return block && is_whole(list, block, count_of(type, list, memory)) ? 0 : malformed();
}

/* The kernel is going to read `there`. */
static int check_list(const struct drm_decoder *d, const struct drm_struct *type,
                      const struct drm_member *m, uint64_t there, uint64_t count)
{
    const struct drm_block *block =
        (const void *)(uintptr_t)(there - offsetof(struct drm_block, bytes));

    if (type->flags & DRM_STRUCT_UNION)
        block = find_block(d, there);
    return block && is_whole(m, block, count) ? 0 : malformed();
}

/* What the kernel is going to write has to go somewhere. */
static int make_room(struct drm_decoder *d, const struct drm_struct *type, uint8_t *memory)
{
    for (uint32_t i = 0; i < type->count; i++) {
        const struct drm_member *m = &drm_members[type->first + i];
        uint64_t count, there = is_list(m) ? drm_load(memory + m->offset, 8) : 0;
        bool is_borrowed = m->kind == DRM_KIND_STRUCT && m->form == DRM_FORM_ONE &&
                           drm_structs[m->type].flags & DRM_STRUCT_BORROWED;
        uint8_t *values;
        if (type->flags & DRM_STRUCT_BORROWED)
            return 0;
        if (is_borrowed && check_borrowed(d, type, m, memory))
            return TSM_E_FORMAT;
        if (!is_list(m))
            continue;
        count = count_of(type, m, memory);
        if (there && check_list(d, type, m, there, count))
            return TSM_E_FORMAT;
        if (there || !(m->flags & DRM_MEMBER_OUT))
            continue;
        values = count ? take(d, count * drm_value_size(m)) : NULL;
        if (count && !values)
            return TSM_E_LIMIT;
        drm_store(memory + m->offset, (uintptr_t)values, 8);
    }
    return 0;
}

/* Its OPEN was read; up to its CLOSE. */
static int decode_struct(struct drm_decoder *d, uint32_t type, uint8_t *memory)
{
    const struct drm_struct *t = &drm_structs[type];
    struct sbt_step step;
    int got, error = 0;

    while (!error && (got = next(d, &step)) == 1) {
        if (step.kind == SBT_STEP_CLOSE)
            return make_room(d, t, memory);
        error = put_member(d, t, memory, &step);
    }
    return error ? error : malformed();
}

int drm_decode(struct drm_decoder *d, uint32_t type, const void *data, size_t size, uint8_t **out)
{
    struct sbt_step step;
    int error = sbt_walk_begin(&d->walk, d->reader, drm_text + drm_structs[type].name, data, size);

    *out = error < 0 ? NULL : take(d, drm_structs[type].size);
    if (!*out)
        return error < 0 ? error : TSM_E_MEMORY;
    if (next(d, &step) != 1 || step.kind != SBT_STEP_OPEN || step.shape != SBT_SHAPE_STRUCT)
        return malformed();
    return decode_struct(d, type, *out);
}
