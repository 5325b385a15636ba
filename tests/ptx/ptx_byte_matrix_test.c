/* SPDX-License-Identifier: Apache-2.0
 *
 * ldmatrix and stmatrix of elements of 8, 6 and 4 bits. Rows are in memory in another order than the
 * lanes that have their addresses.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <string.h>

/* Thread l has row 31 - l of shared memory, which is filled from `in` and written to `out`. */
static const char kernel[] =
    ".version %s\n.target %s\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 registers, .param .u64 out) {\n"
    ".reg .b32 %%r<16>; .reg .b64 %%d<8>; .shared .align 16 .b8 s[512];\n"
    "ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [registers]; ld.param.u64 %%d3, [out];\n"
    "mov.u32 %%r0, %%tid.x; mov.u32 %%r5, s; sub.u32 %%r6, 31, %%r0;\n"
    "mad.lo.u32 %%r5, %%r6, 16, %%r5;\n"
    "mad.wide.u32 %%d4, %%r0, 16, %%d1; ld.global.v4.u32 {%%r8,%%r9,%%r10,%%r11}, [%%d4];\n"
    "st.shared.v4.u32 [%%r5], {%%r8,%%r9,%%r10,%%r11}; bar.sync 0;\n"
    "mad.wide.u32 %%d5, %%r0, 16, %%d2; ld.global.v4.u32 {%%r1,%%r2,%%r3,%%r4}, [%%d5];\n"
    "%s;\n"
    "st.global.v4.u32 [%%d5], {%%r1,%%r2,%%r3,%%r4}; bar.sync 0;\n"
    "mad.wide.u32 %%d6, %%r0, 16, %%d3; ld.shared.v4.u32 {%%r8,%%r9,%%r10,%%r11}, [%%r5];\n"
    "st.global.v4.u32 [%%d6], {%%r8,%%r9,%%r10,%%r11}; ret;\n}\n";

static uint8_t (*rows)[16];       /* of lanes' addresses */
static uint8_t (*registers)[4][4]; /* of lanes: 4 bytes of 4 registers */
static uint8_t (*after)[16];

static unsigned bits_at(const uint8_t *row, unsigned at, unsigned count)
{
    unsigned value = 0;

    for (unsigned k = 0; k < count; k++)
        value |= (row[(at + k) / 8] >> (at + k) % 8 & 1u) << k;
    return value;
}

static void run(const char *instruction)
{
    char text[4096];
    struct ptx_module *m;

    snprintf(text, sizeof(text), kernel, "8.6", "sm_100a", instruction);
    dev_target = 100;
    m = dev_parse(text);
    CHECK(m);
    for (unsigned k = 0; k < 512; k++) {
        (&rows[0][0])[k] = (uint8_t)(k * 37 + k / 16 * 5 + 11);
        (&registers[0][0][0])[k] = (uint8_t)(k * 91 + k / 7);
        (&after[0][0])[k] = 0;
    }
    if (m)
        CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(rows), PTR(registers), PTR(after)), PTX_OK);
    ptx_module_destroy(m);
}

/* Compares with what mma wants of its operands: A of rows, and B of columns. */
static void test_load(const char *instruction, bool is_wide, unsigned registers_used, unsigned bits)
{
    unsigned wrong = 0;

    run(instruction);
    for (unsigned l = 0; l < 32; l++)
        for (unsigned r = 0; r < registers_used; r++)
            for (unsigned b = 0; b < 4; b++) {
                unsigned row = is_wide ? r / 2 * 16 + l % 4 * 4 + b : r * 8 + l / 4;
                unsigned element = is_wide ? l / 4 + r % 2 * 8 : l % 4 * 4 + b;
                wrong += registers[l][r][b] != bits_at(rows[row], bits * element, bits);
            }
    for (unsigned l = 0; l < 32; l++)
        wrong += memcmp(after[l], rows[l], 16) != 0;
    if (wrong)
        printf("%s: %u\n", instruction, wrong);
    CHECK_EQ_INT(wrong, 0);
}

/* Compares rows in memory with the columns of a product. */
static void test_store(const char *instruction, unsigned matrices)
{
    unsigned wrong = 0;

    run(instruction);
    for (unsigned n = 0; n < 32; n++)
        for (unsigned m = 0; m < 16; m++) {
            unsigned lane = m % 8 * 4 + n % 8 / 2;
            unsigned byte = n % 2 + (m >= 8 ? 2 : 0);
            uint8_t expected = n / 8 < matrices ? registers[lane][n / 8][byte] : rows[n][m];
            wrong += after[n][m] != expected;
        }
    if (wrong)
        printf("%s: %u\n", instruction, wrong);
    CHECK_EQ_INT(wrong, 0);
}

static void test_refused(const char *version, const char *target, const char *instruction)
{
    char text[4096];

    snprintf(text, sizeof(text), kernel, version, target, instruction);
    dev_target = 100;
    CHECK(dev_try(text) != PTX_OK);
}

int main(void)
{
    rows = dev_alloc(512);
    registers = dev_alloc(512);
    after = dev_alloc(512);
#define X1 " {%r1}, [%r5]"
#define X2 " {%r1,%r2}, [%r5]"
#define X4 " {%r1,%r2,%r3,%r4}, [%r5]"
    test_load("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8" X2, true, 2, 8);
    test_load("ldmatrix.sync.aligned.m16n16.x2.trans.shared::cta.b8" X4, true, 4, 8);
    test_load("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32" X2, true, 2, 6);
    test_load("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b4x16_p64" X4, true, 4, 4);
    test_load("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64" X1, false, 1, 4);
    test_load("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32" X2, false, 2, 6);
    test_load("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64" X4, false, 4, 4);
    test_load("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32" X4, false, 4, 6);
    test_store("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r5], {%r1}", 1);
    test_store("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%r5], {%r1,%r2}", 2);
    test_store("stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%r5], {%r1,%r2,%r3,%r4}", 4);
    test_refused("8.6", "sm_100", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8" X2);
    test_refused("8.5", "sm_100a", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8" X2);
    test_refused("8.6", "sm_100a", "ldmatrix.sync.aligned.m16n16.x1.shared.b8" X2);
    test_refused("8.6", "sm_100a", "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8" X4);
    test_refused("8.6", "sm_100a", "ldmatrix.sync.aligned.m8n16.x1.shared.b8" X1);
    test_refused("8.6", "sm_100a", "ldmatrix.sync.aligned.m8n8.x1.shared.b8" X1);
    test_refused("8.6", "sm_100a", "stmatrix.sync.aligned.m16n8.x1.shared.b8 [%r5], {%r1}");
    return check_result();
}
