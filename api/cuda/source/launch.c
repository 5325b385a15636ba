/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: the program gives an address for each argument, and only the function knows how many
 * there are and how long each is. We keep them as the device gets them: one block, each argument at
 * its offset. Replay gives that block back whole (CU_LAUNCH_PARAM_BUFFER_POINTER).
 *
 * A function's layout comes from the driver (12.4 and later) or from its image, and is kept in the
 * `user` of its handle.
 */
#include "api/cuda/source/module.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "api/cuda/source/graph/node.h"
#include "capture/lock.h"

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
    if (block)
        tsm_device_may_write(call, block, layout->size);
}

void cuda_append_arguments(struct tsm_call *call, CUfunction function, void **params, void **extra)
{
    struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(function));
    const struct cuda_layout *layout;
    const void *block;
    size_t size;

    cuda_managed_may_write(call);
    if (!params && extra && extra_block(extra, &block, &size)) {
        tsm_call_bytes(call, block, size);
        if (block)
            tsm_device_may_write(call, block, size);
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

static bool may_be_address(uint64_t word)
{
    return word >= 65536 && word >> 57 == 0;
}

static void give_words(struct cuda_graph_parts *parts, struct cuda_graph_part *part,
                       const uint8_t *bytes, size_t skip, size_t size)
{
    uint64_t word;

    for (size_t at = skip; at + sizeof(word) <= size; at += sizeof(word)) {
        memcpy(&word, bytes + at, sizeof(word));
        if (may_be_address(word))
            cuda_graph_parts_word(parts, part, word);
    }
}

void cuda_graph_arguments(struct cuda_graph_parts *parts, struct cuda_graph_part *part,
                          CUfunction function, void **params, void **extra)
{
    struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(function));
    const struct cuda_layout *layout;
    const void *block;
    size_t size;

    if (!params && extra && extra_block(extra, &block, &size) && block) {
        give_words(parts, part, block, 0, size);
        return;
    }
    layout = params && handle ? layout_of(handle) : NULL;
    for (uint32_t i = 0; layout && i < layout->count; i++)
        give_words(parts, part, params[i], -layout->params[i].offset & 7u, layout->params[i].size);
}

/* Reads what lies in the program before the driver has said that it may be read. NULL: it may not.
 */
static const uint8_t *read_block(struct tsm_call *call, const void *block, size_t size)
{
    uint8_t *copy = size && size <= CUDA_PARAM_OFFSET_MAX ? tsm_call_scratch(call, size) : NULL;

    return copy && tsm_memory_read(copy, CUDA_SLOT(block), size) ? copy : NULL;
}

static const uint8_t *read_extra(struct tsm_call *call, void **extra, size_t *size)
{
    void *words[9] = {0}, *block;

    for (unsigned i = 0; i < 8; i++)
        if (!tsm_memory_read(&words[i], CUDA_SLOT(extra + i), sizeof(*words)) ||
            (i % 2 == 0 && words[i] == CU_LAUNCH_PARAM_END))
            break;
    for (unsigned i = 0; i < 8 && words[i] != CU_LAUNCH_PARAM_END; i += 2)
        if (words[i] == CU_LAUNCH_PARAM_BUFFER_SIZE &&
            !tsm_memory_read(size, CUDA_SLOT(words[i + 1]), sizeof(*size)))
            return NULL;
    for (unsigned i = 0; i < 8 && words[i] != CU_LAUNCH_PARAM_END; i += 2)
        if (words[i] == CU_LAUNCH_PARAM_BUFFER_POINTER && (block = words[i + 1]))
            return read_block(call, block, *size);
    return NULL;
}

/* Reads the arguments that may be, or hold, addresses. */
static const uint8_t *read_params(struct tsm_call *call, const struct cuda_layout *layout,
                                  void **params)
{
    uint8_t *block = layout->size ? tsm_call_scratch(call, layout->size) : NULL;
    void *from;

    if (!block)
        return NULL;
    memset(block, 0, layout->size);
    for (uint32_t i = 0; i < layout->count; i++)
        if (layout->params[i].size >= sizeof(uint64_t) &&
            (!tsm_memory_read(&from, CUDA_SLOT(params + i), sizeof(from)) ||
             !tsm_memory_read(block + layout->params[i].offset, CUDA_SLOT(from),
                              layout->params[i].size)))
            return NULL;
    return block;
}

void cuda_before_launch(struct tsm_call *call, CUfunction f, void **kernelParams, void **extra)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(f));
    const struct cuda_layout *layout;
    const uint8_t *block = NULL;
    size_t size = 0;

    if (!handle || !call->stream || cuda_is_captured(call))
        return;
    layout = kernelParams ? layout_of(handle) : NULL;
    if (layout) {
        block = read_params(call, layout, kernelParams);
        size = layout->size;
    } else if (!kernelParams && extra) {
        block = read_extra(call, extra, &size);
    }
    if (block)
        tsm_device_may_write(call, block, size);
    cuda_managed_may_write(call);
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

/* ---- on several devices -------------------------------------------------------------------------
 */

static void append_launch(struct tsm_call *call, unsigned count, unsigned flags, unsigned at,
                          const CUDA_LAUNCH_PARAMS *p)
{
    static const CUDA_LAUNCH_PARAMS none;
    const bool ok = p != NULL;

    p = ok ? p : &none;
    tsm_call_slot(call, count);
    tsm_call_slot(call, flags);
    tsm_call_slot(call, at);
    tsm_call_slot(call, cuda_id(CUDA_OBJECT_FUNCTION, CUDA_SLOT(p->function)));
    tsm_call_slot(call, p->gridDimX);
    tsm_call_slot(call, p->gridDimY);
    tsm_call_slot(call, p->gridDimZ);
    tsm_call_slot(call, p->blockDimX);
    tsm_call_slot(call, p->blockDimY);
    tsm_call_slot(call, p->blockDimZ);
    tsm_call_slot(call, p->sharedMemBytes);
    /* The driver speaks of a function's arguments where its context is current. */
    const bool is_entered = ok && cuda_context_enter(cuda_stream_context(p->hStream));
    cuda_after_launch(call, ok, p->function, p->kernelParams, NULL);
    if (is_entered)
        cuda_context_leave();
    if (ok) /* they wait for each other's streams, and what follows for all of them */
        tsm_call_flag(call, SBT_RECORD_ORDERED);
}

CUresult hook_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launchParamsList,
                                                   unsigned int numDevices, unsigned int flags)
{
    CUDA_LAUNCH_PARAMS first = {.function = NULL};
    struct tsm_call call;
    CUresult returned;

    if (!tsm_call_begin(&call, TYPE_cuLaunchCooperativeKernelMultiDevice))
        return real.cuLaunchCooperativeKernelMultiDevice(launchParamsList, numDevices, flags);
    tsm_hostmem_publish();
    if (numDevices && tsm_memory_read(&first, CUDA_SLOT(launchParamsList), sizeof(first)))
        cuda_on_stream(&call, first.hStream, false, NULL, TSM_ENQUEUES);
    returned = real.cuLaunchCooperativeKernelMultiDevice(launchParamsList, numDevices, flags);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    append_launch(&call, numDevices, flags, 0,
                  returned == CUDA_SUCCESS && numDevices ? launchParamsList : NULL);
    tsm_call_commit(&call);
    for (unsigned i = 1; returned == CUDA_SUCCESS && i < numDevices &&
                         tsm_call_begin(&call, TYPE_cuLaunchCooperativeKernelMultiDevice);
         i++) {
        cuda_on_stream(&call, launchParamsList[i].hStream, false, NULL, TSM_ENQUEUES);
        tsm_call_returned(&call, CUDA_SUCCESS, false);
        append_launch(&call, numDevices, flags, i, &launchParamsList[i]);
        tsm_call_commit(&call);
    }
    if (returned == CUDA_SUCCESS && numDevices)
        cuda_commanded(&call);
    return returned;
}
