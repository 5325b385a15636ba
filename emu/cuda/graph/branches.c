/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/graph/branches.h"

#include <stdlib.h>

#include "emu/cuda/stream/node_order.h"
#include "emu/cuda/stream/stream.h"

struct branches {
    CUstream stream;
    CUresult (*send)(CUgraphNode node, CUstream stream);
};

static CUresult send_graph(const struct branches *b, CUgraph graph, struct emu_command *start,
                           struct emu_command **end);

/* A place in the launch. */
static CUresult send_mark(const struct branches *b)
{
    return emu_stream_send(b->stream, emu_command_create(&emu_command_mark, 0), false);
}

static CUresult send_plain(const struct branches *b, CUgraphNode node, struct emu_node_order *order)
{
    CUresult result;

    emu_node_order_use(order);
    result = node->is_disabled || node->child ? send_mark(b) : b->send(node, b->stream);
    if (!result && !order->last)
        result =
            send_mark(b); /* a node of nothing, such as a batch without operations that count */
    emu_node_order_use(NULL);
    return result;
}

/* *last: gets the node's last command, with a reference. */
static CUresult send_node(const struct branches *b, CUgraphNode node, struct emu_node_order *order,
                          struct emu_command **last)
{
    CUresult result = send_plain(b, node, order);
    struct emu_command *start = order->last;

    if (result || !node->child || node->is_disabled) {
        *last = start;
        return result;
    }
    result = send_graph(b, node->child, start, last);
    emu_command_unref(start);
    return result;
}

/* The last commands of a node's parents; `start` where it has none. */
static size_t list_before(struct emu_command **before, CUgraphNode node, struct emu_command *start,
                          struct emu_command *const *lasts)
{
    for (size_t i = 0; i < node->before.count; i++)
        before[i] = lasts[node->before.items[i].node->position];
    if (node->before.count)
        return node->before.count;
    before[0] = start;
    return 1;
}

/* *end: gets a mark that stands after all of it, with a reference. */
static CUresult send_end(const struct branches *b, struct emu_command *const *lasts, size_t count,
                         struct emu_command *start, struct emu_command **end)
{
    struct emu_node_order order = {count ? lasts : &start, count ? count : 1, NULL};
    CUresult result;

    emu_node_order_use(&order);
    result = send_mark(b);
    emu_node_order_use(NULL);
    *end = order.last;
    return result;
}

/* The longest list of parents, and one more. */
static size_t room_for_parents(CUgraph graph)
{
    size_t most = 0;

    for (size_t i = 0; i < graph->count; i++)
        most = graph->nodes[i]->before.count > most ? graph->nodes[i]->before.count : most;
    return most + 1;
}

/* end: NULL where the caller has a mark of its own. */
static CUresult send_graph(const struct branches *b, CUgraph graph, struct emu_command *start,
                           struct emu_command **end)
{
    struct emu_command **lasts = calloc(graph->count + 1, sizeof(struct emu_command *));
    struct emu_command **before = calloc(room_for_parents(graph), sizeof(struct emu_command *));
    CUresult result = lasts && before ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    for (size_t i = 0; i < graph->count && !result; i++) {
        CUgraphNode node = graph->order[i];
        struct emu_node_order order = {before, list_before(before, node, start, lasts), NULL};
        result = send_node(b, node, &order, &lasts[node->position]);
    }
    if (!result && end)
        result = send_end(b, lasts, graph->count, start, end);
    for (size_t i = 0; i < graph->count && lasts; i++)
        emu_command_unref(lasts[i]);
    free(lasts);
    free(before);
    return result;
}

CUresult emu_branches_send(CUgraph graph, CUstream stream, struct emu_command *start,
                           CUresult (*send)(CUgraphNode node, CUstream stream))
{
    const struct branches branches = {stream, send};

    return send_graph(&branches, graph, start, NULL);
}
