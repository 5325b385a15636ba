/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies whose direction the API does not say by name: which side is the program's memory, and the
 * bytes that go there or come from there. Everything else of their records is generated.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/graph_parts.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

/* One side of a copy; `type` is never CU_MEMORYTYPE_UNIFIED after resolve(). */
struct side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z;       /* bytes, rows, planes */
    size_t pitch, height; /* 0: as wide and as high as what is copied */
};

struct copy {
    struct side src, dst;
    size_t width, height, depth; /* bytes, rows, planes */
};

bool cuda_is_pageable(const void *address)
{
    CUmemorytype type;

    return real.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      (CUdeviceptr)(uintptr_t)address) == CUDA_ERROR_INVALID_VALUE;
}

bool cuda_is_device(const void *address)
{
    CUmemorytype type;

    return address &&
           real.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      (CUdeviceptr)(uintptr_t)address) == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE && !tsm_hostmem_is_tracked((uint64_t)(uintptr_t)address);
}

void cuda_payload(struct tsm_call *call, const void *data, uint64_t size, bool taken)
{
    bool device = size && cuda_is_device(data);

    if (device)
        tsm_call_flag(call, SBT_RECORD_LATE);
    tsm_call_payload(call, device ? NULL : data, device ? 0 : size, taken);
}

static void resolve(struct side *side)
{
    if (side->type == CU_MEMORYTYPE_HOST && cuda_is_device(side->host)) {
        side->type = CU_MEMORYTYPE_DEVICE;
        side->device = (CUdeviceptr)(uintptr_t)side->host;
    }
    if (side->type != CU_MEMORYTYPE_UNIFIED)
        return;
    side->type = cuda_copy_is_host(&real, side->type, side->device) ? CU_MEMORYTYPE_HOST
                                                                    : CU_MEMORYTYPE_DEVICE;
    side->host = (const void *)side->device;
}

static struct tsm_box box_of(const struct side *side, const struct copy *copy)
{
    size_t pitch = side->pitch ? side->pitch : copy->width;
    size_t plane = pitch * (side->height ? side->height : copy->height);

    return (struct tsm_box){
        .data = (const char *)side->host + side->z * plane + side->y * pitch + side->x,
        .width = copy->width,
        .height = copy->height,
        .depth = copy->depth,
        .pitch = pitch,
        .plane = plane,
    };
}

/* The field payload, and what the device gives back. */
static void after(struct tsm_call *call, bool ok, struct copy *copy, bool waited)
{
    static const struct tsm_box nothing;
    struct tsm_box box = nothing;

    if (ok) {
        bool host_typed = copy->src.type == CU_MEMORYTYPE_HOST;
        bool to_host = copy->dst.type == CU_MEMORYTYPE_HOST;

        resolve(&copy->src);
        resolve(&copy->dst);
        if (host_typed && copy->src.type != CU_MEMORYTYPE_HOST)
            tsm_call_flag(call, SBT_RECORD_LATE);
        if (to_host && copy->dst.type != CU_MEMORYTYPE_HOST)
            tsm_call_flag(call, SBT_RECORD_TAINTS); /* replay takes it for the program's */
        if (copy->src.type == CU_MEMORYTYPE_HOST)
            box = box_of(&copy->src, copy);
    }
    if (waited)
        tsm_call_payload_taken(call, &box);
    else
        tsm_call_payload_box(call, &box);
    if (ok && copy->dst.type == CU_MEMORYTYPE_HOST) {
        box = box_of(&copy->dst, copy);
        tsm_readback(call, &box, waited || cuda_is_pageable(box.data));
    } else if (ok && copy->dst.type == CU_MEMORYTYPE_DEVICE) {
        copy->dst.host = (const void *)copy->dst.device;
        box = box_of(&copy->dst, copy);
        tsm_device_writes(call, &box);
    }
}

void cuda_before_device_rows(struct tsm_call *call, CUdeviceptr start, uint64_t pitch,
                             uint64_t width, uint64_t height)
{
    const struct tsm_box box = {(const void *)start, width, height, 1, pitch, pitch * height};

    tsm_device_writes(call, &box);
}

void cuda_before_device_bytes(struct tsm_call *call, CUdeviceptr start, uint64_t size)
{
    cuda_before_device_rows(call, start, size, size, 1);
}

void cuda_before_copy(struct tsm_call *call, CUdeviceptr dst, CUdeviceptr src, size_t size)
{
    cuda_before_device_bytes(call, dst, size);
}

void cuda_after_device_rows(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t pitch,
                            uint64_t width, uint64_t height)
{
    const struct tsm_box box = {(const void *)start, width, height, 1, pitch, pitch * height};

    if (ok)
        tsm_device_gives(call, &box);
}

void cuda_after_device_bytes(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size)
{
    cuda_after_device_rows(call, ok, start, size, size, 1);
}

void cuda_after_copy(struct tsm_call *call, bool ok, CUdeviceptr dst, CUdeviceptr src, size_t size,
                     bool waited)
{
    struct copy copy = {
        .src = {.type = CU_MEMORYTYPE_UNIFIED, .device = src},
        .dst = {.type = CU_MEMORYTYPE_UNIFIED, .device = dst},
        .width = size,
        .height = 1,
        .depth = 1,
    };

    after(call, ok && size > 0, &copy, waited);
}

/* The structs have the same members with different types. */
#define SIDE_2D(c, side)                                                                           \
    {                                                                                              \
        .type = (c)->side##MemoryType, .host = (c)->side##Host, .device = (c)->side##Device,       \
        .x = (c)->side##XInBytes, .y = (c)->side##Y, .pitch = (c)->side##Pitch                     \
    }
#define SIDE_3D(c, side)                                                                           \
    {                                                                                              \
        .type = (c)->side##MemoryType, .host = (c)->side##Host, .device = (c)->side##Device,       \
        .x = (c)->side##XInBytes, .y = (c)->side##Y, .z = (c)->side##Z, .pitch = (c)->side##Pitch, \
        .height = (c)->side##Height                                                                \
    }
#define COPY_2D(c)                                                                                 \
    {                                                                                              \
        .src = SIDE_2D(c, src), .dst = SIDE_2D(c, dst), .width = (c)->WidthInBytes,                \
        .height = (c)->Height, .depth = 1                                                          \
    }
#define COPY_3D(c)                                                                                 \
    {                                                                                              \
        .src = SIDE_3D(c, src), .dst = SIDE_3D(c, dst), .width = (c)->WidthInBytes,                \
        .height = (c)->Height, .depth = (c)->Depth                                                 \
    }

void cuda_copy_sides(const CUDA_MEMCPY3D *c, struct tsm_box *src, struct tsm_box *dst)
{
    struct copy copy = COPY_3D(c);

    resolve(&copy.src);
    resolve(&copy.dst);
    *src = copy.src.type == CU_MEMORYTYPE_HOST ? box_of(&copy.src, &copy) : (struct tsm_box){0};
    *dst = copy.dst.type == CU_MEMORYTYPE_HOST ? box_of(&copy.dst, &copy) : (struct tsm_box){0};
}

/* The driver has not looked at the description yet: it may not be there. */
#define BEFORE(NAME, TYPE, INIT)                                                                   \
    void NAME(struct tsm_call *call, const TYPE *c)                                                \
    {                                                                                              \
        struct copy copy;                                                                          \
        TYPE known;                                                                                \
        if (!tsm_memory_read(&known, CUDA_SLOT(c), sizeof(known)))                                 \
            return;                                                                                \
        copy = (struct copy)INIT(&known);                                                          \
        before(call, &copy);                                                                       \
    }

static void before(struct tsm_call *call, struct copy *copy)
{
    struct tsm_box box;

    if (copy->dst.type == CU_MEMORYTYPE_ARRAY)
        return;
    if (copy->dst.type != CU_MEMORYTYPE_HOST)
        copy->dst.host = (const void *)copy->dst.device;
    box = box_of(&copy->dst, copy);
    tsm_device_writes(call, &box);
}

void cuda_copy_writes(struct tsm_call *call, const CUDA_MEMCPY3D *c)
{
    struct copy copy = COPY_3D(c);

    before(call, &copy);
}

BEFORE(cuda_before_copy2d, CUDA_MEMCPY2D, COPY_2D)
BEFORE(cuda_before_copy2d_v1, CUDA_MEMCPY2D_v1, COPY_2D)
BEFORE(cuda_before_copy3d, CUDA_MEMCPY3D, COPY_3D)
BEFORE(cuda_before_copy3d_v1, CUDA_MEMCPY3D_v1, COPY_3D)
BEFORE(cuda_before_copy3d_peer, CUDA_MEMCPY3D_PEER, COPY_3D)

/* A failed call may have been given no description of a copy at all. */
#define AFTER(call, ok, c, waited, init)                                                           \
    do {                                                                                           \
        struct copy none = {0};                                                                    \
        if (ok) {                                                                                  \
            struct copy copy = init(c);                                                            \
            after(call, true, &copy, waited);                                                      \
        } else {                                                                                   \
            after(call, false, &none, waited);                                                     \
        }                                                                                          \
    } while (0)

void cuda_after_copy2d(struct tsm_call *call, bool ok, const CUDA_MEMCPY2D *c, bool waited)
{
    AFTER(call, ok, c, waited, COPY_2D);
}

void cuda_after_copy2d_v1(struct tsm_call *call, bool ok, const CUDA_MEMCPY2D_v1 *c, bool waited)
{
    AFTER(call, ok, c, waited, COPY_2D);
}

void cuda_after_copy3d(struct tsm_call *call, bool ok, const CUDA_MEMCPY3D *c, bool waited)
{
    AFTER(call, ok, c, waited, COPY_3D);
}

void cuda_after_copy3d_v1(struct tsm_call *call, bool ok, const CUDA_MEMCPY3D_v1 *c, bool waited)
{
    AFTER(call, ok, c, waited, COPY_3D);
}

void cuda_after_copy3d_peer(struct tsm_call *call, bool ok, const CUDA_MEMCPY3D_PEER *c,
                            bool waited)
{
    AFTER(call, ok, c, waited, COPY_3D);
}

/* ---- which copies wait ------------------------------------------------------------------------
 */

/* CUDA driver API reference, "API synchronization behavior". */
static bool waits(struct copy *copy, bool synchronous)
{
    resolve(&copy->dst);
    if (!synchronous)
        return copy->dst.type == CU_MEMORYTYPE_HOST &&
               cuda_copy_is_taken(box_of(&copy->dst, copy).data);
    resolve(&copy->src);
    return copy->dst.type == CU_MEMORYTYPE_HOST || copy->src.type == CU_MEMORYTYPE_HOST;
}

bool cuda_copy_is_taken(const void *dst)
{
    return !tsm_hostmem_is_tracked((uint64_t)(uintptr_t)dst) && cuda_is_pageable(dst);
}

bool cuda_copy_waits(CUdeviceptr dst, CUdeviceptr src)
{
    return cuda_copy_is_host(&real, CU_MEMORYTYPE_UNIFIED, dst) ||
           cuda_copy_is_host(&real, CU_MEMORYTYPE_UNIFIED, src);
}

#define WAITS(NAME, TYPE, INIT)                                                                    \
    bool NAME(const TYPE *c, bool synchronous)                                                     \
    {                                                                                              \
        struct copy copy = {0};                                                                    \
        if (!c)                                                                                    \
            return false;                                                                          \
        copy = (struct copy)INIT(c);                                                               \
        return waits(&copy, synchronous);                                                          \
    }

WAITS(cuda_copy2d_waits, CUDA_MEMCPY2D, COPY_2D)
WAITS(cuda_copy2d_v1_waits, CUDA_MEMCPY2D_v1, COPY_2D)
WAITS(cuda_copy3d_waits, CUDA_MEMCPY3D, COPY_3D)
WAITS(cuda_copy3d_v1_waits, CUDA_MEMCPY3D_v1, COPY_3D)
WAITS(cuda_copy3d_peer_waits, CUDA_MEMCPY3D_PEER, COPY_3D)
