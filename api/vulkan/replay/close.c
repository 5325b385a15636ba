/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a replay: destroys what the trace left.
 */
#include "api/vulkan/replay/device.h"

#include "api/vulkan/replay/inspect/present_window.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"

static void close_instance(struct vkr *r, struct vkr_instance *instance)
{
    vkr_present_window_instance_destroyed(r, instance);
    vkr_instance_close(instance);
}

static void close_object(struct vkr *r, struct vkr_object *o)
{
    if (o->type == VK_OBJECT_VkDevice)
        vkr_device_close(r, o->device);
    else if (o->type == VK_OBJECT_VkInstance)
        close_instance(r, o->instance);
    else
        vkr_object_destroy(r, o);
    vkr_object_remove(r, o);
}

void vkr_close_all(struct vkr *r)
{
    for (struct vkr_object *o = r->objects.first; o; o = o->next)
        if (o->type == VK_OBJECT_VkDevice && o->device)
            o->device->dispatch.f.vkDeviceWaitIdle(o->device->dispatch.device);
    while (r->objects.last)
        close_object(r, r->objects.last);
}
