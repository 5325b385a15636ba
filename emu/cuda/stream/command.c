/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands: what streams hold, and graphs as templates.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/stream/schedule.h"

#include "base/array.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/virtual_time.h"

static CUresult do_nothing(struct emu_command *command)
{
    (void)command;
    return CUDA_SUCCESS;
}

const struct emu_command_type emu_command_mark = {.run = do_nothing,
                                                  .accesses = emu_accesses_none,
                                                  .node = CU_GRAPH_NODE_TYPE_EMPTY + 1,
                                                  .runs_anywhere = true};

struct emu_command *emu_command_create(const struct emu_command_type *type, size_t payload_size)
{
    struct emu_command *command = calloc(1, sizeof(*command) + payload_size);

    if (command) {
        command->type = type;
        command->references = 1;
        command->payload_size = payload_size;
    }
    return command;
}

struct emu_command *emu_command_clone(const struct emu_command *command)
{
    struct emu_command *copy = emu_command_create(command->type, command->payload_size);

    if (!copy)
        return NULL;
    memcpy(copy->payload, command->payload, command->payload_size);
    if (copy->type->cloned)
        copy->type->cloned(copy);
    return copy;
}

void emu_command_finish(struct emu_command *command)
{
    if (!command->is_finished && command->type->finish)
        command->type->finish(command);
    command->is_finished = true;
}

void emu_forget_after(struct emu_command *command)
{
    for (size_t i = 0; i < command->after_count; i++)
        emu_unref_locked(command->after[i]);
    free(command->after);
    command->after = NULL;
    command->after_count = 0;
    command->after_capacity = 0;
    free(command->awaited);
    command->awaited = NULL;
    command->awaited_count = 0;
    command->awaited_capacity = 0;
}

/* A command that was never submitted may still own a payload; finish() of
 * such a one must not come back here, and none does. */
void emu_unref_locked(struct emu_command *command)
{
    if (--command->references)
        return;
    emu_command_finish(command);
    emu_forget_after(command);
    free(command);
}

void emu_command_ref(struct emu_command *command)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    command->references++;
    pthread_mutex_unlock(&emu_scheduler.lock);
}

void emu_command_unref(struct emu_command *command)
{
    if (!command)
        return;
    pthread_mutex_lock(&emu_scheduler.lock);
    emu_unref_locked(command);
    pthread_mutex_unlock(&emu_scheduler.lock);
}

bool emu_after_locked(struct emu_command *command, struct emu_command *earlier)
{
    if (!earlier)
        return true;
    if (earlier->is_done) {
        if (command->after_ns < earlier->done_ns)
            command->after_ns = earlier->done_ns;
        return true;
    }
    if (!TSM_ARRAY_RESERVE(command->after, command->after_capacity, command->after_count + 1))
        return false;
    earlier->references++;
    command->after[command->after_count++] = earlier;
    return true;
}

bool emu_after_stream_locked(struct emu_command *command, CUstream stream)
{
    if (command->after_ns < stream->end_ns)
        command->after_ns = stream->end_ns;
    return emu_after_locked(command, stream->tail);
}

static bool note_awaited(struct emu_command *command, const struct emu_command *earlier)
{
    return !emu_settings.is_virtual || !earlier ||
           TSM_ARRAY_PUSH(command->awaited, command->awaited_count, command->awaited_capacity,
                          earlier->number);
}

bool emu_command_after(struct emu_command *command, struct emu_command *earlier)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    bool ok = emu_after_locked(command, earlier) && note_awaited(command, earlier);
    pthread_mutex_unlock(&emu_scheduler.lock);
    return ok;
}

bool emu_command_after_context(struct emu_command *command, CUcontext context)
{
    bool ok = true;

    pthread_mutex_lock(&emu_scheduler.lock);
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        if (s->context == context)
            ok = emu_after_stream_locked(command, s) && ok;
    if (command->after_ns < context->freed_ns)
        command->after_ns = context->freed_ns;
    pthread_mutex_unlock(&emu_scheduler.lock);
    return ok;
}

bool emu_command_is_done(struct emu_command *command)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    bool is_done = command->is_done;
    pthread_mutex_unlock(&emu_scheduler.lock);
    return is_done;
}

bool emu_command_is_past(struct emu_command *command)
{
    return emu_command_is_done(command) &&
           (!emu_settings.is_virtual || command->done_ns <= emu_clock());
}
