/* SPDX-License-Identifier: Apache-2.0
 *
 * Content of descriptor sets and command buffers.
 */
#include "api/vulkan/replay/inspect/scene_parts.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/inspect/scene.h"
#include "base/array.h"

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for what the trace holds");
}

/* ---- begin and end ----------------------------------------------------------------------- */

static bool begin_set(struct vkr_scene_object *made)
{
    const struct vk_args_vkAllocateDescriptorSets *a = made->args;
    struct vkr_set *set = calloc(1, sizeof(*set));

    made->content = set;
    if (set && made->index < a->pAllocateInfo->descriptorSetCount)
        set->layout = VKR_RAW(a->pAllocateInfo->pSetLayouts[made->index]);
    return set;
}

bool vkr_scene_begin_content(struct vkr_scene_object *made)
{
    switch (made->type) {
    case VK_OBJECT_VkDescriptorSet:
        return begin_set(made);
    case VK_OBJECT_VkCommandBuffer:
        made->content = calloc(1, sizeof(struct vkr_commands));
        return made->content;
    default:
        return true;
    }
}

void vkr_scene_finish_content(struct vkr_scene_object *made)
{
    struct vkr_commands *commands = made->content;
    struct vkr_set *set = made->content;

    if (made->type == VK_OBJECT_VkCommandBuffer && commands)
        free(commands->seqs);
    else if (made->type == VK_OBJECT_VkDescriptorSet && set)
        free(set->list);
    free(made->content);
}

/* ---- descriptors ------------------------------------------------------------------------- */

/* The first in the set's list that is not before this binding and element. */
static size_t place_of(const struct vkr_set *set, uint32_t binding, uint32_t element)
{
    size_t at;

    TSM_BISECT(at, set->count,
               !(set->list[at].binding < binding ||
                 (set->list[at].binding == binding && set->list[at].element < element)));
    return at;
}

/* NULL: nobody has written it. */
static struct vkr_descriptor *find_descriptor(const struct vkr_set *set, uint32_t binding,
                                              uint32_t element)
{
    size_t i = place_of(set, binding, element);

    return i < set->count && set->list[i].binding == binding && set->list[i].element == element
               ? &set->list[i]
               : NULL;
}

/* Made when it is not there. NULL: no memory. */
static struct vkr_descriptor *descriptor_at(struct vkr_set *set, uint32_t binding, uint32_t element)
{
    struct vkr_descriptor *d = find_descriptor(set, binding, element);
    size_t i = place_of(set, binding, element);

    if (d)
        return d;
    return TSM_ARRAY_INSERT(set->list, set->count, set->capacity, i,
                            (struct vkr_descriptor){.binding = binding, .element = element})
               ? &set->list[i]
               : NULL;
}

static const VkDescriptorSetLayoutCreateInfo *layout_of(const struct vkr_scene *scene,
                                                        const struct vkr_set *set)
{
    const struct vkr_scene_object *made =
        vkr_scene_find(scene, VK_OBJECT_VkDescriptorSetLayout, set->layout);

    return made ? ((const struct vk_args_vkCreateDescriptorSetLayout *)made->args)->pCreateInfo
                : NULL;
}

/* Specification, "Descriptor Set Updates": what does not fit into a binding goes on in the next. */
static void go_on(const struct vkr_scene *scene, const struct vkr_set *set, uint32_t *binding,
                  uint32_t *element)
{
    const VkDescriptorSetLayoutCreateInfo *info = layout_of(scene, set);
    uint32_t next = UINT32_MAX;

    for (uint32_t i = 0; info && i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *b = &info->pBindings[i];
        if (b->binding == *binding && *element < b->descriptorCount)
            return;
        if (b->binding > *binding && b->binding < next && b->descriptorCount)
            next = b->binding;
    }
    if (next == UINT32_MAX)
        return;
    *binding = next;
    *element = 0;
}

static void fill(struct vkr_descriptor *d, const VkWriteDescriptorSet *w, uint32_t i)
{
    *d = (struct vkr_descriptor){
        .binding = d->binding, .element = d->element, .type = w->descriptorType};
    if (w->pBufferInfo) {
        d->buffer = VKR_RAW(w->pBufferInfo[i].buffer);
        d->offset = w->pBufferInfo[i].offset;
        d->range = w->pBufferInfo[i].range;
    } else if (w->pImageInfo) {
        d->view = VKR_RAW(w->pImageInfo[i].imageView);
        d->sampler = VKR_RAW(w->pImageInfo[i].sampler);
        d->layout = w->pImageInfo[i].imageLayout;
    } else if (w->pTexelBufferView) {
        d->buffer_view = VKR_RAW(w->pTexelBufferView[i]);
    }
}

static bool write_set(struct vkr_scene *scene, const VkWriteDescriptorSet *w)
{
    struct vkr_scene_object *made = VKR_SCENE_FIND(scene, VkDescriptorSet, w->dstSet);
    struct vkr_set *set = made ? made->content : NULL;
    uint32_t binding = w->dstBinding, element = w->dstArrayElement;
    /* The count of an inline uniform block is one of bytes. */
    uint32_t count =
        w->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK ? 1 : w->descriptorCount;

    for (uint32_t i = 0; set && i < count; i++, element++) {
        struct vkr_descriptor *d;
        go_on(scene, set, &binding, &element);
        d = descriptor_at(set, binding, element);
        if (!d)
            return false;
        fill(d, w, i);
    }
    return true;
}

/* Up to the first that nobody has written: how many a damaged trace names means nothing. */
static bool copy_set(struct vkr_scene *scene, const VkCopyDescriptorSet *copy)
{
    struct vkr_scene_object *from = VKR_SCENE_FIND(scene, VkDescriptorSet, copy->srcSet);
    struct vkr_scene_object *to = VKR_SCENE_FIND(scene, VkDescriptorSet, copy->dstSet);

    for (uint32_t i = 0; from && to && i < copy->descriptorCount; i++) {
        const struct vkr_descriptor *s =
            find_descriptor(from->content, copy->srcBinding, copy->srcArrayElement + i);
        struct vkr_descriptor source, *d;
        if (!s)
            break;
        source = *s; /* in the same list, perhaps */
        d = descriptor_at(to->content, copy->dstBinding, copy->dstArrayElement + i);
        if (!d)
            return false;
        source.binding = d->binding;
        source.element = d->element;
        *d = source;
    }
    return true;
}

static int update_sets(struct vkr_scene *scene, const struct vkr_call *c)
{
    const struct vk_args_vkUpdateDescriptorSets *a = (const void *)c->args;
    bool done = true;

    for (uint32_t i = 0; i < a->descriptorWriteCount && done; i++)
        done = write_set(scene, &a->pDescriptorWrites[i]);
    for (uint32_t i = 0; i < a->descriptorCopyCount && done; i++)
        done = copy_set(scene, &a->pDescriptorCopies[i]);
    return done ? 0 : no_memory();
}

/* ---- command buffers --------------------------------------------------------------------- */

static struct vkr_commands *commands_of(const struct vkr_scene *scene, uint64_t id)
{
    struct vkr_scene_object *made = vkr_scene_find(scene, VK_OBJECT_VkCommandBuffer, id);

    return made ? made->content : NULL;
}

int vkr_scene_note_command(struct vkr_scene *scene, const struct sbt_record *record)
{
    struct vkr_commands *commands =
        record->slot_count ? commands_of(scene, record->slots[0]) : NULL;

    if (!commands)
        return 0;
    if (record->type == TYPE_vkBeginCommandBuffer)
        commands->count = 0;
    return TSM_ARRAY_PUSH(commands->seqs, commands->count, commands->capacity, record->seq)
               ? 0
               : no_memory();
}

/* ---- which ------------------------------------------------------------------------------- */

bool vkr_scene_is_content(uint32_t type)
{
    switch (type) {
    case TYPE_vkSetDebugUtilsObjectNameEXT:
    case TYPE_vkUpdateDescriptorSets:
        return true;
    default:
        return false;
    }
}

int vkr_scene_note_content(struct vkr_scene *scene, struct vkr_call *c)
{
    return c->record->type == TYPE_vkUpdateDescriptorSets ? update_sets(scene, c) : 0;
}
