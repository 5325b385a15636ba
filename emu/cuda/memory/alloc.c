/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation on the device, and host memory that the device can reach.
 */
#include "emu/cuda/core/emu.h"

#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/pool.h"
#include "emu/cuda/memory/share.h"
#include "emu/cuda/stream/stream.h"

#define PITCH_ALIGNMENT 512u

static CUresult allocate(uint64_t *out, size_t size, enum emu_memory_kind kind,
                         enum emu_window window, unsigned flags)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result)
        result = emu_capture_unsafe();
    struct emu_memory what = {
        .kind = kind, .flags = flags, .is_readable = true, .is_writable = true};

    if (result)
        return result;
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    what.context = context;
    what.device = context->device;
    return emu_memory_allocate(out, window, size, &what);
}

/* ---- device memory ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    uint64_t address;
    CUresult result = dptr ? allocate(&address, bytesize, EMU_MEMORY_DEVICE, EMU_WINDOW_DEVICE, 0)
                           : emu_refuse(CUDA_ERROR_INVALID_VALUE);

    if (!result)
        *dptr = address;
    return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes)
{
    size_t pitch = (WidthInBytes + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT, size;
    CUresult result;

    if (!pPitch || (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) ||
        __builtin_mul_overflow(pitch, Height, &size))
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    result = cuMemAlloc_v2(dptr, size);
    if (!result)
        *pPitch = pitch;
    return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    uint64_t address;
    CUresult result;

    if (!dptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    /* Apart from device memory: the program's own accesses do not come near that. */
    result = allocate(&address, bytesize, EMU_MEMORY_MANAGED, EMU_WINDOW_HOST, flags);
    if (!result)
        *dptr = address;
    return result;
}

/* Work that may still use the memory is waited for, as the interface promises. */
CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUcontext context;
    CUresult result = dptr ? emu_enter_free(&context) : emu_enter(&context);
    struct emu_memory memory;
    bool stays = false;

    if (result || !dptr)
        return result;
    result = emu_capture_unsafe();
    if (result)
        return result;
    if (!emu_memory_find(&memory, dptr) || memory.address != dptr)
        return CUDA_ERROR_INVALID_VALUE;
    context = memory.context ? memory.context : context;
    result = context ? emu_context_synchronize(context) : CUDA_SUCCESS;
    if (result)
        return result;
    if (memory.kind == EMU_MEMORY_IMPORTED)
        return emu_share_close(dptr, 1u << EMU_SHARE_POOL | 1u << EMU_SHARE_EXTERNAL);
    if (memory.kind == EMU_MEMORY_POOL)
        result = emu_pool_free(dptr, &stays);
    if (result || stays)
        return result;
    return emu_memory_remove(dptr, 1u << EMU_MEMORY_DEVICE | 1u << EMU_MEMORY_MANAGED |
                                       1u << EMU_MEMORY_POOL);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && (!free || !total))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        *total = emu_settings.memory_size;
        *free = *total - emu_memory_used(context->device);
    }
    return result;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct emu_memory memory;

    if (result)
        return result;
    if (!emu_memory_find(&memory, dptr))
        return CUDA_ERROR_NOT_FOUND;
    if (pbase)
        *pbase = memory.address;
    if (psize)
        *psize = memory.size;
    return CUDA_SUCCESS;
}

/* ---- host memory ---- */

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    uint64_t address;
    CUresult result;

    if (!pp || Flags & ~7u)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    result = allocate(&address, bytesize, EMU_MEMORY_HOST, EMU_WINDOW_HOST, Flags);
    if (!result)
        *pp = (void *)(uintptr_t)address;
    return result;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return cuMemHostAlloc(pp, bytesize, 0);
}

CUresult cuMemAllocHost(void **pp, unsigned int bytesize)
{
    return cuMemHostAlloc(pp, bytesize, 0);
}

/* Ends what began at p as this kind of host memory, when the device is done with it. */
static CUresult host_end(void *p, enum emu_memory_kind kind, CUresult unknown)
{
    CUcontext context;
    CUresult result = emu_enter_free(&context);
    struct emu_memory memory;
    uint64_t address = (uintptr_t)p;

    if (!result)
        result = emu_capture_unsafe();
    if (result)
        return result;
    if (!emu_memory_find(&memory, address) || memory.address != address || memory.kind != kind)
        return unknown;
    result = emu_context_synchronize(memory.context);
    return result ? result : emu_memory_remove(address, 1u << kind);
}

CUresult cuMemFreeHost(void *p)
{
    return host_end(p, EMU_MEMORY_HOST, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct emu_memory what = {.address = (uintptr_t)p,
                              .size = bytesize,
                              .kind = EMU_MEMORY_REGISTERED,
                              .flags = Flags,
                              .is_readable = true,
                              .is_writable = !(Flags & CU_MEMHOSTREGISTER_READ_ONLY)};

    if (result)
        return result;
    if (!p || !bytesize || Flags & ~15u || what.address + bytesize < bytesize)
        return CUDA_ERROR_INVALID_VALUE;
    if (Flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_NOT_SUPPORTED;
    what.context = context;
    what.device = context->device;
    result = emu_memory_add(&what);
    return result == CUDA_ERROR_ALREADY_MAPPED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : result;
}

CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult cuMemHostUnregister(void *p)
{
    return host_end(p, EMU_MEMORY_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static bool find_host(struct emu_memory *memory, const void *p)
{
    return emu_memory_find(memory, (uintptr_t)p) &&
           (memory->kind == EMU_MEMORY_HOST || memory->kind == EMU_MEMORY_REGISTERED);
}

/* Host memory has one address for both. */
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct emu_memory memory;

    if (result)
        return result;
    if (!pdptr || Flags || !find_host(&memory, p))
        return CUDA_ERROR_INVALID_VALUE;
    *pdptr = (uintptr_t)p;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct emu_memory memory;

    if (result)
        return result;
    if (!pFlags || !find_host(&memory, p) || memory.kind != EMU_MEMORY_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    /* With unified addresses all of it is mapped, and says so. */
    *pFlags = memory.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
