/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface instructions: what their decoders leave for their handlers. Private to the
 * engine.
 *
 * A sampled value follows the CUDA programming guide: a linear filter weighs with 1.8 fixed-point
 * fractions, rounded to nearest; sums are made in double precision and rounded once. Not followed:
 * anisotropy (one sample is taken), seamless cubes (faces are clamped at their edges).
 */
#ifndef EMU_PTX_TEXTURE_TEXTURE_H
#define EMU_PTX_TEXTURE_TEXTURE_H

#include "emu/ptx/exec/exec.h"
#include "emu/ptx/texture/image.h"

enum ptx_lod {
    PTX_LOD_BASE, /* the first level, without bias or clamp */
    PTX_LOD_LEVEL,
    PTX_LOD_GRAD,
};

/* Coordinates of every geometry. */
struct ptx_texel_place {
    uint8_t dimensions; /* coordinates without the layer; a cube has 3 */
    bool is_layered;
    bool is_cube;
    bool has_samples; /* their number is not looked at: no image has more than one */
    ptx_op layer;
    ptx_op coord[3]; /* f32 or s32; of suld.b and sust.b, x counts bytes */
};

/* ptx_insn.extra of tex and tld4; PTX_OP_NONE: not given. */
struct ptx_fetch_insn {
    struct ptx_texel_place place;
    bool is_integer; /* coordinates are s32: the texel itself */
    bool is_gather;
    uint8_t component; /* of tld4 */
    uint8_t lod_mode;
    uint8_t count; /* registers of the result */
    ptx_type type; /* of each: 32 bits, F16 or F16X2 */
    ptx_op handle;
    ptx_op sampler; /* address of a .samplerref */
    ptx_op lod;
    ptx_op grad[2][3]; /* d/dx and d/dy of each coordinate */
    ptx_op offset[3];
    ptx_op compare;
    ptx_op dst[4];
};

/* ptx_insn.extra of surface instructions. */
enum ptx_outside {
    PTX_OUTSIDE_TRAP,
    PTX_OUTSIDE_CLAMP,
    PTX_OUTSIDE_ZERO, /* reads 0, writes nothing */
};
struct ptx_surface_insn {
    struct ptx_texel_place place;
    bool is_formatted; /* .p: x counts texels, values are converted */
    uint8_t outside;
    uint8_t count;
    uint8_t op;    /* enum ptx_atomic of sured */
    ptx_type type; /* in memory */
    uint8_t reg;   /* bytes of a register */
    ptx_op handle;
    ptx_op value[4];
};

/* txq and suq: in the mode bits of flags. dst, src[0]: handle, src[1]: level. */
enum ptx_image_query {
    PTX_QUERY_WIDTH,
    PTX_QUERY_HEIGHT,
    PTX_QUERY_DEPTH,
    PTX_QUERY_TYPE,
    PTX_QUERY_ORDER,
    PTX_QUERY_NORMALIZED,
    PTX_QUERY_LAYERS,
    PTX_QUERY_LEVELS,
    PTX_QUERY_SAMPLES,
    PTX_QUERY_UNNORMALIZED,
    PTX_QUERY_FILTER,
    PTX_QUERY_ADDRESS_0,
    PTX_QUERY_ADDRESS_1,
    PTX_QUERY_ADDRESS_2,
    PTX_QUERY_LAYOUT,
};

/* image.c: the image of a handle; NULL after a fault. Lives until the launch ends. */
const struct ptx_image *ptx_image_find(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                                       uint64_t handle, bool is_surface);
void ptx_images_drop(struct ptx_run *run);
/* The texel at a host address, or texel (x, y) of the block there, as it is read: promoted or not.
 * Absent components are 0, 0, 1. */
void ptx_texel_load(const struct ptx_image *image, const void *element, unsigned x, unsigned y,
                    double out[4]);
/* Does reading give floats? */
bool ptx_image_is_float(const struct ptx_image *image);

/* Coordinates of one lane, in the units of the instruction. */
struct ptx_point {
    double coord[3];
    double grad[2][3];
    int32_t offset[3];
    uint32_t layer;
    double lod;
    double compare;
    bool has_compare;
};
/* texture.c: what tex and tld4 read at a point. */
void ptx_texture_sample(const struct ptx_image *image, const struct ptx_sampler *sampler,
                        const struct ptx_fetch_insn *f, struct ptx_point *point, double out[4]);

/* Handlers. */
void ptx_run_texture(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_image_query(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_surface_load(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_surface_store(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_surface_reduce(struct ptx_warp *w, const struct ptx_insn *i);

#endif
