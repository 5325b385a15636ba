/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes all resources of a submit, or of one of its commands, into a folder: resources.json
 * describes them and names the files with their bytes and pictures.
 */
#include "api/vulkan/replay/inspect/dump.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/inspect/bound_state.h"
#include "api/vulkan/replay/inspect/inspect.h"
#include "api/vulkan/replay/inspect/json.h"
#include "api/vulkan/replay/inspect/scene.h"
#include "api/vulkan/replay/replay.h"
#include "base/output_file.h"
#include "base/text.h"

/* ---- files ------------------------------------------------------------------------------- */

int vkr_dump_file(struct vkr_dump *d, const char *name, const void *data, size_t size)
{
    char path[PATH_MAX];
    int error;

    tsm_format(path, sizeof(path), "%s/%s", d->directory, name);
    error = tsm_output_file_put(path, data, size);
    if (error)
        return error;
    d->r->inspect->files++;
    return 0;
}

void vkr_dump_object(struct vkr_dump *d, const struct vkr_scene_object *made)
{
    vkr_json_id(&d->json, "id", made->type, made->id);
    tsm_json_put_string(&d->json, "name", made->name);
    tsm_json_put_u64(&d->json, "index", made->index);
    vkr_json_record(&d->json, "create", d->r->reader, vkr_scene_record(d->scene, made->seq));
}

/* ---- what is used ------------------------------------------------------------------------ */

bool vkr_dump_uses(const struct vkr_dump *d, uint32_t type, uint64_t id)
{
    return tsm_map_find(&d->used, (uint64_t)type << 48 | id);
}

static void use_set(struct vkr_dump *d, const struct vkr_scene_object *made)
{
    const struct vkr_set *set = made->content;

    for (size_t i = 0; set && i < set->count; i++) {
        vkr_dump_use(d, VK_OBJECT_VkBuffer, set->list[i].buffer);
        vkr_dump_use(d, VK_OBJECT_VkImageView, set->list[i].view);
        vkr_dump_use(d, VK_OBJECT_VkBufferView, set->list[i].buffer_view);
    }
}

static void use_framebuffer(struct vkr_dump *d, const struct vkr_scene_object *made)
{
    const VkFramebufferCreateInfo *info =
        ((const struct vk_args_vkCreateFramebuffer *)made->args)->pCreateInfo;

    for (uint32_t i = 0; info->pAttachments && i < info->attachmentCount; i++)
        vkr_dump_use(d, VK_OBJECT_VkImageView, VKR_RAW(info->pAttachments[i]));
}

void vkr_dump_use(struct vkr_dump *d, uint32_t type, uint64_t id)
{
    const struct vkr_scene_object *made = id ? vkr_scene_find(d->scene, type, id) : NULL;
    const VkImageViewCreateInfo *view;
    bool added = false;

    if (!made)
        return;
    if (!tsm_map_insert(&d->used, (uint64_t)type << 48 | id, &added) || !added)
        return;
    if (type == VK_OBJECT_VkImageView) {
        view = vkr_scene_view(d->scene, id);
        vkr_dump_use(d, VK_OBJECT_VkImage, view ? VKR_RAW(view->image) : 0);
    } else if (type == VK_OBJECT_VkBufferView) {
        const struct vk_args_vkCreateBufferView *a = made->args;
        vkr_dump_use(d, VK_OBJECT_VkBuffer, VKR_RAW(a->pCreateInfo->buffer));
    } else if (type == VK_OBJECT_VkFramebuffer) {
        use_framebuffer(d, made);
    } else if (type == VK_OBJECT_VkDescriptorSet) {
        use_set(d, made);
    }
}

/* By the name that the trace's schema has for a handle's type. */
static void use_named(struct vkr_dump *d, const char *type, uint64_t id)
{
    for (uint32_t i = 1; id && i < vk_object_count; i++)
        if (vk_objects[i] && strcmp(vk_name(vk_objects[i]), type) == 0) {
            vkr_dump_use(d, i, id);
            return;
        }
}

static void use_value(struct vkr_dump *d, const struct sbt_record *record, uint32_t index,
                      const char *type)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    if (sbt_reader_value(d->r->reader, record, index, &value) == 1 &&
        sbt_walk_begin(&walk, d->r->reader, type, value.data, value.size) == 0)
        while (sbt_walk_next(&walk, &step) == 1)
            if (step.kind == SBT_STEP_VALUE && !step.none && step.member &&
                step.member->type == SBT_FIELD_HANDLE)
                use_named(d, step.member->detail, step.number);
    sbt_value_finish(&value);
}

void vkr_dump_use_record(struct vkr_dump *d, const struct sbt_record *record)
{
    const struct sbt_schema *schema = record ? sbt_reader_schema(d->r->reader, record->type) : NULL;

    for (uint32_t i = 0; schema && i < schema->field_count && i < record->slot_count; i++)
        if (schema->fields[i].type == SBT_FIELD_HANDLE)
            use_named(d, schema->fields[i].detail, record->slots[i]);
        else if (schema->fields[i].type == SBT_FIELD_STRUCT)
            use_value(d, record, i, schema->fields[i].detail);
}

/* Uses the bound state of the wanted command. */
static void use_bound(struct vkr_dump *d, int point)
{
    const struct vkr_bound_state *b = &d->bound;

    vkr_dump_use_record(d, b->pass_seq ? vkr_scene_record(d->scene, b->pass_seq) : NULL);
    if (point < 0)
        return;
    vkr_dump_use(d, VK_OBJECT_VkPipeline, b->points[point].pipeline);
    for (uint32_t i = 0; i < VKR_BOUND_SETS; i++) {
        vkr_dump_use(d, VK_OBJECT_VkDescriptorSet, b->points[point].sets[i]);
        if (b->points[point].set_seqs[i] && !b->points[point].sets[i]) /* pushed */
            vkr_dump_use_record(d, vkr_scene_record(d->scene, b->points[point].set_seqs[i]));
    }
    if (point)
        return;
    for (uint32_t i = 0; i < VKR_BOUND_BUFFERS; i++)
        vkr_dump_use(d, VK_OBJECT_VkBuffer, b->vertex[i].buffer);
    vkr_dump_use(d, VK_OBJECT_VkBuffer, b->index.buffer);
}

/* ---- commands ---------------------------------------------------------------------------- */

static void dump_commands(struct vkr_dump *d, uint64_t id);

static void dump_executed(struct vkr_dump *d, const struct vkr_call *c)
{
    const struct vk_args_vkCmdExecuteCommands *a = (const void *)c->args;
    const struct vkr_inspect *look = d->r->inspect;
    bool is_cut = c->record->seq == look->execute_seq; /* the next read invalidates the record */

    tsm_json_put_open(&d->json, "secondary", '[');
    for (uint32_t i = 0; i < a->commandBufferCount; i++) {
        uint64_t id = VKR_RAW(a->pCommandBuffers[i]);
        dump_commands(d, id);
        if (is_cut && id == look->command_buffer)
            break;
    }
    tsm_json_close(&d->json, ']');
}

static void dump_command(struct vkr_dump *d, struct vkr_bound_state *bound, struct vkr_call *c)
{
    const struct vkr_inspect *look = d->r->inspect;
    bool is_wanted = look->is_command && c->record->seq == look->wanted->dump_seq;
    int point = vkr_bound_state_point_of(c->command);

    vkr_bound_state_note(bound, c);
    if (is_wanted) {
        d->bound = *bound;
        use_bound(d, point);
    }
    if (is_wanted || !look->is_command)
        vkr_dump_use_record(d, c->record);
    tsm_json_put_open(&d->json, NULL, '{');
    vkr_json_record(&d->json, "record", d->r->reader, c->record);
    if (point >= 0) {
        tsm_json_put_open(&d->json, "bound", '{');
        vkr_bound_state_json(bound, point, &d->json);
        tsm_json_close(&d->json, '}');
    }
    if (c->record->type == TYPE_vkCmdExecuteCommands)
        dump_executed(d, c);
    tsm_json_close(&d->json, '}');
}

/* Tests whether this record of a command buffer comes after what was carried out. */
static bool is_behind(const struct vkr_inspect *look, uint64_t command_buffer, uint64_t seq)
{
    if (!look->is_command)
        return false;
    if (command_buffer == look->command_buffer)
        return seq > look->wanted->dump_seq;
    return command_buffer == look->primary && seq > look->execute_seq;
}

static void dump_commands(struct vkr_dump *d, uint64_t id)
{
    const struct vkr_scene_object *made = vkr_scene_find(d->scene, VK_OBJECT_VkCommandBuffer, id);
    const struct vkr_commands *commands = made ? made->content : NULL;
    struct vkr_bound_state *bound = calloc(1, sizeof(*bound));
    struct vk_arena arena;

    vk_arena_init(&arena, VK_ARENA_LIMIT);
    tsm_json_put_open(&d->json, NULL, '{');
    vkr_json_id(&d->json, "id", VK_OBJECT_VkCommandBuffer, id);
    tsm_json_put_string(&d->json, "name", made ? made->name : NULL);
    tsm_json_put_open(&d->json, "commands", '[');
    for (size_t i = 0; commands && bound && i < commands->count && !d->error; i++) {
        const struct sbt_record *record = vkr_scene_command(d->scene, commands->seqs[i]);
        struct vkr_call c;
        if (!record || is_behind(d->r->inspect, id, record->seq))
            break;
        d->error = vkr_call_begin(&c, d->r, record, &arena, true);
        if (d->error == 1) {
            d->error = 0;
            dump_command(d, bound, &c);
        }
        vkr_call_finish(&c);
        vk_arena_reset(&arena);
    }
    tsm_json_close(&d->json, ']');
    tsm_json_close(&d->json, '}');
    vk_arena_finish(&arena);
    free(bound);
}

static bool dump_submitted(void *user, uint64_t command_buffer)
{
    struct vkr_dump *d = user;
    const struct vkr_inspect *look = d->r->inspect;
    uint64_t last = look->primary ? look->primary : look->command_buffer;

    dump_commands(d, command_buffer);
    return !d->error && !(look->is_command && command_buffer == last);
}

/* ---- all of it --------------------------------------------------------------------------- */

static void dump_head(struct vkr_dump *d, const struct sbt_record *submit)
{
    const struct vkr_inspect *look = d->r->inspect;

    tsm_json_put_string(&d->json, "schema", "tsresources/1");
    tsm_json_put_string(&d->json, "trace", sbt_reader_name(d->r->reader));
    tsm_json_put_u64(&d->json, "seq", look->wanted->dump_seq);
    tsm_json_put_string(&d->json, "after", look->is_command ? "command" : "submit");
    vkr_json_record(&d->json, "submit", d->r->reader, submit);
}

static int dump_all(struct vkr_dump *d, const struct sbt_record *submit)
{
    int error;

    tsm_json_put_open(&d->json, NULL, '{');
    dump_head(d, submit);
    tsm_json_put_open(&d->json, "command_buffers", '[');
    error = vkr_scene_each_submitted(d->scene, submit, dump_submitted, d);
    tsm_json_close(&d->json, ']');
    error = error ? error : d->error;
    if (!error)
        error = vkr_dump_pipelines(d);
    if (!error)
        error = vkr_dump_sets(d);
    if (!error)
        error = vkr_dump_buffers(d);
    if (!error)
        error = vkr_dump_images(d);
    tsm_json_close(&d->json, '}');
    tsm_buffer_add_u8(&d->text, '\n');
    if (!error && d->text.failed)
        error = tsm_fail(TSM_E_MEMORY, "no memory for what a submit uses");
    return error ? error : vkr_dump_file(d, "resources.json", d->text.data, d->text.size);
}

int vkr_dump(struct vkr *r, const struct sbt_record *submit)
{
    struct vkr_dump *d = calloc(1, sizeof(*d));
    int error = 0;

    if (!d)
        return tsm_fail(TSM_E_MEMORY, "no memory for a dump");
    d->r = r;
    d->json = (struct tsm_json){.buffer = &d->text, .style = TSM_JSON_LETTERS | TSM_JSON_LINES};
    d->directory = r->inspect->wanted->dump_directory;
    if (!r->inspect->scene)
        error = vkr_scene_create(&r->inspect->scene, r, submit->seq);
    d->scene = r->inspect->scene;
    if (!error)
        error = dump_all(d, submit);
    tsm_buffer_finish(&d->text);
    tsm_map_finish(&d->used);
    tsm_map_finish(&d->shaders);
    free(d);
    return error;
}
