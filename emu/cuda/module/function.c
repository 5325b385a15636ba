/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions about a function, and how many of its blocks fit at once.
 */
#include "emu/cuda/module/function.h"

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"

CUresult emu_function_resolve(CUfunction *out, CUfunction handle, CUcontext context)
{
    if (emu_object_is(EMU_KERNEL, handle))
        return emu_kernel_function(out, (CUkernel)(void *)handle, context);
    if (!emu_object_is(EMU_FUNCTION, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    if (handle->module->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = handle;
    return CUDA_SUCCESS;
}

CUresult emu_function_enter(CUfunction *out, CUfunction handle)
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
    /* Attributes of caching have no effect here. */
    *out = emu_cluster_has(attribute) ? emu_cluster_get(&f->cluster, f->ptx, attribute) : 0;
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
    }
    return emu_cluster_has(attribute) ? emu_cluster_check_setting(ptx, attribute, value)
                                      : CUDA_ERROR_INVALID_VALUE;
}

/* ---- entry points ---- */

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, hfunc);

    if (!result && !pi)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_function_attribute(pi, attrib, f);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, hfunc);

    if (!result)
        result = emu_function_check_setting(attrib, value, f->ptx);
    if (result)
        return result;
    if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        atomic_store(&f->dynamic_shared_max, value);
    else if (emu_cluster_has(attrib))
        emu_cluster_set(&f->cluster, attrib, value);
    else
        atomic_store(&f->carveout, value);
    return CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, hfunc);

    return !result && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
                                                                    : result;
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, hfunc);

    return !result && (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
               ? CUDA_ERROR_INVALID_VALUE
               : result;
}

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, hfunc);

    if (!result && !hmod)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *hmod = f->module;
    return result;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, hfunc);

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
    CUresult result = emu_function_enter(&f, func);

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
    CUresult result = emu_function_enter(&f, function);

    if (!result && !state)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return result;
}

CUresult cuFuncLoad(CUfunction function)
{
    CUfunction f;

    return emu_function_enter(&f, function);
}
