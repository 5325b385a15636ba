/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and their queues, and waiting for all that was sent to them. A queue is waited for as a
 * whole only as far as it can get by itself: work that waits for a signal of the host, which comes
 * later, would never end.
 */
#include "api/vulkan/replay/stream.h"

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "base/array.h"
#include "base/text.h"

static struct vkr_stream *find_stream(struct vkr *r, uint32_t number)
{
    return TSM_ARRAY_EXTEND(r->streams, r->stream_count, (size_t)number + 1) ? &r->streams[number]
                                                                             : NULL;
}

int vkr_stream_note_submit(struct vkr_call *c, VkQueue queue)
{
    struct vkr_stream *s = find_stream(c->r, c->record->stream);

    if (!s)
        return tsm_fail(TSM_E_MEMORY, "no memory for stream %u", c->record->stream);
    c->r->sent_count++;
    s->queue = queue;
    s->device = c->owner ? c->owner->device : NULL;
    s->last_seq = c->record->seq;
    s->last_position = c->record->position;
    s->last_call = vk_name(c->command->name);
    return 0;
}

void vkr_describe_last(const struct vkr *r, char *out, size_t size)
{
    size_t used = 0;

    *out = 0;
    for (uint32_t i = 0; i < r->stream_count && used < size; i++) {
        const struct vkr_stream *s = &r->streams[i];
        if (s->last_call)
            used += tsm_format(out + used, size - used,
                               "%slast on stream %u: record %llu, %s (position %llu)",
                               used ? "; " : "", i, (unsigned long long)s->last_seq, s->last_call,
                               (unsigned long long)s->last_position);
    }
}

int vkr_fail_wait(const struct vkr *r, const char *call, VkResult result)
{
    char last[320];

    vkr_describe_last(r, last, sizeof(last));
    return tsm_fail(TSM_E_DEVICE, "%s gave %s%s%s", call, vkr_result_name(result),
                    *last ? "; " : "", last);
}

/* ---- waiting for all --------------------------------------------------------------------- */

bool vkr_is_gated(const struct vkr *r)
{
    return r->gate_count || vk_timelines_any_stuck(&r->timelines);
}

/* Work of a device may wait for any other of it. */
static bool can_end(const struct vkr *r, const struct vkr_device *device)
{
    bool is_stuck = r->gate_count > 0;

    for (uint32_t i = 0; i < r->stream_count && !is_stuck; i++)
        is_stuck = r->streams[i].device == device &&
                   vk_timelines_is_stuck(&r->timelines, VKR_RAW(r->streams[i].queue), NULL);
    return !is_stuck;
}

void vkr_drop_queues(struct vkr *r, const struct vkr_device *device)
{
    for (uint32_t i = 0; i < r->stream_count; i++)
        if (r->streams[i].device == device) {
            vk_timelines_drop(&r->timelines, VKR_RAW(r->streams[i].queue));
            r->streams[i].device = NULL;
        }
}

bool vkr_wait_wanted(const struct vkr *r, uint32_t number, struct vkr_stream *out)
{
    const struct vkr_stream *s = number < r->stream_count ? &r->streams[number] : NULL;

    if (!s || !s->device || !s->queue || !can_end(r, s->device))
        return false;
    *out = *s;
    return true;
}

int vkr_wait_queue(const struct vkr *r, const struct vkr_stream *s)
{
    VkResult result = s->device->dispatch.f.vkQueueWaitIdle(s->queue);

    return result >= 0 ? 0 : vkr_fail_wait(r, "vkQueueWaitIdle", result);
}

int vkr_wait_all(struct vkr *r)
{
    for (struct vkr_object *o = r->objects.first; o; o = o->next) {
        VkResult result = VK_SUCCESS;
        if (o->type == VK_OBJECT_VkDevice && o->device && can_end(r, o->device))
            result = o->device->dispatch.f.vkDeviceWaitIdle(o->device->dispatch.device);
        if (result < 0)
            return vkr_fail_wait(r, "vkDeviceWaitIdle", result);
    }
    return 0;
}
