/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, semaphores and fences that went through file descriptors. What the trace gave away and
 * took in again is shared here, too, through descriptors of ours. What came from outside is memory
 * of our own, whose content is in the trace, and semaphores and fences for which we do what the
 * others did: signal what a submit waits for, wait for what it signals again.
 */
#include "api/vulkan/replay/share.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/semaphore.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/tables/chain.h"
#include "base/array.h"
#include "base/text.h"

/* ---- what was given away ----------------------------------------------------------------- */

/* Descriptors of different types do not share numbers while they are open; their rules differ. */
static uint64_t key_of(uint32_t type, uint64_t fd)
{
    return (uint64_t)type << 32 | (uint32_t)fd;
}

static uint64_t numbered(const struct tsm_map *map, uint32_t type, uint64_t fd)
{
    return tsm_map_get(map, key_of(type, fd), 0);
}

static int put(struct tsm_map *map, uint64_t key, uint64_t value)
{
    return tsm_map_set(map, key, value) ? 0
                                        : tsm_fail(TSM_E_MEMORY, "no memory for shared objects");
}

/* A number that is given out again was closed by the program. */
static struct vkr_given *add_given(struct vkr_share *s, uint32_t type, uint64_t fd)
{
    uint64_t old = numbered(&s->numbers, type, fd);

    if (old) {
        if (s->list[old - 1].fd >= 0)
            close(s->list[old - 1].fd);
        return &s->list[old - 1];
    }
    if (!TSM_ARRAY_RESIZE(s->list, s->count + 1) ||
        put(&s->numbers, key_of(type, fd), s->count + 1))
        return NULL;
    s->list[s->count] = (struct vkr_given){.fd = -1};
    return &s->list[s->count++];
}

static int give(struct vkr_call *c, uint32_t type, uint64_t id, int fd, bool is_copy)
{
    struct vkr_given *g = add_given(&c->r->share, type, c->record->slots[2]);

    if (!g) {
        if (fd >= 0)
            close(fd);
        return tsm_fail(TSM_E_MEMORY, "no memory for a descriptor");
    }
    *g = (struct vkr_given){.id = id, .type = type, .fd = fd, .is_copy = is_copy};
    return 0;
}

/* Returns the recorded origin of an import; NULL: from outside. */
static const struct vkr_given *find_given(const struct vkr *r, uint32_t type, uint64_t id, int fd)
{
    const struct vkr_share *s = &r->share;
    uint64_t number = numbered(&s->numbers, type, (uint32_t)fd), from = 0;
    bool is_said = vkr_share_said(r, type, id, &from);

    if (!is_said)
        return number ? &s->list[number - 1] : NULL;
    for (size_t i = 0; from && i < s->count; i++)
        if (s->list[i].type == type && s->list[i].id == from)
            return &s->list[i];
    return NULL;
}

bool vkr_share_said(const struct vkr *r, uint32_t type, uint64_t id, uint64_t *from)
{
    char name[64];
    const char *value;

    tsm_format(name, sizeof(name), "vulkan.import.%s.%llu", vk_name(vk_objects[type]),
               (unsigned long long)id);
    value = sbt_reader_metadata_find(r->reader, name);
    *from = value ? strtoull(value, NULL, 10) : 0;
    return value != NULL;
}

void vkr_share_finish(struct vkr *r)
{
    struct vkr_share *s = &r->share;

    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].fd >= 0)
            close(s->list[i].fd);
    free(s->list);
    tsm_map_finish(&s->numbers);
    tsm_map_finish(&s->planned);
    tsm_map_finish(&s->inside);
    memset(s, 0, sizeof(*s));
}

/* ---- beforehand -------------------------------------------------------------------------- */

/* Semaphores that are imported in the trace are signalled and waited for in it. */
int vkr_share_plan(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkGetSemaphoreFdKHR *get = (const void *)c->args;
    const struct vk_args_vkImportSemaphoreFdKHR *import = (const void *)c->args;
    const uint32_t type = VK_OBJECT_VkSemaphore;
    const VkImportSemaphoreFdInfoKHR *info;
    uint64_t from;

    if (c->record->slot_count < 2 || (c->record->flags & SBT_RECORD_FAILED))
        return 0;
    if (c->record->type == TYPE_vkGetSemaphoreFdKHR)
        return c->record->slot_count < 3 ? 0
                                         : put(&r->share.planned, key_of(type, c->record->slots[2]),
                                               VKR_RAW(get->pGetFdInfo->semaphore));
    info = import->pImportSemaphoreFdInfo;
    if (!vkr_share_said(r, type, VKR_RAW(info->semaphore), &from))
        from = numbered(&r->share.planned, type, (uint32_t)info->fd);
    return from ? put(&r->share.inside, from, 1) : 0;
}

/* ---- giving away ------------------------------------------------------------------------- */

static int fail_gone(void)
{
    return tsm_fail(TSM_E_FORMAT, "gives away what is not there");
}

int vkr_get_memory_fd(struct vkr_call *c)
{
    const struct vk_args_vkGetMemoryFdKHR *a = (const void *)c->args;
    const struct vkr_object *o =
        vkr_object_of(c->r, VK_OBJECT_VkDeviceMemory, VKR_RAW(a->pGetFdInfo->memory));
    int fd = -1, error;

    if (!o || c->record->slot_count < 3)
        return fail_gone();
    *a->pFd = -1;
    error = vkr_call_driver(c);
    fd = *a->pFd;
    return error ? error : give(c, VK_OBJECT_VkDeviceMemory, o->id, fd, false);
}

/* Exports a semaphore. A sync file takes the signal out of the semaphore or fence, as a wait would.
 * In fast forward nothing was sent, so there is no signal to take. */
int vkr_get_semaphore_fd(struct vkr_call *c)
{
    const struct vk_args_vkGetSemaphoreFdKHR *a = (const void *)c->args;
    const struct vkr_object *o =
        vkr_object_of(c->r, VK_OBJECT_VkSemaphore, VKR_RAW(a->pGetFdInfo->semaphore));
    struct vkr_semaphore *s = o ? o->user : NULL;
    bool is_copy = a->pGetFdInfo->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT;
    int error = 0;

    if (!s || c->record->slot_count < 3)
        return fail_gone();
    *a->pFd = -1;
    if (!is_copy || !c->r->is_early)
        error = vkr_call_driver(c);
    if (!is_copy && !tsm_map_find(&c->r->share.inside, o->id))
        s->is_outside = true;
    if (is_copy)
        s->is_signalled = false;
    return error ? error : give(c, VK_OBJECT_VkSemaphore, o->id, *a->pFd, is_copy);
}

int vkr_get_fence_fd(struct vkr_call *c)
{
    const struct vk_args_vkGetFenceFdKHR *a = (const void *)c->args;
    const struct vkr_object *o =
        vkr_object_of(c->r, VK_OBJECT_VkFence, VKR_RAW(a->pGetFdInfo->fence));
    bool is_copy = a->pGetFdInfo->handleType == VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT;
    int error = 0;

    if (!o || c->record->slot_count < 3)
        return fail_gone();
    *a->pFd = -1;
    if (!is_copy || !c->r->is_early)
        error = vkr_call_driver(c);
    if (is_copy)
        vkr_state_tracker_fence(c->r, a->pGetFdInfo->fence, false);
    return error ? error : give(c, VK_OBJECT_VkFence, o->id, *a->pFd, is_copy);
}

/* ---- taking in --------------------------------------------------------------------------- */

/* A driver takes over the descriptor that it imports. */
static int duplicate(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void vkr_share_memory(struct vkr_call *c, VkMemoryAllocateInfo *info, struct vkr_memory *m)
{
    VkImportMemoryFdInfoKHR *import =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    const struct vkr_given *g;

    if (!import)
        return;
    g = find_given(c->r, VK_OBJECT_VkDeviceMemory, c->record->slots[2], import->fd);
    import->fd = g ? duplicate(g->fd) : -1;
    m->shared_fd = import->fd;
    m->is_shared = import->fd >= 0;
    if (!m->is_shared)
        vk_chain_remove(&info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
}

/* Both have one payload from now on, or this one got what the other had. */
static void join(struct vkr *r, struct vkr_object *to, const struct vkr_given *g)
{
    const struct vkr_object *from = vkr_object_find(r, VK_OBJECT_VkSemaphore, g->id);
    struct vkr_semaphore *s = to->user;

    if (g->is_copy) {
        s->is_signalled = true;
    } else if (from && from->user && from->user != s) {
        vkr_semaphore_drop(r, s);
        to->user = from->user;
        ((struct vkr_semaphore *)from->user)->more++;
    }
}

int vkr_import_semaphore_fd(struct vkr_call *c)
{
    const struct vk_args_vkImportSemaphoreFdKHR *a = (const void *)c->args;
    VkImportSemaphoreFdInfoKHR info = *a->pImportSemaphoreFdInfo;
    struct vk_args_vkImportSemaphoreFdKHR own = {a->device, &info};
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkSemaphore, VKR_RAW(info.semaphore));
    const struct vkr_given *g;
    int error;

    if (!o || !o->user)
        return tsm_fail(TSM_E_FORMAT, "imports into a semaphore that is not there");
    g = find_given(c->r, VK_OBJECT_VkSemaphore, o->id, info.fd);
    if (!g && info.fd >= 0) {
        ((struct vkr_semaphore *)o->user)->is_outside = true;
        return 0;
    }
    if (g)
        join(c->r, o, g);
    info.fd = g ? duplicate(g->fd) : -1; /* -1: a sync file that is signalled */
    if (!g)
        ((struct vkr_semaphore *)o->user)->is_signalled = true;
    if (c->r->is_early && (!g || g->is_copy))
        return 0;
    memcpy(c->args, &own, sizeof(own));
    error = vkr_call_driver(c);
    if (error && info.fd >= 0)
        close(info.fd);
    return error;
}

int vkr_import_fence_fd(struct vkr_call *c)
{
    const struct vk_args_vkImportFenceFdKHR *a = (const void *)c->args;
    VkImportFenceFdInfoKHR info = *a->pImportFenceFdInfo;
    struct vk_args_vkImportFenceFdKHR own = {a->device, &info};
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkFence, VKR_RAW(info.fence));
    struct vkr_fact_flag *fact = o ? o->fact : NULL;
    const struct vkr_given *g;
    int error;

    if (!fact)
        return tsm_fail(TSM_E_FORMAT, "imports into a fence that is not there");
    g = find_given(c->r, VK_OBJECT_VkFence, o->id, info.fd);
    fact->is_outside = !g && info.fd >= 0;
    fact->is_set = !fact->is_outside && (!g || g->is_copy);
    if (fact->is_outside || (c->r->is_early && (!g || g->is_copy)))
        return 0;
    info.fd = g ? duplicate(g->fd) : -1;
    memcpy(c->args, &own, sizeof(own));
    error = vkr_call_driver(c);
    if (error && info.fd >= 0)
        close(info.fd);
    return error;
}

/* ---- other APIs of the trace -------------------------------------------------------------- */

int vkr_share_give(struct vkr *r, enum tsm_shared kind, uint64_t id, int *fd)
{
    const uint32_t type =
        kind == TSM_SHARED_MEMORY ? VK_OBJECT_VkDeviceMemory : VK_OBJECT_VkSemaphore;
    const struct vkr_share *s = &r->share;
    const struct vkr_object *o = vkr_object_find(r, type, id);

    /* Others signal it, and wait for it, by themselves. */
    if (o && o->user && kind == TSM_SHARED_SEMAPHORE)
        ((struct vkr_semaphore *)o->user)->is_outside = false;
    *fd = -1;
    for (size_t i = s->count; i-- > 0 && *fd < 0;)
        if (s->list[i].type == type && s->list[i].id == id)
            *fd = duplicate(s->list[i].fd);
    return *fd >= 0 ? 0
                    : tsm_fail(TSM_E_FORMAT, "shares %s #%llu, which gave no descriptor",
                               vk_name(vk_objects[type]), (unsigned long long)id);
}

/* Streams of others stand beside the queues: which of them cannot go on is known then. */
#define OTHERS_STREAM ((uint64_t)1 << 63)

int vkr_share_use(struct vkr *r, const struct tsm_semaphore_use *use)
{
    const struct vkr_object *o = vkr_object_find(r, VK_OBJECT_VkSemaphore, use->id);
    struct vkr_semaphore *s = o ? o->user : NULL;
    const VkQueue queue = (VkQueue)(uintptr_t)(OTHERS_STREAM | use->stream); /* NOLINT */

    if (s && !s->is_timeline)
        s->is_signalled = use->is_signal;
    if (!s || !s->is_timeline)
        return 0;
    return use->is_signal ? vkr_note_timeline(r, queue, s, use->value)
                          : vkr_timeline_wait(r, queue, s, use->value);
}

/* ---- what others did --------------------------------------------------------------------- */

static int send_alone(struct vkr_call *c, VkQueue queue, const VkSemaphore *wait,
                      const VkSemaphore *signal, uint64_t value)
{
    static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = value ? &values : NULL,
                         .waitSemaphoreCount = wait != NULL,
                         .pWaitSemaphores = wait,
                         .pWaitDstStageMask = &stage,
                         .signalSemaphoreCount = signal != NULL,
                         .pSignalSemaphores = signal};
    VkResult result;

    if (c->r->is_early || !c->owner || !c->owner->device)
        return 0;
    result = c->owner->device->dispatch.f.vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    return result >= 0 ? 0 : vkr_fail("vkQueueSubmit, for a semaphore of others,", result);
}

int vkr_share_before_wait(struct vkr_call *c, VkQueue queue, const struct vkr_semaphore *s,
                          VkSemaphore semaphore, uint64_t value)
{
    bool is_there = s && (s->is_timeline ? s->value >= value : s->is_signalled);

    if (!s || !s->is_outside || is_there)
        return 0;
    return send_alone(c, queue, NULL, &semaphore, s->is_timeline ? value : 0);
}

int vkr_share_before_signal(struct vkr_call *c, VkQueue queue, const struct vkr_semaphore *s,
                            VkSemaphore semaphore)
{
    if (!s || !s->is_outside || s->is_timeline || !s->is_signalled)
        return 0;
    return send_alone(c, queue, &semaphore, NULL, 0);
}

int vkr_share_before_fence(struct vkr_call *c, VkFence fence)
{
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkFence, VKR_RAW(fence));
    struct vkr_fact_flag *fact = o ? o->fact : NULL;
    const struct vkr_device *d = c->owner ? c->owner->device : NULL;
    VkResult result;

    if (!fact || !fact->is_outside || fact->is_set || !d || !d->queue.raw)
        return 0;
    fact->is_set = true;
    result = d->dispatch.f.vkQueueSubmit(d->queue.raw, 0, NULL, fence);
    return result >= 0 ? 0 : vkr_fail("vkQueueSubmit, for a fence of others,", result);
}

int vkr_share_before_value(struct vkr_call *c, VkSemaphore semaphore, uint64_t value)
{
    const struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkSemaphore, VKR_RAW(semaphore));
    struct vkr_semaphore *s = o ? o->user : NULL;
    const struct vkr_device *d = c->owner ? c->owner->device : NULL;
    int error;

    if (!s || !s->is_outside || s->value >= value || !d || !d->queue.raw)
        return 0;
    error = send_alone(c, d->queue.raw, NULL, &semaphore, value);
    return error ? error : vkr_note_timeline(c->r, d->queue.raw, s, value);
}
