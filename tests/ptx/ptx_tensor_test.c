/* SPDX-License-Identifier: Apache-2.0
 *
 * mma and ldmatrix. The layouts of fragments are written here as the PTX manual tells them, element
 * by element, and not as the engine computes them.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#define HEAD                                                                                       \
    ".version 7.0\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 in, .param .u64 out) {\n"                                       \
    ".reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b64 %d<8>; .shared .align 16 .b8 s[1024];\n"        \
    "ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r0, %tid.x;\n"
#define LOAD6                                                                                      \
    "mad.wide.u32 %d3, %r0, 24, %d1; ld.global.u32 %r1, [%d3]; ld.global.u32 %r2, [%d3+4];\n"      \
    "ld.global.u32 %r3, [%d3+8]; ld.global.u32 %r4, [%d3+12]; ld.global.u32 %r5, [%d3+16];\n"      \
    "ld.global.u32 %r6, [%d3+20]; mad.wide.u32 %d4, %r0, 16, %d2;\n"

static int value_a(int row, int col)
{
    return (row * 5 + col * 3) % 7 - 3;
}

static int value_b(int row, int col)
{
    return (row * 2 + col * 11) % 9 - 4;
}

static int product(int row, int col, int depth)
{
    int sum = 100 * row + col;

    for (int k = 0; k < depth; k++)
        sum += value_a(row, k) * value_b(k, col);
    return sum;
}

static uint16_t half_of(int v)
{
    static const uint16_t sizes[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};

    return v < 0 ? sizes[-v] | 0x8000 : sizes[v];
}

static void test_half(void)
{
    static const char text[] = HEAD LOAD6
        "mul.lo.u32 %r7, %r0, 1; shr.u32 %r8, %r7, 2; and.b32 %r9, %r7, 3;\n"
        "mul.lo.u32 %r10, %r8, 100; mad.lo.u32 %r10, %r9, 2, %r10; cvt.rn.f32.u32 %f1, %r10;\n"
        "add.f32 %f2, %f1, 0f3F800000; add.f32 %f3, %f1, 0f44480000; add.f32 %f4, %f2, "
        "0f44480000;\n"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5,%f6,%f7,%f8}, {%r1,%r2,%r3,%r4},\n"
        " {%r5,%r6}, {%f1,%f2,%f3,%f4};\n"
        "st.global.v4.f32 [%d4], {%f5,%f6,%f7,%f8}; ret;\n}\n";
    struct ptx_module *m = dev_parse(text);
    uint16_t(*in)[12] = dev_alloc(32 * 24);
    float(*out)[4] = dev_alloc(32 * 16);

    for (int l = 0; l < 32; l++) {
        int group = l >> 2;
        int in_group = l % 4;
        for (int i = 0; i < 8; i++) {
            int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
            int col = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
            in[l][i] = half_of(value_a(row, col));
        }
        for (int i = 0; i < 4; i++)
            in[l][8 + i] = half_of(value_b(in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0), group));
    }
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(in), PTR(out)), PTX_OK);
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++)
            CHECK_EQ_INT((int)out[l][i],
                         product(i < 2 ? l >> 2 : (l >> 2) + 8, (l % 4) * 2 + (i & 1), 16));
    ptx_module_destroy(m);
}

static void test_bytes(void)
{
    static const char text[] = HEAD LOAD6
        "shr.u32 %r8, %r0, 2; and.b32 %r9, %r0, 3;\n"
        "mul.lo.u32 %r10, %r8, 100; mad.lo.u32 %r10, %r9, 2, %r10; add.u32 %r11, %r10, 1;\n"
        "add.u32 %r12, %r10, 800; add.u32 %r13, %r11, 800;\n"
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%r10,%r11,%r12,%r13},\n"
        " {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r10,%r11,%r12,%r13};\n"
        "st.global.v4.u32 [%d4], {%r10,%r11,%r12,%r13}; ret;\n}\n";
    struct ptx_module *m = dev_parse(text);
    int8_t(*in)[24] = dev_alloc(32 * 24);
    int(*out)[4] = dev_alloc(32 * 16);

    for (int l = 0; l < 32; l++) {
        int group = l >> 2;
        int in_group = l % 4;
        for (int i = 0; i < 16; i++) {
            int row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
            int col = i < 8 ? in_group * 4 + (i & 3) : in_group * 4 + (i & 3) + 16;
            in[l][i] = (int8_t)value_a(row, col);
        }
        for (int i = 0; i < 8; i++) {
            int row = i < 4 ? in_group * 4 + (i & 3) : in_group * 4 + (i & 3) + 16;
            in[l][16 + i] = (int8_t)value_b(row, group);
        }
    }
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(in), PTR(out)), PTX_OK);
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++)
            CHECK_EQ_INT(out[l][i],
                         product(i < 2 ? l >> 2 : (l >> 2) + 8, (l % 4) * 2 + (i & 1), 32));
    ptx_module_destroy(m);
}

/* 32 rows of 16 bytes, copied to shared memory by cp.async, read as four matrices. */
#define MATRICES(trans)                                                                            \
    HEAD "mov.u32 %r7, s; mad.lo.u32 %r7, %r0, 16, %r7; mad.wide.u32 %d3, %r0, 16, %d1;\n"         \
         "cp.async.cg.shared.global [%r7], [%d3], 16; cp.async.wait_all;\nbar.sync 0;\n"           \
         "ldmatrix.sync.aligned.m8n8.x4" trans ".shared.b16 {%r1,%r2,%r3,%r4}, [%r7];\n"           \
         "mad.wide.u32 %d4, %r0, 16, %d2; st.global.v4.u32 [%d4], {%r1,%r2,%r3,%r4}; ret;\n}\n"

static void test_load_matrix(const char *text, bool trans)
{
    uint16_t(*in)[8] = dev_alloc(512);
    uint16_t(*out)[8] = dev_alloc(512);
    struct ptx_module *m = dev_parse(text);
    for (int k = 0; k < 256; k++)
        in[k / 8][k % 8] = (uint16_t)(k * 3);
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(in), PTR(out)), PTX_OK);
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 8; i++) {
            int row = l / 4;
            int col = l % 4 * 2 + i % 2;
            CHECK_EQ_INT(out[l][i], trans ? in[i / 2 * 8 + col][row] : in[i / 2 * 8 + row][col]);
        }
    ptx_module_destroy(m);
}

int main(void)
{
    test_half();
    test_bytes();
    test_load_matrix(MATRICES(""), false);
    test_load_matrix(MATRICES(".trans"), true);
    return check_result();
}
