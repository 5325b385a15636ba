/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills. Compiled twice: see PTSZ() in cudart.h.
 */
#include "emu/cudart/cudart.h"

static CUresult fill(void *to, int value, size_t size, bool is_async, cudaStream_t stream)
{
    if (!size)
        return CUDA_SUCCESS;
    return is_async ? PTSZ(cuMemsetD8Async)(ADDRESS(to), (unsigned char)value, size, stream)
                    : PTDS(cuMemsetD8_v2)(ADDRESS(to), (unsigned char)value, size);
}

static CUresult fill_rows(void *to, size_t pitch, int value, size_t width, size_t height,
                          bool is_async, cudaStream_t stream)
{
    if (!width || !height)
        return CUDA_SUCCESS;
    return is_async
               ? PTSZ(cuMemsetD2D8Async)(ADDRESS(to), pitch, (unsigned char)value, width, height,
                                         stream)
               : PTDS(cuMemsetD2D8_v2)(ADDRESS(to), pitch, (unsigned char)value, width, height);
}

/* One fill if the slices follow each other without rows between them. */
static CUresult fill_box(cudaPitchedPtr to, int value, cudaExtent extent, bool is_async,
                         cudaStream_t stream)
{
    CUresult result = CUDA_SUCCESS;

    if (extent.height > to.ysize && extent.depth > 1)
        return CUDA_ERROR_INVALID_VALUE;
    if (extent.height == to.ysize)
        return fill_rows(to.ptr, to.pitch, value, extent.width, extent.height * extent.depth,
                         is_async, stream);
    for (size_t z = 0; !result && z < extent.depth; z++)
        result = fill_rows((char *)to.ptr + z * to.ysize * to.pitch, to.pitch, value, extent.width,
                           extent.height, is_async, stream);
    return result;
}

cudaError_t PTDS(cudaMemset)(void *devPtr, int value, size_t count)
{
    return CUDART_DRIVER(fill(devPtr, value, count, false, NULL));
}

cudaError_t PTSZ(cudaMemsetAsync)(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    return CUDART_DRIVER(fill(devPtr, value, count, true, stream));
}

cudaError_t PTDS(cudaMemset2D)(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    return CUDART_DRIVER(fill_rows(devPtr, pitch, value, width, height, false, NULL));
}

cudaError_t PTSZ(cudaMemset2DAsync)(void *devPtr, size_t pitch, int value, size_t width,
                                    size_t height, cudaStream_t stream)
{
    return CUDART_DRIVER(fill_rows(devPtr, pitch, value, width, height, true, stream));
}

cudaError_t PTDS(cudaMemset3D)(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent)
{
    return CUDART_DRIVER(fill_box(pitchedDevPtr, value, extent, false, NULL));
}

cudaError_t PTSZ(cudaMemset3DAsync)(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent,
                                    cudaStream_t stream)
{
    return CUDART_DRIVER(fill_box(pitchedDevPtr, value, extent, true, stream));
}
