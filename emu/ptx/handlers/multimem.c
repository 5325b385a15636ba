/* SPDX-License-Identifier: Apache-2.0
 *
 * multimem: memory of several devices behind one address. A load gives what the devices' bytes come
 * to; stores and reductions go to each of them. Devices are taken in the order of their numbers, so
 * that sums of floats are the same each time.
 */
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"

#include <string.h>

/* PTX_MODE: enum ptx_access. src[0] + imm: the address. extra: struct ptx_multimem. */

static uint64_t read_element(const uint8_t *p, unsigned size)
{
    uint64_t value = 0;

    memcpy(&value, p, size);
    return value;
}

/* Half `k` of a register of halves. */
static double half_at(ptx_type type, uint64_t bits, unsigned k)
{
    const uint16_t half = (uint16_t)(bits >> 16 * k);

    return type == PTX_F16 || type == PTX_F16X2 ? (double)ptx_from_half(half)
                                                : (double)ptx_from_bf16(half);
}

/* Adds halves as f32, and rounds once. */
static uint64_t sum_wide(ptx_type type, uint8_t *const *p, unsigned count)
{
    const bool is_half = type == PTX_F16 || type == PTX_F16X2;
    uint64_t out = 0;

    for (unsigned k = 0; k < ptx_type_size(type) / 2; k++) {
        float sum = 0;
        for (unsigned d = 0; d < count; d++)
            sum += (float)half_at(type, read_element(p[d], ptx_type_size(type)), k);
        out |= (uint64_t)(is_half ? ptx_to_half((double)sum) : ptx_to_bf16((double)sum)) << 16 * k;
    }
    return out;
}

static uint64_t load(const struct ptx_multimem *m, ptx_type type, uint8_t *const *p, unsigned count)
{
    const unsigned size = ptx_type_size(type);
    uint64_t value = read_element(p[0], size);

    if (m->is_wide && m->op == PTX_ATOM_ADD && type != PTX_F32)
        return sum_wide(type, p, count);
    for (unsigned d = 1; d < count; d++)
        value = ptx_atomic_combine(m->op, type, value, read_element(p[d], size), 0);
    return value;
}

/* One element of a lane. */
static void access_element(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, unsigned k,
                           uint8_t *const *p, unsigned count)
{
    const struct ptx_multimem *m = i->extra;
    const unsigned size = ptx_type_size(i->type);
    uint64_t value;

    if (PTX_MODE(i) == PTX_ACCESS_LOAD) {
        ptx_write_lane(w, m->list[k], size, lane, load(m, i->type, p, count));
        return;
    }
    value = ptx_read_lane(w, m->list[k], size, lane);
    for (unsigned d = 0; d < count; d++)
        if (PTX_MODE(i) == PTX_ACCESS_STORE)
            memcpy(p[d], &value, size);
        else
            ptx_atomic_update(m->op, i->type, p[d], value, 0);
    w->changes++;
}

static void fault(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t address,
                  bool is_misaligned)
{
    const bool first = !w->run->faulted;

    ptx_stop_fault(w, i, lane, is_misaligned ? PTX_FAULT_MISALIGNED : PTX_FAULT_ADDRESS, address,
                   ptx_type_size(i->type) * i->count);
    if (!first)
        return;
    w->run->fault->access = (enum ptx_access)PTX_MODE(i);
    w->run->fault->space = "global";
}

void ptx_run_multimem(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_launch *launch = w->run->launch;
    const unsigned size = ptx_type_size(i->type), all = size * i->count;
    const bool is_write = PTX_MODE(i) != PTX_ACCESS_LOAD;
    uint8_t *p[PTX_MULTICAST_MAX];
    uint64_t address[PTX_LANES];

    w->polls++;
    if (launch->has_multicast)
        __atomic_store_n(launch->has_multicast, true, __ATOMIC_RELAXED);
    ptx_address_lanes(w, i, address);
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const bool is_misaligned = (address[lane] & (all - 1)) != 0;
        const unsigned count =
            is_misaligned || !launch->multicast
                ? 0
                : launch->multicast(launch->user, address[lane], all, is_write, p);
        if (!count) {
            fault(w, i, lane, address[lane], is_misaligned && launch->multicast);
            return;
        }
        for (unsigned k = 0; k < i->count; k++) {
            access_element(w, i, lane, k, p, count);
            for (unsigned d = 0; d < count; d++)
                p[d] += size;
        }
    }
}
