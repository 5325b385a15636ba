/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: checks, arguments, and what becomes of a kernel that fails.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "emu/cuda/check/host_stack.h"
#include "emu/cuda/check/report.h"
#include "emu/cuda/check/watch.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/conditional.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/multicast.h"
#include "emu/cuda/module/function.h"
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/stream/ticket.h"
#include "emu/cuda/texture/array.h"
#include "emu/cuda/texture/texture.h"
#include "emu/ptx/check/touched.h"

/* Differences between the callers of launch(). */
struct shape {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared; /* dynamic, bytes */
    bool cooperative;
    unsigned cluster[3]; /* that the launch asks for; 0: none */
};

struct launch {
    CUfunction function;
    struct shape shape;
    unsigned cluster[3];           /* that it has, 0: none */
    uint32_t stack;                /* host stack of the call, emu/cuda/check/host_stack.h */
    uint64_t instructions;         /* of warps, when it has run */
    struct emu_bindings *bindings; /* owned; textures and surfaces, NULL: none */
    struct emu_accesses accesses;  /* owned; with has_accesses, when it has run */
    bool has_accesses;
    bool has_multicast; /* multimem instructions were executed */
    _Alignas(16) uint8_t params[];
};

/* In blocks, where a kernel may have its grid counted in clusters. */
static void full_grid(uint32_t out[3], const struct ptx_function *ptx, const struct shape *s,
                      const unsigned cluster[3])
{
    for (unsigned i = 0; i < 3; i++)
        out[i] = s->grid[i] * (ptx->blocks_are_clusters ? cluster[i] : 1);
}

/* ---- running ---- */

static CUresult report(const struct launch *l, const struct ptx_fault *fault)
{
    bool is_global = fault->access != PTX_ACCESS_NONE && fault->space[0] == 'g';
    struct emu_near near;
    bool has_near = is_global && emu_memory_near(&near, fault->address);

    return emu_report_fault(fault, l->function->module->ptx, l->function->ptx->name, l->stack,
                            has_near ? &near : NULL);
}

static bool add_access(void *user, uint64_t address, uint64_t size, unsigned bits)
{
    return emu_accesses_add(user, address, size,
                            emu_accesses_of_array(address) |
                                (bits & PTX_TOUCHED_READ ? SBT_ACCESS_READ : 0) |
                                (bits & PTX_TOUCHED_WRITTEN ? SBT_ACCESS_WRITTEN : 0) |
                                (bits & PTX_TOUCHED_SOME ? SBT_ACCESS_SOME : 0) |
                                (bits & PTX_TOUCHED_OWN ? SBT_ACCESS_OWN : 0));
}

/* Keeps what of memory it has touched. NULL: nobody asks. */
static void keep_accesses(struct launch *l, struct ptx_touched *touched)
{
    if (!touched)
        return;
    /* Which memory a multicast address leads to is no access of the address. */
    l->has_accesses = ptx_touched_each(touched, add_access, &l->accesses) && !l->has_multicast;
    emu_accesses_settle(&l->accesses);
    ptx_touched_destroy(touched);
}

static CUresult run(struct emu_command *command)
{
    struct launch *l = (struct launch *)(void *)command->payload;
    struct ptx_launch launch = {.module = l->function->module->ptx,
                                .function = l->function->ptx,
                                .dynamic_shared_size = l->shape.shared,
                                .cooperative = l->shape.cooperative,
                                .params = l->params,
                                .schedule = emu_settings.schedule,
                                .threads = emu_settings.threads,
                                .seed = emu_settings.seed + command->number,
                                .drop = emu_settings.drop,
                                .drop_seed = emu_settings.drop_seed,
                                .is_accessible = emu_memory_is_accessible,
                                .multicast = emu_multicast_find,
                                .has_multicast = &l->has_multicast,
                                .image = emu_binding_find,
                                .set_conditional = emu_conditional_set,
                                .warp_instructions = &l->instructions,
                                .user = l->bindings};
    size_t stack_limit = l->function->module->context->limits[CU_LIMIT_STACK_SIZE];
    struct ptx_fault fault = {0};
    struct emu_watch watch = {0};
    struct ptx_touched *touched;
    uint64_t instructions = 0;

    launch.stack_limit = stack_limit < 1u << 30 ? (uint32_t)stack_limit : 1u << 30;
    if (emu_settings.is_virtual) {
        launch.timer_ns = command->start_ns;
        launch.timer_ps =
            emu_settings.machine.instruction_ps ? emu_settings.machine.instruction_ps : 1;
    }
    if (emu_settings.timeout_ns)
        launch.deadline_ns = tsm_monotonic_ns() + emu_settings.timeout_ns;
    full_grid(launch.grid, l->function->ptx, &l->shape, l->cluster);
    memcpy(launch.block, l->shape.block, sizeof(launch.block));
    memcpy(launch.cluster, l->cluster, sizeof(launch.cluster));
    if (emu_settings.is_noop)
        return CUDA_SUCCESS;
    touched = emu_ticket_wants_accesses(command) ? ptx_touched_create() : NULL;
    emu_watch_begin(&watch, &launch, command->stream, l->stack, touched);
    int status = ptx_run(&launch, &fault, &instructions);
    emu_watch_end(&watch);
    emu_sparse_scrub(0);
    keep_accesses(l, touched);
    tsm_log(TSM_LOG_DEBUG, "%s: %llu instructions", l->function->ptx->name,
            (unsigned long long)instructions);
    return status ? report(l, &fault) : CUDA_SUCCESS;
}

static void measure(const struct emu_command *command, struct tsm_device_work *out)
{
    const struct launch *l = (const struct launch *)(const void *)command->payload;
    uint32_t grid[3];

    full_grid(grid, l->function->ptx, &l->shape, l->cluster);
    out->kind = TSM_DEVICE_KERNEL;
    out->blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    out->instructions = l->instructions;
}

static bool accesses(const struct emu_command *command, struct emu_accesses *out)
{
    const struct launch *l = (const struct launch *)(const void *)command->payload;

    return l->has_accesses && emu_accesses_add_all(out, &l->accesses);
}

static void finish(struct emu_command *command)
{
    struct launch *l = (struct launch *)(void *)command->payload;

    emu_bindings_unref(l->bindings);
    emu_accesses_finish(&l->accesses);
}

static void cloned(struct emu_command *command)
{
    struct launch *l = (struct launch *)(void *)command->payload;

    emu_bindings_ref(l->bindings);
    l->accesses = (struct emu_accesses){0};
    l->has_accesses = false;
}

/* After the arguments, for programs that ask a node for them. */
static void **argument_pointers(struct launch *l)
{
    return (void **)(void *)(l->params + ((l->function->ptx->params_size + 15u) & ~15u));
}

static void describe(struct emu_command *command, CUgraphNodeParams *out)
{
    struct launch *l = (struct launch *)(void *)command->payload;
    const struct ptx_function *ptx = l->function->ptx;
    void **pointers = argument_pointers(l);

    for (uint32_t i = 0; i < ptx->param_count; i++)
        pointers[i] = l->params + ptx->params[i].offset;
    out->kernel = (CUDA_KERNEL_NODE_PARAMS_v3){.func = l->function,
                                               .gridDimX = l->shape.grid[0],
                                               .gridDimY = l->shape.grid[1],
                                               .gridDimZ = l->shape.grid[2],
                                               .blockDimX = l->shape.block[0],
                                               .blockDimY = l->shape.block[1],
                                               .blockDimZ = l->shape.block[2],
                                               .sharedMemBytes = l->shape.shared,
                                               .kernelParams = pointers,
                                               .ctx = l->function->module->context};
}

static const struct emu_command_type launch_type = {.run = run,
                                                    .measure = measure,
                                                    .accesses = accesses,
                                                    .finish = finish,
                                                    .cloned = cloned,
                                                    .node = CU_GRAPH_NODE_TYPE_KERNEL + 1,
                                                    .describe = describe,
                                                    .runs_anywhere = true};

/* ---- checks ---- */

static const unsigned grid_max[3] = {2147483647, 65535, 65535};

static CUresult check_shape(const struct CUfunc_st *f, const struct shape *s)
{
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

/* The clusters that the launch gets. */
static CUresult check_cluster(unsigned out[3], const struct CUfunc_st *f, const struct shape *s)
{
    struct emu_cluster_launch launch = {s->cluster, s->grid,
                                        s->block[0] * s->block[1] * s->block[2], s->shared};
    CUresult result = emu_cluster_choose(out, f, &launch);

    for (unsigned i = 0; i < 3 && !result && f->ptx->blocks_are_clusters; i++)
        if ((uint64_t)s->grid[i] * out[i] > grid_max[i])
            result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

/* All blocks of a cooperative launch are on the device at once. */
static CUresult check_cooperative(const struct CUfunc_st *f, const struct shape *s,
                                  const unsigned cluster[3])
{
    uint32_t grid[3];

    full_grid(grid, f->ptx, s, cluster);
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
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

/* A command that is checked and not sent yet. */
static CUresult prepare(struct emu_command **out, CUfunction handle, CUcontext context,
                        const struct shape *shape, void **params, void **extra)
{
    CUfunction f;
    unsigned cluster[3];
    CUresult result = emu_function_resolve(&f, handle, context);

    if (!result)
        result = check_shape(f, shape);
    if (!result)
        result = check_cluster(cluster, f, shape);
    if (!result)
        result = check_cooperative(f, shape, cluster);
    if (!result)
        result = emu_module_prepare(f);
    if (result)
        return result;
    struct emu_command *command =
        emu_command_create(&launch_type, sizeof(struct launch) + f->ptx->params_size + 32 +
                                             f->ptx->param_count * sizeof(void *));
    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct launch *l = (struct launch *)(void *)command->payload;
    l->function = f;
    l->shape = *shape;
    memcpy(l->cluster, cluster, sizeof(cluster));
    l->stack = emu_stack_take();
    result = pack(l->params, f->ptx, params, extra);
    if (!result)
        result = emu_bindings_create(&l->bindings, l->params, f->ptx->params_size, f->module);
    if (result)
        emu_command_unref(command);
    else
        *out = command;
    return result;
}

CUresult emu_launch_prepare(struct emu_command **out, const CUDA_KERNEL_NODE_PARAMS_v3 *p,
                            CUcontext context)
{
    CUfunction f = p->func ? p->func : (CUfunction)(void *)p->kern;
    struct shape shape = {{p->gridDimX, p->gridDimY, p->gridDimZ},
                          {p->blockDimX, p->blockDimY, p->blockDimZ},
                          p->sharedMemBytes,
                          false,
                          {0}};

    if (p->ctx && !emu_object_is(EMU_CONTEXT, p->ctx))
        return CUDA_ERROR_INVALID_VALUE;
    if (emu_object_is(EMU_FUNCTION, f))
        context = f->module->context;
    else if (p->ctx)
        context = p->ctx;
    return prepare(out, f, context, &shape, p->kernelParams, p->extra);
}

/* ---- attributes of launches ---- */

/* Hints may be ignored; what changes the meaning of a launch may not. */
static CUresult read_attribute(struct shape *shape, const CUlaunchAttribute *a)
{
    switch ((int)a->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        shape->cooperative = a->value.cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        shape->cluster[0] = a->value.clusterDim.x;
        shape->cluster[1] = a->value.clusterDim.y;
        shape->cluster[2] = a->value.clusterDim.z;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return (unsigned)a->value.clusterSchedulingPolicyPreference >
                       CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING
                   ? CUDA_ERROR_INVALID_VALUE
                   : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

bool emu_launch_has(CUlaunchAttributeID id)
{
    return id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION || id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
}

void emu_launch_get(const struct emu_command *command, CUlaunchAttributeID id,
                    CUlaunchAttributeValue *out)
{
    const struct launch *l = (const struct launch *)(const void *)command->payload;

    memset(out, 0, sizeof(*out));
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
        out->cooperative = l->shape.cooperative;
        return;
    }
    out->clusterDim.x = l->cluster[0];
    out->clusterDim.y = l->cluster[1];
    out->clusterDim.z = l->cluster[2];
}

static CUresult reshape(struct launch *l, const struct shape *shape)
{
    unsigned cluster[3];
    CUresult result = check_cluster(cluster, l->function, shape);

    if (!result)
        result = check_cooperative(l->function, shape, cluster);
    if (result)
        return result;
    l->shape = *shape;
    memcpy(l->cluster, cluster, sizeof(cluster));
    return CUDA_SUCCESS;
}

CUresult emu_launch_set(struct emu_command *command, const CUlaunchAttribute *attribute)
{
    struct launch *l = (struct launch *)(void *)command->payload;
    struct shape shape = l->shape;
    CUresult result = read_attribute(&shape, attribute);

    return result ? result : reshape(l, &shape);
}

CUresult emu_launch_keep(struct emu_command *command, const struct emu_command *earlier)
{
    struct launch *l = (struct launch *)(void *)command->payload;
    const struct launch *from = (const struct launch *)(const void *)earlier->payload;
    struct shape shape = l->shape;

    shape.cooperative = from->shape.cooperative;
    memcpy(shape.cluster, from->shape.cluster, sizeof(shape.cluster));
    return reshape(l, &shape);
}

/* ---- entry points ---- */

static CUresult launch(CUfunction handle, const struct shape *shape, CUstream stream_handle,
                       void **params, void **extra, bool per_thread)
{
    CUstream stream;
    struct emu_command *command;
    CUresult result = emu_stream_enter(&stream, stream_handle, per_thread);

    if (!result)
        result = prepare(&command, handle, stream->context, shape, params, extra);
    return result ? result : emu_stream_send(stream, command, false);
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
    struct shape s = {{gridDimX, gridDimY, gridDimZ},
                      {blockDimX, blockDimY, blockDimZ},
                      sharedMemBytes,
                      false,
                      {0}};

    return launch_kernel(f, s, hStream, kernelParams, extra, false);
}

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                             unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                             unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                             void **kernelParams, void **extra)
{
    struct shape s = {{gridDimX, gridDimY, gridDimZ},
                      {blockDimX, blockDimY, blockDimZ},
                      sharedMemBytes,
                      false,
                      {0}};

    return launch_kernel(f, s, hStream, kernelParams, extra, true);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void **kernelParams)
{
    struct shape s = {{gridDimX, gridDimY, gridDimZ},
                      {blockDimX, blockDimY, blockDimZ},
                      sharedMemBytes,
                      true,
                      {0}};

    return launch_kernel(f, s, hStream, kernelParams, NULL, false);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                        unsigned int gridDimZ, unsigned int blockDimX,
                                        unsigned int blockDimY, unsigned int blockDimZ,
                                        unsigned int sharedMemBytes, CUstream hStream,
                                        void **kernelParams)
{
    struct shape s = {{gridDimX, gridDimY, gridDimZ},
                      {blockDimX, blockDimY, blockDimZ},
                      sharedMemBytes,
                      true,
                      {0}};

    return launch_kernel(f, s, hStream, kernelParams, NULL, true);
}

static CUresult launch_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra,
                          bool per_thread)
{
    CUresult result = CUDA_SUCCESS;

    if (!c || (c->numAttrs && !c->attrs))
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    struct shape s = {{c->gridDimX, c->gridDimY, c->gridDimZ},
                      {c->blockDimX, c->blockDimY, c->blockDimZ},
                      c->sharedMemBytes,
                      false,
                      {0}};
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
