/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptor update templates: what their data looks like, only the template knows. What they write
 * is recorded as the vkUpdateDescriptorSets, or vkCmdPushDescriptorSetKHR, that does the same: so
 * raw handles of the program are never in a trace, and replay needs no template.
 * (Vulkan specification, 14.2.4 "Descriptor Update Templates".)
 */
#include "api/vulkan/source/source.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "base/arena.h"

#include <string.h>

struct template
{
    VkPipelineBindPoint bind_point;
    uint32_t count;
    uint32_t value_count; /* descriptors of all entries */
    VkDescriptorUpdateTemplateEntry entries[];
};

static struct tsm_arena arena;

void vk_template_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCreateDescriptorUpdateTemplate *a = args;
    const VkDescriptorUpdateTemplateCreateInfo *info = a->pCreateInfo;
    size_t size = info->descriptorUpdateEntryCount * sizeof(info->pDescriptorUpdateEntries[0]);
    struct tsm_handle *handle;
    struct template *t;

    if (result < 0)
        return;
    handle = tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkDescriptorUpdateTemplate,
                             VK_RAW(*a->pDescriptorUpdateTemplate));
    t = handle ? tsm_session_keep(&arena, sizeof(*t) + size) : NULL;
    if (!t)
        return;
    t->bind_point = info->pipelineBindPoint;
    t->count = info->descriptorUpdateEntryCount;
    memcpy(t->entries, info->pDescriptorUpdateEntries, size);
    for (uint32_t i = 0; i < t->count; i++)
        t->value_count += t->entries[i].descriptorCount;
    handle->user = t;
}

static const struct template *find(VkDescriptorUpdateTemplate raw)
{
    const struct tsm_handle *handle =
        tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkDescriptorUpdateTemplate, VK_RAW(raw));

    if (!handle || !handle->user) {
        tsm_session_unmodelled("a descriptor update template from before capture", true);
        return NULL;
    }
    return handle->user;
}

/* ---- its data as VkWriteDescriptorSet ------------------------------------------------------- */

/* Targets of a descriptor write: the largest of these for each descriptor. */
union value {
    VkDescriptorImageInfo image;
    VkDescriptorBufferInfo buffer;
    VkBufferView view;
    VkAccelerationStructureKHR structure;
};

union extension {
    VkWriteDescriptorSetInlineUniformBlock bytes;
    VkWriteDescriptorSetAccelerationStructureKHR structures;
    VkWriteDescriptorSetAccelerationStructureNV structures_nv;
};

struct writing {
    const uint8_t *data; /* of the program */
    VkDescriptorSet set;
    union extension *extension; /* the next one that is free */
    uint8_t *values;
};

/* The entry's values, `size` bytes each, one after the other. */
static const void *gather(struct writing *w, const VkDescriptorUpdateTemplateEntry *e, size_t size)
{
    void *first = w->values;

    for (uint32_t i = 0; i < e->descriptorCount; i++, w->values += size)
        memcpy(w->values, w->data + e->offset + i * e->stride, size);
    return first;
}

static const void *extend(struct writing *w, const VkDescriptorUpdateTemplateEntry *e)
{
    union extension *x = w->extension++;

    if (e->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
        x->bytes = (VkWriteDescriptorSetInlineUniformBlock){
            VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK, NULL, e->descriptorCount,
            w->data + e->offset};
    else if (e->descriptorType == VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR)
        x->structures = (VkWriteDescriptorSetAccelerationStructureKHR){
            VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR, NULL,
            e->descriptorCount, gather(w, e, sizeof(VkAccelerationStructureKHR))};
    else
        x->structures_nv = (VkWriteDescriptorSetAccelerationStructureNV){
            VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_NV, NULL,
            e->descriptorCount, gather(w, e, sizeof(VkAccelerationStructureNV))};
    return x;
}

static void fill(struct writing *w, VkWriteDescriptorSet *out,
                 const VkDescriptorUpdateTemplateEntry *e)
{
    *out = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = w->set,
                                  .dstBinding = e->dstBinding,
                                  .dstArrayElement = e->dstArrayElement,
                                  .descriptorCount = e->descriptorCount,
                                  .descriptorType = e->descriptorType};
    switch ((int)e->descriptorType) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        out->pImageInfo = gather(w, e, sizeof(VkDescriptorImageInfo));
        break;
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        out->pTexelBufferView = gather(w, e, sizeof(VkBufferView));
        break;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        out->pBufferInfo = gather(w, e, sizeof(VkDescriptorBufferInfo));
        break;
    case VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
    case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR:
    case VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_NV:
        out->pNext = extend(w, e);
        break;
    default:
        tsm_session_unmodelled("a descriptor type that no update template is known to have", true);
        out->descriptorCount = 0;
        break;
    }
}

/* The writes, which live until the call is committed; NULL: no memory. */
static const VkWriteDescriptorSet *writes_of(struct tsm_call *call, const struct template *t,
                                             VkDescriptorSet set, const void *data)
{
    size_t head = t->count * sizeof(VkWriteDescriptorSet);
    size_t extensions = t->count * sizeof(union extension);
    uint8_t *memory =
        tsm_call_scratch(call, head + extensions + t->value_count * sizeof(union value));
    VkWriteDescriptorSet *writes = (void *)memory;
    struct writing w = {data, set, (void *)(memory + head), memory + head + extensions};

    if (!memory) {
        tsm_call_flag(call, SBT_RECORD_TRUNCATED);
        return NULL;
    }
    for (uint32_t i = 0; i < t->count; i++)
        fill(&w, &writes[i], &t->entries[i]);
    return writes;
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static void record_update(struct tsm_call *call, VkDevice device, VkDescriptorSet set,
                          VkDescriptorUpdateTemplate raw, const void *data)
{
    const struct template *t = find(raw);
    struct vk_args_vkUpdateDescriptorSets args = {.device = device};

    if (t)
        args.pDescriptorWrites = writes_of(call, t, set, data);
    args.descriptorWriteCount = args.pDescriptorWrites ? t->count : 0;
    tsm_call_returned(call, 0, false);
    vk_record(call, VK_COMMAND_vkUpdateDescriptorSets, &args, true);
    tsm_call_commit(call);
}

VKAPI_ATTR void VKAPI_CALL hook_vkUpdateDescriptorSetWithTemplate(
    VkDevice device, VkDescriptorSet descriptorSet,
    VkDescriptorUpdateTemplate descriptorUpdateTemplate, const void *pData)
{
    const struct vk_device_dispatch *next = vk_device_of(device);
    struct tsm_call call;
    bool recorded = tsm_call_begin(&call, TYPE_vkUpdateDescriptorSets);

    next->f.vkUpdateDescriptorSetWithTemplate(device, descriptorSet, descriptorUpdateTemplate,
                                              pData);
    if (recorded)
        record_update(&call, device, descriptorSet, descriptorUpdateTemplate, pData);
}

VKAPI_ATTR void VKAPI_CALL hook_vkUpdateDescriptorSetWithTemplateKHR(
    VkDevice device, VkDescriptorSet descriptorSet,
    VkDescriptorUpdateTemplate descriptorUpdateTemplate, const void *pData)
{
    const struct vk_device_dispatch *next = vk_device_of(device);
    struct tsm_call call;
    bool recorded = tsm_call_begin(&call, TYPE_vkUpdateDescriptorSets);

    next->f.vkUpdateDescriptorSetWithTemplateKHR(device, descriptorSet, descriptorUpdateTemplate,
                                                 pData);
    if (recorded)
        record_update(&call, device, descriptorSet, descriptorUpdateTemplate, pData);
}

VKAPI_ATTR void VKAPI_CALL hook_vkCmdPushDescriptorSetWithTemplateKHR(
    VkCommandBuffer commandBuffer, VkDescriptorUpdateTemplate descriptorUpdateTemplate,
    VkPipelineLayout layout, uint32_t set, const void *pData)
{
    const struct vk_device_dispatch *next = vk_device_of(commandBuffer);
    struct vk_args_vkCmdPushDescriptorSetKHR args = {
        .commandBuffer = commandBuffer, .layout = layout, .set = set};
    const struct template *t;
    struct tsm_call call;
    bool recorded = tsm_call_begin(&call, TYPE_vkCmdPushDescriptorSetKHR);

    next->f.vkCmdPushDescriptorSetWithTemplateKHR(commandBuffer, descriptorUpdateTemplate, layout,
                                                  set, pData);
    if (!recorded)
        return;
    t = find(descriptorUpdateTemplate);
    if (t) {
        args.pipelineBindPoint = t->bind_point;
        args.pDescriptorWrites = writes_of(&call, t, VK_NULL_HANDLE, pData);
        args.descriptorWriteCount = args.pDescriptorWrites ? t->count : 0;
    }
    tsm_call_returned(&call, 0, false);
    vk_record(&call, VK_COMMAND_vkCmdPushDescriptorSetKHR, &args, true);
    tsm_call_commit(&call);
}
