/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs as data: nodes, edges, copies, and an order to run them in.
 */
#include "emu/cuda/graph/conditional.h"
#include "emu/cuda/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/stream/stream.h"

/* ---- edges ---- */

static struct emu_edge *find_edge(const struct emu_edges *edges, CUgraphNode node)
{
    for (size_t i = 0; i < edges->count; i++)
        if (edges->items[i].node == node)
            return &edges->items[i];
    return NULL;
}

bool emu_edges_add(struct emu_edges *edges, CUgraphNode node, const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData none;

    if (find_edge(edges, node))
        return true;
    return TSM_ARRAY_PUSH(edges->items, edges->count, edges->capacity,
                          (struct emu_edge){node, data ? *data : none});
}

static void remove_edge(struct emu_edges *edges, CUgraphNode node)
{
    struct emu_edge *edge = find_edge(edges, node);

    if (!edge)
        return;
    size_t at = (size_t)(edge - edges->items);
    edges->count--;
    memmove(edge, edge + 1, (edges->count - at) * sizeof(*edge));
}

void emu_edges_finish(struct emu_edges *edges)
{
    free(edges->items);
    *edges = (struct emu_edges){0};
}

CUresult emu_graph_connect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
    if (from->graph != to->graph || from == to)
        return CUDA_ERROR_INVALID_VALUE;
    return emu_edges_add(&from->after, to, data) && emu_edges_add(&to->before, from, data)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- nodes ---- */

static void node_destroy(CUgraphNode node)
{
    emu_object_remove(node);
    emu_command_unref(node->command);
    emu_graph_destroy(node->child);
    emu_conditional_destroy(node->conditional);
    emu_edges_finish(&node->before);
    emu_edges_finish(&node->after);
    free(node->attributes);
    free(node);
}

static bool append(CUgraph graph, CUgraphNode node)
{
    if (!TSM_ARRAY_RESERVE(graph->nodes, graph->capacity, graph->count + 1))
        return false;
    node->position = graph->count;
    graph->nodes[graph->count++] = node;
    return true;
}

CUresult emu_graph_add(CUgraphNode *out, CUgraph graph, CUgraphNodeType type,
                       struct emu_command *command, const CUgraphNode *before,
                       const CUgraphEdgeData *data, size_t count)
{
    CUgraphNode node = calloc(1, sizeof(*node));
    CUresult result = CUDA_SUCCESS;

    if (!node) {
        emu_command_unref(command);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->graph = graph;
    node->type = type;
    node->id = emu_next_id();
    node->command = command;
    if (!emu_object_add(EMU_GRAPH_NODE, node) || !append(graph, node)) {
        node_destroy(node);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count && !result; i++)
        result = emu_graph_connect(before[i], node, data ? &data[i] : NULL);
    if (result)
        emu_graph_remove_node(node);
    else
        *out = node;
    return result;
}

void emu_graph_remove_node(CUgraphNode node)
{
    CUgraph graph = node->graph;

    for (size_t i = 0; i < node->before.count; i++)
        remove_edge(&node->before.items[i].node->after, node);
    for (size_t i = 0; i < node->after.count; i++)
        remove_edge(&node->after.items[i].node->before, node);
    graph->count--;
    for (size_t i = node->position; i < graph->count; i++) {
        graph->nodes[i] = graph->nodes[i + 1];
        graph->nodes[i]->position = i;
    }
    node_destroy(node);
}

/* ---- graphs ---- */

CUgraph emu_graph_create(bool is_inner)
{
    CUgraph graph = calloc(1, sizeof(*graph));

    if (!graph || !emu_object_add(EMU_GRAPH, graph)) {
        free(graph);
        return NULL;
    }
    graph->is_inner = is_inner;
    graph->id = emu_next_id();
    return graph;
}

void emu_graph_destroy(CUgraph graph)
{
    if (!graph)
        return;
    emu_object_remove(graph);
    for (size_t i = 0; i < graph->count; i++)
        node_destroy(graph->nodes[i]);
    for (size_t i = 0; i < graph->user_count; i++)
        emu_user_object_unref(graph->users[i].object, graph->users[i].count);
    free(graph->nodes);
    free(graph->order);
    free(graph->users);
    free(graph);
}

static CUresult copy_node(CUgraph to, CUgraphNode node)
{
    struct emu_command *command = NULL;
    CUresult result = CUDA_SUCCESS;
    CUgraph child = NULL;
    CUgraphNode copy;

    if (node->command && !(command = emu_command_clone(node->command)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (node->child)
        result = emu_graph_copy(&child, node->child, true);
    if (!result)
        result = emu_graph_add(&copy, to, node->type, command, NULL, NULL, 0);
    if (result) {
        emu_graph_destroy(child);
        return result;
    }
    copy->origin = node;
    copy->child = child;
    if (node->conditional)
        result = emu_conditional_copy(&copy->conditional, node->conditional);
    if (result)
        return result;
    copy->is_disabled = node->is_disabled;
    if (!node->attribute_count)
        return CUDA_SUCCESS;
    copy->attributes = calloc(node->attribute_count, sizeof(*copy->attributes));
    if (!copy->attributes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    copy->attribute_count = node->attribute_count;
    memcpy(copy->attributes, node->attributes, node->attribute_count * sizeof(*copy->attributes));
    return CUDA_SUCCESS;
}

static CUresult copy_edges(CUgraph to, CUgraph from)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < from->count; i++) {
        const struct emu_edges *before = &from->nodes[i]->before;
        for (size_t k = 0; k < before->count && !result; k++)
            result = emu_graph_connect(to->nodes[before->items[k].node->position], to->nodes[i],
                                       &before->items[k].data);
    }
    return result;
}

static CUresult copy_users(CUgraph to, CUgraph from)
{
    if (!from->user_count)
        return CUDA_SUCCESS;
    to->users = calloc(from->user_count, sizeof(*to->users));
    if (!to->users)
        return CUDA_ERROR_OUT_OF_MEMORY;
    to->user_count = from->user_count;
    for (size_t i = 0; i < from->user_count; i++) {
        to->users[i] = (struct emu_graph_user){from->users[i].object, 1};
        emu_user_object_ref(to->users[i].object, 1);
    }
    return CUDA_SUCCESS;
}

CUresult emu_graph_copy(CUgraph *out, CUgraph graph, bool is_inner)
{
    CUgraph copy = emu_graph_create(is_inner);
    CUresult result = copy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    for (size_t i = 0; i < graph->count && !result; i++)
        result = copy_node(copy, graph->nodes[i]);
    if (!result)
        result = copy_edges(copy, graph);
    if (!result)
        result = copy_users(copy, graph);
    if (result) {
        emu_graph_destroy(copy);
        return result;
    }
    copy->origin = graph;
    *out = copy;
    return CUDA_SUCCESS;
}

/* ---- an order ---- */

/* Which of `count` ready nodes goes next, by the schedule. */
static size_t choose(size_t count, uint64_t *random)
{
    if (emu_settings.schedule == PTX_SCHEDULE_REVERSE)
        return count - 1;
    if (emu_settings.schedule != PTX_SCHEDULE_RANDOM)
        return 0;
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    return (size_t)((*random >> 33) % count);
}

static bool may_wait(CUgraphNode node)
{
    CUgraphNodeParams p;

    if (node->type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        return node->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    node->command->type->describe(node->command, &p);
    for (unsigned i = 0; i < p.memOp.count; i++)
        if (p.memOp.paramArray[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
            p.memOp.paramArray[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
            return true;
    return false;
}

/* Nodes run one after another: one that waits for what a parallel branch writes comes after all
 * that can go on without it. */
static size_t chosen(const CUgraphNode *ready, size_t count, uint64_t *random)
{
    size_t at = choose(count, random);

    for (size_t i = 0; i < count && may_wait(ready[at]); i++)
        if (!may_wait(ready[i]))
            at = i;
    return at;
}

/* The ready nodes stand after those that have their place: order[done .. ready). */
CUresult emu_graph_sort(CUgraph graph, CUgraphNode *bad)
{
    uint64_t random = emu_settings.seed;
    size_t ready = 0;

    free(graph->order);
    graph->order = calloc(graph->count + 1, sizeof(CUgraphNode));
    if (!graph->order)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < graph->count; i++) {
        graph->nodes[i]->mark = graph->nodes[i]->before.count;
        if (!graph->nodes[i]->mark)
            graph->order[ready++] = graph->nodes[i];
    }
    for (size_t done = 0; done < ready; done++) {
        size_t at = done + chosen(&graph->order[done], ready - done, &random);
        CUgraphNode next = graph->order[at];
        memmove(&graph->order[done + 1], &graph->order[done], (at - done) * sizeof(CUgraphNode));
        graph->order[done] = next;
        for (size_t i = 0; i < next->after.count; i++)
            if (--next->after.items[i].node->mark == 0)
                graph->order[ready++] = next->after.items[i].node;
    }
    for (size_t i = 0; i < graph->count && ready < graph->count; i++)
        if (graph->nodes[i]->mark) {
            *bad = graph->nodes[i];
            return CUDA_ERROR_INVALID_VALUE;
        }
    return CUDA_SUCCESS;
}

CUresult emu_graph_sort_all(CUgraph graph, CUgraphNode *bad)
{
    CUresult result = emu_graph_sort(graph, bad);

    for (size_t i = 0; i < graph->count && !result; i++) {
        const struct emu_conditional *c = graph->nodes[i]->conditional;
        if (graph->nodes[i]->child)
            result = emu_graph_sort_all(graph->nodes[i]->child, bad);
        for (unsigned k = 0; c && k < c->body_count && !result; k++)
            result = emu_graph_sort_all(c->bodies[k], bad);
        if (c && !result)
            result = emu_conditional_check(c);
    }
    return result;
}

/* ---- handles ---- */

CUresult emu_graph_enter(CUgraph graph)
{
    CUresult result = emu_ready();

    return !result && !emu_object_is(EMU_GRAPH, graph) ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult emu_graph_enter_node(CUgraphNode node)
{
    CUresult result = emu_ready();

    return !result && !emu_object_is(EMU_GRAPH_NODE, node) ? CUDA_ERROR_INVALID_VALUE : result;
}
