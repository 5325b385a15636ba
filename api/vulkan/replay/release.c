/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a recording in which work still waits for the host: a driver cannot destroy a device
 * that has such work.
 */
#include "api/vulkan/replay/release.h"

#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/replay/stream.h"
#include "base/log.h"

static const struct vkr_object *find_semaphore(const struct vkr *r, uint64_t number)
{
    for (const struct vkr_object *o = r->objects.first; o; o = o->next)
        if (o->type == VK_OBJECT_VkSemaphore && (uint64_t)(uintptr_t)o->user == number)
            return o;
    return NULL;
}

#define PATIENCE_NS 5000000000u

/* A value may only grow: waits for the one that commands that can go on are about to signal. */
static void await_value(const struct vk_device_dispatch *d, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &semaphore,
                                .pValues = &value};
    PFN_vkWaitSemaphores wait =
        d->f.vkWaitSemaphores ? d->f.vkWaitSemaphores : d->f.vkWaitSemaphoresKHR;

    if (wait)
        wait(d->device, &info, PATIENCE_NS);
}

static void signal_timeline(struct vkr *r, uint64_t number, uint64_t value)
{
    const struct vkr_object *o = find_semaphore(r, number);
    const struct vk_device_dispatch *d = o && o->device ? &o->device->dispatch : NULL;
    VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .value = value};
    PFN_vkSignalSemaphore call = NULL;

    if (d)
        call = d->f.vkSignalSemaphore ? d->f.vkSignalSemaphore : d->f.vkSignalSemaphoreKHR;
    if (!call) {
        vk_timelines_forget(&r->timelines, number);
        return;
    }
    info.semaphore = (VkSemaphore)(uintptr_t)o->raw;
    await_value(d, info.semaphore, vk_timelines_value(&r->timelines, number));
    call(d->device, &info);
    vk_timelines_host(&r->timelines, number, value);
}

static void set_event(struct vkr *r, struct vkr_object *o)
{
    const struct vkr_fact_flag *fact = o->fact;

    if (o->type != VK_OBJECT_VkEvent || !o->device || !fact || !fact->is_gate)
        return;
    o->device->dispatch.f.vkSetEvent(o->device->dispatch.device, (VkEvent)(uintptr_t)o->raw);
    vkr_state_tracker_event(r, o, true);
}

int vkr_unblock_waiters(struct vkr *r)
{
    uint64_t semaphore, value;

    if (!vkr_is_gated(r))
        return 0;
    tsm_log(TSM_LOG_WARN,
            "the recording ends while commands wait for the program: they wait no more");
    for (struct vkr_object *o = r->objects.first; o; o = o->next)
        set_event(r, o);
    while (vk_timelines_first_stuck(&r->timelines, &semaphore, &value))
        signal_timeline(r, semaphore, value);
    return 1;
}
