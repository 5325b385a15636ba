/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps. Programs may not look into their 128 bytes, so the layout is ours:
 * cuTensorMapEncode* writes it, cp.async.bulk.tensor reads it, tensormap.replace changes it. The
 * address comes first and is plain.
 */
#ifndef EMU_PTX_TENSOR_MAP_H
#define EMU_PTX_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define PTX_TENSOR_MAP_MAGIC 0x31504d54u /* TMP1 */
#define PTX_TENSOR_RANK_MAX  5

/* Numbers of tensormap.replace. */
enum ptx_tensor_type {
    PTX_TENSOR_U8,
    PTX_TENSOR_U16,
    PTX_TENSOR_U32,
    PTX_TENSOR_S32,
    PTX_TENSOR_U64,
    PTX_TENSOR_S64,
    PTX_TENSOR_F16,
    PTX_TENSOR_F32,
    PTX_TENSOR_F32_FTZ,
    PTX_TENSOR_F64,
    PTX_TENSOR_BF16,
    PTX_TENSOR_TF32,
    PTX_TENSOR_TF32_FTZ,
    PTX_TENSOR_B4X16,     /* 16 elements in 8 bytes */
    PTX_TENSOR_B4X16_P64, /* the same in 16 bytes of shared memory */
    PTX_TENSOR_B6X16_P32, /* 16 elements in 12 bytes, in 16 bytes of shared memory */
    PTX_TENSOR_TYPE_COUNT,
};

/* Bytes of shared memory in which chunks change places; numbers of tensormap.replace. */
enum ptx_tensor_swizzle {
    PTX_TENSOR_PLAIN,
    PTX_TENSOR_32,
    PTX_TENSOR_64,
    PTX_TENSOR_128,
    PTX_TENSOR_96,
    PTX_TENSOR_SWIZZLE_COUNT,
};

/* Pieces that change places in 128 bytes. */
enum ptx_tensor_atom {
    PTX_TENSOR_ATOM_16,
    PTX_TENSOR_ATOM_32,
    PTX_TENSOR_ATOM_32_FLIP, /* and of each 16 bytes the halves, in every other row */
    PTX_TENSOR_ATOM_64,
    PTX_TENSOR_ATOM_COUNT,
};

enum ptx_tensor_mode {
    PTX_TENSOR_TILED,
    PTX_TENSOR_IM2COL,
};

/* Dimension 0 is the innermost. In elements, unless said otherwise. */
struct ptx_tensor_map {
    uint64_t address; /* of the device's memory */
    uint32_t magic;
    uint8_t mode; /* enum ptx_tensor_mode */
    uint8_t type; /* enum ptx_tensor_type */
    uint8_t rank;
    uint8_t swizzle;   /* enum ptx_tensor_swizzle */
    uint8_t atom;      /* enum ptx_tensor_atom */
    uint8_t fills_nan; /* outside of the tensor is NaN, not 0 */
    uint8_t step[PTX_TENSOR_RANK_MAX];
    uint8_t interleave; /* tensormap.replace's number; 0: none */
    uint64_t size[PTX_TENSOR_RANK_MAX];
    uint64_t stride[PTX_TENSOR_RANK_MAX - 1]; /* bytes, of dimensions 1 and on */
    union {
        uint16_t box[8];      /* tiled; of as many bytes as im2col, so that all are initialised */
        struct {              /* im2col */
            int16_t lower[3]; /* of the corners of the box, width first */
            int16_t upper[3];
            uint16_t channels;
            uint16_t pixels;
        } im2col;
    };
    uint8_t reserved[16];
};

_Static_assert(sizeof(struct ptx_tensor_map) == 128, "a tensor map has 128 bytes");

#endif
