/* SPDX-License-Identifier: Apache-2.0
 *
 * Images and samplers. An image is a way to look at memory that the program has allocated: what it
 * holds is that memory's. Four calls move pixels, and have waited for them when they return.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/image.h"
#include "api/hsa/source/encode.h"
#include "capture/call/streams.h"

#define CLEAR_SIZE 16u /* four channels; of depth one */

/* ---- making ------------------------------------------------------------------------------------
 */

/* Bits of an image handle's `user`: bytes of a pixel, and whether a channel is all that there
 * is. */
#define PIXEL_SIZE 0xffu
#define IS_DEPTH   0x100u

static uint64_t data_size(hsa_agent_t agent, const hsa_ext_image_descriptor_t *about,
                          hsa_access_permission_t access, hsa_ext_image_data_layout_t layout,
                          size_t row_pitch, size_t slice_pitch)
{
    hsa_ext_image_data_info_t info = {0};

    if (layout == HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE)
        hsa_runtime.hsa_ext_image_data_get_info(agent, about, access, &info);
    else
        hsa_runtime.hsa_ext_image_data_get_info_with_layout(agent, about, access, layout, row_pitch,
                                                            slice_pitch, &info);
    return info.size;
}

void hsa_after_image(struct tsm_call *call, bool ok, hsa_agent_t agent,
                     const hsa_ext_image_descriptor_t *image_descriptor,
                     hsa_access_permission_t access_permission, hsa_ext_image_t *image)
{
    hsa_after_layout(call, ok, agent, image_descriptor, access_permission,
                     HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, 0, 0, image);
}

void hsa_after_layout(struct tsm_call *call, bool ok, hsa_agent_t agent,
                      const hsa_ext_image_descriptor_t *image_descriptor,
                      hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t layout,
                      size_t row_pitch, size_t slice_pitch, hsa_ext_image_t *image)
{
    static const hsa_ext_image_descriptor_t none;
    const hsa_ext_image_descriptor_t *about = ok ? image_descriptor : &none;
    struct tsm_handle *handle = ok ? hsa_find(HSA_OBJECT_IMAGE, image->handle) : NULL;

    if (handle)
        handle->user =
            (void *)(uintptr_t)(hsa_image_pixel_size(about->format.channel_type,
                                                     about->format.channel_order) |
                                (about->format.channel_order == HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH
                                     ? IS_DEPTH
                                     : 0));
    tsm_call_slot(call, about->geometry);
    tsm_call_slot(call, about->width);
    tsm_call_slot(call, about->height);
    tsm_call_slot(call, about->depth);
    tsm_call_slot(call, about->array_size);
    tsm_call_slot(call, about->format.channel_type);
    tsm_call_slot(call, about->format.channel_order);
    tsm_call_slot(call, layout);
    tsm_call_slot(call, row_pitch);
    tsm_call_slot(call, slice_pitch);
    tsm_call_slot(
        call, ok ? data_size(agent, about, access_permission, layout, row_pitch, slice_pitch) : 0);
    tsm_call_slot(call, ok ? image->handle : 0);
}

void hsa_after_sampler(struct tsm_call *call, bool ok,
                       const hsa_ext_sampler_descriptor_t *sampler_descriptor,
                       hsa_ext_sampler_t *sampler)
{
    tsm_call_slot(call, ok ? sampler_descriptor->coordinate_mode : 0);
    tsm_call_slot(call, ok ? sampler_descriptor->filter_mode : 0);
    tsm_call_slot(call, ok ? sampler_descriptor->address_mode : 0);
    tsm_call_slot(call, ok ? sampler->handle : 0);
}

/* ---- moving pixels -----------------------------------------------------------------------------
 */

/* The pixels of a region as bytes in memory: where a pitch is 0 they lie one after the other. */
static struct tsm_box pixels_at(const void *memory, hsa_ext_image_t image, size_t row_pitch,
                                size_t slice_pitch, const hsa_ext_image_region_t *region)
{
    const struct tsm_handle *handle = hsa_find(HSA_OBJECT_IMAGE, image.handle);
    uint64_t pixel = handle ? (uintptr_t)handle->user & PIXEL_SIZE : 0;
    struct tsm_box box = {.data = memory,
                          .width = region->range.x * pixel,
                          .height = region->range.y,
                          .depth = region->range.z};

    box.pitch = row_pitch ? row_pitch : box.width;
    box.plane = slice_pitch ? slice_pitch : box.pitch * box.height;
    return box;
}

static void append_offset(struct tsm_call *call, const hsa_dim3_t *at)
{
    tsm_call_slot(call, at->x);
    tsm_call_slot(call, at->y);
    tsm_call_slot(call, at->z);
}

static void append_region(struct tsm_call *call, const hsa_ext_image_region_t *region)
{
    append_offset(call, &region->offset);
    append_offset(call, &region->range);
}

WRAPPED bool begins(struct tsm_call *call, uint32_t type)
{
    if (!tsm_call_begin(call, type))
        return false;
    tsm_hostmem_publish();
    tsm_call_on_stream(call, hsa_waiting_copy_stream(), TSM_BLOCKS);
    return true;
}

/* A failed call's structs may be anything: what a record says of them is then 0. */
static bool has_returned(struct tsm_call *call, hsa_status_t status)
{
    tsm_call_returned(call, status, status != HSA_STATUS_SUCCESS);
    return status == HSA_STATUS_SUCCESS;
}

WRAPPED hsa_status_t ends(struct tsm_call *call, hsa_status_t status)
{
    struct tsm_stream *stream = call->stream;
    uint64_t position = call->position;

    tsm_call_commit(call);
    hsa_landed(stream, position);
    tsm_checkpoint_point(true);
    return status;
}

static const hsa_ext_image_region_t no_region;

hsa_status_t hook_hsa_ext_image_import(hsa_agent_t agent, const void *src_memory,
                                       size_t src_row_pitch, size_t src_slice_pitch,
                                       hsa_ext_image_t dst_image,
                                       const hsa_ext_image_region_t *image_region)
{
    const hsa_ext_image_region_t *region;
    struct tsm_call call;
    struct tsm_box box;
    hsa_status_t status;
    bool ok;

    hsa_memory_reveal(&src_memory, sizeof(src_memory));
    if (!begins(&call, TYPE_hsa_ext_image_import))
        return hsa_runtime.hsa_ext_image_import(agent, src_memory, src_row_pitch, src_slice_pitch,
                                                dst_image, image_region);
    status = hsa_runtime.hsa_ext_image_import(agent, src_memory, src_row_pitch, src_slice_pitch,
                                              dst_image, image_region);
    ok = has_returned(&call, status);
    region = ok ? image_region : &no_region;
    box = pixels_at(src_memory, dst_image, src_row_pitch, src_slice_pitch, region);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, agent.handle));
    tsm_call_slot(&call, HSA_SLOT(src_memory));
    tsm_call_slot(&call, src_row_pitch);
    tsm_call_slot(&call, src_slice_pitch);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_IMAGE, dst_image.handle));
    append_region(&call, region);
    tsm_call_slot(&call, box.width * box.height * box.depth);
    if (ok && hsa_memory_kind_of(HSA_SLOT(src_memory)) == HSA_MEMORY_NONE)
        tsm_call_blob_box(&call, &box);
    else
        tsm_call_blob(&call, NULL, 0);
    return ends(&call, status);
}

hsa_status_t hook_hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t src_image,
                                       void *dst_memory, size_t dst_row_pitch,
                                       size_t dst_slice_pitch,
                                       const hsa_ext_image_region_t *image_region)
{
    const hsa_ext_image_region_t *region;
    struct tsm_call call;
    struct tsm_box box;
    hsa_status_t status;
    bool ok;

    if (!begins(&call, TYPE_hsa_ext_image_export))
        return hsa_runtime.hsa_ext_image_export(agent, src_image, dst_memory, dst_row_pitch,
                                                dst_slice_pitch, image_region);
    if (image_region) {
        box = pixels_at(dst_memory, src_image, dst_row_pitch, dst_slice_pitch, image_region);
        hsa_foretell(&call, &box);
    }
    status = hsa_runtime.hsa_ext_image_export(agent, src_image, dst_memory, dst_row_pitch,
                                              dst_slice_pitch, image_region);
    ok = has_returned(&call, status);
    region = ok ? image_region : &no_region;
    box = pixels_at(dst_memory, src_image, dst_row_pitch, dst_slice_pitch, region);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, agent.handle));
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_IMAGE, src_image.handle));
    tsm_call_slot(&call, HSA_SLOT(dst_memory));
    tsm_call_slot(&call, dst_row_pitch);
    tsm_call_slot(&call, dst_slice_pitch);
    append_region(&call, region);
    tsm_call_slot(&call, box.width * box.height * box.depth);
    if (ok)
        hsa_gives_back(&call, &box);
    return ends(&call, status);
}

hsa_status_t hook_hsa_ext_image_copy(hsa_agent_t agent, hsa_ext_image_t src_image,
                                     const hsa_dim3_t *src_offset, hsa_ext_image_t dst_image,
                                     const hsa_dim3_t *dst_offset, const hsa_dim3_t *range)
{
    struct tsm_call call;
    hsa_status_t status;
    bool ok;

    if (!begins(&call, TYPE_hsa_ext_image_copy))
        return hsa_runtime.hsa_ext_image_copy(agent, src_image, src_offset, dst_image, dst_offset,
                                              range);
    status =
        hsa_runtime.hsa_ext_image_copy(agent, src_image, src_offset, dst_image, dst_offset, range);
    ok = has_returned(&call, status);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, agent.handle));
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_IMAGE, src_image.handle));
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_IMAGE, dst_image.handle));
    append_offset(&call, ok ? src_offset : &no_region.offset);
    append_offset(&call, ok ? dst_offset : &no_region.offset);
    append_offset(&call, ok ? range : &no_region.range);
    return ends(&call, status);
}

hsa_status_t hook_hsa_ext_image_clear(hsa_agent_t agent, hsa_ext_image_t image, const void *data,
                                      const hsa_ext_image_region_t *image_region)
{
    const struct tsm_handle *handle;
    struct tsm_call call;
    hsa_status_t status;
    bool ok, is_depth;

    if (!begins(&call, TYPE_hsa_ext_image_clear))
        return hsa_runtime.hsa_ext_image_clear(agent, image, data, image_region);
    status = hsa_runtime.hsa_ext_image_clear(agent, image, data, image_region);
    ok = has_returned(&call, status);
    handle = hsa_find(HSA_OBJECT_IMAGE, image.handle);
    is_depth = handle && ((uintptr_t)handle->user & IS_DEPTH);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, agent.handle));
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_IMAGE, image.handle));
    tsm_call_bytes(&call, ok ? data : NULL, !ok ? 0 : is_depth ? CLEAR_SIZE / 4 : CLEAR_SIZE);
    append_region(&call, ok ? image_region : &no_region);
    return ends(&call, status);
}
