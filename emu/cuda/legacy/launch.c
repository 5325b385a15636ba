/* SPDX-License-Identifier: Apache-2.0
 *
 * Launching as CUDA 2 did: shape and arguments are set in the function, one call after another,
 * and stay there.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/module/function.h"

static CUresult enter_function(CUfunction *out, CUfunction handle)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result)
        result = emu_function_resolve(out, handle, context);
    if (!result && !(*out)->old) {
        (*out)->old = calloc(1, sizeof(*(*out)->old));
        result = (*out)->old ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return result;
}

CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (!result && (x <= 0 || y <= 0 || z <= 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        f->old->block[0] = (unsigned)x;
        f->old->block[1] = (unsigned)y;
        f->old->block[2] = (unsigned)z;
    }
    return result;
}

CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (!result)
        f->old->shared = bytes;
    return result;
}

CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (!result && numbytes > EMU_OLD_PARAMS_MAX)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        f->old->params_size = numbytes;
    return result;
}

CUresult cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (!result && (offset < 0 || !ptr || numbytes > EMU_OLD_PARAMS_MAX ||
                    (unsigned)offset > EMU_OLD_PARAMS_MAX - numbytes))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        memcpy(f->old->params + offset, ptr, numbytes);
    return result;
}

CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
    return cuParamSetv(hfunc, offset, &value, sizeof(value));
}

CUresult cuParamSetf(CUfunction hfunc, int offset, float value)
{
    return cuParamSetv(hfunc, offset, &value, sizeof(value));
}

CUresult cuLaunchGridAsync(CUfunction hfunc, int grid_width, int grid_height, CUstream hStream)
{
    CUfunction f;
    CUresult result = enter_function(&f, hfunc);

    if (result)
        return result;
    if (grid_width <= 0 || grid_height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct emu_old_launch *old = f->old;
    size_t size = old->params_size;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, old->params, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, CU_LAUNCH_PARAM_END};
    return cuLaunchKernel(f, (unsigned)grid_width, (unsigned)grid_height, 1, old->block[0],
                          old->block[1], old->block[2], old->shared, hStream, NULL, extra);
}

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
    return cuLaunchGridAsync(f, grid_width, grid_height, NULL);
}

CUresult cuLaunch(CUfunction f)
{
    return cuLaunchGridAsync(f, 1, 1, NULL);
}
