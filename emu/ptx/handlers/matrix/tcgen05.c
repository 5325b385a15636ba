/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05 but for products: tensor memory and what goes in and out of it.
 */
#include "emu/ptx/handlers/matrix/tcgen05.h"
#include "emu/ptx/exec/tensor_memory.h"
#include "emu/ptx/handlers/mbarrier.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/handlers/matrix/tile.h"

#include <string.h>

static unsigned first_lane(const struct ptx_warp *w)
{
    return (unsigned)__builtin_ctz(w->mask);
}

static uint32_t value32(const struct ptx_warp *w, ptx_op op, unsigned lane)
{
    return ((const uint32_t *)ptx_lanes(w, op))[lane];
}

uint32_t ptx_tensor_address(const struct ptx_warp *w, const struct ptx_tensor_place *place,
                            unsigned lane)
{
    return value32(w, place->base, lane) + place->addend;
}

bool ptx_tensor_blocks(struct ptx_warp *w, const struct ptx_insn *i, bool is_pair,
                       struct ptx_block *blocks[2], unsigned *count_out)
{
    const struct ptx_cluster *cluster = w->block->cluster;
    uint32_t even = w->block->rank & ~1u;

    blocks[0] = w->block;
    *count_out = is_pair ? 2 : 1;
    if (!is_pair)
        return true;
    if (even + 1 < cluster->count) {
        blocks[0] = cluster->blocks[even];
        blocks[1] = cluster->blocks[even + 1];
        if (blocks[0]->alive && blocks[1]->alive)
            return true;
    }
    ptx_stop_fault(w, i, first_lane(w), PTX_FAULT_TENSOR_MEMORY, w->block->rank, 0);
    return false;
}

/* ---- allocation ---- */

/* Nothing else of the instruction was done: it comes again when others have run. */
static void try_again(struct ptx_warp *w, const struct ptx_insn *i)
{
    w->pc = i;
    w->polls++;
    ptx_warp_yield(w);
}

void ptx_run_tensor_alloc(struct ptx_warp *w, const struct ptx_insn *i)
{
    unsigned lane = first_lane(w);
    uint32_t columns = value32(w, i->src[1], lane);
    uint64_t to[PTX_LANES];
    uint32_t address = 0;

    ptx_address_lanes(w, i, to);
    uint8_t *p = ptx_resolve(w, i, lane, i->space, to[lane], 4, true);
    if (!p)
        return;
    switch (ptx_tensor_memory_alloc(w->block, columns, &address)) {
    case PTX_TENSOR_OK:
        memcpy(p, &address, 4);
        w->changes++;
        break;
    case PTX_TENSOR_WAIT:
        try_again(w, i);
        break;
    case PTX_TENSOR_REFUSED:
        ptx_stop_fault(w, i, lane, PTX_FAULT_DESCRIPTOR, columns, 0);
        break;
    case PTX_TENSOR_NO_MEMORY:
        ptx_stop_fault(w, i, lane, PTX_FAULT_NO_MEMORY, 0, 0);
        break;
    }
}

void ptx_run_tensor_dealloc(struct ptx_warp *w, const struct ptx_insn *i)
{
    unsigned lane = first_lane(w);
    uint32_t address = value32(w, i->src[0], lane);

    w->changes++;
    if (ptx_tensor_memory_free(w->block, address, value32(w, i->src[1], lane)) != PTX_TENSOR_OK)
        ptx_stop_fault(w, i, lane, PTX_FAULT_TENSOR_MEMORY, address, 0);
}

void ptx_run_tensor_close(struct ptx_warp *w, const struct ptx_insn *i)
{
    if (w->block->tensor_memory)
        w->block->tensor_memory->is_closed = true;
}

/* ---- ld and st ---- */

/* Computes where register `r` of thread `t` lies, from the place on. */
static void place_register(enum ptx_tensor_shape shape, unsigned t, unsigned r, unsigned *lane,
                           unsigned *column)
{
    switch (shape) {
    case PTX_TENSOR_32X32B:
        *lane = t;
        *column = r;
        break;
    case PTX_TENSOR_16X32BX2:
        *lane = t % 16;
        *column = r;
        break;
    case PTX_TENSOR_16X64B:
        *lane = t / 4 + 8 * (t % 2);
        *column = t / 2 % 2 + 2 * r;
        break;
    case PTX_TENSOR_16X128B:
        *lane = t / 4 + 8 * (r % 2);
        *column = t % 4 + 4 * (r / 2);
        break;
    case PTX_TENSOR_16X256B:
        *lane = t / 4 + 8 * (r / 2 % 2);
        *column = 2 * (t % 4) + r % 2 + 8 * (r / 4);
        break;
    }
}

static unsigned width_of(const struct ptx_tensor_move *x)
{
    bool is_narrow = x->shape == PTX_TENSOR_32X32B || x->shape == PTX_TENSOR_16X32BX2;

    return x->count * (is_narrow ? 1u : 2u) * (x->packs ? 2u : 1u);
}

/* A warp reaches the quarter of the lanes that its number in its group says. */
static bool is_own(const struct ptx_warp *w, const struct ptx_tensor_move *x, uint32_t lane)
{
    uint32_t within = lane - w->index % 4 * 32;

    return within == 0 || (within == 16 && x->shape != PTX_TENSOR_32X32B);
}

static void move_word(const struct ptx_tensor_move *x, uint32_t (*cells)[PTX_TENSOR_LANES],
                      unsigned column, unsigned lane, uint32_t *word)
{
    if (!x->packs) {
        uint32_t *cell = &cells[column][lane];
        *(x->stores ? cell : word) = x->stores ? *word : *cell;
        return;
    }
    uint32_t *low = &cells[2 * column][lane];
    uint32_t *high = &cells[2 * column + 1][lane];
    if (x->stores) {
        *low = *word & 0xffff;
        *high = *word >> 16;
    } else {
        *word = (*low & 0xffff) | *high << 16;
    }
}

void ptx_run_tensor_move(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_tensor_move *x = i->extra;
    uint32_t address = ptx_tensor_address(w, &x->place, first_lane(w));
    uint32_t column = address & 0xffff;
    uint32_t lane = address >> 16;
    uint32_t second = x->shape == PTX_TENSOR_16X32BX2 ? x->second : 0;
    uint32_t(*halves[2])[PTX_TENSOR_LANES] = {
        ptx_tensor_memory_find(w->block, column, width_of(x)),
        ptx_tensor_memory_find(w->block, column + second, width_of(x))};

    if (!halves[0] || !halves[1] || !is_own(w, x, lane)) {
        ptx_stop_fault(w, i, first_lane(w), PTX_FAULT_TENSOR_MEMORY, address, 4 * width_of(x));
        return;
    }
    for (unsigned r = 0; r < x->count; r++) {
        uint32_t *words = ptx_lanes(w, x->registers[r]);
        for (unsigned t = 0; t < PTX_LANES; t++) {
            unsigned l = 0;
            unsigned c = 0;
            place_register(x->shape, t, r, &l, &c);
            move_word(x, halves[t >= 16], c, lane + l, &words[t]);
        }
    }
    w->changes += x->stores;
}

/* ---- cp and shift ---- */

bool ptx_tensor_tile(struct ptx_tile *tile, uint64_t descriptor, const struct ptx_block *block)
{
    static const int8_t swizzles[] = {
        PTX_TILE_PLAIN, PTX_TILE_128_BY_32, PTX_TILE_128, -1, PTX_TILE_64, -1, PTX_TILE_32, -1};
    int8_t swizzle = swizzles[descriptor >> 61];

    if (swizzle < 0 || descriptor >> 52 & 1)
        return false;
    ptx_tile_describe(tile, descriptor);
    tile->start = ptx_cluster_map(tile->start, block->rank);
    tile->swizzle = (uint8_t)swizzle;
    return true;
}

static bool fill_block(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_block *block,
                       uint32_t address, uint64_t descriptor)
{
    const struct ptx_tensor_fill *x = i->extra;
    struct ptx_tile tile = {.bits = 32, .unit = 32, .is_k_major = true};
    uint32_t(*cells)[PTX_TENSOR_LANES] =
        ptx_tensor_memory_find(block, address & 0xffff, x->columns);
    uint32_t rows[PTX_TENSOR_LANES][8];

    if (!cells || address >> 16) {
        ptx_stop_fault(w, i, first_lane(w), PTX_FAULT_TENSOR_MEMORY, address, 4u * x->columns);
        return false;
    }
    if (!ptx_tensor_tile(&tile, descriptor, block)) {
        ptx_stop_fault(w, i, first_lane(w), PTX_FAULT_DESCRIPTOR, descriptor, 0);
        return false;
    }
    struct ptx_tile_part part = {0, x->rows, x->columns};
    if (!ptx_tile_read(w, i, &tile, part, rows[0], 8))
        return false;
    for (unsigned l = 0; l < PTX_TENSOR_LANES; l++)
        for (unsigned c = 0; c < x->columns; c++)
            cells[c][l] = rows[x->from[l / 32] * 32 + l % 32][c];
    return true;
}

/* Each block of a pair copies from its own shared memory. */
void ptx_run_tensor_fill(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_tensor_fill *x = i->extra;
    struct ptx_block *blocks[2];
    unsigned count;

    if (!ptx_tensor_blocks(w, i, x->is_pair, blocks, &count))
        return;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t address = ptx_tensor_address(w, &x->place, lane);
        uint64_t descriptor = ((const uint64_t *)ptx_lanes(w, x->descriptor))[lane];
        for (unsigned k = 0; k < count; k++)
            if (!fill_block(w, i, blocks[k], address, descriptor))
                return;
    }
    w->changes++;
}

#define SHIFT_COLUMNS 8 /* 32 bytes */

void ptx_run_tensor_shift(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t address = ptx_tensor_address(w, i->extra, first_lane(w));
    uint32_t first = address >> 16;
    struct ptx_block *blocks[2];
    unsigned count;

    if (!ptx_tensor_blocks(w, i, PTX_MODE(i), blocks, &count))
        return;
    for (unsigned k = 0; k < count; k++) {
        uint32_t(*cells)[PTX_TENSOR_LANES] =
            ptx_tensor_memory_find(blocks[k], address & 0xffff, SHIFT_COLUMNS);
        if (!cells || first % 32 || first >= PTX_TENSOR_LANES) {
            ptx_stop_fault(w, i, first_lane(w), PTX_FAULT_TENSOR_MEMORY, address, 32);
            return;
        }
        for (unsigned c = 0; c < SHIFT_COLUMNS; c++)
            memmove(&cells[c][first + 1], &cells[c][first], 31 * sizeof(cells[c][0]));
    }
    w->changes++;
}

/* ---- commit ---- */

static bool tell(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t barrier)
{
    /* A variable's address is its own block's, and a mask leads to others. */
    enum ptx_space space = i->space == PTX_SPACE_SHARED ? PTX_SPACE_CLUSTER : i->space;
    uint8_t *p = ptx_resolve(w, i, lane, space, barrier, 8, true);

    if (p)
        ptx_mbarrier_arrive(p);
    return p != NULL;
}

void ptx_run_tensor_commit(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint64_t barriers[PTX_LANES];

    ptx_address_lanes(w, i, barriers);
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (i->src[1] == PTX_OP_NONE) {
            if (!tell(w, i, lane, barriers[lane]))
                return;
            continue;
        }
        uint32_t blocks = ((const uint16_t *)ptx_lanes(w, i->src[1]))[lane];
        for (; blocks; blocks &= blocks - 1)
            if (!tell(w, i, lane, ptx_cluster_map(barriers[lane], (uint32_t)__builtin_ctz(blocks))))
                return;
    }
    w->changes++;
}
