/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests parts that the differential test does not reach: barriers in memory, copies, clusters, the
 * stack, matrices in memory, directives, and what is refused where.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD ".version 8.6\n.target sm_90\n.address_size 64\n"
#define ENTRY(name)                                                                                \
    ".visible .entry " name "(.param .u64 a, .param .u64 b) {\n"                                   \
    ".reg .b32 %r<20>; .reg .b64 %d<10>; .reg .pred %p<4>; .reg .f32 %f<20>; .reg .b16 %h<8>;\n"   \
    ".reg .b128 %q<4>; .shared .align 128 .b8 sm[2048]; .shared .align 8 .b64 bar;\n"              \
    "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; mov.u32 %r0, %tid.x;\n"                         \
    "mad.wide.u32 %d2, %r0, 4, %d0; mad.wide.u32 %d3, %r0, 4, %d1;\n"

/* A bulk copy that a barrier announces, then a second phase by arrivals alone. */
static void test_mbarrier(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "setp.ne.u32 %p1, %r0, 0; @%p1 bra ready;\n"
             "mbarrier.init.shared::cta.b64 [bar], 64;\n"
             "ready: bar.sync 0; @%p1 bra others;\n"
             "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], 256;\n"
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%d0], 256, "
             "[bar];\n"
             "bra wait;\n"
             "others: mbarrier.arrive.shared::cta.b64 %d4, [bar];\n"
             "wait: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra wait;\n"
             "mbarrier.arrive.shared::cta.b64 %d4, [bar]; mbarrier.pending_count.b64 %r5, %d4;\n"
             "again: mbarrier.test_wait.shared::cta.b64 %p2, [bar], %d4; @!%p2 bra again;\n"
             "mov.u32 %r1, sm; mad.lo.u32 %r1, %r0, 4, %r1; ld.shared.u32 %r2, [%r1];\n"
             "add.u32 %r2, %r2, %r5; st.global.u32 [%d3], %r2; ret; }\n");
    uint32_t *a = dev_alloc(256);
    uint32_t *b = dev_alloc(256);

    for (unsigned k = 0; k < 64; k++)
        a[k] = 1000 * k;
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 64, PTR(a), PTR(b)), PTX_OK);
    for (unsigned k = 0; k < 64; k++)
        CHECK_EQ_INT(b[k] % 1000, 64 - k); /* pending before this thread's own arrival */
    CHECK_EQ_INT(b[63] / 1000, 63);
    ptx_module_destroy(m);
}

static void test_cluster(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "mov.u32 %r1, sm; mad.lo.u32 %r2, %r0, 4, %r1; mapa.shared::cluster.u32 %r3, %r2, 0;\n"
             "st.shared::cluster.u32 [%r3], %r0;\n"
             "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
             "xor.b32 %r4, %r0, 63; mad.lo.u32 %r4, %r4, 4, %r1; ld.shared.u32 %r5, [%r4];\n"
             "barrier.cluster.arrive; barrier.cluster.wait;\n"
             "mov.u32 %r6, %cluster_nctarank; add.u32 %r5, %r5, %r6;\n"
             "getctarank.shared::cluster.u32 %r7, %r3; add.u32 %r5, %r5, %r7;\n"
             "st.global.u32 [%d3], %r5; ret; }\n");
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 64, PTR(b), PTR(b)), PTX_OK);
    for (unsigned k = 0; k < 64; k++)
        CHECK_EQ_INT(b[k], (k ^ 63) + 1);
    ptx_module_destroy(m);
}

static void test_alloca(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "stacksave.u64 %d8; mov.u64 %d4, 64; alloca.u64 %d5, %d4, 32;\n"
             "st.local.u32 [%d5+60], %r0; alloca.u64 %d6, %d4; st.local.u32 [%d6], 7;\n"
             "ld.local.u32 %r1, [%d5+60]; sub.u64 %d7, %d6, %d5; cvt.u32.u64 %r2, %d7;\n"
             "stackrestore.u64 %d8; alloca.u64 %d9, %d4, 32; setp.eq.u64 %p1, %d9, %d5;\n"
             "selp.u32 %r3, 1000, 0, %p1; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;\n"
             "st.global.u32 [%d3], %r1; ret; }\n");
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_INT(b[5], 5 + 64 + 1000);
    ptx_module_destroy(m);
}

static void test_atomics(void)
{
    struct ptx_module *m = dev_parse(
        HEAD ENTRY("k") "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;\n"
                        "atom.global.v2.f32.add {%f3, %f4}, [%d0], {%f1, %f2};\n"
                        "red.global.max.noftz.v2.f16x2 [%d0+8], {%r0, %r0};\n"
                        "cvt.u64.u32 %d4, %r0; mov.u64 %d5, 77; mov.b128 %q1, {%d4, %d5};\n"
                        "atom.global.exch.b128 %q2, [%d0+16], %q1;\n"
                        "mov.b128 {%d6, %d7}, %q2; st.global.u32 [%d3], %d6;\n"
                        "ret; }\n");
    uint32_t *a = dev_alloc(256);
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(a), PTR(b)), PTX_OK);
    CHECK_EQ_INT(a[0], 0x42000000); /* 32.0, 64.0 */
    CHECK_EQ_INT(a[1], 0x42800000);
    CHECK_EQ_INT(a[2], 31);
    CHECK_EQ_INT(a[4], 31);
    CHECK_EQ_INT(a[6], 77);
    CHECK_EQ_INT(b[7], 6); /* what the lane before it wrote */
    ptx_module_destroy(m);
}

static void test_move_matrices(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "mov.u32 %r1, sm; and.b32 %r2, %r0, 7; mad.lo.u32 %r3, %r2, 16, %r1;\n"
             "ld.global.u32 %r4, [%d2]; movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r4;\n"
             "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r3], {%r5};\n"
             "mad.lo.u32 %r6, %r0, 4, %r1; ld.shared.u32 %r7, [%r6]; st.global.u32 [%d3], %r7;\n"
             "ret; }\n");
    uint32_t *a = dev_alloc(256);
    uint32_t *b = dev_alloc(256);

    for (unsigned k = 0; k < 32; k++)
        a[k] = k * 0x10001 + 0x8000;
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(a), PTR(b)), PTX_OK);
    CHECK_EQ_MEM(b, a, 128); /* transposed twice */
    ptx_module_destroy(m);
}

/* mov.v2 from {a, b} and back, also crosswise; a vector register as one number, and the reverse. */
static void test_move_vectors(void)
{
    static const uint32_t wanted[] = {5, 6, 6, 5, 7, 8, 8, 7};
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") ".reg .v2 .u32 %v<3>; .reg .v4 .b16 %w;\n"
             "mov.v2.u32 %v0, {5, 6}; mov.v2.u32 {%r1, %r2}, %v0; mov.v2.u32 {%r1, %r2}, {%r2, "
             "%r1};\n"
             "st.global.v2.u32 [%d1], %v0; st.global.v2.u32 [%d1+8], {%r1, %r2};\n"
             "mov.u32 %v1.x, 7; mov.u32 %v1.y, 8; mov.b64 %d4, %v1; st.global.u64 [%d1+16], %d4;\n"
             "shf.l.wrap.b32 %r3, %v1.x, %v1.x, 0; mov.b64 %d5, {%v1.y, %r3}; mov.b64 %v2, %d5;\n"
             "mov.b64 %w, %d5; mov.b64 %d5, %w;\n"
             "st.global.v2.u32 [%d1+24], %v2; st.global.u64 [%d1+32], %d5; ret; }\n");
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 1, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_MEM(b, wanted, sizeof(wanted));
    CHECK_EQ_MEM(b + 8, wanted + 6, 8);
    ptx_module_destroy(m);
}

/* .param .u64 %P<2> means %P0 and %P1, as GCC writes the arguments of a call. */
static void test_numbered_params(void)
{
    struct ptx_module *m = dev_parse(
        HEAD ".func add(.param .u64 p, .param .u64 q) { .reg .b64 %d<3>; .reg .b32 %r;\n"
             "ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q]; cvt.u32.u64 %r, %d1;\n"
             "st.u32 [%d0], %r; ret; }\n" ENTRY(
                 "k") "{ .param .u64 %P<2>; st.param.u64 [%P0], %d1; st.param.u64 [%P1], 77;\n"
                      "call.uni add, (%P0, %P1); }\n"
                      ".shared .u32 word<3>; mov.u32 %r1, word0; mov.u32 %r2, word2;\n"
                      "sub.u32 %r1, %r2, %r1; st.global.u32 [%d1+4], %r1; ret; }\n");
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 1, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_INT(b[0], 77);
    CHECK_EQ_INT(b[1], 8);
    ptx_module_destroy(m);
}

/* A parameter without a size takes what the call gives; the rest of it is not looked at. */
static void test_variadic(void)
{
    struct ptx_module *m = dev_parse(
        HEAD ".func (.param .b32 r) last(.param .b32 n, .param .align 16 .b8 more[]) {\n"
             ".reg .b32 %r<3>; .reg .b64 %d<3>; ld.param.u32 %r0, [n]; mov.u64 %d0, more;\n"
             "mad.wide.u32 %d1, %r0, 4, %d0; ld.local.u32 %r1, [%d1]; ld.param.u32 %r2, [more];\n"
             "add.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }\n" ENTRY(
                 "k") "{ .param .b32 n; .param .align 16 .b8 v[16]; .param .b32 r;\n"
                      "st.param.b32 [n], 3; st.param.v4.b32 [v], {10, 20, 30, 40};\n"
                      "call (r), last, (n, v); ld.param.b32 %r1, [r]; }\n"
                      "st.global.u32 [%d1], %r1; ret; }\n");
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_INT(b[0], 50);
    ptx_module_destroy(m);
}

/* CC.CF is a carry: after a subtraction it says that nothing was borrowed. */
static void test_carry_of_subtraction(void)
{
    static const uint32_t wanted[] = {0xffffffff, 0, 0xfffffffe, 1, 1, 0xffffffff, 5, 4};
    struct ptx_module *m = dev_parse(
        HEAD ENTRY("k") "mov.u32 %r5, 5; mov.u32 %r6, 6; mov.u32 %r7, 0;\n"
                        "sub.cc.u32 %r1, %r5, %r6; addc.u32 %r2, %r7, %r7;\n" /* borrowed: 0 */
                        "sub.cc.u32 %r3, %r5, %r6; subc.cc.u32 %r3, %r7, 1; addc.u32 %r3, %r3, 0;\n"
                        "sub.cc.u32 %r4, %r6, %r5; addc.u32 %r4, %r7, %r7;\n" /* not borrowed: 1 */
                        "st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};\n"
                        "add.cc.u32 %r1, %r1, %r6; addc.u32 %r1, %r7, %r7;\n" /* 1 */
                        "add.cc.u32 %r2, %r5, %r6; subc.u32 %r2, %r7, %r7;\n" /* 0 - 0 - 1 */
                        "sub.cc.u32 %r3, %r6, %r5; subc.u32 %r3, %r6, 1;\n"   /* 6 - 1 */
                        "sub.cc.u32 %r4, %r5, %r6; subc.u32 %r4, %r6, 1;\n"   /* 6 - 1 - 1 */
                        "st.global.v4.u32 [%d1+16], {%r1, %r2, %r3, %r4}; ret; }\n");
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 1, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_MEM(b, wanted, sizeof(wanted));
    ptx_module_destroy(m);
}

/* Each half of a warp is a group of its own: they come to one instruction and name other members.
 * In the second part half of the upper group comes later than the others. */
static void test_members(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "and.b32 %r1, %r0, 16; mov.u32 %r2, 0xffff; shl.b32 %r2, %r2, %r1;\n"
             "and.b32 %r3, %r0, 1; setp.ne.u32 %p1, %r3, 0; setp.lt.u32 %p2, %r0, 32;\n"
             "vote.sync.ballot.b32 %r4, %p1, %r2; vote.sync.all.pred %p2, %p2, %r2;\n"
             "match.any.sync.b32 %r5, %r3, %r2; redux.sync.add.u32 %r6, %r0, %r2;\n"
             "selp.b32 %r7, 1, 0, %p2; mad.lo.u32 %r8, %r0, 32, 0; cvt.u64.u32 %d4, %r8;\n"
             "add.u64 %d4, %d4, %d1; st.global.v4.u32 [%d4], {%r4, %r5, %r6, %r7};\n"
             "setp.lt.u32 %p3, %r0, 24; @%p3 bra meet; mov.u32 %r9, 0;\n"
             "again: add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 50; @%p2 bra again;\n"
             "meet: redux.sync.max.u32 %r6, %r0, %r2; st.global.u32 [%d4+16], %r6; ret; }\n");
    uint32_t *b = dev_alloc(2048);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(b), PTR(b)), PTX_OK);
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t shift = l & 16;
        uint32_t wanted[] = {0xaaaau << shift, (l & 1 ? 0xaaaau : 0x5555u) << shift,
                             l < 16 ? 120 : 376, 1, l < 16 ? 15 : 31};
        if (!CHECK_EQ_MEM(b + l * 8, wanted, sizeof(wanted)))
            break;
    }
    ptx_module_destroy(m);
}

/* %envreg1 and 2 hold the address of a cooperative launch's workspace: its size, and a counter. */
static void test_workspace(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; or.b32 %r3, %r1, %r2;\n"
             "mov.u32 %r4, 77; mov.u32 %r5, 77; setp.eq.u32 %p1, %r3, 0; @%p1 bra done;\n"
             "mov.b64 %d4, {%r2, %r1}; ld.u32 %r4, [%d4]; atom.add.u32 %r5, [%d4+4], 1;\n"
             "done: mov.u32 %r6, %envreg3; mov.u32 %r7, %ctaid.x; mad.wide.u32 %d5, %r7, 16, %d1;\n"
             "st.global.v4.u32 [%d5], {%r4, %r5, %r6, %r7}; ret; }\n");
    static const uint32_t plain[] = {77, 77, 0, 0};
    static const uint32_t cooperative[] = {8, 0, 0, 0, 8, 1, 0, 1};
    struct dev_launch l = {.kernel = "k", .grid = 2, .block = 1, .cooperative = true};
    uint32_t *b = dev_alloc(64);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 1, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_MEM(b, plain, sizeof(plain));
    for (unsigned k = 0; k < 2; k++) { /* the second launch finds the counter at 0 again */
        CHECK_EQ_INT(dev_run(m, &l, (uint64_t[]){PTR(b), PTR(b)}, 2), PTX_OK);
        CHECK_EQ_MEM(b, cooperative, sizeof(cooperative));
    }
    ptx_module_destroy(m);
}

/* The reserved part of shared memory is there, after what the program declares. */
static void test_reserved(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "mov.u32 %r1, %reserved_smem_offset_1; mov.u32 %r2, 77; st.shared.u32 [%r1+508], "
             "%r2;\n"
             "ld.shared.u32 %r3, [%r1+508]; mov.u32 %r4, %total_smem_size; setp.ge.u32 %p1, %r1, "
             "%r4;\n"
             "selp.b32 %r5, 1, 0, %p1; st.global.v2.u32 [%d1], {%r3, %r5}; ret; }\n");
    static const uint32_t wanted[] = {77, 1};
    uint32_t *b = dev_alloc(64);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 1, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_MEM(b, wanted, sizeof(wanted));
    ptx_module_destroy(m);
}

/* name[index] counts scalars of the variable's type, as ptxas has it: sm8[3] is sm8+3, tbl[3] is
 * tbl+12, v[3] of .v4 .f32 is v+12. */
static void test_indexed_names(void)
{
    struct ptx_module *m =
        dev_parse(HEAD ".const .u32 tbl[4] = {10, 20, 30, 40}; .global .v4 .f32 v[2];\n" ENTRY(
            "k") ".shared .b8 sm8[16]; .local .u16 loc[8];\n"
                 "ld.const.u32 %r1, tbl[1+1]; mov.u32 %r2, 2; ld.const.u32 %r3, tbl[%r2+1];\n"
                 "mov.u64 %d2, sm8; mov.u64 %d3, sm8[3]; sub.u64 %d2, %d3, %d2;\n"
                 "mov.u64 %d3, v; mov.u64 %d4, v[%r2]; sub.u64 %d3, %d4, %d3;\n"
                 "st.local.u16 loc[%r2], 7; ld.local.u16 %r4, [loc+4]; st.shared.b8 sm8[%r2], 9;\n"
                 "ld.shared.u8 %r5, [sm8+2]; cvt.u32.u64 %r6, %d2; cvt.u32.u64 %r7, %d3;\n"
                 "st.global.v2.u32 [%d1], {%r1, %r3}; st.global.v4.u32 [%d1+16], {%r4, %r5, %r6, "
                 "%r7};\n"
                 "ret; }\n");
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 1, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_INT(b[0], 30);
    CHECK_EQ_INT(b[1], 40);
    CHECK_EQ_INT(b[4], 7);
    CHECK_EQ_INT(b[5], 9);
    CHECK_EQ_INT(b[6], 3);
    CHECK_EQ_INT(b[7], 8);
    ptx_module_destroy(m);
}

/* D = A B + C of s8, with A in rows, B in columns and D in columns; strides beyond the size. */
static void test_wmma(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "mov.u32 %r1, 32; wmma.load.a.sync.aligned.row.m8n32k16.global.s8 {%r2}, [%d0], %r1;\n"
             "wmma.load.b.sync.aligned.col.m8n32k16.global.u8 {%r3, %r4, %r5, %r6}, [%d0+256];\n"
             "wmma.load.c.sync.aligned.row.m8n32k16.global.s32 {%r7, %r8, %r9, %r10, %r11, %r12, "
             "%r13, %r14},"
             " [%d0+1024];\n"
             "wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.u8.s32 {%r7, %r8, %r9, %r10, %r11, "
             "%r12, %r13, %r14},"
             " {%r2}, {%r3, %r4, %r5, %r6}, {%r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14};\n"
             "wmma.store.d.sync.aligned.col.m8n32k16.global.s32 [%d1],"
             " {%r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14}; ret; }\n");
    int8_t *a = dev_alloc(4096);
    int32_t *d = dev_alloc(4096);
    uint8_t *b = (uint8_t *)a + 256;
    int32_t *c = (int32_t *)(void *)(a + 1024);

    for (int k = 0; k < 256; k++)
        a[k] = (int8_t)(k * 37);
    for (int k = 0; k < 512; k++)
        b[k] = (uint8_t)(k * 91);
    for (int k = 0; k < 256; k++)
        c[k] = k * 1000 - 7;
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(a), PTR(d)), PTX_OK);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 32; j++) {
            int32_t sum = c[i * 32 + j];
            for (int k = 0; k < 16; k++)
                sum += a[i * 32 + k] * b[j * 16 + k];
            CHECK_EQ_INT(d[j * 8 + i], sum);
        }
    ptx_module_destroy(m);
}

/* A matrix of halves times the identity, through shared memory and both layouts. */
static void test_wmma_half(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") ".reg .b32 %a<8>; .reg .b32 %b<8>; .reg .b32 %c<4>; mov.b32 %c0, 0; mov.b32 %c1, 0;\n"
             "mov.b32 %c2, 0; mov.b32 %c3, 0;\n"
             "wmma.load.a.sync.aligned.col.m16n16k16.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, "
             "[%d0];\n"
             "wmma.load.b.sync.aligned.row.m16n16k16.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, "
             "[%d0+512];\n"
             "wmma.mma.sync.aligned.col.row.m16n16k16.f16.f16 {%c0,%c1,%c2,%c3},\n"
             "{%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, "
             "{%c0,%c1,%c2,%c3};\n"
             "wmma.store.d.sync.aligned.row.m16n16k16.f16 [%d1], {%c0,%c1,%c2,%c3}; ret; }\n");
    uint16_t *a = dev_alloc(1024);
    uint16_t *d = dev_alloc(512);

    for (unsigned k = 0; k < 256; k++) {
        a[k] = (uint16_t)(0x3c00 + k);
        a[256 + k] = k % 17 == 0 ? 0x3c00 : 0;
    }
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(a), PTR(d)), PTX_OK);
    for (unsigned k = 0; k < 256; k++)
        CHECK_EQ_INT(d[k], a[k % 16 * 16 + k / 16]);
    ptx_module_destroy(m);
}

static const char odd_module[] = HEAD
    ".file 1 \"a.c\", 5, 6\n"
    ".section .debug_info { .b32 1, .debug_abbrev .b8 3, 4 L1: .b64 L1+4 }\n@@DWARF .byte 1\n"
    ".func (.param .b32 r) seven () { st.param.b32 [r], 7; ret; }\n"
    ".func (.param .b32 r) other ();\n.alias other, seven;\n"
    ".func .attribute(.unified(1, 2)) (.param .b32 r) nine () { st.param.b32 [r], 9; "
    "ret; }\n"
    ".global .u64 table[2] = {seven, nine};\n"
    ".global .align 4 .u32 x[2][3] = {{1 + 2 * 3, -2}, {(1 << 4) | 3, WARP_SZ}};\n"
    ".global .u32 more[] = {5 > 3 ? 10 : 20, ~0 & 0xff, !0, 7 % 4, (.s64) 2.9, 0b101, 017, 3U};\n"
    ".global .f32 reals[3] = {1.5, 0f40000000, -2.0 * 1.5};\n"
    ".global .u64 where = generic(x) + 4;\n.global .u8 bytes[2] = {0xff(x), 0xff00(x)};\n"
    ".global .u64 plain = x;\n.const .u32 $odd_$name = 3;\n" ENTRY(
        "k") ".pragma \"nounroll\"; .loc 1 2 3, function_name L1, inlined_at 1 4 5\n"
             "proto: .callprototype (.param .b32 _) _ ();\n"
             "targets: .calltargets seven, nine;\n"
             "and.b32 %r1, %r0, 1; mov.u64 %d4, table; mad.wide.u32 %d4, %r1, 8, %d4; "
             "ld.global.u64 %d5, [%d4];\n"
             "{ .param .b32 r; call (r), %d5, (), proto; ld.param.b32 %r2, [r]; }\n"
             "{ .param .b32 r; call.uni (r), %d5, (), targets; ld.param.b32 %r3, [r]; }\n"
             "{ .param .b32 r; call (r), other; ld.param.b32 %r4, [r]; }\n"
             "add.u32 %r2, %r2, %r3; mad.lo.u32 %r2, %r4, 100, %r2; setp.eq.u32 %p1, %r0, 3;\n"
             "@ !%p1 st.global.u32 [%d3], %r2; @ %p1 st.global.u32 [%d3+4*2-8], 0x10 + 1; ret; }\n";

static const void *variable(const struct ptx_module *m, const char *name)
{
    for (size_t k = 0; k < ptx_module_variable_count(m); k++)
        if (strcmp(ptx_module_variable(m, k)->name, name) == 0)
            return (const void *)(uintptr_t)ptx_module_variable(m, k)->address;
    return NULL;
}

static void test_directives(void)
{
    static const uint32_t rows[] = {7, (uint32_t)-2, 0, 19, 32, 0};
    static const uint32_t more[] = {10, 0xff, 1, 3, 2, 5, 15, 3};
    static const float reals[] = {1.5f, 2.0f, -3.0f};
    struct ptx_module *m = dev_parse(odd_module);
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_MEM(variable(m, "x"), rows, sizeof(rows));
    CHECK_EQ_MEM(variable(m, "more"), more, sizeof(more));
    CHECK_EQ_MEM(variable(m, "reals"), reals, sizeof(reals));
    uint64_t x = PTR(variable(m, "x"));
    CHECK(*(const uint64_t *)variable(m, "where") == x + 4);
    CHECK(*(const uint64_t *)variable(m, "plain") == x);
    CHECK_EQ_INT(((const uint8_t *)variable(m, "bytes"))[1], x >> 8 & 0xff);
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_INT(b[4], 714);
    CHECK_EQ_INT(b[5], 718);
    CHECK_EQ_INT(b[3], 17);
    ptx_module_destroy(m);
}

static const struct {
    const char *line;
    int status;
    const char *word; /* in the log */
} refused[] = {
    {"wgmma.fence.sync.aligned;", PTX_INVALID, "sm_90a"},
    {"tcgen05.wait::ld.sync.aligned;", PTX_INVALID, "sm_100"},
    {"cp.async.bulk.tensor.1d.shared::cluster.global [sm], [%d0];", PTX_UNSUPPORTED, "tensor"},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%d0, "
     "{%r1}], [sm];",
     PTX_INVALID, "cp"},
    {"cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [sm], "
     "[%d0, {%r1,%r1,%r1}], [sm], {%h1,%h1};",
     PTX_UNSUPPORTED, "im2col::w"},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes "
     "[sm], [%d0, {%r1,%r1,%r1,%r1,%r1}], [sm];",
     PTX_INVALID, "sm_100"},
    {"tensormap.replace.tile.rank.global.b1024.b64 [%d1], %d1;", PTX_UNSUPPORTED, "tensormap"},
    {"tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], 16;", PTX_INVALID, "tensormap"},
    {"tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], %r1;", PTX_INVALID, "tensormap"},
    {"tensormap.replace.tile.global_stride.global.b1024.b64 [%d1], 4, %d1;", PTX_INVALID,
     "tensormap"},
    {"mma.sp.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%f1}, {%r1}, {%r2}, "
     "{%f1}, %r1, 0;",
     PTX_UNSUPPORTED, "mma.sp"},
    {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
     "{%r1,%r2,%r3,%r4}, {%f1,%f2,%f3,%f4}, %r1, 2;",
     PTX_INVALID, "mma"},
    {"cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;", PTX_INVALID, "sm_100"},
    {"fma.rn.oob.f16 %h1, %h2, %h3, %h4;", PTX_UNSUPPORTED, "oob"},
    {"ld.global.u32 %r1, [%r2];", PTX_INVALID, "32-bit"},
    {"ld.u32 %r1, [%r2];", PTX_INVALID, "32-bit"},
    {"cvta.to.global.u32 %r1, %r2;", PTX_INVALID, "32-bit"},
    {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1;", PTX_INVALID, "sm_100"},
    {"add.u32 %f1, %r1, %r2;", PTX_INVALID, "%f1"},
    {"add.u32 %r1, %r1, 1.5;", PTX_INVALID, "1.5"},
    {"add.f32 %f1, %f1, 1;", PTX_INVALID, "add"},
    {"add.u32 %r1, %r2;", PTX_INVALID, "add"},
    {"add.u32 %r1, %r2, %nothing;", PTX_INVALID, "%nothing"},
    {"and.u32 %r1, %r2, %r3;", PTX_UNSUPPORTED, "and.u32"},
    {"div.rn.sat.f32 %f1, %f2, %f3;", PTX_UNSUPPORTED, "div"},
    {"fma.f32 %f1, %f2, %f3, %f4;", PTX_UNSUPPORTED, "fma"},
    {"add.rz.f16 %h1, %h2, %h3;", PTX_UNSUPPORTED, "add"},
    {"setp.lo.s32 %p1, %r1, %r2;", PTX_UNSUPPORTED, "setp"},
    {"cvt.rn.u32.f32 %r1, %f1;", PTX_UNSUPPORTED, "cvt"},
    {"cvt.f32.s32 %f1, %r1;", PTX_UNSUPPORTED, "cvt"},
    {"add.f32x2 %d1, %d2, %d3;", PTX_INVALID, "sm_100"},
    {"bar.sync 16;", PTX_INVALID, "bar"},
    {"vmad.u32.u32.u32 %r1, -%r2, %r3, -%r4;", PTX_INVALID, "vmad"},
    {"add.u32 %r1, %r2.b0, %r3;", PTX_INVALID, "add"},
    {"atom.global.add.s64 %d1, [%d0], %d2;", PTX_UNSUPPORTED, "atom"},
    {"shfl.idx.b32 %r1, %r2, 0, 31;", PTX_UNSUPPORTED, "shfl"},
    {"mov.u32 %r1, 1 / 0;", PTX_INVALID, "expression"},
    {"bra nowhere;", PTX_INVALID, "nowhere"},
    {".reg .v2 .u32 %v; mov.v2.u32 %v, {1, 2, 3};", PTX_INVALID, "mov"},
    {".reg .v4 .u32 %v; mov.v2.u32 {%r1, %r2}, %v;", PTX_INVALID, "mov"},
    {".param .u64 %P<70000>;", PTX_INVALID, "%P"},
    {".local .u32 a[2]<2>;", PTX_INVALID, "a"},
};

static void test_refused(void)
{
    for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++) {
        char text[2048];
        snprintf(text, sizeof(text), "%s%s\nret; }\n", HEAD ENTRY("k"), refused[k].line);
        bool right = CHECK_EQ_INT(dev_try(text), refused[k].status) &&
                     CHECK(strstr(dev_log, "line 9;")) && CHECK(strstr(dev_log, refused[k].word));
        if (!right)
            fprintf(stderr, "%s: %s\n", refused[k].line, dev_log);
    }
    CHECK_EQ_INT(dev_try(".version 7.0\n.target sm_70\n.entry k { .reg .b32 %r<4>;\n"
                         "redux.sync.add.u32 %r1, %r2, -1; }"),
                 PTX_INVALID);
    CHECK(strstr(dev_log, "line 4;") && strstr(dev_log, "sm_80"));
}

/* Addresses have 64 bits, said or not, but for those of memory that is small. */
static void test_address_size(void)
{
    static const char body[] =
        ".const .align 4 .u32 pad[5]; .const .u32 c[2] = {7, 8};\n"
        ".entry k(.param .u64 out) { .reg .u32 %r<4>; .reg .u64 %d<4>;\n"
        "ld.param.u64 %d1, [out]; mov.u32 %r1, c; ld.const.u32 %r2, [%r1+4];\n"
        "add.u32 %r1, %r1, 4; ld.const.u32 %r3, [%r1+-4];\n"
        "st.global.v2.u32 [%d1], {%r2, %r3}; ret; }";
    char text[1024];
    uint32_t *out = dev_alloc(8);

    snprintf(text, sizeof(text), ".version 6.0\n.target sm_70\n%s", body);
    struct ptx_module *m = dev_parse(text);
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 1, PTR(out)), PTX_OK);
    CHECK_EQ_INT(out[0], 8);
    CHECK_EQ_INT(out[1], 7);
    ptx_module_destroy(m);
    snprintf(text, sizeof(text), ".version 6.0\n.target sm_70\n.address_size 32\n%s", body);
    CHECK_EQ_INT(dev_try(text), PTX_INVALID);
    CHECK(strstr(dev_log, "line 3;") && strstr(dev_log, ".address_size 32"));
    snprintf(text, sizeof(text), ".version 6.0\n.target sm_70\n.address_size 16\n%s", body);
    CHECK_EQ_INT(dev_try(text), PTX_INVALID);
    CHECK_EQ_INT(dev_try(".version 2.2\n.target sm_20\n.address_size 64\n.entry k { exit; }"),
                 PTX_INVALID);
    CHECK_EQ_INT(dev_try(".version 6.0\n.target sm_70\n.global .u32 g;\n"
                         ".entry k { .reg .u32 %r; mov.u32 %r, g; }"),
                 PTX_INVALID);
    CHECK(strstr(dev_log, "'g'"));
}

/* A third value, of sizes; a rounding of sums of doubles; kinds of variables; stores that are done
 * at once. */
static void test_newest(void)
{
    static const char text[] =
        ".version 9.0\n.target sm_100\n.address_size 64\n.global .texref t; .global .u32 g;\n"
        ".entry k(.param .u64 out) { .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .f64 %e<9>; .reg .b64 "
        "%d<9>;\n.reg .pred %p<9>; .reg .b16 %h<3>; ld.param.u64 %d1, [out];\n"
        "mov.f32 %f1, 0fC0400000; mov.f32 %f2, 0f40000000; mov.f32 %f3, 0fC0A00000;\n"
        "max.abs.f32 %f4, %f1, %f2, %f3; st.global.f32 [%d1], %f4;\n"
        "mov.f64 %e1, 0d3FF0000000000001; mov.f64 %e2, 0d3FF0000000000001; mov.f64 %e3, "
        "0d0000000000000000;\n"
        "mma.sync.aligned.m8n8k4.row.col.rp.f64.f64.f64.f64 {%e4, %e5}, {%e1}, {%e2}, {%e3, %e3};\n"
        "mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64 {%e6, %e7}, {%e1}, {%e2}, {%e3, %e3};\n"
        "mov.b64 %d2, %e4; mov.b64 %d3, %e6; sub.u64 %d2, %d2, %d3; st.global.u64 [%d1+8], %d2;\n"
        "mov.u64 %d4, t; istypep.texref %p1, %d4; istypep.surfref %p2, %d4; mov.u64 %d5, g;\n"
        "istypep.texref %p3, %d5; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2;\n"
        "selp.u32 %r3, 1, 0, %p3; shl.b32 %r2, %r2, 1; shl.b32 %r3, %r3, 2; or.b32 %r1, %r1, %r2;\n"
        "or.b32 %r1, %r1, %r3; st.async.mmio.release.sys.global.u32 [%d1+16], %r1;\n"
        "red.async.mmio.release.sys.global.add.u32 [%d1+20], 1;\n"
        "mov.b16 %h1, 0xC040; cvt.f64.bf16 %e8, %h1; st.global.f64 [%d1+24], %e8; ret; }";
    dev_target = 100;
    struct ptx_module *m = dev_parse(text);
    uint32_t *out = dev_alloc(32);
    float five = 5;
    double minus_three = -3;

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(out)), PTX_OK);
    CHECK_EQ_MEM(out, &five, sizeof(five));
    CHECK(out[2] > 0 && out[2] < 8);
    CHECK_EQ_INT(out[3], 0);
    CHECK_EQ_INT(out[4], 1);
    CHECK_EQ_INT(out[5], 32);
    CHECK_EQ_MEM(out + 6, &minus_three, sizeof(minus_three));
    ptx_module_destroy(m);
    dev_target = 90;
}

/* Modules that use memory of several devices load; here no address is of such memory. */
static void test_multimem(void)
{
    struct ptx_module *m = dev_parse(HEAD ENTRY(
        "k") "setp.eq.u32 %p1, %r0, 99; @!%p1 bra out;\n"
             "multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%d0];\n"
             "multimem.ld_reduce.weak.global.add.acc::f32.v4.f16x2 {%r1,%r2,%r3,%r4}, [%d0];\n"
             "multimem.st.relaxed.sys.global.u32 [%d0], %r1;\n"
             "multimem.red.release.sys.global.min.s64 [%d0], %d1;\n"
             "out: st.global.u32 [%d3], 7; setp.eq.u32 %p1, %r0, 32;\n"
             "@%p1 multimem.red.relaxed.gpu.global.add.v2.f32 [%d0+8], {%f1, %f2}; ret; }");
    uint32_t *b = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(b), PTR(b)), PTX_OK);
    CHECK_EQ_INT(b[31], 7);
    CHECK(DEV_RUN(m, "k", 1, 64, PTR(b), PTR(b)) != PTX_OK);
    CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_ADDRESS);
    CHECK(dev_fault.address == PTR(b) + 8);
    CHECK_EQ_INT(dev_fault.access, PTX_ACCESS_ATOMIC);
    ptx_module_destroy(m);
    CHECK_EQ_INT(dev_try(HEAD ENTRY("k") "multimem.st.global.add.u32 [%d0], %r1; }"),
                 PTX_UNSUPPORTED);
}

int main(void)
{
    test_multimem();
    test_mbarrier();
    test_cluster();
    test_alloca();
    test_atomics();
    test_move_matrices();
    test_move_vectors();
    test_numbered_params();
    test_indexed_names();
    test_variadic();
    test_members();
    test_workspace();
    test_reserved();
    test_carry_of_subtraction();
    test_wmma();
    test_wmma_half();
    test_directives();
    test_refused();
    test_address_size();
    test_newest();
    return check_result();
}
