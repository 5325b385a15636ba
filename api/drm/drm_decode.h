/* SPDX-License-Identifier: Apache-2.0
 *
 * The reverse of drm_encode.h: from a structured value of a trace, which may be hostile, the memory
 * that an ioctl takes, with everything that its pointers lead to. Members go by name, so that
 * traces of other versions of the headers fit as far as they have the same.
 */
#ifndef API_DRM_DRM_DECODE_H
#define API_DRM_DRM_DECODE_H

#include "api/drm/drm_tables.h"
#include "tracesmith/reader.h"

#define DRM_DECODE_MAX (64u << 20) /* bytes made of one value */

struct drm_decoder {
    struct sbt_reader *reader;
    /* What stands for a number of an object or a descriptor here; NULL: as recorded. False: it is
     * not known, tsm_fail() has said so. */
    bool (*translate)(void *user, const struct drm_member *m, uint64_t *value);
    void *user;
    bool keeps_targets; /* relocations name objects by their place in the list */

    /* The decoder's own. */
    struct sbt_walk walk;
    struct drm_block *blocks;
    size_t used;
};

/* The struct at place `type` from the `size` bytes of a value of a struct of that name; *out lives
 * until finish. Lists that the kernel fills in get room for as many as the value says. */
int drm_decode(struct drm_decoder *d, uint32_t type, const void *data, size_t size, uint8_t **out);
void drm_decode_finish(struct drm_decoder *d);

/* Number `size` bytes wide. */
static inline void drm_store(void *at, uint64_t value, size_t size)
{
    __builtin_memcpy(at, &value, size <= 8 ? size : 8);
}

#endif
