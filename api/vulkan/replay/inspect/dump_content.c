/* SPDX-License-Identifier: Apache-2.0
 *
 * Pipelines, descriptors, buffers and images of a dump.
 */
#include "api/vulkan/replay/inspect/dump.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/inspect/image.h"
#include "api/vulkan/replay/inspect/inspect.h"
#include "api/vulkan/replay/inspect/json.h"
#include "api/vulkan/replay/inspect/scene.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/tables/texel.h"
#include "base/hash.h"
#include "base/text.h"

#define PART_SIZE (4u << 20)
#define NAME_SIZE 96

int vkr_create_image(struct vkr_call *c)
{
    const struct vk_args_vkCreateImage *a = (const void *)c->args;
    VkImageCreateInfo *info = (void *)(uintptr_t)a->pCreateInfo; /* in our arena */
    const struct vkr_device *d = c->owner ? c->owner->device : NULL;
    VkFormatProperties p;

    if (c->r->inspect && c->r->inspect->wanted->dump_directory && d &&
        !(info->usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT)) {
        d->instance->dispatch.f.vkGetPhysicalDeviceFormatProperties(d->dispatch.physical_device,
                                                                    info->format, &p);
        VkFormatFeatureFlags features = info->tiling == VK_IMAGE_TILING_LINEAR
                                            ? p.linearTilingFeatures
                                            : p.optimalTilingFeatures;
        if (features & VK_FORMAT_FEATURE_TRANSFER_SRC_BIT)
            info->usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    }
    return vkr_call_driver(c);
}

/* ---- pipelines --------------------------------------------------------------------------- */

static int dump_code(struct vkr_dump *d, const VkShaderModuleCreateInfo *info)
{
    struct sbt_key key = tsm_hash_key(info->pCode, info->codeSize);
    char hash[33], name[NAME_SIZE];
    uint64_t half;
    bool added;

    memcpy(&half, key.bytes, sizeof(half));
    tsm_key_text(hash, &key);
    tsm_format(name, sizeof(name), "shader-%s.spv", hash);
    tsm_json_put_string(&d->json, "hash", hash);
    tsm_json_put_string(&d->json, "file", name);
    if (!tsm_map_insert(&d->shaders, half, &added) || !added)
        return 0;
    return vkr_dump_file(d, name, info->pCode, info->codeSize);
}

static int dump_stage(struct vkr_dump *d, const VkPipelineShaderStageCreateInfo *stage)
{
    const struct vkr_scene_object *made = VKR_SCENE_FIND(d->scene, VkShaderModule, stage->module);
    const VkShaderModuleCreateInfo *info =
        vk_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    int error = 0;

    if (made && made->call == TYPE_vkCreateShaderModule)
        info = ((const struct vk_args_vkCreateShaderModule *)made->args)->pCreateInfo;
    tsm_json_put_open(&d->json, NULL, '{');
    vkr_json_enum(&d->json, "stage", d->r->reader, "VkShaderStageFlagBits", stage->stage);
    tsm_json_put_string(&d->json, "entry_point", stage->pName);
    vkr_json_id(&d->json, "module", VK_OBJECT_VkShaderModule, VKR_RAW(stage->module));
    if (info && info->pCode)
        error = dump_code(d, info);
    tsm_json_close(&d->json, '}');
    return error;
}

/* The stages and the layout of a pipeline, by the call that made it. */
static uint32_t stages_of(const struct vkr_scene_object *made,
                          const VkPipelineShaderStageCreateInfo **stages, uint64_t *layout)
{
    const struct vk_args_vkCreateGraphicsPipelines *g = made->args;
    const struct vk_args_vkCreateComputePipelines *c = made->args;
    const struct vk_args_vkCreateRayTracingPipelinesKHR *t = made->args;

    if (made->call == TYPE_vkCreateGraphicsPipelines && made->index < g->createInfoCount) {
        *stages = g->pCreateInfos[made->index].pStages;
        *layout = VKR_RAW(g->pCreateInfos[made->index].layout);
        return *stages ? g->pCreateInfos[made->index].stageCount : 0;
    }
    if (made->call == TYPE_vkCreateComputePipelines && made->index < c->createInfoCount) {
        *stages = &c->pCreateInfos[made->index].stage;
        *layout = VKR_RAW(c->pCreateInfos[made->index].layout);
        return 1;
    }
    if (made->call == TYPE_vkCreateRayTracingPipelinesKHR && made->index < t->createInfoCount) {
        *stages = t->pCreateInfos[made->index].pStages;
        *layout = VKR_RAW(t->pCreateInfos[made->index].layout);
        return *stages ? t->pCreateInfos[made->index].stageCount : 0;
    }
    return 0;
}

static int dump_pipeline(struct vkr_dump *d, const struct vkr_scene_object *made)
{
    const VkPipelineShaderStageCreateInfo *stages = NULL;
    uint64_t layout = 0;
    uint32_t count = stages_of(made, &stages, &layout);
    const struct vkr_scene_object *made_layout =
        vkr_scene_find(d->scene, VK_OBJECT_VkPipelineLayout, layout);
    int error = 0;

    tsm_json_put_open(&d->json, NULL, '{');
    vkr_dump_object(d, made);
    tsm_json_put_open(&d->json, "shaders", '[');
    for (uint32_t i = 0; i < count && !error; i++)
        error = dump_stage(d, &stages[i]);
    tsm_json_close(&d->json, ']');
    if (made_layout) {
        tsm_json_put_open(&d->json, "layout", '{');
        vkr_dump_object(d, made_layout);
        tsm_json_close(&d->json, '}');
    }
    tsm_json_close(&d->json, '}');
    return error;
}

/* ---- lists ------------------------------------------------------------------------------- */

static int each_used(struct vkr_dump *d, const char *name, uint32_t type,
                     int (*dump)(struct vkr_dump *d, const struct vkr_scene_object *made))
{
    int error = 0;

    tsm_json_put_open(&d->json, name, '[');
    for (size_t i = 0; i < d->scene->count && !error; i++) {
        const struct vkr_scene_object *made = d->scene->list[i];
        if (made->type == type && vkr_dump_uses(d, type, made->id))
            error = dump(d, made);
    }
    tsm_json_close(&d->json, ']');
    return error;
}

int vkr_dump_pipelines(struct vkr_dump *d)
{
    return each_used(d, "pipelines", VK_OBJECT_VkPipeline, dump_pipeline);
}

/* ---- descriptors ------------------------------------------------------------------------- */

static void dump_descriptor(struct vkr_dump *d, const struct vkr_descriptor *p)
{
    const VkImageViewCreateInfo *view = vkr_scene_view(d->scene, p->view);

    tsm_json_put_open(&d->json, NULL, '{');
    tsm_json_put_u64(&d->json, "binding", p->binding);
    tsm_json_put_u64(&d->json, "element", p->element);
    vkr_json_enum(&d->json, "type", d->r->reader, "VkDescriptorType", p->type);
    if (p->buffer) {
        vkr_json_id(&d->json, "buffer", VK_OBJECT_VkBuffer, p->buffer);
        tsm_json_put_u64(&d->json, "offset", p->offset);
        tsm_json_put_u64(&d->json, "range", p->range);
    }
    if (p->view) {
        vkr_json_id(&d->json, "view", VK_OBJECT_VkImageView, p->view);
        vkr_json_id(&d->json, "image", VK_OBJECT_VkImage, view ? VKR_RAW(view->image) : 0);
        vkr_json_enum(&d->json, "layout", d->r->reader, "VkImageLayout", p->layout);
    }
    if (p->sampler)
        vkr_json_id(&d->json, "sampler", VK_OBJECT_VkSampler, p->sampler);
    if (p->buffer_view)
        vkr_json_id(&d->json, "buffer_view", VK_OBJECT_VkBufferView, p->buffer_view);
    tsm_json_close(&d->json, '}');
}

static int dump_set(struct vkr_dump *d, const struct vkr_scene_object *made)
{
    const struct vkr_set *set = made->content;

    tsm_json_put_open(&d->json, NULL, '{');
    vkr_json_id(&d->json, "id", made->type, made->id);
    tsm_json_put_string(&d->json, "name", made->name);
    vkr_json_id(&d->json, "layout", VK_OBJECT_VkDescriptorSetLayout, set ? set->layout : 0);
    tsm_json_put_open(&d->json, "descriptors", '[');
    for (size_t i = 0; set && i < set->count; i++)
        dump_descriptor(d, &set->list[i]);
    tsm_json_close(&d->json, ']');
    tsm_json_close(&d->json, '}');
    return 0;
}

int vkr_dump_sets(struct vkr_dump *d)
{
    return each_used(d, "descriptor_sets", VK_OBJECT_VkDescriptorSet, dump_set);
}

/* ---- buffers ----------------------------------------------------------------------------- */

static int read_buffer(struct vkr_dump *d, const struct vkr_object *o, uint64_t size, void **out)
{
    uint8_t *bytes = malloc(size + 1);
    int error = bytes ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for a buffer's bytes");

    for (uint64_t at = 0; at < size && !error; at += PART_SIZE)
        error = vkr_read(d->r, o->memory + o->memory_offset + at, bytes + at,
                         size - at < PART_SIZE ? size - at : PART_SIZE);
    *out = bytes;
    return error;
}

static int dump_buffer(struct vkr_dump *d, const struct vkr_scene_object *made)
{
    const struct vkr_object *o = vkr_object_find(d->r, made->type, made->id);
    const struct vk_args_vkCreateBuffer *a = made->args;
    uint64_t size = a->pCreateInfo->size;
    char name[NAME_SIZE];
    void *bytes = NULL;
    int error = 0;

    tsm_json_put_open(&d->json, NULL, '{');
    vkr_dump_object(d, made);
    tsm_json_put_u64(&d->json, "size", size);
    if (!o || !o->memory) {
        tsm_json_put_string(&d->json, "why",
                            o ? "it has no memory, or sparse memory" : "it is gone");
    } else if (read_buffer(d, o, size, &bytes) < 0) {
        tsm_json_put_string(&d->json, "why", "its memory cannot be read by the host or by copies");
    } else {
        tsm_format(name, sizeof(name), "buffer-%llu.bin", (unsigned long long)made->id);
        tsm_json_put_string(&d->json, "file", name);
        error = vkr_dump_file(d, name, bytes, size);
    }
    tsm_json_close(&d->json, '}');
    free(bytes);
    return error;
}

int vkr_dump_buffers(struct vkr_dump *d)
{
    return each_used(d, "buffers", VK_OBJECT_VkBuffer, dump_buffer);
}

/* ---- images ------------------------------------------------------------------------------ */

struct part {
    const struct vkr_scene_object *made;
    struct vkr_image image;
    uint32_t level, layer;
    VkImageAspectFlags aspect;
};

static const char *aspect_name(VkImageAspectFlags aspect)
{
    return aspect == VK_IMAGE_ASPECT_DEPTH_BIT     ? "depth"
           : aspect == VK_IMAGE_ASPECT_STENCIL_BIT ? "stencil"
                                                   : "color";
}

static int write_picture(struct vkr_dump *d, const char *stem, const struct png_picture *picture)
{
    char name[NAME_SIZE], path[4096];
    int error;

    tsm_format(name, sizeof(name), "%s.png", stem);
    tsm_format(path, sizeof(path), "%s/%s", d->directory, name);
    tsm_json_put_string(&d->json, "picture", name);
    error = png_file_write(picture, path);
    d->r->inspect->files += !error;
    return error;
}

/* Slices of a 3D image lie under each other. */
static int write_part(struct vkr_dump *d, const struct part *p, const uint8_t *texels,
                      uint64_t size)
{
    VkExtent3D e = vkr_level_extent(p->image.extent, p->level);
    struct png_picture picture;
    char stem[NAME_SIZE - 8], name[NAME_SIZE];
    bool exact = false, has_picture;
    int error = 0;

    tsm_format(stem, sizeof(stem), "image-%llu-level%u-layer%u-%s", (unsigned long long)p->made->id,
               p->level, p->layer, aspect_name(p->aspect));
    has_picture = vk_texels_picture(&picture, &exact, p->image.format, p->aspect, texels, e.width,
                                    e.height * e.depth);
    if (has_picture) {
        error = write_picture(d, stem, &picture);
        free((void *)(uintptr_t)picture.pixels);
        tsm_json_put_bool(&d->json, "exact", exact);
    } else {
        tsm_json_put_string(&d->json, "why", "no picture can be made of its format: raw texels");
    }
    if (error || exact)
        return error;
    tsm_format(name, sizeof(name), "%s.bin", stem);
    tsm_json_put_string(&d->json, "file", name);
    return vkr_dump_file(d, name, texels, size);
}

static int dump_part(struct vkr_dump *d, const struct vkr_object *o, const struct part *p)
{
    uint8_t *texels = NULL;
    uint64_t size;
    int error = 0, got;

    tsm_json_put_open(&d->json, NULL, '{');
    tsm_json_put_u64(&d->json, "level", p->level);
    tsm_json_put_u64(&d->json, "layer", p->layer);
    tsm_json_put_string(&d->json, "aspect", aspect_name(p->aspect));
    vkr_json_enum(&d->json, "layout", d->r->reader, "VkImageLayout", p->image.layout);
    got = vkr_image_read(o->device, &p->image, p->level, p->layer, p->aspect, &texels, &size);
    if (got < 0) {
        tsm_json_put_string(&d->json, "why", tsm_error_message());
    } else {
        error = write_part(d, p, texels, size);
        free(texels);
    }
    tsm_json_close(&d->json, '}');
    return error;
}

static VkImageLayout image_layout(const struct vkr_fact_image *fact, const VkImageCreateInfo *info,
                                  VkImageAspectFlags aspect, uint32_t level, uint32_t layer)
{
    uint32_t plane =
        vkr_plane_aspects(fact->aspects, 1) == aspect ? vkr_plane_count(fact->aspects) - 1 : 0;
    uint32_t layout = fact->layouts[((size_t)plane * fact->levels + level) * fact->layers + layer];

    return layout == VK_IMAGE_LAYOUT_UNDEFINED ? info->initialLayout : (VkImageLayout)layout;
}

static int dump_parts(struct vkr_dump *d, const struct vkr_scene_object *made,
                      const struct vkr_object *o, const VkImageCreateInfo *info)
{
    const struct vkr_fact_image *fact = o->fact;
    int error = 0;

    tsm_json_put_open(&d->json, "parts", '[');
    for (uint32_t level = 0; level < fact->levels; level++)
        for (uint32_t layer = 0; layer < fact->layers; layer++)
            for (VkImageAspectFlags one = 1; one <= fact->aspects && !error; one <<= 1) {
                struct part p = {made,
                                 {(VkImage)(uintptr_t)o->raw, info->format, info->extent,
                                  image_layout(fact, info, one, level, layer)},
                                 level,
                                 layer,
                                 one};
                if (fact->aspects & one)
                    error = dump_part(d, o, &p);
            }
    tsm_json_close(&d->json, ']');
    return error;
}

/* NULL: it can be copied. */
static const char *why_not(const struct vkr_object *o, const VkImageCreateInfo *info)
{
    if (!o || !o->device)
        return "it is gone";
    if (!o->fact)
        return "it has too many levels or layers";
    if (info->samples != VK_SAMPLE_COUNT_1_BIT)
        return "it has several samples a texel, which cannot be copied";
    if (info->usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT)
        return "it is transient: nothing of it is in memory";
    return NULL;
}

static int dump_image(struct vkr_dump *d, const struct vkr_scene_object *made)
{
    const struct vkr_object *o = vkr_object_find(d->r, made->type, made->id);
    VkImageCreateInfo info;
    const char *why;
    int error = 0;

    if (!vkr_scene_image(d->scene, made->id, &info))
        return 0;
    why = why_not(o, &info);
    tsm_json_put_open(&d->json, NULL, '{');
    vkr_dump_object(d, made);
    vkr_json_enum(&d->json, "format", d->r->reader, "VkFormat", info.format);
    tsm_json_put_u64(&d->json, "width", info.extent.width);
    tsm_json_put_u64(&d->json, "height", info.extent.height);
    tsm_json_put_u64(&d->json, "depth", info.extent.depth);
    if (why)
        tsm_json_put_string(&d->json, "why", why);
    else
        error = dump_parts(d, made, o, &info);
    tsm_json_close(&d->json, '}');
    return error;
}

int vkr_dump_images(struct vkr_dump *d)
{
    return each_used(d, "images", VK_OBJECT_VkImage, dump_image);
}
