/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions about a context and changes its settings.
 */
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/pool.h"
#include "emu/cuda/stream/event.h"
#include "emu/cuda/stream/stream.h"

CUresult cuCtxGetDevice(CUdevice *device)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !device)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *device = context->device;
    return result;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    CUcontext context;
    CUresult result = emu_context_resolve(&context, ctx);

    if (!result && !device)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *device = context->device;
    return result;
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !flags)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *flags = atomic_load(&context->flags);
    return result;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        atomic_store(&context->flags, flags);
    return result;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    CUcontext context;
    CUresult result = emu_context_resolve(&context, ctx);

    if (!result && !ctxId)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *ctxId = context->id;
    return result;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    CUcontext context;
    CUresult result = emu_context_resolve(&context, ctx);

    if (!result && !version)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *version = context->api_version;
    return result;
}

CUresult cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    CUcontext context;
    CUresult result = emu_context_resolve(&context, ctx);

    if (!result)
        result = emu_capture_unsafe();
    if (!result)
        result = emu_context_synchronize(context);
    if (!result)
        emu_pool_release(context, NULL);
    return result;
}

static bool is_limit(CUlimit limit)
{
    return (unsigned)limit < EMU_LIMIT_COUNT;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (!is_limit(limit))
        return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH ||
        limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    atomic_store(&context->limits[limit], value);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && (!pvalue || !is_limit(limit)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pvalue = atomic_load(&context->limits[limit]);
    return result;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !pconfig)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pconfig = (CUfunc_cache)atomic_load(&context->cache_config);
    return result;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        atomic_store(&context->cache_config, (int)config);
    return result;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !pConfig)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return result;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (leastPriority)
        *leastPriority = 0;
    if (greatestPriority)
        *greatestPriority = EMU_PRIORITY_GREATEST;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
    CUcontext context;

    return emu_enter(&context);
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    return result ? result : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

/* ---- one context for another: every device reads the same memory ---- */

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (Flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!emu_object_is(EMU_CONTEXT, peerContext) || peerContext == context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (peerContext->device == context->device)
        return CUDA_ERROR_INVALID_DEVICE;
    return emu_peer_set(context, peerContext->device, true);
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (!emu_object_is(EMU_CONTEXT, peerContext))
        return CUDA_ERROR_INVALID_CONTEXT;
    return emu_peer_set(context, peerContext->device, false);
}

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    CUresult result = emu_enter_device(dev);

    if (!result)
        result = emu_enter_device(peerDev);
    if (!result && !canAccessPeer)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *canAccessPeer = dev != peerDev;
    return result;
}

static CUresult enter_pair(CUdevice source, CUdevice destination)
{
    CUresult result = emu_enter_device(source);

    if (!result)
        result = emu_enter_device(destination);
    return !result && source == destination ? CUDA_ERROR_INVALID_DEVICE : result;
}

/* All are equally near, and each does with another's memory what it does with its own. */
CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice)
{
    CUresult result = enter_pair(srcDevice, dstDevice);

    if (!result && (!value || attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
                    attrib > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
                 attrib == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED ||
                 attrib == CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED;
    return result;
}

/* Returns the atomic operations that PTX's atom and red offer. */
static unsigned atomic_capability(CUatomicOperation operation)
{
    const unsigned scalars = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;

    switch ((int)operation) {
    case CU_ATOMIC_OPERATION_INTEGER_ADD:
    case CU_ATOMIC_OPERATION_INTEGER_MIN:
    case CU_ATOMIC_OPERATION_INTEGER_MAX:
        return scalars | CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED |
               CU_ATOMIC_CAPABILITY_REDUCTION;
    case CU_ATOMIC_OPERATION_INTEGER_INCREMENT:
    case CU_ATOMIC_OPERATION_INTEGER_DECREMENT:
        return CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_UNSIGNED |
               CU_ATOMIC_CAPABILITY_REDUCTION;
    case CU_ATOMIC_OPERATION_EXCHANGE:
    case CU_ATOMIC_OPERATION_CAS:
        return scalars;
    case CU_ATOMIC_OPERATION_FLOAT_MIN:
    case CU_ATOMIC_OPERATION_FLOAT_MAX:
        return 0;
    }
    return scalars | CU_ATOMIC_CAPABILITY_REDUCTION;
}

static CUresult give_atomics(unsigned *out, const CUatomicOperation *operations, unsigned count)
{
    if (!out || !operations || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)operations[i] >= CU_ATOMIC_OPERATION_MAX)
            return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        out[i] = atomic_capability(operations[i]);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                          const CUatomicOperation *operations, unsigned int count,
                                          CUdevice srcDevice, CUdevice dstDevice)
{
    CUresult result = enter_pair(srcDevice, dstDevice);

    return result ? result : give_atomics(capabilities, operations, count);
}

CUresult cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                           const CUatomicOperation *operations, unsigned int count,
                                           CUdevice dev)
{
    CUresult result = emu_enter_device(dev);

    return result ? result : give_atomics(capabilities, operations, count);
}
