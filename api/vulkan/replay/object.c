/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded ids and what stands for them now. A destroyed object is not found any more: a
 * damaged trace that uses it is refused before a driver sees it. Calls nothing of the rooms that
 * keep data with an object: they set `drop`.
 */
#include "api/vulkan/replay/object.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/replay.h"
#include "base/text.h"

/* Returns the key of an id below 2^48: a larger one would reach into the type. */
static uint64_t key_of(uint32_t type, uint64_t id)
{
    return (uint64_t)type << 48 | id;
}

struct vkr_object *vkr_object_find(const struct vkr *r, uint32_t type, uint64_t id)
{
    const uint64_t *place = id >> 48 ? NULL : tsm_map_find(&r->objects.places, key_of(type, id));

    return place ? (struct vkr_object *)(uintptr_t)*place : NULL;
}

static uint64_t raw_key(uint32_t type, uint64_t raw)
{
    return (uint64_t)type << 56 ^ raw;
}

struct vkr_object *vkr_object_of(const struct vkr *r, uint32_t type, uint64_t raw)
{
    const uint64_t *place = tsm_map_find(&r->objects.raws, raw_key(type, raw));
    struct vkr_object *o = place ? (struct vkr_object *)(uintptr_t)*place : NULL;

    while (o && (o->type != type || o->raw != raw))
        o = o->older_same;
    return o;
}

static bool note_raw(struct vkr *r, struct vkr_object *o)
{
    bool added;
    uint64_t *place = tsm_map_insert(&r->objects.raws, raw_key(o->type, o->raw), &added);

    if (!place)
        return false;
    o->older_same = (struct vkr_object *)(uintptr_t)*place;
    if (o->older_same)
        o->older_same->newer_same = o;
    *place = (uint64_t)(uintptr_t)o;
    return true;
}

static void forget_raw(struct vkr *r, struct vkr_object *o)
{
    uint64_t key = raw_key(o->type, o->raw), *place = tsm_map_find(&r->objects.raws, key);

    if (o->newer_same)
        o->newer_same->older_same = o->older_same;
    else if (place && *place == (uint64_t)(uintptr_t)o)
        *place = (uint64_t)(uintptr_t)o->older_same;
    if (o->older_same)
        o->older_same->newer_same = o->newer_same;
    if (place && !*place)
        tsm_map_remove(&r->objects.raws, key);
    o->older_same = o->newer_same = NULL;
}

bool vkr_object_set_raw(struct vkr *r, struct vkr_object *o, uint64_t raw)
{
    forget_raw(r, o);
    o->raw = raw;
    return note_raw(r, o);
}

void vkr_object_set_parent(struct vkr_object *o, struct vkr_object *parent)
{
    if (o->previous_sibling)
        o->previous_sibling->next_sibling = o->next_sibling;
    else if (o->parent)
        o->parent->children = o->next_sibling;
    if (o->next_sibling)
        o->next_sibling->previous_sibling = o->previous_sibling;
    o->parent = parent;
    o->previous_sibling = NULL;
    o->next_sibling = parent ? parent->children : NULL;
    if (o->next_sibling)
        o->next_sibling->previous_sibling = o;
    if (parent)
        parent->children = o;
}

static void link_last(struct vkr_objects *objects, struct vkr_object *o)
{
    o->previous = objects->last;
    if (objects->last)
        objects->last->next = o;
    else
        objects->first = o;
    objects->last = o;
}

struct vkr_object *vkr_object_add(struct vkr *r, uint32_t type, uint64_t id, uint64_t raw)
{
    struct vkr_object *o = vkr_object_find(r, type, id);
    uint64_t *place;
    bool added;

    if (o && (o->raw == raw || !o->raw))
        return vkr_object_set_raw(r, o, raw) ? o : NULL;
    /* Made a second time: nothing finds the first by its id any more, but it is there until the
     * end. */
    place = id >> 48 ? NULL : tsm_map_insert(&r->objects.places, key_of(type, id), &added);
    o = place ? calloc(1, sizeof(*o)) : NULL;
    if (!o)
        return NULL;
    o->type = type;
    o->id = id;
    *place = (uint64_t)(uintptr_t)o;
    link_last(&r->objects, o);
    return vkr_object_set_raw(r, o, raw) ? o : NULL;
}

static void unlink_object(struct vkr *r, struct vkr_object *o)
{
    struct vkr_objects *objects = &r->objects;

    if (vkr_object_find(r, o->type, o->id) == o)
        tsm_map_remove(&objects->places, key_of(o->type, o->id));
    forget_raw(r, o);
    vkr_object_set_parent(o, NULL);
    if (objects->cursor == o)
        objects->cursor = o->previous;
    *(o->previous ? &o->previous->next : &objects->first) = o->next;
    *(o->next ? &o->next->previous : &objects->last) = o->previous;
}

void vkr_object_remove_children(struct vkr *r, struct vkr_object *parent)
{
    while (parent->children)
        vkr_object_remove(r, parent->children);
}

void vkr_object_remove(struct vkr *r, struct vkr_object *o)
{
    vkr_object_remove_children(r, o);
    unlink_object(r, o);
    if (o->drop)
        o->drop(r, o);
    else
        free(o->user);
    free(o->label);
    free(o->fact);
    free(o);
}

/* ---- in the driver ----------------------------------------------------------------------- */

/* All vkDestroy* that take a parent, an object and an allocator. */
struct destroy_args {
    uint64_t parent, object;
    const void *allocator;
};

static const struct vk_command *find_destroy(uint32_t type)
{
    char name[96];

    tsm_format(name, sizeof(name), "vkDestroy%s", vk_name(vk_objects[type]) + 2);
    for (uint32_t i = 0; i < vk_command_count; i++)
        if (strcmp(vk_name(vk_commands[i].name), name) == 0)
            return &vk_commands[i];
    return NULL;
}

void vkr_object_destroy(struct vkr *r, const struct vkr_object *o)
{
    const struct vk_command *command = find_destroy(o->type);
    struct destroy_args args = {0, o->raw, NULL};

    if (!command || o->is_window || o->is_swapchain_image || command->args_size != sizeof(args) ||
        !o->device)
        return;
    args.parent = VKR_RAW(o->device->dispatch.device);
    vk_call(&o->device->instance->dispatch, &o->device->dispatch, (uint32_t)(command - vk_commands),
            &args);
}

void vkr_object_discard(struct vkr *r, uint32_t type, uint64_t raw, struct vkr_device *device)
{
    struct vkr_object o = {.type = type, .raw = raw, .device = device};

    if (device && type == VK_OBJECT_VkDeviceMemory)
        device->dispatch.f.vkFreeMemory(device->dispatch.device, (VkDeviceMemory)(uintptr_t)raw,
                                        NULL);
    else
        vkr_object_destroy(r, &o);
}

void vkr_forget(struct vkr *r, const struct vkr_instance *instance, const struct vkr_device *device)
{
    r->objects.cursor = r->objects.last;
    while (r->objects.cursor) {
        struct vkr_object *o = r->objects.cursor;

        if (!(device ? o->device == device : o->instance == instance)) {
            r->objects.cursor = o->previous;
            continue;
        }
        /* The validation layer is to say what the program has left. */
        if (device && o->type != VK_OBJECT_VkDevice && !r->options->validate)
            vkr_object_destroy(r, o);
        vkr_object_remove(r, o); /* others may go along */
    }
}

void vkr_objects_finish(struct vkr *r)
{
    tsm_map_finish(&r->objects.places);
    tsm_map_finish(&r->objects.raws);
}
