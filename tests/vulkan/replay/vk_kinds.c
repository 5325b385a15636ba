/* SPDX-License-Identifier: Apache-2.0
 *
 * One of many programs: `vk_kinds KIND WAY MEMORY`.
 *
 * KIND, how a shader reaches what it writes, and where its constant is: storage, dynamic (offset),
 * template, push, push-template, copied (descriptors), texel, reads (a uniform texel buffer),
 * image, inline (uniform block), after (an inline block that is written after it was bound),
 * address.
 *
 * WAY, how the program learns that work is done: fence, status, queue, device, timeline, counter,
 * event, query; none: it does not, and ends.
 *
 * MEMORY of what is written: mapped, again (mapped after each wait), unread, kept (not even freed),
 * imported (the program's own), exportable, dedicated (made for the buffer or image alone).
 *
 * Each round the host writes what the device reads, as soon as it may, and prints what it reads.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>
#include <sys/mman.h>

#include "vk_kinds_address.h"
#include "vk_kinds_image.h"
#include "vk_kinds_inline.h"
#include "vk_kinds_reads.h"
#include "vk_kinds_storage.h"
#include "vk_kinds_texel.h"

#define ROUNDS             3u
#define BYTES              (WORDS * 4)
#define OFFSET             256u /* of dynamic descriptors */
#define FIND(device, name) ((PFN_##name)vkGetDeviceProcAddr(device, #name))

enum shader { STORAGE, TEXEL, IMAGE, INLINE, ADDRESS, READS };
enum how { SETS, DYNAMIC, TEMPLATE, PUSH, PUSH_TEMPLATE, COPIED, AFTER, NO_SETS };

static const struct kind {
    const char *name;
    enum shader shader;
    enum how how;
} kinds[] = {{"storage", STORAGE, SETS},
             {"dynamic", STORAGE, DYNAMIC},
             {"template", STORAGE, TEMPLATE},
             {"push", STORAGE, PUSH},
             {"push-template", STORAGE, PUSH_TEMPLATE},
             {"copied", STORAGE, COPIED},
             {"texel", TEXEL, SETS},
             {"reads", READS, SETS},
             {"image", IMAGE, SETS},
             {"inline", INLINE, SETS},
             {"after", INLINE, AFTER},
             {"address", ADDRESS, NO_SETS}};

static const struct {
    const uint32_t *code;
    size_t size;
} shaders[] = {[STORAGE] = {vk_kinds_storage, sizeof(vk_kinds_storage)},
               [TEXEL] = {vk_kinds_texel, sizeof(vk_kinds_texel)},
               [IMAGE] = {vk_kinds_image, sizeof(vk_kinds_image)},
               [INLINE] = {vk_kinds_inline, sizeof(vk_kinds_inline)},
               [ADDRESS] = {vk_kinds_address, sizeof(vk_kinds_address)},
               [READS] = {vk_kinds_reads, sizeof(vk_kinds_reads)}};

struct program {
    struct small s;
    const struct kind *kind;
    const char *way, *memory;
    struct words in;
    VkBuffer buffer; /* what is written; or the image */
    VkImage image;
    VkDeviceMemory bound;
    uint64_t size; /* of the memory */
    uint32_t *map; /* NULL: not mapped */
    VkImageView image_view;
    VkBufferView views[2]; /* of what is written, of `in` */
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool sets;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkCommandBuffer commands;
    VkFence fence;
    VkSemaphore timeline;
    VkEvent event;
    VkQueryPool queries;
};

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* ---- the device -------------------------------------------------------------------------------
 */

static const char *wanted_memory;

static void with_features(VkDeviceCreateInfo *info)
{
    static VkPhysicalDeviceInlineUniformBlockFeatures blocks = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INLINE_UNIFORM_BLOCK_FEATURES,
        .inlineUniformBlock = VK_TRUE,
        .descriptorBindingInlineUniformBlockUpdateAfterBind = VK_TRUE};
    static VkPhysicalDeviceBufferDeviceAddressFeatures addresses = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
        .pNext = &blocks,
        .bufferDeviceAddress = VK_TRUE};
    static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &addresses,
        .timelineSemaphore = VK_TRUE};
    static const char *names[] = {"VK_KHR_push_descriptor", "VK_EXT_inline_uniform_block", NULL};

    if (is(wanted_memory, "imported"))
        names[2] = "VK_EXT_external_memory_host";
    if (is(wanted_memory, "exportable"))
        names[2] = "VK_KHR_external_memory_fd";
    info->pNext = &timeline;
    info->enabledExtensionCount = names[2] ? 3 : 2;
    info->ppEnabledExtensionNames = names;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Local memory where it cannot be mapped anyway. */
static uint32_t memory_type(const struct program *p, uint32_t bits)
{
    int is_mapped = is(p->memory, "mapped") || is(p->memory, "again") || is(p->memory, "imported");
    VkPhysicalDeviceMemoryProperties memory;

    vkGetPhysicalDeviceMemoryProperties(p->s.physical, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if ((bits >> i & 1) && (!is_mapped || (memory.memoryTypes[i].propertyFlags &
                                               VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)))
            return i;
    exit(77);
}

static void make_memory(struct program *p, VkMemoryRequirements needs)
{
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                         .handleTypes =
                                             VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryDedicatedAllocateInfo dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .buffer = p->buffer,
                                               .image = p->image};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};

    p->size = is(p->memory, "dedicated") ? needs.size : (needs.size + 4095) & ~(uint64_t)4095;
    info.allocationSize = p->size;
    info.memoryTypeIndex = memory_type(p, needs.memoryTypeBits);
    if (p->kind->shader == ADDRESS)
        info.pNext = &flags;
    if (is(p->memory, "imported")) {
        p->map = import.pHostPointer =
            mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        import.pNext = info.pNext;
        info.pNext = &import;
    }
    if (is(p->memory, "exportable")) {
        export.pNext = info.pNext;
        info.pNext = &export;
    }
    if (is(p->memory, "dedicated")) { /* after the others */
        flags.pNext = info.pNext ? &dedicated : NULL;
        info.pNext = info.pNext ? info.pNext : &dedicated;
    }
    TRY(vkAllocateMemory(p->s.device, &info, NULL, &p->bound));
    if (is(p->memory, "mapped"))
        TRY(vkMapMemory(p->s.device, p->bound, 0, VK_WHOLE_SIZE, 0, (void **)&p->map));
}

static void make_image(struct program *p)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R32_UINT,
                              .extent = {32, WORDS / 32, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage =
                                  VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = VK_FORMAT_R32_UINT,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkMemoryRequirements needs;

    TRY(vkCreateImage(p->s.device, &info, NULL, &p->image));
    vkGetImageMemoryRequirements(p->s.device, p->image, &needs);
    make_memory(p, needs);
    TRY(vkBindImageMemory(p->s.device, p->image, p->bound, 0));
    view.image = p->image;
    TRY(vkCreateImageView(p->s.device, &view, NULL, &p->image_view));
}

static void make_buffer(struct program *p)
{
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = is(p->memory, "imported")
                           ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
                           : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = is(p->memory, "imported") || is(p->memory, "exportable") ? &external : NULL,
        .size = BYTES + OFFSET,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
                 (p->kind->shader == ADDRESS ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0)};
    VkMemoryRequirements needs;

    TRY(vkCreateBuffer(p->s.device, &info, NULL, &p->buffer));
    vkGetBufferMemoryRequirements(p->s.device, p->buffer, &needs);
    make_memory(p, needs);
    TRY(vkBindBufferMemory(p->s.device, p->buffer, p->bound, 0));
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

static VkDescriptorType type_of(const struct kind *k)
{
    switch (k->shader) {
    case TEXEL:
        return VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
    case IMAGE:
        return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    default:
        return k->how == DYNAMIC ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
                                 : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    }
}

static void make_layout(struct program *p)
{
    int has_block = p->kind->shader == INLINE, has_source = p->kind->shader == READS;
    VkDescriptorBindingFlags flags[2] = {0, VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT};
    VkDescriptorSetLayoutBindingFlagsCreateInfo after = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
        .bindingCount = 2,
        .pBindingFlags = flags};
    VkDescriptorSetLayoutBinding bindings[2] = {
        {0, type_of(p->kind), 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1,
         has_block ? VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK
                   : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
         has_block ? 16 : 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    VkDescriptorSetLayoutCreateInfo info = {.sType =
                                                VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .bindingCount = 1 + (uint32_t)(has_block || has_source),
                                            .pBindings = bindings};
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 16};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = p->kind->how != NO_SETS,
                                         .pSetLayouts = &p->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &range};

    if (p->kind->how == AFTER) {
        info.pNext = &after;
        info.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
    }
    if (p->kind->how == PUSH || p->kind->how == PUSH_TEMPLATE)
        info.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
    TRY(vkCreateDescriptorSetLayout(p->s.device, &info, NULL, &p->set_layout));
    TRY(vkCreatePipelineLayout(p->s.device, &layout, NULL, &p->layout));
}

static void make_pool(struct program *p)
{
    VkDescriptorPoolInlineUniformBlockCreateInfo blocks = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
        .maxInlineUniformBlockBindings = 4};
    VkDescriptorPoolSize sizes[] = {{type_of(p->kind), 4},
                                    {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 4},
                                    {VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 64}};
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .pNext = &blocks,
        .flags = p->kind->how == AFTER ? VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT : 0,
        .maxSets = 4,
        .poolSizeCount = 3,
        .pPoolSizes = sizes};

    TRY(vkCreateDescriptorPool(p->s.device, &info, NULL, &p->sets));
}

static VkDescriptorSet make_set(const struct program *p)
{
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = p->sets,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &p->set_layout};
    VkDescriptorSet set;

    TRY(vkAllocateDescriptorSets(p->s.device, &info, &set));
    return set;
}

static VkBufferView make_view(const struct program *p, VkBuffer buffer)
{
    VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                   .buffer = buffer,
                                   .format = VK_FORMAT_R32_UINT,
                                   .range = BYTES};
    VkBufferView view;

    TRY(vkCreateBufferView(p->s.device, &info, NULL, &view));
    return view;
}

/* Content of binding 0. */
struct what {
    VkDescriptorBufferInfo buffer;
    VkDescriptorImageInfo image;
    VkWriteDescriptorSet write;
};

static void describe(const struct program *p, VkDescriptorSet set, struct what *w)
{
    w->buffer = (VkDescriptorBufferInfo){p->buffer, 0, BYTES};
    w->image = (VkDescriptorImageInfo){VK_NULL_HANDLE, p->image_view, VK_IMAGE_LAYOUT_GENERAL};
    w->write = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .descriptorCount = 1,
                                      .descriptorType = type_of(p->kind),
                                      .pImageInfo = &w->image,
                                      .pBufferInfo = &w->buffer,
                                      .pTexelBufferView = &p->views[0]};
}

static VkDescriptorUpdateTemplate make_template(const struct program *p)
{
    VkDescriptorUpdateTemplateEntry entry = {.descriptorCount = 1,
                                             .descriptorType = type_of(p->kind)};
    VkDescriptorUpdateTemplateCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
        .descriptorUpdateEntryCount = 1,
        .pDescriptorUpdateEntries = &entry,
        .templateType = p->kind->how == TEMPLATE
                            ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET
                            : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR,
        .descriptorSetLayout = p->set_layout,
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
        .pipelineLayout = p->layout};
    VkDescriptorUpdateTemplate out;

    TRY(vkCreateDescriptorUpdateTemplate(p->s.device, &info, NULL, &out));
    return out;
}

static void write_block(const struct program *p, uint32_t constant)
{
    uint32_t words[4] = {constant};
    VkWriteDescriptorSetInlineUniformBlock block = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
        .dataSize = 16,
        .pData = words};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .pNext = &block,
                                  .dstSet = p->set,
                                  .dstBinding = 1,
                                  .descriptorCount = 16,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK};

    vkUpdateDescriptorSets(p->s.device, 1, &write, 0, NULL);
}

static void write_source(const struct program *p)
{
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = p->set,
                                  .dstBinding = 1,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
                                  .pTexelBufferView = &p->views[1]};

    vkUpdateDescriptorSets(p->s.device, 1, &write, 0, NULL);
}

static void fill_set(struct program *p)
{
    VkDescriptorUpdateTemplate template;
    VkCopyDescriptorSet copy = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                .descriptorCount = 1};
    struct what w;

    p->set = make_set(p);
    describe(p, p->set, &w);
    if (p->kind->how == TEMPLATE) {
        template = make_template(p);
        vkUpdateDescriptorSetWithTemplate(p->s.device, p->set, template, &w.buffer);
        vkDestroyDescriptorUpdateTemplate(p->s.device, template, NULL);
    } else if (p->kind->how == COPIED) {
        copy.dstSet = p->set;
        copy.srcSet = w.write.dstSet = make_set(p);
        vkUpdateDescriptorSets(p->s.device, 1, &w.write, 0, NULL);
        vkUpdateDescriptorSets(p->s.device, 0, NULL, 1, &copy);
    } else {
        vkUpdateDescriptorSets(p->s.device, 1, &w.write, 0, NULL);
    }
    if (p->kind->shader == READS)
        write_source(p);
}

static void bind_sets(const struct program *p, VkCommandBuffer commands)
{
    const uint32_t offset = OFFSET;
    VkDescriptorUpdateTemplate template;
    struct what w;

    describe(p, VK_NULL_HANDLE, &w);
    switch (p->kind->how) {
    case NO_SETS:
        break;
    case PUSH:
        FIND(p->s.device, vkCmdPushDescriptorSetKHR)
        (commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &w.write);
        break;
    case PUSH_TEMPLATE:
        template = make_template(p);
        FIND(p->s.device, vkCmdPushDescriptorSetWithTemplateKHR)
        (commands, template, p->layout, 0, &w.buffer);
        vkDestroyDescriptorUpdateTemplate(p->s.device, template, NULL);
        break;
    default:
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &p->set,
                                p->kind->how == DYNAMIC, &offset);
    }
}

/* ---- commands ---------------------------------------------------------------------------------
 */

static void order(VkCommandBuffer commands)
{
    VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                           .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                           .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    const VkPipelineStageFlags stages =
        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;

    vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
}

static void copy_in(const struct program *p, VkCommandBuffer commands)
{
    VkBufferCopy all = {.dstOffset = p->kind->how == DYNAMIC ? OFFSET : 0, .size = BYTES};
    VkBufferImageCopy texels = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {32, WORDS / 32, 1}};
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                    .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = p->image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    if (p->image) {
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                             VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
        vkCmdCopyBufferToImage(commands, p->in.buffer, p->image, VK_IMAGE_LAYOUT_GENERAL, 1,
                               &texels);
    } else {
        vkCmdCopyBuffer(commands, p->in.buffer, p->buffer, 1, &all);
    }
    order(commands);
}

static void push_constants(const struct program *p, VkCommandBuffer commands, uint32_t constant)
{
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                      .buffer = p->buffer};
    struct {
        uint64_t address;
        uint32_t constant, unused;
    } constants = {0, constant, 0};

    if (p->kind->shader == ADDRESS) {
        constants.address = vkGetBufferDeviceAddress(p->s.device, &info);
        vkCmdPushConstants(commands, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 16, &constants);
    } else {
        vkCmdPushConstants(commands, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &constant);
    }
}

static void record(struct program *p, uint32_t round)
{
    VkCommandBuffer commands = p->commands;

    small_begin(commands);
    if (is(p->way, "query"))
        vkCmdResetQueryPool(commands, p->queries, 0, 1);
    order(commands);
    copy_in(p, commands);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    bind_sets(p, commands);
    push_constants(p, commands, round + 1);
    vkCmdDispatch(commands, WORDS / 64, 1, 1);
    order(commands);
    if (is(p->way, "event"))
        vkCmdSetEvent(commands, p->event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    if (is(p->way, "query"))
        vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, p->queries, 0);
    TRY(vkEndCommandBuffer(commands));
}

static void make_pipeline(struct program *p)
{
    VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = shaders[p->kind->shader].size,
                                     .pCode = shaders[p->kind->shader].code};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = "main"},
        .layout = p->layout};

    TRY(vkCreateShaderModule(p->s.device, &code, NULL, &info.stage.module));
    TRY(vkCreateComputePipelines(p->s.device, VK_NULL_HANDLE, 1, &info, NULL, &p->pipeline));
    vkDestroyShaderModule(p->s.device, info.stage.module, NULL);
}

/* ---- ways to wait -----------------------------------------------------------------------------
 */

static void make_ways(struct program *p)
{
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkEventCreateInfo event = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 1};

    TRY(vkCreateFence(p->s.device, &fence, NULL, &p->fence));
    TRY(vkCreateEvent(p->s.device, &event, NULL, &p->event));
    TRY(vkCreateQueryPool(p->s.device, &queries, NULL, &p->queries));
    p->timeline = timeline_make(&p->s);
}

static void send_one(const struct program *p, uint32_t round)
{
    int has_timeline = is(p->way, "timeline") || is(p->way, "counter");
    int has_fence = is(p->way, "fence") || is(p->way, "status");
    const uint64_t value = round + 1;
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = has_timeline ? &values : NULL,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &p->commands,
                         .signalSemaphoreCount = (uint32_t)has_timeline,
                         .pSignalSemaphores = &p->timeline};

    TRY(vkQueueSubmit(p->s.queue, 1, &info, has_fence ? p->fence : VK_NULL_HANDLE));
}

static void await_counter(const struct program *p, uint64_t wanted)
{
    uint64_t value = 0;

    while (value < wanted)
        TRY(vkGetSemaphoreCounterValue(p->s.device, p->timeline, &value));
}

static void await_query(const struct program *p)
{
    uint64_t words[2] = {0};

    while (vkGetQueryPoolResults(p->s.device, p->queries, 0, 1, sizeof(words), words, 16,
                                 VK_QUERY_RESULT_64_BIT) == VK_NOT_READY)
        ;
}

static void await(const struct program *p, uint32_t round)
{
    VkDevice d = p->s.device;

    if (is(p->way, "fence"))
        TRY(vkWaitForFences(d, 1, &p->fence, VK_TRUE, UINT64_MAX));
    else if (is(p->way, "status"))
        while (vkGetFenceStatus(d, p->fence) == VK_NOT_READY)
            ;
    else if (is(p->way, "queue"))
        TRY(vkQueueWaitIdle(p->s.queue));
    else if (is(p->way, "device"))
        TRY(vkDeviceWaitIdle(d));
    else if (is(p->way, "timeline"))
        timeline_await(&p->s, p->timeline, round + 1);
    else if (is(p->way, "counter"))
        await_counter(p, round + 1);
    else if (is(p->way, "event"))
        while (vkGetEventStatus(d, p->event) != VK_EVENT_SET)
            ;
    else if (is(p->way, "query"))
        await_query(p);
    else
        exit(2);
    if (is(p->way, "fence") || is(p->way, "status"))
        TRY(vkResetFences(d, 1, &p->fence));
    if (is(p->way, "event"))
        TRY(vkResetEvent(d, p->event));
}

/* ---- rounds -----------------------------------------------------------------------------------
 */

/* How the texels of an image lie is the driver's to choose; after them nobody writes. */
static uint32_t sum_of(const struct program *p)
{
    const uint32_t *words = p->map + (p->kind->how == DYNAMIC ? OFFSET / 4 : 0);
    uint32_t sum = 0;

    for (uint32_t i = 0; i < WORDS; i++)
        sum = sum * 31 + words[i];
    return sum;
}

static void look(struct program *p, uint32_t round)
{
    if (is(p->memory, "again"))
        TRY(vkMapMemory(p->s.device, p->bound, 0, VK_WHOLE_SIZE, 0, (void **)&p->map));
    printf("round %u: %08x\n", round, p->map ? sum_of(p) : 0);
    if (is(p->memory, "again")) {
        vkUnmapMemory(p->s.device, p->bound);
        p->map = NULL;
    }
}

static void make(struct program *p)
{
    small_device = with_features;
    wanted_memory = p->memory;
    small_init(&p->s, 0);
    words_init(&p->s, &p->in);
    vkDestroyBuffer(p->s.device, p->in.buffer, NULL);
    TRY(vkCreateBuffer(p->s.device,
                       &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                             .size = BYTES,
                                             .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                      VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT},
                       NULL, &p->in.buffer));
    TRY(vkBindBufferMemory(p->s.device, p->in.buffer, p->in.memory, 0));
    if (p->kind->shader == IMAGE)
        make_image(p);
    else
        make_buffer(p);
    if (p->kind->shader == TEXEL)
        p->views[0] = make_view(p, p->buffer);
    if (p->kind->shader == READS)
        p->views[1] = make_view(p, p->in.buffer);
    make_layout(p);
    make_pool(p);
    if (p->kind->how != PUSH && p->kind->how != PUSH_TEMPLATE && p->kind->how != NO_SETS)
        fill_set(p);
    make_pipeline(p);
    make_ways(p);
    p->commands = small_command_buffer(&p->s, p->s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
}

static void finish(struct program *p)
{
    VkDevice d = p->s.device;

    if (is(p->way, "event") || is(p->way, "query"))
        TRY(vkQueueWaitIdle(p->s.queue)); /* what they told was not quite the end */
    vkDestroyQueryPool(d, p->queries, NULL);
    vkDestroyEvent(d, p->event, NULL);
    vkDestroyFence(d, p->fence, NULL);
    vkDestroySemaphore(d, p->timeline, NULL);
    vkDestroyPipeline(d, p->pipeline, NULL);
    vkDestroyPipelineLayout(d, p->layout, NULL);
    vkDestroyDescriptorPool(d, p->sets, NULL);
    vkDestroyDescriptorSetLayout(d, p->set_layout, NULL);
    for (int i = 0; i < 2; i++)
        vkDestroyBufferView(d, p->views[i], NULL);
    vkDestroyImageView(d, p->image_view, NULL);
    vkDestroyImage(d, p->image, NULL);
    vkDestroyBuffer(d, p->buffer, NULL);
    vkFreeMemory(d, p->bound, NULL);
    words_finish(&p->s, &p->in);
    small_finish(&p->s);
}

static void run(struct program *p)
{
    make(p);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < WORDS; i++)
            p->in.map[i] = i * (round + 5);
        if (p->kind->shader == INLINE && p->kind->how != AFTER)
            write_block(p, round + 7);
        record(p, round);
        if (p->kind->how == AFTER)
            write_block(p, round + 9);
        send_one(p, round);
        if (is(p->way, "none"))
            exit(0);
        await(p, round);
        look(p, round);
    }
    if (!is(p->memory, "kept"))
        finish(p);
}

int main(int argc, char **argv)
{
    struct program p = {.kind = kinds};

    if (argc != 4)
        return 2;
    while (!is(p.kind->name, argv[1]))
        if (++p.kind == kinds + sizeof(kinds) / sizeof(kinds[0]))
            return 2;
    p.way = argv[2];
    p.memory = argv[3];
    run(&p);
    return 0;
}
