/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/valid.h"

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_ids.h"
#include "api/vulkan/vulkan_rules.h"

/* The struct that the rule is about. */
#define OWNER(Type, name) const Type *name = scope->memory

/* ---- what is around ----------------------------------------------------------------------------
 */

static const void *around(const struct vk_scope *scope, VkStructureType stype)
{
    for (scope = scope->up; scope; scope = scope->up)
        if (scope->type && (scope->type->flags & VK_STRUCT_TYPED) &&
            scope->type->stype == (int)stype)
            return scope->memory;
    return NULL;
}

static const void *chained(const void *next, VkStructureType stype)
{
    for (const VkBaseInStructure *s = next; s; s = s->pNext)
        if (s->sType == stype)
            return s;
    return NULL;
}

/* The pipeline that state is part of; NULL: none. */
static const VkGraphicsPipelineCreateInfo *pipeline_of(const struct vk_scope *scope)
{
    return around(scope, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO);
}

/* ---- sharing: 12.1 VkBufferCreateInfo, 12.3 VkImageCreateInfo, 34.10 VkSwapchainCreateInfoKHR
 * ---- */

bool vk_valid_buffer_families(const struct vk_scope *scope)
{
    OWNER(VkBufferCreateInfo, s);
    return s->sharingMode == VK_SHARING_MODE_CONCURRENT;
}

bool vk_valid_image_families(const struct vk_scope *scope)
{
    OWNER(VkImageCreateInfo, s);
    return s->sharingMode == VK_SHARING_MODE_CONCURRENT;
}

bool vk_valid_swapchain_families(const struct vk_scope *scope)
{
    OWNER(VkSwapchainCreateInfoKHR, s);
    return s->imageSharingMode == VK_SHARING_MODE_CONCURRENT;
}

/* VkPhysicalDeviceImageDrmFormatModifierInfoEXT */
bool vk_valid_modifier_families(const struct vk_scope *scope)
{
    OWNER(VkPhysicalDeviceImageDrmFormatModifierInfoEXT, s);
    return s->sharingMode == VK_SHARING_MODE_CONCURRENT;
}

/* 12.3: only images of an explicitly chosen fixed rate have rates. */
bool vk_valid_fixed_rates(const struct vk_scope *scope)
{
    OWNER(VkImageCompressionControlEXT, s);
    return s->flags == VK_IMAGE_COMPRESSION_FIXED_RATE_EXPLICIT_EXT;
}

/* VkBindImageMemoryInfo: the memory of a swapchain's image is the swapchain's. */
bool vk_valid_bound_memory(const struct vk_scope *scope)
{
    OWNER(VkBindImageMemoryInfo, s);
    return !chained(s->pNext, VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR);
}

/* ---- descriptors: 14.2 -------------------------------------------------------------------------
 */

/* VkDescriptorSetLayoutBinding */
bool vk_valid_immutable_samplers(const struct vk_scope *scope)
{
    OWNER(VkDescriptorSetLayoutBinding, s);
    return s->descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER ||
           s->descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
}

/* VkWriteDescriptorSet: which of the arrays the type of the descriptors means. */
enum descriptor_content { CONTENT_OTHER, CONTENT_IMAGE, CONTENT_BUFFER, CONTENT_TEXEL };

static enum descriptor_content content_of(VkDescriptorType type)
{
    switch ((int)type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
    case VK_DESCRIPTOR_TYPE_SAMPLE_WEIGHT_IMAGE_QCOM:
    case VK_DESCRIPTOR_TYPE_BLOCK_MATCH_IMAGE_QCOM:
        return CONTENT_IMAGE;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        return CONTENT_BUFFER;
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        return CONTENT_TEXEL;
    default:
        return CONTENT_OTHER;
    }
}

bool vk_valid_image_info(const struct vk_scope *scope)
{
    OWNER(VkWriteDescriptorSet, s);
    return content_of(s->descriptorType) == CONTENT_IMAGE;
}

bool vk_valid_buffer_info(const struct vk_scope *scope)
{
    OWNER(VkWriteDescriptorSet, s);
    return content_of(s->descriptorType) == CONTENT_BUFFER;
}

bool vk_valid_texel_buffer_view(const struct vk_scope *scope)
{
    OWNER(VkWriteDescriptorSet, s);
    return content_of(s->descriptorType) == CONTENT_TEXEL;
}

/* 14.2.5: a push names no set. */
bool vk_valid_written_set(const struct vk_scope *scope)
{
    const struct vk_command *command = scope->up ? scope->up->command : NULL;
    return !command || command->id != (TYPE_vkCmdPushDescriptorSetKHR & 0xffff);
}

/* The type of the descriptors that a VkDescriptorImageInfo is for. */
static VkDescriptorType type_around(const struct vk_scope *scope)
{
    const VkWriteDescriptorSet *write = around(scope, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    const VkDescriptorGetInfoEXT *get = around(scope, VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT);

    return write ? write->descriptorType : get ? get->type : VK_DESCRIPTOR_TYPE_MAX_ENUM;
}

/* The layout that descriptors are pushed for; 0: none are. */
static uint64_t pushed_layout(const struct vk_scope *scope)
{
    const struct vk_args_vkCmdPushDescriptorSetKHR *push;

    while (scope && !scope->command)
        scope = scope->up;
    if (!scope || scope->command->id != (TYPE_vkCmdPushDescriptorSetKHR & 0xffff))
        return 0;
    push = scope->memory;
    return (uint64_t)(uintptr_t)push->layout;
}

static bool has_own_sampler(const struct vk_scope *scope)
{
    const VkWriteDescriptorSet *write = around(scope, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    uint64_t layout = pushed_layout(scope);

    return write && vk_facts.immutable &&
           vk_facts.immutable(layout ? 0 : (uint64_t)(uintptr_t)write->dstSet, layout,
                              write->dstBinding);
}

/* VkDescriptorImageInfo. Of samplers that the layout has already, the sampler is ignored as well.
 */
bool vk_valid_image_sampler(const struct vk_scope *scope)
{
    VkDescriptorType type = type_around(scope);

    if (type == VK_DESCRIPTOR_TYPE_MAX_ENUM)
        return true;
    return (type == VK_DESCRIPTOR_TYPE_SAMPLER ||
            type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER) &&
           !has_own_sampler(scope);
}

bool vk_valid_image_view(const struct vk_scope *scope)
{
    return type_around(scope) != VK_DESCRIPTOR_TYPE_SAMPLER;
}

/* 14.2.7 VkDescriptorUpdateTemplateCreateInfo */
bool vk_valid_template_set_layout(const struct vk_scope *scope)
{
    OWNER(VkDescriptorUpdateTemplateCreateInfo, s);
    return s->templateType == VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
}

bool vk_valid_template_layout(const struct vk_scope *scope)
{
    OWNER(VkDescriptorUpdateTemplateCreateInfo, s);
    return s->templateType == VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR;
}

/* ---- command buffers: 6.4, 8.3 -----------------------------------------------------------------
 */

/* VkCommandBufferBeginInfo: "if this is a primary command buffer, then this value is ignored". */
bool vk_valid_inheritance(const struct vk_scope *scope)
{
    const struct vk_scope *up = scope->up;
    const struct vk_args_vkBeginCommandBuffer *args = up && up->command ? up->memory : NULL;

    return args && vk_facts.secondary &&
           vk_facts.secondary((uint64_t)(uintptr_t)args->commandBuffer);
}

/* VkCommandBufferInheritanceInfo: only inside a render pass. */
bool vk_valid_inherited_pass(const struct vk_scope *scope)
{
    const VkCommandBufferBeginInfo *begin =
        around(scope, VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    return !begin || (begin->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT);
}

/* VkCommandBufferInheritanceViewportScissorInfoNV */
bool vk_valid_viewport_depths(const struct vk_scope *scope)
{
    OWNER(VkCommandBufferInheritanceViewportScissorInfoNV, s);
    return s->viewportScissor2D;
}

/* 8.3 VkFramebufferCreateInfo */
bool vk_valid_framebuffer_attachments(const struct vk_scope *scope)
{
    OWNER(VkFramebufferCreateInfo, s);
    return !(s->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT);
}

/* ---- rendering: 8.2 VkRenderingInfo, VkRenderingAttachmentInfo ---------------------------------
 */

bool vk_valid_rendering_view(const struct vk_scope *scope)
{
    OWNER(VkRenderingAttachmentInfo, s);
    return s->imageView != VK_NULL_HANDLE;
}

bool vk_valid_rendering_resolve(const struct vk_scope *scope)
{
    OWNER(VkRenderingAttachmentInfo, s);
    return s->imageView != VK_NULL_HANDLE && s->resolveMode != VK_RESOLVE_MODE_NONE;
}

bool vk_valid_rendering_clear(const struct vk_scope *scope)
{
    OWNER(VkRenderingAttachmentInfo, s);
    return s->imageView != VK_NULL_HANDLE && s->loadOp == VK_ATTACHMENT_LOAD_OP_CLEAR;
}

bool vk_valid_rendering_layers(const struct vk_scope *scope)
{
    OWNER(VkRenderingInfo, s);
    return s->viewMask == 0;
}

/* ---- samplers: 13.1, sparse memory: 33.7.2, imported memory: 11.2.3 -----------------------------
 */

bool vk_valid_anisotropy(const struct vk_scope *scope)
{
    OWNER(VkSamplerCreateInfo, s);
    return s->anisotropyEnable;
}

bool vk_valid_sampler_compare(const struct vk_scope *scope)
{
    OWNER(VkSamplerCreateInfo, s);
    return s->compareEnable;
}

bool vk_valid_sparse_offset(const struct vk_scope *scope)
{
    OWNER(VkSparseMemoryBind, s);
    return s->memory != VK_NULL_HANDLE;
}

bool vk_valid_sparse_image_offset(const struct vk_scope *scope)
{
    OWNER(VkSparseImageMemoryBind, s);
    return s->memory != VK_NULL_HANDLE;
}

bool vk_valid_imported_fd(const struct vk_scope *scope)
{
    OWNER(VkImportMemoryFdInfoKHR, s);
    return s->handleType != 0;
}

/* ---- pipelines: 10.2, 10.3 ---------------------------------------------------------------------
 */

static bool is_dynamic(const VkGraphicsPipelineCreateInfo *pipeline, VkDynamicState state)
{
    const VkPipelineDynamicStateCreateInfo *dynamic = pipeline ? pipeline->pDynamicState : NULL;

    for (uint32_t i = 0; dynamic && dynamic->pDynamicStates && i < dynamic->dynamicStateCount; i++)
        if (dynamic->pDynamicStates[i] == state)
            return true;
    return false;
}

/* 10.3, VkGraphicsPipelineLibraryCreateInfoEXT: the subsets of state that are given here. */
static VkFlags subsets_of(const VkGraphicsPipelineCreateInfo *pipeline)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *library =
        chained(pipeline->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    const VkPipelineLibraryCreateInfoKHR *linked =
        chained(pipeline->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);

    if (library)
        return library->flags;
    if ((pipeline->flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) || (linked && linked->libraryCount))
        return 0;
    return ~0u;
}

static bool has_subset(const VkGraphicsPipelineCreateInfo *pipeline, VkFlags subset)
{
    return (subsets_of(pipeline) & subset) != 0;
}

#define VERTEX_INPUT  VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT
#define BEFORE_RASTER VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT
#define FRAGMENT      VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT
#define OUTPUT        VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT

static VkFlags stages_of(const VkGraphicsPipelineCreateInfo *pipeline)
{
    VkFlags stages = 0;

    if (has_subset(pipeline, BEFORE_RASTER | FRAGMENT) && pipeline->pStages)
        for (uint32_t i = 0; i < pipeline->stageCount; i++)
            stages |= pipeline->pStages[i].stage;
    return stages;
}

/* Tests whether the pipeline discards all rasterization, whatever the program does later. Returns
 * false for a library without that state. */
static bool discards(const VkGraphicsPipelineCreateInfo *pipeline)
{
    return has_subset(pipeline, BEFORE_RASTER) && pipeline->pRasterizationState &&
           pipeline->pRasterizationState->rasterizerDiscardEnable &&
           !is_dynamic(pipeline, VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE);
}

bool vk_valid_stages(const struct vk_scope *scope)
{
    return has_subset(scope->memory, BEFORE_RASTER | FRAGMENT);
}

bool vk_valid_vertex_input(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    return has_subset(s, VERTEX_INPUT) && !(stages_of(s) & VK_SHADER_STAGE_MESH_BIT_EXT) &&
           !is_dynamic(s, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT);
}

bool vk_valid_input_assembly(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    return has_subset(s, VERTEX_INPUT) && !(stages_of(s) & VK_SHADER_STAGE_MESH_BIT_EXT);
}

#define TESSELLATION                                                                               \
    (VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT | VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT)

bool vk_valid_tessellation(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    return has_subset(s, BEFORE_RASTER) && (stages_of(s) & TESSELLATION) == TESSELLATION;
}

bool vk_valid_viewport_state(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    return has_subset(s, BEFORE_RASTER) && !discards(s);
}

bool vk_valid_rasterization(const struct vk_scope *scope)
{
    return has_subset(scope->memory, BEFORE_RASTER);
}

bool vk_valid_multisample(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    return has_subset(s, FRAGMENT | OUTPUT) && !discards(s);
}

static const VkPipelineRenderingCreateInfo *rendering_of(const VkGraphicsPipelineCreateInfo *s)
{
    return s->renderPass ? NULL
                         : chained(s->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
}

/* "... or if the subpass of the render pass the pipeline is created against does not use a
 * depth/stencil attachment" */
bool vk_valid_depth_stencil(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    const VkPipelineRenderingCreateInfo *rendering = rendering_of(s);

    if (!has_subset(s, FRAGMENT) || discards(s))
        return false;
    /* A part that is linked later does not say the formats. */
    if (!s->renderPass && has_subset(s, OUTPUT))
        return rendering &&
               (rendering->depthAttachmentFormat || rendering->stencilAttachmentFormat);
    return !s->renderPass || !vk_facts.no_depth ||
           !vk_facts.no_depth((uint64_t)s->renderPass, s->subpass);
}

bool vk_valid_color_blend(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    const VkPipelineRenderingCreateInfo *rendering = rendering_of(s);

    if (!has_subset(s, OUTPUT) || discards(s))
        return false;
    if (!s->renderPass)
        return rendering && rendering->colorAttachmentCount;
    return !vk_facts.no_color || !vk_facts.no_color((uint64_t)s->renderPass, s->subpass);
}

/* 10.3.1: a library needs a layout for shaders, and a render pass for all but vertex input. What is
 * linked of libraries is not one. */
static bool is_part_without(const VkGraphicsPipelineCreateInfo *pipeline, VkFlags subsets)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *library =
        chained(pipeline->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);

    return library && (pipeline->flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR) &&
           !(library->flags & subsets);
}

bool vk_valid_graphics_layout(const struct vk_scope *scope)
{
    return !is_part_without(scope->memory, BEFORE_RASTER | FRAGMENT);
}

bool vk_valid_graphics_pass(const struct vk_scope *scope)
{
    return !is_part_without(scope->memory, BEFORE_RASTER | FRAGMENT | OUTPUT);
}

bool vk_valid_graphics_subpass(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    return s->renderPass && vk_valid_graphics_pass(scope);
}

/* 10.5: a derivative's parent. */
bool vk_valid_graphics_base(const struct vk_scope *scope)
{
    OWNER(VkGraphicsPipelineCreateInfo, s);
    return s->flags & VK_PIPELINE_CREATE_DERIVATIVE_BIT;
}

bool vk_valid_compute_base(const struct vk_scope *scope)
{
    OWNER(VkComputePipelineCreateInfo, s);
    return s->flags & VK_PIPELINE_CREATE_DERIVATIVE_BIT;
}

bool vk_valid_ray_tracing_base(const struct vk_scope *scope)
{
    OWNER(VkRayTracingPipelineCreateInfoKHR, s);
    return s->flags & VK_PIPELINE_CREATE_DERIVATIVE_BIT;
}

bool vk_valid_ray_tracing_base_nv(const struct vk_scope *scope)
{
    OWNER(VkRayTracingPipelineCreateInfoNV, s);
    return s->flags & VK_PIPELINE_CREATE_DERIVATIVE_BIT;
}

/* VkGraphicsShaderGroupCreateInfoNV */
static VkFlags group_stages(const VkGraphicsShaderGroupCreateInfoNV *group)
{
    VkFlags stages = 0;

    for (uint32_t i = 0; group->pStages && i < group->stageCount; i++)
        stages |= group->pStages[i].stage;
    return stages;
}

bool vk_valid_group_tessellation(const struct vk_scope *scope)
{
    return (group_stages(scope->memory) & TESSELLATION) == TESSELLATION;
}

bool vk_valid_group_vertex_input(const struct vk_scope *scope)
{
    return !(group_stages(scope->memory) & VK_SHADER_STAGE_MESH_BIT_EXT);
}

/* 10.3 VkPipelineRenderingCreateInfo, VkAttachmentSampleCountInfoAMD: of the part with the output.
 */
bool vk_valid_color_formats(const struct vk_scope *scope)
{
    const VkGraphicsPipelineCreateInfo *pipeline = pipeline_of(scope);
    return !pipeline || (!pipeline->renderPass && has_subset(pipeline, OUTPUT));
}

/* ---- dynamic state: 10.11 "ignored if the state is dynamic"
 * --------------------------------------- */

bool vk_valid_viewports(const struct vk_scope *scope)
{
    const VkGraphicsPipelineCreateInfo *pipeline = pipeline_of(scope);
    return !is_dynamic(pipeline, VK_DYNAMIC_STATE_VIEWPORT) &&
           !is_dynamic(pipeline, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT);
}

bool vk_valid_scissors(const struct vk_scope *scope)
{
    const VkGraphicsPipelineCreateInfo *pipeline = pipeline_of(scope);
    return !is_dynamic(pipeline, VK_DYNAMIC_STATE_SCISSOR) &&
           !is_dynamic(pipeline, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT);
}

bool vk_valid_viewport_scalings(const struct vk_scope *scope)
{
    return !is_dynamic(pipeline_of(scope), VK_DYNAMIC_STATE_VIEWPORT_W_SCALING_NV);
}

bool vk_valid_discard_rectangles(const struct vk_scope *scope)
{
    return !is_dynamic(pipeline_of(scope), VK_DYNAMIC_STATE_DISCARD_RECTANGLE_EXT);
}

bool vk_valid_exclusive_scissors(const struct vk_scope *scope)
{
    return !is_dynamic(pipeline_of(scope), VK_DYNAMIC_STATE_EXCLUSIVE_SCISSOR_NV);
}

bool vk_valid_shading_palettes(const struct vk_scope *scope)
{
    return !is_dynamic(pipeline_of(scope), VK_DYNAMIC_STATE_VIEWPORT_SHADING_RATE_PALETTE_NV);
}

bool vk_valid_sample_mask(const struct vk_scope *scope)
{
    return !is_dynamic(pipeline_of(scope), VK_DYNAMIC_STATE_SAMPLE_MASK_EXT);
}

bool vk_valid_coverage_table(const struct vk_scope *scope)
{
    OWNER(VkPipelineCoverageModulationStateCreateInfoNV, s);
    return s->coverageModulationTableEnable &&
           !is_dynamic(pipeline_of(scope), VK_DYNAMIC_STATE_COVERAGE_MODULATION_TABLE_NV);
}

bool vk_valid_blend_attachments(const struct vk_scope *scope)
{
    const VkGraphicsPipelineCreateInfo *pipeline = pipeline_of(scope);
    return !is_dynamic(pipeline, VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT) ||
           !is_dynamic(pipeline, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT) ||
           !is_dynamic(pipeline, VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT);
}

/* ---- acceleration structures: 37.2, micromaps
 * ---------------------------------------------------- */

/* The sizes of a build do not depend on what is built: vkGetAccelerationStructureBuildSizesKHR. */
static bool asks_size(const struct vk_scope *scope)
{
    const struct vk_command *command = scope->up ? scope->up->command : NULL;

    return command && (command->id == (TYPE_vkGetAccelerationStructureBuildSizesKHR & 0xffff) ||
                       command->id == (TYPE_vkGetMicromapBuildSizesEXT & 0xffff));
}

bool vk_valid_build_source(const struct vk_scope *scope)
{
    OWNER(VkAccelerationStructureBuildGeometryInfoKHR, s);
    return !asks_size(scope) && s->mode == VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR;
}

bool vk_valid_build_target(const struct vk_scope *scope)
{
    return !asks_size(scope);
}
