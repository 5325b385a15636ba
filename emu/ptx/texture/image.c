/* SPDX-License-Identifier: Apache-2.0
 *
 * Images: found by handle, texels read, questions about them answered.
 */
#include "base/bytes.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"
#include "emu/ptx/texture/compressed.h"
#include "emu/ptx/texture/texture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A handle that this launch has met. */
struct ptx_bound {
    struct ptx_bound *next;
    uint64_t handle;
    bool is_surface;
    struct ptx_image image;
};

static uint64_t size_of(const struct ptx_image *image, const struct ptx_mip_level *l)
{
    uint64_t slices = (uint64_t)l->depth * image->layers;
    unsigned side = ptx_element_side(image->channel);
    uint64_t columns = (l->width + side - 1) / side, rows = (l->height + side - 1) / side;

    return (slices - 1) * l->slice + (rows - 1) * l->pitch +
           columns * ptx_element_size(image->channel, image->channel_count);
}

/* Memory behind an object may have been freed since. */
static bool is_there(struct ptx_warp *w, unsigned lane, const struct ptx_image *image)
{
    for (uint32_t k = 0; k < image->level_count; k++) {
        const struct ptx_mip_level *l = &image->levels[k];
        uint64_t size = size_of(image, l);
        bool is_low = size <= UINT32_MAX;
        /* The engine's accesses have 32-bit sizes: of larger ones the ends are asked for. */
        if (!ptx_is_there(w, lane, l->address, is_low ? (unsigned)size : 1) ||
            !ptx_is_there(w, lane, l->address + size - 1, 1))
            return false;
    }
    return true;
}

static void show(struct ptx_warp *w, const struct ptx_image *image, bool is_surface)
{
    const struct ptx_observer *observer = w->run->observer;

    for (uint32_t k = 0; k < image->level_count && observer; k++)
        observer->image(w, (const uint8_t *)(uintptr_t)image->levels[k].address,
                        size_of(image, &image->levels[k]), is_surface);
}

const struct ptx_image *ptx_image_find(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                                       uint64_t handle, bool is_surface)
{
    const struct ptx_launch *launch = w->run->launch;
    struct ptx_bound *b = w->run->images;

    while (b && (b->handle != handle || b->is_surface != is_surface))
        b = b->next;
    if (b)
        return &b->image;
    b = calloc(1, sizeof(*b));
    if (!b || !launch->image || !launch->image(launch->user, handle, is_surface, &b->image)) {
        ptx_stop_fault(w, i, lane, b ? PTX_FAULT_HANDLE : PTX_FAULT_NO_MEMORY, handle, 8);
        free(b);
        return NULL;
    }
    if (!is_there(w, lane, &b->image)) {
        ptx_stop_fault(w, i, lane, PTX_FAULT_ADDRESS, b->image.levels[0].address, 1);
        free(b);
        return NULL;
    }
    show(w, &b->image, is_surface);
    b->handle = handle;
    b->is_surface = is_surface;
    b->next = w->run->images;
    w->run->images = b;
    return &b->image;
}

void ptx_images_drop(struct ptx_run *run)
{
    while (run->images) {
        struct ptx_bound *next = run->images->next;
        free(run->images);
        run->images = next;
    }
}

/* ---- texels ---- */

unsigned ptx_channel_size(enum ptx_channel channel)
{
    static const uint8_t sizes[] = {
        [PTX_CHANNEL_U8] = 1,      [PTX_CHANNEL_U16] = 2,    [PTX_CHANNEL_U32] = 4,
        [PTX_CHANNEL_S8] = 1,      [PTX_CHANNEL_S16] = 2,    [PTX_CHANNEL_S32] = 4,
        [PTX_CHANNEL_F16] = 2,     [PTX_CHANNEL_F32] = 4,    [PTX_CHANNEL_UNORM8] = 1,
        [PTX_CHANNEL_UNORM16] = 2, [PTX_CHANNEL_SNORM8] = 1, [PTX_CHANNEL_SNORM16] = 2,
    };

    return channel < sizeof(sizes) ? sizes[channel] : 0;
}

unsigned ptx_element_side(enum ptx_channel channel)
{
    return channel >= PTX_CHANNEL_BC1 ? 4 : 1;
}

unsigned ptx_element_size(enum ptx_channel channel, unsigned channel_count)
{
    switch (channel) {
    case PTX_CHANNEL_UNORM10_2:
        return 4;
    case PTX_CHANNEL_BC1:
    case PTX_CHANNEL_BC4_UNORM:
    case PTX_CHANNEL_BC4_SNORM:
        return 8;
    default:
        return channel >= PTX_CHANNEL_BC1 ? 16 : ptx_channel_size(channel) * channel_count;
    }
}

bool ptx_image_is_float(const struct ptx_image *image)
{
    switch (image->channel) {
    case PTX_CHANNEL_U32:
    case PTX_CHANNEL_S32:
        return false;
    case PTX_CHANNEL_U8:
    case PTX_CHANNEL_U16:
    case PTX_CHANNEL_S8:
    case PTX_CHANNEL_S16:
        return image->is_promoted;
    default:
        return true;
    }
}

static double load_component(enum ptx_channel channel, const uint8_t *at)
{
    uint16_t two = 0;
    uint32_t four = 0;

    if (ptx_channel_size(channel) == 2)
        memcpy(&two, at, 2);
    else if (ptx_channel_size(channel) == 4)
        memcpy(&four, at, 4);
    switch (channel) {
    case PTX_CHANNEL_U8:
    case PTX_CHANNEL_UNORM8:
        return *at;
    case PTX_CHANNEL_S8:
    case PTX_CHANNEL_SNORM8:
        return (int8_t)*at;
    case PTX_CHANNEL_U16:
    case PTX_CHANNEL_UNORM16:
        return two;
    case PTX_CHANNEL_S16:
    case PTX_CHANNEL_SNORM16:
        return (int16_t)two;
    case PTX_CHANNEL_U32:
        return four;
    case PTX_CHANNEL_S32:
        return (int32_t)four;
    case PTX_CHANNEL_F16:
        return (double)ptx_from_half(two);
    default:
        return (double)ptx_f32(four);
    }
}

/* Returns the number that stands for 1.0 in formats that are read as fractions. */
static double unit_of(enum ptx_channel channel)
{
    switch (channel) {
    case PTX_CHANNEL_U8:
    case PTX_CHANNEL_UNORM8:
        return 255;
    case PTX_CHANNEL_S8:
    case PTX_CHANNEL_SNORM8:
        return 127;
    case PTX_CHANNEL_U16:
    case PTX_CHANNEL_UNORM16:
        return 65535;
    case PTX_CHANNEL_S16:
    case PTX_CHANNEL_SNORM16:
        return 32767;
    default:
        return 1;
    }
}

static double from_srgb(double v)
{
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static bool is_color(enum ptx_channel channel)
{
    return channel == PTX_CHANNEL_U8 || channel == PTX_CHANNEL_UNORM8 ||
           channel == PTX_CHANNEL_BC7 || (channel >= PTX_CHANNEL_BC1 && channel <= PTX_CHANNEL_BC3);
}

static void load_packed(const uint8_t *texel, double out[4])
{
    uint32_t bits = tsm_get_u32(texel);

    for (unsigned k = 0; k < 3; k++)
        out[k] = (bits >> 10 * k & 1023) / 1023.0;
    out[3] = (bits >> 30) / 3.0;
}

static void load_components(const struct ptx_image *image, const uint8_t *texel, double out[4])
{
    enum ptx_channel channel = (enum ptx_channel)image->channel;
    double unit = ptx_image_is_float(image) ? unit_of(channel) : 1;

    for (unsigned k = 0; k < image->channel_count; k++) {
        double v = load_component(channel, texel + k * ptx_channel_size(channel));
        if (unit > 1) {
            v /= unit;
            v = v < -1 ? -1 : v; /* -128 is -1, as -127 is */
        }
        out[k] = v;
    }
}

void ptx_texel_load(const struct ptx_image *image, const void *element, unsigned x, unsigned y,
                    double out[4])
{
    enum ptx_channel channel = (enum ptx_channel)image->channel;

    out[0] = out[1] = out[2] = 0;
    out[3] = 1;
    if (ptx_element_side(channel) > 1)
        ptx_block_texel(channel, element, x, y, out);
    else if (channel == PTX_CHANNEL_UNORM10_2)
        load_packed(element, out);
    else
        load_components(image, element, out);
    if (image->is_srgb && ptx_image_is_float(image) && is_color(channel))
        for (unsigned k = 0; k < 3 && k < image->channel_count; k++)
            out[k] = from_srgb(out[k]);
}

/* ---- questions ---- */

/* OpenCL's numbers, the only ones that PTX knows for formats. */
static uint32_t type_number(const struct ptx_image *image)
{
    static const uint16_t numbers[] = {
        [PTX_CHANNEL_SNORM8] = 0x10d0,
        [PTX_CHANNEL_SNORM16] = 0x10d1,
        [PTX_CHANNEL_UNORM8] = 0x10d2,
        [PTX_CHANNEL_UNORM16] = 0x10d3,
        [PTX_CHANNEL_S8] = 0x10d7,
        [PTX_CHANNEL_S16] = 0x10d8,
        [PTX_CHANNEL_S32] = 0x10d9,
        [PTX_CHANNEL_U8] = 0x10da,
        [PTX_CHANNEL_U16] = 0x10db,
        [PTX_CHANNEL_U32] = 0x10dc,
        [PTX_CHANNEL_F16] = 0x10dd,
        [PTX_CHANNEL_F32] = 0x10de,
        [PTX_CHANNEL_UNORM10_2] = 0x10e0,
        /* For blocks there is none: that of what they give. */
        [PTX_CHANNEL_BC1] = 0x10d2,
        [PTX_CHANNEL_BC2] = 0x10d2,
        [PTX_CHANNEL_BC3] = 0x10d2,
        [PTX_CHANNEL_BC4_UNORM] = 0x10d2,
        [PTX_CHANNEL_BC4_SNORM] = 0x10d0,
        [PTX_CHANNEL_BC5_UNORM] = 0x10d2,
        [PTX_CHANNEL_BC5_SNORM] = 0x10d0,
        [PTX_CHANNEL_BC6H_UF16] = 0x10dd,
        [PTX_CHANNEL_BC6H_SF16] = 0x10dd,
        [PTX_CHANNEL_BC7] = 0x10d2,
    };
    static const uint8_t promoted[] = {
        [PTX_CHANNEL_U8] = PTX_CHANNEL_UNORM8,
        [PTX_CHANNEL_U16] = PTX_CHANNEL_UNORM16,
        [PTX_CHANNEL_S8] = PTX_CHANNEL_SNORM8,
        [PTX_CHANNEL_S16] = PTX_CHANNEL_SNORM16,
    };
    bool is_small =
        unit_of((enum ptx_channel)image->channel) > 1 && image->channel < PTX_CHANNEL_UNORM8;

    return numbers[image->is_promoted && is_small ? promoted[image->channel] : image->channel];
}

static uint32_t order_number(const struct ptx_image *image)
{
    static const uint16_t numbers[] = {0, 0x10b0, 0x10b2, 0x10b4, 0x10b5}; /* R, RG, RGB, RGBA */

    return numbers[image->channel_count];
}

static uint32_t address_number(const struct ptx_sampler *s, unsigned axis)
{
    static const uint8_t numbers[] = {[PTX_ADDRESS_WRAP] = 0,
                                      [PTX_ADDRESS_MIRROR] = 1,
                                      [PTX_ADDRESS_CLAMP] = 3,
                                      [PTX_ADDRESS_BORDER] = 4};

    return numbers[s->address[axis]];
}

static uint32_t answer(const struct ptx_image *image, enum ptx_image_query query, uint32_t level)
{
    const struct ptx_mip_level *l =
        &image->levels[level < image->level_count ? level : image->level_count - 1];
    const struct ptx_sampler *s = &image->sampler;

    switch (query) {
    case PTX_QUERY_WIDTH:
        return l->width;
    case PTX_QUERY_HEIGHT:
        return image->dimensions > 1 ? l->height : 0;
    case PTX_QUERY_DEPTH:
        return image->dimensions > 2 ? l->depth : 0;
    case PTX_QUERY_TYPE:
        return type_number(image);
    case PTX_QUERY_ORDER:
        return order_number(image);
    case PTX_QUERY_NORMALIZED:
        return s->is_normalized;
    case PTX_QUERY_LAYERS:
        return image->is_cube ? image->layers / 6 : image->is_layered ? image->layers : 0;
    case PTX_QUERY_LEVELS:
        return image->level_count;
    case PTX_QUERY_SAMPLES:
        return 1;
    case PTX_QUERY_UNNORMALIZED:
        return !s->is_normalized;
    case PTX_QUERY_FILTER:
        return s->is_linear;
    case PTX_QUERY_LAYOUT:
        return 0;
    default:
        return address_number(s, (unsigned)query - PTX_QUERY_ADDRESS_0);
    }
}

/* PTX_MODE: enum ptx_image_query. flags & PTX_F_TO_INT: of a surface. */
void ptx_run_image_query(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint64_t *handle = ptx_lanes(w, i->src[0]);
    const uint32_t *level = i->src[1] == PTX_OP_NONE ? NULL : ptx_lanes(w, i->src[1]);
    uint32_t *d = ptx_lanes(w, i->dst);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        const struct ptx_image *image =
            ptx_image_find(w, i, l, handle[l], (i->flags & PTX_F_TO_INT) != 0);
        if (!image)
            return;
        d[l] = answer(image, (enum ptx_image_query)PTX_MODE(i), level ? level[l] : 0);
    }
}
