/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats of arrays, as the engine names them, and those whose arrays are several planes.
 *
 * Refused are the packed YUV formats (YUY2, Y210, Y216, AYUV, Y410, Y416): nothing public says what a
 * texture of them gives.
 */
#ifndef EMU_CUDA_TEXTURE_FORMAT_H
#define EMU_CUDA_TEXTURE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"
#include "emu/ptx/texture/image.h"

#define EMU_PLANE_MAX 3

struct emu_format {
    CUarray_format format;
    uint8_t channel;       /* enum ptx_channel */
    uint8_t channel_count; /* the channels that the format itself says, else 0 */
    bool is_srgb;
};

/* An array of such a format holds nothing itself: cuArrayGetPlane gives the arrays that do. Each has a
 * plain format. */
struct emu_planes {
    CUarray_format format;
    CUarray_format element; /* of every plane */
    uint8_t count;
    uint8_t channel_count[EMU_PLANE_MAX];
    uint8_t halved_x, halved_y; /* 1: the planes after the first are half as wide, high */
};

/* NULL: no texture has it, or it is one of planes. */
const struct emu_format *emu_format_find(CUarray_format format);
const struct emu_planes *emu_planes_find(CUarray_format format);

/* Finds the format of a view. Returns false if there is none. */
bool emu_view_format(CUresourceViewFormat format, enum ptx_channel *channel, unsigned *channel_count);

#endif
