/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of rectangles and boxes, which may begin and end in arrays.
 */
#include "emu/cuda/memory/copy.h"

#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/texture/array.h"

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
    size_t width = a->columns * a->element_size; /* nothing, of planes */
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

static CUresult send(const struct end *to, const struct end *from, struct emu_box box,
                     CUstream stream, bool is_sync)
{
    struct emu_side to_side = {0}, from_side = {0};
    CUresult result = side(&to_side, to, box);

    if (!result)
        result = side(&from_side, from, box);
    return result ? result : emu_copy(stream, to_side, from_side, box, is_sync);
}

static CUresult copy(const struct end *to, const struct end *from, struct emu_box box,
                     CUstream handle, bool per_thread, bool is_sync)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    return result ? result : send(to, from, box, stream, is_sync);
}

/* The 2D struct's pitch may be 0 only for a single row, as may the 3D one's. */
static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream handle, bool per_thread, bool is_sync)
{
    if (!c)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
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
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
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
    CUresult result =
        c ? emu_context_resolve(&context, c->srcContext) : emu_refuse(CUDA_ERROR_INVALID_VALUE);

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

/* ---- many boxes in one call ---- */

/* Bytes of an element: of the arrays, which must agree; between pointers 1. 0: they do not. */
static size_t element_of(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    size_t sizes[2] = {0, 0};

    for (unsigned i = 0; i < 2; i++) {
        const CUmemcpy3DOperand *o = i ? &op->dst : &op->src;
        if (o->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
            continue;
        if (!emu_object_is(EMU_ARRAY, o->op.array.array))
            return 0;
        sizes[i] = o->op.array.array->element_size;
    }
    if (sizes[0] && sizes[1] && sizes[0] != sizes[1])
        return 0;
    return sizes[0] ? sizes[0] : sizes[1] ? sizes[1] : 1;
}

/* Reads one end of a copy. Returns false if it is no operand. A row or layer that is too short is
 * found later. */
static bool read_operand(struct end *out, const CUmemcpy3DOperand *o, size_t element)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        *out = (struct end){.type = CU_MEMORYTYPE_ARRAY,
                            .array = o->op.array.array,
                            .x = o->op.array.offset.x * element,
                            .y = o->op.array.offset.y,
                            .z = o->op.array.offset.z};
        return true;
    }
    *out = (struct end){.type = CU_MEMORYTYPE_UNIFIED,
                        .device = o->op.ptr.ptr,
                        .pitch = o->op.ptr.rowLength * element,
                        .height = o->op.ptr.layerHeight};
    return o->type == CU_MEMCPY_OPERAND_TYPE_POINTER;
}

static CUresult copy_op(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    size_t element = element_of(op);
    struct emu_box box = {op->extent.width * element, op->extent.height, op->extent.depth};
    struct end to, from;

    if (!element || !op->extent.width || !box.height || !box.depth ||
        op->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
        op->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
        !read_operand(&to, &op->dst, element) || !read_operand(&from, &op->src, element))
        return CUDA_ERROR_INVALID_VALUE;
    return send(&to, &from, box, stream, false);
}

/* *failed: which one is to blame, SIZE_MAX when none is. */
static CUresult copy_ops(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed,
                         unsigned long long flags, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    *failed = SIZE_MAX;
    if (!result && (!count || !ops || flags || stream->is_legacy))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++) {
        result = copy_op(&ops[i], stream);
        if (result)
            *failed = i;
    }
    return result;
}

CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                              unsigned long long flags, CUstream hStream)
{
    return failIdx ? copy_ops(numOps, opList, failIdx, flags, hStream, false)
                   : emu_refuse(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemcpy3DBatchAsync_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                                   unsigned long long flags, CUstream hStream)
{
    return failIdx ? copy_ops(numOps, opList, failIdx, flags, hStream, true)
                   : emu_refuse(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                 unsigned long long flags, CUstream hStream)
{
    size_t failed;

    return copy_ops(numOps, opList, &failed, flags, hStream, false);
}

CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                      unsigned long long flags, CUstream hStream)
{
    size_t failed;

    return copy_ops(numOps, opList, &failed, flags, hStream, true);
}
