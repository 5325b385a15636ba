/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/inspect/inspect.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/inspect/image.h"
#include "api/vulkan/replay/inspect/scene.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/swapchain.h"
#include "api/vulkan/tables/submit.h"
#include "api/vulkan/tables/texel.h"
#include "base/array.h"
#include "base/text.h"

/* ---- begin and end ----------------------------------------------------------------------- */

int vkr_inspect_init(struct vkr_inspect **out, const struct tsm_replay_options *options)
{
    const struct tsm_inspect *wanted = options->inspect;

    if (!wanted)
        return 0;
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return tsm_fail(TSM_E_MEMORY, "no memory to look into a replay");
    (*out)->wanted = wanted;
    return 0;
}

void vkr_inspect_finish(struct vkr_inspect *look)
{
    if (!look)
        return;
    if (look->cut_device)
        look->cut_device->dispatch.f.vkDestroyCommandPool(look->cut_device->dispatch.device,
                                                          look->cut_pool, NULL);
    vkr_scene_destroy(look->scene);
    free(look->frames);
    free(look);
}

/* ---- frames ------------------------------------------------------------------------------ */

static bool is_wanted_frame(const struct tsm_inspect *wanted, uint64_t number)
{
    for (size_t i = 0; i < wanted->frame_count; i++)
        if (number >= wanted->frames[i].first && number <= wanted->frames[i].last)
            return true;
    return false;
}

static int plan_frame(struct vkr_inspect *look, const struct sbt_record *record)
{
    uint64_t number = ++look->present_count;

    if (!is_wanted_frame(look->wanted, number))
        return 0;
    if (!TSM_ARRAY_PUSH(look->frames, look->frame_count, look->frame_capacity,
                        (struct vkr_frame){record->seq, number}))
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu frames", look->frame_count + 1);
    look->last_seq = record->seq;
    return 0;
}

static const struct vkr_frame *find_frame(const struct vkr_inspect *look, uint64_t seq)
{
    size_t at;

    TSM_BISECT(at, look->frame_count, look->frames[at].seq >= seq);
    return at < look->frame_count && look->frames[at].seq == seq ? &look->frames[at] : NULL;
}

/* ---- the record to dump ------------------------------------------------------------------ */

static bool is_recorded_command(const struct sbt_record *record)
{
    const struct vk_command *command = SBT_TYPE_API(record->type) == SBT_API_VULKAN
                                           ? vk_command_of(SBT_TYPE_CALL(record->type))
                                           : NULL;

    return command && strncmp(vk_name(command->name), "vkCmd", 5) == 0;
}

/* The record that was asked for. */
static void plan_target(struct vkr_inspect *look, const struct sbt_record *record)
{
    const struct vk_command *command = SBT_TYPE_API(record->type) == SBT_API_VULKAN
                                           ? vk_command_of(SBT_TYPE_CALL(record->type))
                                           : NULL;

    look->is_found = true;
    if (record->flags & SBT_RECORD_FAILED) {
        tsm_format(look->why, sizeof(look->why), "it failed when it was recorded");
    } else if (vk_is_submit(record->type)) {
        look->submit_seq = record->seq;
    } else if (is_recorded_command(record) && record->slot_count) {
        look->is_command = true;
        look->command_buffer = record->slots[0];
    } else {
        tsm_format(look->why, sizeof(look->why),
                   "%s is neither a submit nor a command in a command buffer",
                   command ? vk_name(command->name) : "it");
    }
}

static bool has_id(const VkCommandBuffer *list, uint32_t count, uint64_t id)
{
    for (uint32_t i = 0; list && i < count; i++)
        if (VKR_RAW(list[i]) == id)
            return true;
    return false;
}

static bool is_other(void *user, VkCommandBuffer buffer)
{
    return VKR_RAW(buffer) != *(const uint64_t *)user;
}

static bool submits(const struct vkr_call *c, uint64_t id)
{
    struct vk_submit submit;

    return vk_submit_of(&submit, c->record->type, c->args) &&
           !vk_submit_each_buffer(&submit, is_other, &id);
}

/* After the command: who executes its command buffer first? */
static void follow(struct vkr_inspect *look, const struct vkr_call *c)
{
    const struct vk_args_vkCmdExecuteCommands *e = (const void *)c->args;
    const struct vk_args_vkBeginCommandBuffer *b = (const void *)c->args;
    uint64_t id = look->primary ? look->primary : look->command_buffer;

    if (vk_is_submit(c->record->type) && !(c->record->flags & SBT_RECORD_FAILED)) {
        if (submits(c, id))
            look->submit_seq = c->record->seq;
    } else if (c->record->type == TYPE_vkCmdExecuteCommands && !look->primary) {
        if (has_id(e->pCommandBuffers, e->commandBufferCount, id)) {
            look->primary = VKR_RAW(e->commandBuffer);
            look->execute_seq = c->record->seq;
        }
    } else if (c->record->type == TYPE_vkBeginCommandBuffer) {
        look->is_given_up |= VKR_RAW(b->commandBuffer) == id;
    }
}

static int plan_behind(struct vkr *r, const struct sbt_record *record)
{
    struct vkr_call c;
    int error;

    if (!vk_is_submit(record->type) && record->type != TYPE_vkCmdExecuteCommands &&
        record->type != TYPE_vkBeginCommandBuffer)
        return 0;
    error = vkr_call_begin(&c, r, record, &r->arena, true);
    if (error == 1)
        follow(r->inspect, &c);
    vkr_call_finish(&c);
    vk_arena_reset(&r->arena);
    return error < 0 ? error : 0;
}

int vkr_inspect_plan(struct vkr *r, const struct sbt_record *record)
{
    struct vkr_inspect *look = r->inspect;
    int error = 0;

    if (record->type == TYPE_vkQueuePresentKHR && !(record->flags & SBT_RECORD_FAILED))
        error = plan_frame(look, record);
    if (error || !look->wanted->dump_directory)
        return error;
    if (record->seq == look->wanted->dump_seq)
        plan_target(look, record);
    else if (look->is_command && !look->submit_seq && !look->is_given_up)
        error = plan_behind(r, record);
    if (look->submit_seq > look->last_seq)
        look->last_seq = look->submit_seq;
    return error;
}

/* ---- can it be? -------------------------------------------------------------------------- */

static int check_dump(const struct vkr *r)
{
    const struct vkr_inspect *look = r->inspect;
    unsigned long long seq = look->wanted->dump_seq;

    if (!look->is_found)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: record %llu cannot be dumped: there is none",
                        sbt_reader_name(r->reader), seq);
    if (look->why[0])
        return tsm_fail(TSM_E_ARGUMENT, "%s: record %llu cannot be dumped: %s",
                        sbt_reader_name(r->reader), seq, look->why);
    if (!look->submit_seq)
        return tsm_fail(TSM_E_ARGUMENT,
                        "%s: record %llu cannot be dumped: its command buffer was not submitted",
                        sbt_reader_name(r->reader), seq);
    return 0;
}

static int make_directory(const char *path)
{
    if (path && mkdir(path, 0777) < 0 && errno != EEXIST)
        return tsm_fail(TSM_E_IO, "%s: cannot be made: %s", path, tsm_errno_text(errno));
    return 0;
}

int vkr_inspect_check(struct vkr *r)
{
    const struct tsm_inspect *wanted = r->inspect->wanted;
    uint64_t first = UINT64_MAX;
    int error = 0;

    for (size_t i = 0; i < wanted->frame_count; i++)
        if (wanted->frames[i].first < first)
            first = wanted->frames[i].first;
    if (wanted->frame_count && !r->inspect->frame_count)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: there is no frame %llu: %llu were presented",
                        sbt_reader_name(r->reader), (unsigned long long)first,
                        (unsigned long long)r->inspect->present_count);
    if (wanted->dump_directory)
        error = check_dump(r);
    if (!error && wanted->frame_count)
        error = make_directory(wanted->screenshot_directory);
    return error || !wanted->dump_directory ? error : make_directory(wanted->dump_directory);
}

bool vkr_inspect_wanted(const struct vkr *r, const struct sbt_record *record)
{
    const struct vkr_inspect *look = r->inspect;

    if (!look)
        return false;
    return find_frame(look, record->seq) ||
           (look->wanted->dump_directory && record->seq == look->submit_seq);
}

/* ---- pictures of frames ------------------------------------------------------------------ */

/* Drops alpha, because a window shows no transparency. */
static void drop_alpha(struct png_picture *p, uint8_t *pixels)
{
    size_t bytes = p->bits / 8, count = (size_t)p->width * p->height;

    for (size_t i = 0; p->channels == 4 && i < count; i++)
        memmove(pixels + i * 3 * bytes, pixels + i * 4 * bytes, 3 * bytes);
    if (p->channels == 4)
        p->channels = 3;
}

static int write_picture(struct vkr *r, struct vkr_device *device, const struct vkr_image *image,
                         const char *path)
{
    struct png_picture picture;
    uint8_t *texels;
    uint64_t size;
    bool exact;
    int error = vkr_image_read(device, image, 0, 0, VK_IMAGE_ASPECT_COLOR_BIT, &texels, &size);

    if (error)
        return error;
    if (vk_texels_picture(&picture, &exact, image->format, VK_IMAGE_ASPECT_COLOR_BIT, texels,
                          image->extent.width, image->extent.height)) {
        uint8_t *pixels = (uint8_t *)(uintptr_t)picture.pixels;
        drop_alpha(&picture, pixels);
        error = png_file_write(&picture, path);
        free(pixels);
    } else {
        error = tsm_fail(TSM_E_UNSUPPORTED, "%s: no picture can be made of format %d", path,
                         (int)image->format);
    }
    free(texels);
    r->inspect->files += !error;
    return error;
}

static int write_frame(struct vkr_call *c, const struct vkr_frame *frame)
{
    const struct vk_args_vkQueuePresentKHR *a = (const void *)c->args;
    const VkPresentInfoKHR *info = a->pPresentInfo;
    int error = 0;

    for (uint32_t i = 0; i < info->swapchainCount && !error; i++) {
        const struct vkr_object *chain =
            vkr_object_of(c->r, VK_OBJECT_VkSwapchainKHR, VKR_RAW(info->pSwapchains[i]));
        struct vkr_image image;
        char path[PATH_MAX], which[16] = "";
        if (!chain || !vkr_swapchain_image(chain, info->pImageIndices[i], &image))
            return tsm_fail(TSM_E_FORMAT, "record %llu presents an image that is not there",
                            (unsigned long long)c->record->seq);
        if (i)
            tsm_format(which, sizeof(which), "-%u", i);
        tsm_format(path, sizeof(path), "%s/frame-%06llu%s.png",
                   c->r->inspect->wanted->screenshot_directory, (unsigned long long)frame->number,
                   which);
        error = write_picture(c->r, chain->device, &image, path);
    }
    return error;
}

static int look_at_frame(struct vkr *r, const struct sbt_record *record,
                         const struct vkr_frame *frame)
{
    struct vkr_call c;
    int error = vkr_call_begin(&c, r, record, &r->arena, false);

    if (error == 1)
        error = write_frame(&c, frame);
    vkr_call_finish(&c);
    vk_arena_reset(&r->arena);
    r->inspect->done++;
    return error;
}

int vkr_inspect(struct vkr *r, const struct sbt_record *record)
{
    struct vkr_inspect *look = r->inspect;
    const struct vkr_frame *frame = find_frame(look, record->seq);
    int error = 0;

    pthread_mutex_lock(&r->lock);
    if (frame)
        error = look_at_frame(r, record, frame);
    if (!error && look->wanted->dump_directory && record->seq == look->submit_seq)
        error = vkr_dump(r, record);
    pthread_mutex_unlock(&r->lock);
    return error || record->seq < look->last_seq || look->wanted->present ? error : 1;
}
