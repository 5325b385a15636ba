/* SPDX-License-Identifier: Apache-2.0
 *
 * External semaphores: from any file that can be mapped, whose first eight bytes are the value,
 * little end first. So processes, and what is no GPU, can wait for each other through a memfd. A
 * timeline's value only rises, and a wait needs it to be as high as it says; a binary one is 0 or
 * 1, and a wait takes it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/graph.h"
#include "emu/cuda/stream/semaphore.h"
#include "emu/cuda/stream/stream.h"

#define COUNT_MAX 4096u

struct CUextSemaphore_st {
    atomic_uint references;
    bool is_timeline;
    _Atomic uint64_t *value;
};

/* ---- life --------------------------------------------------------------------------------- */

static void unref(CUexternalSemaphore semaphore)
{
    if (atomic_fetch_sub(&semaphore->references, 1) > 1)
        return;
    munmap((void *)semaphore->value, sizeof(*semaphore->value));
    free(semaphore);
}

static bool is_kind(CUexternalSemaphoreHandleType type)
{
    return type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
           type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
}

static void *map_value(int file)
{
    struct stat st;
    void *memory;

    if (fstat(file, &st) || st.st_size < 8)
        return NULL;
    memory = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The descriptor is the driver's from then on. */
CUresult cuImportExternalSemaphore(CUexternalSemaphore *extSem_out,
                                   const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc)
{
    CUresult result = emu_ready();
    CUexternalSemaphore made;
    void *value;

    if (!result && (!extSem_out || !semHandleDesc || semHandleDesc->flags))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && !is_kind(semHandleDesc->type))
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result)
        return result;
    value = map_value(semHandleDesc->handle.fd);
    if (!value)
        return CUDA_ERROR_INVALID_HANDLE;
    made = calloc(1, sizeof(*made));
    if (!made || !emu_object_add(EMU_SEMAPHORE, made)) {
        free(made);
        munmap(value, 8);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    atomic_store(&made->references, 1);
    made->is_timeline =
        semHandleDesc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    made->value = value;
    close(semHandleDesc->handle.fd);
    *extSem_out = made;
    return CUDA_SUCCESS;
}

/* Commands that were sent keep it. */
CUresult cuDestroyExternalSemaphore(CUexternalSemaphore extSem)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_SEMAPHORE, extSem))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result)
        return result;
    emu_object_remove(extSem);
    unref(extSem);
    return CUDA_SUCCESS;
}

/* ---- commands ----------------------------------------------------------------------------- */

/* count semaphores, then count structs of the driver. */
struct payload {
    size_t count;
    CUexternalSemaphore semaphores[];
};

static struct payload *payload_of(struct emu_command *command)
{
    return (struct payload *)command->payload;
}

static void *params_of(struct payload *p)
{
    return &p->semaphores[p->count];
}

static uint64_t wait_value(struct payload *p, size_t i)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params = params_of(p);

    return params[i].params.fence.value;
}

static void cloned(struct emu_command *command)
{
    struct payload *p = payload_of(command);

    for (size_t i = 0; i < p->count; i++)
        atomic_fetch_add(&p->semaphores[i]->references, 1);
}

static void finish(struct emu_command *command)
{
    struct payload *p = payload_of(command);

    for (size_t i = 0; i < p->count; i++)
        unref(p->semaphores[i]);
    p->count = 0;
}

static CUresult signal_run(struct emu_command *command)
{
    struct payload *p = payload_of(command);
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params = params_of(p);

    for (size_t i = 0; i < p->count; i++) {
        uint64_t value = params[i].params.fence.value, now = atomic_load(p->semaphores[i]->value);
        if (!p->semaphores[i]->is_timeline)
            atomic_store(p->semaphores[i]->value, 1);
        else
            while (now < value &&
                   !atomic_compare_exchange_weak(p->semaphores[i]->value, &now, value)) {
            }
    }
    return CUDA_SUCCESS;
}

static bool is_there(struct payload *p, size_t i)
{
    uint64_t now = atomic_load(p->semaphores[i]->value);

    return p->semaphores[i]->is_timeline ? now >= wait_value(p, i) : now != 0;
}

static bool wait_is_ready(struct emu_command *command)
{
    struct payload *p = payload_of(command);
    bool ready = true;

    for (size_t i = 0; i < p->count && ready; i++)
        ready = is_there(p, i);
    return ready;
}

/* A binary one may have been taken by another process since it was seen. */
static CUresult wait_run(struct emu_command *command)
{
    struct payload *p = payload_of(command);

    for (size_t i = 0; i < p->count; i++) {
        uint64_t one = 1;
        while (!p->semaphores[i]->is_timeline &&
               !atomic_compare_exchange_weak(p->semaphores[i]->value, &one, 0)) {
            one = 1;
            usleep(100);
        }
    }
    return CUDA_SUCCESS;
}

static void signal_describe(struct emu_command *command, CUgraphNodeParams *out)
{
    struct payload *p = payload_of(command);

    out->extSemSignal =
        (CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2){p->semaphores, params_of(p), (unsigned)p->count};
}

static void wait_describe(struct emu_command *command, CUgraphNodeParams *out)
{
    struct payload *p = payload_of(command);

    out->extSemWait =
        (CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2){p->semaphores, params_of(p), (unsigned)p->count};
}

static const struct emu_command_type signal_type = {.run = signal_run,
                                                    .finish = finish,
                                                    .cloned = cloned,
                                                    .node = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL + 1,
                                                    .describe = signal_describe};
static const struct emu_command_type wait_type = {.run = wait_run,
                                                  .is_ready = wait_is_ready,
                                                  .finish = finish,
                                                  .cloned = cloned,
                                                  .node = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT + 1,
                                                  .describe = wait_describe};

static CUresult prepare(struct emu_command **out, const struct emu_command_type *type,
                        const CUexternalSemaphore *semaphores, const void *params, size_t each,
                        unsigned count)
{
    struct payload *p;

    if (count > COUNT_MAX || (count && (!semaphores || !params)))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (!emu_object_is(EMU_SEMAPHORE, semaphores[i]))
            return CUDA_ERROR_INVALID_HANDLE;
    *out = emu_command_create(type, sizeof(*p) + count * (sizeof(*semaphores) + each));
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    p = payload_of(*out);
    p->count = count;
    if (count) {
        memcpy(p->semaphores, semaphores, count * sizeof(*semaphores));
        memcpy(params_of(p), params, count * each);
    }
    cloned(*out);
    return CUDA_SUCCESS;
}

CUresult emu_semaphore_signal_prepare(struct emu_command **out,
                                      const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2 *p)
{
    return prepare(out, &signal_type, p->extSemArray, p->paramsArray, sizeof(*p->paramsArray),
                   p->numExtSems);
}

CUresult emu_semaphore_wait_prepare(struct emu_command **out,
                                    const CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2 *p)
{
    return prepare(out, &wait_type, p->extSemArray, p->paramsArray, sizeof(*p->paramsArray),
                   p->numExtSems);
}

/* ---- streams ------------------------------------------------------------------------------ */

static CUresult send(const struct emu_command_type *type, const CUexternalSemaphore *all,
                     const void *params, size_t each, unsigned count, CUstream handle,
                     bool per_thread)
{
    struct emu_command *command;
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result)
        result = prepare(&command, type, all, params, each, count);
    return result ? result : emu_stream_send(stream, command, false);
}

CUresult cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                         const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray,
                                         unsigned int numExtSems, CUstream stream)
{
    return send(&signal_type, extSemArray, paramsArray, sizeof(*paramsArray), numExtSems, stream,
                false);
}

CUresult
cuSignalExternalSemaphoresAsync_ptsz(const CUexternalSemaphore *extSemArray,
                                     const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray,
                                     unsigned int numExtSems, CUstream stream)
{
    return send(&signal_type, extSemArray, paramsArray, sizeof(*paramsArray), numExtSems, stream,
                true);
}

CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                       const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
                                       unsigned int numExtSems, CUstream stream)
{
    return send(&wait_type, extSemArray, paramsArray, sizeof(*paramsArray), numExtSems, stream,
                false);
}

CUresult cuWaitExternalSemaphoresAsync_ptsz(const CUexternalSemaphore *extSemArray,
                                            const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
                                            unsigned int numExtSems, CUstream stream)
{
    return send(&wait_type, extSemArray, paramsArray, sizeof(*paramsArray), numExtSems, stream,
                true);
}

/* ---- nodes -------------------------------------------------------------------------------- */

#define SIGNAL_NODE(p)                                                                             \
    (CUgraphNodeParams)                                                                            \
    {                                                                                              \
        .type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, .extSemSignal = {                             \
            (p)->extSemArray,                                                                      \
            (p)->paramsArray,                                                                      \
            (p)->numExtSems                                                                        \
        }                                                                                          \
    }
#define WAIT_NODE(p)                                                                               \
    (CUgraphNodeParams)                                                                            \
    {                                                                                              \
        .type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, .extSemWait = {                                 \
            (p)->extSemArray,                                                                      \
            (p)->paramsArray,                                                                      \
            (p)->numExtSems                                                                        \
        }                                                                                          \
    }

CUresult cuGraphAddExternalSemaphoresSignalNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                                const CUgraphNode *dependencies,
                                                size_t numDependencies,
                                                const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies,
                          &SIGNAL_NODE(nodeParams));
}

CUresult cuGraphAddExternalSemaphoresWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                              const CUgraphNode *dependencies,
                                              size_t numDependencies,
                                              const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies,
                          &WAIT_NODE(nodeParams));
}

static CUresult describe(CUgraphNodeParams *out, CUgraphNode node, CUgraphNodeType type)
{
    CUresult result = emu_graph_enter_node(node);

    if (!result && node->type != type)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_graph_describe(out, node);
}

CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode hNode,
                                                      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params_out)
{
    CUgraphNodeParams p;
    CUresult result = params_out ? describe(&p, hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL)
                                 : emu_refuse(CUDA_ERROR_INVALID_VALUE);

    if (!result)
        memcpy(params_out, &p.extSemSignal, sizeof(*params_out));
    return result;
}

CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode hNode,
                                                    CUDA_EXT_SEM_WAIT_NODE_PARAMS *params_out)
{
    CUgraphNodeParams p;
    CUresult result = params_out ? describe(&p, hNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT)
                                 : emu_refuse(CUDA_ERROR_INVALID_VALUE);

    if (!result)
        memcpy(params_out, &p.extSemWait, sizeof(*params_out));
    return result;
}

CUresult
cuGraphExternalSemaphoresSignalNodeSetParams(CUgraphNode hNode,
                                             const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    return cuGraphNodeSetParams(hNode, &SIGNAL_NODE(nodeParams));
}

CUresult cuGraphExternalSemaphoresWaitNodeSetParams(CUgraphNode hNode,
                                                    const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    return cuGraphNodeSetParams(hNode, &WAIT_NODE(nodeParams));
}

CUresult
cuGraphExecExternalSemaphoresSignalNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                 const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &SIGNAL_NODE(nodeParams));
}

CUresult
cuGraphExecExternalSemaphoresWaitNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                               const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &WAIT_NODE(nodeParams));
}
