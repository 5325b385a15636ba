/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters: special registers, the barrier, shared memory of other blocks by every kind of access,
 * copies between blocks, schedules, what is a fault, and what races.
 */
#include "emu/ptx/check/watch.h"
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <string.h>

#define HEAD ".version 8.6\n.target sm_90\n.address_size 64\n"
/* %r0: the thread; %r1: the block's rank; %r2: blocks of the cluster; %r3: the rank after its own;
 * %r4: the thread's place in sm; %d2: its own word of `out`. */
#define ENTRY(directives)                                                                          \
    HEAD ".visible .entry k(.param .u64 out, .param .u64 in)" directives " {\n"                    \
         ".reg .b32 %r<30>; .reg .b64 %d<10>; .reg .pred %p<4>; .reg .b16 %h<4>; .reg .f32 "       \
         "%f<4>;\n"                                                                                \
         ".shared .align 128 .b8 sm[1024]; .shared .align 8 .b64 bar;\n"                           \
         "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in]; mov.u32 %r0, %tid.x;\n"                 \
         "mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank;\n"                        \
         "add.u32 %r3, %r1, 1; rem.u32 %r3, %r3, %r2;\n"                                           \
         "mov.u32 %r4, sm; mad.lo.u32 %r4, %r0, 4, %r4;\n"                                         \
         "mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x; mad.lo.u32 %r5, %r5, %r6, %r0;\n"           \
         "mad.wide.u32 %d2, %r5, 4, %d0;\n"
#define MEET "barrier.cluster.arrive; barrier.cluster.wait;\n"
#define END  "st.global.u32 [%d2], %r20; ret; }\n"

static int run(struct ptx_module *m, uint32_t grid, uint32_t block, uint32_t cluster,
               enum ptx_schedule schedule, void *out, void *in)
{
    struct dev_launch l = {.kernel = "k",
                           .grid = grid,
                           .block = block,
                           .cluster = {cluster, 1, 1},
                           .schedule = schedule};

    return dev_run(m, &l, (uint64_t[]){PTR(out), PTR(in)}, 2);
}

/* Every register that tells of clusters, in three dimensions. */
static void test_registers(void)
{
    static const char *const names[] = {
        "%clusterid.x",     "%clusterid.y",      "%clusterid.z",      "%nclusterid.x",
        "%nclusterid.y",    "%nclusterid.z",     "%cluster_ctaid.x",  "%cluster_ctaid.y",
        "%cluster_ctaid.z", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
        "%cluster_ctarank", "%cluster_nctarank"};
    char text[4096];
    uint32_t *out = dev_alloc(48 * 64);
    size_t used = (size_t)snprintf(
        text, sizeof(text), "%s",
        ENTRY("") "mov.u32 %r7, %ctaid.y; mov.u32 %r8, %ctaid.z; mov.u32 %r9, %ctaid.x;\n"
                  "mad.lo.u32 %r7, %r8, 4, %r7; mad.lo.u32 %r7, %r7, 6, %r9;\n"
                  "mad.wide.u32 %d3, %r7, 64, %d0;\n");
    for (unsigned k = 0; k < 14; k++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "mov.u32 %%r10, %s; st.global.u32 [%%d3+%u], %%r10;\n", names[k],
                                 4 * k);
    snprintf(text + used, sizeof(text) - used,
             "mov.pred %%p1, %%is_explicit_cluster; selp.u32 %%r10, 1, 0, %%p1; st.global.u32 [%%d3+56], %%r10; ret; }");
    struct ptx_module *m = dev_parse(text);
    struct dev_launch l = {
        .kernel = "k", .grid = 6, .grid_y = 4, .grid_z = 2, .block = 1, .cluster = {3, 2, 2}};

    CHECK_EQ_INT(dev_run(m, &l, (uint64_t[]){PTR(out), 0}, 2), PTX_OK);
    for (unsigned x = 0; x < 6; x++)
        for (unsigned y = 0; y < 4; y++)
            for (unsigned z = 0; z < 2; z++) {
                const uint32_t *got = out + 16 * (x + 6 * (y + 4 * z));
                uint32_t want[15] = {
                    x / 3, y / 2, 0, 2, 2, 1, x % 3, y % 2, z, 3, 2, 2, x % 3 + 3 * (y % 2 + 2 * z),
                    12,    1};
                CHECK_EQ_MEM(got, want, sizeof(want));
            }
    memset(l.cluster, 0, sizeof(l.cluster));
    CHECK_EQ_INT(dev_run(m, &l, (uint64_t[]){PTR(out), 0}, 2), PTX_OK);
    CHECK_EQ_INT(out[16 * 23 + 0], 5);
    CHECK_EQ_INT(out[16 * 23 + 13], 1);
    CHECK_EQ_INT(out[16 * 23 + 14], 0);
    ptx_module_destroy(m);
}

/* A ring: each block reads what the next one wrote, through shared::cluster and generic addresses.
 */
static void test_ring(void)
{
    struct ptx_module *m = dev_parse(ENTRY(
        "") "mad.lo.u32 %r10, %r1, 1000, %r0; st.shared.u32 [%r4], %r10;\n"
            "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
            "mapa.shared::cluster.u32 %r11, %r4, %r3; ld.shared::cluster.u32 %r20, [%r11];\n"
            "getctarank.shared::cluster.u32 %r12, %r11; mad.lo.u32 %r20, %r12, 100000, %r20;\n"
            "cvta.shared::cluster.u64 %d3, %d3; cvt.u64.u32 %d3, %r4; cvta.shared.u64 %d3, %d3;\n"
            "mapa.u64 %d4, %d3, %r3; ld.u32 %r13, [%d4]; add.u32 %r20, %r20, %r13;\n"
            "isspacep.shared::cluster %p0, %d4; isspacep.shared::cta %p1, %d4;\n"
            "isspacep.shared::cta %p2, %d3; getctarank.u64 %r14, %d3;\n"
            "@!%p0 mov.u32 %r20, 1; @%p1 mov.u32 %r20, 2; @!%p2 mov.u32 %r20, 3;\n"
            "setp.ne.u32 %p3, %r14, %r1; @%p3 mov.u32 %r20, 4;\n" MEET END);
    uint32_t *out = dev_alloc(16 * 64 * 4);
    static const enum ptx_schedule schedules[] = {PTX_SCHEDULE_FIFO, PTX_SCHEDULE_REVERSE,
                                                  PTX_SCHEDULE_RANDOM};

    for (unsigned s = 0; s < 3; s++) {
        memset(out, 0, 16 * 64 * 4);
        CHECK_EQ_INT(run(m, 16, 64, 8, schedules[s], out, out), PTX_OK);
        for (unsigned k = 0; k < 16 * 64; k++) {
            unsigned next = (k / 64 + 1) % 8;
            CHECK_EQ_INT(out[k], next * 102000 + 2 * (k % 64));
        }
    }
    ptx_module_destroy(m);
}

/* atom and red on the first block's memory, from all; sums of floats keep subnormals there. */
static void test_atomics(void)
{
    struct ptx_module *m = dev_parse(
        ENTRY("") "st.shared.u32 [%r4], 0; " MEET
                  "mov.u32 %r10, sm; mapa.shared::cluster.u32 %r11, %r10, 0;\n"
                  "atom.relaxed.cluster.shared::cluster.add.u32 %r12, [%r11], 1;\n"
                  "red.release.cluster.shared::cluster.add.u32 [%r11+4], %r12;\n"
                  "mov.b32 %f0, 0x00000001; red.shared::cluster.add.f32 [%r11+8], %f0;\n" MEET
                  "ld.shared::cluster.v2.u32 {%r13, %r14}, [%r11]; ld.shared::cluster.u32 %r15, "
                  "[%r11+8];\n"
                  "add.u32 %r20, %r13, %r14; add.u32 %r20, %r20, %r15;\n" MEET END);
    uint32_t *out = dev_alloc(4 * 32 * 4);

    CHECK_EQ_INT(run(m, 4, 32, 4, PTX_SCHEDULE_FIFO, out, out), PTX_OK);
    for (unsigned k = 0; k < 4 * 32; k++)
        CHECK_EQ_INT(out[k], 128 + 127 * 128 / 2 + 128);
    ptx_module_destroy(m);
}

/* One block waits at its barrier in memory for what all others send it: stores, arrivals, copies.
 */
static void test_messages(void)
{
    struct ptx_module *m = dev_parse(ENTRY(
        "") "setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r1, 0; mov.u32 %r10, sm;\n"
            "mov.u32 %r11, bar; mapa.shared::cluster.u32 %r12, %r11, 0;\n"
            "@%p0 bra met; mbarrier.init.shared::cta.b64 [bar], 4;\n"
            "fence.mbarrier_init.release.cluster;\nmet: " MEET
            "@%p0 bra sent; mad.lo.u32 %r13, %r1, 16, %r10;\n"
            "mapa.shared::cluster.u32 %r14, %r13, 0;\n"
            "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r12], 16;\n"
            "add.u32 %r15, %r1, 70; add.u32 %r16, %r1, 80;\n"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r14], {%r15, %r16}, "
            "[%r12];\n"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r14+8], 9, [%r12];\n"
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
            "[%r14], "
            "1000, [%r12]; mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r12], 4;\n"
            "sent: @%p1 bra done;\n"
            "wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0;\n"
            "@!%p2 bra wait; ld.shared.u32 %r20, [%r4];\n"
            "done: " MEET END);
    uint32_t *out = dev_alloc(4 * 32 * 4);

    CHECK_EQ_INT(run(m, 4, 16, 4, PTX_SCHEDULE_REVERSE, out, out), PTX_OK);
    for (unsigned k = 0; k < 4; k++) {
        CHECK_EQ_INT(out[4 * k], 1070 + k);
        CHECK_EQ_INT(out[4 * k + 1], 80 + k);
        CHECK_EQ_INT(out[4 * k + 2], 9);
    }
    ptx_module_destroy(m);
}

/* Bulk copies: to blocks of a mask, and from one block's memory to another's. */
static void test_copies(void)
{
    struct ptx_module *m = dev_parse(ENTRY(
        "") "setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r1, 1; or.pred %p2, %p0, %p1;\n"
            "mov.u32 %r10, bar; @%p0 bra met; mbarrier.init.shared::cta.b64 [bar], 1;\n"
            "setp.eq.u32 %p3, %r1, 0; selp.u32 %r14, 256, 128, %p3;\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %r14; met: " MEET
            "@%p2 bra sent;\n"
            "mov.b16 %h0, 13; mov.u32 %r11, sm;\n"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[%r11], [%d1], 128, [%r10], %h0;\n"
            "sent: setp.eq.u32 %p3, %r1, 1; @%p3 bra end;\n"
            "wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra wait;\n"
            "setp.ne.u32 %p3, %r1, 3; or.pred %p3, %p3, %p0; @%p3 bra end;\n"
            "mapa.shared::cluster.u32 %r12, %r10, 0; mov.u32 %r11, sm;\n"
            "add.u32 %r13, %r11, 128; mapa.shared::cluster.u32 %r13, %r13, 0;\n"
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r13], "
            "[%r11], "
            "128, [%r12];\n"
            "end: " MEET "ld.shared.u32 %r20, [%r4]; ld.shared.u32 %r21, [%r4+128];\n"
            "add.u32 %r20, %r20, %r21;\n" END);
    uint32_t *out = dev_alloc(4 * 32 * 4);
    uint32_t *in = dev_alloc(128);

    for (unsigned k = 0; k < 32; k++)
        in[k] = 5 + k;
    CHECK_EQ_INT(run(m, 4, 32, 4, PTX_SCHEDULE_RANDOM, out, in), PTX_OK);
    for (unsigned k = 0; k < 32; k++) {
        CHECK_EQ_INT(out[k], 2 * (5 + k));
        CHECK_EQ_INT(out[32 + k], 0); /* not in the mask */
        CHECK_EQ_INT(out[64 + k], 5 + k);
        CHECK_EQ_INT(out[96 + k], 5 + k);
    }
    ptx_module_destroy(m);
}

/* Threads that have exited are not waited for. */
static void test_exits(void)
{
    struct ptx_module *m = dev_parse(ENTRY("") "setp.lt.u32 %p0, %r0, %r1; @%p0 exit;\n" MEET MEET
                                               "mov.u32 %r20, 7;\n" END);
    uint32_t *out = dev_alloc(2 * 64 * 4);

    CHECK_EQ_INT(run(m, 2, 64, 2, PTX_SCHEDULE_FIFO, out, out), PTX_OK);
    CHECK_EQ_INT(out[63], 7);
    CHECK_EQ_INT(out[64], 0);
    CHECK_EQ_INT(out[65], 7);
    ptx_module_destroy(m);
}

/* Outside a block's memory; a rank that no block has; a block that is gone; shared::cta elsewhere.
 */
static void test_faults(void)
{
    static const struct {
        const char *code;
        uint64_t address;
    } faults[] = {
        {"mapa.shared::cluster.u32 %r10, %r4, 1; st.shared::cluster.u32 [%r10+65536], 1;\n" MEET,
         (2u << 24) + 65536},
        {"mapa.shared::cluster.u32 %r10, %r4, 2; st.shared::cluster.u32 [%r10], 1;\n" MEET,
         3u << 24},
        {"mapa.shared::cluster.u32 %r10, %r4, 1; st.shared.u32 [%r10], 1;\n" MEET, 2u << 24},
        {"setp.eq.u32 %p0, %r1, 1; @%p0 exit; mapa.shared::cluster.u32 %r10, %r4, 1;\n"
         "again: ld.volatile.shared::cluster.u32 %r20, [%r10]; bra again;\n",
         2u << 24},
    };
    uint32_t *out = dev_alloc(256);

    for (unsigned k = 0; k < sizeof(faults) / sizeof(faults[0]); k++) {
        char text[2048];
        snprintf(text, sizeof(text), "%s%s%s", ENTRY(""), faults[k].code, END);
        struct ptx_module *m = dev_parse(text);
        CHECK(run(m, 2, 1, 2, PTX_SCHEDULE_FIFO, out, out) != PTX_OK);
        CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_ADDRESS);
        CHECK_EQ_INT(dev_fault.address, faults[k].address);
        ptx_module_destroy(m);
    }
    struct ptx_module *m = dev_parse(ENTRY("") "setp.eq.u32 %p0, %r1, 1; @%p0 bra over; " MEET
                                               "over: bar.sync 0, 64;\n" END);
    CHECK(run(m, 2, 32, 2, PTX_SCHEDULE_FIFO, out, out) != PTX_OK);
    CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_HANG);
    ptx_module_destroy(m);
}

static unsigned findings;
static struct ptx_finding finding;

static void found(void *user, const struct ptx_finding *f)
{
    (void)user;
    findings++;
    finding = *f;
}

/* Each of two lanes stores a word, something happens, and reads the other's. */
#define ONE_WARP(between)                                                                          \
    "setp.ne.u32 %p0, %r0, 0; @%p0 bra met; mbarrier.init.shared::cta.b64 [bar], 2;\n"             \
    "met: bar.warp.sync 3; st.shared.u32 [%r4], %r0;\n" between                                    \
    "xor.b32 %r10, %r4, 4; ld.shared.u32 %r20, [%r10];\n"

/* Who writes a neighbour's memory before it has met it races; uninitialised bytes are the owner's.
 */
static void test_checks(void)
{
    static const struct {
        const char *code;
        enum ptx_check check;
        unsigned findings;
        unsigned threads; /* a block */
    } cases[] = {
        {ONE_WARP(
             "arrive: mbarrier.arrive.shared::cta.b64 _, [bar];\n"
             "wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra wait;\n"),
         PTX_CHECK_RACE, 0, 2},
        {ONE_WARP(""), PTX_CHECK_RACE, 4, 2},
        {"mapa.shared::cluster.u32 %r10, %r4, %r3; st.shared.u32 [%r4], %r1;\n" MEET
         "ld.shared::cluster.u32 %r20, [%r10];\n" MEET,
         PTX_CHECK_RACE, 0, 1},
        {"mapa.shared::cluster.u32 %r10, %r4, %r3; st.shared.u32 [%r4], %r1;\n"
         "barrier.sync 0; ld.shared::cluster.u32 %r20, [%r10];\n" MEET,
         PTX_CHECK_RACE, 2, 1},
        {"mapa.shared::cluster.u32 %r10, %r4, %r3; st.shared::cluster.u32 [%r10], %r1;\n" MEET
         "ld.shared.u32 %r20, [%r4];\n" MEET,
         PTX_CHECK_UNINIT, 0, 1},
        {"mapa.shared::cluster.u32 %r10, %r4, 1; st.shared::cluster.u32 [%r10], %r1;\n" MEET
         "ld.shared.u32 %r20, [%r4];\n" MEET,
         PTX_CHECK_UNINIT, 1, 1},
        {"st.global.u32 [%d2], %r1; " MEET "mad.wide.u32 %d3, %r3, 4, %d0; ld.global.u32 %r20, "
         "[%d3];\n" MEET,
         PTX_CHECK_BLOCKS, 0, 1},
        {"st.global.u32 [%d2], %r1; mad.wide.u32 %d3, %r3, 4, %d0; ld.global.u32 %r20, "
         "[%d3];\n" MEET,
         PTX_CHECK_BLOCKS, 2, 1},
    };
    uint32_t *out = dev_alloc(256);

    for (unsigned k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char text[2048];
        snprintf(text, sizeof(text), "%s%s%s", ENTRY(""), cases[k].code, END);
        struct ptx_module *m = dev_parse(text);
        struct ptx_watch watch = {.checks = cases[k].check, .found = found};
        struct dev_launch l = {.kernel = "k",
                               .grid = 2,
                               .block = cases[k].threads,
                               .cluster = {2, 1, 1},
                               .watch = &watch};
        findings = 0;
        CHECK_EQ_INT(dev_run(m, &l, (uint64_t[]){PTR(out), 0}, 2), PTX_OK);
        CHECK_EQ_INT(findings, cases[k].findings);
        if (findings && cases[k].check == PTX_CHECK_RACE && cases[k].threads == 1)
            CHECK(finding.other.block[0] != finding.place.block[0]);
        ptx_module_destroy(m);
    }
}

#define CANCEL_BLOCKS 1400 /* more than are resident at a time */

/* Clusters take the work of those that have not started: each block of the grid is done once, and
 * fewer clusters start. */
static void test_cancel(void)
{
    static const char text[] =
        ".version 9.0\n.target sm_100\n.address_size 64\n"
        ".entry k(.param .u64 out, .param .u64 starts) {\n"
        ".reg .b32 %r<20>; .reg .b64 %d<9>; .reg .pred %p<4>; .reg .b128 %q<2>;\n"
        ".shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;\n"
        "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [starts]; mov.u32 %r1, %cluster_ctarank;\n"
        "mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0; red.global.add.u32 [%d1], 1;\n"
        "mbarrier.init.shared::cta.b64 [bar], 1; barrier.cluster.arrive; barrier.cluster.wait;\n"
        "next: mad.wide.u32 %d2, %r2, 4, %d0; red.global.add.u32 [%d2], 1;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
        "barrier.cluster.arrive; barrier.cluster.wait; setp.ne.u32 %p0, %r1, 0; @%p0 bra wait;\n"
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
        ".multicast::cluster::all.b128 [answer], [bar];\n"
        "wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], %r3; @!%p1 bra wait;\n"
        "xor.b32 %r3, %r3, 1; ld.shared.b128 %q0, [answer];\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0; @!%p2 bra end;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r4, %r5, _, _}, %q0;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r6, %q0;\n"
        "add.u32 %r2, %r6, %r1; sub.u32 %r4, %r4, %r6; add.u32 %r2, %r2, %r4; bra next;\n"
        "end: ret; }";
    static const enum ptx_schedule schedules[] = {PTX_SCHEDULE_FIFO, PTX_SCHEDULE_RANDOM};
    dev_target = 100;
    struct ptx_module *m = dev_parse(text);
    uint32_t *out = dev_alloc((CANCEL_BLOCKS + 1) * 4);
    uint32_t *starts = dev_alloc(4);

    for (unsigned s = 0; s < 2; s++) {
        memset(out, 0, (CANCEL_BLOCKS + 1) * 4);
        *starts = 0;
        CHECK_EQ_INT(run(m, CANCEL_BLOCKS, 1, 2, schedules[s], out, starts), PTX_OK);
        for (unsigned k = 0; k < CANCEL_BLOCKS; k++)
            CHECK_EQ_INT(out[k], 1);
        CHECK_EQ_INT(out[CANCEL_BLOCKS], 0);
        CHECK(*starts >= 2);
        CHECK(*starts < CANCEL_BLOCKS);
    }
    ptx_module_destroy(m);
    dev_target = 90;
}

static void test_directives(void)
{
    struct ptx_module *m = dev_parse(ENTRY(" .explicitcluster .reqnctapercluster 2, 3, 1") END);
    const struct ptx_function *f = ptx_module_find(m, "k");

    CHECK_EQ_INT(f->cluster[0], 2);
    CHECK_EQ_INT(f->cluster[1], 3);
    CHECK_EQ_INT(f->cluster[2], 1);
    CHECK(f->is_explicit_cluster);
    ptx_module_destroy(m);
    m = dev_parse(ENTRY(" .maxclusterrank 8") END);
    CHECK_EQ_INT(ptx_module_find(m, "k")->cluster_max, 8);
    ptx_module_destroy(m);
    CHECK_EQ_INT(dev_try(ENTRY(" .maxclusterrank 8 .reqnctapercluster 2") END), PTX_INVALID);
    CHECK_EQ_INT(dev_try(ENTRY(" .blocksareclusters .reqnctapercluster 2") END), PTX_INVALID);
    CHECK_EQ_INT(dev_try(".version 7.8\n.target sm_80\n.address_size 64\n"
                         ".entry k .reqnctapercluster 2 { ret; }"),
                 PTX_INVALID);
    CHECK_EQ_INT(dev_try(ENTRY("") "mbarrier.test_wait.shared::cluster.b64 %p0, [%r0], %d0;\n" END),
                 PTX_UNSUPPORTED);
    CHECK_EQ_INT(dev_try(ENTRY("") "mbarrier.arrive.shared::cluster.b64 %d0, [%r0];\n" END),
                 PTX_INVALID);
}

int main(void)
{
    test_registers();
    test_ring();
    test_atomics();
    test_messages();
    test_copies();
    test_exits();
    test_faults();
    test_checks();
    test_cancel();
    test_directives();
    return check_result();
}
