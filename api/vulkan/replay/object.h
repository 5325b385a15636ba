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
    bool is_swapchain_image; /* removed with its swapchain */
    struct vkr_instance *instance;
    struct vkr_device *device;          /* NULL: of an instance */
    struct vkr_object *parent;          /* a pool, whose end removes it; NULL: none */
    struct vkr_object *previous, *next; /* all that live, oldest first */
    struct vkr_object *children, *previous_sibling, *next_sibling; /* newest first */
    struct vkr_object *older_same, *newer_same;                    /* of the same raw key */
    void *user; /* what its type keeps: memory, swapchain, semaphore */
    /* Frees `user` and ends what else depends on the object, which nothing finds any more. Set by
     * whoever sets `user`, or follows the object; NULL: `user` is one block of memory, or NULL. */
    void (*drop)(struct vkr *r, struct vkr_object *object);
    void *fact; /* api/vulkan/replay/state/tracker.h; one block, or NULL */
    uint64_t memory, memory_offset, memory_size; /* bound to it: place; 0: none */
    char *label;                                 /* the program's name for it, or NULL */
};

struct vkr_objects {
    struct tsm_map places; /* type << 48 | id -> struct vkr_object */
    struct tsm_map raws;   /* type << 56 ^ raw, its raw key -> the newest one of that */
    struct vkr_object *first, *last;
    struct vkr_object *cursor; /* where vkr_forget() is; moves on when that object is removed */
};

/* Returns the object with this id; NULL: it was not created, or is destroyed. */
struct vkr_object *vkr_object_find(const struct vkr *r, uint32_t type, uint64_t id);
/* Returns the object of a decoded handle; NULL: there is none. */
struct vkr_object *vkr_object_of(const struct vkr *r, uint32_t type, uint64_t raw);
/* Adds an object, or returns the one that has this id and this raw handle, or none so far. One that
 * has another raw handle, because the trace creates the id twice, stays until the end and is not
 * found by its id any more. Returns NULL without memory. */
struct vkr_object *vkr_object_add(struct vkr *r, uint32_t type, uint64_t id, uint64_t raw);
/* Destroys the object in the driver, where its type has a vkDestroy* of its own. */
void vkr_object_destroy(struct vkr *r, const struct vkr_object *object);
/* Destroys an object that the driver created and no record can name. */
void vkr_object_discard(struct vkr *r, uint32_t type, uint64_t raw, struct vkr_device *device);
/* Sets the raw handle. Returns false without memory; then the object is not found by it. */
bool vkr_object_set_raw(struct vkr *r, struct vkr_object *object, uint64_t raw);
/* Sets the pool that the object is removed with; NULL: none. */
void vkr_object_set_parent(struct vkr_object *object, struct vkr_object *parent);
/* Removes the object, with all whose parent it is. */
void vkr_object_remove(struct vkr *r, struct vkr_object *object);
/* Removes the objects of a pool. */
void vkr_object_remove_children(struct vkr *r, struct vkr_object *parent);
/* Removes the objects that an instance or (if not NULL) a device destroys with it: programs may
 * leave objects. */
void vkr_forget(struct vkr *r, const struct vkr_instance *instance,
                const struct vkr_device *device);
/* Frees the maps. No object may be left. */
void vkr_objects_finish(struct vkr *r);

#endif
