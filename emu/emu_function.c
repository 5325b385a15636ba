/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a function, and how many blocks of it fit at once.
 */
#include "emu/emu_function.h"

#include "emu/emu.h"
#include "emu/emu_context.h"
#include "emu/emu_device.h"
#include "emu/emu_object.h"

CUresult emu_function_resolve(CUfunction *out, CUfunction handle, CUcontext context)
{
    if (emu_object_is(EMU_KERNEL, handle))
        return emu_kernel_function(out, (CUkernel)(void *)handle, context);
    if (!emu_object_is(EMU_FUNCTION, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    if (handle->module->context != context)
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = handle;
    return CUDA_SUCCESS;
}

static CUresult enter_function(CUfunction *out, CUfunction handle)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    return result ? result : emu_function_resolve(out, handle, context);
}

unsigned emu_function_threads_max(const struct ptx_function *ptx)
{
    const uint32_t *limit = ptx->reqntid[0] ? ptx->reqntid : ptx->maxntid;
    uint64_t threads = 1;

    if (!limit[0])
        return 1024;
    for (unsigned i = 0; i < 3; i++)
        threads *= limit[i] ? limit[i] : 1;
    return threads < 1024 ? (unsigned)threads : 1024;
}

CUresult emu_function_attribute(int *out, CUfunction_attribute attribute, const struct CUfunc_st *f)
{
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *out = (int)emu_function_threads_max(f->ptx);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *out = (int)f->ptx->shared_size;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *out = (int)f->ptx->const_size;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *out = (int)f->ptx->local_size;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *out = (int)f->ptx->register_count;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *out = f->ptx->target; /* the architecture, in spite of its name */
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *out = (int)emu_settings.capability;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *out = atomic_load(&f->dynamic_shared_max);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *out = atomic_load(&f->carveout);
        return CUDA_SUCCESS;
    }
    if ((unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *out = 0; /* caching and clusters */
    return CUDA_SUCCESS;
}

CUresult emu_function_check_setting(CUfunction_attribute attribute, int value,
                                    const struct ptx_function *ptx)
{
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return value < 0 || value + (int)ptx->shared_size > emu_device_shared_per_block()
                   ? CUDA_ERROR_INVALID_VALUE
                   : CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return value < -1 || value > 100 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- entry points ---- */

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (!result && !pi)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_function_attribute(pi, attrib, f);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (!result)
        result = emu_function_check_setting(attrib, value, f->ptx);
    if (result)
        return result;
    if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        atomic_store(&f->dynamic_shared_max, value);
    else
        atomic_store(&f->carveout, value);
    return CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    return !result && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
                                                                    : result;
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    return !result && (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
               ? CUDA_ERROR_INVALID_VALUE
               : result;
}

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (!result && !hmod)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *hmod = f->module;
    return result;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (!result && !name)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *name = f->ptx->name;
    return result;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                            size_t *paramSize)
{
    CUfunction f;
    CUresult result = enter_function(&f, func);

    if (!result && (!paramOffset || paramIndex >= f->ptx->param_count))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    *paramOffset = f->ptx->params[paramIndex].offset;
    if (paramSize)
        *paramSize = f->ptx->params[paramIndex].size;
    return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    CUfunction f;
    CUresult result = enter_function(&f, function);

    if (!result && !state)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return result;
}

CUresult cuFuncLoad(CUfunction function)
{
    CUfunction f;

    return enter_function(&f, function);
}

/* ---- occupancy ---- */

int emu_function_blocks_per_multiprocessor(const struct CUfunc_st *f, unsigned threads,
                                           size_t dynamic_shared)
{
    size_t warps = (threads + 31) / 32;
    size_t shared = f->ptx->shared_size + dynamic_shared;
    size_t registers = f->ptx->register_count * warps * 32;
    size_t blocks = EMU_BLOCKS_PER_MULTIPROCESSOR;
    size_t by_warps = (size_t)emu_device_threads_per_multiprocessor() / 32 / (warps ? warps : 1);

    if (!threads || threads > emu_function_threads_max(f->ptx) ||
        shared > (size_t)emu_device_shared_per_block())
        return 0;
    if (by_warps < blocks)
        blocks = by_warps;
    if (shared && (size_t)emu_device_shared_per_multiprocessor() / shared < blocks)
        blocks = (size_t)emu_device_shared_per_multiprocessor() / shared;
    /* The register count is an estimate that a compiler would beat: it never forbids a block. */
    if (registers && 65536 / registers < blocks)
        blocks = registers > 65536 ? 1 : 65536 / registers;
    return (int)blocks;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags)
{
    CUfunction f;
    CUresult result = enter_function(&f, func);

    if (!result && (!numBlocks || blockSize <= 0 || flags > 1))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *numBlocks =
            emu_function_blocks_per_multiprocessor(f, (unsigned)blockSize, dynamicSMemSize);
    return result;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                dynamicSMemSize, 0);
}

/* The block size with the most threads on a multiprocessor; of equals the largest block. */
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                   CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags)
{
    CUfunction f;
    CUresult result = enter_function(&f, func);
    int best = 0, best_blocks = 0, limit;

    if (!result && (!minGridSize || !blockSize || blockSizeLimit < 0 || flags > 1))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    limit = (int)emu_function_threads_max(f->ptx);
    if (blockSizeLimit && blockSizeLimit < limit)
        limit = blockSizeLimit;
    for (int size = limit; size > 0; size = (size - 1) / 32 * 32) {
        size_t shared =
            blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(size) : dynamicSMemSize;
        int blocks = emu_function_blocks_per_multiprocessor(f, (unsigned)size, shared);
        if (blocks * size > best * best_blocks) {
            best = size;
            best_blocks = blocks;
        }
    }
    *blockSize = best;
    *minGridSize = best_blocks * EMU_MULTIPROCESSORS;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                     blockSizeToDynamicSMemSize, dynamicSMemSize,
                                                     blockSizeLimit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                 int numBlocks, int blockSize)
{
    CUfunction f;
    CUresult result = enter_function(&f, func);
    size_t per_block;

    if (!result && (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    per_block = (size_t)(emu_device_shared_per_multiprocessor() / numBlocks);
    if (per_block > (size_t)emu_device_shared_per_block())
        per_block = (size_t)emu_device_shared_per_block();
    *dynamicSmemSize = per_block > f->ptx->shared_size ? per_block - f->ptx->shared_size : 0;
    return CUDA_SUCCESS;
}
