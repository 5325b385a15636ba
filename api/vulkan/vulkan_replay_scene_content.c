/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in descriptor sets and command buffers, and the layouts of images.
 */
#include "api/vulkan/vulkan_replay_scene_parts.h"

#include <stdlib.h>
#include <string.h>

#define LAYOUTS_MAX 65536u /* levels * layers of an image */

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for what the trace holds");
}

/* Room for one more of `size` bytes. */
static bool grow(void **list, size_t count, size_t *capacity, size_t size)
{
    size_t more = *capacity ? *capacity * 2 : 16;
    void *grown;

    if (count < *capacity)
        return true;
    grown = realloc(*list, more * size);
    if (!grown)
        return false;
    *list = grown;
    *capacity = more;
    return true;
}

/* ---- begin and end ----------------------------------------------------------------------- */

static bool begin_layouts(struct vkr_scene *scene, struct vkr_made *made)
{
    VkImageCreateInfo info;
    struct vkr_layouts *layouts;
    size_t count;

    if (!vkr_scene_image(scene, made->id, &info))
        return true;
    count = (size_t)info.mipLevels * info.arrayLayers;
    if (info.mipLevels > 32 || !count || count > LAYOUTS_MAX)
        return true;
    layouts = calloc(1, sizeof(*layouts) + count * sizeof(layouts->at[0]));
    if (!layouts)
        return false;
    layouts->levels = info.mipLevels;
    layouts->layers = info.arrayLayers;
    for (size_t i = 0; i < count; i++)
        layouts->at[i] = info.initialLayout;
    made->content = layouts;
    return true;
}

static bool begin_set(struct vkr_made *made)
{
    const struct vk_args_vkAllocateDescriptorSets *a = made->args;
    struct vkr_set *set = calloc(1, sizeof(*set));

    made->content = set;
    if (set && made->index < a->pAllocateInfo->descriptorSetCount)
        set->layout = VKR_RAW(a->pAllocateInfo->pSetLayouts[made->index]);
    return set;
}

bool vkr_scene_begin_content(struct vkr_scene *scene, struct vkr_made *made)
{
    switch (made->type) {
    case VK_OBJECT_VkImage:
        return begin_layouts(scene, made);
    case VK_OBJECT_VkDescriptorSet:
        return begin_set(made);
    case VK_OBJECT_VkCommandBuffer:
        made->content = calloc(1, sizeof(struct vkr_commands));
        return made->content;
    default:
        return true;
    }
}

void vkr_scene_finish_content(struct vkr_made *made)
{
    struct vkr_commands *commands = made->content;
    struct vkr_set *set = made->content;

    if (made->type == VK_OBJECT_VkCommandBuffer && commands) {
        free(commands->seqs);
        free(commands->transitions);
    } else if (made->type == VK_OBJECT_VkDescriptorSet && set) {
        free(set->list);
    }
    free(made->content);
}

/* ---- descriptors ------------------------------------------------------------------------- */

/* The first in the set's list that is not before this binding and element. */
static size_t place_of(const struct vkr_set *set, uint32_t binding, uint32_t element)
{
    size_t low = 0, high = set->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct vkr_descriptor *d = &set->list[middle];
        if (d->binding < binding || (d->binding == binding && d->element < element))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
    if (!grow((void **)&set->list, set->count, &set->capacity, sizeof(*set->list)))
        return NULL;
    d = &set->list[i];
    memmove(d + 1, d, (set->count - i) * sizeof(*d));
    set->count++;
    *d = (struct vkr_descriptor){.binding = binding, .element = element};
    return d;
}

static const VkDescriptorSetLayoutCreateInfo *layout_of(const struct vkr_scene *scene,
                                                        const struct vkr_set *set)
{
    const struct vkr_made *made =
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
    struct vkr_made *made = VKR_SCENE_FIND(scene, VkDescriptorSet, w->dstSet);
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
    struct vkr_made *from = VKR_SCENE_FIND(scene, VkDescriptorSet, copy->srcSet);
    struct vkr_made *to = VKR_SCENE_FIND(scene, VkDescriptorSet, copy->dstSet);

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
    struct vkr_made *made = vkr_scene_find(scene, VK_OBJECT_VkCommandBuffer, id);

    return made ? made->content : NULL;
}

int vkr_scene_note_command(struct vkr_scene *scene, const struct sbt_record *record)
{
    struct vkr_commands *commands =
        record->slot_count ? commands_of(scene, record->slots[0]) : NULL;

    if (!commands)
        return 0;
    if (record->type == TYPE_vkBeginCommandBuffer)
        commands->count = commands->transition_count = 0;
    if (!grow((void **)&commands->seqs, commands->count, &commands->capacity,
              sizeof(*commands->seqs)))
        return no_memory();
    commands->seqs[commands->count++] = record->seq;
    return 0;
}

static bool move(struct vkr_commands *commands, const struct vkr_transition *t)
{
    if (!commands)
        return true;
    if (!grow((void **)&commands->transitions, commands->transition_count,
              &commands->transition_capacity, sizeof(*commands->transitions)))
        return false;
    commands->transitions[commands->transition_count++] = *t;
    return true;
}

static bool move_all(struct vkr_commands *commands, uint64_t seq, uint32_t count,
                     const VkImageMemoryBarrier *list)
{
    bool done = true;

    for (uint32_t i = 0; i < count && done; i++)
        done =
            move(commands, &(struct vkr_transition){seq, VKR_RAW(list[i].image),
                                                    list[i].subresourceRange, list[i].newLayout});
    return done;
}

static bool move_dependency(struct vkr_commands *commands, uint64_t seq,
                            const VkDependencyInfo *info)
{
    bool done = true;

    for (uint32_t i = 0; i < info->imageMemoryBarrierCount && done; i++) {
        const VkImageMemoryBarrier2 *b = &info->pImageMemoryBarriers[i];
        if (b->newLayout != b->oldLayout) /* equal ones may mean nothing at all */
            done = move(commands, &(struct vkr_transition){seq, VKR_RAW(b->image),
                                                           b->subresourceRange, b->newLayout});
    }
    return done;
}

static VkImageLayout final_layout(const struct vkr_made *pass, uint32_t i)
{
    const struct vk_args_vkCreateRenderPass *a = pass->args;
    const struct vk_args_vkCreateRenderPass2 *b = pass->args;

    if (pass->call == TYPE_vkCreateRenderPass)
        return i < a->pCreateInfo->attachmentCount ? a->pCreateInfo->pAttachments[i].finalLayout
                                                   : VK_IMAGE_LAYOUT_UNDEFINED;
    return i < b->pCreateInfo->attachmentCount ? b->pCreateInfo->pAttachments[i].finalLayout
                                               : VK_IMAGE_LAYOUT_UNDEFINED;
}

/* Where its end leaves the attachments, noted at its begin: a pass that was begun is ended, also
 * where a submit is cut off. */
static bool move_attachments(struct vkr_scene *scene, struct vkr_commands *commands, uint64_t seq,
                             const VkRenderPassBeginInfo *begin)
{
    const struct vkr_made *pass = VKR_SCENE_FIND(scene, VkRenderPass, begin->renderPass);
    const VkImageView *views;
    uint32_t count = vkr_scene_attachments(scene, begin, &views);
    bool done = true;

    for (uint32_t i = 0; pass && i < count && done; i++) {
        const VkImageViewCreateInfo *view = vkr_scene_view(scene, VKR_RAW(views[i]));
        VkImageLayout layout = final_layout(pass, i);
        if (view && layout != VK_IMAGE_LAYOUT_UNDEFINED)
            done = move(commands, &(struct vkr_transition){seq, VKR_RAW(view->image),
                                                           view->subresourceRange, layout});
    }
    return done;
}

static bool move_executed(struct vkr_scene *scene, struct vkr_commands *commands, uint64_t seq,
                          const struct vk_args_vkCmdExecuteCommands *a)
{
    bool done = true;

    for (uint32_t i = 0; i < a->commandBufferCount; i++) {
        const struct vkr_commands *from = commands_of(scene, VKR_RAW(a->pCommandBuffers[i]));
        for (size_t k = 0; from && k < from->transition_count && done; k++) {
            struct vkr_transition t = from->transitions[k];
            t.seq = seq;
            done = move(commands, &t);
        }
    }
    return done;
}

/* ---- submits ----------------------------------------------------------------------------- */

static void apply(const struct vkr_scene *scene, const struct vkr_transition *t)
{
    const struct vkr_made *made = vkr_scene_find(scene, VK_OBJECT_VkImage, t->image);
    struct vkr_layouts *l = made ? made->content : NULL;
    const VkImageSubresourceRange *range = &t->range;

    if (!l)
        return;
    for (uint32_t level = range->baseMipLevel;
         level < l->levels && level - range->baseMipLevel < range->levelCount; level++)
        for (uint32_t layer = range->baseArrayLayer;
             layer < l->layers && layer - range->baseArrayLayer < range->layerCount; layer++)
            l->at[level * l->layers + layer] = t->layout;
}

static bool apply_all(void *user, uint64_t id)
{
    const struct vkr_scene *scene = user;
    const struct vkr_commands *commands = commands_of(scene, id);
    bool is_cut = commands && commands == scene->cut;

    for (size_t i = 0; commands && i < commands->transition_count; i++)
        if (!is_cut || commands->transitions[i].seq <= scene->cut_seq)
            apply(scene, &commands->transitions[i]);
    return !is_cut;
}

/* ---- which ------------------------------------------------------------------------------- */

bool vkr_scene_is_content(uint32_t type)
{
    switch (type) {
    case TYPE_vkSetDebugUtilsObjectNameEXT:
    case TYPE_vkUpdateDescriptorSets:
    case TYPE_vkCmdPipelineBarrier:
    case TYPE_vkCmdWaitEvents:
    case TYPE_vkCmdPipelineBarrier2:
    case TYPE_vkCmdPipelineBarrier2KHR:
    case TYPE_vkCmdBeginRenderPass:
    case TYPE_vkCmdBeginRenderPass2:
    case TYPE_vkCmdBeginRenderPass2KHR:
    case TYPE_vkCmdExecuteCommands:
    case TYPE_vkQueueSubmit:
    case TYPE_vkQueueSubmit2:
    case TYPE_vkQueueSubmit2KHR:
        return true;
    default:
        return false;
    }
}

static bool note_transitions(struct vkr_scene *scene, const struct vkr_call *c)
{
    const struct vk_args_vkCmdPipelineBarrier *barrier = (const void *)c->args;
    const struct vk_args_vkCmdWaitEvents *wait = (const void *)c->args;
    const struct vk_args_vkCmdPipelineBarrier2 *barrier2 = (const void *)c->args;
    const struct vk_args_vkCmdBeginRenderPass *pass = (const void *)c->args;
    struct vkr_commands *commands = commands_of(scene, c->record->slots[0]);
    uint64_t seq = c->record->seq;

    switch (c->record->type) {
    case TYPE_vkCmdPipelineBarrier:
        return move_all(commands, seq, barrier->imageMemoryBarrierCount,
                        barrier->pImageMemoryBarriers);
    case TYPE_vkCmdWaitEvents:
        return move_all(commands, seq, wait->imageMemoryBarrierCount, wait->pImageMemoryBarriers);
    case TYPE_vkCmdPipelineBarrier2:
    case TYPE_vkCmdPipelineBarrier2KHR:
        return move_dependency(commands, seq, barrier2->pDependencyInfo);
    case TYPE_vkCmdExecuteCommands:
        return move_executed(scene, commands, seq, (const void *)c->args);
    default:
        return move_attachments(scene, commands, seq, pass->pRenderPassBegin);
    }
}

int vkr_scene_note_content(struct vkr_scene *scene, struct vkr_call *c)
{
    if (c->record->type == TYPE_vkUpdateDescriptorSets)
        return update_sets(scene, c);
    if (c->command->kind == SBT_KIND_COMMAND)
        return vkr_scene_each_submitted(scene, c->record, apply_all, scene);
    return note_transitions(scene, c) ? 0 : no_memory();
}
