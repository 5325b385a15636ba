/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/handlers/async.h"
#include "emu/ptx/handlers/mbarrier.h"
#include "emu/ptx/handlers/memory.h"

#include <string.h>

/* Reads the bytes that a lane copies: one by one where some of i->count are left out. */
static bool read_part(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t from,
                      uint32_t size, uint8_t *out)
{
    const uint32_t step = size == i->count ? size : 1;

    for (uint32_t at = 0; at < size; at += step) {
        const uint8_t *p = ptx_resolve(w, i, lane, PTX_SPACE_GLOBAL, from + at, step, false);

        if (!p)
            return false;
        memcpy(out + at, p, step);
    }
    return true;
}

void ptx_run_copy(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint8_t *to[PTX_LANES];
    const uint64_t *from = ptx_lanes(w, i->src[1]);
    const uint32_t *sizes = i->src[2] == PTX_OP_NONE ? NULL : ptx_lanes(w, i->src[2]);

    if (!ptx_addresses(w, i, i->count, true, to))
        return;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint32_t size = sizes && sizes[l] < i->count ? sizes[l] : i->count;
        uint8_t copy[16] = {0};
        if (!read_part(w, i, l, from[l], size, copy))
            return;
        memcpy(to[l], copy, i->count);
    }
}

/* Bulk addresses and sizes are multiples of 16; the size need not be a power of two. */
static uint8_t *resolve(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                        enum ptx_space space, uint64_t address, uint32_t size, bool write)
{
    bool is_shared = space == PTX_SPACE_SHARED || space == PTX_SPACE_CLUSTER;
    uint64_t window = is_shared && !(address >> 60) ? PTX_SHARED_WINDOW : 0;
    uint8_t *p = ptx_locate(w, lane, address + window, size, write);

    if (!p) {
        ptx_stop_fault(w, i, lane, PTX_FAULT_ADDRESS, address, size);
    } else if ((address | size) & 15) {
        ptx_stop_fault(w, i, lane, PTX_FAULT_MISALIGNED, address, size);
        p = NULL;
    }
    return p;
}

static void reduce(const struct ptx_insn *i, const struct ptx_bulk *b, uint8_t *to,
                   const uint8_t *from, uint32_t size)
{
    unsigned step = ptx_type_size(i->type);

    for (uint32_t at = 0; at < size; at += step) {
        uint64_t value = 0;
        memcpy(&value, from + at, step);
        ptx_atomic_update(b->op, i->type, to + at, value, 0);
    }
}

/* One lane's operands of a bulk copy. */
struct bulk {
    uint64_t to;
    uint64_t barrier;
    const uint8_t *from; /* NULL: zeros */
    uint32_t size;
    uint16_t bytes;
};

static void copy_masked(uint8_t *to, const struct bulk *x)
{
    for (uint32_t at = 0; at < x->size; at++)
        if (x->bytes >> at % 16 & 1)
            to[at] = x->from[at];
}

/* To one block; false after a fault. */
static bool copy_to(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_bulk *b,
                    unsigned l, const struct bulk *x)
{
    uint8_t *barrier = NULL, *to;

    /* Reads the place, too, and before it writes: what is there plays a part. */
    if ((b->reduces || x->bytes != 0xffff) && !resolve(w, i, l, b->to_space, x->to, x->size, false))
        return false;
    to = resolve(w, i, l, b->to_space, x->to, x->size, true);
    if (to && b->barrier != PTX_OP_NONE)
        barrier = ptx_resolve(w, i, l, b->barrier_space, x->barrier, 8, true);
    if (!to || (b->barrier != PTX_OP_NONE && !barrier))
        return false;
    if (b->reduces)
        reduce(i, b, to, x->from, x->size);
    else if (x->bytes != 0xffff)
        copy_masked(to, x);
    else if (x->from)
        memmove(to, x->from, x->size);
    else
        memset(to, 0, x->size);
    if (barrier)
        ptx_mbarrier_complete(barrier, x->size);
    return true;
}

/* The same places in each block of the mask. */
static bool copy_to_blocks(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_bulk *b,
                           unsigned l, const struct bulk *x)
{
    uint32_t mask = ((const uint16_t *)ptx_lanes(w, b->blocks))[l];

    for (uint32_t left = mask; left; left &= left - 1) {
        struct bulk one = *x;
        one.to = ptx_cluster_map(x->to, (uint32_t)__builtin_ctz(left));
        one.barrier = ptx_cluster_map(x->barrier, (uint32_t)__builtin_ctz(left));
        if (!copy_to(w, i, b, l, &one))
            return false;
    }
    return true;
}

static bool copy_lane(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_bulk *b,
                      unsigned l)
{
    struct bulk x = {.to = ((const uint64_t *)ptx_lanes(w, b->to))[l],
                     .size = ((const uint32_t *)ptx_lanes(w, b->size))[l],
                     .bytes = 0xffff};

    if (x.size == 0)
        return true;
    if (b->from != PTX_OP_NONE) {
        uint64_t address = ((const uint64_t *)ptx_lanes(w, b->from))[l];
        x.from = resolve(w, i, l, b->from_space, address, x.size, false);
        if (!x.from)
            return false;
    }
    if (b->barrier != PTX_OP_NONE)
        x.barrier = ((const uint64_t *)ptx_lanes(w, b->barrier))[l];
    if (b->bytes != PTX_OP_NONE)
        x.bytes = ((const uint16_t *)ptx_lanes(w, b->bytes))[l];
    return b->blocks == PTX_OP_NONE ? copy_to(w, i, b, l, &x) : copy_to_blocks(w, i, b, l, &x);
}

void ptx_run_bulk(struct ptx_warp *w, const struct ptx_insn *i)
{
    for (uint32_t left = w->mask; left; left &= left - 1)
        if (!copy_lane(w, i, i->extra, (unsigned)__builtin_ctz(left)))
            return;
}

void ptx_run_complete(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint8_t *p[PTX_LANES];

    if (!ptx_addresses(w, i, 8, true, p))
        return;
    for (uint32_t left = w->mask; left; left &= left - 1)
        ptx_mbarrier_complete(p[__builtin_ctz(left)], i->count);
}
