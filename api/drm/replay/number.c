/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/replay/replay.h"

#include <unistd.h>

static uint64_t key_of(uint32_t file, uint32_t kind, uint64_t recorded)
{
    uint64_t key = (uint64_t)file << 8 | kind;

    /* Offsets have up to 64 bits. Two that meet would have to be made to. */
    return (key * 0x9e3779b97f4a7c15u) ^ recorded;
}

bool drm_number_known(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded,
                      uint64_t *out)
{
    const uint64_t *actual;

    pthread_mutex_lock(&r->lock);
    actual = tsm_map_find(&r->numbers, key_of(file, kind, recorded));
    if (actual)
        *out = *actual;
    pthread_mutex_unlock(&r->lock);
    return actual != NULL;
}

int drm_number_find(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded,
                    const char *what, uint64_t *out)
{
    return drm_number_known(r, file, kind, recorded, out)
               ? 0
               : tsm_fail(TSM_E_NOT_FOUND, "%s#%llu was not made in this trace", what,
                          (unsigned long long)recorded);
}

int drm_number_set(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded,
                   uint64_t actual)
{
    uint64_t *value;
    bool added;

    pthread_mutex_lock(&r->lock);
    value = tsm_map_insert(&r->numbers, key_of(file, kind, recorded), &added);
    if (value)
        *value = actual;
    pthread_mutex_unlock(&r->lock);
    return value ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for numbers of objects");
}

void drm_number_forget(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded)
{
    pthread_mutex_lock(&r->lock);
    tsm_map_remove(&r->numbers, key_of(file, kind, recorded));
    pthread_mutex_unlock(&r->lock);
}

/* ---- descriptors ------------------------------------------------------------------------- */

int drm_fd(struct drm_replay *r, int recorded)
{
    const uint64_t *found;
    int fd;

    pthread_mutex_lock(&r->lock);
    found = tsm_map_find(&r->fds, (uint32_t)recorded);
    fd = found ? (int)*found : -1;
    pthread_mutex_unlock(&r->lock);
    return fd;
}

/* The lock is held. */
static bool close_created(struct drm_replay *r, int recorded)
{
    const uint64_t *found = tsm_map_find(&r->fds, (uint32_t)recorded);
    int fd = found ? (int)*found : -1;

    if (fd < 0)
        return false;
    tsm_map_remove(&r->fds, (uint32_t)recorded);
    tsm_map_remove(&r->created, (uint32_t)fd);
    close(fd);
    return true;
}

int drm_fd_created(struct drm_replay *r, int recorded, int actual)
{
    uint64_t *value = NULL, *owner = NULL;
    bool added;

    if (recorded < 0 || actual < 0)
        return 0;
    pthread_mutex_lock(&r->lock);
    if (tsm_map_find(&r->created, (uint32_t)actual)) {
        pthread_mutex_unlock(&r->lock);
        return 0;
    }
    close_created(r, recorded);
    owner = tsm_map_insert(&r->created, (uint32_t)actual, &added);
    value = owner ? tsm_map_insert(&r->fds, (uint32_t)recorded, &added) : NULL;
    if (value)
        *value = (uint32_t)actual;
    else
        tsm_map_remove(&r->created, (uint32_t)actual);
    pthread_mutex_unlock(&r->lock);
    return value ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for numbers of descriptors");
}

bool drm_fd_close(struct drm_replay *r, int recorded)
{
    bool was_open;

    pthread_mutex_lock(&r->lock);
    was_open = close_created(r, recorded);
    pthread_mutex_unlock(&r->lock);
    return was_open;
}

void drm_fds_finish(struct drm_replay *r)
{
    for (size_t i = 0; i < r->created.capacity; i++)
        if (r->created.slots[i].used)
            close((int)r->created.slots[i].key);
    tsm_map_finish(&r->created);
    tsm_map_finish(&r->fds);
}
