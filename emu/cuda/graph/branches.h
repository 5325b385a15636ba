/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual time: a graph's launch whose nodes wait for their parents, not for one another.
 */
#ifndef EMU_BRANCHES_H
#define EMU_BRANCHES_H

#include "emu/cuda/graph/graph.h"

/* Sends the nodes; what has no parents waits for `start`. send: sends one node that is no child
 * graph. */
CUresult emu_branches_send(CUgraph graph, CUstream stream, struct emu_command *start,
                           CUresult (*send)(CUgraphNode node, CUstream stream));

#endif
