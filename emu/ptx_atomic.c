/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red. Lanes go one after the other in the order of their numbers; other launches and the
 * host may work on the same memory, so every update is one host atomic.
 */
#include "emu/ptx_memory.h"
#include "emu/ptx_real.h"

#include <math.h>

/* PTX_MODE: enum ptx_atomic. src[0] + imm: the address; src[1], src[2]: operands; dst: the old
 * value or none. type: of the operation. */

static uint64_t add_reals(ptx_type type, uint64_t a, uint64_t b)
{
    switch (type) {
    case PTX_F32: {
        float v = ptx_f32((uint32_t)a) + ptx_f32((uint32_t)b);
        return ptx_f32_bits(ptx_out32(0, v));
    }
    case PTX_F64:
        return ptx_f64_bits(ptx_out64(0, ptx_f64(a) + ptx_f64(b)));
    case PTX_F16:
        return ptx_to_half((double)ptx_from_half((uint16_t)a) + (double)ptx_from_half((uint16_t)b));
    case PTX_BF16:
        return ptx_to_bf16((double)ptx_from_bf16((uint16_t)a) + (double)ptx_from_bf16((uint16_t)b));
    case PTX_F16X2:
        return add_reals(PTX_F16, a & 0xffff, b & 0xffff) | add_reals(PTX_F16, a >> 16, b >> 16)
                                                                << 16;
    default:
        return add_reals(PTX_BF16, a & 0xffff, b & 0xffff) | add_reals(PTX_BF16, a >> 16, b >> 16)
                                                                 << 16;
    }
}

static double as_real(ptx_type type, uint64_t v)
{
    return type == PTX_F32   ? (double)ptx_f32((uint32_t)v)
           : type == PTX_F64 ? ptx_f64(v)
           : type == PTX_F16 ? (double)ptx_from_half((uint16_t)v)
                             : (double)ptx_from_bf16((uint16_t)v);
}

static bool is_less(ptx_type type, uint64_t a, uint64_t b)
{
    switch (type) {
    case PTX_S32:
        return (int32_t)a < (int32_t)b;
    case PTX_S64:
        return (int64_t)a < (int64_t)b;
    case PTX_U32:
    case PTX_U64:
        return a < b;
    default:
        return as_real(type, a) < as_real(type, b);
    }
}

static uint64_t combine(enum ptx_atomic op, ptx_type type, uint64_t old, uint64_t b, uint64_t c)
{
    switch (op) {
    case PTX_ATOM_ADD:
        return ptx_type_class(type) == 'f' ? add_reals(type, old, b) : old + b;
    case PTX_ATOM_MIN:
        return is_less(type, b, old) ? b : old;
    case PTX_ATOM_MAX:
        return is_less(type, old, b) ? b : old;
    case PTX_ATOM_AND:
        return old & b;
    case PTX_ATOM_OR:
        return old | b;
    case PTX_ATOM_XOR:
        return old ^ b;
    case PTX_ATOM_INC:
        return old >= b ? 0 : old + 1;
    case PTX_ATOM_DEC:
        return old == 0 || old > b ? b : old - 1;
    case PTX_ATOM_EXCH:
        return b;
    case PTX_ATOM_CAS:
        return old == b ? c : old;
    }
    return old;
}

#define UPDATE(T)                                                                                  \
    {                                                                                              \
        T *at = (T *)(void *)p;                                                                    \
        T old = __atomic_load_n(at, __ATOMIC_RELAXED);                                             \
        T new;                                                                                     \
        do                                                                                         \
            new = (T)combine(op, type, old, b, c);                                                 \
        while (!__atomic_compare_exchange_n(at, &old, new, true, __ATOMIC_SEQ_CST,                 \
                                            __ATOMIC_RELAXED));                                    \
        return old;                                                                                \
    }

uint64_t ptx_atomic_update(enum ptx_atomic op, ptx_type type, uint8_t *p, uint64_t b, uint64_t c)
{
    switch (ptx_type_size(type)) {
    case 2:
        UPDATE(uint16_t)
    case 4:
        UPDATE(uint32_t)
    default:
        UPDATE(uint64_t)
    }
}

static uint64_t read_lane(const struct ptx_warp *w, ptx_op op, unsigned size, unsigned l)
{
    if (op == PTX_OP_NONE)
        return 0;
    const void *lanes = ptx_lanes(w, op);
    return size == 2   ? ((const uint16_t *)lanes)[l]
           : size == 4 ? ((const uint32_t *)lanes)[l]
                       : ((const uint64_t *)lanes)[l];
}

static void write_lane(const struct ptx_warp *w, ptx_op op, unsigned size, unsigned l, uint64_t v)
{
    if (op == PTX_OP_NONE)
        return;
    void *lanes = ptx_lanes(w, op);
    if (size == 2)
        ((uint16_t *)lanes)[l] = (uint16_t)v;
    else if (size == 4)
        ((uint32_t *)lanes)[l] = (uint32_t)v;
    else
        ((uint64_t *)lanes)[l] = v;
}

void ptx_run_atomic(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint8_t *p[PTX_LANES];
    unsigned size = ptx_type_size(i->type);

    w->polls++;
    if (!ptx_addresses(w, i, size, true, p))
        return;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint64_t b = read_lane(w, i->src[1], size, l);
        uint64_t c = read_lane(w, i->src[2], size, l);
        write_lane(w, i->dst, size, l, ptx_atomic_update(PTX_MODE(i), i->type, p[l], b, c));
    }
}
