/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/drm_replay.h"

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
    actual = sbt_map_find(&r->numbers, key_of(file, kind, recorded));
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
    value = sbt_map_insert(&r->numbers, key_of(file, kind, recorded), &added);
    if (value)
        *value = actual;
    pthread_mutex_unlock(&r->lock);
    return value ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for numbers of objects");
}

int drm_number_fd(struct drm_replay *r, int recorded)
{
    uint64_t fd;

    return drm_number_known(r, 0, DRM_NUMBER_FD, (uint32_t)recorded, &fd) ? (int)fd : -1;
}

void drm_number_forget(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded)
{
    pthread_mutex_lock(&r->lock);
    sbt_map_remove(&r->numbers, key_of(file, kind, recorded));
    pthread_mutex_unlock(&r->lock);
}
