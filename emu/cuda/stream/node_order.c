/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/stream/node_order.h"

#include "emu/cuda/stream/schedule.h"

static _Thread_local struct emu_node_order *current;

void emu_node_order_use(struct emu_node_order *order)
{
    current = order;
}

bool emu_node_order_join(struct emu_command *command)
{
    bool ok = true;

    if (!current)
        return true;
    command->is_node = true;
    if (current->last)
        ok = emu_after_locked(command, current->last);
    for (size_t i = 0; i < current->count && !current->last && ok; i++)
        ok = emu_after_locked(command, current->before[i]);
    if (current->last)
        emu_unref_locked(current->last);
    command->references++;
    current->last = command;
    return ok;
}

struct emu_command *emu_node_order_next(const struct emu_command *command)
{
    return command->is_node && command->next && command->next->is_node ? command->next : NULL;
}

void emu_node_order_first(CUstream stream, struct emu_command *command)
{
    struct emu_command *before = stream->head;

    if (before == command)
        return;
    while (before->next != command)
        before = before->next;
    before->next = command->next;
    if (stream->tail == command)
        stream->tail = before;
    command->next = stream->head;
    stream->head = command;
}
