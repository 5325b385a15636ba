/* SPDX-License-Identifier: Apache-2.0
 *
 * Every instruction of a table on edge values against a C function. A row becomes a kernel that
 * loads three operands a thread, executes the instruction and stores the result.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>

typedef uint64_t (*reference)(uint64_t a, uint64_t b, uint64_t c);

struct row {
    const char *op;
    unsigned dst, a, b, c; /* bits; 0: absent; 1: a predicate made by c != 0 */
    reference fn;
};

#define FN(name, ...)                                                                              \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                       \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        return (uint64_t)(__VA_ARGS__);                                                            \
    }
#define U32(x) ((uint32_t)(x))
#define S32(x) ((int32_t)(x))
#define S64(x) ((int64_t)(x))
#define S16(x) ((int16_t)(x))
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

static float f32(uint64_t v)
{
    uint32_t bits = (uint32_t)v;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint64_t b32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return f != f ? 0x7fffffffu : bits;
}

static double f64(uint64_t v)
{
    double f;
    memcpy(&f, &v, 8);
    return f;
}

static uint64_t b64(double f)
{
    uint64_t bits;
    memcpy(&bits, &f, 8);
    return f != f ? 0x7ff8000000000000ull : bits;
}

FN(add, a + b)
FN(sub, a - b)
FN(mul, a *b)
FN(mad, a *b + c)
FN(mul_hi_u32, (a * b) >> 32)
FN(mul_hi_s32, ((int64_t)S32(a) * S32(b)) >> 32)
FN(mul_hi_u64, (uint128)a *b >> 64)
FN(mul_hi_s64, (int128)S64(a) * S64(b) >> 64)
FN(mul_wide_s32, (int64_t)S32(a) * S32(b))
FN(mad_wide_u16, a *b + c)
FN(mad_wide_s16, S16(a) * S16(b) + (int64_t)S32(c))
FN(mul24, (S32(U32(a) << 8) >> 8) * (int64_t)(S32(U32(b) << 8) >> 8))
FN(add_sat, (int64_t)S32(a) + S32(b) > INT32_MAX   ? INT32_MAX
            : (int64_t)S32(a) + S32(b) < INT32_MIN ? INT32_MIN
                                                   : S32(a) + S32(b))
FN(div_s32, S32(b) == 0 ? -1 : S32(b) == -1 ? -(int64_t)S32(a) : S32(a) / S32(b))
FN(rem_s32, S32(b) == 0 ? S32(a) : S32(b) == -1 ? 0 : S32(a) % S32(b))
FN(div_u64, b ? a / b : ~0ull)
FN(rem_u16, b ? a % b : a)
FN(abs_s16, S16(a) < 0 ? -S16(a) : S16(a))
FN(neg_s64, 0 - a)
FN(min_s32, S32(a) < S32(b) ? a : b)
FN(max_u64, a > b ? a : b)
FN(sad_s32, U32(c) + (S32(a) < S32(b) ? U32(b) - U32(a) : U32(a) - U32(b)))
FN(and, a &b)
FN(xor, a ^ b)
FN(not, ~a)
FN(cnot, a == 0)
FN(shl_b32, U32(b) > 31 ? 0 : a << b)
FN(shl_b64, U32(b) > 63 ? 0 : a << b)
FN(shr_s32, S32(a) >> (U32(b) > 31 ? 31 : b))
FN(shr_s16, S16(a) >> (U32(b) > 15 ? 15 : b))
FN(shr_u64, U32(b) > 63 ? 0 : a >> b)
FN(shf_l_wrap, U32(((uint64_t)U32(b) << 32 | U32(a)) << (c & 31) >> 32))
FN(shf_r_clamp, U32(c) > 31 ? b : U32(((uint64_t)U32(b) << 32 | U32(a)) >> c))
FN(lop3_e8, (a & b) | (c & (a | b)))
FN(popc, __builtin_popcountll(a))
FN(clz32, a ? __builtin_clz(U32(a)) : 32)
FN(clz64, a ? __builtin_clzll(a) : 64)
FN(bfind_s32, (S32(a) < 0 ? U32(~a) : U32(a)) == 0
                  ? 0xffffffffu
                  : 31 - (unsigned)__builtin_clz(S32(a) < 0 ? U32(~a) : U32(a)))
FN(selp, c ? a : b)
FN(slct, S32(c) >= 0 ? a : b)
FN(setp_lt_s32, S32(a) < S32(b))
FN(setp_hi_u32, U32(a) > U32(b))
FN(setp_ltu_f32, !(f32(a) >= f32(b)))
FN(setp_ne_f32, f32(a) < f32(b) || f32(a) > f32(b))
FN(setp_num_f64, f64(a) == f64(a) && f64(b) == f64(b))
FN(set_gt_f32, f32(a) > f32(b) ? 0xffffffffu : 0)

FN(add_f32, b32(f32(a) + f32(b)))
FN(mul_f32, b32(f32(a) * f32(b)))
FN(div_f32, b32(f32(a) / f32(b)))
FN(fma_f32, b32(fmaf(f32(a), f32(b), f32(c))))
FN(add_f64, b64(f64(a) + f64(b)))
FN(fma_f64, b64(fma(f64(a), f64(b), f64(c))))
FN(div_f64, b64(f64(a) / f64(b)))
FN(sqrt_f32, b32(sqrtf(f32(a))))
FN(sqrt_f64, b64(sqrt(f64(a))))
FN(neg_f32, U32(a) ^ 0x80000000u)
FN(add_sat_f32, f32(a) + f32(b) > 0 ? b32(f32(a) + f32(b) < 1 ? f32(a) + f32(b) : 1.0f) : 0)
FN(min_f32, b32(f32(a) != f32(a)   ? f32(b)
                : f32(b) != f32(b) ? f32(a)
                : f32(a) == f32(b) ? (signbit(f32(a)) ? f32(a) : f32(b))
                                   : fminf(f32(a), f32(b))))
static float flush(float v)
{
    return fabsf(v) < 0x1p-126f ? copysignf(0, v) : v;
}
FN(mul_ftz, b32(flush(flush(f32(a)) * flush(f32(b)))))
FN(copysign_f32, (a & 0x80000000u) | (b & 0x7fffffff))

FN(cvt_s64_s32, (int64_t)S32(a))
FN(cvt_u8_s32, (uint8_t)a)
FN(cvt_s8_s32, U32((int8_t)a))
FN(cvt_sat_u8_s32, S32(a) < 0 ? 0 : S32(a) > 255 ? 255 : S32(a))
FN(cvt_rzi_s32_f32, f32(a) != f32(a)     ? 0
                    : f32(a) >= 0x1p31f  ? INT32_MAX
                    : f32(a) <= -0x1p31f ? INT32_MIN
                                         : (int32_t)f32(a))
FN(cvt_rni_u32_f32, f32(a) != f32(a) || f32(a) <= 0 ? 0
                    : f32(a) >= 0x1p32f             ? 0xffffffffu
                                                    : (uint64_t)nearbyint((double)f32(a)))
FN(cvt_rn_f32_s32, b32((float)S32(a)))
FN(cvt_rn_f32_u64, b32((float)a))
FN(cvt_rn_f32_f64, b32((float)f64(a)))
FN(cvt_f64_f32, b64((double)f32(a)))
FN(cvt_rmi_f32, b32(floorf(f32(a))))

static const struct row rows[] = {
    {"add.u16", 16, 16, 16, 0, add},
    {"add.s32", 32, 32, 32, 0, add},
    {"add.u64", 64, 64, 64, 0, add},
    {"sub.s64", 64, 64, 64, 0, sub},
    {"mul.lo.u32", 32, 32, 32, 0, mul},
    {"mul.lo.s64", 64, 64, 64, 0, mul},
    {"mad.lo.s32", 32, 32, 32, 32, mad},
    {"mad.lo.u16", 16, 16, 16, 16, mad},
    {"mul.hi.u32", 32, 32, 32, 0, mul_hi_u32},
    {"mul.hi.s32", 32, 32, 32, 0, mul_hi_s32},
    {"mul.hi.u64", 64, 64, 64, 0, mul_hi_u64},
    {"mul.hi.s64", 64, 64, 64, 0, mul_hi_s64},
    {"mul.wide.s32", 64, 32, 32, 0, mul_wide_s32},
    {"mad.wide.u16", 32, 16, 16, 32, mad_wide_u16},
    {"mad.wide.s16", 32, 16, 16, 32, mad_wide_s16},
    {"mul24.lo.s32", 32, 32, 32, 0, mul24},
    {"add.sat.s32", 32, 32, 32, 0, add_sat},
    {"div.s32", 32, 32, 32, 0, div_s32},
    {"rem.s32", 32, 32, 32, 0, rem_s32},
    {"div.u64", 64, 64, 64, 0, div_u64},
    {"rem.u16", 16, 16, 16, 0, rem_u16},
    {"abs.s16", 16, 16, 0, 0, abs_s16},
    {"neg.s64", 64, 64, 0, 0, neg_s64},
    {"min.s32", 32, 32, 32, 0, min_s32},
    {"max.u64", 64, 64, 64, 0, max_u64},
    {"sad.s32", 32, 32, 32, 32, sad_s32},
    {"and.b64", 64, 64, 64, 0, and},
    {"xor.b16", 16, 16, 16, 0, xor},
    {"not.b32", 32, 32, 0, 0, not },
    {"cnot.b32", 32, 32, 0, 0, cnot},
    {"shl.b32", 32, 32, 32, 0, shl_b32},
    {"shl.b64", 64, 64, 32, 0, shl_b64},
    {"shr.s32", 32, 32, 32, 0, shr_s32},
    {"shr.s16", 16, 16, 32, 0, shr_s16},
    {"shr.u64", 64, 64, 32, 0, shr_u64},
    {"shf.l.wrap.b32", 32, 32, 32, 32, shf_l_wrap},
    {"shf.r.clamp.b32", 32, 32, 32, 32, shf_r_clamp},
    {"lop3.b32", 32, 32, 32, 32, lop3_e8},
    {"popc.b64", 32, 64, 0, 0, popc},
    {"clz.b32", 32, 32, 0, 0, clz32},
    {"clz.b64", 32, 64, 0, 0, clz64},
    {"bfind.s32", 32, 32, 0, 0, bfind_s32},
    {"selp.b32", 32, 32, 32, 1, selp},
    {"slct.b64.s32", 64, 64, 64, 32, slct},
    {"setp.lt.s32", 1, 32, 32, 0, setp_lt_s32},
    {"setp.hi.u32", 1, 32, 32, 0, setp_hi_u32},
    {"setp.ltu.f32", 1, 32, 32, 0, setp_ltu_f32},
    {"setp.ne.f32", 1, 32, 32, 0, setp_ne_f32},
    {"setp.num.f64", 1, 64, 64, 0, setp_num_f64},
    {"set.gt.u32.f32", 32, 32, 32, 0, set_gt_f32},
    {"add.f32", 32, 32, 32, 0, add_f32},
    {"mul.rn.f32", 32, 32, 32, 0, mul_f32},
    {"mul.ftz.f32", 32, 32, 32, 0, mul_ftz},
    {"div.rn.f32", 32, 32, 32, 0, div_f32},
    {"fma.rn.f32", 32, 32, 32, 32, fma_f32},
    {"add.f64", 64, 64, 64, 0, add_f64},
    {"fma.rn.f64", 64, 64, 64, 64, fma_f64},
    {"div.rn.f64", 64, 64, 64, 0, div_f64},
    {"sqrt.rn.f32", 32, 32, 0, 0, sqrt_f32},
    {"sqrt.rn.f64", 64, 64, 0, 0, sqrt_f64},
    {"neg.f32", 32, 32, 0, 0, neg_f32},
    {"add.sat.f32", 32, 32, 32, 0, add_sat_f32},
    {"min.f32", 32, 32, 32, 0, min_f32},
    {"copysign.f32", 32, 32, 32, 0, copysign_f32},
    {"cvt.s64.s32", 64, 32, 0, 0, cvt_s64_s32},
    {"cvt.u8.s32", 32, 32, 0, 0, cvt_u8_s32},
    {"cvt.s8.s32", 32, 32, 0, 0, cvt_s8_s32},
    {"cvt.sat.u8.s32", 32, 32, 0, 0, cvt_sat_u8_s32},
    {"cvt.rzi.s32.f32", 32, 32, 0, 0, cvt_rzi_s32_f32},
    {"cvt.rni.u32.f32", 32, 32, 0, 0, cvt_rni_u32_f32},
    {"cvt.rn.f32.s32", 32, 32, 0, 0, cvt_rn_f32_s32},
    {"cvt.rn.f32.u64", 32, 64, 0, 0, cvt_rn_f32_u64},
    {"cvt.rn.f32.f64", 32, 64, 0, 0, cvt_rn_f32_f64},
    {"cvt.f64.f32", 64, 32, 0, 0, cvt_f64_f32},
    {"cvt.rmi.f32.f32", 32, 32, 0, 0, cvt_rmi_f32},
};

/* Integers around every limit, and floats: zeros, subnormals, one, limits, infinities, NaN. */
static const uint64_t values[] = {0,
                                  1,
                                  2,
                                  3,
                                  7,
                                  8,
                                  15,
                                  16,
                                  31,
                                  32,
                                  33,
                                  63,
                                  64,
                                  127,
                                  128,
                                  255,
                                  256,
                                  0x7fff,
                                  0x8000,
                                  0xffff,
                                  0x7fffff,
                                  0x800000,
                                  0x7fffffff,
                                  0x80000000,
                                  0x80000001,
                                  0xffffffff,
                                  0x100000000ull,
                                  0x7fffffffffffffffull,
                                  0x8000000000000000ull,
                                  0xffffffffffffffffull,
                                  0x3f800000,
                                  0xbfc00000,
                                  0x00000001,
                                  0x007fffff,
                                  0x7f7fffff,
                                  0x7f800000,
                                  0xff800000,
                                  0x7fc00001,
                                  0x4effffff,
                                  0x4f000000,
                                  0xcf000000,
                                  0x3fc00000,
                                  0x40200000,
                                  0x3ff0000000000000ull,
                                  0xbff8000000000000ull,
                                  0x000fffffffffffffull,
                                  0x7ff0000000000000ull,
                                  0x7ff8000000000001ull,
                                  0x4340000000000001ull,
                                  0x123456789abcdef0ull,
                                  0x41dfffffffc00000ull,
                                  0x36a0000000000000ull};
#define VALUE_COUNT (sizeof(values) / sizeof(values[0]))
#define THREADS     (VALUE_COUNT * VALUE_COUNT)

static uint64_t cut(uint64_t v, unsigned bits)
{
    return bits == 1 ? v != 0 : bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static char *add_load(char *at, char name, unsigned bits, unsigned offset)
{
    if (bits == 0)
        return at;
    if (bits == 1)
        return at + sprintf(at, "ld.global.u64 %%t, [%%p+%u]; setp.ne.u64 %%%c1, %%t, 0;\n", offset,
                            name);
    return at + sprintf(at, "ld.global.b%u %%%c%u, [%%p+%u];\n", bits, name, bits, offset);
}

static void make_text(char *at, const struct row *r)
{
    at += sprintf(at, ".version 6.0\n.target sm_70\n.address_size 64\n"
                      ".visible .entry k(.param .u64 in, .param .u64 out) {\n");
    for (const char *n = "abcd"; *n; n++)
        at +=
            sprintf(at, ".reg .pred %%%c1; .reg .b16 %%%c16; .reg .b32 %%%c32; .reg .b64 %%%c64;\n",
                    *n, *n, *n, *n);
    at += sprintf(at, ".reg .u64 %%p, %%q, %%t; .reg .u32 %%i, %%n;\n"
                      "mov.u32 %%i, %%ctaid.x; mov.u32 %%n, %%ntid.x; mul.lo.u32 %%i, %%i, %%n;\n"
                      "mov.u32 %%n, %%tid.x; add.u32 %%i, %%i, %%n;\n"
                      "ld.param.u64 %%p, [in]; mad.wide.u32 %%p, %%i, 24, %%p;\n"
                      "ld.param.u64 %%q, [out]; mad.wide.u32 %%q, %%i, 8, %%q;\n");
    at = add_load(at, 'a', r->a, 0);
    at = add_load(at, 'b', r->b, 8);
    at = add_load(at, 'c', r->c, 16);
    at += sprintf(at, "%s %%d%u, %%a%u", r->op, r->dst, r->a);
    if (r->b)
        at += sprintf(at, ", %%b%u", r->b);
    if (r->c)
        at += sprintf(at, ", %%c%u", r->c);
    if (strncmp(r->op, "lop3", 4) == 0)
        at += sprintf(at, ", 0xe8");
    at += sprintf(at, ";\n");
    if (r->dst == 1)
        at += sprintf(at, "selp.b64 %%d64, 1, 0, %%d1;\nst.global.b64 [%%q], %%d64;\nret;\n}\n");
    else
        at += sprintf(at, "st.global.b%u [%%q], %%d%u;\nret;\n}\n", r->dst, r->dst);
}

static void check_row(const struct row *r, const uint64_t *in, uint64_t *out)
{
    char text[4096];
    struct ptx_module *m;

    memset(out, 0, THREADS * 8);
    make_text(text, r);
    m = dev_parse(text);
    CHECK_EQ_INT(DEV_RUN(m, "k", (THREADS + 127) / 128, 128, PTR(in), PTR(out)), PTX_OK);
    for (size_t k = 0; k < THREADS; k++) {
        const uint64_t *v = in + 3 * k;
        uint64_t wanted = cut(r->fn(cut(v[0], r->a ? r->a : 64), cut(v[1], r->b ? r->b : 64),
                                    cut(v[2], r->c ? r->c : 64)),
                              r->dst);
        if (out[k] == wanted)
            continue;
        fprintf(stderr, "%s of %llx, %llx, %llx is %llx, not %llx\n", r->op,
                (unsigned long long)v[0], (unsigned long long)v[1], (unsigned long long)v[2],
                (unsigned long long)out[k], (unsigned long long)wanted);
        check_failures++;
        break;
    }
    ptx_module_destroy(m);
}

int main(void)
{
    uint64_t *in = dev_alloc((THREADS + 128) * 24);
    uint64_t *out = dev_alloc((THREADS + 128) * 8);

    for (size_t k = 0; k < THREADS; k++) {
        in[3 * k] = values[k / VALUE_COUNT];
        in[3 * k + 1] = values[k % VALUE_COUNT];
        in[3 * k + 2] = values[(k * 7 + k / VALUE_COUNT) % VALUE_COUNT];
    }
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        check_row(&rows[k], in, out);
    return check_result();
}
