/* SPDX-License-Identifier: Apache-2.0
 *
 * Linking at run time. The linked image is PTX text: the inputs one after the other, each beginning
 * with its own .version, which the engine reads as units whose names meet as a linker's would. So
 * the image stands for itself, can be kept in a file, loaded by another process, and linked again.
 */
#include "emu/cuda/module/link.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/module/fatbin.h"
#include "emu/cuda/module/module.h"

struct CUlinkState_st {
    struct emu_jit jit; /* the program's buffers, which live as long as the state */
    struct tsm_buffer text;
    bool is_complete;
};

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                         CUlinkState *stateOut)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    CUlinkState state;

    if (!result && !stateOut)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    state = calloc(1, sizeof(*state));
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = emu_jit_init(&state->jit, numOptions, options, optionValues);
    if (!result && !emu_object_add(EMU_LINK, state))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result)
        free(state);
    else
        *stateOut = state;
    return result;
}

static CUresult enter_link(CUlinkState state)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    return !result && !emu_object_is(EMU_LINK, state) ? CUDA_ERROR_INVALID_HANDLE : result;
}

/* The log says which input is meant before it says what is wrong with it. */
static CUresult add_text(void *user, const char *name, const char *text, size_t size)
{
    CUlinkState state = user;
    struct ptx_log *log = &state->jit.error;
    size_t before = log->used;
    CUresult result;

    emu_log_line(log, "input '%s':", name);
    result = emu_ptx_result(ptx_module_check(text, size, emu_settings.capability, log));
    if (result)
        return result;
    log->used = before;
    if (log->size)
        log->text[before] = 0;
    tsm_buffer_add(&state->text, text, size);
    tsm_buffer_add_u8(&state->text, '\n');
    return state->text.failed ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* A failed input leaves nothing behind. */
static CUresult add(CUlinkState state, CUjitInputType type, const void *data, size_t size,
                    const char *name)
{
    size_t before = state->text.size;
    uint64_t start = tsm_monotonic_ns();
    CUresult result = emu_link_texts(name && *name ? name : "<unnamed>", type, data, size,
                                     &state->jit.error, add_text, state);

    state->jit.wall_ns += tsm_monotonic_ns() - start;
    if (result)
        state->text.size = before;
    emu_jit_finish(&state->jit);
    return result;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                          const char *name, unsigned int numOptions, CUjit_option *options,
                          void **optionValues)
{
    CUresult result = enter_link(state);

    if (!result && (!data || !size || (unsigned)type >= CU_JIT_NUM_INPUT_TYPES ||
                    (numOptions && (!options || !optionValues)) || state->is_complete))
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : add(state, type, data, size, name);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                          unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    CUresult result = enter_link(state);
    char *data = NULL;
    size_t size;

    if (!result && (!path || (unsigned)type >= CU_JIT_NUM_INPUT_TYPES ||
                    (numOptions && (!options || !optionValues)) || state->is_complete))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_file_read(&data, &size, path);
    if (!result)
        result = add(state, type, data, size, path);
    free(data);
    return result;
}

/* The names must meet now: what is missing or defined twice is told here. */
CUresult cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    CUresult result = enter_link(state);
    struct ptx_module *linked;

    if (!result && (!cubinOut || !state->text.size))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    if (!state->is_complete) {
        uint64_t start = tsm_monotonic_ns();
        int status = ptx_module_create(&linked, (const char *)state->text.data, state->text.size,
                                       emu_settings.capability, &state->jit.error);
        state->jit.wall_ns += tsm_monotonic_ns() - start;
        emu_jit_finish(&state->jit);
        if (status)
            return status == PTX_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
        ptx_module_destroy(linked);
        tsm_buffer_add_u8(&state->text, 0);
        if (state->text.failed)
            return CUDA_ERROR_OUT_OF_MEMORY;
        state->is_complete = true;
    }
    *cubinOut = state->text.data;
    if (sizeOut)
        *sizeOut = state->text.size;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_LINK, state))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result)
        return result;
    emu_object_remove(state);
    tsm_buffer_finish(&state->text);
    free(state);
    return CUDA_SUCCESS;
}

/* ---- the names without a version, for loaders that insist on them ---- */

CUresult cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                      CUlinkState *stateOut)
{
    return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                       const char *name, unsigned int numOptions, CUjit_option *options,
                       void **optionValues)
{
    return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                       unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}
