/* SPDX-License-Identifier: Apache-2.0
 *
 * Semaphores: what has signalled them, and will.
 */
#include "api/vulkan/replay/semaphore.h"

#include <stdlib.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/stream.h"
#include "api/vulkan/tables/chain.h"

struct vkr_semaphore *vkr_semaphore_find(const struct vkr *r, VkSemaphore raw)
{
    struct vkr_object *o = vkr_object_of(r, VK_OBJECT_VkSemaphore, VKR_RAW(raw));

    return o ? o->user : NULL;
}

static uint64_t number_of(const struct vkr_semaphore *s)
{
    return (uint64_t)(uintptr_t)s;
}

static int check_memory(bool is_noted)
{
    return is_noted ? 0 : tsm_fail(TSM_E_MEMORY, "no memory to follow semaphores");
}

int vkr_set_timeline(struct vkr *r, struct vkr_semaphore *s, uint64_t value)
{
    s->value = value;
    return check_memory(vk_timelines_set(&r->timelines, number_of(s), value));
}

int vkr_note_timeline(struct vkr *r, VkQueue queue, struct vkr_semaphore *s, uint64_t value)
{
    s->value = value > s->value ? value : s->value;
    return check_memory(vk_timelines_signal(&r->timelines, VKR_RAW(queue), number_of(s), value));
}

int vkr_timeline_wait(struct vkr *r, VkQueue queue, const struct vkr_semaphore *s, uint64_t value)
{
    return check_memory(vk_timelines_wait(&r->timelines, VKR_RAW(queue), number_of(s), value));
}

void vkr_semaphore_drop(struct vkr *r, struct vkr_semaphore *s)
{
    if (s->more) { /* another object's, too */
        s->more--;
        return;
    }
    vk_timelines_forget(&r->timelines, number_of(s));
    free(s);
}

static void drop_object(struct vkr *r, struct vkr_object *o)
{
    vkr_semaphore_drop(r, o->user);
}

int vkr_create_semaphore(struct vkr_call *c)
{
    const struct vk_args_vkCreateSemaphore *a = (const void *)c->args;
    const VkSemaphoreTypeCreateInfo *type =
        vk_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    uint64_t id = c->record->slot_count > 2 ? c->record->slots[2] : 0;
    int error = vkr_call_driver(c);
    struct vkr_object *o = error ? NULL : vkr_object_find(c->r, VK_OBJECT_VkSemaphore, id);
    struct vkr_semaphore *s;

    if (!o)
        return error;
    s = calloc(1, sizeof(*s));
    if (!s)
        return tsm_fail(TSM_E_MEMORY, "no memory for a semaphore");
    s->is_timeline = type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
    free(o->user);
    o->user = s;
    o->drop = drop_object;
    return s->is_timeline ? vkr_set_timeline(c->r, s, type->initialValue) : 0;
}

/* The program knows when what it sent is done, and nothing of what stands for a present. */
int vkr_destroy_semaphore(struct vkr_call *c)
{
    const struct vk_args_vkDestroySemaphore *a = (const void *)c->args;
    const struct vkr_semaphore *s = a->semaphore ? vkr_semaphore_find(c->r, a->semaphore) : NULL;
    int error = s && s->is_window && !c->r->is_early ? vkr_wait_all(c->r) : 0;

    return error ? error : vkr_call_driver(c);
}

void vkr_semaphore_note_window(struct vkr *r, VkSemaphore raw)
{
    struct vkr_semaphore *s = vkr_semaphore_find(r, raw);

    if (s)
        s->is_window = true;
}

void vkr_semaphore_note_binary(struct vkr *r, VkSemaphore raw, bool is_signalled)
{
    struct vkr_semaphore *s = vkr_semaphore_find(r, raw);

    if (s)
        s->is_signalled = is_signalled && !s->is_timeline;
}

int vkr_signal_semaphore(struct vkr_call *c)
{
    const struct vk_args_vkSignalSemaphore *a = (const void *)c->args;
    struct vkr_semaphore *s = vkr_semaphore_find(c->r, a->pSignalInfo->semaphore);
    uint64_t value = a->pSignalInfo->value;

    if (s && s->value < value)
        s->value = value;
    vk_timelines_host(&c->r->timelines, number_of(s), value);
    return vkr_call_driver(c);
}
