/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditional nodes: graphs in a node that run or not, or again and again, as a value says that
 * kernels set (cudaGraphSetConditional). The value belongs to its handle, which is a small number
 * with a mark, given in the order of the calls. When the node's turn comes its graphs run on the
 * thread of the stream, node by node.
 */
#ifndef EMU_CONDITIONAL_H
#define EMU_CONDITIONAL_H

#include <stdbool.h>

#include "emu/cuda/core/abi.h"

/* State of a conditional node; NULL in others. */
struct emu_conditional {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    unsigned body_count;
    CUgraph bodies[]; /* owned; the program fills them */
};

/* Makes the graphs, and says them in *params. */
CUresult emu_conditional_create(struct emu_conditional **out, CUDA_CONDITIONAL_NODE_PARAMS *params);
CUresult emu_conditional_copy(struct emu_conditional **out, const struct emu_conditional *from);
void emu_conditional_destroy(struct emu_conditional *conditional); /* NULL: nothing */

/* CUDA_ERROR_NOT_SUPPORTED: there are nodes in it that conditional graphs cannot have. The graphs
 * have their order. */
CUresult emu_conditional_check(const struct emu_conditional *conditional);

/* A command with a copy of all. */
CUresult emu_conditional_send(const struct emu_conditional *conditional, CUstream stream);
/* The values of those in the graph that begin each launch with their default get it, in the
 * stream's order. */
CUresult emu_conditional_send_defaults(CUgraph graph, CUstream stream);

/* By a kernel. False: no such handle. */
bool emu_conditional_set(uint64_t handle, uint32_t value);

#endif
