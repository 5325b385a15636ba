/* SPDX-License-Identifier: Apache-2.0
 *
 * One kernel on several devices at once. Each launch waits for the streams of all, and what follows
 * on these for all launches, unless the call says that it need not. A barrier of all grids is not
 * there: code has it from a runtime library.
 */
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/module/function.h"
#include "emu/cuda/stream/stream.h"

#define FLAGS                                                                                      \
    (CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |                                     \
     CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC)

/* The same for all: grid, block, shared memory; streams that were made, one a device. */
static CUresult check(const CUDA_LAUNCH_PARAMS *list, unsigned count)
{
    unsigned devices = 0;

    for (unsigned i = 0; i < count; i++) {
        const CUDA_LAUNCH_PARAMS *p = &list[i];
        if (!emu_object_is(EMU_STREAM, p->hStream))
            return CUDA_ERROR_INVALID_HANDLE;
        if (p->hStream->is_legacy || devices & 1u << p->hStream->context->device ||
            p->gridDimX != list->gridDimX || p->gridDimY != list->gridDimY ||
            p->gridDimZ != list->gridDimZ || p->blockDimX != list->blockDimX ||
            p->blockDimY != list->blockDimY || p->blockDimZ != list->blockDimZ ||
            p->sharedMemBytes != list->sharedMemBytes)
            return CUDA_ERROR_INVALID_VALUE;
        devices |= 1u << p->hStream->context->device;
    }
    return CUDA_SUCCESS;
}

static CUresult join(const CUDA_LAUNCH_PARAMS *list, unsigned count)
{
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count && !result; k++)
            if (k != i)
                result = emu_stream_follow(list[i].hStream, list[k].hStream);
    return result;
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launchParamsList,
                                              unsigned int numDevices, unsigned int flags)
{
    CUresult result = emu_ready();

    if (!result && (!launchParamsList || !numDevices || numDevices > EMU_DEVICE_COUNT_MAX ||
                    flags & ~(unsigned)FLAGS))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = check(launchParamsList, numDevices);
    if (!result && !(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC))
        result = join(launchParamsList, numDevices);
    for (unsigned i = 0; i < numDevices && !result; i++) {
        const CUDA_LAUNCH_PARAMS *p = &launchParamsList[i];
        result = emu_context_push(p->hStream->context);
        if (result)
            break;
        result = cuLaunchCooperativeKernel(p->function, p->gridDimX, p->gridDimY, p->gridDimZ,
                                           p->blockDimX, p->blockDimY, p->blockDimZ,
                                           p->sharedMemBytes, p->hStream, p->kernelParams);
        emu_context_pop();
    }
    if (!result && !(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC))
        result = join(launchParamsList, numDevices);
    return result;
}
