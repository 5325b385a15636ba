/* SPDX-License-Identifier: Apache-2.0
 *
 * An ioctl on its way through the source's files: ioctl.c makes the call and its record,
 * effect.c notes what it changes, nvidia.c keeps what NVIDIA's arguments lead to.
 * One thread's, on its stack; the memory that it names is the lane's scratch, or the program's.
 */
#ifndef API_DRM_SOURCE_RUN_H
#define API_DRM_SOURCE_RUN_H

#include "api/drm/source/encode.h"
#include "api/drm/source/source.h"

#define DRM_SHARED_MAX 16u

/* Memory of the program that an argument of NVIDIA's leads to. */
struct drm_parameters {
    uint64_t address;
    uint64_t size; /* unbounded: nobody has looked there. 0: none */
    uint8_t *in;   /* as they went in; NULL: they could not be read */
};

struct drm_run {
    struct tsm_call *call;
    struct local *local;         /* of the thread (ioctl.c) */
    uintptr_t here;              /* a frame of ours on the program's stack */
    const struct drm_ioctl *row; /* NULL: unknown */
    int fd;
    struct drm_file file;
    uint32_t request;
    void *argument;
    bool by_number;    /* by syscall() */
    size_t size;       /* of the argument, as the request says */
    uint8_t *before;   /* `size` bytes of it as they went in, with zeros up to the struct's; NULL:
                          none kept */
    const uint8_t *in; /* the value of `in`, where it was made before the call */
    size_t in_size;
    bool in_missing;
    uint32_t shared_count;     /* may be more than there is room for */
    struct drm_shared *shared; /* DRM_SHARED_MAX: memory that the argument gives to the device;
                                  NULL: none, or no room */
    uint32_t unknown_count;    /* extensions of the argument that the tables do not have */
    struct drm_parameters parameters;
    long result;
    int error;
};

/* ---- what it changes (effect.c) --------------------------------------------------- */

/* The encoder's `shared`, its `user` a drm_run: memory that the argument gives to the device. */
void drm_run_shared(struct drm_encoder *e, uint64_t address, uint64_t size);

/* Before a call that frees an object. */
void drm_run_closing(const struct drm_run *r);

/* After a call of the tables' that succeeded. */
void drm_run_effects(const struct drm_run *r);

/* ---- parameters (nvidia.c) -------------------------------------------------------- */

/* Before a call on one of NVIDIA's files, with `before` kept: so many bytes as the argument says,
 * TSM_BYTES_MAX at most. */
void drm_run_parameters_keep(struct drm_run *r);

/* Appends two BYTES fields to the record, empty where there are no parameters: as they went in, and
 * as they came out where that is different. */
void drm_run_parameters_put(struct drm_run *r);

#endif
