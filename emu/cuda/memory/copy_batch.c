/* SPDX-License-Identifier: Apache-2.0
 *
 * Many copies in one call. They may run in any order; here they run one after another.
 */
#include "emu/cuda/core/emu.h"
#include "emu/cuda/memory/copy.h"
#include "emu/cuda/stream/stream.h"

#define NO_INDEX SIZE_MAX /* what *failIdx is when no single copy is to blame */

/* Source bytes that the program may change right after the call are read during it, as pageable
 * memory's always are. */
static CUresult check_attributes(const CUmemcpyAttributes *attributes, const size_t *index,
                                 size_t attribute_count, size_t count)
{
    if (!count || !attributes || !index || !attribute_count || attribute_count > count || index[0])
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < attribute_count; i++)
        if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
            attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
            (i && (index[i] <= index[i - 1] || index[i] >= count)))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult copy_batch(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                           const CUmemcpyAttributes *attributes, const size_t *index,
                           size_t attribute_count, size_t *failed, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    bool is_awaited = false;

    *failed = NO_INDEX;
    if (!result && (!to || !from || !sizes))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = check_attributes(attributes, index, attribute_count, count);
    /* Each copy waits for what the default stream means, so it has none. */
    if (!result && stream->is_legacy)
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++) {
        struct emu_side d = {.address = to[i], .kind = EMU_SIDE_UNIFIED};
        struct emu_side s = {.address = from[i], .kind = EMU_SIDE_UNIFIED};
        result = emu_copy_of_batch(stream, d, s, sizes[i], &is_awaited);
        if (result)
            *failed = i;
    }
    return !result && is_awaited ? emu_stream_synchronize(stream) : result;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                            CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                            size_t *failIdx, CUstream hStream)
{
    return failIdx ? copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx,
                                hStream, false)
                   : emu_refuse(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                 CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                                 size_t *failIdx, CUstream hStream)
{
    return failIdx ? copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx,
                                hStream, true)
                   : emu_refuse(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                               CUstream hStream)
{
    size_t failed;

    return copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, &failed, hStream,
                      false);
}

CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                    size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                    size_t numAttrs, CUstream hStream)
{
    size_t failed;

    return copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, &failed, hStream, true);
}
