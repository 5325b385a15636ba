/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects by their recorded ids.
 */
#ifndef API_VULKAN_REPLAY_OBJECT_H
#define API_VULKAN_REPLAY_OBJECT_H

#include "api/vulkan/replay/common.h"

struct vkr_object {
    uint32_t type; /* enum vk_object */
    uint64_t id, raw;
    bool is_window;          /* stands for a window's: no driver has seen it */
    bool is_swapchain_image; /* goes with its swapchain */
    struct vkr_instance *instance;
    struct vkr_device *device;          /* NULL: of an instance */
    struct vkr_object *parent;          /* a pool: gone with it. NULL: none */
    struct vkr_object *previous, *next; /* all that live, oldest first */
    struct vkr_object *children, *previous_sibling, *next_sibling; /* newest first */
    struct vkr_object *older_same, *newer_same;                    /* of the same raw key */
    void *user; /* what its type keeps: memory, swapchain, semaphore */
    void *fact; /* api/vulkan/replay/state/tracker.h; one block, or NULL */
    uint64_t memory, memory_offset, memory_size; /* bound to it: place; 0: none */
    char *label;                                 /* the program's name for it, or NULL */
};

struct vkr_objects {
    struct tsm_map places; /* type << 48 | id -> struct vkr_object */
    struct tsm_map raws;   /* type << 56 ^ raw, its raw key -> the newest one of that */
    struct vkr_object *first, *last;
    struct vkr_object *cursor; /* where vkr_forget() is; moves on when that one goes */
};

/* NULL: it was never made, or is gone. */
struct vkr_object *vkr_object_find(const struct vkr *r, uint32_t type, uint64_t id);
/* Returns the object of a decoded handle. */
struct vkr_object *vkr_object_of(const struct vkr *r, uint32_t type, uint64_t raw);
/* Made, or the one that is there with that raw handle, or with none so far. One that is there with
 * another raw handle, as of an id that a trace makes twice, stays until the end and is not found by
 * its id any more. NULL: no memory. */
struct vkr_object *vkr_object_add(struct vkr *r, uint32_t type, uint64_t id, uint64_t raw);
/* The driver's part of it, where there is one that is destroyed by itself. */
void vkr_object_destroy(struct vkr *r, const struct vkr_object *object);
/* Destroys what the driver made and no record can name. */
void vkr_object_discard(struct vkr *r, uint32_t type, uint64_t raw, struct vkr_device *device);
/* No memory: false, and it is not found by it. */
bool vkr_object_set_raw(struct vkr *r, struct vkr_object *object, uint64_t raw);
/* NULL: none. */
void vkr_object_set_parent(struct vkr_object *object, struct vkr_object *parent);
/* With all whose parent it is. */
void vkr_object_remove(struct vkr *r, struct vkr_object *object);
/* Removes the objects of a pool. */
void vkr_object_remove_children(struct vkr *r, struct vkr_object *parent);
/* Destroys what the trace left, newest first. */
void vkr_objects_finish(struct vkr *r);

#endif
