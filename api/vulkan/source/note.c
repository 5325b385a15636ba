/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes facts about objects and calls: streams of queues, polls, and the facts that rules of
 * api/vulkan/tables/valid.c ask for.
 */
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/valid.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"

/* ---- queues -----------------------------------------------------------------------------------
 */

struct tsm_stream *vk_stream(VkQueue queue)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkQueue, VK_RAW(queue));

    if (!handle)
        handle = tsm_handle_add(SBT_API_VULKAN, VK_OBJECT_VkQueue, VK_RAW(queue));
    if (!handle->stream) /* a queue is used by one thread at a time */
        handle->stream = tsm_stream_create(SBT_API_VULKAN);
    return handle->stream;
}

static void note(uint32_t type, uint64_t raw, uintptr_t bits)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_VULKAN, type, raw);

    if (handle)
        handle->user = (void *)bits;
}

void vk_queue_given(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetDeviceQueue *a = args;

    vk_stream(*a->pQueue);
    note(VK_OBJECT_VkQueue, VK_RAW(*a->pQueue), 1 + (uintptr_t)a->queueFamilyIndex);
}

void vk_queue2_given(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetDeviceQueue2 *a = args;

    if (!*a->pQueue) /* flags that no queue was made with */
        return;
    vk_stream(*a->pQueue);
    note(VK_OBJECT_VkQueue, VK_RAW(*a->pQueue), 1 + (uintptr_t)a->pQueueInfo->queueFamilyIndex);
}

/* ---- facts --------------------------------------------------------------------------------------
 */

static uintptr_t noted(uint32_t type, uint64_t raw)
{
    const struct tsm_handle *handle = tsm_handle_find(SBT_API_VULKAN, type, raw);

    return handle ? (uintptr_t)handle->user : 0;
}

void vk_command_buffers_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkAllocateCommandBuffers *a = args;
    uintptr_t bits =
        a->pAllocateInfo->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY ? VK_NOTE_SECONDARY : 0;

    for (uint32_t i = 0; result >= 0 && i < a->pAllocateInfo->commandBufferCount; i++)
        note(VK_OBJECT_VkCommandBuffer, VK_RAW(a->pCommandBuffers[i]), bits);
}

#define NO_DEPTH(subpass) ((uintptr_t)1 << (2 * (subpass) + 1))
#define NO_COLOR(subpass) ((uintptr_t)1 << (2 * (subpass) + 2))
#define SUBPASS_COUNT_MAX 31u

/* Bits of VkSubpassDescription and VkSubpassDescription2, whose members have the same names. */
#define SUBPASS_BITS(count, subpasses)                                                             \
    do {                                                                                           \
        for (uint32_t i = 0; i < (count) && i < SUBPASS_COUNT_MAX; i++) {                          \
            bool color = false;                                                                    \
            for (uint32_t j = 0; j < (subpasses)[i].colorAttachmentCount; j++)                     \
                color |= (subpasses)[i].pColorAttachments[j].attachment != VK_ATTACHMENT_UNUSED;   \
            bits |= color ? 0 : NO_COLOR(i);                                                       \
            if (!(subpasses)[i].pDepthStencilAttachment ||                                         \
                (subpasses)[i].pDepthStencilAttachment->attachment == VK_ATTACHMENT_UNUSED)        \
                bits |= NO_DEPTH(i);                                                               \
        }                                                                                          \
    } while (0)

void vk_render_pass_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCreateRenderPass *a = args;
    uintptr_t bits = 0;

    if (result < 0)
        return;
    SUBPASS_BITS(a->pCreateInfo->subpassCount, a->pCreateInfo->pSubpasses);
    note(VK_OBJECT_VkRenderPass, VK_RAW(*a->pRenderPass), bits);
}

void vk_render_pass2_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCreateRenderPass2 *a = args;
    uintptr_t bits = 0;

    if (result < 0)
        return;
    SUBPASS_BITS(a->pCreateInfo->subpassCount, a->pCreateInfo->pSubpasses);
    note(VK_OBJECT_VkRenderPass, VK_RAW(*a->pRenderPass), bits);
}

static bool secondary(uint64_t command_buffer)
{
    return noted(VK_OBJECT_VkCommandBuffer, command_buffer) & VK_NOTE_SECONDARY;
}

static bool no_depth(uint64_t render_pass, uint32_t subpass)
{
    return subpass < SUBPASS_COUNT_MAX &&
           (noted(VK_OBJECT_VkRenderPass, render_pass) & NO_DEPTH(subpass));
}

static bool no_color(uint64_t render_pass, uint32_t subpass)
{
    return subpass < SUBPASS_COUNT_MAX &&
           (noted(VK_OBJECT_VkRenderPass, render_pass) & NO_COLOR(subpass));
}

/* Bindings with samplers of their own, of a set layout, of each set, and of what a pipeline layout
 * has pushed: a bit each. */
#define BINDING_COUNT_MAX 63u
#define IS_PUSHED         ((uintptr_t)1 << 63)

static uintptr_t immutable_bits(const VkDescriptorSetLayoutCreateInfo *info)
{
    uintptr_t bits =
        info->flags & VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR ? IS_PUSHED : 0;

    for (uint32_t i = 0; i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *b = &info->pBindings[i];
        bool has_samplers = b->descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER ||
                            b->descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
        if (has_samplers && b->descriptorCount && b->pImmutableSamplers &&
            b->binding < BINDING_COUNT_MAX)
            bits |= (uintptr_t)1 << b->binding;
    }
    return bits;
}

void vk_set_layout_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCreateDescriptorSetLayout *a = args;

    if (result >= 0)
        note(VK_OBJECT_VkDescriptorSetLayout, VK_RAW(*a->pSetLayout),
             immutable_bits(a->pCreateInfo));
}

void vk_pipeline_layout_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCreatePipelineLayout *a = args;
    uintptr_t bits = 0, one;

    for (uint32_t i = 0; result >= 0 && i < a->pCreateInfo->setLayoutCount; i++) {
        one = noted(VK_OBJECT_VkDescriptorSetLayout, VK_RAW(a->pCreateInfo->pSetLayouts[i]));
        bits |= one & IS_PUSHED ? one : 0; /* there is one such at most */
    }
    if (bits)
        note(VK_OBJECT_VkPipelineLayout, VK_RAW(*a->pPipelineLayout), bits);
}

void vk_sets_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkAllocateDescriptorSets *a = args;

    for (uint32_t i = 0; result >= 0 && i < a->pAllocateInfo->descriptorSetCount; i++) {
        uintptr_t bits =
            noted(VK_OBJECT_VkDescriptorSetLayout, VK_RAW(a->pAllocateInfo->pSetLayouts[i]));
        if (bits)
            note(VK_OBJECT_VkDescriptorSet, VK_RAW(a->pDescriptorSets[i]), bits);
    }
}

static bool immutable(uint64_t set, uint64_t pipeline_layout, uint32_t binding)
{
    uintptr_t bits = set ? noted(VK_OBJECT_VkDescriptorSet, set)
                         : noted(VK_OBJECT_VkPipelineLayout, pipeline_layout);

    return binding < BINDING_COUNT_MAX && (bits >> binding & 1);
}

const struct vk_facts vk_facts = {secondary, no_depth, no_color, immutable};

/* ---- polls ---------------------------------------------------------------------------------- */

/* Last answers that this thread got about some objects that it asks about in turn. */
#define POLL_COUNT 8u

static __thread struct poll {
    uint64_t question, answer;
} polls[POLL_COUNT] __attribute__((tls_model("initial-exec")));

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Hashes a question: the command and all its input. */
static uint64_t question_of(const struct vk_command *command, const void *args)
{
    const struct vk_member *arguments = &vk_arguments[command->first];
    uint64_t hash = mix(0, command->id + 1u);

    for (uint32_t i = 0; i < command->argument_count; i++) {
        const struct vk_member *m = &arguments[i];
        const char *at = (const char *)args + m->offset;
        size_t size = vk_value_size(m);
        if (m->form == VK_FORM_ONE) {
            hash = mix(hash, vk_load(at, size));
        } else if (m->kind == VK_KIND_HANDLE && !(m->flags & VK_MEMBER_OUT)) {
            uint64_t count = vk_member_count(m, arguments, args);
            for (uint64_t j = 0; j < count; j++)
                hash = mix(hash, vk_load(*(const char *const *)(const void *)at + j * size, size));
        } else if (m->kind == VK_KIND_STRUCT) {
            hash = mix(hash, VK_RAW(*(const void *const *)(const void *)at));
        }
    }
    return hash | 1;
}

/* "Not yet" is a result, or a counter that has not moved. */
static bool is_late(const struct vk_command *command, const void *args, int64_t result,
                    uint64_t *answer)
{
    *answer = (uint64_t)result;
    if (command->id == (TYPE_vkGetSemaphoreCounterValue & 0xffff) ||
        command->id == (TYPE_vkGetSemaphoreCounterValueKHR & 0xffff)) {
        const struct vk_args_vkGetSemaphoreCounterValue *a = args;
        *answer = result < 0 ? 0 : *a->pValue;
        return result >= 0;
    }
    return result == VK_NOT_READY || result == VK_TIMEOUT || result == VK_EVENT_RESET;
}

bool vk_polled_again(uint32_t command, const void *args, int64_t result)
{
    const struct vk_command *c = &vk_commands[command];
    uint64_t answer, question = question_of(c, args);
    struct poll *poll = &polls[question / 2 % POLL_COUNT];
    bool late = is_late(c, args, result, &answer);
    bool again = late && poll->question == question && poll->answer == answer;

    *poll = (struct poll){late ? question : 0, answer};
    return again;
}
