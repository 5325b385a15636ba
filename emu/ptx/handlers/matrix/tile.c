/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/handlers/matrix/tile.h"
#include "emu/ptx/handlers/memory.h"

#include <string.h>

#define CHUNK 16u /* bytes */

/* In a descriptor addresses and offsets are 14 bits, in chunks. */
static uint32_t bytes_at(uint64_t descriptor, unsigned shift)
{
    return (uint32_t)(descriptor >> shift & 0x3fff) * CHUNK;
}

void ptx_tile_describe(struct ptx_tile *tile, uint64_t descriptor)
{
    tile->start = PTX_SHARED_WINDOW + bytes_at(descriptor, 0);
    tile->leading = bytes_at(descriptor, 16);
    tile->stride = bytes_at(descriptor, 32);
    tile->base = descriptor >> 49 & 7;
}

/* Bytes of a row in which chunks change places. */
static unsigned row_size(const struct ptx_tile *t)
{
    static const uint8_t sizes[] = {CHUNK, 32, 64, 128, 128};

    return sizes[t->swizzle];
}

/* The place of chunk `c` of line, or K, `r`: `r` is the number across the chunks. */
static uint32_t offset_of(const struct ptx_tile *t, unsigned r, unsigned c)
{
    unsigned row = row_size(t);
    unsigned in_row = row / CHUNK;
    /* The groups of rows and the chunks have each one of the two offsets. */
    uint32_t by_group = t->stride;
    uint32_t by_row = t->leading;

    if (t->swizzle == PTX_TILE_PLAIN && !t->is_k_major) {
        by_group = t->leading;
        by_row = t->stride;
    } else if (t->swizzle != PTX_TILE_PLAIN && t->is_k_major) {
        by_row = row;
    }
    unsigned rows = t->swizzle == PTX_TILE_128_BY_32 ? 4 : 8; /* of a pattern */
    return r % rows * row + r / rows * by_group + c % in_row * CHUNK + c / in_row * by_row;
}

static uint64_t swizzled(const struct ptx_tile *t, uint64_t address)
{
    unsigned line = (unsigned)(address >> 7) - t->base;

    switch (t->swizzle) {
    case PTX_TILE_32:
        return address ^ (line & 1) << 4;
    case PTX_TILE_64:
        return address ^ (line & 3) << 4;
    case PTX_TILE_128:
        return address ^ (line & 7) << 4;
    case PTX_TILE_128_BY_32:
        return address ^ (line & 3) << 5;
    default:
        return address;
    }
}

static bool read_chunk(struct ptx_warp *w, const struct ptx_insn *i, uint64_t address,
                       uint64_t out[2])
{
    const uint8_t *p = ptx_locate(w, 0, address, CHUNK, false);

    if (p)
        memcpy(out, p, CHUNK);
    else
        ptx_stop_fault(w, i, (unsigned)__builtin_ctz(w->mask), PTX_FAULT_ADDRESS,
                       address - PTX_SHARED_WINDOW, CHUNK);
    return p != NULL;
}

static uint32_t element_of(const struct ptx_tile *t, const uint64_t chunk[2], unsigned j)
{
    unsigned bit = j * t->bits;
    uint64_t value = chunk[bit / 64] >> bit % 64;

    if (bit % 64 + t->bits > 64)
        value |= chunk[1] << (64 - bit % 64);
    return (uint32_t)(value & ((1ull << t->bits) - 1));
}

/* Reads the chunks of one line, or of the lines for one K: `r` counts across the chunks. */
static bool read_row(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_tile *t,
                     unsigned r, unsigned begin, unsigned end, uint32_t *out, unsigned step)
{
    unsigned per = 128u / t->unit;
    uint64_t chunk[2];

    for (unsigned at = begin; at < end; at++) {
        if ((at == begin || at % per == 0) &&
            !read_chunk(w, i, swizzled(t, t->start + offset_of(t, r, at / per)), chunk))
            return false;
        out[(size_t)(at - begin) * step] = element_of(t, chunk, at % per);
    }
    return true;
}

bool ptx_tile_read(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_tile *t,
                   struct ptx_tile_part part, uint32_t *out, unsigned step)
{
    unsigned end = part.first + part.count;

    for (unsigned n = 0; t->is_k_major && n < part.count; n++)
        if (!read_row(w, i, t, part.first + n, 0, part.depth, out + (size_t)n * step, 1))
            return false;
    for (unsigned k = 0; !t->is_k_major && k < part.depth; k++)
        if (!read_row(w, i, t, k, part.first, end, out + k, step))
            return false;
    return true;
}
