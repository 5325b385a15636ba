/* SPDX-License-Identifier: Apache-2.0
 *
 * mma with .kind. The layouts of fragments and scales are written here as the PTX manual tells them,
 * the other way round than in the engine: from an element of a matrix to its lane.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Registers of a lane: A, B, C, scales of A and of B; then D. */
struct lane {
    uint8_t a[16], b[8];
    union {
        float f[4];
        uint16_t h[8];
    } c;
    uint8_t a_scales[4], b_scales[4];
    uint16_t at[4];
    union {
        float f[4];
        uint16_t h[8];
    } d;
};

static const char kernel[] =
    ".version %s\n.target %s\n.address_size 64\n"
    ".visible .entry k(.param .u64 in) {\n"
    ".reg .b32 %%r<16>; .reg .f32 %%f<16>; .reg .b64 %%d<4>; .reg .b16 %%h<4>;\n"
    "ld.param.u64 %%d1, [in]; mov.u32 %%r0, %%tid.x; mad.wide.u32 %%d1, %%r0, 72, %%d1;\n"
    "ld.global.b32 %%r1, [%%d1]; ld.global.b32 %%r2, [%%d1+4]; ld.global.b32 %%r3, [%%d1+8];\n"
    "ld.global.b32 %%r4, [%%d1+12]; ld.global.b32 %%r5, [%%d1+16]; ld.global.b32 %%r6, [%%d1+20];\n"
    "ld.global.f32 %%f0, [%%d1+24]; ld.global.f32 %%f1, [%%d1+28]; ld.global.f32 %%f2, [%%d1+32];\n"
    "ld.global.f32 %%f3, [%%d1+36]; ld.global.b32 %%r7, [%%d1+40]; ld.global.b32 %%r8, [%%d1+44];\n"
    "ld.global.b32 %%r9, [%%d1+24]; ld.global.b32 %%r10, [%%d1+28];\n"
    "ld.global.b16 %%h0, [%%d1+48]; ld.global.b16 %%h1, [%%d1+50];\n"
    "ld.global.b16 %%h2, [%%d1+52]; ld.global.b16 %%h3, [%%d1+54];\n"
    "mma.sync.aligned.%s;\n%s ret;\n}\n";

static const char words[] = "st.global.f32 [%d1+56], %f4; st.global.f32 [%d1+60], %f5;\n"
                            "st.global.f32 [%d1+64], %f6; st.global.f32 [%d1+68], %f7;\n";
static const char halves[] = "st.global.b32 [%d1+56], %r11; st.global.b32 [%d1+60], %r12;\n";

struct format {
    const char *name;
    int exponent, fraction, bias;
};

static const struct format formats[] = {
    {"e4m3", 4, 3, 7}, {"e5m2", 5, 2, 15}, {"e3m2", 3, 2, 3}, {"e2m3", 2, 3, 1}, {"e2m1", 2, 1, 1}};

static uint32_t seed = 5;

static uint32_t draw(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16 | seed << 16;
}

static double value_of(const struct format *f, unsigned code)
{
    unsigned fraction = code & ((1u << f->fraction) - 1);
    unsigned exponent = code >> f->fraction & ((1u << f->exponent) - 1);
    double v = exponent ? ldexp(1 + ldexp(fraction, -f->fraction), (int)exponent - f->bias)
                        : ldexp(fraction, 1 - f->bias - f->fraction);

    return code >> (f->fraction + f->exponent) & 1 ? -v : v;
}

/* Draws a byte of codes, with the bits that do not count. */
static uint8_t draw_byte(const struct format *f)
{
    unsigned bits = 1u + (unsigned)(f->exponent + f->fraction);
    uint8_t v = (uint8_t)draw();

    if (bits == 8 && (v >> f->fraction & ((1u << f->exponent) - 1)) == (1u << f->exponent) - 1u)
        v &= 0x87; /* no NaN, and no infinity */
    return v;
}

static unsigned code_at(const struct format *f, const uint8_t *bytes, unsigned j, bool is_short)
{
    unsigned bits = 1u + (unsigned)(f->exponent + f->fraction);

    if (is_short)
        return bytes[j / 2] >> j % 2 * 4 & 15;
    return (bits == 4 ? bytes[j] >> 2 : bytes[j]) & ((1u << bits) - 1);
}

static double scale_of(uint8_t code, bool is_short)
{
    return is_short ? value_of(&formats[0], code & 127) : ldexp(1, code - 127);
}

static const struct format half = {"f16", 5, 10, 15};

static double half_value(uint16_t h)
{
    return (h & 0x7fff) == 0x7c00 ? (h >> 15 ? -INFINITY : INFINITY) : value_of(&half, h);
}

static double rounded_to_half(double v)
{
    int exponent;

    frexp(v, &exponent);
    int last = exponent - 11 < -24 ? -24 : exponent - 11;
    double r = ldexp(nearbyint(ldexp(v, -last)), last);
    return fabs(r) > 65504 ? copysign(INFINITY, v) : r;
}

struct form {
    const char *kind;
    const struct format *a, *b;
    unsigned scales;
    bool has_short_scales;
    bool to_half;
    bool is_by_register;
};

static struct lane *lanes;

static double a_at(const struct form *f, unsigned row, unsigned k, bool is_short)
{
    unsigned per = is_short ? 8 : 4;
    const struct lane *l = &lanes[row % 8 * 4 + k / per % 4];
    unsigned word = row / 8 + 2 * (k / (4 * per));

    return value_of(f->a, code_at(f->a, l->a + 4 * word, k % per, is_short));
}

static double b_at(const struct form *f, unsigned column, unsigned k, bool is_short)
{
    unsigned per = is_short ? 8 : 4;
    const struct lane *l = &lanes[column * 4 + k / per % 4];

    return value_of(f->b, code_at(f->b, l->b + 4 * (k / (4 * per)), k % per, is_short));
}

static void write_instruction(char *out, size_t size, const struct form *f, const uint16_t at[4])
{
    char scales[128] = "";
    const char *results = f->to_half ? "{%r11,%r12}" : "{%f4,%f5,%f6,%f7}";
    const char *addends = f->to_half ? "{%r9,%r10}" : "{%f0,%f1,%f2,%f3}";
    const char *type = f->to_half ? "f16" : "f32";

    if (f->scales && f->is_by_register)
        snprintf(scales, sizeof(scales), ", %%r7, {%%h0,%%h1}, %%r8, {%%h2,%%h3}");
    else if (f->scales)
        snprintf(scales, sizeof(scales), ", %%r7, {%u,%u}, %%r8, {%u,%u}", at[0], at[1], at[2],
                 at[3]);
    snprintf(out, size,
             "%s.row.col.kind::%s%s.%s.%s.%s.%s%s %s, {%%r1,%%r2,%%r3,%%r4}, {%%r5,%%r6}, %s%s",
             strstr(f->kind, "mxf4") ? "m16n8k64" : "m16n8k32", f->kind,
             !f->scales       ? ""
             : f->scales == 1 ? ".block_scale.scale_vec::1X"
             : f->scales == 2 ? ".block_scale.scale_vec::2X"
                              : ".block_scale.scale_vec::4X",
             type, f->a->name, f->b->name, type,
             !f->scales            ? ""
             : f->has_short_scales ? ".ue4m3"
                                   : ".ue8m0",
             results, addends, scales);
}

static void draw_lanes(const struct form *f, const uint16_t at[4])
{
    for (unsigned l = 0; l < 32; l++) {
        for (unsigned k = 0; k < 16; k++)
            lanes[l].a[k] = draw_byte(f->a);
        for (unsigned k = 0; k < 8; k++)
            lanes[l].b[k] = draw_byte(f->b);
        for (unsigned k = 0; k < 4; k++) {
            if (f->to_half)
                lanes[l].c.h[k] = (uint16_t)(draw() & 0xd3ff); /* less than 32 */
            else
                lanes[l].c.f[k] = (float)((int)(draw() % 64) - 32);
            lanes[l].a_scales[k] = (uint8_t)(f->has_short_scales ? draw() % 120 : 120 + draw() % 14);
            lanes[l].b_scales[k] = (uint8_t)(f->has_short_scales ? draw() % 120 : 120 + draw() % 14);
            lanes[l].at[k] = at[k];
        }
    }
}

static void test_form(const struct form *f)
{
    bool is_short = strstr(f->kind, "mxf4") != NULL;
    unsigned depth = is_short ? 64 : 32;
    unsigned first = f->scales == 1 ? 4 : f->scales == 2 ? 2 : 1;
    uint16_t at[4] = {(uint16_t)(draw() % first * (4 / first)), (uint16_t)(draw() % 2),
                      (uint16_t)(draw() % first * (4 / first)), (uint16_t)(draw() % 4)};
    char instruction[512], text[4096];
    struct ptx_module *m;
    unsigned wrong = 0;

    write_instruction(instruction, sizeof(instruction), f, at);
    snprintf(text, sizeof(text), kernel, "8.7", "sm_120a", instruction,
             f->to_half ? halves : words);
    m = dev_parse(text);
    draw_lanes(f, at);
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(lanes)), PTX_OK);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned column = 0; column < 8; column++) {
            const struct lane *l = &lanes[row % 8 * 4 + column / 2];
            unsigned e = column % 2 + row / 8 * 2;
            double sum = f->to_half ? value_of(&half, l->c.h[e]) : l->c.f[e];
            for (unsigned k = 0; k < depth; k++) {
                double product = a_at(f, row, k, is_short) * b_at(f, column, k, is_short);
                if (f->scales) {
                    unsigned j = k / (depth / f->scales);
                    const struct lane *a = &lanes[row % 8 * 4 + at[1] * 2 + row / 8];
                    const struct lane *b = &lanes[column * 4 + at[3]];
                    product *= scale_of(a->a_scales[at[0] + j], f->has_short_scales);
                    product *= scale_of(b->b_scales[at[2] + j], f->has_short_scales);
                }
                sum += product;
            }
            wrong += f->to_half ? half_value(l->d.h[e]) != rounded_to_half(sum)
                                : l->d.f[e] != (float)sum;
        }
    if (wrong)
        printf("%s: %u\n", instruction, wrong);
    CHECK_EQ_INT(wrong, 0);
    ptx_module_destroy(m);
}

static void test_refused(const char *version, const char *target, const char *instruction)
{
    char text[4096];

    snprintf(text, sizeof(text), kernel, version, target, instruction, words);
    CHECK(dev_try(text) != PTX_OK);
}

#define OPERANDS " {%f4,%f5,%f6,%f7}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f0,%f1,%f2,%f3}"
#define SCALES   ", %r7, {0,0}, %r8, {0,0}"

static void test_refusals(void)
{
    static const char good[] = "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32" OPERANDS;
    char text[4096];

    snprintf(text, sizeof(text), kernel, "8.7", "sm_120a", good, words);
    CHECK_EQ_INT(dev_try(text), PTX_OK);
    test_refused("8.7", "sm_120", good);
    test_refused("8.6", "sm_120a", good);
    test_refused("8.7", "sm_120a", "m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32" OPERANDS);
    test_refused("8.7", "sm_120a", "m16n8k32.row.col.f32.e2m1.e2m1.f32" OPERANDS);
    test_refused("8.7", "sm_120a",
                 "m16n8k32.row.col.kind::mxf8f6f4.f32.e2m1.e2m1.f32.ue8m0" OPERANDS SCALES);
    test_refused("8.7", "sm_120a",
                 "m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e4m3.f32.ue8m0" OPERANDS SCALES);
    test_refused("8.7", "sm_120a",
                 "m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue4m3" OPERANDS SCALES);
    test_refused(
        "8.7", "sm_120a",
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue8m0" OPERANDS SCALES);
}

int main(void)
{
    dev_target = 120;
    lanes = dev_alloc(32 * sizeof(*lanes));
    for (unsigned a = 0; a < 5; a++)
        for (unsigned b = 0; b < 5; b++) {
            test_form(&(struct form){"f8f6f4", &formats[a], &formats[b], 0, false, false, false});
            test_form(&(struct form){"f8f6f4", &formats[a], &formats[b], 0, false, true, false});
            test_form(&(struct form){"mxf8f6f4", &formats[a], &formats[b], 1, false, false, false});
        }
    for (unsigned k = 0; k < 8; k++) {
        bool is_by_register = k % 2;
        const struct format *f = &formats[4];
        test_form(&(struct form){"mxf8f6f4", &formats[0], &formats[k % 5], 1, false, false,
                                 is_by_register});
        test_form(&(struct form){"mxf4", f, f, 2, false, false, is_by_register});
        test_form(&(struct form){"mxf4nvf4", f, f, 2, false, false, is_by_register});
        test_form(&(struct form){"mxf4nvf4", f, f, 4, true, false, is_by_register});
    }
    test_refusals();
    return check_result();
}
