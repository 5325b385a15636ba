/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx_async.h"
#include "emu/ptx_mbarrier.h"
#include "emu/ptx_memory.h"

#include <string.h>

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
        if (size) {
            const uint8_t *p =
                ptx_resolve(w, i, l, PTX_SPACE_GLOBAL, from[l], size == i->count ? size : 1, false);
            if (!p || !ptx_resolve(w, i, l, PTX_SPACE_GLOBAL, from[l] + size - 1, 1, false))
                return;
            memcpy(copy, p, size);
        }
        memcpy(to[l], copy, i->count);
    }
}

/* Bulk addresses and sizes are multiples of 16; the size need not be a power of two. */
static uint8_t *resolve(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                        enum ptx_space space, uint64_t address, uint32_t size, bool write)
{
    uint64_t window = space == PTX_SPACE_SHARED && !(address >> 60) ? PTX_SHARED_WINDOW : 0;
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

static bool copy_lane(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_bulk *b,
                      unsigned l)
{
    uint32_t size = ((const uint32_t *)ptx_lanes(w, b->size))[l];
    uint64_t to_address = ((const uint64_t *)ptx_lanes(w, b->to))[l];
    uint8_t *from = NULL;
    uint8_t *barrier = NULL;

    if (size == 0)
        return true;
    uint8_t *to = resolve(w, i, l, b->to_space, to_address, size, true);
    if (!to)
        return false;
    if (b->from != PTX_OP_NONE) {
        uint64_t address = ((const uint64_t *)ptx_lanes(w, b->from))[l];
        from = resolve(w, i, l, b->from_space, address, size, false);
        if (!from)
            return false;
    }
    if (b->barrier != PTX_OP_NONE) {
        uint64_t address = ((const uint64_t *)ptx_lanes(w, b->barrier))[l];
        barrier = ptx_resolve(w, i, l, b->barrier_space, address, 8, true);
        if (!barrier)
            return false;
    }
    if (b->reduces)
        reduce(i, b, to, from, size);
    else if (from)
        memmove(to, from, size);
    else
        memset(to, 0, size);
    if (barrier)
        ptx_mbarrier_complete(barrier, size);
    return true;
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
