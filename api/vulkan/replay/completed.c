/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that the program knew to be complete without a call (a COMPLETE record): it had found a
 * sync file ready. A fence of ours behind each of them is waited for there.
 */
#include "api/vulkan/replay/replay.h"

#include <stdlib.h>

#include "base/array.h"

struct vkr_completed {
    const struct vkr_device *device;
    VkFence fence; /* none: the command was not sent, or it was waited for */
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

/* NULL: no record asks for it. */
static struct vkr_completed *find(const struct vkr *r, uint64_t key)
{
    const uint64_t *place = tsm_map_find(&r->reached_places, key);

    return place && *place ? &r->reached[*place - 1] : NULL;
}

int vkr_completed_plan(struct vkr *r, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    uint64_t *place;
    bool added;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_COMPLETE) || !schema)
        return 0;
    place = tsm_map_insert(&r->reached_places, key_told(record, schema), &added);
    if (place && !added)
        return 0;
    if (!place || !TSM_ARRAY_RESIZE(r->reached, r->reached_count + 1))
        return tsm_fail(TSM_E_MEMORY, "no memory for what is waited for");
    r->reached[r->reached_count++] = (struct vkr_completed){NULL, VK_NULL_HANDLE};
    *place = r->reached_count;
    return 0;
}

static void drop(struct vkr_completed *p)
{
    if (p->fence)
        p->device->dispatch.f.vkDestroyFence(p->device->dispatch.device, p->fence, NULL);
    p->fence = VK_NULL_HANDLE;
}

int vkr_completed_sent(struct vkr_call *c, VkQueue queue)
{
    const struct vkr_device *device = c->owner ? c->owner->device : NULL;
    struct vkr_completed *p = find(c->r, key_of(c->record->stream, c->record->position));
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result;

    if (!p || !device)
        return 0;
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

/* The lock is held by nobody: others may send meanwhile. */
int vkr_completed_await(struct vkr *r, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    struct vkr_completed *p = find(r, key_told(record, schema));
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
