/* SPDX-License-Identifier: Apache-2.0
 *
 * The contexts of a thread, and how a call gets its one.
 */
#include "emu/cuda/core/context.h"

#include "api/cuda/abi_current.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"

#define STACK_MAX 64

static _Thread_local CUcontext stack[STACK_MAX];
static _Thread_local unsigned depth;

CUcontext emu_context_current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

bool tsm_emu_has_context(void)
{
    return depth != 0;
}

CUresult emu_context_push(CUcontext context)
{
    if (depth == STACK_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUcontext emu_context_pop(void)
{
    return depth ? stack[--depth] : NULL;
}

void emu_context_fail(CUcontext context, CUresult error, uint64_t mark)
{
    if (emu_context_error(context))
        return;
    context->failed_mark = mark;
    atomic_store(&context->error, (int)error);
}

/* ---- entering the driver ---- */

CUresult emu_enter(CUcontext *context_out)
{
    CUcontext context = emu_context_current();
    CUresult result = emu_ready();

    if (result)
        return result;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!emu_object_is(EMU_CONTEXT, context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    result = emu_context_error(context);
    if (!result)
        *context_out = context;
    return result;
}

CUresult emu_enter_free(CUcontext *context_out)
{
    if (emu_context_current())
        return emu_enter(context_out);
    *context_out = NULL;
    return emu_ready();
}

CUresult emu_context_resolve(CUcontext *out, CUcontext handle)
{
    CUresult result;

    if (!handle)
        return emu_enter(out);
    result = emu_ready();
    if (!result && !emu_object_is(EMU_CONTEXT, handle))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (!result)
        result = emu_context_error(handle);
    if (!result)
        *out = handle;
    return result;
}
