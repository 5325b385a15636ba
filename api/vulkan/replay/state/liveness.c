/* SPDX-License-Identifier: Apache-2.0
 *
 * Images that a part of a trace overwrites before it looks at them, or does not look at at all:
 * what they hold at its begin need not be in it. One pass over the trace to the part's end, by the
 * trace alone. Where anything cannot be followed, nothing is stale.
 *
 * Memory that is compared in the part must have the same bytes: there an image's content must be
 * overwritten before the first comparison, and its bytes never have been another resource's or the
 * host's, for what lies between its texels is not overwritten.
 */
#include "api/vulkan/replay/state/liveness.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/inspect/scene.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/image_access.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/tables/submit.h"
#include "base/array.h"

enum state { KEPT, VOID, WRITTEN }; /* of each level and layer */

struct image {
    uint64_t id, place, offset, size;
    bool is_needed;
    struct vkr_fact_image *states;
};

/* A buffer or image in memory, since the trace began. */
struct bound {
    uint64_t memory, object, offset, size; /* memory: its id */
    bool is_image;
};

struct vkr_liveness {
    struct vkr *r;
    struct vkr_scene *scene;
    struct vkr_image_access_table touched;
    struct image *images;
    size_t image_count;
    struct tsm_map places; /* id of an image -> 1 + its place in `images` */
    struct tsm_map mapped; /* id of memory that the host may have read */
    struct bound *bounds;
    size_t bound_count, bound_capacity;
    uint32_t stream; /* the only one that the part sends to */
    bool gives_up;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory to find what a part does not look at");
}

/* ---- what is in memory ------------------------------------------------------------------- */

static int add_bound(struct vkr_liveness *s, struct bound bound)
{
    return TSM_ARRAY_PUSH(s->bounds, s->bound_count, s->bound_capacity, bound) ? 0 : no_memory();
}

/* The size of a destroyed image is not known. */
static int add_image(struct vkr_liveness *s, VkImage image, VkDeviceMemory memory, uint64_t offset)
{
    const struct vkr_object *o = vkr_object_find(s->r, VK_OBJECT_VkImage, VKR_RAW(image));

    return add_bound(s, (struct bound){VKR_RAW(memory), VKR_RAW(image), offset,
                                       o && o->memory_size ? o->memory_size : UINT64_MAX, true});
}

static int add_buffer(struct vkr_liveness *s, VkBuffer buffer, VkDeviceMemory memory,
                      uint64_t offset)
{
    const struct vkr_scene_object *made = VKR_SCENE_FIND(s->scene, VkBuffer, buffer);
    uint64_t size = made && made->call == TYPE_vkCreateBuffer
                        ? ((const struct vk_args_vkCreateBuffer *)made->args)->pCreateInfo->size
                        : UINT64_MAX;

    return add_bound(s, (struct bound){VKR_RAW(memory), VKR_RAW(buffer), offset, size, false});
}

static int note_bound(struct vkr_liveness *s, const struct vkr_call *c)
{
    const struct vk_args_vkBindBufferMemory *buffer = (const void *)c->args;
    const struct vk_args_vkBindBufferMemory2 *buffers = (const void *)c->args;
    const struct vk_args_vkBindImageMemory *image = (const void *)c->args;
    const struct vk_args_vkBindImageMemory2 *images = (const void *)c->args;
    int error = 0;

    switch (c->record->type) {
    case TYPE_vkBindBufferMemory:
        return add_buffer(s, buffer->buffer, buffer->memory, buffer->memoryOffset);
    case TYPE_vkBindImageMemory:
        return add_image(s, image->image, image->memory, image->memoryOffset);
    case TYPE_vkBindBufferMemory2:
    case TYPE_vkBindBufferMemory2KHR:
        for (uint32_t i = 0; i < buffers->bindInfoCount && !error; i++)
            error = add_buffer(s, buffers->pBindInfos[i].buffer, buffers->pBindInfos[i].memory,
                               buffers->pBindInfos[i].memoryOffset);
        return error;
    default:
        for (uint32_t i = 0; i < images->bindInfoCount && !error; i++)
            error = add_image(s, images->pBindInfos[i].image, images->pBindInfos[i].memory,
                              images->pBindInfos[i].memoryOffset);
        return error;
    }
}

static uint64_t memory_of(const struct image *image)
{
    return image->place >> VKR_PLACE_ID_SHIFT & VKR_PLACE_ID_MAX;
}

static bool has_company(const struct vkr_liveness *s, const struct image *image)
{
    uint64_t memory = memory_of(image);

    if (image->place & VKR_PLACE_WINDOW)
        return false;
    for (size_t i = 0; i < s->bound_count; i++) {
        const struct bound *b = &s->bounds[i];
        bool is_same = b->is_image && b->object == image->id;
        if (b->memory == memory && !is_same && b->offset < image->offset + image->size &&
            (b->offset >= image->offset || b->size > image->offset - b->offset))
            return true;
    }
    return false;
}

/* ---- images at the begin ----------------------------------------------------------------- */

/* Tests for images that only the part's commands can read. */
static bool is_plain(const struct vkr_liveness *s, uint64_t id)
{
    const VkImageCreateFlags odd = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_ALIAS_BIT |
                                   VK_IMAGE_CREATE_DISJOINT_BIT;
    VkImageCreateInfo info;

    return vkr_scene_image(s->scene, id, &info) && info.imageType != VK_IMAGE_TYPE_3D &&
           info.tiling == VK_IMAGE_TILING_OPTIMAL && !(info.flags & odd) &&
           !vk_chain_find(info.pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
}

static struct vkr_fact_image *blank(const struct vkr_fact_image *like)
{
    size_t count = (size_t)like->levels * like->layers * vkr_plane_count(like->aspects);
    struct vkr_fact_image *out = calloc(1, sizeof(*out) + count * sizeof(out->layouts[0]));

    if (out) {
        out->aspects = like->aspects;
        out->levels = like->levels;
        out->layers = like->layers;
    }
    return out;
}

static int begin_image(struct vkr_liveness *s, const struct vkr_object *o)
{
    struct image *image = &s->images[s->image_count];
    bool is_window = !o->memory;
    uint64_t place =
        is_window ? VKR_PLACE | VKR_PLACE_WINDOW | o->id << VKR_PLACE_ID_SHIFT : o->memory;
    const struct vkr_memory *m = vkr_memory_find(s->r, place);
    bool added;

    if (!m || !o->fact || m->is_shared || m->imported_address || !is_plain(s, o->id))
        return 0;
    *image = (struct image){.id = o->id,
                            .place = m->place,
                            .offset = is_window ? 0 : o->memory_offset,
                            .size = is_window ? m->size : o->memory_size,
                            .states = blank(o->fact)};
    uint64_t *place_of = tsm_map_insert(&s->places, o->id, &added);
    if (!image->states || !place_of) {
        free(image->states);
        return no_memory();
    }
    *place_of = ++s->image_count;
    return 0;
}

static int begin_images(struct vkr_liveness *s)
{
    size_t count = 0;
    int error = 0;

    for (const struct vkr_object *o = s->r->objects.first; o; o = o->next)
        count += o->type == VK_OBJECT_VkImage;
    s->images = calloc(count + 1, sizeof(*s->images));
    if (!s->images)
        return no_memory();
    for (const struct vkr_object *o = s->r->objects.first; o && !error; o = o->next)
        if (o->type == VK_OBJECT_VkImage)
            error = begin_image(s, o);
    return error;
}

/* ---- what the part does to them ---------------------------------------------------------- */

struct change {
    struct image *image;
    enum vkr_image_access_kind kind;
};

static void change_state(void *user, uint32_t *state)
{
    const struct change *change = user;

    if (change->kind == VKR_IMAGE_ACCESS_WRITE)
        *state = WRITTEN;
    else if (change->kind == VKR_IMAGE_ACCESS_VOID)
        *state = *state == KEPT ? VOID : *state;
    else if (*state == KEPT)
        change->image->is_needed = true;
}

static void change_part(struct vkr_liveness *s, enum vkr_image_access_kind kind,
                        const struct vkr_part *part)
{
    const uint64_t *place = tsm_map_find(&s->places, part->image);
    struct change change = {place && *place ? &s->images[*place - 1] : NULL, kind};

    if (change.image && !change.image->is_needed)
        vkr_each_of_part(change.image->states, part, change_state, &change);
}

static void look_at_set(struct vkr_liveness *s, uint64_t id)
{
    const struct vkr_scene_object *made = vkr_scene_find(s->scene, VK_OBJECT_VkDescriptorSet, id);
    const struct vkr_set *set = made ? made->content : NULL;

    for (size_t i = 0; set && i < set->count; i++) {
        struct vkr_part part = vkr_view_part(s->scene, set->list[i].view);
        change_part(s, VKR_IMAGE_ACCESS_USE, &part);
    }
    s->gives_up |= !set;
}

static bool submit_buffer(void *user, uint64_t buffer)
{
    struct vkr_liveness *s = user;
    const struct vkr_image_accesses *touches = vkr_image_accesses_of(&s->touched, buffer);

    for (size_t i = 0; touches && i < touches->count; i++) {
        const struct vkr_image_access *t = &touches->list[i];
        if (t->kind == VKR_IMAGE_ACCESS_ALL)
            s->gives_up = true;
        else if (t->kind == VKR_IMAGE_ACCESS_SET)
            look_at_set(s, t->part.image);
        else
            change_part(s, t->kind, &t->part);
    }
    return !s->gives_up;
}

/* The image of a swapchain as its first list names it; 0: unknown. */
static uint64_t presented(const struct vkr_scene *scene, VkSwapchainKHR chain, uint32_t index)
{
    for (size_t i = 0; i < scene->count; i++) {
        const struct vkr_scene_object *made = scene->list[i];
        const struct vk_args_vkGetSwapchainImagesKHR *a = made->args;
        if (made->type == VK_OBJECT_VkImage && made->call == TYPE_vkGetSwapchainImagesKHR &&
            made->index == index && a->swapchain == chain)
            return made->id;
    }
    return 0;
}

static void present(struct vkr_liveness *s, const struct vkr_call *c)
{
    const VkPresentInfoKHR *info =
        ((const struct vk_args_vkQueuePresentKHR *)(const void *)c->args)->pPresentInfo;

    for (uint32_t i = 0; i < info->swapchainCount; i++) {
        struct vkr_part part = {presented(s->scene, info->pSwapchains[i], info->pImageIndices[i]),
                                ~0u,
                                0,
                                UINT32_MAX,
                                0,
                                UINT32_MAX};
        s->gives_up |= !part.image;
        change_part(s, VKR_IMAGE_ACCESS_USE, &part);
    }
}

static void see_state(void *user, uint32_t *state)
{
    bool *is_written = user;

    *is_written &= *state == WRITTEN;
}

/* docs/FORMAT.md 10, "checksum": bytes of memory are compared. */
static void compare(struct vkr_liveness *s, const struct sbt_record *record)
{
    const struct vkr_part all = {0, ~0u, 0, UINT32_MAX, 0, UINT32_MAX};
    uint64_t place = record->slot_count > 3 ? record->slots[2] & ~VKR_PLACE_OFFSET : 0;
    uint64_t offset = record->slot_count > 3 ? record->slots[2] & VKR_PLACE_OFFSET : 0;

    for (size_t i = 0; i < s->image_count; i++) {
        struct image *image = &s->images[i];
        bool is_written = true;
        if (image->place == place && (place & VKR_PLACE_WINDOW))
            offset = image->offset; /* its texels */
        if (image->place != place || offset >= image->offset + image->size ||
            (offset < image->offset && record->slots[3] <= image->offset - offset))
            continue;
        vkr_each_of_part(image->states, &all, see_state, &is_written);
        image->is_needed |= !is_written || tsm_map_find(&s->mapped, memory_of(image));
    }
}

/* ---- the pass ---------------------------------------------------------------------------- */

static bool is_bind(uint32_t type)
{
    return type == TYPE_vkBindBufferMemory || type == TYPE_vkBindBufferMemory2 ||
           type == TYPE_vkBindBufferMemory2KHR || type == TYPE_vkBindImageMemory ||
           type == TYPE_vkBindImageMemory2 || type == TYPE_vkBindImageMemory2KHR;
}

/* A call that is decoded here. */
static int visit_call(struct vkr_liveness *s, const struct sbt_record *record)
{
    struct vkr_call c;
    int error = vkr_call_begin(&c, s->r, record, &s->scene->scratch, true);

    if (error == 1 && is_bind(record->type))
        error = note_bound(s, &c);
    else if (error == 1)
        present(s, &c);
    vkr_call_finish(&c);
    vk_arena_reset(&s->scene->scratch);
    return error < 0 ? error : 0;
}

/* Notes memory at its first mapping: its content then is recorded as the host's. */
static int note_mapped(struct vkr_liveness *s, const struct sbt_record *record)
{
    bool added;

    s->gives_up |= record->type != TYPE_vkMapMemory || record->slot_count < 2;
    return s->gives_up || tsm_map_insert(&s->mapped, record->slots[1], &added) ? 0 : no_memory();
}

/* The order of what several queues do is not known. */
static void note_stream(struct vkr_liveness *s, const struct sbt_record *record)
{
    if (s->stream == SBT_STREAM_NONE)
        s->stream = record->stream;
    s->gives_up |= record->stream != SBT_STREAM_NONE && record->stream != s->stream;
}

static int visit_part(struct vkr_liveness *s, const struct sbt_record *record)
{
    note_stream(s, record);
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM))
        compare(s, record);
    else if (record->type == TYPE_vkQueuePresentKHR)
        return visit_call(s, record);
    else if (vk_is_submit(record->type))
        return vkr_scene_each_submitted(s->scene, record, submit_buffer, s);
    return 0;
}

static int visit(struct vkr_liveness *s, const struct sbt_record *record, uint64_t first)
{
    const struct vk_command *command = SBT_TYPE_API(record->type) == SBT_API_VULKAN
                                           ? vk_command_of(SBT_TYPE_CALL(record->type))
                                           : NULL;
    int error;

    if (!s->images && record->seq >= first && (error = begin_images(s)))
        return error;
    s->gives_up |= record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_UNMODELLED) ||
                   (record->flags & SBT_RECORD_TAINTS) || record->type == TYPE_vkQueueBindSparse;
    if (record->flags & (SBT_RECORD_FAILED | SBT_RECORD_UNFINISHED))
        return 0;
    error = vkr_scene_note(s->scene, record);
    if (!error && command &&
        (strncmp(vk_name(command->name), "vkCmd", 5) == 0 ||
         record->type == TYPE_vkBeginCommandBuffer))
        error = vkr_image_access_note(&s->touched, s->scene, record);
    else if (!error && is_bind(record->type))
        error = visit_call(s, record);
    else if (!error && command && strncmp(vk_name(command->name), "vkMapMemory", 11) == 0)
        error = note_mapped(s, record);
    return error || record->seq < first ? error : visit_part(s, record);
}

static int read_trace(struct vkr_liveness *s, uint64_t first, uint64_t end)
{
    const struct sbt_filter filter = {.seq_end = end};
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int error = sbt_cursor_create(&cursor, s->r->reader, &filter, 1), more = 0;

    while (!error && !s->gives_up && (more = sbt_cursor_next(cursor, &record)) == 1)
        error = visit(s, record, first);
    sbt_cursor_destroy(cursor);
    return error ? error : more < 0 ? more : 0;
}

int vkr_liveness_find(struct vkr_liveness **out, struct vkr *r, uint64_t first, uint64_t end)
{
    struct vkr_liveness *s = calloc(1, sizeof(*s));
    int error;

    if (!s)
        return no_memory();
    s->r = r;
    s->stream = SBT_STREAM_NONE;
    error = vkr_scene_create(&s->scene, r, 0);
    if (!error)
        error = read_trace(s, first, end);
    for (size_t i = 0; i < s->image_count; i++)
        s->images[i].is_needed |= s->gives_up || has_company(s, &s->images[i]);
    if (error)
        vkr_liveness_destroy(s);
    else
        *out = s;
    return error;
}

void vkr_liveness_destroy(struct vkr_liveness *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->image_count; i++)
        free(s->images[i].states);
    free(s->images);
    free(s->bounds);
    tsm_map_finish(&s->places);
    tsm_map_finish(&s->mapped);
    vkr_image_access_table_finish(&s->touched);
    vkr_scene_destroy(s->scene);
    free(s);
}

bool vkr_liveness_next(const struct vkr_liveness *s, const struct vkr_memory *m, uint64_t *offset,
                       uint64_t *size)
{
    const struct image *next = NULL;

    for (size_t i = 0; i < s->image_count; i++) {
        const struct image *image = &s->images[i];
        if (!image->is_needed && image->size && image->place == m->place &&
            image->offset >= *offset && (!next || image->offset < next->offset))
            next = image;
    }
    if (next) {
        *offset = next->offset;
        *size = next->size;
    }
    return next;
}
