/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of resources, textures and views -> images, with the checks that the documentation of
 * cuTexObjectCreate and cuSurfObjectCreate names.
 */
#include "emu/cuda/texture/texture.h"

#include <string.h>

#include "emu/cuda/core/device.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/texture/array.h"
#include "emu/cuda/texture/format.h"

/* ---- resources ---- */

static void add_level(struct ptx_image *out, const struct CUarray_st *a)
{
    bool is_volume = out->dimensions == 3;

    out->levels[out->level_count++] = (struct ptx_mip_level){
        .address = a->address,
        .pitch = a->pitch,
        .slice = a->pitch * a->rows,
        .width = (uint32_t)a->description.Width,
        .height = a->description.Height ? (uint32_t)a->description.Height : 1,
        .depth = is_volume ? (uint32_t)a->slices : 1};
}

static void describe_array(struct ptx_image *out, const struct CUarray_st *a)
{
    const CUDA_ARRAY3D_DESCRIPTOR *d = &a->description;

    out->channel = (uint8_t)a->channel;
    out->is_srgb = a->is_srgb;
    out->channel_count = (uint8_t)d->NumChannels;
    out->is_layered = d->Flags & CUDA_ARRAY3D_LAYERED;
    out->is_cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    out->dimensions = d->Depth && !out->is_layered && !out->is_cube ? 3 : d->Height ? 2 : 1;
    out->layers = out->dimensions == 3 ? 1 : (uint32_t)a->slices;
}

static CUresult use_array(struct ptx_image *out, CUarray array)
{
    if (!emu_object_is(EMU_ARRAY, array))
        return CUDA_ERROR_INVALID_HANDLE;
    if (array->plane_count)
        return CUDA_ERROR_INVALID_VALUE; /* a texture has one plane */
    describe_array(out, array);
    add_level(out, array);
    return CUDA_SUCCESS;
}

static CUresult use_mipmap(struct ptx_image *out, CUmipmappedArray mipmap)
{
    if (!emu_object_is(EMU_MIPMAP, mipmap))
        return CUDA_ERROR_INVALID_HANDLE;
    describe_array(out, &mipmap->levels[0]);
    for (unsigned k = 0; k < mipmap->level_count; k++)
        add_level(out, &mipmap->levels[k]);
    return CUDA_SUCCESS;
}

static bool is_aligned(uint64_t value, CUdevice_attribute attribute, CUdevice device)
{
    return value && value % (uint64_t)emu_device_attribute(attribute, device) == 0;
}

static bool is_within(size_t value, CUdevice_attribute attribute, CUdevice device)
{
    return value && value <= (size_t)emu_device_attribute(attribute, device);
}

/* The format of memory that is no array; bytes of an element, 0: it is none. */
static size_t use_format(struct ptx_image *out, CUarray_format format, unsigned channel_count)
{
    const struct emu_format *f = emu_format_find(format);

    if ((channel_count != 1 && channel_count != 2 && channel_count != 4) || !f ||
        ptx_element_side((enum ptx_channel)f->channel) > 1 ||
        (f->channel_count && f->channel_count != channel_count))
        return 0;
    out->channel = f->channel;
    out->channel_count = (uint8_t)channel_count;
    out->layers = 1;
    out->level_count = 1;
    return ptx_element_size((enum ptx_channel)f->channel, channel_count);
}

static CUresult use_linear(struct ptx_image *out, const CUDA_RESOURCE_DESC *r, CUdevice device)
{
    size_t size = use_format(out, r->res.linear.format, r->res.linear.numChannels);
    size_t width = size ? r->res.linear.sizeInBytes / size : 0;

    if (!is_aligned(r->res.linear.devPtr, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, device) ||
        !is_within(width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, device) ||
        !emu_memory_covers(r->res.linear.devPtr, width * size))
        return CUDA_ERROR_INVALID_VALUE;
    out->dimensions = 1;
    out->is_buffer = true;
    out->levels[0] = (struct ptx_mip_level){.address = r->res.linear.devPtr,
                                            .pitch = width * size,
                                            .slice = width * size,
                                            .width = (uint32_t)width,
                                            .height = 1,
                                            .depth = 1};
    return CUDA_SUCCESS;
}

static CUresult use_pitch2d(struct ptx_image *out, const CUDA_RESOURCE_DESC *r, CUdevice device)
{
    size_t size = use_format(out, r->res.pitch2D.format, r->res.pitch2D.numChannels);
    size_t width = r->res.pitch2D.width, height = r->res.pitch2D.height;
    size_t pitch = r->res.pitch2D.pitchInBytes;

    if (!size ||
        !is_aligned(r->res.pitch2D.devPtr, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, device) ||
        !is_aligned(pitch, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, device) ||
        !is_within(width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, device) ||
        !is_within(height, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, device) ||
        !is_within(pitch, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, device) ||
        pitch < width * size ||
        !emu_memory_covers(r->res.pitch2D.devPtr, (height - 1) * pitch + width * size))
        return CUDA_ERROR_INVALID_VALUE;
    out->dimensions = 2;
    out->levels[0] = (struct ptx_mip_level){.address = r->res.pitch2D.devPtr,
                                            .pitch = pitch,
                                            .slice = height * pitch,
                                            .width = (uint32_t)width,
                                            .height = (uint32_t)height,
                                            .depth = 1};
    return CUDA_SUCCESS;
}

static CUresult use_resource(struct ptx_image *out, const CUDA_RESOURCE_DESC *r, CUdevice device)
{
    if (r->flags)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)r->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        return use_array(out, r->res.array.hArray);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        return use_mipmap(out, r->res.mipmap.hMipmappedArray);
    case CU_RESOURCE_TYPE_LINEAR:
        return use_linear(out, r, device);
    case CU_RESOURCE_TYPE_PITCH2D:
        return use_pitch2d(out, r, device);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- how it is read ---- */

#define FLAGS_KNOWN                                                                                \
    (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |                     \
     CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

static CUresult use_texture(struct ptx_image *out, const CUDA_TEXTURE_DESC *t)
{
    static const uint8_t modes[] = {[CU_TR_ADDRESS_MODE_WRAP] = PTX_ADDRESS_WRAP,
                                    [CU_TR_ADDRESS_MODE_CLAMP] = PTX_ADDRESS_CLAMP,
                                    [CU_TR_ADDRESS_MODE_MIRROR] = PTX_ADDRESS_MIRROR,
                                    [CU_TR_ADDRESS_MODE_BORDER] = PTX_ADDRESS_BORDER};

    if (t->flags & ~(unsigned)FLAGS_KNOWN || (unsigned)t->filterMode > CU_TR_FILTER_MODE_LINEAR ||
        (unsigned)t->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < 3; k++) {
        if ((unsigned)t->addressMode[k] > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
        out->sampler.address[k] = modes[t->addressMode[k]];
    }
    out->is_promoted = !(t->flags & CU_TRSF_READ_AS_INTEGER);
    out->is_srgb |= (t->flags & CU_TRSF_SRGB) != 0;
    out->sampler.is_linear = t->filterMode == CU_TR_FILTER_MODE_LINEAR;
    out->sampler.is_mip_linear = t->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    out->sampler.is_normalized = t->flags & CU_TRSF_NORMALIZED_COORDINATES;
    out->sampler.lod_bias = t->mipmapLevelBias;
    out->sampler.lod_min = t->minMipmapLevelClamp;
    out->sampler.lod_max = t->maxMipmapLevelClamp;
    memcpy(out->sampler.border, t->borderColor, sizeof(t->borderColor));
    return CUDA_SUCCESS;
}

/* ---- views ---- */

/* Another name for the same bytes; blocks are seen in place of texels of 32-bit integers, so the
 * image becomes four times as wide and high. */
static CUresult use_view_format(struct ptx_image *out, CUresourceViewFormat format)
{
    unsigned side = ptx_element_side((enum ptx_channel)out->channel), channel_count;
    unsigned size = ptx_element_size((enum ptx_channel)out->channel, out->channel_count);
    enum ptx_channel channel;

    if (format == CU_RES_VIEW_FORMAT_NONE)
        return CUDA_SUCCESS;
    if (!emu_view_format(format, &channel, &channel_count) || side > 1 ||
        ptx_element_size(channel, channel_count) != size)
        return CUDA_ERROR_INVALID_VALUE;
    side = ptx_element_side(channel);
    if (side > 1 && (out->channel != PTX_CHANNEL_U32 || out->dimensions < 2))
        return CUDA_ERROR_INVALID_VALUE;
    out->channel = (uint8_t)channel;
    out->channel_count = (uint8_t)channel_count;
    uint32_t width = out->levels[0].width * side, height = out->levels[0].height * side;
    for (uint32_t k = 0; k < PTX_MIP_LEVEL_MAX && k < out->level_count && side > 1; k++) {
        out->levels[k].width = width >> k ? width >> k : 1;
        out->levels[k].height = height >> k ? height >> k : 1;
    }
    return CUDA_SUCCESS;
}

static CUresult use_view(struct ptx_image *out, const CUDA_RESOURCE_VIEW_DESC *v,
                         CUresourcetype type)
{
    const struct ptx_mip_level *top = &out->levels[0];
    size_t depth = out->dimensions == 3 ? top->depth : out->layers > 1 ? out->layers : 0;
    uint32_t levels = v->lastMipmapLevel - v->firstMipmapLevel + 1;
    uint32_t layers = v->lastLayer - v->firstLayer + 1;
    CUresult result = use_view_format(out, v->format);

    if (result)
        return result;
    if ((type != CU_RESOURCE_TYPE_ARRAY && type != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) ||
        v->width != top->width || v->height != (out->dimensions > 1 ? top->height : 0) ||
        (v->depth != depth && v->depth != layers) || v->firstMipmapLevel > v->lastMipmapLevel ||
        v->lastMipmapLevel >= out->level_count || v->firstLayer > v->lastLayer ||
        v->lastLayer >= out->layers || (out->is_cube && (v->firstLayer % 6 || layers % 6)))
        return CUDA_ERROR_INVALID_VALUE;
    memmove(out->levels, out->levels + v->firstMipmapLevel, levels * sizeof(out->levels[0]));
    out->level_count = levels;
    out->layers = layers;
    for (uint32_t k = 0; k < levels; k++)
        out->levels[k].address += v->firstLayer * out->levels[k].slice;
    return CUDA_SUCCESS;
}

CUresult emu_texture_image(struct ptx_image *out, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
                           CUdevice device)
{
    CUresult result;

    memset(out, 0, sizeof(*out));
    result = use_resource(out, resource, device);
    if (!result)
        result = use_texture(out, texture);
    if (!result && view)
        result = use_view(out, view, resource->resType);
    return result;
}

CUresult emu_surface_image(struct ptx_image *out, const CUDA_RESOURCE_DESC *resource)
{
    CUresult result;

    memset(out, 0, sizeof(*out));
    if (resource->resType != CU_RESOURCE_TYPE_ARRAY || resource->flags)
        return CUDA_ERROR_INVALID_VALUE;
    result = use_array(out, resource->res.array.hArray);
    if (!result && !(resource->res.array.hArray->description.Flags & CUDA_ARRAY3D_SURFACE_LDST))
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}
