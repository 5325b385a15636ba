/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of a run of bytes.
 */
#include "emu/cuda/memory/copy.h"

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/texture/array.h"

static CUresult copy(struct emu_side to, struct emu_side from, size_t size, CUstream handle,
                     bool per_thread, bool is_sync)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    return result ? result : emu_copy(stream, to, from, (struct emu_box){size, 1, 1}, is_sync);
}

static struct emu_side device(CUdeviceptr address)
{
    return (struct emu_side){.address = address, .kind = EMU_SIDE_DEVICE};
}

static struct emu_side host(const void *p)
{
    return (struct emu_side){.address = (uintptr_t)p, .kind = EMU_SIDE_HOST};
}

static struct emu_side unified(CUdeviceptr address)
{
    return (struct emu_side){.address = address, .kind = EMU_SIDE_UNIFIED};
}

/* A place in a one-dimensional array; address 0, which no copy accepts, when there is none. */
static struct emu_side array(CUarray a, size_t offset, size_t size)
{
    struct emu_side side = {.kind = EMU_SIDE_DEVICE};

    if (emu_object_is(EMU_ARRAY, a) && a->rows == 1 && a->slices == 1 &&
        offset <= a->columns * a->element_size && size <= a->columns * a->element_size - offset)
        side.address = a->address + offset;
    return side;
}

static CUresult check_peers(CUcontext to, CUcontext from)
{
    CUcontext context;
    CUresult result = emu_context_resolve(&context, to);

    return result ? result : emu_context_resolve(&context, from);
}

static CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                          CUcontext from_context, size_t size, CUstream handle, bool per_thread)
{
    CUresult result = check_peers(to_context, from_context);

    return result ? result : copy(device(to), device(from), size, handle, per_thread, false);
}

/* ---- done when they return, unless they stay on the device ---- */

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return copy(unified(dst), unified(src), ByteCount, NULL, false, true);
}

CUresult cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return copy(unified(dst), unified(src), ByteCount, NULL, true, true);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy(device(dstDevice), host(srcHost), ByteCount, NULL, false, true);
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy(device(dstDevice), host(srcHost), ByteCount, NULL, true, true);
}

CUresult cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(host(dstHost), device(srcDevice), ByteCount, NULL, false, true);
}

CUresult cuMemcpyDtoH_v2_ptds(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(host(dstHost), device(srcDevice), ByteCount, NULL, true, true);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(device(dstDevice), device(srcDevice), ByteCount, NULL, false, true);
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(device(dstDevice), device(srcDevice), ByteCount, NULL, true, true);
}

CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                         size_t ByteCount)
{
    return copy(array(dstArray, dstOffset, ByteCount), device(srcDevice), ByteCount, NULL, false,
                true);
}

CUresult cuMemcpyDtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                              size_t ByteCount)
{
    return copy(array(dstArray, dstOffset, ByteCount), device(srcDevice), ByteCount, NULL, true,
                true);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount)
{
    return copy(device(dstDevice), array(srcArray, srcOffset, ByteCount), ByteCount, NULL, false,
                true);
}

CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                              size_t ByteCount)
{
    return copy(device(dstDevice), array(srcArray, srcOffset, ByteCount), ByteCount, NULL, true,
                true);
}

CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount)
{
    return copy(array(dstArray, dstOffset, ByteCount), host(srcHost), ByteCount, NULL, false, true);
}

CUresult cuMemcpyHtoA_v2_ptds(CUarray dstArray, size_t dstOffset, const void *srcHost,
                              size_t ByteCount)
{
    return copy(array(dstArray, dstOffset, ByteCount), host(srcHost), ByteCount, NULL, true, true);
}

CUresult cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return copy(host(dstHost), array(srcArray, srcOffset, ByteCount), ByteCount, NULL, false, true);
}

CUresult cuMemcpyAtoH_v2_ptds(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return copy(host(dstHost), array(srcArray, srcOffset, ByteCount), ByteCount, NULL, true, true);
}

CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount)
{
    return copy(array(dstArray, dstOffset, ByteCount), array(srcArray, srcOffset, ByteCount),
                ByteCount, NULL, false, true);
}

CUresult cuMemcpyAtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                              size_t srcOffset, size_t ByteCount)
{
    return copy(array(dstArray, dstOffset, ByteCount), array(srcArray, srcOffset, ByteCount),
                ByteCount, NULL, true, true);
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, false);
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, true);
}

/* ---- in a stream ---- */

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return copy(unified(dst), unified(src), ByteCount, hStream, false, false);
}

CUresult cuMemcpyAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return copy(unified(dst), unified(src), ByteCount, hStream, true, false);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                              CUstream hStream)
{
    return copy(device(dstDevice), host(srcHost), ByteCount, hStream, false, false);
}

CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                   CUstream hStream)
{
    return copy(device(dstDevice), host(srcHost), ByteCount, hStream, true, false);
}

CUresult cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream)
{
    return copy(host(dstHost), device(srcDevice), ByteCount, hStream, false, false);
}

CUresult cuMemcpyDtoHAsync_v2_ptsz(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream)
{
    return copy(host(dstHost), device(srcDevice), ByteCount, hStream, true, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream)
{
    return copy(device(dstDevice), device(srcDevice), ByteCount, hStream, false, false);
}

CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream)
{
    return copy(device(dstDevice), device(srcDevice), ByteCount, hStream, true, false);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                              size_t ByteCount, CUstream hStream)
{
    return copy(array(dstArray, dstOffset, ByteCount), host(srcHost), ByteCount, hStream, false,
                false);
}

CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                   size_t ByteCount, CUstream hStream)
{
    return copy(array(dstArray, dstOffset, ByteCount), host(srcHost), ByteCount, hStream, true,
                false);
}

CUresult cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream hStream)
{
    return copy(host(dstHost), array(srcArray, srcOffset, ByteCount), ByteCount, hStream, false,
                false);
}

CUresult cuMemcpyAtoHAsync_v2_ptsz(void *dstHost, CUarray srcArray, size_t srcOffset,
                                   size_t ByteCount, CUstream hStream)
{
    return copy(host(dstHost), array(srcArray, srcOffset, ByteCount), ByteCount, hStream, true,
                false);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, false);
}

CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                                CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, true);
}
