/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/core/object.h"

#include <pthread.h>
#include <stdint.h>

#include "base/map.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tsm_map kinds; /* by handle */

bool emu_object_add(enum emu_kind kind, const void *handle)
{
    uint64_t *place;
    bool added;

    pthread_mutex_lock(&lock);
    place = tsm_map_insert(&kinds, (uintptr_t)handle, &added);
    if (place)
        *place = kind;
    pthread_mutex_unlock(&lock);
    return place;
}

void emu_object_remove(const void *handle)
{
    pthread_mutex_lock(&lock);
    tsm_map_remove(&kinds, (uintptr_t)handle);
    pthread_mutex_unlock(&lock);
}

bool emu_object_is(enum emu_kind kind, const void *handle)
{
    const uint64_t *place;
    bool is;

    if (!handle)
        return false;
    pthread_mutex_lock(&lock);
    place = tsm_map_find(&kinds, (uintptr_t)handle);
    is = place && *place == kind;
    pthread_mutex_unlock(&lock);
    return is;
}
