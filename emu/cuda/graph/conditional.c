/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/graph/conditional.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/graph/graph.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/stream/virtual_time.h"

#define MARK      0x434f4e4400000000ull /* "COND" */
#define COUNT_MAX (1u << 20)

/* ---- values ------------------------------------------------------------------------------- */

struct value {
    uint32_t now, at_launch;
    bool has_default;
};

static struct {
    pthread_mutex_t lock;
    struct value *list;
    size_t count, capacity;
} values = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The lock is held. */
static struct value *find(CUgraphConditionalHandle handle)
{
    uint64_t index = handle - MARK;

    return index && index <= values.count ? &values.list[index - 1] : NULL;
}

static bool is_handle(CUgraphConditionalHandle handle)
{
    pthread_mutex_lock(&values.lock);
    bool is = find(handle) != NULL;
    pthread_mutex_unlock(&values.lock);
    return is;
}

bool emu_conditional_set(uint64_t handle, uint32_t value)
{
    pthread_mutex_lock(&values.lock);
    struct value *v = find(handle);
    if (v)
        v->now = value;
    pthread_mutex_unlock(&values.lock);
    return v != NULL;
}

static uint32_t get(CUgraphConditionalHandle handle)
{
    pthread_mutex_lock(&values.lock);
    const struct value *v = find(handle);
    uint32_t now = v ? v->now : 0;
    pthread_mutex_unlock(&values.lock);
    return now;
}

static CUresult add_value(CUgraphConditionalHandle *out, struct value value)
{
    if (values.count == COUNT_MAX ||
        !TSM_ARRAY_PUSH(values.list, values.count, values.capacity, value))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = MARK + values.count;
    return CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph,
                                        CUcontext ctx, unsigned int defaultLaunchValue,
                                        unsigned int flags)
{
    const struct value value = {defaultLaunchValue, defaultLaunchValue,
                                (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0};
    CUresult result = emu_graph_enter(hGraph);

    if (!result && (!pHandle_out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&values.lock);
    result = add_value(pHandle_out, value);
    pthread_mutex_unlock(&values.lock);
    return result;
}

/* ---- life --------------------------------------------------------------------------------- */

static struct emu_conditional *allocate(unsigned count)
{
    struct emu_conditional *c = calloc(1, sizeof(*c) + count * sizeof(CUgraph));

    if (c)
        c->body_count = count;
    return c;
}

/* One graph for a loop; if and perhaps else; a switch has as many as it likes. */
static bool is_size(CUgraphConditionalNodeType type, unsigned size)
{
    switch ((int)type) {
    case CU_GRAPH_COND_TYPE_IF:
        return size == 1 || size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
        return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
        return size > 0 && size < COUNT_MAX;
    }
    return false;
}

CUresult emu_conditional_create(struct emu_conditional **out, CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    struct emu_conditional *c;

    if (!is_handle(params->handle) || !is_size(params->type, params->size))
        return CUDA_ERROR_INVALID_VALUE;
    c = allocate(params->size);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->handle = params->handle;
    c->type = params->type;
    for (unsigned i = 0; i < c->body_count; i++) {
        c->bodies[i] = emu_graph_create(true);
        if (!c->bodies[i]) {
            emu_conditional_destroy(c);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    params->phGraph_out = c->bodies;
    *out = c;
    return CUDA_SUCCESS;
}

CUresult emu_conditional_copy(struct emu_conditional **out, const struct emu_conditional *from)
{
    struct emu_conditional *c = allocate(from->body_count);
    CUresult result = c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    if (!c)
        return result;
    c->handle = from->handle;
    c->type = from->type;
    for (unsigned i = 0; i < c->body_count && !result; i++)
        result = emu_graph_copy(&c->bodies[i], from->bodies[i], true);
    if (result)
        emu_conditional_destroy(c);
    else
        *out = c;
    return result;
}

void emu_conditional_destroy(struct emu_conditional *c)
{
    for (unsigned i = 0; c && i < c->body_count; i++)
        emu_graph_destroy(c->bodies[i]);
    free(c);
}

static CUresult check_graph(CUgraph graph)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < graph->count && !result; i++) {
        CUgraphNode node = graph->nodes[i];
        switch ((int)node->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
        case CU_GRAPH_NODE_TYPE_EMPTY:
            break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            result = check_graph(node->child);
            break;
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            result = emu_conditional_check(node->conditional);
            break;
        default:
            result = CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return result;
}

CUresult emu_conditional_check(const struct emu_conditional *c)
{
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < c->body_count && !result; i++)
        result = check_graph(c->bodies[i]);
    return result;
}

/* ---- running ------------------------------------------------------------------------------ */

static CUresult run_conditional(const struct emu_conditional *c, CUstream stream);

static CUresult run_node(CUgraphNode node, CUstream stream)
{
    struct emu_command *command = emu_command_clone(node->command);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    if (!command)
        return result;
    command->stream = stream;
    emu_time_begin_inner(command);
    result = command->type->run(command);
    emu_time_end_inner(command);
    emu_command_unref(command);
    return result;
}

static CUresult run_graph(CUgraph graph, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < graph->count && !result; i++) {
        CUgraphNode node = graph->order[i];
        if (node->is_disabled)
            continue;
        if (node->child)
            result = run_graph(node->child, stream);
        else if (node->conditional)
            result = run_conditional(node->conditional, stream);
        else
            result = run_node(node, stream);
    }
    return result;
}

static CUresult run_conditional(const struct emu_conditional *c, CUstream stream)
{
    uint32_t value = get(c->handle);
    CUresult result = CUDA_SUCCESS;

    switch ((int)c->type) {
    case CU_GRAPH_COND_TYPE_IF:
        if (value)
            return run_graph(c->bodies[0], stream);
        return c->body_count > 1 ? run_graph(c->bodies[1], stream) : CUDA_SUCCESS;
    case CU_GRAPH_COND_TYPE_SWITCH:
        return value < c->body_count ? run_graph(c->bodies[value], stream) : CUDA_SUCCESS;
    }
    while (get(c->handle) && !result) {
        result = run_graph(c->bodies[0], stream);
        if (emu_settings.is_noop)
            break; /* no kernel ever ends it */
    }
    return result;
}

struct payload {
    struct emu_conditional *conditional;
};

/* On the stream's thread, where destroying graphs may take the scheduler's lock; finish() may not.
 */
static CUresult run_sent(struct emu_command *command)
{
    struct payload *p = (struct payload *)command->payload;
    CUresult result = CUDA_SUCCESS;

    if (!emu_context_error(command->stream->context))
        result = run_conditional(p->conditional, command->stream);
    emu_conditional_destroy(p->conditional);
    p->conditional = NULL;
    return result;
}

static const struct emu_command_type sent_type = {.run = run_sent, .runs_after_error = true};

/* Copies of graphs come without their order. */
static CUresult sort(const struct emu_conditional *c)
{
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < c->body_count && !result; i++)
        result = emu_graph_sort_all(c->bodies[i], &(CUgraphNode){NULL});
    return result;
}

CUresult emu_conditional_send(const struct emu_conditional *conditional, CUstream stream)
{
    struct emu_command *command = emu_command_create(&sent_type, sizeof(struct payload));
    struct emu_conditional *copy = NULL;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    if (command)
        result = emu_conditional_copy(&copy, conditional);
    if (!result)
        result = sort(copy);
    if (!result) {
        ((struct payload *)command->payload)->conditional = copy;
        result = emu_stream_submit(stream, command);
    }
    if (result)
        emu_conditional_destroy(copy);
    emu_command_unref(command);
    return result;
}

/* ---- defaults ----------------------------------------------------------------------------- */

static CUresult run_default(struct emu_command *command)
{
    CUgraphConditionalHandle handle = *(CUgraphConditionalHandle *)command->payload;

    pthread_mutex_lock(&values.lock);
    struct value *v = find(handle);
    if (v && v->has_default)
        v->now = v->at_launch;
    pthread_mutex_unlock(&values.lock);
    return CUDA_SUCCESS;
}

static const struct emu_command_type default_type = {.run = run_default};

static CUresult send_default(CUgraphConditionalHandle handle, CUstream stream)
{
    struct emu_command *command = emu_command_create(&default_type, sizeof(handle));

    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *(CUgraphConditionalHandle *)command->payload = handle;
    CUresult result = emu_stream_submit(stream, command);
    emu_command_unref(command);
    return result;
}

CUresult emu_conditional_send_defaults(CUgraph graph, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < graph->count && !result; i++) {
        const struct emu_conditional *c = graph->nodes[i]->conditional;
        if (graph->nodes[i]->child)
            result = emu_conditional_send_defaults(graph->nodes[i]->child, stream);
        if (c)
            result = send_default(c->handle, stream);
        for (unsigned k = 0; c && k < c->body_count && !result; k++)
            result = emu_conditional_send_defaults(c->bodies[k], stream);
    }
    return result;
}
