/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions about kernels and variables of the program, and how many blocks of a kernel
 * fit.
 */
#include "emu/cudart/cudart.h"

#include <string.h>

void cudart_config(CUlaunchConfig *out, const cudaLaunchConfig_t *config)
{
    *out = (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = config->attrs,
        .numAttrs = config->numAttrs,
    };
}

/* Runs one call of the driver with `function`, which `name` stands for. */
#define WITH_FUNCTION(name, call)                                                                  \
    CUfunction function;                                                                           \
    return cudart_enter() || cudart_function(&function, name) ? cudart_last() : cudart_result(call)

/* ---- kernels ---- */

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *hostFun)
{
    return cudart_enter() ? cudart_last() : cudart_kernel(kernel, hostFun);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    if (!kernelPtr)
        return cudart_fail(cudaErrorInvalidValue);
    return __cudaGetKernel(kernelPtr, entryFuncAddr);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    if (!functionPtr)
        return cudart_fail(cudaErrorInvalidValue);
    return cudart_enter() ? cudart_last() : cudart_function(functionPtr, symbolPtr);
}

static CUresult read_attribute(int *out, CUfunction_attribute attribute, CUfunction function)
{
    CUresult result = cuFuncGetAttribute(out, attribute, function);

    if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) {
        *out = 0; /* an attribute that this driver does not know */
        return CUDA_SUCCESS;
    }
    return result;
}

static CUresult read_sizes(cudaFuncAttributes *out, CUfunction function)
{
    static const CUfunction_attribute attributes[] = {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                                      CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
                                                      CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES};
    size_t *sizes[] = {&out->sharedSizeBytes, &out->constSizeBytes, &out->localSizeBytes};
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; !result && i < 3; i++) {
        int value;
        result = read_attribute(&value, attributes[i], function);
        *sizes[i] = (size_t)value;
    }
    return result;
}

static CUresult read_attributes(cudaFuncAttributes *out, CUfunction function)
{
    const struct {
        int *value;
        CUfunction_attribute attribute;
    } parts[] = {
        {&out->maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&out->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS},
        {&out->ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION},
        {&out->binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION},
        {&out->cacheModeCA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA},
        {&out->maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
        {&out->preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT},
        {&out->clusterDimMustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET},
        {&out->requiredClusterWidth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH},
        {&out->requiredClusterHeight, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT},
        {&out->requiredClusterDepth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH},
        {&out->clusterSchedulingPolicyPreference,
         CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE},
        {&out->nonPortableClusterSizeAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED},
    };
    CUresult result = read_sizes(out, function);

    for (size_t i = 0; !result && i < sizeof(parts) / sizeof(*parts); i++)
        result = read_attribute(parts[i].value, parts[i].attribute, function);
    return result;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attr, const void *func)
{
    cudaFuncAttributes made = {0};
    CUfunction function;

    if (!attr)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_function(&function, func) ||
        cudart_result(read_attributes(&made, function)))
        return cudart_last();
    *attr = made;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *func, cudaFuncAttribute attr, int value)
{
    WITH_FUNCTION(func, cuFuncSetAttribute(function, attr, value));
}

cudaError_t cudaFuncSetCacheConfig(const void *func, cudaFuncCache cacheConfig)
{
    WITH_FUNCTION(func, cuFuncSetCacheConfig(function, cacheConfig));
}

cudaError_t cudaFuncSetSharedMemConfig(const void *func, cudaSharedMemConfig config)
{
    WITH_FUNCTION(func, cuFuncSetSharedMemConfig(function, config));
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    WITH_FUNCTION(func, cuFuncGetName(name, function));
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
                                 size_t *paramSize)
{
    WITH_FUNCTION(func, cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize));
}

/* ---- occupancy ---- */

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                          int blockSize, size_t dynamicSMemSize)
{
    WITH_FUNCTION(func, cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, function, blockSize,
                                                                    dynamicSMemSize));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func,
                                                                   int blockSize,
                                                                   size_t dynamicSMemSize,
                                                                   unsigned int flags)
{
    WITH_FUNCTION(func, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                            numBlocks, function, blockSize, dynamicSMemSize, flags));
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func,
                                                      int numBlocks, int blockSize)
{
    WITH_FUNCTION(func, cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, function,
                                                                numBlocks, blockSize));
}

typedef CUresult (*occupancy_query)(int *, CUfunction, const CUlaunchConfig *);

static cudaError_t query_clusters(int *out, const void *func, const cudaLaunchConfig_t *config,
                                  occupancy_query query)
{
    CUlaunchConfig made;
    CUfunction function;

    if (!config)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_function(&function, func))
        return cudart_last();
    cudart_config(&made, config);
    return cudart_result(query(out, function, &made));
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                 const cudaLaunchConfig_t *launchConfig)
{
    return query_clusters(clusterSize, func, launchConfig, cuOccupancyMaxPotentialClusterSize);
}

cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                           const cudaLaunchConfig_t *launchConfig)
{
    return query_clusters(numClusters, func, launchConfig, cuOccupancyMaxActiveClusters);
}

/* ---- variables ---- */

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    CUdeviceptr address;
    size_t size;

    if (!devPtr)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_variable(&address, &size, symbol))
        return cudart_last();
    *devPtr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr address;

    if (!size)
        return cudart_fail(cudaErrorInvalidValue);
    return cudart_enter() ? cudart_last() : cudart_variable(&address, size, symbol);
}
