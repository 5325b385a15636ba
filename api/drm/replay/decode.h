/* SPDX-License-Identifier: Apache-2.0
 *
 * The reverse of api/drm/source/encode.h: from a structured value of a trace, which may be hostile, the memory
 * that an ioctl takes, with everything that its pointers lead to. Members go by name, so that
 * traces of other versions of the headers fit as far as they have the same.
 */
#ifndef API_DRM_REPLAY_DECODE_H
#define API_DRM_REPLAY_DECODE_H

#include "api/drm/tables.h"
#include "tracesmith/reader.h"

#include <stddef.h>

#define DRM_DECODE_MAX (64u << 20) /* bytes made of one value */

struct drm_decoder {
    struct sbt_reader *reader;
    /* Translates the number of an object or a descriptor; NULL: numbers stay as recorded. Returns
     * false if the number is not known, after tsm_fail(). */
    bool (*translate)(void *user, const struct drm_member *m, uint64_t *value);
    /* An address of the program's; NULL: as recorded. `size`: of the memory there that the device is
     * going to use, 0 where that is not known. False: as above. */
    bool (*address)(void *user, const struct drm_member *m, uint64_t size, uint64_t *value);
    void *user;
    bool keeps_targets; /* relocations name objects by their place in the list */

    /* The decoder's own. */
    struct sbt_walk walk;
    struct drm_block *blocks;
    size_t used;
    size_t value_size; /* bytes of the value in the trace */
};

/* The struct at place `type` from the `size` bytes of a value of a struct of that name; *out lives
 * until finish. Lists that the kernel fills in get room for as many as the value says. */
int drm_decode(struct drm_decoder *d, uint32_t type, const void *data, size_t size, uint8_t **out);
void drm_decode_finish(struct drm_decoder *d);

/* ---- between the decoder's files ------------------------------------------------------------ */

/* Memory that a pointer leads to, given back all at once. */
struct drm_block {
    struct drm_block *next;
    const struct drm_member *of; /* the pointer; NULL: the struct itself */
    uint64_t size;               /* of bytes */
    uint32_t type;               /* of a chain: the struct that is there */
    _Alignas(16) uint8_t bytes[];
};

/* `bytes`: where a block begins. */
static inline struct drm_block *drm_block_of(const void *bytes)
{
    return (struct drm_block *)((uintptr_t)bytes - offsetof(struct drm_block, bytes));
}

/* Zeroed; NULL: there is none, tsm_fail() has said so. */
uint8_t *drm_decode_take(struct drm_decoder *d, const struct drm_member *of, uint64_t size);

/* TSM_E_FORMAT. */
int drm_decode_malformed(void);

/* Goes through what was decoded as the kernel will: all that it is going to read is there, and what
 * it is going to write gets room (decode_settle.c). */
int drm_decode_check_reach(struct drm_decoder *d, uint32_t type, uint8_t *memory);

/* Number `size` bytes wide. */
static inline void drm_store(void *at, uint64_t value, size_t size)
{
    __builtin_memcpy(at, &value, size <= 8 ? size : 8);
}

#endif
