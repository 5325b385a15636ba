/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#define COUNT_FIRST 16

/* A caller's pointer has a type of its own, so that it is read and written as bytes. */
bool tsm_array_resize(void *items, size_t count, size_t size)
{
    void *old, *grown;

    if (count > SIZE_MAX / size)
        return false;
    memcpy(&old, items, sizeof(old));
    grown = realloc(old, (count ? count : 1) * size);
    if (grown)
        memcpy(items, &grown, sizeof(grown));
    return grown;
}

bool tsm_array_grow(void *items, size_t *capacity, size_t need, size_t size)
{
    size_t more = *capacity ? *capacity : COUNT_FIRST;

    if (need <= *capacity)
        return true;
    if (need > SIZE_MAX / 2)
        return false;
    while (more < need)
        more *= 2;
    if (!tsm_array_resize(items, more, size))
        return false;
    *capacity = more;
    return true;
}

bool tsm_array_grow_zeroed(void *items, size_t *capacity, size_t need, size_t size)
{
    size_t old = *capacity;
    char *grown;

    if (!tsm_array_grow(items, capacity, need, size))
        return false;
    memcpy(&grown, items, sizeof(grown));
    if (*capacity > old)
        memset(grown + old * size, 0, (*capacity - old) * size);
    return true;
}
