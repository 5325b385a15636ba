/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch on several host threads: the same bytes and the same fault as on one, and only where
 * blocks cannot see one another.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 600, THREADS = 64, BAD = 300 };

/* The sum of a long loop into out[thread]; `tickets` also takes a number from a counter, whose
 * order shows; `sums` only adds to it; block BAD and those after it fault when `where` is not 0. */
static const char text[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
#define KERNEL(name, body)                                                                         \
    ".visible .entry " name "(.param .u64 out, .param .u64 counter, .param .u64 where)\n{\n"       \
    ".reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"                                           \
    "ld.param.u64 %d0, [out]; ld.param.u64 %d1, [counter]; ld.param.u64 %d2, [where];\n"           \
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 64, %r1;\n"                  \
    "mul.wide.u32 %d3, %r2, 4; add.u64 %d3, %d0, %d3; mov.u32 %r3, 60; mov.u32 %r4, %r2;\n" body  \
    "L: mad.lo.u32 %r4, %r4, 1664525, 1013904223; sub.u32 %r3, %r3, 1;\n"                          \
    "setp.ne.u32 %p, %r3, 0; @%p bra L;\n"                                                         \
    "setp.lt.u32 %p, %r0, 300; @%p mov.u64 %d2, 0;\n"                                              \
    "add.u64 %d3, %d3, %d2; st.global.u32 [%d3], %r4; ret;\n}\n"
    KERNEL("plain", "") KERNEL("sums", "red.global.add.u32 [%d1], %r2;\n")
        KERNEL("tickets", "atom.global.add.u32 %r4, [%d1], 1;\n") KERNEL(
            "order", "ld.volatile.global.u32 %r4, [%d1]; st.volatile.global.u32 [%d1], %r2;\n");

static uint8_t *memory;
static size_t memory_size;
static pthread_t first;
static atomic_int others; /* calls from other threads */

static bool is_accessible(void *user, uint64_t address, uint64_t size, bool write, uint64_t *start,
                          uint64_t *length)
{
    (void)user, (void)write;
    if (!pthread_equal(pthread_self(), first))
        atomic_fetch_add(&others, 1);
    *start = address; /* nothing more, so that it is asked each time */
    *length = size;
    return address >= PTR(memory) && address + size <= PTR(memory) + memory_size;
}

static int run(struct ptx_module *m, const char *kernel, unsigned threads,
               enum ptx_schedule schedule, uint64_t where)
{
    uint64_t params[] = {PTR(memory), PTR(memory) + memory_size - 4, where};
    struct ptx_launch l = {.module = m,
                           .function = ptx_module_find(m, kernel),
                           .grid = {BLOCKS, 1, 1},
                           .block = {THREADS, 1, 1},
                           .params = params,
                           .schedule = schedule,
                           .seed = 7,
                           .threads = threads,
                           .is_accessible = is_accessible};

    memset(memory, 0, memory_size);
    atomic_store(&others, 0);
    return ptx_run(&l, &dev_fault, &dev_instructions);
}

static void check_kernel(struct ptx_module *m, const char *kernel, bool is_shared)
{
    uint8_t *wanted = malloc(memory_size);

    CHECK_EQ_INT(run(m, kernel, 1, PTX_SCHEDULE_FIFO, 0), PTX_OK);
    CHECK_EQ_INT(atomic_load(&others), 0);
    uint64_t instructions = dev_instructions;
    memcpy(wanted, memory, memory_size);
    /* On a busy machine the others may come too late to a launch. */
    for (unsigned i = 0; i < 1000 && (i == 0 || (is_shared && !atomic_load(&others))); i++) {
        CHECK_EQ_INT(run(m, kernel, 4, PTX_SCHEDULE_FIFO, 0), PTX_OK);
        CHECK_EQ_MEM(memory, wanted, memory_size);
        CHECK_EQ_INT(dev_instructions, instructions);
    }
    if (!CHECK_EQ_INT(atomic_load(&others) > 0, is_shared))
        printf("  %s\n", kernel);
    free(wanted);
}

/* Which block is named does not depend on which thread was there first. */
static void check_fault(struct ptx_module *m)
{
    for (unsigned round = 0; round < 6; round++) {
        CHECK(run(m, "plain", 4, PTX_SCHEDULE_FIFO, 1ull << 40) != PTX_OK);
        CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_ADDRESS);
        CHECK_EQ_INT(dev_fault.block[0], BAD);
        CHECK_EQ_INT(dev_fault.thread[0], 0);
    }
}

int main(void)
{
    struct ptx_module *m = dev_parse(text);

    first = pthread_self();
    memory_size = BLOCKS * THREADS * 4 + 256;
    memory = dev_alloc(memory_size);
    check_kernel(m, "plain", true);
    check_kernel(m, "sums", true);
    check_kernel(m, "tickets", false);
    check_kernel(m, "order", false);
    CHECK_EQ_INT(run(m, "plain", 4, PTX_SCHEDULE_REVERSE, 0), PTX_OK);
    CHECK_EQ_INT(atomic_load(&others), 0);
    check_fault(m);
    ptx_module_destroy(m);
    return check_result();
}
