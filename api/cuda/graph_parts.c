/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/graph_parts.h"

#include <string.h>
#include <sys/mman.h>

#define DEPTH_MAX 64u /* graphs in graphs */

/* ---- memory ------------------------------------------------------------------------------- */

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

void cuda_graph_parts_finish(struct cuda_graph_parts *parts)
{
    unmap(parts->list, parts->capacity * sizeof(*parts->list));
    cuda_graph_nodes_free(parts->tops, parts->top_count);
    *parts = (struct cuda_graph_parts){.find_words = parts->find_words,
                                       .find_bodies = parts->find_bodies};
}

static void add(struct cuda_graph_parts *parts, const struct cuda_graph_part *part)
{
    if (parts->count == parts->capacity) {
        size_t more = parts->capacity ? parts->capacity * 2 : 16;
        struct cuda_graph_part *grown = map(more * sizeof(*grown));
        if (!grown) {
            parts->is_partial = true;
            return;
        }
        if (parts->count)
            memcpy(grown, parts->list, parts->count * sizeof(*grown));
        unmap(parts->list, parts->capacity * sizeof(*parts->list));
        parts->list = grown;
        parts->capacity = more;
    }
    parts->list[parts->count++] = *part;
}

CUgraphNode *cuda_graph_nodes(const struct cuda_real *driver, CUgraph graph, size_t *count)
{
    CUgraphNode *nodes;
    size_t room;

    *count = 0;
    if (driver->cuGraphGetNodes(graph, NULL, count) != CUDA_SUCCESS || !*count)
        return NULL;
    room = *count;
    nodes = map(room * sizeof(CUgraphNode));
    if (nodes && driver->cuGraphGetNodes(graph, nodes, count) == CUDA_SUCCESS && *count == room)
        return nodes;
    unmap(nodes, room * sizeof(CUgraphNode));
    return NULL;
}

void cuda_graph_nodes_free(CUgraphNode *nodes, size_t count)
{
    unmap(nodes, count * sizeof(CUgraphNode));
}

/* ---- what a node has ---------------------------------------------------------------------- */

bool cuda_copy_is_host(const struct cuda_real *driver, CUmemorytype type, CUdeviceptr address)
{
    CUmemorytype found = CU_MEMORYTYPE_HOST;

    if (type != CU_MEMORYTYPE_UNIFIED)
        return type == CU_MEMORYTYPE_HOST;
    /* Memory that the driver does not know is the program's. */
    return driver->cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) !=
               CUDA_SUCCESS ||
           found == CU_MEMORYTYPE_HOST;
}

static bool may_be_host(CUmemorytype type)
{
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_UNIFIED;
}

static bool is_of_interest(const struct cuda_graph_parts *parts, const CUDA_MEMCPY3D *copy)
{
    return may_be_host(copy->srcMemoryType) || may_be_host(copy->dstMemoryType) ||
           (parts->find_words && copy->dstMemoryType == CU_MEMORYTYPE_DEVICE);
}

void cuda_graph_parts_word(struct cuda_graph_parts *parts, struct cuda_graph_part *part,
                           uint64_t word)
{
    if (part->words.count == CUDA_GRAPH_WORDS) {
        add(parts, part);
        part->words.count = 0;
    }
    part->words.list[part->words.count++] = word;
}

/* Asks the driver what a kernel or a memset writes in memory that the program can read. Where it
 * does not say, those bytes are recorded as the program's. */
static bool ask_of_writes(struct cuda_graph_parts *parts, struct cuda_graph_part *part,
                          const struct cuda_real *driver, CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS kernel = {0};

    if (!parts->find_words)
        return false;
    if (part->type == CU_GRAPH_NODE_TYPE_MEMSET)
        return driver->cuGraphMemsetNodeGetParams(node, &part->fill) == CUDA_SUCCESS;
    if (part->type != CU_GRAPH_NODE_TYPE_KERNEL ||
        driver->cuGraphKernelNodeGetParams_v2(node, &kernel) != CUDA_SUCCESS)
        return false;
    parts->find_words(parts, part, kernel.func ? kernel.func : (CUfunction)kernel.kern,
                      kernel.kernelParams, kernel.extra);
    return true;
}

/* Asks the driver about a node. Returns false if the driver does not say. *has: the node is a
 * part. */
static bool ask(struct cuda_graph_parts *parts, struct cuda_graph_part *part,
                const struct cuda_real *driver, CUgraphNode node, bool *has)
{
    *has = true;
    switch ((int)part->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (driver->cuGraphMemcpyNodeGetParams(node, &part->copy) != CUDA_SUCCESS)
            return false;
        *has = is_of_interest(parts, &part->copy);
        return true;
    case CU_GRAPH_NODE_TYPE_HOST:
        return driver->cuGraphHostNodeGetParams(node, &part->host) == CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return driver->cuGraphEventRecordNodeGetEvent(node, &part->event) == CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return driver->cuGraphEventWaitNodeGetEvent(node, &part->event) == CUDA_SUCCESS;
    }
    *has = ask_of_writes(parts, part, driver, node);
    return true;
}

/* ---- graphs of conditional nodes ---------------------------------------------------------- */

static void take_bodies(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                        CUgraphNode node, CUgraphNode top, unsigned depth);

static void take_may_write(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                           CUgraph graph, CUgraphNode top, unsigned depth);

/* Such a node may run, or not, or several times: what it writes is never owed. */
static void take_body_node(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                           CUgraphNode node, CUgraphNode top, unsigned depth)
{
    struct cuda_graph_part part = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .top = top};
    CUDA_KERNEL_NODE_PARAMS kernel = {0};
    CUDA_MEMSET_NODE_PARAMS fill;
    CUgraphNodeType type;
    CUDA_MEMCPY3D copy;
    CUgraph child;

    if (driver->cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
        return;
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        take_bodies(parts, driver, node, top, depth);
    else if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
             driver->cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
        take_may_write(parts, driver, child, top, depth);
    else if (type == CU_GRAPH_NODE_TYPE_KERNEL &&
             driver->cuGraphKernelNodeGetParams_v2(node, &kernel) == CUDA_SUCCESS)
        parts->find_words(parts, &part, kernel.func ? kernel.func : (CUfunction)kernel.kern,
                          kernel.kernelParams, kernel.extra);
    else if (type == CU_GRAPH_NODE_TYPE_MEMSET &&
             driver->cuGraphMemsetNodeGetParams(node, &fill) == CUDA_SUCCESS)
        cuda_graph_parts_word(parts, &part, fill.dst);
    else if (type == CU_GRAPH_NODE_TYPE_MEMCPY &&
             driver->cuGraphMemcpyNodeGetParams(node, &copy) == CUDA_SUCCESS &&
             copy.dstMemoryType != CU_MEMORYTYPE_ARRAY)
        cuda_graph_parts_word(parts, &part,
                              copy.dstMemoryType == CU_MEMORYTYPE_HOST
                                  ? (uint64_t)(uintptr_t)copy.dstHost
                                  : copy.dstDevice);
    if (part.words.count)
        add(parts, &part);
}

static void take_may_write(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                           CUgraph graph, CUgraphNode top, unsigned depth)
{
    size_t count;
    CUgraphNode *nodes = depth < DEPTH_MAX ? cuda_graph_nodes(driver, graph, &count) : NULL;

    for (size_t i = 0; nodes && i < count; i++)
        take_body_node(parts, driver, nodes[i], top, depth + 1);
    if (nodes)
        cuda_graph_nodes_free(nodes, count);
}

static void take_bodies(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                        CUgraphNode node, CUgraphNode top, unsigned depth)
{
    size_t count = 0;
    const CUgraph *bodies =
        parts->find_bodies && parts->find_words ? parts->find_bodies(node, &count) : NULL;

    for (size_t i = 0; bodies && i < count; i++)
        take_may_write(parts, driver, bodies[i], top, depth);
}

/* ---- nodes -------------------------------------------------------------------------------- */

static void add_values(struct cuda_graph_parts *parts, CUgraphNode top,
                       const CUstreamBatchMemOpParams *params, unsigned count)
{
    for (unsigned i = 0; params && i < count; i++)
        add(parts, &(struct cuda_graph_part){
                       .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .top = top, .value = params[i]});
}

static void take(struct cuda_graph_parts *parts, const struct cuda_real *driver, CUgraph graph,
                 CUgraphNode top, unsigned depth);

static void take_node(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                      CUgraphNode node, CUgraphNode top, unsigned depth)
{
    struct cuda_graph_part part = {.top = top ? top : node};
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;
    CUgraph child;
    bool has = false;

    if (driver->cuGraphNodeGetType(node, &part.type) != CUDA_SUCCESS) {
        parts->is_partial = true;
    } else if (part.type == CU_GRAPH_NODE_TYPE_GRAPH) {
        if (depth < DEPTH_MAX &&
            driver->cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
            take(parts, driver, child, part.top, depth + 1);
        else
            parts->is_partial = true;
    } else if (part.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) {
        if (driver->cuGraphBatchMemOpNodeGetParams(node, &values) == CUDA_SUCCESS)
            add_values(parts, part.top, values.paramArray, values.count);
        else
            parts->is_partial = true;
    } else if (part.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        take_bodies(parts, driver, node, part.top, depth);
    } else if (!ask(parts, &part, driver, node, &has)) {
        parts->is_partial = true;
    } else if (has) {
        add(parts, &part);
    }
}

static void take(struct cuda_graph_parts *parts, const struct cuda_real *driver, CUgraph graph,
                 CUgraphNode top, unsigned depth)
{
    size_t count;
    CUgraphNode *nodes = cuda_graph_nodes(driver, graph, &count);

    parts->is_partial |= !nodes && count;
    for (size_t i = 0; nodes && i < count; i++)
        take_node(parts, driver, nodes[i], top, depth);
    cuda_graph_nodes_free(nodes, count);
}

void cuda_graph_parts_take(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                           CUgraph graph)
{
    size_t count;
    CUgraphNode *nodes = cuda_graph_nodes(driver, graph, &count);

    parts->count = 0;
    parts->is_partial = !nodes && count;
    for (size_t i = 0; nodes && i < count; i++)
        take_node(parts, driver, nodes[i], i < parts->top_count ? parts->tops[i] : NULL, 0);
    if (parts->tops || !parts->count) {
        cuda_graph_nodes_free(nodes, count);
        return;
    }
    parts->tops = nodes;
    parts->top_count = count;
}

/* ---- changes ------------------------------------------------------------------------------ */

/* Returns whether the node is disabled, which it stays. */
static bool drop(struct cuda_graph_parts *parts, CUgraphNode node)
{
    bool is_disabled = false;
    size_t kept = 0;

    for (size_t i = 0; i < parts->count; i++) {
        if (parts->list[i].top != node)
            parts->list[kept++] = parts->list[i];
        else
            is_disabled = parts->list[i].is_disabled;
    }
    parts->count = kept;
    return is_disabled;
}

/* A program may set the parameters of thousands of nodes in their order before each launch: it is
 * looked for after the last one that was found. Returns parts->count when there is none. */
static size_t find(struct cuda_graph_parts *parts, CUgraphNode node)
{
    for (size_t i = 0; i < parts->count; i++) {
        size_t at = (parts->next + i) % parts->count;
        if (parts->list[at].top == node) {
            parts->next = at + 1;
            return at;
        }
    }
    return parts->count;
}

static void find_words(struct cuda_graph_parts *parts, struct cuda_graph_part *part,
                       const CUgraphNodeParams *params)
{
    CUfunction kernel = (CUfunction)params->kernel.kern;

    parts->find_words(parts, part, params->kernel.func ? params->kernel.func : kernel,
                      params->kernel.kernelParams, params->kernel.extra);
}

/* Writes a kernel's part over that of its last parameters. False: there is none, or several. */
static bool replace_words(struct cuda_graph_parts *parts, const CUgraphNodeParams *params,
                          struct cuda_graph_part *part)
{
    const size_t at = find(parts, part->top), count = parts->count;

    if (at == count || parts->list[at].type != CU_GRAPH_NODE_TYPE_KERNEL ||
        parts->list[at].words.count == CUDA_GRAPH_WORDS)
        return false;
    find_words(parts, part, params);
    if (parts->count > count) {
        parts->count = count;
        part->words.count = 0;
        return false;
    }
    part->is_disabled = parts->list[at].is_disabled;
    parts->list[at] = *part;
    return true;
}

void cuda_graph_parts_set(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                          CUgraphNode node, const CUgraphNodeParams *params)
{
    struct cuda_graph_part part = {.type = params->type, .top = node};

    if (part.type == CU_GRAPH_NODE_TYPE_KERNEL &&
        (!parts->find_words || replace_words(parts, params, &part)))
        return;
    part.is_disabled = drop(parts, node);
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        part.copy = params->memcpy.copyParams;
        if (is_of_interest(parts, &part.copy))
            add(parts, &part);
        break;
    case CU_GRAPH_NODE_TYPE_KERNEL:
        find_words(parts, &part, params);
        add(parts, &part);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&part.fill, &params->memset, sizeof(part.fill));
        if (parts->find_words)
            add(parts, &part);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        part.host = (CUDA_HOST_NODE_PARAMS){params->host.fn, params->host.userData};
        add(parts, &part);
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        part.event = params->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? params->eventWait.event
                                                                   : params->eventRecord.event;
        add(parts, &part);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        take(parts, driver, params->graph.graph, node, 1);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        add_values(parts, node, params->memOp.paramArray, params->memOp.count);
        break;
    }
}

void cuda_graph_parts_enable(struct cuda_graph_parts *parts, CUgraphNode node, bool enabled)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->list[i].top == node)
            parts->list[i].is_disabled = !enabled;
}
