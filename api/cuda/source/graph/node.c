/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of graph nodes as fields of records, the same ones whichever call says them: each
 * kind's struct is put into the general one. What the parameters point to is kept as the driver
 * keeps it: as it is when the call is made.
 */
#include "api/cuda/source/graph/node.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/source/encode.h"

#include <string.h>

#define OBJECT_COUNT_MAX 4

/* Parameters of a node that have fields of their own; the rest is in `params`. */
struct shown {
    uint64_t address, size, dst, src, host_dst, host_src;
    CUgraphNodeParams plain; /* without addresses and objects */
    uint64_t objects[OBJECT_COUNT_MAX];
    size_t object_count;
    const void *list;
    size_t list_size;
};

static void add_object(struct shown *shown, enum cuda_object object, const void *raw)
{
    shown->objects[shown->object_count++] = cuda_id(object, CUDA_SLOT(raw));
}

/* A side of a copy has one of these; the others are not looked at. */
static void show_side(struct shown *shown, CUmemorytype type, const void *host, CUdeviceptr device,
                      CUarray array, uint64_t *shown_host, uint64_t *shown_device)
{
    if (type == CU_MEMORYTYPE_HOST)
        *shown_host = CUDA_SLOT(host);
    if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED)
        *shown_device = device;
    add_object(shown, CUDA_OBJECT_ARRAY, type == CU_MEMORYTYPE_ARRAY ? array : NULL);
}

static void show_copy(struct shown *shown, const CUDA_MEMCPY_NODE_PARAMS *p)
{
    const CUDA_MEMCPY3D *c = &p->copyParams;
    CUDA_MEMCPY3D *plain = &shown->plain.memcpy.copyParams;

    shown->size = c->WidthInBytes * c->Height * c->Depth;
    show_side(shown, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, &shown->host_src,
              &shown->src);
    show_side(shown, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, &shown->host_dst,
              &shown->dst);
    add_object(shown, CUDA_OBJECT_CONTEXT, p->copyCtx);
    plain->srcHost = NULL;
    plain->dstHost = NULL;
    plain->srcDevice = plain->dstDevice = 0;
    plain->srcArray = plain->dstArray = NULL;
    shown->plain.memcpy.copyCtx = NULL;
}

/* Whether it was a kernel or a function is kept. */
static void show_kernel(struct shown *shown, const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
    CUDA_KERNEL_NODE_PARAMS_v3 *plain = &shown->plain.kernel;

    add_object(shown, CUDA_OBJECT_CONTEXT, p->ctx);
    plain->func = p->func ? (CUfunction)(uintptr_t)1 : NULL; /* NOLINT: a mark */
    plain->kern = NULL;
    plain->kernelParams = plain->extra = NULL;
    plain->ctx = NULL;
}

static void show(struct shown *shown, const CUgraphNodeParams *p)
{
    CUgraphNodeParams *plain = &shown->plain;

    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        show_kernel(shown, &p->kernel);
        return;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        show_copy(shown, &p->memcpy);
        return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        shown->dst = p->memset.dst;
        shown->size = p->memset.width * p->memset.height * p->memset.elementSize;
        add_object(shown, CUDA_OBJECT_CONTEXT, p->memset.ctx);
        plain->memset.dst = 0;
        plain->memset.ctx = NULL;
        return;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        shown->address = p->alloc.dptr;
        shown->size = p->alloc.bytesize;
        shown->list = p->alloc.accessDescs;
        shown->list_size = p->alloc.accessDescCount * sizeof(*p->alloc.accessDescs);
        plain->alloc.accessDescs = NULL;
        plain->alloc.dptr = 0;
        return;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        add_object(shown, CUDA_OBJECT_CONTEXT, p->memOp.ctx);
        shown->list = p->memOp.paramArray;
        shown->list_size = p->memOp.count * sizeof(*p->memOp.paramArray);
        plain->memOp.ctx = NULL;
        plain->memOp.paramArray = NULL;
        return;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        add_object(shown, CUDA_OBJECT_GRAPH, p->graph.graph);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        add_object(shown, CUDA_OBJECT_EVENT, p->eventWait.event);
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        add_object(shown, CUDA_OBJECT_EVENT, p->eventRecord.event);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        shown->dst = p->free.dptr;
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: /* its graphs are in `list`: append_bodies() */
        add_object(shown, CUDA_OBJECT_CONTEXT, p->conditional.ctx);
        plain->conditional.phGraph_out = NULL;
        plain->conditional.ctx = NULL;
        return;
    }
    memset(plain->reserved1, 0, sizeof(plain->reserved1)); /* nothing else is in it */
}

/* Is such a node left out of replay? */
static bool is_unmodelled(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL || type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
}

/* Fields function to arguments. */
static void append_launch(struct tsm_call *call, const CUgraphNodeParams *p)
{
    const bool is_kernel = p && p->type == CU_GRAPH_NODE_TYPE_KERNEL;
    static const CUgraphNodeParams none;
    CUfunction function = NULL;
    const struct tsm_handle *handle;

    p = is_kernel ? p : &none;
    if (is_kernel)
        function = p->kernel.func ? p->kernel.func : (CUfunction)p->kernel.kern;
    tsm_call_slot(call, cuda_id(CUDA_OBJECT_FUNCTION, CUDA_SLOT(function)));
    handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(function));
    tsm_call_slot(call, handle ? handle->name : 0);
    tsm_call_slot(call, p->kernel.gridDimX);
    tsm_call_slot(call, p->kernel.gridDimY);
    tsm_call_slot(call, p->kernel.gridDimZ);
    tsm_call_slot(call, p->kernel.blockDimX);
    tsm_call_slot(call, p->kernel.blockDimY);
    tsm_call_slot(call, p->kernel.blockDimZ);
    tsm_call_slot(call, p->kernel.sharedMemBytes);
    if (is_kernel)
        cuda_append_arguments(call, function, p->kernel.kernelParams, p->kernel.extra);
    else
        tsm_call_bytes(call, NULL, 0);
}

static void append_copied(struct tsm_call *call, const void *data, size_t size)
{
    void *copy = data && size ? tsm_call_scratch(call, size) : NULL;

    if (copy)
        memcpy(copy, data, size);
    else if (data && size)
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    tsm_call_bytes(call, copy, copy ? size : 0);
}

/* The graphs that came with a conditional node, as ids (u32 each). What they copy from or to the
 * program is not known at launches: see cuda_after_node_created(). */
static void append_bodies(struct tsm_call *call, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    size_t count = p->phGraph_out ? p->size : 0;
    uint32_t *ids = count ? tsm_call_scratch(call, count * sizeof(*ids)) : NULL;

    if (count && !ids)
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    for (size_t i = 0; ids && i < count; i++) {
        struct tsm_handle *handle =
            tsm_handle_add(SBT_API_CUDA, CUDA_OBJECT_GRAPH, CUDA_SLOT(p->phGraph_out[i]));
        handle->user = handle;
        ids[i] = handle->id;
    }
    tsm_call_bytes(call, ids, ids ? count * sizeof(*ids) : 0);
}

/* All fields; `p` NULL: the call failed. */
static void append(struct tsm_call *call, const CUgraphNodeParams *p)
{
    struct shown shown = {0};

    if (p) {
        shown.plain = *p;
        show(&shown, p);
    }
    if (p && is_unmodelled(p->type))
        tsm_call_flag(call, SBT_RECORD_TAINTS);
    tsm_call_slot(call, p ? (uint64_t)p->type : 0);
    append_launch(call, p);
    tsm_call_slot(call, shown.address);
    tsm_call_slot(call, shown.size);
    tsm_call_slot(call, shown.dst);
    tsm_call_slot(call, shown.src);
    tsm_call_slot(call, shown.host_dst);
    tsm_call_slot(call, shown.host_src);
    append_copied(call, p ? shown.plain.reserved1 : NULL, sizeof(p->reserved1));
    append_copied(call, shown.objects, shown.object_count * sizeof(shown.objects[0]));
    if (p && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        append_bodies(call, &p->conditional);
    else
        append_copied(call, shown.list, shown.list_size);
}

void cuda_after_node(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                     const CUgraphNodeParams *params)
{
    append(call, ok ? params : NULL);
    if (ok && exec)
        cuda_exec_set_node(call, exec, node, params);
}

void cuda_after_added_node(struct tsm_call *call, bool ok, const CUgraphNode *node,
                           const CUgraphNodeParams *params)
{
    cuda_after_node(call, ok, NULL, NULL, params);
    if (ok && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && params->conditional.phGraph_out)
        cuda_graph_keep_bodies(*node, &params->conditional);
}

/* ---- kinds that have calls of their own --------------------------------------------------- */

/* The structs of later versions begin like those of earlier ones. */
#define NODE(kind, member, given, out)                                                             \
    CUgraphNodeParams out = {.type = (kind)};                                                      \
    if (ok)                                                                                        \
    memcpy(&(out).member, given, sizeof(*(given)))

void cuda_after_kernel_node(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                            const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    NODE(CU_GRAPH_NODE_TYPE_KERNEL, kernel, params, p);
    cuda_after_node(call, ok, exec, node, &p);
}

void cuda_after_kernel_node_v2(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                               const CUDA_KERNEL_NODE_PARAMS *params)
{
    NODE(CU_GRAPH_NODE_TYPE_KERNEL, kernel, params, p);
    cuda_after_node(call, ok, exec, node, &p);
}

void cuda_after_copy_node(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                          const CUDA_MEMCPY3D *params, CUcontext context)
{
    NODE(CU_GRAPH_NODE_TYPE_MEMCPY, memcpy.copyParams, params, p);
    p.memcpy.copyCtx = context;
    cuda_after_node(call, ok, exec, node, &p);
}

void cuda_after_fill_node(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                          const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    NODE(CU_GRAPH_NODE_TYPE_MEMSET, memset, params, p);
    p.memset.ctx = context;
    cuda_after_node(call, ok, exec, node, &p);
}

void cuda_after_host_node(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                          const CUDA_HOST_NODE_PARAMS *params)
{
    NODE(CU_GRAPH_NODE_TYPE_HOST, host, params, p);
    cuda_after_node(call, ok, exec, node, &p);
}

void cuda_after_child_node(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                           CUgraph child)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = child}};

    cuda_after_node(call, ok, exec, node, &p);
}

void cuda_after_event_node(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                           CUevent event, CUgraphNodeType type)
{
    CUgraphNodeParams p = {.type = type};

    if (type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
        p.eventWait.event = event;
    else
        p.eventRecord.event = event;
    cuda_after_node(call, ok, exec, node, &p);
}

void cuda_after_memop_node(struct tsm_call *call, bool ok, CUgraphExec exec, CUgraphNode node,
                           const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    NODE(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, memOp, params, p);
    cuda_after_node(call, ok, exec, node, &p);
}

void cuda_after_alloc_node(struct tsm_call *call, bool ok, const CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    NODE(CU_GRAPH_NODE_TYPE_MEM_ALLOC, alloc, params, p);
    cuda_after_node(call, ok, NULL, NULL, &p);
}

void cuda_after_free_node(struct tsm_call *call, bool ok, CUdeviceptr address)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {address}};

    cuda_after_node(call, ok, NULL, NULL, &p);
}

void cuda_after_other_node(struct tsm_call *call, bool ok, CUgraphNodeType type)
{
    CUgraphNodeParams p = {.type = type};

    cuda_after_node(call, ok, NULL, NULL, &p);
}
