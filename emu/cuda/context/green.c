/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts: a part of the device's multiprocessors, in the primary context. The parts are
 * counted and kept apart as documented, but they steer nothing: all kernels run on the same CPU.
 * The context made of a green one is the primary context itself.
 */
#include "emu/cuda/core/emu.h"

#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/stream/event.h"
#include "emu/cuda/stream/stream.h"

#define SPLIT_FLAGS                                                                                \
    (CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |                                             \
     CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE)

/* Data of ours inside a resource, where its user may not look. */
struct origin {
    uint64_t magic;
    uint64_t split; /* 0: a whole; else of one call of cuDevSmResourceSplitByCount() */
    int32_t device;
    uint32_t first; /* multiprocessor */
};
#define MAGIC 0x6e65657267736d74ull

struct CUdevResourceDesc_st {
    CUdevResource resource;
};

struct CUgreenCtx_st {
    CUcontext context; /* the primary one, retained */
    CUdevResource resource;
    unsigned long long id;
    CUstream stream; /* where its events are recorded */
};

/* ---- resources ---- */

static struct origin origin_of(const CUdevResource *resource)
{
    struct origin origin;

    memcpy(&origin, resource->_internal_padding, sizeof(origin));
    return origin;
}

static CUdevResource make(CUdevice device, unsigned first, unsigned count, uint64_t split)
{
    struct origin origin = {MAGIC, split, device, first};
    unsigned major = emu_settings.capability / 10;
    CUdevResource r = {.type = CU_DEV_RESOURCE_TYPE_SM,
                       .sm = {.smCount = count,
                              .minSmPartitionSize = major >= 9   ? 8
                                                    : major == 8 ? 4
                                                                 : 2,
                              .smCoscheduledAlignment = major >= 9 ? 8 : 2}};

    memcpy(r._internal_padding, &origin, sizeof(origin));
    return r;
}

static CUresult check(const CUdevResource *resource)
{
    if (!resource)
        return CUDA_ERROR_INVALID_VALUE;
    if (resource->type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    return origin_of(resource).magic == MAGIC && resource->sm.smCount
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

static CUresult give(CUdevResource *out, CUdevResourceType type, CUdevResource resource)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *out = resource;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    CUresult result = emu_enter_device(device);

    return result ? result : give(resource, type, make(device, 0, EMU_MULTIPROCESSORS, 0));
}

CUresult cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource, CUdevResourceType type)
{
    CUcontext context;
    CUresult result = emu_context_resolve(&context, hCtx);

    return result ? result : give(resource, type, make(context->device, 0, EMU_MULTIPROCESSORS, 0));
}

/* Groups of equal size, as many as there are and are asked for. */
CUresult cuDevSmResourceSplitByCount(CUdevResource *out, unsigned int *nbGroups,
                                     const CUdevResource *input, CUdevResource *remaining,
                                     unsigned int useFlags, unsigned int minCount)
{
    CUresult result = emu_ready();
    unsigned unit, size, groups;
    uint64_t split;

    if (!result)
        result = check(input);
    if (!result && (!nbGroups || useFlags & ~(unsigned)SPLIT_FLAGS || minCount > input->sm.smCount))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && origin_of(input).split)
        result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (result)
        return result;
    bool is_fine = useFlags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    unit = is_fine ? 2 : input->sm.smCoscheduledAlignment;
    size = is_fine ? 2 : input->sm.minSmPartitionSize;
    if (minCount > size)
        size = (minCount + unit - 1) / unit * unit;
    groups = input->sm.smCount / size;
    if (out && *nbGroups < groups)
        groups = *nbGroups;
    split = emu_next_id();
    for (unsigned i = 0; out && i < groups; i++)
        out[i] = make(origin_of(input).device, origin_of(input).first + i * size, size, split);
    if (out && remaining) {
        *remaining = make(origin_of(input).device, origin_of(input).first + groups * size,
                          input->sm.smCount - groups * size, split);
        if (!remaining->sm.smCount)
            remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
    }
    *nbGroups = groups;
    return CUDA_SUCCESS;
}

/* Descriptors have no end in the interface: each is kept until the process ends. */
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                   unsigned int nbResources)
{
    CUresult result = emu_ready();
    CUdevResourceDesc desc;
    unsigned count = 0;

    if (!result && (!phDesc || !resources || !nbResources))
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < nbResources && !result; i++) {
        struct origin first = origin_of(&resources[0]), this = origin_of(&resources[i]);
        result = check(&resources[i]);
        if (!result &&
            (this.device != first.device || this.split != first.split || (i && !this.split)))
            result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        count += resources[i].sm.smCount;
    }
    if (!result && count > EMU_MULTIPROCESSORS)
        result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (result)
        return result;
    desc = calloc(1, sizeof(*desc));
    if (!desc || !emu_object_add(EMU_RESOURCE, desc)) {
        free(desc);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    /* A green context's part can be split again. */
    desc->resource =
        make(origin_of(&resources[0]).device, origin_of(&resources[0]).first, count, 0);
    *phDesc = desc;
    return CUDA_SUCCESS;
}

/* ---- life ---- */

static CUresult enter(CUgreenCtx green)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_GREEN, green))
        result = CUDA_ERROR_INVALID_CONTEXT;
    return result ? result : emu_context_error(green->context);
}

static CUresult green_init(CUgreenCtx green, CUdevice device)
{
    CUresult result = cuDevicePrimaryCtxRetain(&green->context, device);

    if (result)
        return result;
    green->id = emu_next_id();
    result = emu_stream_create(&green->stream, green->context, CU_STREAM_NON_BLOCKING, 0, false, 0);
    if (!result && !emu_object_add(EMU_GREEN, green))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        emu_stream_destroy(green->stream);
        cuDevicePrimaryCtxRelease_v2(device);
    } else {
        green->stream->green = green;
    }
    return result;
}

CUresult cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                          unsigned int flags)
{
    CUresult result = emu_enter_device(dev);
    CUgreenCtx green;

    if (!result &&
        (!phCtx || !emu_object_is(EMU_RESOURCE, desc) || flags != CU_GREEN_CTX_DEFAULT_STREAM ||
         origin_of(&desc->resource).device != dev))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    green = calloc(1, sizeof(*green));
    if (!green)
        return CUDA_ERROR_OUT_OF_MEMORY;
    green->resource = desc->resource;
    result = green_init(green, dev);
    if (result)
        free(green);
    else
        *phCtx = green;
    return result;
}

/* Its streams are left, and useless: so the interface says. */
CUresult cuGreenCtxDestroy(CUgreenCtx hCtx)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_GREEN, hCtx))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result)
        return result;
    emu_stream_synchronize(hCtx->stream);
    emu_object_remove(hCtx);
    emu_stream_destroy(hCtx->stream);
    cuDevicePrimaryCtxRelease_v2(hCtx->context->device);
    free(hCtx);
    return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    CUresult result = enter(hCtx);

    if (!result && !pContext)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pContext = hCtx->context;
    return result;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource, CUdevResourceType type)
{
    CUresult result = enter(hCtx);

    return result ? result : give(resource, type, hCtx->resource);
}

CUresult cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId)
{
    CUresult result = enter(greenCtx);

    if (!result && !greenCtxId)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *greenCtxId = greenCtx->id;
    return result;
}

/* ---- streams and events ---- */

CUresult cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                int priority)
{
    CUresult result = enter(greenCtx);

    if (!result && (!phStream || flags != CU_STREAM_NON_BLOCKING))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result =
            emu_stream_create(phStream, greenCtx->context, flags, emu_priority(priority), false, 0);
    if (!result)
        (*phStream)->green = greenCtx;
    return result;
}

CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, hStream, false);

    if (!result && !phCtx)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *phCtx = stream->green;
    return result;
}

static CUresult follow(CUstream stream, void *user)
{
    CUgreenCtx green = user;

    return stream->green == green && stream != green->stream
               ? emu_stream_follow(green->stream, stream)
               : CUDA_SUCCESS;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    CUresult result = enter(hCtx);

    if (!result && !emu_object_is(EMU_EVENT, hEvent))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = emu_event_check(hEvent, hCtx->context);
    if (!result)
        result = emu_stream_each(hCtx->context, follow, hCtx);
    return result ? result : emu_event_record(hEvent, hCtx->stream);
}

struct wait {
    CUgreenCtx green;
    CUevent event;
};

static CUresult wait_in(CUstream stream, void *user)
{
    const struct wait *wait = user;

    return stream->green == wait->green ? emu_event_wait(wait->event, stream) : CUDA_SUCCESS;
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct wait wait = {hCtx, hEvent};
    CUresult result = enter(hCtx);

    if (!result && !emu_object_is(EMU_EVENT, hEvent))
        result = CUDA_ERROR_INVALID_HANDLE;
    return result ? result : emu_stream_each(hCtx->context, wait_in, &wait);
}
