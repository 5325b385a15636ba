/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of CUDA 2: addresses and sizes of 32 bits. What they allocate lies below 4 GiB, and
 * every one does what its successor does. Structs of that time are widened field by field.
 */
#include "emu/cuda/core/emu.h"

#include "emu/cuda/core/context.h"
#include "emu/cuda/memory/memory.h"

/* An answer that has no room in 32 bits cannot be given. */
static CUresult narrow(unsigned *out, uint64_t value)
{
    if (value > UINT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (out)
        *out = (unsigned)value;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytesize)
{
    struct emu_memory what = {.kind = EMU_MEMORY_DEVICE, .is_readable = true, .is_writable = true};
    uint64_t address;
    CUresult result = emu_enter(&what.context);

    if (result)
        return result;
    if (!dptr || !bytesize)
        return CUDA_ERROR_INVALID_VALUE;
    what.device = what.context->device;
    result = emu_memory_allocate(&address, EMU_WINDOW_LOW, bytesize, &what);
    return result ? result : narrow(dptr, address);
}

CUresult cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pPitch, unsigned int WidthInBytes,
                         unsigned int Height, unsigned int ElementSizeBytes)
{
    unsigned pitch = (WidthInBytes + 511) & ~511u, size;
    CUresult result;

    if (!pPitch || __builtin_mul_overflow(pitch, Height, &size))
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    result = cuMemAlloc(dptr, size);
    if (!result)
        *pPitch = pitch;
    return result;
}

CUresult cuMemFree(CUdeviceptr_v1 dptr)
{
    return cuMemFree_v2(dptr);
}

CUresult cuMemGetInfo(unsigned int *free, unsigned int *total)
{
    size_t free_size, total_size;
    CUresult result = cuMemGetInfo_v2(&free_size, &total_size);

    if (!result && (!free || !total))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        *free = free_size > UINT32_MAX ? UINT32_MAX : (unsigned)free_size;
        *total = total_size > UINT32_MAX ? UINT32_MAX : (unsigned)total_size;
    }
    return result;
}

CUresult cuMemGetAddressRange(CUdeviceptr_v1 *pbase, unsigned int *psize, CUdeviceptr_v1 dptr)
{
    CUdeviceptr base;
    size_t size;
    CUresult result = cuMemGetAddressRange_v2(&base, &size, dptr);

    if (!result)
        result = narrow(pbase, base);
    return result ? result : narrow(psize, size);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr_v1 *pdptr, void *p, unsigned int Flags)
{
    CUdeviceptr address;
    CUresult result = cuMemHostGetDevicePointer_v2(&address, p, Flags);

    return result ? result : narrow(pdptr, address);
}

CUresult cuModuleGetGlobal(CUdeviceptr_v1 *dptr, unsigned int *bytes, CUmodule hmod,
                           const char *name)
{
    CUdeviceptr address;
    size_t size;
    CUresult result = cuModuleGetGlobal_v2(&address, &size, hmod, name);

    if (!result)
        result = narrow(dptr, address);
    return result ? result : narrow(bytes, size);
}

/* ---- copies and fills ---- */

CUresult cuMemcpyHtoD(CUdeviceptr_v1 dstDevice, const void *srcHost, unsigned int ByteCount)
{
    return cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr_v1 dstDevice, const void *srcHost, unsigned int ByteCount,
                           CUstream hStream)
{
    return cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, hStream);
}

CUresult cuMemcpyDtoH(void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount)
{
    return cuMemcpyDtoH_v2(dstHost, srcDevice, ByteCount);
}

CUresult cuMemcpyDtoHAsync(void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount,
                           CUstream hStream)
{
    return cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpyDtoD(CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice, unsigned int ByteCount)
{
    return cuMemcpyDtoD_v2(dstDevice, srcDevice, ByteCount);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice,
                           unsigned int ByteCount, CUstream hStream)
{
    return cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpyDtoA(CUarray dstArray, unsigned int dstOffset, CUdeviceptr_v1 srcDevice,
                      unsigned int ByteCount)
{
    return cuMemcpyDtoA_v2(dstArray, dstOffset, srcDevice, ByteCount);
}

CUresult cuMemcpyAtoD(CUdeviceptr_v1 dstDevice, CUarray srcArray, unsigned int srcOffset,
                      unsigned int ByteCount)
{
    return cuMemcpyAtoD_v2(dstDevice, srcArray, srcOffset, ByteCount);
}

CUresult cuMemcpyHtoA(CUarray dstArray, unsigned int dstOffset, const void *srcHost,
                      unsigned int ByteCount)
{
    return cuMemcpyHtoA_v2(dstArray, dstOffset, srcHost, ByteCount);
}

CUresult cuMemcpyHtoAAsync(CUarray dstArray, unsigned int dstOffset, const void *srcHost,
                           unsigned int ByteCount, CUstream hStream)
{
    return cuMemcpyHtoAAsync_v2(dstArray, dstOffset, srcHost, ByteCount, hStream);
}

CUresult cuMemcpyAtoH(void *dstHost, CUarray srcArray, unsigned int srcOffset,
                      unsigned int ByteCount)
{
    return cuMemcpyAtoH_v2(dstHost, srcArray, srcOffset, ByteCount);
}

CUresult cuMemcpyAtoHAsync(void *dstHost, CUarray srcArray, unsigned int srcOffset,
                           unsigned int ByteCount, CUstream hStream)
{
    return cuMemcpyAtoHAsync_v2(dstHost, srcArray, srcOffset, ByteCount, hStream);
}

CUresult cuMemcpyAtoA(CUarray dstArray, unsigned int dstOffset, CUarray srcArray,
                      unsigned int srcOffset, unsigned int ByteCount)
{
    return cuMemcpyAtoA_v2(dstArray, dstOffset, srcArray, srcOffset, ByteCount);
}

CUresult cuMemsetD8(CUdeviceptr_v1 dstDevice, unsigned char uc, unsigned int N)
{
    return cuMemsetD8_v2(dstDevice, uc, N);
}

CUresult cuMemsetD2D8(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned char uc,
                      unsigned int Width, unsigned int Height)
{
    return cuMemsetD2D8_v2(dstDevice, dstPitch, uc, Width, Height);
}

CUresult cuMemsetD16(CUdeviceptr_v1 dstDevice, unsigned short us, unsigned int N)
{
    return cuMemsetD16_v2(dstDevice, us, N);
}

CUresult cuMemsetD2D16(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned short us,
                       unsigned int Width, unsigned int Height)
{
    return cuMemsetD2D16_v2(dstDevice, dstPitch, us, Width, Height);
}

CUresult cuMemsetD32(CUdeviceptr_v1 dstDevice, unsigned int ui, unsigned int N)
{
    return cuMemsetD32_v2(dstDevice, ui, N);
}

CUresult cuMemsetD2D32(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned int ui,
                       unsigned int Width, unsigned int Height)
{
    return cuMemsetD2D32_v2(dstDevice, dstPitch, ui, Width, Height);
}

static CUDA_MEMCPY2D widen_2d(const CUDA_MEMCPY2D_v1 *c)
{
    return (CUDA_MEMCPY2D){.srcXInBytes = c->srcXInBytes,
                           .srcY = c->srcY,
                           .srcMemoryType = c->srcMemoryType,
                           .srcHost = c->srcHost,
                           .srcDevice = c->srcDevice,
                           .srcArray = c->srcArray,
                           .srcPitch = c->srcPitch,
                           .dstXInBytes = c->dstXInBytes,
                           .dstY = c->dstY,
                           .dstMemoryType = c->dstMemoryType,
                           .dstHost = c->dstHost,
                           .dstDevice = c->dstDevice,
                           .dstArray = c->dstArray,
                           .dstPitch = c->dstPitch,
                           .WidthInBytes = c->WidthInBytes,
                           .Height = c->Height};
}

static CUDA_MEMCPY3D widen_3d(const CUDA_MEMCPY3D_v1 *c)
{
    return (CUDA_MEMCPY3D){.srcXInBytes = c->srcXInBytes,
                           .srcY = c->srcY,
                           .srcZ = c->srcZ,
                           .srcLOD = c->srcLOD,
                           .srcMemoryType = c->srcMemoryType,
                           .srcHost = c->srcHost,
                           .srcDevice = c->srcDevice,
                           .srcArray = c->srcArray,
                           .srcPitch = c->srcPitch,
                           .srcHeight = c->srcHeight,
                           .dstXInBytes = c->dstXInBytes,
                           .dstY = c->dstY,
                           .dstZ = c->dstZ,
                           .dstLOD = c->dstLOD,
                           .dstMemoryType = c->dstMemoryType,
                           .dstHost = c->dstHost,
                           .dstDevice = c->dstDevice,
                           .dstArray = c->dstArray,
                           .dstPitch = c->dstPitch,
                           .dstHeight = c->dstHeight,
                           .WidthInBytes = c->WidthInBytes,
                           .Height = c->Height,
                           .Depth = c->Depth};
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D_v1 *pCopy)
{
    if (!pCopy)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D copy = widen_2d(pCopy);
    return cuMemcpy2D_v2(&copy);
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1 *pCopy)
{
    if (!pCopy)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D copy = widen_2d(pCopy);
    return cuMemcpy2DUnaligned_v2(&copy);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *pCopy, CUstream hStream)
{
    if (!pCopy)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D copy = widen_2d(pCopy);
    return cuMemcpy2DAsync_v2(&copy, hStream);
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D_v1 *pCopy)
{
    if (!pCopy)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D copy = widen_3d(pCopy);
    return cuMemcpy3D_v2(&copy);
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *pCopy, CUstream hStream)
{
    if (!pCopy)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D copy = widen_3d(pCopy);
    return cuMemcpy3DAsync_v2(&copy, hStream);
}

/* ---- arrays ---- */

CUresult cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *pAllocateArray)
{
    if (!pAllocateArray)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUDA_ARRAY_DESCRIPTOR d = {.Width = pAllocateArray->Width,
                               .Height = pAllocateArray->Height,
                               .Format = pAllocateArray->Format,
                               .NumChannels = pAllocateArray->NumChannels};
    return cuArrayCreate_v2(pHandle, &d);
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY_DESCRIPTOR d;
    CUresult result = cuArrayGetDescriptor_v2(&d, hArray);

    if (!result && !pArrayDescriptor)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR_v1){.Width = (unsigned)d.Width,
                                                       .Height = (unsigned)d.Height,
                                                       .Format = d.Format,
                                                       .NumChannels = d.NumChannels};
    return result;
}

CUresult cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *pAllocateArray)
{
    if (!pAllocateArray)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = pAllocateArray->Width,
                                 .Height = pAllocateArray->Height,
                                 .Depth = pAllocateArray->Depth,
                                 .Format = pAllocateArray->Format,
                                 .NumChannels = pAllocateArray->NumChannels,
                                 .Flags = pAllocateArray->Flags};
    return cuArray3DCreate_v2(pHandle, &d);
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult result = cuArray3DGetDescriptor_v2(&d, hArray);

    if (!result && !pArrayDescriptor)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pArrayDescriptor = (CUDA_ARRAY3D_DESCRIPTOR_v1){.Width = (unsigned)d.Width,
                                                         .Height = (unsigned)d.Height,
                                                         .Depth = (unsigned)d.Depth,
                                                         .Format = d.Format,
                                                         .NumChannels = d.NumChannels,
                                                         .Flags = d.Flags};
    return result;
}
