/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints about managed memory: all memory is equally near, so they are checked, kept, and given
 * back.
 */
#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/stream.h"

#define HOST_BIT 31

/* The old forms name a device, or the host by CU_DEVICE_CPU. */
static CUmemLocation location_of(CUdevice device)
{
    return (CUmemLocation){.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                                           : CU_MEM_LOCATION_TYPE_DEVICE,
                           .id = device == CU_DEVICE_CPU ? 0 : device};
}

static CUresult check_location(CUmemLocation location)
{
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        return emu_enter_device(location.id);
    return location.type == CU_MEM_LOCATION_TYPE_HOST ||
                   location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                   location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

/* A range of managed memory, and all of it known. */
static CUresult check_range(CUdeviceptr address, size_t size)
{
    struct emu_memory memory;

    return !size || !emu_memory_covers(address, size) || !emu_memory_find(&memory, address) ||
                   !emu_memory_is_managed(&memory, address)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

struct advice {
    CUmem_advise what;
    CUmemLocation location;
};

static void advise(struct emu_memory *memory, void *user)
{
    static const CUmemLocation none;
    const struct advice *advice = user;
    struct emu_hints *hints = &memory->hints;
    unsigned bit = advice->location.type == CU_MEM_LOCATION_TYPE_DEVICE
                       ? 1u << (advice->location.id % HOST_BIT)
                       : 1u << HOST_BIT;

    switch ((int)advice->what) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        hints->is_read_mostly = advice->what == CU_MEM_ADVISE_SET_READ_MOSTLY;
        break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        hints->preferred = advice->location;
        break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        hints->preferred = none;
        break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
        hints->accessed_by |= bit;
        break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        hints->accessed_by &= ~bit;
        break;
    }
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location)
{
    struct advice what = {advice, location};
    CUcontext context;
    CUresult result = emu_enter(&context);
    /* Reading and preferring nothing need no place. */
    bool is_placeless = advice == CU_MEM_ADVISE_SET_READ_MOSTLY ||
                        advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
                        advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;

    if (!result)
        result = check_range(devPtr, count);
    if (!result && ((unsigned)advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
                    (unsigned)advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && !is_placeless)
        result = check_location(location);
    if (!result)
        emu_memory_change(devPtr, advise, &what);
    return result;
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise_v2(devPtr, count, advice, location_of(device));
}

/* ---- prefetching ---- */

static void set_prefetched(struct emu_memory *memory, void *user)
{
    memory->hints.prefetched = *(const CUmemLocation *)user;
}

static CUresult prefetch_one(CUdeviceptr address, size_t size, CUmemLocation location)
{
    CUresult result = check_range(address, size);

    if (!result)
        result = check_location(location);
    if (!result)
        emu_memory_change(address, set_prefetched, &location);
    return result;
}

static CUresult prefetch(CUdeviceptr address, size_t size, CUmemLocation location, unsigned flags,
                         CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && flags)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : prefetch_one(address, size, location);
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
    return prefetch(devPtr, count, location_of(dstDevice), 0, hStream, false);
}

CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                 CUstream hStream)
{
    return prefetch(devPtr, count, location_of(dstDevice), 0, hStream, true);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream hStream)
{
    return prefetch(devPtr, count, location, flags, hStream, false);
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                    unsigned int flags, CUstream hStream)
{
    return prefetch(devPtr, count, location, flags, hStream, true);
}

/* Place k counts from range index[k] on, up to index[k + 1]. */
static CUresult prefetch_batch(CUdeviceptr *addresses, size_t *sizes, size_t count,
                               CUmemLocation *places, size_t *index, size_t place_count,
                               unsigned long long flags, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    size_t place = 0;

    if (!result && (!count || !addresses || !sizes || !places || !index || !place_count ||
                    place_count > count || index[0] || flags))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++) {
        while (place + 1 < place_count && index[place + 1] <= i)
            place++;
        result = prefetch_one(addresses[i], sizes[i], places[place]);
    }
    return result;
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                 CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                 size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
    return prefetch_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                          flags, hStream, false);
}

CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                      CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                      size_t numPrefetchLocs, unsigned long long flags,
                                      CUstream hStream)
{
    return prefetch_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                          flags, hStream, true);
}

/* Discards contents. They are not needed any more, so they may stay, and do. */
static CUresult discard_batch(CUdeviceptr *addresses, size_t *sizes, size_t count,
                              unsigned long long flags, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && (!count || !addresses || !sizes || flags))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++)
        result = check_range(addresses[i], sizes[i]);
    return result;
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                unsigned long long flags, CUstream hStream)
{
    return discard_batch(dptrs, sizes, count, flags, hStream, false);
}

CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                     unsigned long long flags, CUstream hStream)
{
    return discard_batch(dptrs, sizes, count, flags, hStream, true);
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                           CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                           size_t numPrefetchLocs, unsigned long long flags,
                                           CUstream hStream)
{
    return prefetch_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                          flags, hStream, false);
}

CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                                CUmemLocation *prefetchLocs,
                                                size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                unsigned long long flags, CUstream hStream)
{
    return prefetch_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                          flags, hStream, true);
}

/* ---- what was advised ---- */

/* A device's number, or what stands for the host and for no place. */
static int device_of(CUmemLocation location)
{
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE    ? location.id
           : location.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID
                                                           : CU_DEVICE_CPU;
}

static void give_accessed_by(int *out, size_t count, unsigned bits)
{
    size_t n = 0;

    for (int bit = 0; bit <= HOST_BIT && n < count; bit++)
        if (bits >> bit & 1)
            out[n++] = bit == HOST_BIT ? CU_DEVICE_CPU : bit;
    while (n < count)
        out[n++] = CU_DEVICE_INVALID;
}

static CUresult give_attribute(void *data, size_t size, CUmem_range_attribute attribute,
                               const struct emu_hints *hints)
{
    int value;

    switch ((int)attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        value = hints->is_read_mostly;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        value = device_of(hints->preferred);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        value = device_of(hints->prefetched);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        value = (int)hints->preferred.type;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        value = hints->preferred.id;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        value = (int)hints->prefetched.type;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        value = hints->prefetched.id;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        if (!size || size % sizeof(int))
            return CUDA_ERROR_INVALID_VALUE;
        give_accessed_by(data, size / sizeof(int), hints->accessed_by);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (size != sizeof(value))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &value, sizeof(value));
    return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct emu_memory memory;

    if (!result && (!numAttributes || !data || !dataSizes || !attributes))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = check_range(devPtr, count);
    if (!result && !emu_memory_find(&memory, devPtr))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < numAttributes && !result; i++)
        result = data[i] ? give_attribute(data[i], dataSizes[i], attributes[i], &memory.hints)
                         : CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count)
{
    return cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}

/* ---- attaching ---- */

static CUresult attach(CUstream handle, CUdeviceptr address, unsigned flags, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    struct emu_memory memory;

    if (result)
        return result;
    if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
         flags != CU_MEM_ATTACH_SINGLE) ||
        !emu_memory_find(&memory, address) || !emu_memory_is_managed(&memory, address) ||
        (flags == CU_MEM_ATTACH_SINGLE && stream->is_legacy))
        return CUDA_ERROR_INVALID_VALUE;
    return emu_stream_send(stream, emu_command_create(&emu_command_mark, 0), false);
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                unsigned int flags)
{
    return attach(hStream, dptr, flags, false);
}

CUresult cuStreamAttachMemAsync_ptsz(CUstream hStream, CUdeviceptr dptr, size_t length,
                                     unsigned int flags)
{
    return attach(hStream, dptr, flags, true);
}
