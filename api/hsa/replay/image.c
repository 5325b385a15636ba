/* SPDX-License-Identifier: Apache-2.0
 *
 * Images and samplers. Their handles are made again, and put into the arguments that the code
 * object says are such; an image's memory is the program's, and where that lies.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>
#include <string.h>

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

uint64_t hsa_image_translate(const struct hsa_replay *replay, uint64_t value)
{
    return tsm_map_get(&replay->images, value, value);
}

/* ---- making ------------------------------------------------------------------------------------
 */

static int made(struct hsa_replay *replay, enum hsa_object object, uint64_t id, uint64_t recorded,
                uint64_t raw)
{
    bool added;
    uint64_t *place = tsm_map_insert(&replay->images, recorded, &added);

    if (!place)
        return tsm_fail(TSM_E_MEMORY, "no memory for images");
    *place = raw;
    return hsa_object_add(replay, object, id, raw);
}

/* Slots from a field named geometry on. */
enum {
    GEOMETRY,
    WIDTH,
    HEIGHT,
    DEPTH,
    ARRAY_SIZE,
    TYPE,
    ORDER,
    LAYOUT,
    ROW_PITCH,
    SLICE_PITCH,
    DATA_SIZE,
    VALUE
};

/* Another GPU may need more memory for the same image, or put its pixels in another order there; of
 * the order nothing is said, but its size is. */
static int check_size(struct hsa_replay *replay, const struct sbt_record *record, hsa_agent_t agent,
                      const hsa_ext_image_descriptor_t *about, hsa_access_permission_t access,
                      uint32_t first)
{
    uint64_t recorded = hsa_slot(record, first + DATA_SIZE);
    hsa_ext_image_data_info_t info = {0};
    hsa_status_t status;

    if (hsa_slot(record, first + LAYOUT) == HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR)
        return 0;
    status = replay->calls.hsa_ext_image_data_get_info(agent, about, access, &info);
    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "hsa_ext_image_data_get_info", status);
    if (info.size != recorded)
        return tsm_fail(
            TSM_E_UNSUPPORTED,
            "an image takes %llu bytes where the trace was made, and %zu here: another GPU "
            "is needed",
            (unsigned long long)recorded, info.size);
    return 0;
}

static hsa_status_t create(struct hsa_replay *replay, const struct sbt_record *record,
                           hsa_agent_t agent, const hsa_ext_image_descriptor_t *about, void *data,
                           hsa_access_permission_t access, uint32_t first, hsa_ext_image_t *out)
{
    const struct hsa_real *calls = &replay->calls;
    uint64_t layout = hsa_slot(record, first + LAYOUT);

    if (layout == HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE)
        return calls->hsa_ext_image_create(agent, about, data, access, out);
    return calls->hsa_ext_image_create_with_layout(
        agent, about, data, access, (hsa_ext_image_data_layout_t)layout,
        hsa_slot(record, first + ROW_PITCH), hsa_slot(record, first + SLICE_PITCH), out);
}

/* Rows have pitches, and memory comes in pages: HIP makes images that end beyond what was asked
 * for. */
static bool has_room(const struct tsm_region *region, uint64_t address, uint64_t size)
{
    uint64_t end = (region->address + region->size + HSA_PAGE - 1) & ~(uint64_t)(HSA_PAGE - 1);

    return size <= end - address;
}

/* The fields of both calls are the same. */
int replay_hsa_ext_image_create(struct hsa_replay *replay, const struct sbt_record *record)
{
    const uint32_t first = SLOT_hsa_ext_image_create_geometry;
    hsa_agent_t agent = hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_ext_image_create_agent));
    uint64_t data = hsa_slot(record, SLOT_hsa_ext_image_create_image_data);
    hsa_access_permission_t access =
        (hsa_access_permission_t)hsa_slot(record, SLOT_hsa_ext_image_create_access_permission);
    const hsa_ext_image_descriptor_t about = {
        .geometry = (hsa_ext_image_geometry_t)hsa_slot(record, first + GEOMETRY),
        .width = hsa_slot(record, first + WIDTH),
        .height = hsa_slot(record, first + HEIGHT),
        .depth = hsa_slot(record, first + DEPTH),
        .array_size = hsa_slot(record, first + ARRAY_SIZE),
        .format = {(uint32_t)hsa_slot(record, first + TYPE),
                   (uint32_t)hsa_slot(record, first + ORDER)}};
    const struct tsm_region *region = hsa_memory_find(&replay->memory, data);
    hsa_ext_image_t image = {0};
    hsa_status_t status;
    int error;

    if (!region || !has_room(region, data, hsa_slot(record, first + DATA_SIZE)))
        return tsm_fail(TSM_E_FORMAT, "an image in memory that was never made");
    error = check_size(replay, record, agent, &about, access, first);
    if (error)
        return error;
    status = create(replay, record, agent, &about,
                    pointer(hsa_memory_translate(&replay->memory, data)), access, first, &image);
    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "hsa_ext_image_create", status);
    return made(replay, HSA_OBJECT_IMAGE, hsa_slot(record, SLOT_hsa_ext_image_create_image),
                hsa_slot(record, first + VALUE), image.handle);
}

int replay_hsa_ext_sampler_create(struct hsa_replay *replay, const struct sbt_record *record)
{
    const hsa_ext_sampler_descriptor_t about = {
        (uint32_t)hsa_slot(record, SLOT_hsa_ext_sampler_create_coordinate_mode),
        (uint32_t)hsa_slot(record, SLOT_hsa_ext_sampler_create_filter_mode),
        (uint32_t)hsa_slot(record, SLOT_hsa_ext_sampler_create_address_mode)};
    hsa_ext_sampler_t sampler = {0};
    hsa_status_t status = replay->calls.hsa_ext_sampler_create(
        hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_ext_sampler_create_agent)), &about,
        &sampler);

    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "hsa_ext_sampler_create", status);
    return made(replay, HSA_OBJECT_SAMPLER, hsa_slot(record, SLOT_hsa_ext_sampler_create_sampler),
                hsa_slot(record, SLOT_hsa_ext_sampler_create_value), sampler.handle);
}

int replay_hsa_ext_image_destroy(struct hsa_replay *replay, const struct sbt_record *record)
{
    hsa_ext_image_t image = {hsa_object_find(replay, HSA_OBJECT_IMAGE,
                                             hsa_slot(record, SLOT_hsa_ext_image_destroy_image))};

    if (image.handle)
        replay->calls.hsa_ext_image_destroy(
            hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_ext_image_destroy_agent)), image);
    return 0;
}

int replay_hsa_ext_sampler_destroy(struct hsa_replay *replay, const struct sbt_record *record)
{
    hsa_ext_sampler_t sampler = {hsa_object_find(
        replay, HSA_OBJECT_SAMPLER, hsa_slot(record, SLOT_hsa_ext_sampler_destroy_sampler))};

    if (sampler.handle)
        replay->calls.hsa_ext_sampler_destroy(
            hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_ext_sampler_destroy_agent)),
            sampler);
    return 0;
}

/* ---- moving pixels -----------------------------------------------------------------------------
 */

static hsa_dim3_t three(const struct sbt_record *record, uint32_t first)
{
    return (hsa_dim3_t){(uint32_t)hsa_slot(record, first), (uint32_t)hsa_slot(record, first + 1),
                        (uint32_t)hsa_slot(record, first + 2)};
}

static hsa_ext_image_region_t region_of(const struct sbt_record *record, uint32_t first)
{
    return (hsa_ext_image_region_t){three(record, first), three(record, first + 3)};
}

static int moved(const struct hsa_replay *replay, const char *call, hsa_status_t status)
{
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, call, status);
}

/* The pixels as rows of memory, `size` bytes of them. False: that cannot be. */
static bool rows_of(const hsa_ext_image_region_t *region, uint64_t size, uint64_t row_pitch,
                    uint64_t slice_pitch, struct hsa_received *out)
{
    uint64_t rows = (uint64_t)region->range.y * region->range.z;

    if (!rows || size % rows)
        return false;
    out->size = size;
    out->width = size / rows;
    out->height = region->range.y;
    out->depth = region->range.z;
    out->pitch = row_pitch ? row_pitch : out->width;
    out->plane = slice_pitch;
    return slice_pitch || !__builtin_mul_overflow(out->pitch, out->height, &out->plane);
}

/* Returns the rows in memory of the recording. NULL: they do not lie in one piece of it. */
static uint8_t *rows_at(const struct hsa_replay *replay, uint64_t address,
                        const struct hsa_received *rows, const struct tsm_region **region)
{
    const uint64_t box[5] = {rows->width, rows->height, rows->depth, rows->pitch, rows->plane};

    *region = hsa_memory_find(&replay->memory, address);
    if (!hsa_memory_holds_box(&replay->memory, address, box))
        return NULL;
    return pointer(hsa_memory_translate(&replay->memory, address));
}

int replay_hsa_ext_image_import(struct hsa_replay *replay, const struct sbt_record *record)
{
    hsa_ext_image_region_t region = region_of(record, SLOT_hsa_ext_image_import_x);
    hsa_ext_image_t image = {hsa_object_find(
        replay, HSA_OBJECT_IMAGE, hsa_slot(record, SLOT_hsa_ext_image_import_dst_image))};
    uint64_t row_pitch = hsa_slot(record, SLOT_hsa_ext_image_import_src_row_pitch);
    uint64_t slice_pitch = hsa_slot(record, SLOT_hsa_ext_image_import_src_slice_pitch);
    uint64_t size = hsa_slot(record, SLOT_hsa_ext_image_import_size), payload_size;
    const struct tsm_region *from_region;
    struct hsa_received rows;
    hsa_status_t status;
    uint8_t *payload, *from;
    int error =
        hsa_blob_read(replay, record, SLOT_hsa_ext_image_import_bytes, &payload, &payload_size);

    if (error)
        return error;
    if (!size)
        return 0;
    from = rows_of(&region, size, row_pitch, slice_pitch, &rows) && !payload
               ? rows_at(replay, hsa_slot(record, SLOT_hsa_ext_image_import_src_memory), &rows,
                         &from_region)
               : payload;
    if (!from || !image.handle || (payload && payload_size != size)) {
        free(payload);
        return tsm_fail(TSM_E_FORMAT, "pixels from memory, or for an image, that was never made");
    }
    status = replay->calls.hsa_ext_image_import(
        hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_ext_image_import_agent)), from,
        payload ? 0 : row_pitch, payload ? 0 : slice_pitch, image, &region);
    free(payload);
    return moved(replay, "hsa_ext_image_import", status);
}

/* Rows for the host lie in its memory, or packed in memory of ours. */
static int receive(struct hsa_replay *replay, const struct sbt_record *record,
                   struct hsa_received *rows, uint64_t address, uint8_t **out, bool *packed)
{
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    const struct tsm_region *region;

    if (!stream)
        return tsm_fail(TSM_E_FORMAT, "a copy on no stream");
    *out = rows_at(replay, address, rows, &region);
    *packed = !region;
    if (!*out && region)
        return tsm_fail(TSM_E_FORMAT, "pixels for memory that was never made");
    if (*packed)
        *out = malloc(rows->size);
    if (!*out)
        return tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes", (unsigned long long)rows->size);
    rows->position = record->position;
    rows->data = *out;
    if (*packed)
        hsa_stream_receives(stream, record->position, *out, rows->size, *out);
    else if (region->is_host)
        hsa_stream_receives_box(stream, rows);
    return 0;
}

int replay_hsa_ext_image_export(struct hsa_replay *replay, const struct sbt_record *record)
{
    hsa_ext_image_region_t region = region_of(record, SLOT_hsa_ext_image_export_x);
    hsa_ext_image_t image = {hsa_object_find(
        replay, HSA_OBJECT_IMAGE, hsa_slot(record, SLOT_hsa_ext_image_export_src_image))};
    uint64_t row_pitch = hsa_slot(record, SLOT_hsa_ext_image_export_dst_row_pitch);
    uint64_t slice_pitch = hsa_slot(record, SLOT_hsa_ext_image_export_dst_slice_pitch);
    uint64_t size = hsa_slot(record, SLOT_hsa_ext_image_export_size);
    struct hsa_received rows = {0};
    bool packed = false;
    uint8_t *to = NULL;
    int error;

    if (!size)
        return 0;
    if (!image.handle || !rows_of(&region, size, row_pitch, slice_pitch, &rows))
        return tsm_fail(TSM_E_FORMAT, "pixels of an image that was never made");
    error = receive(replay, record, &rows, hsa_slot(record, SLOT_hsa_ext_image_export_dst_memory),
                    &to, &packed);
    if (error)
        return error;
    return moved(replay, "hsa_ext_image_export",
                 replay->calls.hsa_ext_image_export(
                     hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_ext_image_export_agent)),
                     image, to, packed ? 0 : row_pitch, packed ? 0 : slice_pitch, &region));
}

int replay_hsa_ext_image_copy(struct hsa_replay *replay, const struct sbt_record *record)
{
    hsa_ext_image_t from = {hsa_object_find(replay, HSA_OBJECT_IMAGE,
                                            hsa_slot(record, SLOT_hsa_ext_image_copy_src_image))};
    hsa_ext_image_t to = {hsa_object_find(replay, HSA_OBJECT_IMAGE,
                                          hsa_slot(record, SLOT_hsa_ext_image_copy_dst_image))};
    hsa_dim3_t src = three(record, SLOT_hsa_ext_image_copy_src_x),
               dst = three(record, SLOT_hsa_ext_image_copy_dst_x),
               range = three(record, SLOT_hsa_ext_image_copy_width);

    if (!from.handle || !to.handle)
        return tsm_fail(TSM_E_FORMAT, "a copy of an image that was never made");
    return moved(replay, "hsa_ext_image_copy",
                 replay->calls.hsa_ext_image_copy(
                     hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_ext_image_copy_agent)),
                     from, &src, to, &dst, &range));
}

int replay_hsa_ext_image_clear(struct hsa_replay *replay, const struct sbt_record *record)
{
    hsa_ext_image_region_t region = region_of(record, SLOT_hsa_ext_image_clear_x);
    hsa_ext_image_t image = {hsa_object_find(replay, HSA_OBJECT_IMAGE,
                                             hsa_slot(record, SLOT_hsa_ext_image_clear_image))};
    uint32_t value[4] = {0};
    const uint8_t *bytes;
    size_t size;

    if (!image.handle || !sbt_record_bytes(record, SLOT_hsa_ext_image_clear_data, &bytes, &size))
        return tsm_fail(TSM_E_FORMAT, "clears an image that was never made");
    memcpy(value, bytes, size < sizeof(value) ? size : sizeof(value));
    return moved(replay, "hsa_ext_image_clear",
                 replay->calls.hsa_ext_image_clear(
                     hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_ext_image_clear_agent)),
                     image, value, &region));
}
