/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps: copies of boxes, and tensormap.replace. Rows of a box lie one after the other in
 * shared memory. Swizzled, the 16 bytes at an address lie where bits of the address of their row of
 * 128 bytes say: the pattern begins at multiples of its size, wherever the box does.
 */
#include "emu/ptx/handlers/matrix/tensor_map.h"
#include "emu/ptx/handlers/mbarrier.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"

#include <string.h>

#define LINE 128u

/* ---- places ---- */

/* The offset from `to` at which the byte that lies at `at` without swizzling lies. */
static uint32_t swizzled(const struct ptx_tensor_map *m, uint64_t to, uint32_t at)
{
    static const uint8_t lines[] = {[PTX_TENSOR_32] = 1, [PTX_TENSOR_64] = 3, [PTX_TENSOR_96] = 1};
    unsigned line = (unsigned)((to + at) / LINE);

    switch (m->swizzle) {
    case PTX_TENSOR_PLAIN:
        return at;
    case PTX_TENSOR_128:
        switch (m->atom) {
        case PTX_TENSOR_ATOM_16:
            return at ^ (line & 7) << 4;
        case PTX_TENSOR_ATOM_32:
            return at ^ (line & 3) << 5;
        case PTX_TENSOR_ATOM_32_FLIP:
            return at ^ (line & 3) << 5 ^ (line & 1) << 3;
        default:
            return at ^ (line & 1) << 6;
        }
    default:
        return at ^ (line & lines[m->swizzle]) << 4;
    }
}

/* A box in the shared memory of one block. */
struct place {
    uint64_t address;
    uint8_t *host;
};

static uint64_t in_window(uint64_t address)
{
    return address >> 60 ? address : address + PTX_SHARED_WINDOW;
}

static bool find_place(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                       const struct ptx_tensor_box *b, bool write, struct place *place)
{
    uint32_t size = b->rows * b->units * b->unit.shared;

    if (b->map->swizzle != PTX_TENSOR_PLAIN)
        size = (size + LINE - 1) / LINE * LINE;
    place->host = ptx_locate(w, lane, in_window(place->address), size, write);
    if (!place->host)
        ptx_stop_fault(w, i, lane, PTX_FAULT_ADDRESS, place->address, size);
    else if (place->address % LINE)
        ptx_stop_fault(w, i, lane, PTX_FAULT_MISALIGNED, place->address, size);
    return place->host && place->address % LINE == 0;
}

/* ---- elements ---- */

static uint32_t round_single(uint8_t type, uint32_t v)
{
    bool flushes = type == PTX_TENSOR_F32_FTZ || type == PTX_TENSOR_TF32_FTZ;
    bool cuts = type == PTX_TENSOR_TF32 || type == PTX_TENSOR_TF32_FTZ;

    if (flushes && !(v & 0x7f800000u))
        v &= 0x80000000u;
    if (cuts && (v & 0x7f800000u) != 0x7f800000u) /* to nearest, ties to even */
        v = (v + 0xfff + (v >> 13 & 1)) & 0xffffe000u;
    return v;
}

/* Sixteen numbers of 6 bits: one in a byte each, and packed. */
static void pack_six(uint8_t *to, const uint8_t *from)
{
    memset(to, 0, 12);
    for (unsigned k = 0; k < 16; k++) {
        unsigned v = from[k] & 0x3fu;
        to[k * 6 / 8] = (uint8_t)(to[k * 6 / 8] | v << k * 6 % 8);
        if (k * 6 % 8 > 2)
            to[k * 6 / 8 + 1] = (uint8_t)(v >> (8 - k * 6 % 8));
    }
}

static void load_unit(const struct ptx_tensor_box *b, uint8_t *to, const uint8_t *from)
{
    uint32_t v;

    memcpy(to, from, b->unit.global);
    if (b->unit.global != 4)
        return;
    memcpy(&v, from, 4);
    v = round_single(b->map->type, v);
    memcpy(to, &v, 4);
}

/* Fills an element outside of the tensor. */
static void fill_unit(const struct ptx_tensor_box *b, uint8_t *to)
{
    memset(to, b->map->fills_nan ? 0xff : 0, b->unit.global);
    if (b->map->fills_nan)
        to[b->unit.global - 1] = 0x7f;
}

static void store_unit(const struct ptx_tensor_box *b, uint8_t *to, const uint8_t *from)
{
    if (b->map->type == PTX_TENSOR_B6X16_P32)
        pack_six(to, from);
    else
        memcpy(to, from, b->unit.global);
}

/* ---- copies ---- */

static ptx_type reduced_type(uint8_t type, enum ptx_atomic op)
{
    static const ptx_type types[PTX_TENSOR_TYPE_COUNT] = {
        [PTX_TENSOR_U32] = PTX_U32, [PTX_TENSOR_S32] = PTX_S32,  [PTX_TENSOR_U64] = PTX_U64,
        [PTX_TENSOR_S64] = PTX_S64, [PTX_TENSOR_F16] = PTX_F16,  [PTX_TENSOR_F32] = PTX_F32,
        [PTX_TENSOR_F64] = PTX_F64, [PTX_TENSOR_BF16] = PTX_BF16};
    ptx_type t = types[type];
    bool is_float = ptx_type_class(t) == 'f';
    bool is_half = t == PTX_F16 || t == PTX_BF16;
    bool is_bits = op == PTX_ATOM_AND || op == PTX_ATOM_OR || op == PTX_ATOM_XOR;
    bool is_order = op == PTX_ATOM_MIN || op == PTX_ATOM_MAX;

    if (t == 0 || (is_float && is_bits) || (is_float && is_order && !is_half) ||
        ((op == PTX_ATOM_INC || op == PTX_ATOM_DEC) && t != PTX_U32) ||
        (op == PTX_ATOM_ADD && (t == PTX_S64 || t == PTX_F64)))
        return PTX_TYPE_COUNT;
    return is_bits ? ptx_type_size(t) == 8 ? PTX_B64 : PTX_B32 : t;
}

/* The copy of one lane. */
struct task {
    struct ptx_warp *w;
    const struct ptx_insn *i;
    const struct ptx_tensor_copy *copy;
    unsigned lane;
    struct ptx_tensor_map map;
    struct ptx_tensor_box box;
};

/* The units of a row that are inside of the tensor; NULL after a fault. */
static uint8_t *find_row(struct task *t, const struct ptx_tensor_row *row, bool write)
{
    uint32_t size = row->inside * t->box.unit.global;
    uint8_t *p = ptx_locate(t->w, t->lane, row->address, size, write);

    if (!p)
        ptx_stop_fault(t->w, t->i, t->lane, PTX_FAULT_ADDRESS, row->address, size);
    return p;
}

static bool load_box(struct task *t, const struct place *place)
{
    const struct ptx_tensor_box *b = &t->box;
    int64_t kept[PTX_TENSOR_RANK_MAX] = {0};
    uint32_t at = 0;

    for (uint32_t r = 0; r < b->rows; r++) {
        struct ptx_tensor_row row = ptx_tensor_box_row(b, r, kept);
        const uint8_t *from = row.inside ? find_row(t, &row, false) : NULL;
        if (row.inside && !from)
            return false;
        for (uint32_t u = 0; u < b->units; u++, at += b->unit.shared) {
            uint8_t *to = place->host + swizzled(b->map, place->address, at);
            if (u >= row.before && u < row.before + row.inside)
                load_unit(b, to, from + (size_t)(u - row.before) * b->unit.global);
            else
                fill_unit(b, to);
        }
    }
    return true;
}

static void reduce_unit(const struct task *t, ptx_type type, uint8_t *to, const uint8_t *from)
{
    uint64_t value = 0;

    memcpy(&value, from, ptx_type_size(type));
    ptx_atomic_update(t->copy->op, type, to, value, 0);
}

static bool store_box(struct task *t, const struct place *place)
{
    const struct ptx_tensor_box *b = &t->box;
    ptx_type type = t->copy->reduces ? reduced_type(b->map->type, t->copy->op) : PTX_B8;
    int64_t kept[PTX_TENSOR_RANK_MAX] = {0};

    for (uint32_t r = 0; r < b->rows; r++) {
        struct ptx_tensor_row row = ptx_tensor_box_row(b, r, kept);
        uint8_t *to = row.inside ? find_row(t, &row, true) : NULL;
        uint32_t at = (r * b->units + row.before) * b->unit.shared;
        if (row.inside && (!to || (t->copy->reduces && !find_row(t, &row, false))))
            return false;
        for (uint32_t u = 0; u < row.inside; u++, at += b->unit.shared, to += b->unit.global) {
            const uint8_t *from = place->host + swizzled(b->map, place->address, at);
            if (t->copy->reduces)
                reduce_unit(t, type, to, from);
            else
                store_unit(b, to, from);
        }
    }
    t->w->changes++;
    return true;
}

/* ---- one lane ---- */

/* The map as it is now, and what the copy covers. */
static bool read_map(struct task *t)
{
    uint64_t address = ((const uint64_t *)ptx_lanes(t->w, t->copy->map))[t->lane];
    const uint8_t *p = ptx_locate(t->w, t->lane, address, sizeof(t->map), false);
    int64_t coordinates[PTX_TENSOR_RANK_MAX] = {0};
    int64_t offsets[3] = {0};

    if (!p || address % 64) {
        ptx_stop_fault(t->w, t->i, t->lane, p ? PTX_FAULT_MISALIGNED : PTX_FAULT_ADDRESS, address,
                       sizeof(t->map));
        return false;
    }
    memcpy(&t->map, p, sizeof(t->map));
    for (unsigned k = 0; k < PTX_TENSOR_RANK_MAX; k++)
        if (t->copy->coordinates[k] != PTX_OP_NONE)
            coordinates[k] = ((const int32_t *)ptx_lanes(t->w, t->copy->coordinates[k]))[t->lane];
    for (unsigned k = 0; k < 3; k++)
        if (t->copy->offsets[k] != PTX_OP_NONE)
            offsets[k] = ((const uint16_t *)ptx_lanes(t->w, t->copy->offsets[k]))[t->lane];
    if (ptx_tensor_box_init(&t->box, &t->map, t->copy, coordinates, offsets) &&
        !(t->copy->reduces && reduced_type(t->map.type, t->copy->op) == PTX_TYPE_COUNT))
        return true;
    ptx_stop_fault(t->w, t->i, t->lane, PTX_FAULT_TENSOR_MAP, address, sizeof(t->map));
    return false;
}

static bool tell_barrier(struct task *t, uint64_t barrier)
{
    uint32_t size = t->box.rows * t->box.units * t->box.unit.shared;
    uint8_t *p = ptx_resolve(t->w, t->i, t->lane, PTX_SPACE_CLUSTER, barrier, 8, true);

    if (p)
        ptx_mbarrier_complete(p, size);
    return p != NULL;
}

/* Whose barrier hears of a copy to block `to`. An address of a pair's barrier without a block is
 * the first one's: programs take the bit of the second one out of the address. */
static uint64_t barrier_of(const struct task *t, uint64_t barrier, uint32_t to, bool multicast)
{
    bool is_own = !((uint32_t)barrier >> PTX_RANK_SHIFT);
    uint32_t rank = ptx_cluster_rank(t->w->block, barrier);

    if (!t->copy->is_pair)
        return multicast ? ptx_cluster_map(barrier, to) : barrier;
    if (is_own)
        rank = 0;
    return is_own || multicast ? ptx_cluster_map(barrier, (to & ~1u) | (rank & 1)) : barrier;
}

static bool load_to(struct task *t, uint64_t address, uint64_t barrier)
{
    struct place place = {.address = address};

    return find_place(t->w, t->i, t->lane, &t->box, true, &place) && load_box(t, &place) &&
           tell_barrier(t, barrier);
}

static bool load(struct task *t, uint64_t shared)
{
    uint64_t barrier = ((const uint64_t *)ptx_lanes(t->w, t->copy->barrier))[t->lane];
    uint32_t blocks;

    if (t->copy->blocks == PTX_OP_NONE)
        return load_to(t, shared,
                       barrier_of(t, barrier, ptx_cluster_rank(t->w->block, shared), false));
    blocks = ((const uint16_t *)ptx_lanes(t->w, t->copy->blocks))[t->lane];
    for (; blocks; blocks &= blocks - 1) {
        uint32_t to = (uint32_t)__builtin_ctz(blocks);
        if (!load_to(t, ptx_cluster_map(shared, to), barrier_of(t, barrier, to, true)))
            return false;
    }
    return true;
}

static bool copy_lane(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane)
{
    struct task t = {.w = w, .i = i, .copy = i->extra, .lane = lane};
    uint64_t shared = ((const uint64_t *)ptx_lanes(w, t.copy->shared))[lane];
    struct place place = {.address = shared};

    if (!read_map(&t))
        return false;
    if (!t.copy->to_global)
        return load(&t, shared);
    return find_place(w, i, lane, &t.box, false, &place) && store_box(&t, &place);
}

void ptx_run_tensor_copy(struct ptx_warp *w, const struct ptx_insn *i)
{
    for (uint32_t left = w->mask; left; left &= left - 1)
        if (!copy_lane(w, i, (unsigned)__builtin_ctz(left)))
            return;
}

/* ---- tensormap.replace ---- */

static void replace(struct ptx_tensor_map *m, enum ptx_tensor_field field, unsigned at, uint64_t v)
{
    switch (field) {
    case PTX_TENSOR_GLOBAL_ADDRESS:
        m->address = v;
        break;
    case PTX_TENSOR_RANK:
        m->rank = (uint8_t)(v + 1);
        break;
    case PTX_TENSOR_BOX_DIM:
        m->box[at] = (uint16_t)v;
        break;
    case PTX_TENSOR_GLOBAL_DIM:
        m->size[at] = (uint32_t)v;
        break;
    case PTX_TENSOR_GLOBAL_STRIDE:
        m->stride[at] = v;
        break;
    case PTX_TENSOR_ELEMENT_STRIDE:
        m->step[at] = (uint8_t)v;
        break;
    case PTX_TENSOR_ELEMTYPE:
        m->type = (uint8_t)v;
        break;
    case PTX_TENSOR_INTERLEAVE:
        m->interleave = (uint8_t)v;
        break;
    case PTX_TENSOR_SWIZZLE_MODE:
        m->swizzle = (uint8_t)v;
        break;
    case PTX_TENSOR_SWIZZLE_ATOM:
        m->atom = (uint8_t)v;
        break;
    default:
        m->fills_nan = (uint8_t)v;
    }
}

void ptx_run_tensor_replace(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint64_t *values = ptx_lanes(w, i->src[1]);
    uint8_t *p[PTX_LANES];
    struct ptx_tensor_map m;

    if (!ptx_addresses(w, i, sizeof(m), true, p))
        return;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        memcpy(&m, p[l], sizeof(m));
        replace(&m, PTX_MODE(i), i->count, values[l]);
        memcpy(p[l], &m, sizeof(m));
    }
    w->changes++;
}
