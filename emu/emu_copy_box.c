/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of rectangles and boxes, which may begin and end in arrays.
 */
#include "emu/emu_copy.h"

#include <string.h>

#include "emu/emu.h"
#include "emu/emu_array.h"
#include "emu/emu_context.h"
#include "emu/emu_object.h"
#include "emu/emu_stream.h"

/* One end of the driver's structs. */
struct end {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x; /* bytes */
    size_t y;
    size_t z;
    size_t lod;
    size_t pitch;
    size_t height;
};

static CUresult array_side(struct emu_side *out, const struct end *e, struct emu_box box)
{
    if (!emu_object_is(EMU_ARRAY, e->array))
        return CUDA_ERROR_INVALID_HANDLE;
    const struct CUarray_st *a = e->array;
    size_t width = a->description.Width * a->element_size;
    if (e->x > width || box.width > width - e->x || e->y > a->rows || box.height > a->rows - e->y ||
        e->z > a->slices || box.depth > a->slices - e->z)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct emu_side){.address = a->address + (e->z * a->rows + e->y) * a->pitch + e->x,
                             .pitch = a->pitch,
                             .slice = a->pitch * a->rows,
                             .kind = EMU_SIDE_DEVICE};
    return CUDA_SUCCESS;
}

static CUresult side(struct emu_side *out, const struct end *e, struct emu_box box)
{
    size_t pitch = e->pitch ? e->pitch : e->x + box.width;
    size_t height = e->height ? e->height : e->y + box.height;
    uint64_t base = e->type == CU_MEMORYTYPE_HOST ? (uintptr_t)e->host : e->device;

    if (e->lod || (unsigned)e->type < CU_MEMORYTYPE_HOST ||
        (unsigned)e->type > CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    if (e->type == CU_MEMORYTYPE_ARRAY)
        return array_side(out, e, box);
    if (!base || pitch < e->x + box.width || height < e->y + box.height)
        return CUDA_ERROR_INVALID_VALUE;
    out->kind = e->type == CU_MEMORYTYPE_HOST     ? EMU_SIDE_HOST
                : e->type == CU_MEMORYTYPE_DEVICE ? EMU_SIDE_DEVICE
                                                  : EMU_SIDE_UNIFIED;
    out->pitch = pitch;
    if (__builtin_mul_overflow(pitch, height, &out->slice))
        return CUDA_ERROR_INVALID_VALUE;
    out->address = base + e->z * out->slice + e->y * pitch + e->x;
    return CUDA_SUCCESS;
}

static CUresult copy(const struct end *to, const struct end *from, struct emu_box box,
                     CUstream handle, bool per_thread, bool is_sync)
{
    struct emu_side to_side = {0}, from_side = {0};
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result)
        result = side(&to_side, to, box);
    if (!result)
        result = side(&from_side, from, box);
    return result ? result : emu_copy(stream, to_side, from_side, box, is_sync);
}

/* The 2D struct's pitch may be 0 only for a single row, as may the 3D one's. */
static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream handle, bool per_thread, bool is_sync)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    struct end to = {.type = c->dstMemoryType,
                     .host = c->dstHost,
                     .device = c->dstDevice,
                     .array = c->dstArray,
                     .x = c->dstXInBytes,
                     .y = c->dstY,
                     .pitch = c->dstPitch};
    struct end from = {.type = c->srcMemoryType,
                       .host = c->srcHost,
                       .device = c->srcDevice,
                       .array = c->srcArray,
                       .x = c->srcXInBytes,
                       .y = c->srcY,
                       .pitch = c->srcPitch};
    return copy(&to, &from, (struct emu_box){c->WidthInBytes, c->Height, 1}, handle, per_thread,
                is_sync);
}

static void read_3d(struct end *to, struct end *from, const CUDA_MEMCPY3D *c)
{
    *to = (struct end){.type = c->dstMemoryType,
                       .host = c->dstHost,
                       .device = c->dstDevice,
                       .array = c->dstArray,
                       .x = c->dstXInBytes,
                       .y = c->dstY,
                       .z = c->dstZ,
                       .lod = c->dstLOD,
                       .pitch = c->dstPitch,
                       .height = c->dstHeight};
    *from = (struct end){.type = c->srcMemoryType,
                         .host = c->srcHost,
                         .device = c->srcDevice,
                         .array = c->srcArray,
                         .x = c->srcXInBytes,
                         .y = c->srcY,
                         .z = c->srcZ,
                         .lod = c->srcLOD,
                         .pitch = c->srcPitch,
                         .height = c->srcHeight};
}

static CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream handle, bool per_thread, bool is_sync)
{
    struct end to, from;

    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    read_3d(&to, &from, c);
    return copy(&to, &from, (struct emu_box){c->WidthInBytes, c->Height, c->Depth}, handle,
                per_thread, is_sync);
}

CUresult emu_copy_prepare_3d(struct emu_command **out, const CUDA_MEMCPY3D *c)
{
    struct emu_side to_side = {0}, from_side = {0};
    struct emu_box box = {c->WidthInBytes, c->Height, c->Depth};
    struct end to, from;
    CUresult result;

    read_3d(&to, &from, c);
    result = side(&to_side, &to, box);
    if (!result)
        result = side(&from_side, &from, box);
    return result ? result : emu_copy_prepare(out, to_side, from_side, box, c);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *c, CUstream handle, bool per_thread,
                             bool is_sync)
{
    CUcontext context;
    CUDA_MEMCPY3D plain;
    CUresult result = c ? emu_context_resolve(&context, c->srcContext) : CUDA_ERROR_INVALID_VALUE;

    if (!result)
        result = emu_context_resolve(&context, c->dstContext);
    if (result)
        return result;
    /* The same struct, with contexts where the other has reserved fields. */
    _Static_assert(sizeof(plain) == sizeof(*c), "the peer struct has the layout of the plain one");
    memcpy(&plain, c, sizeof(plain));
    return copy_3d(&plain, handle, per_thread, is_sync);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, NULL, false, true);
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, NULL, true, true);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, NULL, false, true);
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, NULL, true, true);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    return copy_3d(pCopy, NULL, false, true);
}

CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *pCopy)
{
    return copy_3d(pCopy, NULL, true, true);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    return copy_3d_peer(pCopy, NULL, false, true);
}

CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *pCopy)
{
    return copy_3d_peer(pCopy, NULL, true, true);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, false, false);
}

CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, true, false);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy_3d(pCopy, hStream, false, false);
}

CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy_3d(pCopy, hStream, true, false);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy_3d_peer(pCopy, hStream, false, false);
}

CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy_3d_peer(pCopy, hStream, true, false);
}
