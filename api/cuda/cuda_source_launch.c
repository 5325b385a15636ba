/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: the program gives an address for each argument, and only the function knows how many
 * there are and how long each is. We keep them as the device gets them: one block, each argument at
 * its offset. Replay gives that block back whole (CU_LAUNCH_PARAM_BUFFER_POINTER).
 *
 * A function's layout comes from the driver (12.4 and later) or from its image, and is kept in the
 * `user` of its handle.
 */
#include "api/cuda/cuda_source_module.h"

#include "api/cuda/cuda_encode.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"

#include <string.h>

/* Ask the driver. False: it does not know the function, or cannot tell. */
static bool ask_driver(const struct cuda_function *function, uint64_t raw, size_t index,
                       size_t *offset, size_t *size)
{
    if (function->is_kernel)
        return real.cuKernelGetParamInfo((CUkernel)raw, index, offset, size) == CUDA_SUCCESS;
    return real.cuFuncGetParamInfo((CUfunction)raw, index, offset, size) == CUDA_SUCCESS;
}

static struct cuda_layout *layout_from_driver(const struct cuda_function *function, uint64_t raw)
{
    struct cuda_layout *layout;
    size_t offset, size;
    uint32_t count = 0;

    while (count < CUDA_PARAM_COUNT_MAX && ask_driver(function, raw, count, &offset, &size))
        count++;
    layout = cuda_layout_make(count);
    for (uint32_t i = 0; layout && i < count; i++) {
        if (!ask_driver(function, raw, i, &offset, &size) || offset + size > CUDA_PARAM_OFFSET_MAX)
            return NULL;
        cuda_layout_set(layout, i, (uint16_t)offset, (uint16_t)size);
    }
    return layout;
}

static const struct cuda_layout *layout_of(struct tsm_handle *handle)
{
    struct cuda_function *function = cuda_function_of(handle);
    struct cuda_layout *layout;

    if (!function)
        return NULL;
    layout = __atomic_load_n(&function->layout, __ATOMIC_ACQUIRE);
    if (!layout && cuda_driver_has("cuFuncGetParamInfo")) {
        layout = layout_from_driver(function, handle->raw);
        __atomic_store_n(&function->layout, layout, __ATOMIC_RELEASE);
    }
    return layout;
}

/* The block that the program made itself. */
static bool extra_block(void **extra, const void **block, size_t *size)
{
    *block = NULL;
    *size = 0;
    for (unsigned i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *block = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *size = *(const size_t *)extra[i + 1];
        else
            return false;
    }
    return *block || *size == 0;
}

static void append_packed(struct tsm_call *call, const struct cuda_layout *layout, void **params)
{
    uint8_t *block = layout->size ? tsm_call_scratch(call, layout->size) : NULL;

    if (layout->size && !block) {
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
        tsm_call_bytes(call, NULL, 0);
        return;
    }
    if (block)
        memset(block, 0, layout->size); /* gaps: the same call gives the same bytes */
    for (uint32_t i = 0; i < layout->count; i++)
        memcpy(block + layout->params[i].offset, params[i], layout->params[i].size);
    tsm_call_bytes(call, block, layout->size);
    tsm_device_may_write(call, block, layout->size);
}

void cuda_append_arguments(struct tsm_call *call, CUfunction function, void **params, void **extra)
{
    struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(function));
    const struct cuda_layout *layout;
    const void *block;
    size_t size;

    if (!params && extra && extra_block(extra, &block, &size)) {
        tsm_call_bytes(call, block, size);
        tsm_device_may_write(call, block, block ? size : 0);
        return;
    }
    layout = handle ? layout_of(handle) : NULL;
    if (layout && (params || layout->count == 0)) {
        append_packed(call, layout, params);
        return;
    }
    tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    tsm_call_bytes(call, NULL, 0);
}

void cuda_after_launch(struct tsm_call *call, bool ok, CUfunction f, void **kernelParams,
                       void **extra)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(f));

    if (!ok || !handle) {
        tsm_call_bytes(call, NULL, 0);
        tsm_call_slot(call, handle ? handle->name : 0);
        if (ok)
            tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
        return;
    }
    cuda_append_arguments(call, f, kernelParams, extra);
    tsm_call_slot(call, handle->name);
}
