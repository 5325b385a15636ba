/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that fill all of tensor memory, do something, and give all of it back. Include once per
 * program, after the harness and the checks.
 */
#ifndef TESTS_PTX_PTX_TENSOR_MEMORY_H
#define TESTS_PTX_PTX_TENSOR_MEMORY_H

#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS    512
#define LANES      128
#define IMAGE_SIZE (96u << 10)
#define A_AT       0u
#define B_AT       (48u << 10)

typedef uint32_t memory_cells[COLUMNS][LANES];

static memory_cells *cells;  /* of each block; the kernel writes them back */
static memory_cells *wanted; /* what they are to be */
static uint8_t (*images)[IMAGE_SIZE];
static uint64_t *operands; /* a, b, and 32-bit words that tests choose */
static uint32_t *words;    /* registers of threads */

static uint32_t seed = 7;

static uint32_t draw(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16 | seed << 16;
}

/* ---- kernels ---- */

/* Returns how many characters it has written. */
__attribute__((format(printf, 2, 3))) static size_t append(char *out, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    int count = vsprintf(out, format, list);
    va_end(list);
    return (size_t)count;
}

static size_t list(char *out, unsigned first, unsigned count)
{
    size_t used = append(out, "{");

    for (unsigned k = 0; k < count; k++)
        used += append(out + used, "%s%%q%u", k ? "," : "", first + k);
    return used + append(out + used, "}");
}

/* Loops over tensor memory, 32 columns at a time. %r1: thread; %r20: address of tensor memory with
 * the warp's lanes; %d2: cells of the block. */
static size_t write_loop(char *out, bool stores, const char *label)
{
    size_t used =
        append(out,
                        "mov.u32 %%r10, 0;\n%s: mad.wide.u32 %%d9, %%r10, 512, %%d2;\n"
                        "mad.wide.u32 %%d9, %%r1, 4, %%d9; add.u32 %%r11, %%r20, %%r10;\n",
                        label);

    for (unsigned k = 0; k < 32 && stores; k++)
        used += append(out + used, "ld.global.b32 %%q%u, [%%d9+%u];\n", k, 512 * k);
    used += append(out + used, stores ? "tcgen05.st.sync.aligned.32x32b.x32.b32 [%%r11], "
                                               : "tcgen05.ld.sync.aligned.32x32b.x32.b32 ");
    used += list(out + used, 0, 32);
    used += append(out + used, stores ? ";\ntcgen05.wait::st.sync.aligned;\n"
                                               : ", [%%r11];\ntcgen05.wait::ld.sync.aligned;\n");
    for (unsigned k = 0; k < 32 && !stores; k++)
        used += append(out + used, "st.global.b32 [%%d9+%u], %%q%u;\n", 512 * k, k);
    return used + append(out + used,
                                  "add.u32 %%r10, %%r10, 32; setp.lt.u32 %%p1, %%r10, 512;\n"
                                  "@%%p1 bra %s;\n",
                                  label);
}

/* `warp`: what every warp does; `thread`: what thread 0 of the first block does, then all wait for
 * it. %d5, %d6: the first operands; %r21 to %r28: the words after them; %d3: registers of threads.
 */
static void write_kernel(char *out, unsigned group, const char *warp, const char *thread)
{
    size_t used = append(
        out,
        ".version 8.8\n.target sm_100a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
        ".visible .entry k(.param .u64 image, .param .u64 cells, .param .u64 ops, .param .u64 regs)"
        " {\n.reg .b32 %%r<40>; .reg .b32 %%q<128>; .reg .b64 %%d<16>; .reg .pred %%p<6>;\n"
        ".reg .b16 %%h<2>; .shared .align 8 .b64 bar; .shared .b32 at;\n"
        "ld.param.u64 %%d1, [image]; ld.param.u64 %%d2, [cells]; ld.param.u64 %%d4, [ops];\n"
        "ld.param.u64 %%d3, [regs]; mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%cluster_ctarank;\n"
        "mad.wide.u32 %%d1, %%r2, %u, %%d1; mad.wide.u32 %%d2, %%r2, %u, %%d2;\n"
        "mad.wide.u32 %%d3, %%r1, 512, %%d3; shl.b32 %%r3, %%r1, 4; mov.u32 %%r4, s;\n"
        "C: cvt.u64.u32 %%d9, %%r3; add.u64 %%d9, %%d9, %%d1; add.u32 %%r5, %%r4, %%r3;\n"
        "ld.global.v4.u32 {%%q0,%%q1,%%q2,%%q3}, [%%d9];\n"
        "st.shared.v4.u32 [%%r5], {%%q0,%%q1,%%q2,%%q3}; add.u32 %%r3, %%r3, 2048;\n"
        "setp.lt.u32 %%p1, %%r3, %u; @%%p1 bra C;\n"
        "ld.global.u64 %%d5, [%%d4]; ld.global.u64 %%d6, [%%d4+8];\n"
        "ld.global.v4.u32 {%%r21,%%r22,%%r23,%%r24}, [%%d4+16];\n"
        "ld.global.v4.u32 {%%r25,%%r26,%%r27,%%r28}, [%%d4+32];\n"
        "setp.ne.u32 %%p2, %%r1, 0; @!%%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n"
        "setp.ge.u32 %%p3, %%r1, 32; @%%p3 bra D;\n"
        "tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [at], 512;\n"
        "tcgen05.relinquish_alloc_permit.cta_group::%u.sync.aligned;\n"
        "D: bar.sync 0; ld.shared.u32 %%r20, [at]; and.b32 %%r6, %%r1, 96; shl.b32 %%r6, %%r6, "
        "16;\n"
        "add.u32 %%r20, %%r20, %%r6; setp.ne.u32 %%p4, %%r2, 0; or.pred %%p5, %%p2, %%p4;\n"
        "setp.ne.u32 %%p3, %%r28, 0; shr.u32 %%r7, %%r4, 4; cvt.u64.u32 %%d9, %%r7;\n"
        "add.u64 %%d5, %%d5, %%d9; add.u64 %%d6, %%d6, %%d9;\n",
        IMAGE_SIZE, (unsigned)sizeof(memory_cells), IMAGE_SIZE, group, group);

    used += write_loop(out + used, true, "E");
    used += append(
        out + used,
        "tcgen05.fence::before_thread_sync; bar.sync 0; barrier.cluster.arrive.aligned;\n"
        "barrier.cluster.wait.aligned; tcgen05.fence::after_thread_sync;\n%s\n@%%p5 bra F;\n%s\n"
        "mov.u16 %%h1, %u;\n"
        "tcgen05.commit.cta_group::%u.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
        "[bar], %%h1;\n"
        "F: mbarrier.try_wait.parity.shared::cta.b64 %%p1, [bar], 0; @!%%p1 bra F;\n"
        "tcgen05.fence::after_thread_sync; bar.sync 0;\n",
        warp, thread, group == 2 ? 3 : 1, group);
    used += write_loop(out + used, false, "G");
    append(out + used,
            "bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
            "setp.ge.u32 %%p3, %%r1, 32; @%%p3 bra H; and.b32 %%r20, %%r20, 65535;\n"
            "tcgen05.dealloc.cta_group::%u.sync.aligned.b32 %%r20, 512;\nH: ret;\n}\n",
            group);
}

/* Runs it with what is in cells, images, operands and words. */
static bool run_kernel(unsigned group, const char *warp, const char *thread)
{
    static char text[64 << 10];
    struct ptx_module *m;

    write_kernel(text, group, warp, thread);
    m = dev_parse(text);
    int status = dev_run(m,
                         &(struct dev_launch){.kernel = "k",
                                              .grid = group,
                                              .block = 128,
                                              .cluster = {group, 1, 1},
                                              .shared = IMAGE_SIZE},
                         (uint64_t[]){PTR(images), PTR(cells), PTR(operands), PTR(words)}, 4);
    ptx_module_destroy(m);
    return CHECK_EQ_INT(status, PTX_OK);
}

static void draw_cells(void)
{
    for (unsigned b = 0; b < 2; b++)
        for (unsigned c = 0; c < COLUMNS; c++)
            for (unsigned l = 0; l < LANES; l++)
                cells[b][c][l] = draw();
}

static bool check_cells(unsigned blocks, const char *what)
{
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned c = 0; c < COLUMNS; c++)
            for (unsigned l = 0; l < LANES; l++)
                if (cells[b][c][l] != wanted[b][c][l]) {
                    fprintf(stderr, "%s: block %u lane %u column %u is %08x, not %08x\n", what, b,
                            l, c, cells[b][c][l], wanted[b][c][l]);
                    return CHECK(false);
                }
    return true;
}

#endif
