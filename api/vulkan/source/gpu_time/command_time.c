/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/source/gpu_time/command_time.h"

#include "api/vulkan/source/gpu_time/clock.h"
#include "api/vulkan/source/lock.h"
#include "base/arena.h"
#include "capture/capture.h"

#include <string.h>

#define AT_ONCE 16u /* commands whose results are read under the lock */

static struct tsm_arena arena;
static struct vk_command_use *free_uses; /* under vk_commands_lock */

void vk_commands_forget(void)
{
    free_uses = NULL;
    vk_timed_buffers_forget();
}

/* ---- while commands are recorded ------------------------------------------------------------- */

static void write_timestamp(const struct vk_timed_command *timed, uint32_t which)
{
    const struct vk_command_block *b = timed->block;

    b->room->device->below.vkCmdWriteTimestamp(timed->commands,
                                               VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                               b->room->queries, b->query + 2 * b->count + which);
}

void vk_command_begins(struct vk_timed_command *timed, VkCommandBuffer commands, uint32_t type,
                       enum vk_timed_bind_point point)
{
    struct vk_timed_buffer *b = tsm_inside() ? vk_timed_buffer_find(commands) : NULL;
    struct vk_recording *r = b ? b->recording : NULL;

    timed->block = NULL;
    if (!r)
        return;
    r->count++;
    if (!r->is_timed || b->in_multiview)
        return;
    timed->block =
        r->last && r->last->count < VK_BLOCK_COMMANDS ? r->last : vk_timed_buffer_block(b);
    if (!timed->block)
        return;
    timed->commands = commands;
    timed->command =
        (struct vk_block_command){point == VK_TIMED_NONE ? 0 : b->objects[point], r->count, type};
    write_timestamp(timed, 0);
}

void vk_command_ends(const struct vk_timed_command *timed)
{
    struct vk_command_block *b = timed->block;

    if (!b)
        return;
    write_timestamp(timed, 1);
    b->commands[b->count++] = timed->command;
}

/* ---- submits -------------------------------------------------------------------------------- */

/* Takes the lock itself. */
static struct vk_recording *recording_of(VkCommandBuffer commands)
{
    const struct vk_timed_buffer *b = vk_timed_buffer_find(commands);

    return b ? b->recording : NULL;
}

uint32_t vk_commands_count(VkCommandBuffer commands)
{
    const struct vk_recording *r = recording_of(commands);

    return r ? r->timed_count : 0;
}

/* Calls `visit` for a recording and all that it executes, where they have queries. */
static void each(struct vk_recording *r, uint32_t base,
                 void (*visit)(void *user, struct vk_recording *r, uint32_t base), void *user)
{
    if (r->blocks)
        visit(user, r, base);
    for (const struct vk_execution *e = r->executed; e; e = e->next)
        each(e->recording, base + e->base, visit, user);
}

static void put_reset(void *user, struct vk_recording *r, uint32_t base)
{
    VkCommandBuffer **out = user;

    *(*out)++ = r->blocks->reset;
}

static void put_copy(void *user, struct vk_recording *r, uint32_t base)
{
    VkCommandBuffer **out = user;

    *(*out)++ = r->blocks->copy;
}

VkCommandBuffer *vk_commands_resets(VkCommandBuffer commands, VkCommandBuffer *out)
{
    if (vk_commands_count(commands))
        each(recording_of(commands), 0, put_reset, &out);
    return out;
}

VkCommandBuffer *vk_commands_copies(VkCommandBuffer commands, VkCommandBuffer *out)
{
    if (vk_commands_count(commands))
        each(recording_of(commands), 0, put_copy, &out);
    return out;
}

struct sending {
    struct vk_command_use **list;
    VkQueue queue;
    uint32_t buffer;
    bool waits;
};

/* Without memory for it nothing is read, and the queries are nobody's until the end. */
static void use(void *user, struct vk_recording *r, uint32_t base)
{
    const struct sending *s = user;
    struct vk_command_use *u = free_uses;

    if (u)
        free_uses = u->next;
    else
        u = tsm_session_keep(&arena, sizeof(*u));
    r->is_torn |= r->under_way && r->queue != s->queue;
    r->queue = s->queue;
    r->sends++;
    r->under_way++;
    r->refs++;
    if (!u)
        return;
    *u = (struct vk_command_use){*s->list, r, r->sends, s->buffer, base};
    *s->list = u;
}

static void lose(void *user, struct vk_recording *r, uint32_t base)
{
    r->sends++;
}

static void look(void *user, struct vk_recording *r, uint32_t base)
{
    struct sending *s = user;

    s->waits |= r->under_way != 0;
}

void vk_commands_use(struct vk_command_use **list, VkQueue queue, VkCommandBuffer commands,
                     uint32_t buffer)
{
    struct sending s = {list, queue, buffer, false};
    struct vk_recording *r = recording_of(commands);

    if (!r || !r->timed_count)
        return;
    vk_lock_take(&vk_commands_lock);
    each(r, 0, use, &s);
    vk_lock_give(&vk_commands_lock);
}

void vk_commands_lose(VkCommandBuffer commands)
{
    struct vk_recording *r = recording_of(commands);

    if (!r || !r->timed_count)
        return;
    vk_lock_take(&vk_commands_lock);
    each(r, 0, lose, NULL);
    vk_lock_give(&vk_commands_lock);
}

bool vk_commands_wait(VkCommandBuffer commands)
{
    struct vk_recording *r = recording_of(commands);
    struct sending s = {0};

    if (!r || !r->timed_count)
        return false;
    vk_lock_take(&vk_commands_lock);
    each(r, 0, look, &s);
    vk_lock_give(&vk_commands_lock);
    return s.waits;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Another thread may send the command buffer again as soon as it is complete: what is read under
 * the lock is of this time, or is not taken. */
static bool read_some(const struct vk_command_use *u, const struct vk_command_block *b,
                      uint32_t first, uint32_t count, struct vk_query_result *out)
{
    bool is_valid;

    vk_lock_take(&vk_commands_lock);
    is_valid = u->recording->sends == u->sends && !u->recording->is_torn;
    if (is_valid)
        memcpy(out, &b->room->results[b->query + 2 * first], 2 * count * sizeof(*out));
    vk_lock_give(&vk_commands_lock);
    return is_valid;
}

static uint64_t record_command(const struct vk_command_batch *batch, const struct vk_command_use *u,
                               const struct vk_block_command *command,
                               const struct vk_query_result results[2])
{
    struct vk_clock_span span;
    struct tsm_gpu_time time = {.stream = batch->stream,
                                .part = batch->part,
                                .position = batch->position,
                                .buffer = u->buffer,
                                .command = u->base + command->number,
                                .of_type = command->type,
                                .object = command->object};

    if (!results[0].available || !results[1].available)
        return 0;
    span = vk_clock_span(batch->device, results[0].ticks, results[1].ticks, batch->mask);
    time.start_ns = span.start_ns;
    time.duration_ns = span.duration_ns;
    time.error_ns = span.error_ns;
    time.flags = span.is_calibrated ? SBT_GPU_TIME_CALIBRATED : 0;
    tsm_gpu_time_write(&time);
    return span.duration_ns;
}

/* Adds to the sum. Returns false where the rest is lost. */
static bool record_block(const struct vk_command_batch *batch, const struct vk_command_use *u,
                         const struct vk_command_block *b, uint64_t *sum_ns)
{
    struct vk_query_result results[2 * AT_ONCE];

    for (uint32_t first = 0; first < b->count; first += AT_ONCE) {
        const uint32_t left = b->count - first, count = left < AT_ONCE ? left : AT_ONCE;
        if (!read_some(u, b, first, count, results))
            return false;
        for (uint32_t i = 0; i < count; i++)
            *sum_ns += record_command(batch, u, &b->commands[first + i], &results[2 * (size_t)i]);
    }
    return true;
}

static uint64_t record_use(const struct vk_command_batch *batch, const struct vk_command_use *u)
{
    const struct vk_command_block *b = u->recording->blocks;
    uint64_t sum_ns = 0;

    while (b && record_block(batch, u, b, &sum_ns))
        b = b->next;
    return sum_ns;
}

uint64_t vk_commands_record(const struct vk_command_use *list, const struct vk_command_batch *batch)
{
    uint64_t sum_ns = 0;

    for (; list; list = list->next)
        sum_ns += record_use(batch, list);
    return sum_ns;
}

void vk_commands_done(struct vk_command_use *list)
{
    struct vk_command_use *next;

    if (!list)
        return;
    vk_lock_take(&vk_commands_lock);
    for (; list; list = next) {
        struct vk_recording *r = list->recording;
        next = list->next;
        r->under_way--;
        r->is_torn &= r->under_way != 0;
        vk_recording_drop(r);
        list->next = free_uses;
        free_uses = list;
    }
    vk_lock_give(&vk_commands_lock);
}
