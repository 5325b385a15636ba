/* SPDX-License-Identifier: Apache-2.0
 *
 * A phase ends when no arrival is pending and no byte is expected. Warps of a block run on one
 * thread, so that plain reads and writes will do.
 */
#include "emu/ptx/handlers/mbarrier.h"

#include <string.h>

#define COUNT_MASK PTX_MBARRIER_COUNT_MAX

struct object {
    uint32_t pending;
    uint32_t expected;
    int32_t bytes;
    bool phase;
};

static struct object unpack(uint64_t word)
{
    return (struct object){.pending = word & COUNT_MASK,
                           .expected = word >> 20 & COUNT_MASK,
                           .bytes = (int32_t)(uint32_t)(word >> 40 << 10) >> 10,
                           .phase = word >> 63};
}

static uint64_t pack(const struct object *o)
{
    return (uint64_t)(o->pending & COUNT_MASK) | (uint64_t)(o->expected & COUNT_MASK) << 20 |
           (uint64_t)((uint32_t)o->bytes & 0x3fffffu) << 40 | (uint64_t)o->phase << 63;
}

static void settle(struct object *o)
{
    if (o->pending || o->bytes)
        return;
    o->phase = !o->phase;
    o->pending = o->expected;
}

static void arrive(struct object *o, uint32_t count)
{
    o->pending -= count <= o->pending ? count : o->pending;
    settle(o);
}

/* The object after an operation; *truth: what a test finds. */
static struct object apply(struct object o, enum ptx_mbarrier_op op, uint64_t value, bool *truth)
{
    *truth = false;
    switch (op) {
    case PTX_MBARRIER_INIT:
        return (struct object){.pending = (uint32_t)value, .expected = (uint32_t)value};
    case PTX_MBARRIER_INVAL:
        return (struct object){0};
    case PTX_MBARRIER_DROP:
        o.expected -= value <= o.expected ? (uint32_t)value : o.expected;
        arrive(&o, (uint32_t)value);
        break;
    case PTX_MBARRIER_ARRIVE:
        arrive(&o, (uint32_t)value);
        break;
    case PTX_MBARRIER_DROP_EXPECT:
        o.expected -= o.expected > 0;
        o.bytes += (int32_t)value;
        arrive(&o, 1);
        break;
    case PTX_MBARRIER_ARRIVE_EXPECT:
        o.bytes += (int32_t)value;
        arrive(&o, 1);
        break;
    case PTX_MBARRIER_EXPECT:
        o.bytes += (int32_t)value;
        break;
    case PTX_MBARRIER_COMPLETE:
        o.bytes -= (int32_t)value;
        settle(&o);
        break;
    case PTX_MBARRIER_TEST: /* the state that an arrival gave */
        *truth = o.phase != (value >> 63 != 0);
        break;
    case PTX_MBARRIER_TEST_PARITY:
        *truth = o.phase != (value & 1);
        break;
    }
    return o;
}

static void change(uint8_t *object, enum ptx_mbarrier_op op, uint64_t value)
{
    uint64_t word;
    bool truth;

    memcpy(&word, object, sizeof(word));
    struct object o = apply(unpack(word), op, value, &truth);
    word = pack(&o);
    memcpy(object, &word, sizeof(word));
}

void ptx_mbarrier_complete(uint8_t *object, uint32_t bytes)
{
    change(object, PTX_MBARRIER_COMPLETE, bytes);
}

void ptx_mbarrier_arrive(uint8_t *object)
{
    change(object, PTX_MBARRIER_ARRIVE, 1);
}

static uint64_t value_at(const struct ptx_warp *w, const struct ptx_insn *i, unsigned l)
{
    if (i->src[1] == PTX_OP_NONE)
        return 1;
    const void *lanes = ptx_lanes(w, i->src[1]);
    return PTX_MODE(i) == PTX_MBARRIER_TEST ? ((const uint64_t *)lanes)[l]
                                            : ((const uint32_t *)lanes)[l];
}

void ptx_run_mbarrier(struct ptx_warp *w, const struct ptx_insn *i)
{
    bool tests = PTX_MODE(i) >= PTX_MBARRIER_TEST;
    uint64_t *states = i->dst == PTX_OP_NONE || tests ? NULL : ptx_lanes(w, i->dst);
    uint8_t *p[PTX_LANES];
    uint32_t truths = 0;

    w->polls += tests;
    if (!ptx_addresses(w, i, 8, true, p))
        return;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint64_t word;
        bool truth;
        memcpy(&word, p[l], sizeof(word));
        struct object o = apply(unpack(word), PTX_MODE(i), value_at(w, i, l), &truth);
        if (states)
            states[l] = word;
        truths |= (uint32_t)truth << l;
        word = pack(&o);
        if (!tests)
            memcpy(p[l], &word, sizeof(word));
    }
    if (tests)
        ptx_set_pred(w, i->dst, truths);
}

void ptx_run_mbarrier_pending(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint64_t *a = ptx_lanes(w, i->src[0]);
    uint32_t *d = ptx_lanes(w, i->dst);

    PTX_EACH(w, d[l] = (uint32_t)(a[l] & COUNT_MASK));
}
