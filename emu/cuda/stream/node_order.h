/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual time: the nodes of a graph's launch stand in one stream, between two marks, but each
 * waits for its parents alone, so that branches overlap. Whoever picks commands may take any of
 * them that is ready.
 */
#ifndef EMU_NODE_ORDER_H
#define EMU_NODE_ORDER_H

#include "emu/cuda/stream/stream.h"

/* One node, which may be several commands, one after the other. */
struct emu_node_order {
    struct emu_command *const *before; /* commands that it waits for */
    size_t count;
    struct emu_command *last; /* that was sent for it so far, NULL: none; the caller's reference */
};

/* The calling thread sends this node from now on; NULL: no node. */
void emu_node_order_use(struct emu_node_order *order);

/* ---- under the scheduler's lock ---- */

/* The command that is being sent belongs to the thread's node, if there is one. False: out of
 * memory. */
bool emu_node_order_join(struct emu_command *command);

/* Returns the command of the same stream that may run before this one and those in front of it are
 * done; NULL: there is none. */
struct emu_command *emu_node_order_next(const struct emu_command *command);

/* Makes such a command its stream's first one. */
void emu_node_order_first(CUstream stream, struct emu_command *command);

#endif
