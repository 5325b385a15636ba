/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for commands that the program knew to be complete without a call (a COMPLETE record): it
 * had found a sync file ready. Each of them is followed by a fence of ours.
 */
#include "api/vulkan/replay/completed.h"

#include <stdlib.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/submit.h"
#include "base/array.h"

struct vkr_completed {
    const struct vkr_device *device;
    VkFence fence;  /* none: the command was not sent, or it was waited for */
    uint32_t parts; /* batches of the command that it is behind; 0: all */
    size_t next;    /* place + 1 of another one of the same command; 0: none */
};

static uint64_t key_of(uint64_t stream, uint64_t position)
{
    return stream << 40 ^ position;
}

static uint64_t key_told(const struct sbt_record *record, const struct sbt_schema *schema)
{
    return key_of(sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE),
                  sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0));
}

static uint32_t parts_told(const struct sbt_record *record)
{
    uint64_t parts =
        record->slot_count > SBT_COMPLETE_PARTS ? record->slots[SBT_COMPLETE_PARTS] : 0;

    return parts < UINT32_MAX ? (uint32_t)parts : 0;
}

/* Returns the first that a record asks for of the command, or NULL. */
static struct vkr_completed *first_of(const struct vkr *r, uint64_t key)
{
    const uint64_t *place = tsm_map_find(&r->reached_places, key);

    return place && *place ? &r->reached[*place - 1] : NULL;
}

static struct vkr_completed *next_of(const struct vkr *r, const struct vkr_completed *p)
{
    return p->next ? &r->reached[p->next - 1] : NULL;
}

static struct vkr_completed *find(const struct vkr *r, uint64_t key, uint32_t parts)
{
    struct vkr_completed *p = first_of(r, key);

    while (p && p->parts != parts)
        p = next_of(r, p);
    return p;
}

int vkr_completed_plan(struct vkr *r, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    uint64_t *place;
    bool added;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_COMPLETE) || !schema)
        return 0;
    if (find(r, key_told(record, schema), parts_told(record)))
        return 0;
    place = tsm_map_insert(&r->reached_places, key_told(record, schema), &added);
    if (!place || !TSM_ARRAY_RESIZE(r->reached, r->reached_count + 1))
        return tsm_fail(TSM_E_MEMORY, "no memory for what is waited for");
    r->reached[r->reached_count++] =
        (struct vkr_completed){.parts = parts_told(record), .next = added ? 0 : *place};
    *place = r->reached_count;
    return 0;
}

static void drop(struct vkr_completed *p)
{
    if (p->fence)
        p->device->dispatch.f.vkDestroyFence(p->device->dispatch.device, p->fence, NULL);
    p->fence = VK_NULL_HANDLE;
}

/* ---- sending ------------------------------------------------------------------------------- */

static int send_fence(struct vkr_completed *p, const struct vkr_device *device, VkQueue queue)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result;

    drop(p); /* of the loop before, which is complete */
    p->device = device;
    result = device->dispatch.f.vkCreateFence(device->dispatch.device, &info, NULL, &p->fence);
    if (result >= 0)
        result = device->dispatch.f.vkQueueSubmit(queue, 0, NULL, p->fence);
    else
        p->fence = VK_NULL_HANDLE;
    return result >= 0 ? 0
                       : vkr_fail("vkQueueSubmit, behind a command that is waited for,", result);
}

/* Returns the one of the command that is behind the fewest batches, but more than `after`. */
static struct vkr_completed *part_after(const struct vkr *r, uint64_t key, uint32_t after)
{
    struct vkr_completed *best = NULL;

    for (struct vkr_completed *p = first_of(r, key); p; p = next_of(r, p))
        if (p->parts > after && (!best || p->parts < best->parts))
            best = p;
    return best;
}

/* Sends the batches [from, to) alone, without the program's fence. */
static int send_batches(struct vkr_call *c, const struct vk_submit *submit, uint32_t from,
                        uint32_t to)
{
    const struct vk_submit part = vk_submit_part(submit, from, to, VK_NULL_HANDLE);
    int error;

    vk_submit_put(&part, c->args);
    error = vkr_call_driver(c);
    vk_submit_put(submit, c->args);
    return error;
}

int vkr_completed_send_parts(struct vkr_call *c, uint32_t *sent)
{
    const struct vkr_device *device = c->owner ? c->owner->device : NULL;
    uint64_t key = key_of(c->record->stream, c->record->position);
    struct vk_submit submit, rest;
    struct vkr_completed *p;
    uint32_t done = 0;
    int error = 0;

    *sent = 0;
    if (!device || !vk_submit_of(&submit, c->record->type, c->args))
        return 0;
    while (!error && (p = part_after(c->r, key, done)) && p->parts < submit.count) {
        error = send_batches(c, &submit, done, p->parts);
        if (!error)
            error = send_fence(p, device, submit.queue);
        done = p->parts;
    }
    *sent = done;
    rest = vk_submit_part(&submit, done, submit.count, submit.fence);
    vk_submit_put(&rest, c->args);
    return error;
}

int vkr_completed_sent(struct vkr_call *c, VkQueue queue, uint32_t sent)
{
    const struct vkr_device *device = c->owner ? c->owner->device : NULL;
    struct vkr_completed *p = first_of(c->r, key_of(c->record->stream, c->record->position));
    int error = 0;

    for (; p && device && !error; p = next_of(c->r, p))
        if (!p->parts || p->parts > sent)
            error = send_fence(p, device, queue);
    return error;
}

/* The lock is held by nobody: others may send meanwhile. */
int vkr_completed_await(struct vkr *r, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    struct vkr_completed *p = find(r, key_told(record, schema), parts_told(record));
    VkResult result;

    if (!p || !p->fence)
        return 0;
    result = p->device->dispatch.f.vkWaitForFences(p->device->dispatch.device, 1, &p->fence,
                                                   VK_TRUE, UINT64_MAX);
    if (result >= 0)
        drop(p);
    return result >= 0 ? 0 : vkr_fail("vkWaitForFences", result);
}

void vkr_completed_drop(struct vkr *r, const struct vkr_device *device)
{
    for (size_t i = 0; i < r->reached_count; i++)
        if (r->reached[i].device == device)
            drop(&r->reached[i]);
}

void vkr_completed_finish(struct vkr *r)
{
    free(r->reached);
    tsm_map_finish(&r->reached_places);
}
