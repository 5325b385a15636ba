/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of graphs' nodes: parameters out of a record, and nodes made of them or given them.
 *
 * Memory that a graph allocates is ours, at the recorded address, from the moment when its node is
 * made: a driver would choose another address. Nodes that allocate and free are empty ones here.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

/* Slots of a node's parameters, from the first of them on; the order is cuda.api's. */
enum {
    NODE_TYPE,
    NODE_FUNCTION,
    NODE_NAME,
    NODE_GRID,
    NODE_BLOCK = NODE_GRID + 3,
    NODE_SHARED = NODE_BLOCK + 3,
    NODE_ARGUMENTS,
    NODE_ADDRESS,
    NODE_SIZE,
    NODE_DST,
    NODE_SRC,
    NODE_HOST_DST,
    NODE_HOST_SRC,
    NODE_PARAMS,
    NODE_OBJECTS,
    NODE_LIST,
};

_Static_assert((int)SLOT_cuGraphNodeSetParams_list - (int)SLOT_cuGraphNodeSetParams_type ==
                   NODE_LIST,
               "fields of a node");

/* ---- parameters --------------------------------------------------------------------------- */

static void *read_object(struct cuda_args *args, uint32_t slot, unsigned index,
                         enum cuda_object object)
{
    const uint8_t *bytes;
    uint64_t id = 0;
    size_t size;

    if (args->error || !sbt_record_bytes(args->record, slot + NODE_OBJECTS, &bytes, &size))
        return NULL;
    if (size >= (index + 1) * sizeof(id))
        memcpy(&id, bytes + index * sizeof(id), sizeof(id));
    void *raw = id ? cuda_object_find(args->replay, object, id) : NULL;
    if (id && !raw)
        args->error = tsm_fail(TSM_E_NOT_FOUND, "object %llu was made by no record of this trace",
                               (unsigned long long)id);
    return raw;
}

static void read_kernel(struct cuda_args *args, uint32_t slot, struct cuda_node *out)
{
    CUDA_KERNEL_NODE_PARAMS_v3 *p = &out->params.kernel;
    CUfunction function = cuda_arg_handle(args, slot + NODE_FUNCTION, CUDA_OBJECT_FUNCTION);

    cuda_read_block(args, slot + NODE_ARGUMENTS, function, &out->block);
    if (p->func)
        p->func = function;
    else
        p->kern = (CUkernel)function;
    p->ctx = read_object(args, slot, 0, CUDA_OBJECT_CONTEXT);
    p->kernelParams = NULL;
    p->extra = out->block.size ? out->extra : NULL;
    out->extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    out->extra[1] = out->block.bytes;
    out->extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    out->extra[3] = &out->block.size;
    out->extra[4] = CU_LAUNCH_PARAM_END;
}

static void read_copy(struct cuda_args *args, uint32_t slot, CUDA_MEMCPY_NODE_PARAMS *p)
{
    p->copyParams.srcHost = (const void *)(uintptr_t)cuda_arg(args, slot + NODE_HOST_SRC);
    p->copyParams.dstHost = (void *)(uintptr_t)cuda_arg(args, slot + NODE_HOST_DST);
    p->copyParams.srcDevice = cuda_arg(args, slot + NODE_SRC);
    p->copyParams.dstDevice = cuda_arg(args, slot + NODE_DST);
    p->copyParams.srcArray = read_object(args, slot, 0, CUDA_OBJECT_ARRAY);
    p->copyParams.dstArray = read_object(args, slot, 1, CUDA_OBJECT_ARRAY);
    p->copyCtx = read_object(args, slot, 2, CUDA_OBJECT_CONTEXT);
    if (!args->error)
        args->error = cuda_program_copy(args->replay, &p->copyParams);
    /* The call demands one; the traced program's may have come with the stream. */
    if (!p->copyCtx)
        p->copyCtx = cuda_context_of(args->replay, args->record->thread);
}

static void read_function(struct cuda_args *args, CUDA_HOST_NODE_PARAMS_v2 *p)
{
    *p = (CUDA_HOST_NODE_PARAMS_v2){cuda_node_function_run, cuda_node_function_make(args->replay)};
    if (!p->userData && !args->error)
        args->error = tsm_fail(TSM_E_MEMORY, "no memory for a host function");
}

static void read_allocation(struct cuda_args *args, uint32_t slot, CUgraphNodeParams *p)
{
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && !args->error)
        args->error = cuda_graph_memory_make(args->replay, cuda_arg(args, slot + NODE_ADDRESS),
                                             cuda_arg(args, slot + NODE_SIZE), args->record->seq);
    p->type = CU_GRAPH_NODE_TYPE_EMPTY;
}

static void read_kind(struct cuda_args *args, uint32_t slot, struct cuda_node *out)
{
    CUgraphNodeParams *p = &out->params;

    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        read_kernel(args, slot, out);
        return;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        read_copy(args, slot, &p->memcpy);
        return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        p->memset.dst = cuda_arg_address(args, slot + NODE_DST);
        p->memset.ctx = read_object(args, slot, 0, CUDA_OBJECT_CONTEXT);
        if (!p->memset.ctx)
            p->memset.ctx = cuda_context_of(args->replay, args->record->thread);
        return;
    case CU_GRAPH_NODE_TYPE_HOST:
        read_function(args, &p->host);
        return;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        p->graph.graph = read_object(args, slot, 0, CUDA_OBJECT_GRAPH);
        return;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        p->eventWait.event = read_object(args, slot, 0, CUDA_OBJECT_EVENT);
        return;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        p->eventRecord.event = read_object(args, slot, 0, CUDA_OBJECT_EVENT);
        return;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        cuda_values_read(args, slot + NODE_LIST, p->memOp.count, &out->values);
        p->memOp.paramArray = out->values;
        p->memOp.ctx = read_object(args, slot, 0, CUDA_OBJECT_CONTEXT);
        return;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        p->conditional.handle = cuda_memory_translate(&args->replay->memory, p->conditional.handle);
        p->conditional.ctx = read_object(args, slot, 0, CUDA_OBJECT_CONTEXT);
        return;
    default: /* what the trace is tainted by is left out */
        read_allocation(args, slot, p);
        return;
    }
}

void cuda_node_read(struct cuda_args *args, uint32_t slot, struct cuda_node *out)
{
    CUgraphNodeParams *p = &out->params;
    const void *bytes = cuda_arg_bytes(args, slot + NODE_PARAMS, sizeof(p->reserved1));

    memset(p, 0, sizeof(*p));
    out->block.size = 0;
    out->values = NULL;
    if (args->error)
        return;
    p->type = (CUgraphNodeType)cuda_arg(args, slot + NODE_TYPE);
    memcpy(p->reserved1, bytes, sizeof(p->reserved1));
    read_kind(args, slot, out);
}

/* ---- nodes are made ----------------------------------------------------------------------- */

/* Before CUDA 12 a kernel is a function; what is behind that in the struct is not looked at. */
static CUresult add_kernel(const struct cuda_real *driver, CUgraphNode *out, CUgraph graph,
                           const CUgraphNode *after, size_t count,
                           const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
    CUDA_KERNEL_NODE_PARAMS params;
    CUDA_KERNEL_NODE_PARAMS_v1 old;
    CUresult result;

    memcpy(&params, p, sizeof(params));
    result = driver->cuGraphAddKernelNode_v2(out, graph, after, count, &params);
    if (result != CUDA_ERROR_NOT_FOUND || !p->func)
        return result;
    memcpy(&old, p, sizeof(old));
    return driver->cuGraphAddKernelNode(out, graph, after, count, &old);
}

static CUresult add_kind(const struct cuda_real *driver, CUgraphNode *out, CUgraph graph,
                         const CUgraphNode *after, size_t count, const CUgraphNodeParams *p)
{
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_HOST_NODE_PARAMS host;
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;

    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return add_kernel(driver, out, graph, after, count, &p->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return driver->cuGraphAddMemcpyNode(out, graph, after, count, &p->memcpy.copyParams,
                                            p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&fill, &p->memset, sizeof(fill));
        return driver->cuGraphAddMemsetNode(out, graph, after, count, &fill, p->memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
        memcpy(&host, &p->host, sizeof(host));
        return driver->cuGraphAddHostNode(out, graph, after, count, &host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return driver->cuGraphAddChildGraphNode(out, graph, after, count, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return driver->cuGraphAddEventWaitNode(out, graph, after, count, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return driver->cuGraphAddEventRecordNode(out, graph, after, count, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        memcpy(&values, &p->memOp, sizeof(values));
        return driver->cuGraphAddBatchMemOpNode(out, graph, after, count, &values);
    }
    return driver->cuGraphAddEmptyNode(out, graph, after, count);
}

/* By the call of the recording, where that takes any kind. */
static CUresult add(struct cuda_args *args, CUgraphNode *out, CUgraph graph,
                    const CUgraphNode *after, size_t count, CUgraphNodeParams *p)
{
    const struct cuda_real *driver = args->driver;
    const uint8_t *edges = NULL;
    size_t size = 0;

    sbt_record_bytes(args->record, SLOT_cuGraphAddNode_edges, &edges, &size);
    if (size && size >= count * sizeof(CUgraphEdgeData))
        return driver->cuGraphAddNode_v2(out, graph, after,
                                         (const CUgraphEdgeData *)(const void *)edges, count, p);
    if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL || args->record->type == TYPE_cuGraphAddNode ||
        args->record->type == TYPE_cuGraphAddNode_v2)
        return driver->cuGraphAddNode(out, graph, after, count, p);
    return add_kind(driver, out, graph, after, count, p);
}

static struct cuda_node *make_node(struct cuda_args *args)
{
    struct cuda_node *node = calloc(1, sizeof(*node));

    if (!node && !args->error)
        args->error = tsm_fail(TSM_E_MEMORY, "no memory for a graph's node");
    return node;
}

static void free_node(struct cuda_node *node)
{
    if (node)
        free(node->values);
    free(node);
}

/* The graphs that came with a conditional node. */
static int name_bodies(struct cuda_args *args, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;
    int error = 0;

    sbt_record_bytes(args->record, SLOT_cuGraphAddNode_list, &bytes, &size);
    for (size_t i = 0; i < p->size && (i + 1) * 4 <= size && p->phGraph_out && !error; i++) {
        uint32_t id;
        memcpy(&id, bytes + i * 4, sizeof(id));
        error = cuda_object_set(args->replay, CUDA_OBJECT_GRAPH, id, p->phGraph_out[i]);
    }
    return error;
}

/* Kernels are given the handle: where it is another number, it is translated like an address. */
int replay_cuGraphConditionalHandleCreate(struct cuda_replay *replay,
                                          const struct sbt_record *record)
{
#define AT(name) SLOT_cuGraphConditionalHandleCreate_##name
    CUgraphConditionalHandle handle = 0;
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, AT(flags) + 1);
    CUgraph graph = cuda_arg_handle(&args, AT(hGraph), CUDA_OBJECT_GRAPH);
    CUcontext context = cuda_arg_handle(&args, AT(ctx), CUDA_OBJECT_CONTEXT);
    unsigned value = (unsigned)cuda_arg(&args, AT(defaultLaunchValue));
    unsigned flags = (unsigned)cuda_arg(&args, AT(flags));
    if (args.error)
        return args.error;
    cuda_args_end(
        &args, args.driver->cuGraphConditionalHandleCreate(&handle, graph, context, value, flags));
    if (!args.error)
        args.error =
            cuda_memory_moved(&replay->memory, cuda_arg(&args, AT(pHandle_out)), 1, handle);
    return args.error;
#undef AT
}

int replay_cuGraphAddNode(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    struct cuda_node *node;
    CUgraphNode *after, made;
    size_t count;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphAddNode_list + 1);
    CUgraph graph = cuda_arg_handle(&args, SLOT_cuGraphAddNode_hGraph, CUDA_OBJECT_GRAPH);
    after = cuda_nodes_read(&args, SLOT_cuGraphAddNode_dependencies, &count);
    node = make_node(&args);
    if (!args.error)
        cuda_node_read(&args, SLOT_cuGraphAddNode_type, node);
    if (!args.error)
        cuda_args_end(&args, add(&args, &made, graph, after, count, &node->params));
    if (!args.error)
        cuda_arg_created(&args, SLOT_cuGraphAddNode_phGraphNode, CUDA_OBJECT_NODE, made);
    if (!args.error && node->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        args.error = name_bodies(&args, &node->params.conditional);
    free(after);
    free_node(node);
    return args.error;
}

/* ---- nodes are given parameters ----------------------------------------------------------- */

static CUresult set(const struct cuda_real *driver, CUgraphNode node, const CUgraphNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_HOST_NODE_PARAMS host;
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;

    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        memcpy(&kernel, &p->kernel, sizeof(kernel));
        return driver->cuGraphKernelNodeSetParams_v2(node, &kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return driver->cuGraphMemcpyNodeSetParams(node, &p->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&fill, &p->memset, sizeof(fill));
        return driver->cuGraphMemsetNodeSetParams(node, &fill);
    case CU_GRAPH_NODE_TYPE_HOST:
        memcpy(&host, &p->host, sizeof(host));
        return driver->cuGraphHostNodeSetParams(node, &host);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return driver->cuGraphEventWaitNodeSetEvent(node, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return driver->cuGraphEventRecordNodeSetEvent(node, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        memcpy(&values, &p->memOp, sizeof(values));
        return driver->cuGraphBatchMemOpNodeSetParams(node, &values);
    case CU_GRAPH_NODE_TYPE_GRAPH: {
        CUgraphNodeParams params = *p;
        return driver->cuGraphNodeSetParams(node, &params);
    }
    }
    return CUDA_SUCCESS; /* a stand-in */
}

int replay_cuGraphNodeSetParams(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    struct cuda_node *node;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphNodeSetParams_list + 1);
    CUgraphNode raw = cuda_arg_handle(&args, SLOT_cuGraphNodeSetParams_hNode, CUDA_OBJECT_NODE);
    node = make_node(&args);
    if (!args.error)
        cuda_node_read(&args, SLOT_cuGraphNodeSetParams_type, node);
    if (!args.error)
        cuda_args_end(&args, set(args.driver, raw, &node->params));
    free_node(node);
    return args.error;
}

static CUresult set_exec(const struct cuda_real *driver, CUgraphExec exec, CUgraphNode node,
                         const CUgraphNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_HOST_NODE_PARAMS host;
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;

    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        memcpy(&kernel, &p->kernel, sizeof(kernel));
        return driver->cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return driver->cuGraphExecMemcpyNodeSetParams(exec, node, &p->memcpy.copyParams,
                                                      p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&fill, &p->memset, sizeof(fill));
        return driver->cuGraphExecMemsetNodeSetParams(exec, node, &fill, p->memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
        memcpy(&host, &p->host, sizeof(host));
        return driver->cuGraphExecHostNodeSetParams(exec, node, &host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return driver->cuGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return driver->cuGraphExecEventWaitNodeSetEvent(exec, node, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return driver->cuGraphExecEventRecordNodeSetEvent(exec, node, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        memcpy(&values, &p->memOp, sizeof(values));
        return driver->cuGraphExecBatchMemOpNodeSetParams(exec, node, &values);
    }
    return CUDA_SUCCESS;
}

int replay_cuGraphExecNodeSetParams(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    struct cuda_node *node;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphExecNodeSetParams_list + 1);
    CUgraphExec exec =
        cuda_arg_handle(&args, SLOT_cuGraphExecNodeSetParams_hGraphExec, CUDA_OBJECT_EXEC);
    CUgraphNode raw = cuda_arg_handle(&args, SLOT_cuGraphExecNodeSetParams_hNode, CUDA_OBJECT_NODE);
    node = make_node(&args);
    if (!args.error)
        cuda_node_read(&args, SLOT_cuGraphExecNodeSetParams_type, node);
    if (!args.error)
        cuda_args_end(&args, set_exec(args.driver, exec, raw, &node->params));
    if (!args.error)
        args.error = cuda_exec_set_node(
            &args, cuda_arg(&args, SLOT_cuGraphExecNodeSetParams_hGraphExec), raw, &node->params);
    free_node(node);
    return args.error;
}
