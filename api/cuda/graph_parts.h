/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of an executable graph that concern the program at a launch: copies from and to its memory,
 * its functions, events, values in memory. Everything else of a graph concerns the GPU alone, but
 * for memory that both reach.
 *
 * It is found by asking the driver about the graph's nodes, at the moment when the executable graph
 * is made of it or updated by it: so it does not matter how the nodes came there (by hand, captured
 * from streams, cloned). The traced program's side and the replayer's do the same with their
 * graphs.
 *
 * Runs inside the traced program, too: memory comes from mmap. Threads: as with the driver, who
 * uses an executable graph keeps others from doing so.
 */
#ifndef API_CUDA_GRAPH_PARTS_H
#define API_CUDA_GRAPH_PARTS_H

#include "api/cuda/cuda_real.h"

#include <stdbool.h>
#include <stddef.h>

#define CUDA_GRAPH_WORDS 24u

/* Addresses among the arguments of a kernel; one that has more of them is several parts. */
struct cuda_graph_words {
    uint32_t count;
    uint64_t list[CUDA_GRAPH_WORDS];
};

struct cuda_graph_part {
    CUgraphNodeType
        type;        /* MEMCPY, HOST, EVENT_RECORD, WAIT_EVENT or BATCH_MEM_OP; KERNEL, MEMSET */
    CUgraphNode top; /* node of the graph itself, not of graphs in it: what updates name */
    bool is_disabled;
    union {
        CUDA_MEMCPY3D copy; /* one side at least may be the program's */
        CUDA_HOST_NODE_PARAMS host;
        CUevent event;
        CUstreamBatchMemOpParams value; /* each of a node's is a part */
        struct cuda_graph_words words;
        CUDA_MEMSET_NODE_PARAMS fill;
    };
};

struct cuda_graph_parts;

/* Gives each of a kernel's arguments that may be an address to cuda_graph_parts_word(). */
typedef void cuda_graph_find_words(struct cuda_graph_parts *parts, struct cuda_graph_part *part,
                                   CUfunction function, void **params, void **extra);

/* Returns the graphs of a conditional node; NULL: they are not known. */
typedef const CUgraph *cuda_graph_find_bodies(CUgraphNode node, size_t *count);

/* All zero is empty. */
struct cuda_graph_parts {
    struct cuda_graph_part *list;
    size_t count, capacity;
    size_t next;       /* the part after the one that was changed last */
    CUgraphNode *tops; /* the nodes of the graph that it was made of */
    size_t top_count;
    bool is_partial; /* something could not be asked, or there was no memory */
    /* Set: what the GPU alone writes is of interest, too, which the program may read in place.
     * Kernels, memsets and copies on the device are parts then. */
    cuda_graph_find_words *find_words;
    /* ... and what it may write in the graphs of conditional nodes: each such node, of whatever
     * kind, is a part of the kind KERNEL. */
    cuda_graph_find_bodies *find_bodies;
};

void cuda_graph_parts_finish(struct cuda_graph_parts *parts);

/* In place of what was there: all that `graph` has. The second time this is an update: nodes are
 * named by those of the first graph, which stand at the same places. */
void cuda_graph_parts_take(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                           CUgraph graph);
/* `node` has new parameters; of a node that is a graph: params->graph. */
void cuda_graph_parts_set(struct cuda_graph_parts *parts, const struct cuda_real *driver,
                          CUgraphNode node, const CUgraphNodeParams *params);
/* The kernel that `part` stands for has this word among its arguments. */
void cuda_graph_parts_word(struct cuda_graph_parts *parts, struct cuda_graph_part *part,
                           uint64_t word);
void cuda_graph_parts_enable(struct cuda_graph_parts *parts, CUgraphNode node, bool enabled);

/* All nodes of a graph, in the driver's order. NULL: none, or they could not be had (*count tells).
 * To be given back with cuda_graph_nodes_free(). */
CUgraphNode *cuda_graph_nodes(const struct cuda_real *driver, CUgraph graph, size_t *count);
void cuda_graph_nodes_free(CUgraphNode *nodes, size_t count);

/* Is this side of a copy memory of the program? */
bool cuda_copy_is_host(const struct cuda_real *driver, CUmemorytype type, CUdeviceptr address);

#endif
