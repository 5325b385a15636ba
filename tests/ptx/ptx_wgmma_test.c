/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma: products of every type and shape, from every layout in shared memory, against sums over
 * matrices that were never laid out.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/ptx/ptx_layout.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_SIZE (96u << 10)
#define A_AT       0u
#define B_AT       (24u << 10)

static const struct {
    const char *name;
    unsigned bits;
    unsigned k; /* dense */
} kinds[] = {
    [L_F16] = {"f16", 16, 16},  [L_BF16] = {"bf16", 16, 16}, [L_TF32] = {"tf32", 32, 8},
    [L_E4M3] = {"e4m3", 8, 32}, [L_E5M2] = {"e5m2", 8, 32},  [L_S8] = {"s8", 8, 32},
    [L_U8] = {"u8", 8, 32},     [L_B1] = {"b1", 1, 256},
};

/* One product. */
struct product {
    enum layout_kind a, b;
    const char *d; /* "f16", "f32", "s32" */
    unsigned n;
    unsigned swizzle_a, swizzle_b; /* bytes; 16: none */
    bool a_in_registers;
    bool a_transposed, b_transposed;
    bool a_negated, b_negated;
    bool is_sparse;
    bool ignores_d;
    bool saturates;
    unsigned selector;
    unsigned base;    /* rows of 128 bytes before the pattern begins */
    unsigned advance; /* bytes along K, inside of a row of the pattern */
};

static int8_t full_a[64][256]; /* with the zeros of a sparse one */
static int8_t kept_a[64][256];
static uint8_t kept_column[64][256];
static int8_t full_b[256][256]; /* by column, then K */

static unsigned depth_of(const struct product *p)
{
    return kinds[p->a].k << p->is_sparse;
}

static unsigned stored_of(const struct product *p)
{
    return kinds[p->a].k;
}

static int number(enum layout_kind kind, unsigned seed)
{
    unsigned h = seed * 2654435761u >> 7;

    return kind == L_U8 || kind == L_B1 ? (int)(h % (kind == L_B1 ? 2 : 4)) : (int)(h % 7) - 3;
}

static void fill(const struct product *p)
{
    static const uint8_t pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    unsigned k_count = depth_of(p);

    memset(full_a, 0, sizeof(full_a));
    for (unsigned row = 0; row < 64; row++)
        for (unsigned c = 0; c < stored_of(p); c++) {
            unsigned column = c;
            if (p->is_sparse && p->a == L_TF32)
                column = 2 * c + (row * 5 + c * 3) % 7 % 2;
            else if (p->is_sparse)
                column = c / 2 * 4 + pairs[(row * 3 + c / 2 * 5) % 6][c % 2];
            kept_column[row][c] = (uint8_t)column;
            kept_a[row][c] = (int8_t)number(p->a, row * 300 + c + 1);
            full_a[row][column] = kept_a[row][c];
        }
    for (unsigned n = 0; n < p->n; n++)
        for (unsigned k = 0; k < k_count; k++)
            full_b[n][k] = (int8_t)number(p->b, 77777 + n * 300 + k);
}

/* Lays out a matrix from `at` on; its descriptor. */
static uint64_t lay_out(uint8_t *image, unsigned at, enum layout_kind kind, unsigned width,
                        bool transposed, unsigned lines, unsigned depth, unsigned base,
                        unsigned advance, const int8_t (*m)[256])
{
    static const uint64_t modes[] = {[16 / 16] = 0, [32 / 16] = 3, [64 / 16] = 2, [128 / 16] = 1};
    struct layout l = {.bits = kinds[kind].bits,
                       .unit = kinds[kind].bits,
                       .width = width,
                       .transposed = transposed,
                       .base = base};
    unsigned start = at + base * 128 + advance;

    layout_set_strides(&l, lines);
    for (unsigned line = 0; line < lines; line++)
        for (unsigned k = 0; k < depth; k++)
            layout_put(&l, image, start, line, k, layout_encode(kind, m[line][k]));
    return start / 16 | (uint64_t)(l.leading / 16) << 16 | (uint64_t)(l.stride / 16) << 32 |
           (uint64_t)base << 49 | modes[width / 16] << 62;
}

/* ---- the kernel ---- */

static size_t list(char *out, const char *letter, unsigned first, unsigned count)
{
    size_t used = (size_t)sprintf(out, "{");

    for (unsigned k = 0; k < count; k++)
        used += (size_t)sprintf(out + used, "%s%%%s%u", k ? "," : "", letter, first + k);
    return used + (size_t)sprintf(out + used, "}");
}

static unsigned d_count(const struct product *p)
{
    return p->n / (strcmp(p->d, "f16") == 0 ? 4 : 2);
}

static void write_instruction(const struct product *p, char *out)
{
    bool real = strcmp(p->d, "s32") != 0;
    size_t used = (size_t)sprintf(
        out, "wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s%s%s ", p->is_sparse ? ".sp" : "",
        p->n, depth_of(p), p->d, kinds[p->a].name, kinds[p->b].name,
        p->a == L_B1 ? ".and.popc" : "", p->saturates ? ".satfinite" : "");

    used += list(out + used, "f", 0, d_count(p));
    used += (size_t)sprintf(out + used, ", ");
    if (p->a_in_registers)
        used += list(out + used, "r", 20, 4);
    else
        used += (size_t)sprintf(out + used, "%%d5");
    used += (size_t)sprintf(out + used, ", %%d6");
    if (p->is_sparse)
        used += (size_t)sprintf(out + used, ", %%r10, %u", p->selector);
    used += (size_t)sprintf(out + used, ", %s", p->ignores_d ? "%p2" : "%p1");
    if (real)
        used +=
            (size_t)sprintf(out + used, ", %d, %d", p->a_negated ? -1 : 1, p->b_negated ? -1 : 1);
    if (kinds[p->a].bits == 16 && !p->a_in_registers)
        used += (size_t)sprintf(out + used, ", %d", p->a_transposed);
    if (kinds[p->a].bits == 16)
        used += (size_t)sprintf(out + used, ", %d", p->b_transposed);
    sprintf(out + used, ";\n");
}

/* Copies the image to shared memory; each thread has 132 words of registers in `regs`: A, metadata,
 * D, which is written back. */
static void write_kernel(const struct product *p, char *out)
{
    bool single = strcmp(p->d, "f32") == 0;
    size_t used = (size_t)sprintf(
        out,
        ".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
        ".visible .entry k(.param .u64 image, .param .u64 regs, .param .u64 da, .param .u64 db) {\n"
        ".reg .b32 %%r<32>; .reg .%s %%f<128>; .reg .b64 %%d<16>; .reg .pred %%p<4>;\n"
        "ld.param.u64 %%d1, [image]; ld.param.u64 %%d2, [regs]; ld.param.u64 %%d5, [da];\n"
        "ld.param.u64 %%d6, [db]; mov.u32 %%r1, %%tid.x; mov.u32 %%r3, s; shl.b32 %%r2, %%r1, 4;\n"
        "L: cvt.u64.u32 %%d3, %%r2; add.u64 %%d3, %%d3, %%d1; add.u32 %%r4, %%r3, %%r2;\n"
        "ld.global.v4.u32 {%%r5,%%r6,%%r7,%%r8}, [%%d3];\n"
        "st.shared.v4.u32 [%%r4], {%%r5,%%r6,%%r7,%%r8}; add.u32 %%r2, %%r2, 4096;\n"
        "setp.lt.u32 %%p1, %%r2, %u; @%%p1 bra L;\n"
        "mad.wide.u32 %%d2, %%r1, 544, %%d2; bar.sync 0; setp.eq.u32 %%p1, 0, 0;\n"
        "setp.ne.u32 %%p2, 0, 0; ld.global.v4.b32 {%%r20,%%r21,%%r22,%%r23}, [%%d2];\n"
        "ld.global.b32 %%r10, [%%d2+16];\n",
        single ? "f32" : "b32", IMAGE_SIZE);

    for (unsigned k = 0; k < d_count(p); k++)
        used += (size_t)sprintf(out + used, "ld.global.b32 %%f%u, [%%d2+%u];\n", k, 32 + 4 * k);
    used += (size_t)sprintf(out + used, "wgmma.fence.sync.aligned;\n");
    write_instruction(p, out + used);
    used += strlen(out + used);
    used += (size_t)sprintf(out + used, "wgmma.commit_group.sync.aligned;\n"
                                        "wgmma.wait_group.sync.aligned 0;\n");
    for (unsigned k = 0; k < d_count(p); k++)
        used += (size_t)sprintf(out + used, "st.global.b32 [%%d2+%u], %%f%u;\n", 32 + 4 * k, k);
    sprintf(out + used, "ret;\n}\n");
}

/* ---- registers ---- */

static int before(unsigned row, unsigned n)
{
    return (int)(row * 3 + n) % 50 - 20;
}

/* A number of at most 11 bits, as f16 or f32. */
static uint32_t float_bits(int v, bool half)
{
    float f = (float)v;
    uint32_t bits;

    memcpy(&bits, &f, 4);
    if (!half)
        return bits;
    return v == 0
               ? 0
               : (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
}

static uint32_t result_bits(const struct product *p, int v)
{
    return strcmp(p->d, "s32") == 0 ? (uint32_t)v : float_bits(v, strcmp(p->d, "f16") == 0);
}

/* Word k of A in thread `t` of a group: rows l / 4 and 8 below, two groups of columns. */
static uint32_t a_word(const struct product *p, unsigned t, unsigned r)
{
    unsigned bits = kinds[p->a].bits;
    unsigned per = 32 / bits;
    unsigned row = t / 32 * 16 + t % 32 / 4 + (r == 1 || r == 3 ? 8 : 0);
    unsigned first = t % 4 * per + (r >= 2 ? 4 * per : 0);
    uint32_t word = 0;

    for (unsigned j = 0; j < per; j++) {
        uint32_t v = layout_encode(p->a, kept_a[row][first + j]);
        word |= bits == 32 ? v : v << bits * j;
    }
    return word;
}

/* Packs 16 bits of each row into a lane, or 32: the manual's figures of mma.sp with 16 rows. */
static uint32_t metadata_word(const struct product *p, unsigned t)
{
    unsigned lane = t % 32;
    uint32_t word = 0;

    for (unsigned bit = 0; bit < 32; bit += 2) {
        unsigned row, index;
        if (kinds[p->a].bits >= 16) {
            if (lane % 4 / 2 != p->selector)
                return 0xdeadbeef;
            row = t / 32 * 16 + lane / 4 + bit / 16 * 8;
            index = lane % 2 * 8 + bit % 16 / 2; /* of two bits, in its row */
        } else {
            row = t / 32 * 16 + lane / 4 + (lane % 2) * 8;
            index = lane % 4 / 2 * 16 + bit / 2;
        }
        unsigned two = p->a == L_TF32
                           ? (kept_column[row][index / 2] % 2 ? 0xeu : 0x4u) >> index % 2 * 2 & 3u
                           : kept_column[row][index] % 4u;
        word |= two << bit;
    }
    return word;
}

static void place_of_d(unsigned t, unsigned e, unsigned *row, unsigned *n)
{
    *row = t / 32 * 16 + t % 32 / 4 + (e % 4 >= 2 ? 8 : 0);
    *n = e / 4 * 8 + t % 4 * 2 + e % 2;
}

static int expected(const struct product *p, unsigned row, unsigned n)
{
    int sign = p->a_negated != p->b_negated ? -1 : 1;
    int sum = 0;

    for (unsigned k = 0; k < depth_of(p); k++)
        sum += full_a[row][k] * full_b[n][k];
    return sign * sum + (p->ignores_d ? 0 : before(row, n));
}

/* e counts elements; f16 has two in a word. */
static void set_d(const struct product *p, uint32_t *words, unsigned t)
{
    bool half = strcmp(p->d, "f16") == 0;
    unsigned row, n;

    for (unsigned e = 0; e < p->n / 2; e++) {
        place_of_d(t, e, &row, &n);
        uint32_t v = result_bits(p, before(row, n));
        words[half ? e / 2 : e] = half ? (e % 2 ? words[e / 2] | v << 16 : v) : v;
    }
}

static bool check_d(const struct product *p, const uint32_t *words, unsigned t)
{
    bool half = strcmp(p->d, "f16") == 0;
    unsigned row, n;

    for (unsigned e = 0; e < p->n / 2; e++) {
        place_of_d(t, e, &row, &n);
        uint32_t got = half ? words[e / 2] >> e % 2 * 16 & 0xffff : words[e];
        if (!CHECK_EQ_INT(got, result_bits(p, expected(p, row, n))))
            return false;
    }
    return true;
}

#define THREAD_WORDS 136
static uint8_t *image;
static uint32_t (*regs)[THREAD_WORDS];

/* Two groups of four warps compute the same. */
static bool try_product(const struct product *p)
{
    static char text[64 << 10];
    uint64_t da, db;

    fill(p);
    write_kernel(p, text);
    memset(image, 0xee, IMAGE_SIZE);
    da = lay_out(image, A_AT, p->a, p->swizzle_a, p->a_transposed, 64, stored_of(p), p->base,
                 p->advance, kept_a);
    db = lay_out(image, B_AT, p->b, p->swizzle_b, p->b_transposed, p->n, depth_of(p), p->base,
                 p->advance, full_b);
    for (unsigned t = 0; t < 256; t++) {
        for (unsigned r = 0; r < 4; r++)
            regs[t][r] = a_word(p, t % 128, r);
        regs[t][4] = p->is_sparse ? metadata_word(p, t % 128) : 0;
        set_d(p, regs[t] + 8, t % 128);
    }
    struct ptx_module *m = dev_parse(text);
    bool right = CHECK_EQ_INT(
        dev_run(m,
                &(struct dev_launch){.kernel = "k", .grid = 1, .block = 256, .shared = IMAGE_SIZE},
                (uint64_t[]){PTR(image), PTR(regs), da, db}, 4),
        PTX_OK);
    for (unsigned t = 0; right && t < 256; t++)
        right = check_d(p, regs[t] + 8, t % 128);
    ptx_module_destroy(m);
    if (!right) {
        char line[4096];
        write_instruction(p, line);
        fprintf(stderr, "swizzle %u %u base %u advance %u: %s", p->swizzle_a, p->swizzle_b, p->base,
                p->advance, line);
    }
    return right;
}

static const unsigned widths[] = {16, 32, 64, 128};

/* Each type, with A in registers and in memory, dense and sparse, and every pattern. */
static void test_types(void)
{
    static const struct {
        enum layout_kind a, b;
        const char *d;
    } types[] = {{L_F16, L_F16, "f32"},   {L_F16, L_F16, "f16"},   {L_BF16, L_BF16, "f32"},
                 {L_TF32, L_TF32, "f32"}, {L_E4M3, L_E5M2, "f32"}, {L_E5M2, L_E4M3, "f16"},
                 {L_S8, L_S8, "s32"},     {L_U8, L_S8, "s32"},     {L_B1, L_B1, "s32"}};

    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++)
        for (unsigned form = 0; form < 16; form++) {
            struct product p = {.a = types[k].a,
                                .b = types[k].b,
                                .d = types[k].d,
                                .n = form % 4 == 1 ? 32 : 16,
                                .swizzle_a = widths[form % 4],
                                .swizzle_b = widths[3 - form % 4],
                                .a_in_registers = form / 4 % 2,
                                .is_sparse = form / 8};
            if (p.is_sparse && (p.a == L_B1 || p.swizzle_b == 32))
                continue; /* a row of 32 bytes does not hold the 64 of a sparse product */
            p.selector = p.is_sparse && kinds[p.a].bits >= 16 ? form % 2 : 0;
            if (!try_product(&p))
                return;
        }
}

/* Both orders of both matrices of 16 bits, in every pattern. */
static void test_orders(void)
{
    for (unsigned form = 0; form < 64; form++) {
        struct product p = {.a = form & 1 ? L_BF16 : L_F16,
                            .b = form & 1 ? L_BF16 : L_F16,
                            .d = "f32",
                            .n = form & 2 ? 136 : 64,
                            .swizzle_a = widths[form / 16],
                            .swizzle_b = widths[(form / 16 + form / 2) % 4],
                            .a_transposed = form & 4,
                            .b_transposed = form & 8};
        if (!try_product(&p))
            return;
    }
}

static void test_operands(void)
{
    const struct product f = {
        .a = L_F16, .b = L_F16, .d = "f32", .n = 8, .swizzle_a = 128, .swizzle_b = 128};
    const struct product i = {
        .a = L_S8, .b = L_S8, .d = "s32", .n = 8, .swizzle_a = 64, .swizzle_b = 16};
    struct product p = f;

    p.a_negated = true;
    try_product(&p);
    p.b_negated = true;
    try_product(&p);
    p.a_negated = false;
    p.a_in_registers = true;
    try_product(&p);
    p = f;
    p.ignores_d = true;
    try_product(&p);
    p = i;
    p.ignores_d = true;
    try_product(&p);
    for (p = f, p.advance = 32; p.advance < 128; p.advance += 32)
        try_product(&p);
    for (p = f, p.base = 1; p.base < 8; p.base++)
        try_product(&p);
    p = i;
    for (p.n = 8; p.n <= 256; p.n += p.n < 32 ? 8 : 16)
        try_product(&p);
    p = f;
    for (p.n = 8; p.n <= 256; p.n += 8)
        try_product(&p);
}

/* Sums that do not fit: held at the end, or cut to 32 bits. */
static void test_saturation(void)
{
    static const char *const words[] = {".satfinite", ""};
    static const int ends[] = {INT32_MAX, INT32_MIN + 31};

    for (unsigned k = 0; k < 2; k++) {
        char text[2048];
        int32_t *out = dev_alloc(512);
        snprintf(text, sizeof(text),
                 ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 16 .b32 s[512];\n"
                 ".visible .entry k(.param .u64 out) {\n.reg .b32 %%r<8>; .reg .b64 %%d<4>;\n"
                 "ld.param.u64 %%d1, [out]; mov.u32 %%r1, %%tid.x; shl.b32 %%r2, %%r1, 4;\n"
                 "mov.u32 %%r3, s; add.u32 %%r3, %%r3, %%r2; mov.u32 %%r4, 0x01010101;\n"
                 "st.shared.v4.u32 [%%r3], {%%r4,%%r4,%%r4,%%r4}; bar.sync 0;\n"
                 "mov.u32 %%r4, 0x7fffffff; mov.u32 %%r5, 0x7fffffff; mov.u32 %%r6, 0; mov.u32 "
                 "%%r7, 0;\nmov.u64 %%d2, 0x0000000000000000;\n"
                 "wgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k32%s.s32.s8.s8 {%%r4,%%r5,%%r6,%%r7}, %%d2, "
                 "%%d2, 1;\n"
                 "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
                 "mad.wide.u32 %%d1, %%r1, 4, %%d1; st.global.u32 [%%d1], %%r4; ret;\n}\n",
                 words[k]);
        struct ptx_module *m = dev_parse(text);
        CHECK_EQ_INT(DEV_RUN(m, "k", 1, 128, PTR(out)), PTX_OK);
        CHECK_EQ_INT(out[0], ends[k]);
        ptx_module_destroy(m);
    }
}

/* ---- waiting ---- */

/* One thread of the first warp overwrites B as soon as wgmma.wait_group lets it: the other warps
 * have read it by then, whichever of them runs first. */
static void test_wait(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 16 .b32 s[512];\n"
        ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p;\n"
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4;\n"
        "mov.u32 %r3, s; add.u32 %r3, %r3, %r2; mov.u32 %r4, 0x01010101;\n"
        "st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4}; bar.sync 0; mov.u64 %d2, 0;\n"
        "setp.ne.u32 %p, %r1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r4,%r5,%r6,%r7}, %d2, %d2, 0;\n"
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
        "@%p bra L; mov.u32 %r8, 0;\n"
        "M: st.shared.u32 [%r8], 0x05050505; add.u32 %r8, %r8, 4; setp.lt.u32 %p, %r8, 2048;\n"
        "@%p bra M;\n"
        "L: mad.wide.u32 %d1, %r1, 4, %d1; st.global.u32 [%d1], %r4; ret;\n}\n";
    static const enum ptx_schedule schedules[] = {PTX_SCHEDULE_FIFO, PTX_SCHEDULE_REVERSE,
                                                  PTX_SCHEDULE_RANDOM};
    struct ptx_module *m = dev_parse(text);
    int32_t *out = dev_alloc(512);

    for (unsigned s = 0; s < 3; s++) {
        const struct dev_launch launch = {
            .kernel = "k", .grid = 1, .block = 128, .schedule = schedules[s]};
        memset(out, 0, 512);
        CHECK_EQ_INT(dev_run(m, &launch, (uint64_t[]){PTR(out)}, 1), PTX_OK);
        for (unsigned t = 0; t < 128; t++)
            if (!CHECK_EQ_INT(out[t], 32))
                break;
    }
    ptx_module_destroy(m);
}

/* A descriptor that leads outside of shared memory is a fault with the instruction's line. */
static void test_outside(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 16 .b32 s[64];\n"
        ".visible .entry k() {\n.reg .b32 %r<12>; .reg .b64 %d<4>;\n"
        "mov.u32 %r1, s; mov.u64 %d2, 0x1000;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r4,%r5,%r6,%r7}, %d2, %d2, 0;\n"
        "ret;\n}\n";
    struct ptx_module *m = dev_parse(text);

    CHECK(DEV_RUN(m, "k", 1, 128) != PTX_OK);
    CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_ADDRESS);
    CHECK_EQ_INT(dev_fault.line, 8);
    ptx_module_destroy(m);
}

/* Swizzled tiles ask for dynamic shared memory at multiples of 1024, after what is static. */
static void test_alignment(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 4 .b32 x[3];\n"
        ".extern .shared .align 1024 .b8 s[];\n.visible .entry k(.param .u64 out) {\n"
        ".reg .b32 %r<4>; .reg .b64 %d<4>; ld.param.u64 %d1, [out]; mov.u32 %r1, s;\n"
        "mov.u32 %r2, x; st.shared.u32 [%r1+4092], %r1; st.global.v2.u32 [%d1], {%r1,%r2}; ret;\n"
        "}\n";
    struct ptx_module *m = dev_parse(text);
    const struct dev_launch launch = {.kernel = "k", .grid = 1, .block = 1, .shared = 4096};
    uint32_t *out = dev_alloc(8);

    out[0] = 1;
    CHECK_EQ_INT(dev_run(m, &launch, (uint64_t[]){PTR(out)}, 1), PTX_OK);
    CHECK_EQ_INT(out[0], 1024);
    CHECK_EQ_INT(out[1], 0);
    ptx_module_destroy(m);
}

static void test_refused(void)
{
    static const char *const lines[] = {
        "wgmma.mma_async.sync.aligned.m64n24k32.s32.s8.s8 {%r0}, %d1, %d1, 1;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 {%f0,%f1,%f2,%f3}, %d1, %d1, 1, 1, 1, "
        "0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d1, %d1, 1, 2, 1, "
        "0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2}, %d1, %d1, 1, 1, 1, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0,%f1,%f2,%f3}, %d1, %d1, 1, 1, 1, "
        "0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc {%r0,%r1,%r2,%r3}, %d1, %d1, 1;",
        "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 {%r0,%r1,%r2,%r3}, %d1, %d1, %r1, 1, "
        "1;",
        "wgmma.fence.sync;",
        "wgmma.wait_group.sync.aligned %r1;",
    };

    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
                 ".reg .b32 %%r<8>; .reg .f32 %%f<8>; .reg .b64 %%d<4>;\n%s\nret; }\n",
                 lines[k]);
        bool right = CHECK(dev_try(text) != PTX_OK) && CHECK(strstr(dev_log, "line 6;")) &&
                     CHECK(strstr(dev_log, "wgmma"));
        if (!right)
            fprintf(stderr, "%s: %s\n", lines[k], dev_log);
    }
}

/* Code for sm_90a runs on that device alone, and no other code has wgmma. */
static void test_targets(void)
{
    static const struct {
        const char *target;
        unsigned device;
        int status;
        const char *word;
    } cases[] = {{"sm_90a", 90, PTX_OK, ""},
                 {"sm_90a", 100, PTX_VERSION, "needs 9.0"},
                 {"sm_90a", 75, PTX_VERSION, "sm_90a"},
                 {"sm_90", 90, PTX_INVALID, "sm_90a"},
                 {"sm_100a", 100, PTX_INVALID, "wgmma"},
                 {"sm_100f", 120, PTX_VERSION, "10.0"},
                 {"sm_90", 120, PTX_INVALID, "wgmma"}};

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char text[256];
        snprintf(text, sizeof(text),
                 ".version 8.6\n.target %s\n.address_size 64\n.visible .entry k() {\n"
                 "wgmma.fence.sync.aligned; ret; }\n",
                 cases[k].target);
        dev_target = cases[k].device;
        dev_log[0] = 0;
        if (!CHECK_EQ_INT(dev_try(text), cases[k].status) || !CHECK(strstr(dev_log, cases[k].word)))
            fprintf(stderr, "%s on %u: %s\n", cases[k].target, cases[k].device, dev_log);
    }
    dev_target = 90;
}

int main(void)
{
    image = dev_alloc(IMAGE_SIZE);
    regs = dev_alloc(256 * sizeof(*regs));
    test_types();
    test_orders();
    test_operands();
    test_saturation();
    test_wait();
    test_outside();
    test_alignment();
    test_refused();
    test_targets();
    return check_result();
}
