/* SPDX-License-Identifier: Apache-2.0
 *
 * Images and samplers. All images are linear; a handle is a pointer to what kernels see
 * (include/tracesmith/hsa_kernel.h). Pixels are moved at once, by whoever calls.
 */
#include "emu/hsa/runtime.h"
#include "emu/hsa/sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "api/hsa/image.h"
#include "emu/ptx/real.h"
#include "tracesmith/hsa_kernel.h"

#define ROW_ALIGNMENT  256u
#define DATA_ALIGNMENT 256u

_Static_assert(sizeof(struct tracesmith_hsa_image) == 48, "HIP copies 12 words");
_Static_assert(sizeof(struct tracesmith_hsa_sampler) == 32, "HIP copies 8 words");

/* ---- what there can be -------------------------------------------------------------------------
 */

static size_t or_one(size_t count)
{
    return count ? count : 1;
}

/* Pixels in each direction, layers counted as rows or slices. False: more than an image may have.
 */
static bool extent_of(const hsa_ext_image_descriptor_t *about, size_t out[3])
{
    bool is_rows = about->geometry == HSA_EXT_IMAGE_GEOMETRY_1DA;

    out[0] = about->width;
    out[1] = or_one(is_rows ? about->array_size : about->height);
    out[2] = or_one(is_rows                                        ? 1
                    : about->geometry == HSA_EXT_IMAGE_GEOMETRY_3D ? about->depth
                                                                   : about->array_size);
    return out[0] && out[1] <= EMU_HSA_IMAGE_MAX && out[2] <= EMU_HSA_IMAGE_MAX &&
           out[0] <= (about->geometry == HSA_EXT_IMAGE_GEOMETRY_1DB ? EMU_HSA_IMAGE_BUFFER_MAX
                                                                    : EMU_HSA_IMAGE_MAX);
}

static hsa_status_t describe(const hsa_ext_image_descriptor_t *about,
                             hsa_ext_image_data_layout_t layout, size_t row_pitch,
                             size_t slice_pitch, struct tracesmith_hsa_image *out)
{
    size_t extent[3], row, slice;
    bool is_given = layout == HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR;

    *out =
        (struct tracesmith_hsa_image){.width = (uint32_t)about->width,
                                      .height = (uint32_t)about->height,
                                      .depth = (uint32_t)about->depth,
                                      .array_size = (uint32_t)about->array_size,
                                      .geometry = about->geometry,
                                      .channel_type = about->format.channel_type,
                                      .channel_order = about->format.channel_order,
                                      .pixel_size = hsa_image_pixel_size(
                                          about->format.channel_type, about->format.channel_order)};
    if (!out->pixel_size || about->geometry > HSA_EXT_IMAGE_GEOMETRY_2DADEPTH)
        return (hsa_status_t)HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
    if (!extent_of(about, extent))
        return (hsa_status_t)HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED;
    row = extent[0] * out->pixel_size;
    if (extent[1] * extent[2] > 1)
        row = (row + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    row = is_given && row_pitch ? row_pitch : row;
    slice = is_given && slice_pitch ? slice_pitch : row * extent[1];
    if (row < extent[0] * out->pixel_size || slice < row || row > UINT32_MAX || slice > UINT32_MAX)
        return (hsa_status_t)HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED;
    out->row_pitch = (uint32_t)row;
    out->slice_pitch = (uint32_t)slice;
    return HSA_STATUS_SUCCESS;
}

/* The header says size_t; AMD's runtime gives, and HIP asks for, 32 bits each. */
bool emu_hsa_image_info(uint32_t attribute, void *out)
{
    static const uint32_t most[3] = {EMU_HSA_IMAGE_MAX, EMU_HSA_IMAGE_MAX, EMU_HSA_IMAGE_MAX};

    switch (attribute) {
    case HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS:
        memcpy(out, most, sizeof(most[0]));
        return true;
    case HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS:
        EMU_HSA_GIVE(uint32_t, EMU_HSA_IMAGE_BUFFER_MAX);
        return true;
    case HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS:
        memcpy(out, most, 2 * sizeof(most[0]));
        return true;
    case HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS:
        memcpy(out, most, sizeof(most));
        return true;
    case HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES:
    case HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES:
    case HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS:
        EMU_HSA_GIVE(uint32_t, 65536);
        return true;
    case HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT:
        EMU_HSA_GIVE(uint32_t, ROW_ALIGNMENT);
        return true;
    default:
        return false;
    }
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_image_get_info_max_dim(hsa_agent_t agent,
                                                           hsa_agent_info_t attribute, void *value)
{
    if (agent.handle != emu_hsa_gpu().handle)
        return HSA_STATUS_ERROR_INVALID_AGENT;
    return value && emu_hsa_image_info(attribute, value) ? HSA_STATUS_SUCCESS
                                                         : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_get_capability_with_layout(
    hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
    const hsa_ext_image_format_t *image_format, hsa_ext_image_data_layout_t image_data_layout,
    uint32_t *capability_mask)
{
    if (agent.handle != emu_hsa_gpu().handle)
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!image_format || !capability_mask || image_data_layout > HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *capability_mask =
        hsa_image_pixel_size(image_format->channel_type, image_format->channel_order) &&
                geometry <= HSA_EXT_IMAGE_GEOMETRY_2DADEPTH
            ? HSA_EXT_IMAGE_CAPABILITY_READ_ONLY | HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY |
                  HSA_EXT_IMAGE_CAPABILITY_READ_WRITE
            : HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_get_capability(hsa_agent_t agent,
                                                         hsa_ext_image_geometry_t geometry,
                                                         const hsa_ext_image_format_t *image_format,
                                                         uint32_t *capability_mask)
{
    return hsa_ext_image_get_capability_with_layout(
        agent, geometry, image_format, HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, capability_mask);
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_data_get_info_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t *image_descriptor,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch,
    hsa_ext_image_data_info_t *image_data_info)
{
    struct tracesmith_hsa_image image;
    size_t extent[3];
    hsa_status_t status;

    if (agent.handle != emu_hsa_gpu().handle)
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!image_descriptor || !image_data_info)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = describe(image_descriptor, image_data_layout, image_data_row_pitch,
                      image_data_slice_pitch, &image);
    if (status != HSA_STATUS_SUCCESS)
        return status;
    extent_of(image_descriptor, extent);
    image_data_info->size = image.slice_pitch * extent[2];
    image_data_info->alignment = DATA_ALIGNMENT;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_data_get_info(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t *image_descriptor,
    hsa_access_permission_t access_permission, hsa_ext_image_data_info_t *image_data_info)
{
    return hsa_ext_image_data_get_info_with_layout(agent, image_descriptor, access_permission,
                                                   HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, 0, 0,
                                                   image_data_info);
}

/* ---- objects -----------------------------------------------------------------------------------
 */

/* Creates the target of a handle: kernels read it, and must not write it when they belong to
 * somebody else. */
static void *make_constant(size_t size)
{
    return emu_hsa_sandbox_is_used() ? emu_hsa_sandbox_constant(size) : calloc(1, size);
}

static void free_constant(uint64_t handle)
{
    if (emu_hsa_sandbox_is_used())
        emu_hsa_sandbox_constant_free((void *)(uintptr_t)handle);
    else
        free((void *)(uintptr_t)handle);
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_create_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t *image_descriptor, const void *image_data,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_t *image)
{
    struct tracesmith_hsa_image about, *made;
    hsa_status_t status;

    if (agent.handle != emu_hsa_gpu().handle)
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!image_descriptor || !image_data || !image || (uintptr_t)image_data % 4)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = describe(image_descriptor, image_data_layout, image_data_row_pitch,
                      image_data_slice_pitch, &about);
    if (status != HSA_STATUS_SUCCESS)
        return status;
    made = make_constant(sizeof(*made));
    if (!made)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    about.data = (void *)(uintptr_t)image_data;
    *made = about;
    image->handle = (uint64_t)(uintptr_t)made;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_create(hsa_agent_t agent,
                                                 const hsa_ext_image_descriptor_t *image_descriptor,
                                                 const void *image_data,
                                                 hsa_access_permission_t access_permission,
                                                 hsa_ext_image_t *image)
{
    return hsa_ext_image_create_with_layout(agent, image_descriptor, image_data, access_permission,
                                            HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, 0, 0, image);
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_destroy(hsa_agent_t agent, hsa_ext_image_t image)
{
    free_constant(image.handle);
    return image.handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t
hsa_ext_sampler_create(hsa_agent_t agent, const hsa_ext_sampler_descriptor_t *sampler_descriptor,
                       hsa_ext_sampler_t *sampler)
{
    struct tracesmith_hsa_sampler *made;

    if (agent.handle != emu_hsa_gpu().handle)
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!sampler_descriptor || !sampler)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    made = make_constant(sizeof(*made));
    if (!made)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    made->coordinate_mode = sampler_descriptor->coordinate_mode;
    made->filter_mode = sampler_descriptor->filter_mode;
    made->address_mode = sampler_descriptor->address_mode;
    sampler->handle = (uint64_t)(uintptr_t)made;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t sampler)
{
    free_constant(sampler.handle);
    return sampler.handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* ---- pixels ------------------------------------------------------------------------------------
 */

static const struct tracesmith_hsa_image *image_of(hsa_ext_image_t image)
{
    return (const void *)(uintptr_t)image.handle;
}

static bool holds(const struct tracesmith_hsa_image *image, const hsa_dim3_t *at,
                  const hsa_dim3_t *range)
{
    const hsa_ext_image_descriptor_t about = {.geometry = (hsa_ext_image_geometry_t)image->geometry,
                                              .width = image->width,
                                              .height = image->height,
                                              .depth = image->depth,
                                              .array_size = image->array_size};
    size_t extent[3];

    extent_of(&about, extent);
    return at->x <= extent[0] && range->x <= extent[0] - at->x && at->y <= extent[1] &&
           range->y <= extent[1] - at->y && at->z <= extent[2] && range->z <= extent[2] - at->z;
}

/* Rows of pixels, where they begin and how far apart they and their slices are. */
struct rows {
    uint8_t *at;
    size_t pitch, slice;
};

static struct rows rows_in(const struct tracesmith_hsa_image *image, const hsa_dim3_t *at)
{
    return (struct rows){tracesmith_hsa_pixel(image, at->x, at->y, at->z), image->row_pitch,
                         image->slice_pitch};
}

static struct rows rows_at(const void *memory, size_t pitch, size_t slice, const hsa_dim3_t *range,
                           uint32_t pixel_size)
{
    size_t row = pitch ? pitch : (size_t)range->x * pixel_size;

    return (struct rows){(uint8_t *)(uintptr_t)memory, row, slice ? slice : row * range->y};
}

static void move(struct rows to, struct rows from, const hsa_dim3_t *range, uint32_t pixel_size)
{
    for (uint32_t z = 0; z < range->z; z++)
        for (uint32_t y = 0; y < range->y; y++)
            memmove(to.at + z * to.slice + y * to.pitch, from.at + z * from.slice + y * from.pitch,
                    (size_t)range->x * pixel_size);
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_copy(hsa_agent_t agent, hsa_ext_image_t src_image,
                                               const hsa_dim3_t *src_offset,
                                               hsa_ext_image_t dst_image,
                                               const hsa_dim3_t *dst_offset,
                                               const hsa_dim3_t *range)
{
    const struct tracesmith_hsa_image *from = image_of(src_image), *to = image_of(dst_image);

    if (!from || !to || !src_offset || !dst_offset || !range ||
        from->pixel_size != to->pixel_size || !holds(from, src_offset, range) ||
        !holds(to, dst_offset, range))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    move(rows_in(to, dst_offset), rows_in(from, src_offset), range, from->pixel_size);
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_import(hsa_agent_t agent, const void *src_memory,
                                                 size_t src_row_pitch, size_t src_slice_pitch,
                                                 hsa_ext_image_t dst_image,
                                                 const hsa_ext_image_region_t *image_region)
{
    const struct tracesmith_hsa_image *to = image_of(dst_image);

    if (!to || !src_memory || !image_region ||
        !holds(to, &image_region->offset, &image_region->range))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    move(rows_in(to, &image_region->offset),
         rows_at(src_memory, src_row_pitch, src_slice_pitch, &image_region->range, to->pixel_size),
         &image_region->range, to->pixel_size);
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t src_image,
                                                 void *dst_memory, size_t dst_row_pitch,
                                                 size_t dst_slice_pitch,
                                                 const hsa_ext_image_region_t *image_region)
{
    const struct tracesmith_hsa_image *from = image_of(src_image);

    if (!from || !dst_memory || !image_region ||
        !holds(from, &image_region->offset, &image_region->range))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    move(
        rows_at(dst_memory, dst_row_pitch, dst_slice_pitch, &image_region->range, from->pixel_size),
        rows_in(from, &image_region->offset), &image_region->range, from->pixel_size);
    return HSA_STATUS_SUCCESS;
}

/* ---- clear -------------------------------------------------------------------------------------
 */

static int64_t limited(double value, double least, double most)
{
    value = value < least ? least : value > most ? most : value;
    return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

/* A channel as it is in memory, of the word that stands for it in `data`. */
static bool channel(uint32_t type, uint32_t word, uint32_t *out)
{
    float value;

    memcpy(&value, &word, sizeof(value));
    switch (type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8:
        *out = (uint32_t)limited((double)value * 127, -127, 127);
        return true;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16:
        *out = (uint32_t)limited((double)value * 32767, -32767, 32767);
        return true;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8:
        *out = (uint32_t)limited((double)value * 255, 0, 255);
        return true;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16:
        *out = (uint32_t)limited((double)value * 65535, 0, 65535);
        return true;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT24:
        *out = (uint32_t)limited((double)value * 16777215, 0, 16777215);
        return true;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT:
        *out = ptx_narrow((double)value, 10, 5, PTX_ROUND_NEAREST, false);
        return true;
    default:
        *out = word; /* integers and floats as they are */
        return type >= HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8 &&
               type <= HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT;
    }
}

/* Which of red, green, blue, alpha each channel in memory is. */
static unsigned source_of(uint32_t order, unsigned at)
{
    static const uint8_t bgra[] = {2, 1, 0, 3}, argb[] = {3, 0, 1, 2}, abgr[] = {3, 2, 1, 0};

    switch (order) {
    case HSA_EXT_IMAGE_CHANNEL_ORDER_A:
        return 3;
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RA:
        return at ? 3 : 0;
    case HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA:
        return bgra[at];
    case HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB:
        return argb[at];
    case HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR:
        return abgr[at];
    default:
        return at;
    }
}

/* Packs a pixel. Returns false if such a pixel is not supported. */
static bool make_pixel(const struct tracesmith_hsa_image *image, const void *data, uint8_t out[16])
{
    uint32_t size = hsa_image_pixel_size(image->channel_type, HSA_EXT_IMAGE_CHANNEL_ORDER_R);

    for (uint32_t i = 0; size && i < image->pixel_size / size; i++) {
        uint32_t word, value;
        memcpy(&word, (const uint8_t *)data + 4 * source_of(image->channel_order, i), sizeof(word));
        if (!channel(image->channel_type, word, &value))
            return false;
        memcpy(out + i * size, &value, size);
    }
    return size != 0;
}

EMU_HSA_EXPORT hsa_status_t hsa_ext_image_clear(hsa_agent_t agent, hsa_ext_image_t image,
                                                const void *data,
                                                const hsa_ext_image_region_t *image_region)
{
    const struct tracesmith_hsa_image *to = image_of(image);
    const hsa_dim3_t *range;
    uint8_t pixel[16];
    struct rows rows;

    if (!to || !data || !image_region || !holds(to, &image_region->offset, &image_region->range))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!make_pixel(to, data, pixel))
        return (hsa_status_t)HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
    range = &image_region->range;
    rows = rows_in(to, &image_region->offset);
    for (uint32_t z = 0; z < range->z; z++)
        for (uint32_t y = 0; y < range->y; y++)
            for (uint32_t x = 0; x < range->x; x++)
                memcpy(rows.at + z * rows.slice + y * rows.pitch + (size_t)x * to->pixel_size,
                       pixel, to->pixel_size);
    return HSA_STATUS_SUCCESS;
}
