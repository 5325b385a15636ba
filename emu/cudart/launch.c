/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches. Compiled twice: see PTSZ() in cudart.h.
 */
#include "emu/cudart/cudart.h"

#include <stdint.h>

static bool exceeds(dim3 d, CUdevice_attribute x, CUdevice_attribute y, CUdevice_attribute z)
{
    const CUdevice_attribute attributes[] = {x, y, z};
    const unsigned values[] = {d.x, d.y, d.z};
    int limit;

    for (unsigned i = 0; i < 3; i++)
        if (!values[i] || (!cuDeviceGetAttribute(&limit, attributes[i], cudart_device()) &&
                           values[i] > (unsigned)limit))
            return true;
    return false;
}

static bool has_too_many_threads(dim3 block)
{
    uint64_t threads = (uint64_t)block.x * block.y;
    int limit;

    return !cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                 cudart_device()) &&
           (threads > (unsigned)limit || threads * block.z > (unsigned)limit);
}

/* The driver says of any wrong argument that it is invalid. */
static cudaError_t launch_result(CUresult result, dim3 grid, dim3 block)
{
    if (result == CUDA_ERROR_INVALID_VALUE &&
        (exceeds(grid, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                 CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) ||
         exceeds(block, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                 CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) ||
         has_too_many_threads(block)))
        return cudart_fail(cudaErrorInvalidConfiguration);
    return cudart_result(result);
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared,
                          cudaStream_t stream)
{
    if (shared > UINT32_MAX)
        return cudart_fail(cudaErrorInvalidValue);
    return launch_result(PTSZ(cuLaunchKernel)((CUfunction)(void *)kernel, grid.x, grid.y, grid.z,
                                              block.x, block.y, block.z, (unsigned)shared, stream,
                                              args, NULL),
                         grid, block);
}

/* A kernel that could not be loaded is NULL; the error was returned when it was asked for, which
 * the program's code does once. */
cudaError_t PTSZ(__cudaLaunchKernel)(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                                     size_t sharedMem, cudaStream_t stream)
{
    if (cudart_enter())
        return cudart_last();
    if (!kernel && cudart_image_error())
        return cudart_fail(cudart_image_error());
    if (!kernel)
        return cudart_fail(cudaErrorInvalidDeviceFunction);
    return launch(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t PTSZ(cudaLaunchKernel)(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                   size_t sharedMem, cudaStream_t stream)
{
    CUkernel kernel;

    if (cudart_enter() || cudart_kernel(&kernel, func))
        return cudart_last();
    return launch(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t PTSZ(cudaLaunchCooperativeKernel)(const void *func, dim3 gridDim, dim3 blockDim,
                                              void **args, size_t sharedMem, cudaStream_t stream)
{
    CUkernel kernel;
    CUresult result;

    if (cudart_enter() || cudart_kernel(&kernel, func))
        return cudart_last();
    if (sharedMem > UINT32_MAX)
        return cudart_fail(cudaErrorInvalidValue);
    result = PTSZ(cuLaunchCooperativeKernel)((CUfunction)(void *)kernel, gridDim.x, gridDim.y,
                                             gridDim.z, blockDim.x, blockDim.y, blockDim.z,
                                             (unsigned)sharedMem, stream, args);
    return launch_result(result, gridDim, blockDim);
}

cudaError_t PTSZ(cudaLaunchKernelExC)(const cudaLaunchConfig_t *config, const void *func,
                                      void **args)
{
    CUkernel kernel;
    CUlaunchConfig made;

    if (!config || config->dynamicSmemBytes > UINT32_MAX)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_kernel(&kernel, func))
        return cudart_last();
    cudart_config(&made, config);
    return launch_result(PTSZ(cuLaunchKernelEx)(&made, (CUfunction)(void *)kernel, args, NULL),
                         config->gridDim, config->blockDim);
}
