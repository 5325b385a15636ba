/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: checks, arguments, and what becomes of a kernel that fails.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "emu/emu.h"
#include "emu/emu_context.h"
#include "emu/emu_device.h"
#include "emu/emu_function.h"
#include "emu/emu_memory.h"
#include "emu/emu_object.h"
#include "emu/emu_stream.h"
#include "emu/emu_texture.h"

/* What the callers of launch() differ in. */
struct shape {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared; /* dynamic, bytes */
    bool cooperative;
};

struct launch {
    CUfunction function;
    struct shape shape;
    struct emu_bindings *bindings; /* owned; textures and surfaces, NULL: none */
    _Alignas(16) uint8_t params[];
};

/* ---- running ---- */

static CUresult fault_result(const struct ptx_fault *fault)
{
    switch (fault->kind) {
    case PTX_FAULT_ADDRESS:
    case PTX_FAULT_HANDLE:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case PTX_FAULT_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case PTX_FAULT_ASSERT:
        return CUDA_ERROR_ASSERT;
    case PTX_FAULT_HANG:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static CUresult explain(const struct ptx_fault *fault)
{
    char place[256] = "";

    if (fault->kind == PTX_FAULT_ADDRESS)
        emu_memory_describe(place, sizeof(place), fault->address);
    emu_report("%s%s%s", fault->text, *place ? "; " : "", place);
    return fault_result(fault);
}

static CUresult run(struct emu_command *command)
{
    const struct launch *l = (const struct launch *)(const void *)command->payload;
    struct ptx_launch launch = {.module = l->function->module->ptx,
                                .function = l->function->ptx,
                                .dynamic_shared_size = l->shape.shared,
                                .cooperative = l->shape.cooperative,
                                .params = l->params,
                                .schedule = emu_settings.schedule,
                                .threads = emu_settings.threads,
                                .seed = emu_settings.seed + command->number,
                                .is_accessible = emu_memory_is_accessible,
                                .image = emu_binding_find,
                                .user = l->bindings};
    struct ptx_fault fault = {0};
    uint64_t instructions = 0;

    memcpy(launch.grid, l->shape.grid, sizeof(launch.grid));
    memcpy(launch.block, l->shape.block, sizeof(launch.block));
    int status = ptx_run(&launch, &fault, &instructions);
    tsm_log(TSM_LOG_DEBUG, "%s: %llu instructions", l->function->ptx->name,
            (unsigned long long)instructions);
    return status ? explain(&fault) : CUDA_SUCCESS;
}

static void finish(struct emu_command *command)
{
    const struct launch *l = (const struct launch *)(const void *)command->payload;

    free(l->bindings);
}

static const struct emu_command_type launch_type = {
    .run = run, .finish = finish, .runs_anywhere = true};

/* ---- checks ---- */

static CUresult check_shape(const struct CUfunc_st *f, const struct shape *s)
{
    static const unsigned grid_max[3] = {2147483647, 65535, 65535};
    static const unsigned block_max[3] = {1024, 1024, 64};
    uint64_t threads = 1;

    for (unsigned i = 0; i < 3; i++) {
        if (!s->grid[i] || s->grid[i] > grid_max[i] || !s->block[i] || s->block[i] > block_max[i])
            return CUDA_ERROR_INVALID_VALUE;
        threads *= s->block[i];
        if (f->ptx->reqntid[0] && s->block[i] != (f->ptx->reqntid[i] ? f->ptx->reqntid[i] : 1))
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (threads > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (threads > emu_function_threads_max(f->ptx))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (s->shared > (unsigned)atomic_load(&f->dynamic_shared_max))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* All blocks of a cooperative launch are on the device at once. */
static CUresult check_cooperative(const struct CUfunc_st *f, const struct shape *s)
{
    uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
    int fit = emu_function_blocks_per_multiprocessor(f, s->block[0] * s->block[1] * s->block[2],
                                                     s->shared);

    return s->cooperative && blocks > (uint64_t)fit * EMU_MULTIPROCESSORS
               ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
               : CUDA_SUCCESS;
}

/* ---- arguments ---- */

static CUresult read_extra(const void **buffer, size_t *size, void **extra)
{
    *buffer = NULL;
    *size = 0;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
            *size = *(const size_t *)extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult pack(uint8_t *out, const struct ptx_function *ptx, void **params, void **extra)
{
    const void *buffer;
    size_t size;
    CUresult result;

    if (params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra) {
        result = read_extra(&buffer, &size, extra);
        if (!result && (size != ptx->params_size || (size && !buffer)))
            result = CUDA_ERROR_INVALID_VALUE;
        if (!result && size)
            memcpy(out, buffer, size);
        return result;
    }
    if (ptx->param_count && !params)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < ptx->param_count; i++) {
        if (!params[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(out + ptx->params[i].offset, params[i], ptx->params[i].size);
    }
    return CUDA_SUCCESS;
}

/* ---- sending ---- */

static CUresult launch(CUfunction handle, const struct shape *shape, CUstream stream_handle,
                       void **params, void **extra, bool per_thread)
{
    CUstream stream;
    CUfunction f;
    CUresult result = emu_stream_enter(&stream, stream_handle, per_thread);

    if (!result)
        result = emu_function_resolve(&f, handle, stream->context);
    if (!result)
        result = check_shape(f, shape);
    if (!result)
        result = check_cooperative(f, shape);
    if (result)
        return result;
    struct emu_command *command =
        emu_command_create(&launch_type, sizeof(struct launch) + f->ptx->params_size + 16);
    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct launch *l = (struct launch *)(void *)command->payload;
    l->function = f;
    l->shape = *shape;
    result = pack(l->params, f->ptx, params, extra);
    if (!result)
        result = emu_bindings_create(&l->bindings, l->params, f->ptx->params_size, f->module);
    if (result) {
        emu_command_unref(command);
        return result;
    }
    return emu_stream_send(stream, command, false);
}

static CUresult launch_kernel(CUfunction f, struct shape shape, CUstream stream, void **params,
                              void **extra, bool per_thread)
{
    return launch(f, &shape, stream, params, extra, per_thread);
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                        unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                        unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                        void **kernelParams, void **extra)
{
    struct shape s = {
        {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, false};

    return launch_kernel(f, s, hStream, kernelParams, extra, false);
}

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                             unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                             unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                             void **kernelParams, void **extra)
{
    struct shape s = {
        {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, false};

    return launch_kernel(f, s, hStream, kernelParams, extra, true);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void **kernelParams)
{
    struct shape s = {
        {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, true};

    return launch_kernel(f, s, hStream, kernelParams, NULL, false);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                        unsigned int gridDimZ, unsigned int blockDimX,
                                        unsigned int blockDimY, unsigned int blockDimZ,
                                        unsigned int sharedMemBytes, CUstream hStream,
                                        void **kernelParams)
{
    struct shape s = {
        {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, true};

    return launch_kernel(f, s, hStream, kernelParams, NULL, true);
}

/* Hints may be ignored; what changes the meaning of a launch may not. */
static CUresult read_attribute(struct shape *shape, const CUlaunchAttribute *a)
{
    switch ((int)a->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        shape->cooperative = a->value.cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        return a->value.clusterDim.x == 1 && a->value.clusterDim.y == 1 &&
                       a->value.clusterDim.z == 1
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

static CUresult launch_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra,
                          bool per_thread)
{
    CUresult result = CUDA_SUCCESS;

    if (!c || (c->numAttrs && !c->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    struct shape s = {{c->gridDimX, c->gridDimY, c->gridDimZ},
                      {c->blockDimX, c->blockDimY, c->blockDimZ},
                      c->sharedMemBytes,
                      false};
    for (unsigned i = 0; i < c->numAttrs && !result; i++)
        result = read_attribute(&s, &c->attrs[i]);
    return result ? result : launch(f, &s, c->hStream, params, extra, per_thread);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                          void **extra)
{
    return launch_ex(config, f, kernelParams, extra, false);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                               void **extra)
{
    return launch_ex(config, f, kernelParams, extra, true);
}
