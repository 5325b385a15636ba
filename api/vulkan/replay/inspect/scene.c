/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/inspect/scene.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/inspect/scene_parts.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/submit.h"
#include "base/array.h"

/* ---- objects ----------------------------------------------------------------------------- */

struct vkr_scene_object *vkr_scene_find(const struct vkr_scene *scene, uint32_t type, uint64_t id)
{
    const uint64_t *place =
        id >> 48 ? NULL : tsm_map_find(&scene->places, (uint64_t)type << 48 | id);

    return place ? (struct vkr_scene_object *)(uintptr_t)*place : NULL;
}

/* vk_each_created() hands the call back, so that it comes first. */
struct making {
    struct vkr_call call;
    struct vkr_scene *scene;
    void *args;
    uint32_t index;
};

static bool add_to_list(struct vkr_scene *scene, struct vkr_scene_object *made)
{
    return TSM_ARRAY_PUSH(scene->list, scene->count, scene->capacity, made);
}

/* The driver may give the same object twice: the first record counts. */
static bool note_made(void *user, uint32_t type, uint64_t id, uint64_t raw)
{
    struct making *m = user;
    bool added = false;
    uint64_t *place = id && !(id >> 48)
                          ? tsm_map_insert(&m->scene->places, (uint64_t)type << 48 | id, &added)
                          : NULL;
    struct vkr_scene_object *made;
    uint32_t index = m->index++;

    if (!place || !added)
        return place || !id;
    made = vk_arena_take(&m->scene->arena, sizeof(*made));
    if (!made)
        return false;
    *made = (struct vkr_scene_object){.type = type,
                                      .call = m->call.record->type,
                                      .id = id,
                                      .seq = m->call.record->seq,
                                      .index = index,
                                      .args = m->args};
    *place = (uint64_t)(uintptr_t)made;
    return add_to_list(m->scene, made) && vkr_scene_begin_content(made);
}

static int note_create(struct vkr_scene *scene, struct making *m)
{
    const struct vkr_call *c = &m->call;

    m->scene = scene;
    m->index = 0;
    m->args = vk_arena_take(&scene->arena, c->command->args_size + 1u);
    if (!m->args)
        return tsm_fail(TSM_E_MEMORY, "no memory for what the trace makes");
    memcpy(m->args, c->args, c->command->args_size);
    if (!vk_each_created(c->command, &c->source, m->args, note_made))
        return tsm_fail(TSM_E_FORMAT, "record %llu: the objects that it made are malformed",
                        (unsigned long long)c->record->seq);
    return 0;
}

static void note_name(struct vkr_scene *scene, const struct vkr_call *c)
{
    const struct vk_args_vkSetDebugUtilsObjectNameEXT *a = (const void *)c->args;
    struct vkr_scene_object *made = vkr_scene_find(
        scene, vk_object_of((uint32_t)a->pNameInfo->objectType), a->pNameInfo->objectHandle);

    const char *name = a->pNameInfo->pObjectName;
    char *copy = made && name ? vk_arena_take(&scene->arena, strlen(name) + 1) : NULL;

    if (copy)
        strcpy(copy, name);
    if (made)
        made->name = copy;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Notes the creating call. The targets of its arguments lie in the scene's arena and live as
 * long. */
static int note_made_by(struct vkr_scene *scene, const struct sbt_record *record)
{
    struct making m;
    int error = vkr_call_begin(&m.call, scene->r, record, &scene->arena, true);

    if (error == 1)
        error = note_create(scene, &m);
    vkr_call_finish(&m.call);
    return error < 0 ? error : 0;
}

static int note_changed_by(struct vkr_scene *scene, const struct sbt_record *record)
{
    struct vkr_call c;
    int error = vkr_call_begin(&c, scene->r, record, &scene->scratch, true);

    if (error == 1 && record->type == TYPE_vkSetDebugUtilsObjectNameEXT)
        note_name(scene, &c);
    else if (error == 1)
        error = vkr_scene_note_content(scene, &c);
    vkr_call_finish(&c);
    vk_arena_reset(&scene->scratch);
    return error < 0 ? error : 0;
}

int vkr_scene_note(struct vkr_scene *scene, const struct sbt_record *record)
{
    const struct vk_command *command = SBT_TYPE_API(record->type) == SBT_API_VULKAN
                                           ? vk_command_of(SBT_TYPE_CALL(record->type))
                                           : NULL;
    int error = 0;

    if (!command || (record->flags & (SBT_RECORD_FAILED | SBT_RECORD_UNFINISHED)))
        return 0;
    if (strncmp(vk_name(command->name), "vkCmd", 5) == 0 ||
        record->type == TYPE_vkBeginCommandBuffer)
        error = vkr_scene_note_command(scene, record);
    if (!error && command->kind == SBT_KIND_CREATE)
        error = note_made_by(scene, record);
    else if (!error && vkr_scene_is_content(record->type))
        error = note_changed_by(scene, record);
    return error;
}

static int read_all(struct vkr_scene *scene, uint64_t until)
{
    const struct sbt_filter filter = {.seq_end = until};
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int error = until ? sbt_cursor_create(&cursor, scene->r->reader, &filter, 1) : 0, more = 0;

    while (!error && until && (more = sbt_cursor_next(cursor, &record)) == 1)
        error = vkr_scene_note(scene, record);
    sbt_cursor_destroy(cursor);
    return error ? error : more;
}

int vkr_scene_create(struct vkr_scene **out, struct vkr *r, uint64_t until)
{
    struct vkr_scene *scene = calloc(1, sizeof(*scene));
    int error;

    if (!scene)
        return tsm_fail(TSM_E_MEMORY, "no memory for what the trace makes");
    scene->r = r;
    vk_arena_init(&scene->arena, VK_ARENA_LIMIT);
    vk_arena_init(&scene->scratch, VK_ARENA_LIMIT);
    error = sbt_cursor_create(&scene->cursor, r->reader, NULL, 0);
    if (!error)
        error = sbt_cursor_create(&scene->commands, r->reader, NULL, 0);
    if (!error)
        error = read_all(scene, until);
    if (error)
        vkr_scene_destroy(scene);
    else
        *out = scene;
    return error;
}

void vkr_scene_destroy(struct vkr_scene *scene)
{
    if (!scene)
        return;
    for (size_t i = 0; i < scene->count; i++)
        vkr_scene_finish_content(scene->list[i]);
    sbt_cursor_destroy(scene->cursor);
    sbt_cursor_destroy(scene->commands);
    vk_arena_finish(&scene->arena);
    vk_arena_finish(&scene->scratch);
    tsm_map_finish(&scene->places);
    free(scene->list);
    free(scene);
}

static const struct sbt_record *record_at(struct sbt_cursor *cursor, uint64_t seq)
{
    const struct sbt_record *record;

    if (sbt_cursor_seek(cursor, seq) < 0 || sbt_cursor_next(cursor, &record) != 1)
        return NULL;
    return record->seq == seq ? record : NULL;
}

const struct sbt_record *vkr_scene_record(struct vkr_scene *scene, uint64_t seq)
{
    return record_at(scene->cursor, seq);
}

const struct sbt_record *vkr_scene_command(struct vkr_scene *scene, uint64_t seq)
{
    return record_at(scene->commands, seq);
}

/* ---- submits ----------------------------------------------------------------------------- */

struct each {
    bool (*visit)(void *user, uint64_t command_buffer);
    void *user;
};

static bool visit_buffer(void *user, VkCommandBuffer buffer)
{
    const struct each *e = user;

    return e->visit(e->user, VKR_RAW(buffer));
}

int vkr_scene_each_submitted(struct vkr_scene *scene, const struct sbt_record *submit,
                             bool (*visit)(void *user, uint64_t command_buffer), void *user)
{
    struct each e = {visit, user};
    struct vk_submit args;
    struct vkr_call c;
    int error = vkr_call_begin(&c, scene->r, submit, &scene->scratch, true);

    if (error == 1 && vk_submit_of(&args, submit->type, c.args))
        vk_submit_each_buffer(&args, visit_buffer, &e);
    vkr_call_finish(&c);
    return error < 0 ? error : 0;
}

/* ---- how things were made ---------------------------------------------------------------- */

static void image_of_swapchain(const struct vkr_scene *scene, const struct vkr_scene_object *made,
                               VkImageCreateInfo *out)
{
    const struct vk_args_vkGetSwapchainImagesKHR *a = made->args;
    const struct vkr_scene_object *chain = VKR_SCENE_FIND(scene, VkSwapchainKHR, a->swapchain);
    const VkSwapchainCreateInfoKHR *info =
        chain && chain->call == TYPE_vkCreateSwapchainKHR
            ? ((const struct vk_args_vkCreateSwapchainKHR *)chain->args)->pCreateInfo
            : NULL;

    *out = (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT};
    if (!info)
        return;
    out->format = info->imageFormat;
    out->extent = (VkExtent3D){info->imageExtent.width, info->imageExtent.height, 1};
    out->arrayLayers = info->imageArrayLayers ? info->imageArrayLayers : 1;
    out->usage = info->imageUsage;
}

bool vkr_scene_image(const struct vkr_scene *scene, uint64_t image, VkImageCreateInfo *out)
{
    const struct vkr_scene_object *made = vkr_scene_find(scene, VK_OBJECT_VkImage, image);

    if (!made)
        return false;
    if (made->call == TYPE_vkCreateImage)
        *out = *((const struct vk_args_vkCreateImage *)made->args)->pCreateInfo;
    else if (made->call == TYPE_vkGetSwapchainImagesKHR)
        image_of_swapchain(scene, made, out);
    else
        return false;
    return out->format != VK_FORMAT_UNDEFINED;
}

const VkImageViewCreateInfo *vkr_scene_view(const struct vkr_scene *scene, uint64_t view)
{
    const struct vkr_scene_object *made = vkr_scene_find(scene, VK_OBJECT_VkImageView, view);

    return made && made->call == TYPE_vkCreateImageView
               ? ((const struct vk_args_vkCreateImageView *)made->args)->pCreateInfo
               : NULL;
}

uint32_t vkr_scene_subpass_count(const struct vkr_scene *scene, uint64_t render_pass)
{
    const struct vkr_scene_object *made =
        vkr_scene_find(scene, VK_OBJECT_VkRenderPass, render_pass);

    if (!made)
        return 1;
    if (made->call == TYPE_vkCreateRenderPass)
        return ((const struct vk_args_vkCreateRenderPass *)made->args)->pCreateInfo->subpassCount;
    return ((const struct vk_args_vkCreateRenderPass2 *)made->args)->pCreateInfo->subpassCount;
}
