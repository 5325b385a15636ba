/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/timing/command_times.h"

#include <stdlib.h>

uint32_t vkr_command_times_count(const struct vkr *r, const struct vk_batch *batch)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < batch->buffer_count; i++) {
        const struct vkr_recording *recording = vkr_recording_of(r, vk_batch_buffer(batch, i));

        count += recording ? recording->timed_count : 0;
    }
    return count;
}

/* Calls `visit` for what was recorded into a command buffer and all that it executes, where they
 * have queries. */
static void each(struct vkr_recording *recording, uint32_t base,
                 void (*visit)(void *user, struct vkr_recording *recording, uint32_t base),
                 void *user)
{
    if (!recording || !recording->timed_count)
        return;
    if (recording->blocks)
        visit(user, recording, base);
    for (const struct vkr_execution *e = recording->executed; e; e = e->next)
        each(e->recording, base + e->base, visit, user);
}

static void find_unread(void *user, struct vkr_recording *recording, uint32_t base)
{
    *(bool *)user |= recording->under_way != 0;
}

bool vkr_command_times_wait(const struct vkr *r, const struct vk_batch *batch)
{
    bool waits = false;

    for (uint32_t i = 0; i < batch->buffer_count && !waits; i++)
        each(vkr_recording_of(r, vk_batch_buffer(batch, i)), 0, find_unread, &waits);
    return waits;
}

static void put_reset(void *user, struct vkr_recording *recording, uint32_t base)
{
    VkCommandBuffer **out = user;

    *(*out)++ = recording->reset;
}

static void put_copy(void *user, struct vkr_recording *recording, uint32_t base)
{
    VkCommandBuffer **out = user;

    if (recording->room)
        *(*out)++ = recording->room->copy;
}

VkCommandBuffer *vkr_command_resets(const struct vkr *r, VkCommandBuffer commands,
                                    VkCommandBuffer *out)
{
    each(vkr_recording_of(r, commands), 0, put_reset, &out);
    return out;
}

VkCommandBuffer *vkr_command_copies(const struct vkr *r, VkCommandBuffer commands,
                                    VkCommandBuffer *out)
{
    each(vkr_recording_of(r, commands), 0, put_copy, &out);
    return out;
}

struct adding {
    struct vkr_command_use **list;
    uint32_t buffer;
};

static void add_use(void *user, struct vkr_recording *recording, uint32_t base)
{
    const struct adding *a = user;
    struct vkr_command_use *use = recording->room ? malloc(sizeof(*use)) : NULL;

    recording->sends++;
    if (!use)
        return;
    *use = (struct vkr_command_use){*a->list, recording, recording->sends, a->buffer, base};
    recording->refs++;
    recording->under_way++;
    for (uint32_t i = 0; i < recording->room->capacity; i++)
        recording->room->results[i].available = 0;
    *a->list = use;
}

void vkr_command_uses_add(const struct vkr *r, struct vkr_command_use **list,
                          VkCommandBuffer commands, uint32_t buffer)
{
    struct adding adding = {list, buffer};

    each(vkr_recording_of(r, commands), 0, add_use, &adding);
}

void vkr_command_uses_each(const struct vkr_command_use *list,
                           void (*visit)(void *user, const struct vkr_command_use *use,
                                         const struct vkr_timed_command *command,
                                         const struct vkr_time_result results[2]),
                           void *user)
{
    for (const struct vkr_command_use *use = list; use; use = use->next) {
        const struct vkr_time_result *results = use->recording->room->results;

        if (use->recording->sends != use->sends)
            continue;
        for (const struct vkr_query_block *b = use->recording->blocks; b; b = b->next)
            for (uint32_t i = 0; i < b->count; i++, results += 2)
                if (results[0].available && results[1].available)
                    visit(user, use, &b->commands[i], results);
    }
}

void vkr_command_uses_drop(struct vkr_command_use *list)
{
    struct vkr_command_use *next;

    for (; list; list = next) {
        next = list->next;
        list->recording->under_way--;
        vkr_recording_drop(list->recording);
        free(list);
    }
}
