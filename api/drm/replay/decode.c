/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/replay/decode.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/error.h"

static int decode_struct(struct drm_decoder *d, uint32_t type, uint8_t *memory);

uint8_t *drm_decode_take(struct drm_decoder *d, const struct drm_member *of, uint64_t size)
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
    block->of = of;
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

int drm_decode_malformed(void)
{
    return tsm_fail(TSM_E_FORMAT,
                    "an ioctl's argument is not what the tables of this build expect");
}

/* Bytes for the values at the end of a struct: each takes one byte of the trace, at least. */
static uint64_t tail_room(const struct drm_decoder *d, const struct drm_struct *type)
{
    for (uint32_t i = 0; i < type->count; i++)
        if (drm_members[type->first + i].form == DRM_FORM_TAIL)
            return d->value_size * drm_value_size(&drm_members[type->first + i]);
    return 0;
}

/* 1: a step; 0: the value is over. */
static int next(struct drm_decoder *d, struct sbt_step *step)
{
    int got = sbt_walk_next(&d->walk, step);

    return got < 0 ? drm_decode_malformed() : got;
}

/* Skips to the end of what `step` has opened. */
static int skip(struct drm_decoder *d, const struct sbt_step *opened)
{
    struct sbt_step step;
    int got = 1;

    if (opened->kind != SBT_STEP_OPEN)
        return 0;
    while ((got = next(d, &step)) == 1)
        if (step.kind == SBT_STEP_CLOSE && step.depth == opened->depth)
            return 0;
    return got < 0 ? got : drm_decode_malformed();
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
                   : drm_decode_malformed();
    return step->kind == SBT_STEP_VALUE ? put_number(d, m, at, step->number)
                                        : drm_decode_malformed();
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
    return error ? error : drm_decode_malformed();
}

static bool is_bytes(const struct drm_member *m)
{
    return m->kind == DRM_KIND_TEXT || m->kind == DRM_KIND_BYTES;
}

/* `room`: for so many values. */
static int put_array(struct drm_decoder *d, const struct drm_member *m, uint8_t *at, uint64_t room,
                     const struct sbt_step *step)
{
    if (is_bytes(m)) {
        size_t size = step->size < room ? step->size : room;
        if (step->kind != SBT_STEP_VALUE)
            return drm_decode_malformed();
        if (step->data)
            memcpy(at, step->data, size);
        return 0;
    }
    if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_LIST)
        return put_items(d, m, at, room, step);
    return step->none ? 0 : drm_decode_malformed();
}

/* Addresses of `count` values, which lie at `values`. */
static uint8_t *point_to(struct drm_decoder *d, const struct drm_member *m, uint8_t *values,
                         uint64_t count)
{
    uint8_t *pointers = drm_decode_take(d, m, 8 * count);

    for (uint64_t i = 0; pointers && i < count; i++)
        drm_store(pointers + 8 * i, (uintptr_t)values + i * drm_value_size(m), 8);
    return pointers;
}

static int put_list(struct drm_decoder *d, const struct drm_member *m, uint8_t *at,
                    const struct sbt_step *step)
{
    uint8_t *values;
    uint64_t count = is_bytes(m) ? step->size : step->number, size = count * drm_value_size(m);
    int error = 0;

    if (step->kind == SBT_STEP_VALUE && step->none)
        return 0;
    if (count > DRM_DECODE_MAX)
        return drm_decode_malformed();
    if (m->kind == DRM_KIND_STRUCT)
        size += tail_room(d, &drm_structs[m->type]);
    values = drm_decode_take(d, m, size);
    if (!values)
        return TSM_E_MEMORY;
    if (is_bytes(m) && step->kind == SBT_STEP_VALUE)
        memcpy(values, step->data, count);
    else if (!is_bytes(m) && step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_LIST)
        error = put_items(d, m, values, count, step);
    else
        error = drm_decode_malformed();
    if (!error && m->form == DRM_FORM_POINTERS && !(values = point_to(d, m, values, count)))
        error = TSM_E_MEMORY;
    drm_store(at, (uintptr_t)values, 8);
    return error;
}

/* ---- chains -------------------------------------------------------------------------------------
 */

/* Place of the member that has this name; `count`: none. */
static uint32_t place_named(const struct drm_struct *type, const char *name)
{
    uint32_t i = 0;

    while (i < type->count && strcmp(drm_text + drm_members[type->first + i].name, name))
        i++;
    return i;
}

/* One struct of a chain, whose first step is `step`; *link: where its address goes, and then where
 * that of the next one does. */
static int put_element(struct drm_decoder *d, const struct drm_member *m, uint8_t **link,
                       const struct sbt_step *step)
{
    const struct drm_struct *chain = &drm_structs[m->type], *header = drm_chain_header(chain);
    uint32_t one =
        step->kind == SBT_STEP_OPEN ? place_named(chain, step->structure->name) : chain->otherwise;
    uint32_t type;
    uint8_t *memory;
    int error;

    if (one == chain->otherwise || one == chain->count)
        return tsm_fail(TSM_E_UNSUPPORTED, "an extension of an ioctl's argument is not known: %s",
                        drm_text + chain->name);
    type = drm_members[chain->first + one].type;
    memory = drm_decode_take(d, m, drm_structs[type].size + tail_room(d, &drm_structs[type]));
    if (!memory)
        return TSM_E_MEMORY;
    drm_block_of(memory)->type = type;
    drm_store(*link, (uintptr_t)memory, 8);
    error = decode_struct(d, type, memory);
    *link = memory + drm_members[header->first + chain->next].offset;
    return error;
}

static int put_chain(struct drm_decoder *d, const struct drm_member *m, uint8_t *link,
                     const struct sbt_step *opened)
{
    struct sbt_step step;
    int got, error = 0;

    if (opened->kind == SBT_STEP_VALUE && !opened->number)
        return 0; /* a trace from before they were followed */
    if (opened->kind != SBT_STEP_OPEN || opened->shape != SBT_SHAPE_CHAIN)
        return drm_decode_malformed();
    while (!error && (got = next(d, &step)) == 1) {
        if (step.kind == SBT_STEP_CLOSE && step.depth == opened->depth)
            return 0;
        error = put_element(d, m, &link, &step);
    }
    return error ? error : drm_decode_malformed();
}

/* ---- structs ------------------------------------------------------------------------------------
 */

static int put_member(struct drm_decoder *d, const struct drm_struct *type, uint8_t *memory,
                      const struct sbt_step *step)
{
    uint32_t place = step->member ? place_named(type, step->member->name) : type->count;
    const struct drm_member *m = &drm_members[type->first + place];

    if (place == type->count || m->kind == DRM_KIND_NOTHING)
        return skip(d, step);
    switch (m->form) {
    case DRM_FORM_ONE:
        return put_value(d, m, memory + m->offset, step);
    case DRM_FORM_ARRAY:
        return put_array(d, m, memory + m->offset, m->number, step);
    case DRM_FORM_TAIL:
        return put_array(d, m, memory + m->offset, d->value_size, step);
    case DRM_FORM_CHAIN:
        return put_chain(d, m, memory + m->offset, step);
    default:
        return put_list(d, m, memory + m->offset, step);
    }
}

/* Its OPEN was read; up to its CLOSE. */
static int decode_struct(struct drm_decoder *d, uint32_t type, uint8_t *memory)
{
    const struct drm_struct *t = &drm_structs[type];
    struct sbt_step step;
    int got, error = 0;

    while (!error && (got = next(d, &step)) == 1) {
        if (step.kind == SBT_STEP_CLOSE)
            return 0;
        error = put_member(d, t, memory, &step);
    }
    return error ? error : drm_decode_malformed();
}

int drm_decode(struct drm_decoder *d, uint32_t type, const void *data, size_t size, uint8_t **out)
{
    struct sbt_step step;
    int error = sbt_walk_begin(&d->walk, d->reader, drm_text + drm_structs[type].name, data, size);

    d->value_size = size;
    *out = error < 0 ? NULL
                     : drm_decode_take(d, NULL,
                                       drm_structs[type].size + tail_room(d, &drm_structs[type]));
    if (!*out)
        return error < 0 ? error : TSM_E_MEMORY;
    if (next(d, &step) != 1 || step.kind != SBT_STEP_OPEN || step.shape != SBT_SHAPE_STRUCT)
        return drm_decode_malformed();
    error = decode_struct(d, type, *out);
    return error ? error : drm_decode_check_reach(d, type, *out);
}
