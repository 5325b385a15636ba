/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in shared memory, as the descriptors of wgmma and tcgen05 lay them out.
 *
 * A matrix of A or B has lines (rows of A, columns of B) of K elements. It consists of chunks of 16
 * bytes, which hold elements of one line that follow each other along K (K-major), or elements of
 * one K that belong to lines that follow each other. Eight chunks are a core matrix; `stride` and
 * `leading` lead from one to the next. Swizzled, chunks that lie in one row of 32, 64 or 128 bytes
 * change places in it, by the address of the row.
 */
#ifndef EMU_PTX_HANDLERS_MATRIX_TILE_H
#define EMU_PTX_HANDLERS_MATRIX_TILE_H

#include "emu/ptx/exec/exec.h"

enum ptx_tile_swizzle {
    PTX_TILE_PLAIN,
    PTX_TILE_32,
    PTX_TILE_64,
    PTX_TILE_128,
    PTX_TILE_128_BY_32, /* rows of 128 bytes, of which pieces of 32 change places */
};

struct ptx_tile {
    uint64_t start;   /* generic address of the first chunk, as if nothing were swizzled */
    uint32_t leading; /* bytes */
    uint32_t stride;  /* bytes */
    uint8_t swizzle;  /* enum ptx_tile_swizzle */
    uint8_t base;     /* rows of 128 bytes by which the pattern begins late */
    uint8_t bits;     /* of an element */
    uint8_t unit;     /* bits that it takes in shared memory: the 128 / unit elements of a chunk lie
                       * together, and what is over of its 16 bytes is padding */
    bool is_k_major;
};

/* Fills in what a descriptor says, but for bits, unit and is_k_major. */
void ptx_tile_describe(struct ptx_tile *tile, uint64_t descriptor);

/* Lines [first, first + count), and the elements of each that are read. */
struct ptx_tile_part {
    unsigned first;
    unsigned count;
    unsigned depth;
};

/* Reads element (first + n, k) to out[n * step + k], right-aligned. False after a fault, which
 * names the first lane. Observers see the reads. */
bool ptx_tile_read(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_tile *tile,
                   struct ptx_tile_part part, uint32_t *out, unsigned step);

#endif
