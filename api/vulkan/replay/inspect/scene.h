/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects as the trace describes them up to a record: how they were created, the content of
 * descriptor sets and command buffers. Read from the trace when something is inspected, so that
 * other replays pay nothing. Objects go by their recorded ids; destroyed ones stay, because objects
 * created from them may live.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_SCENE_H
#define API_VULKAN_REPLAY_INSPECT_SCENE_H

#include "api/vulkan/replay/replay.h"

/* An object, by the record that made it. */
struct vkr_scene_object {
    uint32_t type; /* enum vk_object */
    uint32_t call; /* type of that record */
    uint64_t id, seq;
    uint32_t index;   /* among those that the record made */
    const void *args; /* struct vk_args_* of that command; handles in it are ids */
    const char *name; /* by the program; NULL: none */
    void *content;    /* struct vkr_set, vkr_commands; NULL: none of it */
};

struct vkr_descriptor {
    uint32_t binding, element;
    VkDescriptorType type;
    uint64_t buffer, offset, range; /* of a buffer */
    uint64_t view, sampler;         /* of an image */
    VkImageLayout layout;
    uint64_t buffer_view;
};

struct vkr_set {
    uint64_t layout;             /* VkDescriptorSetLayout */
    struct vkr_descriptor *list; /* by binding and element */
    size_t count, capacity;
};

/* Commands recorded into a command buffer since its begin, vkBeginCommandBuffer first. */
struct vkr_commands {
    uint64_t *seqs;
    size_t count, capacity;
};

struct vkr_scene {
    struct vkr *r;
    struct sbt_cursor *cursor;      /* for vkr_scene_record() */
    struct sbt_cursor *commands;    /* for vkr_scene_command() */
    struct vk_arena arena;          /* of what made objects */
    struct vk_arena scratch;        /* of the record that is being decoded */
    struct tsm_map places;          /* type << 48 | id -> struct vkr_scene_object */
    struct vkr_scene_object **list; /* in order of making */
    size_t count, capacity;
};

/* Up to the record `until` without it. */
int vkr_scene_create(struct vkr_scene **out, struct vkr *r, uint64_t until);
void vkr_scene_destroy(struct vkr_scene *scene);
/* The next record. */
int vkr_scene_note(struct vkr_scene *scene, const struct sbt_record *record);
/* NULL: there was none. */
struct vkr_scene_object *vkr_scene_find(const struct vkr_scene *scene, uint32_t type, uint64_t id);
/* Finds the object of a decoded handle of a call whose handles are ids. */
#define VKR_SCENE_FIND(scene, type, handle) vkr_scene_find(scene, VK_OBJECT_##type, VKR_RAW(handle))
/* The record with this number; valid until the next call. NULL: it cannot be read. */
const struct sbt_record *vkr_scene_record(struct vkr_scene *scene, uint64_t seq);
/* The same, valid until the next call of this one: for who goes through a command buffer. */
const struct sbt_record *vkr_scene_command(struct vkr_scene *scene, uint64_t seq);
/* Each primary command buffer of a submit, in order; `visit` false: no more. */
int vkr_scene_each_submitted(struct vkr_scene *scene, const struct sbt_record *submit,
                             bool (*visit)(void *user, uint64_t command_buffer), void *user);

/* How an image was made; false: unknown. */
bool vkr_scene_image(const struct vkr_scene *scene, uint64_t image, VkImageCreateInfo *out);
/* The create info of a view with this id; NULL: unknown. */
const VkImageViewCreateInfo *vkr_scene_view(const struct vkr_scene *scene, uint64_t view);
uint32_t vkr_scene_subpass_count(const struct vkr_scene *scene, uint64_t render_pass);
#endif
