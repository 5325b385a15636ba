/* SPDX-License-Identifier: Apache-2.0
 *
 * Images: texels in host memory behind a texture or surface handle, and how to read them. The
 * engine asks for each handle once a launch (struct ptx_launch's `image`) and keeps a copy.
 *
 * Sources: CUDA C++ Programming Guide, "Texture Fetching"; PTX ISA, "Texture Instructions" and
 * "Surface Instructions".
 */
#ifndef EMU_PTX_TEXTURE_IMAGE_H
#define EMU_PTX_TEXTURE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_MIP_LEVEL_MAX 18 /* of 131072 texels down to 1 */

/* One component of a texel in memory, or what stands for all of them. From UNORM8 on they are floats
 * to whoever reads them. */
enum ptx_channel {
    PTX_CHANNEL_U8,
    PTX_CHANNEL_U16,
    PTX_CHANNEL_U32,
    PTX_CHANNEL_S8,
    PTX_CHANNEL_S16,
    PTX_CHANNEL_S32,
    PTX_CHANNEL_F16,
    PTX_CHANNEL_F32,
    PTX_CHANNEL_UNORM8,
    PTX_CHANNEL_UNORM16,
    PTX_CHANNEL_SNORM8,
    PTX_CHANNEL_SNORM16,
    PTX_CHANNEL_UNORM10_2, /* a whole texel in 32 bits, red lowest: 10, 10, 10, 2 */
    /* Blocks of 4 times 4 texels: emu/ptx/texture/compressed.h. */
    PTX_CHANNEL_BC1,
    PTX_CHANNEL_BC2,
    PTX_CHANNEL_BC3,
    PTX_CHANNEL_BC4_UNORM,
    PTX_CHANNEL_BC4_SNORM,
    PTX_CHANNEL_BC5_UNORM,
    PTX_CHANNEL_BC5_SNORM,
    PTX_CHANNEL_BC6H_UF16,
    PTX_CHANNEL_BC6H_SF16,
    PTX_CHANNEL_BC7,
};

/* Source of a texel outside of the image. */
enum ptx_address_mode {
    PTX_ADDRESS_WRAP,
    PTX_ADDRESS_CLAMP,
    PTX_ADDRESS_MIRROR,
    PTX_ADDRESS_BORDER,
};

/* Also the bytes of a .samplerref variable. Wrap and mirror need normalised coordinates; without
 * them they clamp. */
struct ptx_sampler {
    uint8_t address[3]; /* enum ptx_address_mode: x, y, z */
    bool is_linear;     /* filter inside a level, else the nearest texel */
    bool is_mip_linear; /* filter between levels, else the nearest level */
    bool is_normalized; /* coordinates of [0, 1), else of [0, size) */
    float lod_bias;
    float lod_min;
    float lod_max;
    float border[4];
};

struct ptx_mip_level {
    uint64_t address;
    uint64_t pitch;  /* bytes from row to row, of texels or blocks */
    uint64_t slice;  /* bytes from slice, layer or face to the next */
    uint32_t width;  /* texels */
    uint32_t height; /* 1 at least */
    uint32_t depth;  /* 1 at least; of a volume */
};

struct ptx_image {
    uint8_t channel;       /* enum ptx_channel */
    uint8_t channel_count; /* 1, 2, 4; of BC6H 3 */
    uint8_t dimensions;    /* 1, 2, 3; a cube has 2 */
    bool is_layered;
    bool is_cube;
    bool is_buffer;   /* linear memory: no filter, 0 outside */
    bool is_promoted; /* 8 and 16 bit integers are read as floats of [0, 1] or [-1, 1] */
    bool is_srgb;     /* promoted 8 bit colours, and compressed ones of them, are made linear */
    uint32_t layers;  /* 1 at least; six a cube */
    uint32_t level_count;
    struct ptx_mip_level levels[PTX_MIP_LEVEL_MAX];
    struct ptx_sampler sampler;
};

/* Bytes of a component; 0: what stands for a whole texel. */
unsigned ptx_channel_size(enum ptx_channel channel);
/* Texels on a side of what lies side by side in memory: 1, of blocks 4. */
unsigned ptx_element_side(enum ptx_channel channel);
/* Bytes of that: of a texel of so many components, or of a block. */
unsigned ptx_element_size(enum ptx_channel channel, unsigned channel_count);

#endif
