/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/core/context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/emu.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/event.h"
#include "emu/cuda/check/report.h"
#include "emu/cuda/module/module.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/memory/pool.h"
#include "emu/cuda/stream/stream.h"

/* A primary context keeps its handle over release and retain. */
static struct CUctx_st primary[EMU_DEVICE_COUNT_MAX];
static unsigned primary_uses[EMU_DEVICE_COUNT_MAX];
static unsigned primary_flags[EMU_DEVICE_COUNT_MAX];

CUresult emu_peer_set(CUcontext context, CUdevice peer, bool is_enabled)
{
    unsigned bit = 1u << peer;
    unsigned before = is_enabled ? atomic_fetch_or(&context->peers, bit)
                                 : atomic_fetch_and(&context->peers, ~bit);

    if (is_enabled == !!(before & bit))
        return is_enabled ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                          : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    return CUDA_SUCCESS;
}

/* ---- life ---- */

static void init_limits(CUcontext context)
{
    atomic_store(&context->limits[CU_LIMIT_STACK_SIZE], 1024);
    atomic_store(&context->limits[CU_LIMIT_PRINTF_FIFO_SIZE], 1u << 20);
    atomic_store(&context->limits[CU_LIMIT_MALLOC_HEAP_SIZE], 8u << 20);
    atomic_store(&context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH], 2);
    atomic_store(&context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT], 2048);
    atomic_store(&context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY], 64);
}

static CUresult context_init(CUcontext context, CUdevice device, unsigned flags, unsigned version)
{
    CUresult result;

    memset(context, 0, sizeof(*context));
    context->device = device;
    context->flags = flags;
    context->api_version = version;
    context->id = emu_next_id();
    context->use_count = 1;
    init_limits(context);
    result = emu_stream_create(&context->legacy, context, 0, 0, true, 0);
    if (!result && !emu_object_add(EMU_CONTEXT, context))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        emu_stream_destroy(context->legacy);
        return result;
    }
    return CUDA_SUCCESS;
}

/* Runs what was sent to its end first, as the order of destruction would allow on a device. */
static void context_finish(CUcontext context)
{
    emu_context_synchronize(context);
    emu_object_remove(context);
    emu_context_forget_captures(context);
    emu_context_destroy_streams(context);
    emu_context_destroy_events(context);
    emu_context_destroy_modules(context);
    /* After an error nothing can be freed. */
    if (emu_settings.checks & EMU_CHECK_LEAK && !emu_context_error(context))
        emu_context_each_leak(context, emu_report_leak);
    emu_context_forget_blocks(context);
    emu_context_free_memory(context);
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice device, unsigned version)
{
    CUresult result = emu_enter_device(device);
    CUcontext context;

    if (result)
        return result;
    if (!out || (flags & ~(unsigned)CU_CTX_FLAGS_MASK) ||
        (flags & CU_CTX_SCHED_MASK) > CU_CTX_SCHED_BLOCKING_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    context = calloc(1, sizeof(*context));
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = context_init(context, device, flags, version);
    if (result) {
        free(context);
        return result;
    }
    result = emu_context_push(context);
    if (result) {
        context_finish(context);
        free(context);
        return result;
    }
    *out = context;
    return CUDA_SUCCESS;
}

static void destroy(CUcontext context)
{
    if (context == emu_context_current())
        emu_context_pop();
    context_finish(context);
    free(context);
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(pctx, flags, dev, 3020);
}

CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(pctx, flags, dev, 3010);
}

CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                        unsigned int flags, CUdevice dev)
{
    if (numParams)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(pctx, flags, dev, 3020);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
                        CUdevice dev)
{
    if (ctxCreateParams && ctxCreateParams->numExecAffinityParams)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    if (ctxCreateParams && ctxCreateParams->cigParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    return create(pctx, flags, dev, 3020);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult result = emu_ready();

    if (result)
        return result;
    if (!emu_object_is(EMU_CONTEXT, ctx) || ctx->is_primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    destroy(ctx);
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
    return cuCtxDestroy_v2(ctx);
}

/* The use count of old: a context goes when its last user detaches. */
CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (!pctx || flags)
        return CUDA_ERROR_INVALID_VALUE;
    context->use_count++;
    *pctx = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext ctx)
{
    CUresult result = emu_ready();

    if (result)
        return result;
    if (!emu_object_is(EMU_CONTEXT, ctx) || ctx != emu_context_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--ctx->use_count == 0)
        return cuCtxDestroy_v2(ctx);
    return CUDA_SUCCESS;
}

/* ---- the thread's stack ---- */

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_CONTEXT, ctx))
        result = CUDA_ERROR_INVALID_CONTEXT;
    return result ? result : emu_context_push(ctx);
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
    return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
    CUresult result = emu_ready();
    CUcontext context = result ? NULL : emu_context_pop();

    if (!result && !context)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (!result && pctx)
        *pctx = context;
    return result;
}

CUresult cuCtxPopCurrent(CUcontext *pctx)
{
    return cuCtxPopCurrent_v2(pctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
    CUresult result = emu_ready();

    if (!result && ctx && !emu_object_is(EMU_CONTEXT, ctx))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result)
        return result;
    emu_context_pop();
    return ctx ? emu_context_push(ctx) : CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult result = emu_ready();

    if (!result && !pctx)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pctx = emu_context_current();
    return result;
}

/* ---- primary contexts ---- */

static bool is_primary_active(CUdevice device)
{
    return emu_object_is(EMU_CONTEXT, &primary[device]);
}

/* One at a time: two threads that retain first must both find it whole. */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    CUresult result = emu_enter_device(dev);

    if (result)
        return result;
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&primary_lock);
    if (!is_primary_active(dev)) {
        result = context_init(&primary[dev], dev, primary_flags[dev], 3020);
        primary[dev].is_primary = true;
    }
    if (!result) {
        primary_uses[dev]++;
        *pctx = &primary[dev];
    }
    pthread_mutex_unlock(&primary_lock);
    return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    CUresult result = emu_enter_device(dev);

    if (result)
        return result;
    pthread_mutex_lock(&primary_lock);
    if (!primary_uses[dev])
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (--primary_uses[dev] == 0 && is_primary_active(dev))
        context_finish(&primary[dev]);
    pthread_mutex_unlock(&primary_lock);
    return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return cuDevicePrimaryCtxRelease_v2(dev);
}

/* All that is in it goes; those who retained it still hold it, as good as new. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    CUresult result = emu_enter_device(dev);

    if (result)
        return result;
    pthread_mutex_lock(&primary_lock);
    if (is_primary_active(dev)) {
        context_finish(&primary[dev]);
        if (primary_uses[dev]) {
            result = context_init(&primary[dev], dev, primary_flags[dev], 3020);
            primary[dev].is_primary = true;
        }
    }
    pthread_mutex_unlock(&primary_lock);
    return result;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    return cuDevicePrimaryCtxReset_v2(dev);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    CUresult result = emu_enter_device(dev);

    if (result)
        return result;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) ||
        (flags & CU_CTX_SCHED_MASK) > CU_CTX_SCHED_BLOCKING_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&primary_lock);
    primary_flags[dev] = flags;
    if (is_primary_active(dev))
        atomic_store(&primary[dev].flags, flags);
    pthread_mutex_unlock(&primary_lock);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    CUresult result = emu_enter_device(dev);

    if (result)
        return result;
    pthread_mutex_lock(&primary_lock);
    if (flags)
        *flags = primary_flags[dev];
    if (active)
        *active = is_primary_active(dev);
    pthread_mutex_unlock(&primary_lock);
    return CUDA_SUCCESS;
}
