/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt.rs against a definition by values: of the two neighbours of a number the farther one from
 * zero is taken where the part between, in units of their distance, and the random bits reach 1.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LANES = 32, ROUNDS = 200 };

static const struct {
    const char *name;
    int fraction, exponent; /* bits */
    double max;
    uint32_t max_code, infinity, nan;
    unsigned count, bits, random_bits;
} formats[] = {
    {"f16x2", 10, 5, 65504, 0x7bff, 0x7c00, 0x7fff, 2, 16, 13},
    {"bf16x2", 7, 8, 0x1.fep127, 0x7f7f, 0x7f80, 0x7fff, 2, 16, 16},
    {"e4m3x4", 3, 4, 448, 0x7e, 0x7e, 0x7f, 4, 8, 16},
    {"e5m2x4", 2, 5, 57344, 0x7b, 0x7b, 0x7f, 4, 8, 16},
    {"e2m3x4", 3, 2, 7.5, 0x1f, 0x1f, 0x1f, 4, 8, 16},
    {"e3m2x4", 2, 3, 28, 0x1f, 0x1f, 0x1f, 4, 8, 16},
    {"e2m1x4", 1, 2, 6, 7, 7, 7, 4, 4, 16},
};
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

static uint32_t seed = 99;

static uint32_t draw(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16 | seed << 16;
}

static float as_float(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, 4);
    return v;
}

/* Sixteen random bits of number k, counted from the uppermost one. */
static uint32_t random_of(size_t f, uint32_t random, unsigned k)
{
    uint32_t high = random >> 16;
    uint32_t low = random & 0xffff;

    if (formats[f].count == 2)
        return (k == 0 ? high : low) & ((1u << formats[f].random_bits) - 1);
    if (formats[f].bits == 4)
        return k < 2 ? (high >> 8) << 8 | low >> 8 : (high & 0xff) << 8 | (low & 0xff);
    return k < 2 ? high : low;
}

static uint32_t expected(size_t f, uint32_t bits, uint32_t random, bool relu, bool finite)
{
    double v = (double)as_float(bits);
    double size = fabs(v);
    uint32_t sign = signbit(v) ? 1u << (formats[f].fraction + formats[f].exponent) : 0;
    uint32_t over = finite ? formats[f].max_code : formats[f].infinity;
    int bias = (1 << (formats[f].exponent - 1)) - 1;
    int e = 1 - bias;

    if (isnan(v))
        return formats[f].nan;
    if (relu && signbit(v))
        return 0;
    if (isinf(v))
        return sign | over;
    while (e < 200 && size >= ldexp(1, e + 1))
        e++;
    double units = ldexp(size, formats[f].fraction - e);
    double whole = floor(units);
    if (units - whole + ldexp(random, -(int)formats[f].random_bits) >= 1)
        whole++;
    if (ldexp(whole, e - formats[f].fraction) > formats[f].max)
        return sign | over;
    return sign | ((uint32_t)whole + ((uint32_t)(e - 1 + bias) << formats[f].fraction));
}

/* Numbers near the format's range, its ends, and what is none. */
static uint32_t draw_number(size_t f)
{
    static const uint32_t odd[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                   1, 0x7f7fffff, 0x3f800000, 0x807fffff};
    int bias = (1 << (formats[f].exponent - 1)) - 1;
    uint32_t r = draw();

    if (r % 8 == 0)
        return odd[draw() % (sizeof(odd) / sizeof(odd[0]))];
    int span = 2 * bias + formats[f].fraction + 4;
    int e = 127 - bias - formats[f].fraction - 2 + (int)(draw() % (uint32_t)span);
    e = e < 0 ? 0 : e > 254 ? 254 : e;
    return (r & 0x80000000u) | (uint32_t)e << 23 | (draw() & 0x7fffff);
}

static void test_format(size_t f, bool relu, bool finite)
{
    bool four = formats[f].count == 4;
    char text[1024];
    uint32_t(*in)[8] = dev_alloc(LANES * 32);
    uint32_t *out = dev_alloc(LANES * 4);

    snprintf(text, sizeof(text),
             ".version 8.7\n.target sm_100a\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .f32 %%f<5>; .reg .b32 "
             "%%r<5>; .reg .b16 %%h<2>; .reg .b64 %%d<4>;\n"
             "ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x;\n"
             "mad.wide.u32 %%d1, %%r1, 32, %%d1; mad.wide.u32 %%d2, %%r1, 4, %%d2;\n"
             "ld.global.v4.f32 {%%f1,%%f2,%%f3,%%f4}, [%%d1]; ld.global.u32 %%r2, [%%d1+16];\n"
             "cvt.rs%s%s.%s.f32 %s, %s, %%r2;\n%s st.global.u32 [%%d2], %%r3; ret;\n}\n",
             relu ? ".relu" : "", finite ? ".satfinite" : "", formats[f].name,
             formats[f].bits == 4 ? "%h1" : "%r3", four ? "{%f1,%f2,%f3,%f4}" : "%f1, %f2",
             formats[f].bits == 4 ? "cvt.u32.u16 %r3, %h1;" : "");
    dev_target = 100;
    struct ptx_module *m = dev_parse(text);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned l = 0; l < LANES; l++)
            for (unsigned k = 0; k < 5; k++)
                in[l][k] = k == 4 ? (round == 0   ? 0
                                     : round == 1 ? 0xffffffff
                                                  : draw())
                                  : draw_number(f);
        CHECK_EQ_INT(DEV_RUN(m, "k", 1, LANES, PTR(in), PTR(out)), PTX_OK);
        for (unsigned l = 0; l < LANES; l++) {
            uint32_t wanted = 0;
            for (unsigned k = 0; k < formats[f].count; k++)
                wanted = wanted << formats[f].bits |
                         expected(f, in[l][k], random_of(f, in[l][4], k), relu, finite || four);
            if (CHECK_EQ_INT(out[l], wanted))
                continue;
            fprintf(stderr, "%s of %08x %08x %08x %08x with %08x\n", formats[f].name, in[l][0],
                    in[l][1], in[l][2], in[l][3], in[l][4]);
            return;
        }
    }
    ptx_module_destroy(m);
}

static void test_refused(void)
{
    static const struct {
        const char *target, *line;
    } lines[] = {{"sm_90", "cvt.rs.f16x2.f32 %r1, %f1, %f1, %r1;"},
                 {"sm_100a", "cvt.rs.e4m3x4.f32 %r1, {%f1,%f1,%f1,%f1}, %r1;"},
                 {"sm_100a", "cvt.rs.satfinite.e4m3x2.f32 %r1, %f1, %f1, %r1;"},
                 {"sm_100a", "cvt.rs.f16x2.f32 %r1, %f1, %f1;"},
                 {"sm_100a", "cvt.rs.satfinite.e5m2x4.f32 %r1, {%f1,%f1,%f1}, %r1;"}};

    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        char text[512];
        snprintf(text, sizeof(text),
                 ".version 8.7\n.target %s\n.address_size 64\n.visible .entry k() {\n"
                 ".reg .b32 %%r<3>; .reg .f32 %%f<3>;\n%s\nret; }\n",
                 lines[k].target, lines[k].line);
        dev_target = 100;
        if (!CHECK(dev_try(text) != PTX_OK) || !CHECK(strstr(dev_log, "line 6;")))
            fprintf(stderr, "%s: %s\n", lines[k].line, dev_log);
    }
}

int main(void)
{
    for (size_t f = 0; f < FORMAT_COUNT; f++)
        for (unsigned form = 0; form < 4; form++)
            if (formats[f].count == 2 || form & 2)
                test_format(f, form & 1, form & 2);
    test_refused();
    return check_result();
}
