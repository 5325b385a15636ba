/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in shared memory, for the tests of wgmma and tcgen05: as the PTX manual has them,
 * patterns of swizzling as tables, places as canonical layouts. Nothing here is the engine's.
 */
#ifndef TESTS_PTX_PTX_LAYOUT_H
#define TESTS_PTX_PTX_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum layout_kind {
    L_F16,
    L_BF16,
    L_TF32,
    L_E4M3,
    L_E5M2,
    L_E2M3,
    L_E3M2,
    L_E2M1,
    L_S8,
    L_U8,
    L_B1,
};

/* Whole numbers from -3 to 3, exact in every format. tf32 has low bits that are to be cut off. */
static inline uint32_t layout_encode(enum layout_kind kind, int v)
{
    static const uint16_t codes[][4] = {
        [L_F16] = {0, 0x3c00, 0x4000, 0x4200},  [L_BF16] = {0, 0x3f80, 0x4000, 0x4040},
        [L_TF32] = {0, 0x3f80, 0x4000, 0x4040}, [L_E4M3] = {0, 0x38, 0x40, 0x44},
        [L_E5M2] = {0, 0x3c, 0x40, 0x42},       [L_E2M3] = {0, 0x08, 0x10, 0x14},
        [L_E3M2] = {0, 0x0c, 0x10, 0x12},       [L_E2M1] = {0, 2, 4, 5}};
    static const uint8_t signs[] = {[L_F16] = 15, [L_BF16] = 15, [L_TF32] = 31, [L_E4M3] = 7,
                                    [L_E5M2] = 7, [L_E2M3] = 5,  [L_E3M2] = 5,  [L_E2M1] = 3};

    if (kind == L_B1)
        return (uint32_t)v & 1;
    if (kind == L_S8 || kind == L_U8)
        return (uint8_t)v;
    uint32_t code = codes[kind][abs(v)];
    if (kind == L_TF32)
        code = code << 16 | 0x1abc;
    return code | (uint32_t)(v < 0) << signs[kind];
}

/* Which chunk of 16 bytes lies where in a row of 128: the manual's tables. */
static const uint8_t layout_by_16[8][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5},
    {3, 2, 1, 0, 7, 6, 5, 4}, {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
    {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0},
};
static const uint8_t layout_by_32[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                           {2, 3, 0, 1, 6, 7, 4, 5},
                                           {4, 5, 6, 7, 0, 1, 2, 3},
                                           {6, 7, 4, 5, 2, 3, 0, 1}};

/* A matrix of lines (rows of A, columns of B) along K. */
struct layout {
    unsigned bits;  /* of an element */
    unsigned unit;  /* bits that it takes: a chunk has 128 / unit, packed at its start */
    unsigned width; /* bytes of a row of the pattern; 16: none */
    bool by_32;     /* 32 bytes change places, not 16 */
    bool transposed;
    unsigned base; /* rows of 128 bytes before the pattern begins */
    unsigned leading, stride;
};

/* Strides with room between the parts, where the layout has some. */
static inline void layout_set_strides(struct layout *l, unsigned lines)
{
    unsigned in_chunk = 128 / l->unit;
    unsigned row = in_chunk * l->width / 16;

    if (!l->transposed && l->width == 16) {
        l->stride = 128 + 16;
        l->leading = (lines / 8) * (128 + 16) + 48;
    } else if (!l->transposed) {
        l->stride = 8 * l->width;
        l->leading = 16;
    } else if (l->width == 16) {
        l->stride = 128 + 16;
        l->leading = (lines / in_chunk + 1) * (128 + 16) + 32;
    } else {
        l->leading = (l->by_32 ? 4 : 8) * l->width;
        l->stride = l->leading * ((lines + row - 1) / row);
    }
}

/* The chunk of an element, without swizzling, and which of the chunk's it is. */
static inline unsigned layout_chunk(const struct layout *l, unsigned line, unsigned k,
                                    unsigned *in_chunk)
{
    unsigned t = 128 / l->unit;
    unsigned wide = l->width / 16;
    unsigned rows = l->by_32 ? 4 : 8;

    *in_chunk = (l->transposed ? line : k) % t;
    if (!l->transposed && l->width == 16)
        return line % 8 * 16 + line / 8 * l->stride + k / t * l->leading;
    if (!l->transposed)
        return line % 8 * l->width + line / 8 * l->stride + k / t * 16;
    if (l->width == 16)
        return line / t * l->stride + k % 8 * 16 + k / 8 * l->leading;
    return line / t % wide * 16 + line / t / wide * l->leading + k % rows * l->width +
           k / rows * l->stride;
}

static inline unsigned layout_swizzle(const struct layout *l, unsigned at)
{
    unsigned row = at / 128 - l->base;
    unsigned chunk = at % 128 / 16;

    if (l->width == 16)
        return at;
    if (l->by_32)
        return at / 128 * 128 + at % 16 + 16 * layout_by_32[row % 4][chunk];
    return at / 128 * 128 + at % 16 + 16 * layout_by_16[row % (l->width / 16)][chunk];
}

/* Puts an element of a matrix that begins at byte `start` of the image. */
static inline void layout_put(const struct layout *l, uint8_t *image, unsigned start, unsigned line,
                              unsigned k, uint32_t v)
{
    unsigned in_chunk;
    uint8_t *chunk = image + layout_swizzle(l, start + layout_chunk(l, line, k, &in_chunk));

    for (unsigned b = 0; b < l->bits; b++) {
        unsigned bit = in_chunk * l->bits + b;
        chunk[bit / 8] = (uint8_t)((chunk[bit / 8] & ~(1u << bit % 8)) | (v >> b & 1) << bit % 8);
    }
}

#endif
