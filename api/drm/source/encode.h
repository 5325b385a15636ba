/* SPDX-License-Identifier: Apache-2.0
 *
 * A struct that an ioctl takes, with everything that its pointers lead to, as a structured value
 * (docs/FORMAT.md 8.1). Runs inside the traced program: no malloc, no lock, errno preserved.
 */
#ifndef API_DRM_SOURCE_ENCODE_H
#define API_DRM_SOURCE_ENCODE_H

#include "api/drm/tables.h"
#include "format/values/struct_out.h"

struct drm_encoder {
    struct sbt_out out;
    bool is_out;      /* what the kernel wrote; else what the program gave */
    bool careful;     /* the kernel has not accepted these addresses: they may be wrong */
    bool missing;     /* something could not be read or was too large: the record is truncated */
    uint32_t unknown; /* structs of chains of which nothing but the header is known */
    uint64_t address; /* of the struct in the program, for values after its end */
    const uint8_t *before; /* the struct as the program gave it; NULL: not known. Bounds what the
                              kernel can have written */
    void *(*memory)(struct drm_encoder *e,
                    size_t size); /* lives until the value was used; NULL: none */
    /* Memory of the program that the device is going to use; may be NULL. */
    void (*shared)(struct drm_encoder *e, uint64_t address, uint64_t size);
    bool (*read)(void *out, uint64_t address, size_t size); /* memory that may not be there */
    void *user;
};

/* `memory`: all bytes of the struct at place `type`; a copy will do. */
void drm_encode(struct drm_encoder *e, uint32_t type, const void *memory);

#define DRM_VALUE_SIZE_MAX 10u /* bytes of a number */

/* The same for a struct that is DRM_STRUCT_FLAT; returns the end of what it wrote: at most
 * DRM_VALUE_SIZE_MAX for each member. */
uint8_t *drm_encode_flat(uint8_t *out, const struct drm_struct *type, const void *memory);

#endif
