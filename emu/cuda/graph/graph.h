/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs. A node holds a command that is never sent itself: a template, in the same form that
 * streams run (emu/cuda/stream/stream.h). So what a stream captures is what a program adds by hand,
 * and a launch sends copies of the templates, one after another in an order that keeps every edge;
 * which of the possible orders is TS_EMU_SCHEDULE's choice.
 *
 * Threads: like the driver's, a graph is the caller's to guard; captures guard theirs.
 */
#ifndef EMU_GRAPH_H
#define EMU_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "emu/cuda/core/abi.h"

struct emu_command;

struct emu_edge {
    CUgraphNode node; /* the other end */
    CUgraphEdgeData data;
};

/* All zero is empty. */
struct emu_edges {
    struct emu_edge *items;
    size_t count;
    size_t capacity;
};

/* Adds an edge. Returns false if out of memory. An edge that exists already is not added again. */
bool emu_edges_add(struct emu_edges *edges, CUgraphNode node, const CUgraphEdgeData *data);
void emu_edges_finish(struct emu_edges *edges);

struct CUgraphNode_st {
    CUgraph graph;
    CUgraphNodeType type;
    unsigned long long id;
    CUgraphNode origin;          /* in the graph that this one is a copy of; only compared */
    size_t position;             /* in its graph: the order of creation */
    struct emu_command *command; /* owned; NULL in a child graph's node */
    CUgraph child;               /* owned */
    struct emu_conditional *conditional; /* of a conditional node; owned */
    CUlaunchAttribute *attributes;       /* of a kernel node; owned */
    unsigned attribute_count;
    bool is_disabled; /* in an executable graph */
    struct emu_edges before;
    struct emu_edges after;
    size_t mark; /* for walks */
};

/* Reference that keeps a user object alive. */
struct emu_graph_user {
    CUuserObject object;
    unsigned count;
};

struct CUgraph_st {
    CUgraphNode *nodes;
    size_t count;
    size_t capacity;
    CUgraphNode *order; /* of launches; made when it is instantiated */
    CUgraph origin;     /* only compared */
    bool is_inner;      /* of a node, of an executable graph, of a capture: not the program's */
    struct emu_graph_user *users;
    size_t user_count;
    unsigned long long id;
};

/* Empty. NULL: out of memory. */
CUgraph emu_graph_create(bool is_inner);
/* With its nodes. NULL: nothing. */
void emu_graph_destroy(CUgraph graph);
/* A deep copy, whose nodes name theirs as origin, in the same order. */
CUresult emu_graph_copy(CUgraph *out, CUgraph graph, bool is_inner);
/* Fill `order`. CUDA_ERROR_INVALID_VALUE when edges form a circle; *bad is a node of it. */
CUresult emu_graph_sort(CUgraph graph, CUgraphNode *bad);
/* ... and of the graphs in it. */
CUresult emu_graph_sort_all(CUgraph graph, CUgraphNode *bad);

/* Add a node that takes `command` (NULL for a child graph's) over, also on failure. */
CUresult emu_graph_add(CUgraphNode *out, CUgraph graph, CUgraphNodeType type,
                       struct emu_command *command, const CUgraphNode *before,
                       const CUgraphEdgeData *data, size_t count);
/* CUDA_ERROR_INVALID_VALUE: not two nodes of one graph. */
CUresult emu_graph_connect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data);
void emu_graph_remove_node(CUgraphNode node);

/* The command that such parameters mean; CUDA_ERROR_NOT_SUPPORTED for kinds without one. */
CUresult emu_graph_command(struct emu_command **out, CUgraphNodeParams *params);
/* The parameters of a node, as the driver's struct. */
CUresult emu_graph_describe(CUgraphNodeParams *out, CUgraphNode node);
/* New parameters of the same kind. */
CUresult emu_graph_set(CUgraphNode node, CUgraphNodeParams *params);

/* Handles of the program: 0 or CUDA_ERROR_INVALID_VALUE, after emu_ready(). */
CUresult emu_graph_enter(CUgraph graph);
CUresult emu_graph_enter_node(CUgraphNode node);

/* References of a user object, which goes with its last one. */
void emu_user_object_ref(CUuserObject object, unsigned count);
void emu_user_object_unref(CUuserObject object, unsigned count);

/* Templates of the kinds that nothing else makes. */
CUresult emu_event_prepare(struct emu_command **out, CUevent event, bool is_wait);
CUresult emu_block_prepare(struct emu_command **out, CUDA_MEM_ALLOC_NODE_PARAMS_v2 *params);
CUresult emu_block_free_prepare(struct emu_command **out, CUdeviceptr address);

#endif
