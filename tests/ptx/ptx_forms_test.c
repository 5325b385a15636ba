/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests what forms compute that few texts have: sums as operands, special registers as vectors,
 * constant expressions, and what the oldest machines and texts do otherwise. Expected values of
 * expressions are those that NVIDIA's assembler writes.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <string.h>

#define HEAD ".version 8.6\n.target sm_90\n.address_size 64\n"
#define ENTRY                                                                                      \
    ".entry k(.param .u64 a, .param .u64 b) {\n"                                                   \
    ".reg .b32 %r<20>; .reg .b64 %d<10>; .reg .pred %p<4>; .reg .f32 %f<9>; .reg .b16 %h<8>;\n"    \
    ".reg .f64 %g<3>; .reg .v4 .b32 %v;\n"                                                         \
    "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];\n"

/* Runs a body on one thread: words at %d0, results at %d1. */
static void run(const char *head, const char *body, const uint32_t *in, uint32_t *out,
                uint32_t block)
{
    char text[4096];
    uint32_t *a = dev_alloc(64), *b = dev_alloc(256);

    snprintf(text, sizeof(text), "%s%s%s ret; }\n", head, ENTRY, body);
    struct ptx_module *m = dev_parse(text);
    memcpy(a, in, 64);
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, block, PTR(a), PTR(b)), PTX_OK);
    memcpy(out, b, 64);
    ptx_module_destroy(m);
}

static void test_sums(void)
{
    const uint32_t in[16] = {1000, 7};
    uint32_t out[16];

    run(".version 8.6\n.target sm_90\n.address_size 64\n.global .align 16 .b32 table[8];\n",
        "ld.global.v2.u32 {%r1, %r2}, [%d0]; st.global.u32 [%d1], %r1+4;\n"
        "mul.lo.u32 %r3, %r2+3, %r1+-1; st.global.u32 [%d1+2*2], %r3;\n"
        "mov.u32 %r4, %r1+(1<<4); st.global.u32 [%d1+8], %r4; mov.u64 %d2, table;\n"
        "add.u64 %d3, table+8, 8; sub.u64 %d3, %d3, %d2; st.global.u64 [%d1+16], %d3;\n"
        "cvt.u64.u32 %d4, %r2; add.u64 %d4, %d4+0x100000000, 1; st.global.u64 [%d1+24], %d4;\n"
        "vadd.u32.u32.u32 %r5, %r1, %r2, %r2; st.global.u32 [%d1+32], %r5;\n",
        in, out, 1);
    CHECK_EQ_INT(out[0], 1004);
    CHECK_EQ_INT(out[1], 10 * 999);
    CHECK_EQ_INT(out[2], 1016);
    CHECK_EQ_INT(out[4], 16);
    CHECK_EQ_INT(out[6], 8);
    CHECK_EQ_INT(out[7], 1);
    CHECK_EQ_INT(out[8], 1007);
}

static void test_special_vectors(void)
{
    const uint32_t in[16] = {0};
    uint32_t out[16];

    run(HEAD,
        "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 5; @%p1 exit; mov.v4.u32 %v, %tid;\n"
        "st.global.v4.u32 [%d1], %v; mov.v4.u16 {%h1, %h2, %h3, %h4}, %ntid;\n"
        "st.global.v4.u16 [%d1+16], {%h1, %h2, %h3, %h4}; mov.u32 %r2, %tid.r; mov.u32 %r3, "
        "%tid.w;\n"
        "st.global.v2.u32 [%d1+24], {%r2, %r3}; mov.v4.u32 {_, %r4, _, %r5}, %nctaid;\n"
        "st.global.v2.u32 [%d1+32], {%r4, %tid.x};\n",
        in, out, 32);
    static const uint32_t want[] = {5, 0, 0, 0, 32 | 1u << 16, 1, 5, 0, 1, 5};
    CHECK_EQ_MEM(out, want, sizeof(want));
}

static void test_old_texts(void)
{
    /* 2, 3, the least normal f32, a subnormal one */
    const uint32_t in[16] = {0x40000000, 0x40400000, 0x00800000, 0x00400000};
    uint32_t out[16];
    static const char body[] =
        "ld.global.f32 %f1, [%d0]; ld.global.f32 %f2, [%d0+4]; ld.global.f32 %f3, [%d0+12];\n"
        "mad.f32 %f4, %f1, %f2, %f1; st.global.f32 [%d1], %f4;\n"
        "cvt.f32.f32 %f5, %f3; st.global.f32 [%d1+4], %f5;\n"
        "cvt.rpi.s32.f32 %r1, %f3; st.global.u32 [%d1+8], %r1;\n"
        "setp.gt.f32 %p1, %f3, 0f00000000; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%d1+12], %r2;\n"
        "slct.u32.f32 %r3, 1, 2, %f3; st.global.u32 [%d1+16], %r3;\n";

    run(".version 3.0\n.target sm_20\n", body, in, out, 1);
    static const uint32_t kept[] = {0x41000000, 0x00400000, 1, 1, 1};
    CHECK_EQ_MEM(out, kept, sizeof(kept));
    run(".version 2.0\n.target sm_13\n", body, in, out, 1);
    static const uint32_t flushed[] = {0x41000000, 0, 0, 0, 1};
    CHECK_EQ_MEM(out, flushed, sizeof(flushed));
}

/* cvt to f64 keeps subnormals in texts up to PTX 1.4. */
static void test_old_cvt(void)
{
    const uint32_t in[16] = {0x00400000};
    uint32_t out[16];
    static const char body[] = "ld.global.f32 %f1, [%d0]; cvt.f64.f32 %g1, %f1;\n"
                               "mov.b64 %d2, %g1; st.global.u64 [%d1], %d2;\n";

    run(".version 1.4\n.target sm_13\n", body, in, out, 1);
    CHECK_EQ_INT(out[1], 0x38000000); /* 2 to the power of -127 */
    run(".version 2.0\n.target sm_13\n", body, in, out, 1);
    CHECK_EQ_INT(out[1], 0);
}

static void test_set(void)
{
    const uint32_t in[16] = {7, 9, 0x3f800000};
    uint32_t out[16];

    run(HEAD,
        "ld.global.v2.u32 {%r1, %r2}, [%d0]; ld.global.f32 %f1, [%d0+8]; cvt.f64.f32 %g1, %f1;\n"
        "set.lt.f16.u32 %h1, %r1, %r2; set.gt.f16.s32 %h2, %r1, %r2;\n"
        "set.eq.bf16.f64 %h3, %g1, %g1; set.eq.f16.f32 %h4, %f1, %f1;\n"
        "st.global.v4.u16 [%d1], {%h1, %h2, %h3, %h4}; cvt.u64.u32 %d2, %r1;\n"
        "set.ne.bf16.u64 %h5, %d2, 7; set.eq.bf16.b64 %h6, %d2, 7;\n"
        "st.global.v2.u16 [%d1+8], {%h5, %h6};\n",
        in, out, 1);
    static const uint32_t want[] = {0x3c00, 0x3c003f80, 0x3f800000};
    CHECK_EQ_MEM(out, want, sizeof(want));
}

static const struct {
    const char *text;
    uint64_t value;
} expressions[] = {
    {"64<<100", 0x40000000000},
    {"3U>>64", 3},
    {"~64<=0x80000000", 0},
    {"~0>>1", 0x7fffffffffffffff},
    {"(-1&-1)>>1", ~0ull},
    {"-8%(3)", 2},
    {"15%(-1)", 15},
    {"3%(5)-5<0", 0},
    {"-8/(3)", ~1ull},
    {"(1?-1:1U)<0", 1},
    {"(.u64)-1<0", 0},
    {"(.s64)(1U)-2<0", 1},
    {"(.s64)(4294967296<<64)&&0b101", 1},
    {"WARP_SZ*2+1", 65},
    {"~(0^WARP_SZ)>=((0)?(017):(0xffffffff))", 1},
};

static void test_expressions(void)
{
    char text[512];
    const uint32_t in[16] = {0};
    uint32_t out[16];

    for (size_t k = 0; k < sizeof(expressions) / sizeof(expressions[0]); k++) {
        snprintf(text, sizeof(text), "%s.global .u64 value = %s;\n", HEAD, expressions[k].text);
        run(text, "ld.global.u64 %d2, [value]; st.global.u64 [%d1], %d2;\n", in, out, 1);
        uint64_t got = out[0] | (uint64_t)out[1] << 32;
        if (!CHECK(got == expressions[k].value))
            printf("%s: 0x%llx\n", expressions[k].text, (unsigned long long)got);
    }
}

/* Whole texts, and whether they are accepted. */
static const struct {
    const char *text;
    bool is_right;
} texts[] = {
    {".extern .func (.param .b32 r) f(.param .b32 x)\n.entry k() { ret; }", true},
    {".extern .func f\n.visible .global .u32 g;\n.entry k() { ret; }", true},
    {".entry k() { ret; }\n.func f", true},
    {".entry k() { .reg .b64 %d; p: .callprototype _ (.param .b32 _) .noreturn; ret; }", true},
    {".entry k() { .reg .b64 %d; p: .callprototype _ (.param .b32 _) ret; }", false},
    {".func f() { ret; }\n.entry k() { .reg .b64 %d; mov.u64 %d, f; call %d; ret; }", false},
    {".func f() { ret; }\n.entry k() { call f, (1); ret; }", false},
    {".func f(.reg .b32 x) { ret; }\n.entry k() { .reg .b64 %d; call f, (%d); ret; }", false},
    {".global .f32 x = 1;\n.entry k() { ret; }", false},
    {".global .u32 x = 1.0;\n.entry k() { ret; }", false},
    {".global .f16 x = 1.0;\n.entry k() { ret; }", false},
    {".global .pred x;\n.entry k() { ret; }", false},
    {".global .u32 y;\n.global .b64 x = y;\n.entry k() { ret; }", false},
    {".global .u32 y;\n.global .u64 x = y + 4;\n.entry k() { ret; }", true},
    {".global .attribute(.managed) .u32 x;\n.entry k() { ret; }", true},
    {".const .attribute(.managed) .u32 x;\n.entry k() { ret; }", false},
    {".global .u32 .attribute(.managed) x;\n.entry k() { ret; }", false},
    {".global .attribute(.other) .u32 x;\n.entry k() { ret; }", false},
};

static void test_texts(void)
{
    char text[512];

    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        snprintf(text, sizeof(text), "%s%s\n", HEAD, texts[k].text);
        if (!CHECK((dev_try(text) == PTX_OK) == texts[k].is_right))
            printf("%s: %s\n", texts[k].text, dev_log);
    }
}

int main(void)
{
    test_sums();
    test_special_vectors();
    test_old_texts();
    test_old_cvt();
    test_set();
    test_expressions();
    test_texts();
    return check_result();
}
