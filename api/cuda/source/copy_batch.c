/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of copies: one command that takes bytes from many places and writes to many. A batch of
 * boxes becomes a record for each, as if the program had sent as many copies.
 */
#include "api/cuda/copy_batch.h"

#include "api/cuda/array_bytes.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/graph_parts.h"
#include "api/cuda/source/encode.h"
#include "api/cuda/source/source.h"
#include "capture/lock.h"

static bool is_host(CUdeviceptr address)
{
    return cuda_copy_is_host(&real, CU_MEMORYTYPE_UNIFIED, address);
}

static struct tsm_box box_of(CUdeviceptr start, size_t size)
{
    return (struct tsm_box){(const void *)(uintptr_t)start, size, 1, 1, size, size};
}

/* Reads the lists with care: the driver has not checked them yet. */
void cuda_before_batch(struct tsm_call *call, const CUdeviceptr *dsts, const CUdeviceptr *srcs,
                       const size_t *sizes, size_t count)
{
    CUdeviceptr dst;
    size_t size;

    for (size_t i = 0; i < count && tsm_memory_read(&dst, CUDA_SLOT(&dsts[i]), sizeof(dst)) &&
                       tsm_memory_read(&size, CUDA_SLOT(&sizes[i]), sizeof(size));
         i++)
        cuda_before_device_bytes(call, dst, size);
}

void cuda_after_batch(struct tsm_call *call, bool ok, const CUdeviceptr *dsts,
                      const CUdeviceptr *srcs, const size_t *sizes, size_t count)
{
    struct tsm_box box;
    size_t size;

    if (!ok || cuda_is_captured(call))
        return;
    for (size_t i = 0; i < count; i++) {
        box = box_of(srcs[i], sizes[i]);
        if (is_host(srcs[i]))
            tsm_call_takes(call, &box);
    }
    for (size_t i = 0, next; i < count; i = next) {
        next = cuda_copy_batch_next(dsts, sizes, count, i, &size);
        box = box_of(dsts[i], size);
        if (is_host(dsts[i]))
            tsm_readback(call, &box, cuda_is_pageable(box.data));
        else
            tsm_device_writes(call, &box);
    }
}

/* ---- boxes --------------------------------------------------------------------------------------
 */

static size_t element_of(const CUmemcpy3DOperand *o)
{
    CUDA_ARRAY3D_DESCRIPTOR description;
    CUresult result;

    if (o->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return 0;
    tsm_inside_enter();
    result = real.cuArray3DGetDescriptor_v2(&description, o->op.array.array);
    tsm_inside_leave();
    return result == CUDA_SUCCESS ? cuda_array_element(&description) : 0;
}

static CUmemorytype set_pointer(const void **host, CUdeviceptr *device, CUdeviceptr address)
{
    if (!is_host(address)) {
        *device = address;
        return CU_MEMORYTYPE_DEVICE;
    }
    *host = (const void *)(uintptr_t)address;
    return CU_MEMORYTYPE_HOST;
}

/* Extents and rows of a batch are in elements: of the array, else in bytes. */
static CUDA_MEMCPY3D copy_of(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    const size_t own = element_of(&op->src), other = own ? own : element_of(&op->dst),
                 element = other ? other : 1;
    const CUmemcpy3DOperand *src = &op->src, *dst = &op->dst;
    CUDA_MEMCPY3D c = {.WidthInBytes = op->extent.width * element,
                       .Height = op->extent.height,
                       .Depth = op->extent.depth};

    if (src->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = src->op.array.array;
        c.srcXInBytes = src->op.array.offset.x * element;
        c.srcY = src->op.array.offset.y;
        c.srcZ = src->op.array.offset.z;
    } else {
        c.srcMemoryType = set_pointer(&c.srcHost, &c.srcDevice, src->op.ptr.ptr);
        c.srcPitch = src->op.ptr.rowLength ? src->op.ptr.rowLength * element : c.WidthInBytes;
        c.srcHeight = src->op.ptr.layerHeight ? src->op.ptr.layerHeight : c.Height;
    }
    if (dst->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = dst->op.array.array;
        c.dstXInBytes = dst->op.array.offset.x * element;
        c.dstY = dst->op.array.offset.y;
        c.dstZ = dst->op.array.offset.z;
    } else {
        c.dstMemoryType = set_pointer((const void **)&c.dstHost, &c.dstDevice, dst->op.ptr.ptr);
        c.dstPitch = dst->op.ptr.rowLength ? dst->op.ptr.rowLength * element : c.WidthInBytes;
        c.dstHeight = dst->op.ptr.layerHeight ? dst->op.ptr.layerHeight : c.Height;
    }
    return c;
}

static void append_sides(struct tsm_call *call, const CUDA_MEMCPY3D *c)
{
    tsm_call_slot(call, c->srcXInBytes);
    tsm_call_slot(call, c->srcY);
    tsm_call_slot(call, c->srcZ);
    tsm_call_slot(call, c->srcLOD);
    tsm_call_slot(call, (uint64_t)c->srcMemoryType);
    tsm_call_slot(call, CUDA_SLOT(c->srcHost));
    tsm_call_slot(call, c->srcDevice);
    tsm_call_slot(call, cuda_id(CUDA_OBJECT_ARRAY, CUDA_SLOT(c->srcArray)));
    tsm_call_slot(call, c->srcPitch);
    tsm_call_slot(call, c->srcHeight);
    tsm_call_slot(call, c->dstXInBytes);
    tsm_call_slot(call, c->dstY);
    tsm_call_slot(call, c->dstZ);
    tsm_call_slot(call, c->dstLOD);
    tsm_call_slot(call, (uint64_t)c->dstMemoryType);
    tsm_call_slot(call, CUDA_SLOT(c->dstHost));
    tsm_call_slot(call, c->dstDevice);
    tsm_call_slot(call, cuda_id(CUDA_OBJECT_ARRAY, CUDA_SLOT(c->dstArray)));
    tsm_call_slot(call, c->dstPitch);
    tsm_call_slot(call, c->dstHeight);
    tsm_call_slot(call, c->WidthInBytes);
    tsm_call_slot(call, c->Height);
    tsm_call_slot(call, c->Depth);
}

/* A call of one of the two versions, and where it goes. */
struct boxes {
    uint32_t type;
    size_t count;
    const CUDA_MEMCPY3D_BATCH_OP *list;
    unsigned long long flags;
    CUstream stream;
    bool per_thread;
    struct cuda_timed *timed;
};

/* Reads the list with care: the driver has not checked it yet. */
static void foretell(struct tsm_call *call, const struct boxes *b)
{
    CUDA_MEMCPY3D_BATCH_OP op;

    for (size_t i = 0; i < b->count && tsm_memory_read(&op, CUDA_SLOT(&b->list[i]), sizeof(op));
         i++) {
        const CUDA_MEMCPY3D copy = copy_of(&op);
        if (op.dst.type == CU_MEMCPY_OPERAND_TYPE_POINTER)
            cuda_copy_writes(call, &copy);
    }
    tsm_device_foretold(call);
}

static bool boxes_begin(struct tsm_call *call, struct boxes *b)
{
    bool is_shared;

    if (!tsm_call_begin(call, b->type))
        return false;
    is_shared = tsm_hostmem_publish();
    cuda_on_stream(call, b->stream, b->per_thread, NULL, TSM_SENDS_AND_BLOCKS);
    if (is_shared)
        foretell(call, b);
    b->timed = cuda_gpu_time_begin(call, b->stream, b->per_thread);
    return true;
}

static void append_box(struct tsm_call *call, const struct boxes *b, size_t at, bool ok)
{
    const CUDA_MEMCPY3D copy = ok ? copy_of(&b->list[at]) : (CUDA_MEMCPY3D){0};

    tsm_call_slot(call, b->count);
    tsm_call_slot(call, b->flags);
    tsm_call_slot(call, at);
    append_sides(call, &copy);
    cuda_after_copy3d(call, ok, &copy, false);
}

/* The first box has the call's own record. */
static CUresult boxes_end(struct tsm_call *call, const struct boxes *b, CUresult returned)
{
    const bool ok = returned == CUDA_SUCCESS;

    if (b->timed)
        cuda_gpu_time_end(b->timed, ok, CUDA_HOST_MAY_WAIT);
    tsm_call_returned(call, returned, !ok);
    append_box(call, b, 0, ok && b->count);
    tsm_call_commit(call);
    for (size_t i = 1; ok && i < b->count && tsm_call_begin(call, b->type); i++) {
        cuda_on_stream(call, b->stream, b->per_thread, NULL, TSM_ENQUEUES);
        tsm_call_returned(call, CUDA_SUCCESS, false);
        append_box(call, b, i, true);
        tsm_call_commit(call);
    }
    if (ok) /* memory is what it is when all are done */
        cuda_commanded(call);
    if (b->timed)
        cuda_gpu_time_collect_some();
    return returned;
}

CUresult hook_cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                                   unsigned long long flags, CUstream hStream)
{
    struct boxes b = {TYPE_cuMemcpy3DBatchAsync, numOps, opList, flags, hStream, false, NULL};
    struct tsm_call call;

    if (!boxes_begin(&call, &b))
        return real.cuMemcpy3DBatchAsync(numOps, opList, failIdx, flags, hStream);
    return boxes_end(&call, &b, real.cuMemcpy3DBatchAsync(numOps, opList, failIdx, flags, hStream));
}

CUresult hook_cuMemcpy3DBatchAsync_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                        size_t *failIdx, unsigned long long flags, CUstream hStream)
{
    struct boxes b = {TYPE_cuMemcpy3DBatchAsync_ptsz, numOps, opList, flags, hStream, true, NULL};
    struct tsm_call call;

    if (!boxes_begin(&call, &b))
        return real.cuMemcpy3DBatchAsync_ptsz(numOps, opList, failIdx, flags, hStream);
    return boxes_end(&call, &b,
                     real.cuMemcpy3DBatchAsync_ptsz(numOps, opList, failIdx, flags, hStream));
}

CUresult hook_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                      unsigned long long flags, CUstream hStream)
{
    struct boxes b = {TYPE_cuMemcpy3DBatchAsync_v2, numOps, opList, flags, hStream, false, NULL};
    struct tsm_call call;

    if (!boxes_begin(&call, &b))
        return real.cuMemcpy3DBatchAsync_v2(numOps, opList, flags, hStream);
    return boxes_end(&call, &b, real.cuMemcpy3DBatchAsync_v2(numOps, opList, flags, hStream));
}

CUresult hook_cuMemcpy3DBatchAsync_v2_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                           unsigned long long flags, CUstream hStream)
{
    struct boxes b = {
        TYPE_cuMemcpy3DBatchAsync_v2_ptsz, numOps, opList, flags, hStream, true, NULL};
    struct tsm_call call;

    if (!boxes_begin(&call, &b))
        return real.cuMemcpy3DBatchAsync_v2_ptsz(numOps, opList, flags, hStream);
    return boxes_end(&call, &b, real.cuMemcpy3DBatchAsync_v2_ptsz(numOps, opList, flags, hStream));
}
