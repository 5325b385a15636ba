/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red. Lanes go one after the other in the order of their numbers; other launches and the
 * host may work on the same memory, so every update is one host atomic.
 */
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"

#include <pthread.h>
#include <string.h>

/* PTX_MODE: enum ptx_atomic. src[0] + imm: the address; src[1], src[2]: operands; dst: the old
 * value or none. type: of the operation. */

static uint64_t add_reals(ptx_type type, uint32_t flags, uint64_t a, uint64_t b)
{
    switch (type) {
    case PTX_F32: {
        float v = ptx_in32(flags, ptx_f32((uint32_t)a)) + ptx_in32(flags, ptx_f32((uint32_t)b));
        return ptx_f32_bits(ptx_out32(flags, v));
    }
    case PTX_F64:
        return ptx_f64_bits(ptx_out64(0, ptx_f64(a) + ptx_f64(b)));
    case PTX_F16:
        return ptx_to_half((double)ptx_from_half((uint16_t)a) + (double)ptx_from_half((uint16_t)b));
    case PTX_BF16:
        return ptx_to_bf16((double)ptx_from_bf16((uint16_t)a) + (double)ptx_from_bf16((uint16_t)b));
    default:
        return 0;
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

/* min and max of floats: a NaN loses, -0 is less than +0. */
static uint64_t choose_real(ptx_type type, bool least, uint64_t a, uint64_t b)
{
    double x = as_real(type, a);
    double y = as_real(type, b);

    if (x != x)
        return y != y ? 0x7fff : b;
    if (y != y)
        return a;
    if (x == y)
        return (__builtin_signbit(x) != 0) == least ? a : b;
    return (x < y) == least ? a : b;
}

uint64_t ptx_atomic_combine(enum ptx_atomic op, ptx_type type, uint64_t old, uint64_t b, uint64_t c)
{
    bool real = ptx_type_class(type) == 'f';

    if (type == PTX_F16X2 || type == PTX_BF16X2) {
        ptx_type half = type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        return ptx_atomic_combine(op, half, old & 0xffff, b & 0xffff, 0) |
               ptx_atomic_combine(op, half, old >> 16, b >> 16, 0) << 16;
    }
    if (real && (op == PTX_ATOM_MIN || op == PTX_ATOM_MAX))
        return choose_real(type, op == PTX_ATOM_MIN, old, b);
    switch (op) {
    case PTX_ATOM_ADD:
        return real ? add_reals(type, 0, old, b) : old + b;
    case PTX_ATOM_ADD_FTZ:
        return add_reals(type, PTX_F_FTZ, old, b);
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
            new = (T)ptx_atomic_combine(op, type, old, b, c);                                      \
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

/* A whole warp in shared memory, lane by lane. */
static void add_shared_words(struct ptx_warp *w, const uint32_t *b, uint32_t *d, uint8_t *const *p)
{
    uint32_t any = 0;

    for (unsigned l = 0; l < PTX_LANES; l++) {
        uint32_t *at = (uint32_t *)(void *)p[l], old = *at;
        any |= b[l];
        *at = old + b[l];
        if (d)
            d[l] = old;
    }
    w->changes += any != 0;
}

/* Sums of 32-bit integers, the most frequent. Shared memory is seen by one host thread alone. */
static void add_words(struct ptx_warp *w, const struct ptx_insn *i, uint8_t *const *p)
{
    const uint32_t *b = ptx_lanes(w, i->src[1]);
    uint32_t *d = i->dst == PTX_OP_NONE ? NULL : ptx_lanes(w, i->dst);
    uint32_t old[PTX_LANES];

    if (i->space == PTX_SPACE_SHARED && w->mask == 0xffffffffu) {
        add_shared_words(w, b, d, p);
        return;
    }
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint32_t *at = (uint32_t *)(void *)p[l];
        if (i->space == PTX_SPACE_SHARED) {
            old[l] = *at;
            *at += b[l];
        } else {
            old[l] = __atomic_fetch_add(at, b[l], __ATOMIC_SEQ_CST);
        }
        w->changes += b[l] != 0;
    }
    if (d)
        PTX_EACH(w, d[l] = old[l]);
}

uint64_t ptx_read_lane(const struct ptx_warp *w, ptx_op op, unsigned size, unsigned l)
{
    if (op == PTX_OP_NONE)
        return 0;
    const void *lanes = ptx_lanes(w, op);
    return size == 2   ? ((const uint16_t *)lanes)[l]
           : size == 4 ? ((const uint32_t *)lanes)[l]
                       : ((const uint64_t *)lanes)[l];
}

void ptx_write_lane(const struct ptx_warp *w, ptx_op op, unsigned size, unsigned l, uint64_t v)
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

/* Sums of f32 flush subnormals in global memory, not in shared memory. */
static enum ptx_atomic operation(const struct ptx_warp *w, const struct ptx_insn *i,
                                 const uint8_t *p)
{
    if (PTX_MODE(i) != PTX_ATOM_ADD || i->type != PTX_F32)
        return PTX_MODE(i);
    return ptx_cluster_owner(w->block, p) ? PTX_ATOM_ADD : PTX_ATOM_ADD_FTZ;
}

void ptx_run_atomic(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint8_t *p[PTX_LANES];
    unsigned size = ptx_type_size(i->type);

    w->polls++;
    if (!ptx_addresses(w, i, size, true, p))
        return;
    if (PTX_MODE(i) == PTX_ATOM_ADD && (i->type == PTX_U32 || i->type == PTX_S32)) {
        add_words(w, i, p);
        return;
    }
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint64_t b = ptx_read_lane(w, i->src[1], size, l);
        uint64_t c = ptx_read_lane(w, i->src[2], size, l);
        uint64_t old = ptx_atomic_update(operation(w, i, p[l]), i->type, p[l], b, c);
        ptx_write_lane(w, i->dst, size, l, old);
        w->changes += memcmp(p[l], &old, size) != 0;
    }
}

/* Each element by itself is atomic, as PTX says. extra: struct ptx_atomic_lists. */
void ptx_run_atomic_vector(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_atomic_lists *lists = i->extra;
    uint8_t *p[PTX_LANES];
    unsigned size = ptx_type_size(i->type);

    w->polls++;
    if (!ptx_addresses(w, i, size * i->count, true, p))
        return;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint64_t b[8];
        for (unsigned k = 0; k < i->count; k++)
            b[k] = ptx_read_lane(w, lists->src[k], size, l);
        for (unsigned k = 0; k < i->count; k++) {
            uint8_t *at = p[l] + k * size;
            uint64_t old = ptx_atomic_update(operation(w, i, at), i->type, at, b[k], 0);
            if (lists->dst)
                ptx_write_lane(w, lists->dst[k], size, l, old);
            w->changes += memcmp(at, &old, size) != 0;
        }
    }
}

__extension__ typedef unsigned __int128 uint128;

/* exch and cas of 128 bits, under a lock of the process. */
void ptx_run_atomic_wide(struct ptx_warp *w, const struct ptx_insn *i)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const uint128 *b = ptx_lanes(w, i->src[1]);
    const uint128 *c = i->src[2] == PTX_OP_NONE ? NULL : ptx_lanes(w, i->src[2]);
    uint128 *d = i->dst == PTX_OP_NONE ? NULL : ptx_lanes(w, i->dst);
    uint8_t *p[PTX_LANES];

    w->polls++;
    if (!ptx_addresses(w, i, 16, true, p))
        return;
    pthread_mutex_lock(&lock);
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint128 old;
        memcpy(&old, p[l], sizeof(old));
        const uint128 *new = !c ? &b[l] : old == b[l] ? &c[l] : &old;
        memcpy(p[l], new, sizeof(old));
        w->changes += *new != old;
        if (d)
            d[l] = old;
    }
    pthread_mutex_unlock(&lock);
}
