/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences of ours after work that was sent: they are signalled when all before them is done. A
 * queue is never waited for as a whole: it may wait for what the program does only later
 * (vkSetEvent, a semaphore's signal by the host or another queue), and then that would never come
 * back.
 */
#include "api/vulkan/source/completion/pending.h"

#include "api/vulkan/source/memory/memory.h"

#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/completion/timeline.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/source.h"
#include "base/clock.h"
#include "api/vulkan/source/lock.h"

#define PENDING_MAX  64u
#define LOOK_NS                                                                                    \
    ((uint64_t)5 * 1000000000) /* results of work that takes longer are not recorded               \
                                */
#define LOOK_NS_NEXT ((uint64_t)100 * 1000000)  /* ... on a device that had such work */

/* Submits that were not complete in time. */
static struct pending {
    const struct vk_device_state *device;
    VkFence fence;
    struct tsm_stream *stream; /* the command that it is after; NULL: nobody asks for */
    uint64_t position;
} pending[PENDING_MAX];
static uint32_t pending_count;
static struct tsm_lock lock;

void vk_pending_forget(void)
{
    pending_count = 0;
    lock = (struct tsm_lock){0};
}

static void drop(const struct pending *p)
{
    p->device->below.vkDestroyFence(p->device->dispatch.device, p->fence, NULL);
}

/* The lock is held. */
static void end_pending(uint32_t i)
{
    drop(&pending[i]);
    pending[i] = pending[--pending_count];
}

void vk_pending_device_destroyed(const struct vk_device_state *device)
{
    vk_lock_take(&lock);
    for (uint32_t i = pending_count; i > 0; i--)
        if (pending[i - 1].device == device)
            end_pending(i - 1);
    vk_lock_give(&lock);
}

static bool send_fence(struct pending *out, VkQueue queue)
{
    const struct vk_device_state *d = vk_state_of(queue);
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    *out = (struct pending){.device = d};
    if (!d || d->below.vkCreateFence(d->dispatch.device, &info, NULL, &out->fence) < 0)
        return false;
    if (d->below.vkQueueSubmit(queue, 0, NULL, out->fence) >= 0)
        return true;
    drop(out);
    return false;
}

static bool wait_fence(const struct pending *p, uint64_t until_ns)
{
    uint64_t now = tsm_monotonic_ns();

    return p->device->below.vkWaitForFences(p->device->dispatch.device, 1, &p->fence, VK_TRUE,
                                            until_ns > now ? until_ns - now : 0) == VK_SUCCESS;
}

static bool keep(const struct pending *p)
{
    bool fits;

    vk_lock_take(&lock);
    fits = pending_count < PENDING_MAX;
    if (fits)
        pending[pending_count++] = *p;
    vk_lock_give(&lock);
    return fits;
}

/* ---- checkpoints: nobody else is here ------------------------------------------------------- */

bool vk_pending_send(VkQueue queue)
{
    struct pending p;

    return pending_count < PENDING_MAX && send_fence(&p, queue) && keep(&p);
}

bool vk_pending_wait(uint64_t until_ns)
{
    while (pending_count > 0) {
        if (!wait_fence(&pending[pending_count - 1], until_ns))
            return false;
        end_pending(pending_count - 1);
    }
    return true;
}

/* ---- each submit ---------------------------------------------------------------------------- */

static bool has_room(void)
{
    bool fits;

    vk_lock_take(&lock);
    fits = pending_count < PENDING_MAX;
    vk_lock_give(&lock);
    return fits;
}

/* The lock is held. Ends the wait for work that is complete after all. */
static void came(uint32_t i)
{
    const struct pending p = pending[i];

    end_pending(i);
    vk_memory_pull();
    if (p.stream)
        vk_completion_complete(p.stream, p.position);
}

/* Tests whether work on the device is still late; work that has come to its end is removed. */
static bool is_late(const struct vk_device_state *device)
{
    bool found = false;

    vk_lock_take(&lock);
    for (uint32_t i = pending_count; i > 0; i--) {
        if (pending[i - 1].device != device)
            continue;
        if (wait_fence(&pending[i - 1], 0))
            came(i - 1);
        else
            found = true;
    }
    vk_lock_give(&lock);
    return found;
}

static uint64_t look_ns(const struct vk_device_state *device)
{
    return __atomic_load_n(&device->had_long_work, __ATOMIC_RELAXED) ? LOOK_NS_NEXT : LOOK_NS;
}

bool vk_pending_look(VkQueue queue, struct tsm_stream *stream, uint64_t position)
{
    struct vk_device_state *device = vk_state_of(queue);
    bool late = is_late(device), is_stuck;
    struct pending p;

    if (!has_room() || !send_fence(&p, queue))
        return false;
    p.stream = stream;
    p.position = position;
    is_stuck = late || vk_timeline_is_stuck(queue);
    if (wait_fence(&p, is_stuck ? 0 : tsm_monotonic_ns() + look_ns(device))) {
        drop(&p);
        return true;
    }
    if (!is_stuck && !__atomic_exchange_n(&device->had_long_work, true, __ATOMIC_RELAXED))
        tsm_session_unmodelled(
            "TS_CHECKSUM: work that was not done within 5 seconds is not looked at by "
            "itself",
            false);
    keep(&p);
    return false;
}
