/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt.rs: random bits are added to what a conversion cuts off, and the carry counts. Where fewer
 * random bits are given than are cut off they are the upper ones.
 */
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/handlers/small.h"
#include "emu/ptx/real.h"

struct format {
    unsigned fraction, exponent;
    uint32_t max;      /* the greatest finite code */
    uint32_t infinity; /* what is above it becomes; .satfinite: `max` */
    uint32_t nan;
    unsigned bits; /* of a number in the result */
};

static struct format format_of(const struct ptx_stochastic *x)
{
    if (x->type == PTX_F16X2)
        return (struct format){10, 5, 0x7bff, x->satfinite ? 0x7bff : 0x7c00, 0x7fff, 16};
    if (x->type == PTX_BF16X2)
        return (struct format){7, 8, 0x7f7f, x->satfinite ? 0x7f7f : 0x7f80, 0x7fff, 16};
    const struct ptx_small_format *f = ptx_small_format(x->type);
    return (struct format){f->fraction, f->exponent, f->max, f->max, f->nan, f->bits};
}

/* The random bits of number `k`, and how many. Two numbers of four share them. */
static uint32_t bits_of(const struct ptx_stochastic *x, uint32_t random, unsigned k,
                        unsigned *count)
{
    bool upper = x->count == 2 ? k == 0 : k < 2;

    *count = x->type == PTX_F16X2 ? 13 : 16;
    if (x->type == PTX_E2M1X2) { /* a byte of each half */
        random >>= upper ? 8 : 0;
        return (random >> 8 & 0xff00) | (random & 0xff);
    }
    return random >> (upper ? 16 : 0) & ((1u << *count) - 1);
}

static uint32_t convert(const struct ptx_stochastic *x, const struct format *f, uint32_t v,
                        uint32_t random, unsigned count)
{
    uint32_t sign = v >> 31 << (f->fraction + f->exponent);
    int e = (int)(v >> 23 & 0xff);
    uint64_t m = v & 0x7fffff;
    int least = 2 - (1 << (f->exponent - 1)); /* exponent of the smallest normal number */

    if (e == 0xff && m)
        return f->nan;
    if (x->relu && sign)
        return 0;
    if (e == 0xff)
        return sign | f->infinity;
    m |= e ? 1u << 23 : 0;
    e = (e ? e : 1) - 127;
    unsigned shift = 23 - f->fraction + (e < least ? (unsigned)(least - e) : 0);
    shift = shift > 40 ? 40 : shift;
    uint64_t rest = m & ((1ull << shift) - 1);
    uint64_t carry = ((rest << count) + ((uint64_t)random << shift)) >> (shift + count);
    uint64_t code = (m >> shift) + carry;
    if (e >= least)
        code += (uint64_t)(e - least) << f->fraction;
    return sign | (code > f->max ? f->infinity : (uint32_t)code);
}

void ptx_run_stochastic(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_stochastic *x = i->extra;
    const struct format f = format_of(x);
    const uint32_t *random = ptx_lanes(w, x->random);
    uint32_t *d = ptx_lanes(w, i->dst);
    uint16_t *d16 = ptx_lanes(w, i->dst);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint32_t out = 0;
        for (unsigned k = 0; k < x->count; k++) {
            unsigned count;
            uint32_t r = bits_of(x, random[l], k, &count);
            uint32_t v = ((const uint32_t *)ptx_lanes(w, x->in[k]))[l];
            out = out << f.bits | convert(x, &f, v, r, count);
        }
        if (f.bits == 4)
            d16[l] = (uint16_t)out;
        else
            d[l] = out;
    }
}
