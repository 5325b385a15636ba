/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/tables.h"

#include <string.h>

#define NUMBER_AND_TYPE 0xffffu /* of a request: without direction and size */

/* Ioctls of drivers, in the kernel's numbering; the rest of 'd' is core. */
#define DRIVER_FIRST 0x40u
#define DRIVER_END   0xa0u

uint32_t drm_family_of_driver(const char *driver)
{
    for (uint32_t f = 0; f < DRM_FAMILY_COUNT; f++)
        for (uint32_t i = 0; i < DRM_DRIVER_MAX && drm_families[f].drivers[i]; i++)
            if (strcmp(drm_text + drm_families[f].drivers[i], driver) == 0)
                return f;
    return DRM_FAMILY_COUNT;
}

uint32_t drm_family_of_node(enum drm_node node)
{
    for (uint32_t f = 0; node != DRM_NODE_DRM && f < DRM_FAMILY_COUNT; f++)
        if (drm_families[f].node == node)
            return f;
    return DRM_FAMILY_COUNT;
}

/* By family and number: place of the first row + 1, 0 none. Filled by drm_tables_index(). */
static uint16_t first_rows[DRM_FAMILY_COUNT][256];

void drm_tables_index(void)
{
    for (uint32_t i = DRM_IOCTL_COUNT; i-- > 0;)
        first_rows[drm_ioctls[i].family][drm_ioctls[i].request & 0xff] = (uint16_t)(i + 1);
}

/* Exactly this one, or else the first with its number. */
static const struct drm_ioctl *find_in(uint32_t family, uint32_t request)
{
    uint32_t place = first_rows[family][request & 0xff];
    const struct drm_ioctl *row = &drm_ioctls[place - 1], *end, *like = NULL;

    if (!place)
        return NULL;
    if (__builtin_expect(row->request == request, 1))
        return row;
    end = &drm_ioctls[drm_families[family].first + drm_families[family].count];
    for (; row < end && (row->request & 0xff) == (request & 0xff); row++) {
        if (row->request == request)
            return row;
        if (!like && (row->request & NUMBER_AND_TYPE) == (request & NUMBER_AND_TYPE))
            like = row;
    }
    return like;
}

const struct drm_ioctl *drm_ioctl_find(enum drm_node node, uint32_t family, uint32_t request)
{
    uint32_t number = request & 0xff;

    if (node == DRM_NODE_DRM && (number < DRIVER_FIRST || number >= DRIVER_END))
        family = DRM_FAMILY_CORE;
    return family < DRM_FAMILY_COUNT ? find_in(family, request) : NULL;
}

const struct drm_ioctl *drm_ioctl_numbered(uint32_t id)
{
    for (uint32_t i = 0; i < DRM_IOCTL_COUNT; i++)
        if (drm_ioctls[i].id == id)
            return &drm_ioctls[i];
    return NULL;
}

bool drm_tells_done(const struct drm_ioctl *row, const void *out, size_t size)
{
    struct drm_place p = row->tells;

    if (!p.size || row->done == DRM_TELLS_POINTS)
        return p.size || row->kind == SBT_KIND_SYNC;
    return p.offset + (size_t)p.size <= size &&
           drm_load((const uint8_t *)out + p.offset, p.size) == row->done;
}

uint32_t drm_struct_named(const char *name)
{
    for (uint32_t i = 0; i < DRM_STRUCT_COUNT; i++)
        if (strcmp(drm_text + drm_structs[i].name, name) == 0)
            return i;
    return DRM_STRUCT_COUNT;
}

uint32_t drm_choose(const struct drm_struct *type, uint64_t selector)
{
    for (uint32_t i = 0; i < type->choice_count; i++)
        if (drm_choices[type->choice_first + i].value == (selector & type->mask))
            return drm_choices[type->choice_first + i].place;
    return type->otherwise;
}

static uint64_t at_most_u32(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : value;
}

uint64_t drm_sum(const uint32_t *numbers, uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum = at_most_u32(sum + numbers[i]);
    return sum;
}

uint64_t drm_count(const struct drm_struct *type, const struct drm_member *m, const void *memory)
{
    uint64_t count = m->number;

    if (m->count == DRM_COUNT_MEMBER) {
        count = drm_load_member(type, m->number, memory);
        count = at_most_u32(count < m->less ? 0 : count - m->less);
        if (m->factor)
            count = at_most_u32(count * at_most_u32(drm_load_member(type, m->factor - 1u, memory)));
        count = count * m->scale / m->per;
    }
    return m->flags & DRM_MEMBER_ONCE && count > 1 ? 1 : count;
}
