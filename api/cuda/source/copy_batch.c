/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of copies: one command that takes bytes from many places and writes to many.
 */
#include "api/cuda/copy_batch.h"

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

    if (ok && cuda_is_captured(call))
        tsm_call_flag(call, SBT_RECORD_TAINTS); /* nothing says which nodes it became */
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
