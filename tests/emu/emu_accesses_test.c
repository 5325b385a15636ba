/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses of commands, as the private interface gives them: each byte of global memory that a
 * kernel, a copy, a fill or a graph has read or written, and nothing else.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "api/cuda/abi_times.h"
#include "tests/emu/emu_test.h"
#include "tracesmith/trace.h"

enum {
    R = SBT_ACCESS_READ,
    W = SBT_ACCESS_WRITTEN,
    SOME = SBT_ACCESS_SOME,
    OWN = SBT_ACCESS_OWN,
    ARRAY = SBT_ACCESS_ARRAY
};

/* NAME(a, b): thread i has %a = a + 4 i, %b = b + 4 i, %i = i. */
#define KERNEL(name, what)                                                                         \
    ".visible .entry " name "(.param .u64 a, .param .u64 b)\n{\n"                                  \
    " .reg .pred %p<3>; .reg .b16 %h<4>; .reg .b32 %i, %r<9>; .reg .f32 %f<4>;\n"                  \
    " .reg .b64 %a, %b, %d<9>; .local .align 4 .b8 own[64]; .shared .align 16 .b8 all[64];\n"      \
    " ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; mov.u32 %i, %tid.x;\n"                           \
    " mov.u32 %r8, %ctaid.x; mov.u32 %r7, %ntid.x; mad.lo.u32 %i, %r8, %r7, %i;\n"                 \
    " mul.wide.u32 %d1, %i, 4; add.u64 %a, %a, %d1; add.u64 %b, %b, %d1;\n" what " ret;\n}\n"

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".global .align 4 .b8 table[16] = {1, 2, 3, 4};\n"
    ".const .align 4 .b8 fixed[8] = {5, 6, 7, 8};\n" KERNEL(
        "own", "st.global.u32 [%a], %i; ld.global.u32 %r1, [%a];\n")
        KERNEL("own_half", "st.global.u16 [%a], %i; ld.global.u32 %r1, [%a];\n") KERNEL(
            "own_late", "ld.global.u8 %r1, [%a]; st.global.u32 [%a], %i; ld.global.u32 %r1, "
                        "[%a];\n") KERNEL("own_atom",
                                          "st.global.u32 [%a], %i; atom.global.add.u32 %r1, [%a], "
                                          "1;\n") KERNEL("store", "st.global.u32 [%a], %i;\n")
            KERNEL("copy", "ld.global.u32 %r1, [%b]; st.global.u32 [%a], %r1;\n") KERNEL(
                "some", "setp.lt.u32 %p1, %i, 3; @%p1 st.global.u32 [%a], %i;\n")
                KERNEL("none", "setp.lt.u32 %p1, %i, 0; @%p1 st.global.u32 [%a], %i;\n") KERNEL(
                    "generic",
                    "st.u32 [%a], %i; ld.u8 %r1, [%b];\n") KERNEL("wide", "add.u64 %a, %a, %d1; "
                                                                          "add.u64 %a, %a, %d1; "
                                                                          "add.u64 %a, %a, %d1;\n"
                                                                          "st.global.v4.u32 [%a], "
                                                                          "{%i, %i, %i, %i};\n")
                    KERNEL("apart", "add.u64 %a, %a, %d1; st.global.u16 [%a], %i;\n") KERNEL(
                        "pages",
                        "mul.wide.u32 %d1, %i, 4096; add.u64 %a, %a, %d1; st.global.u8 [%a], "
                        "%i;\n") KERNEL("back", "ld.global.u32 %r1, [%a]; add.u32 %r1, %r1, "
                                                "1; st.global.u32 [%a], %r1;\n")
                        KERNEL("atom", "atom.global.add.u32 %r1, [%a], 1;\n") KERNEL(
                            "red", "red.global.add.u32 [%a], 1;\n") KERNEL("cas",
                                                                           "atom.global.cas.b32 "
                                                                           "%r1, [%a], 7, 8;\n")
                            KERNEL("volatile", "st.volatile.global.u32 [%a], %i;\n") KERNEL(
                                "private",
                                "st.local.u32 [own], %i; ld.local.u32 %r1, [own]; st.shared.u32 "
                                "[all], "
                                "%i;\n"
                                "bar.sync 0; ld.shared.u32 %r2, [all]; cvta.local.u64 %d2, own;\n"
                                "mov.u64 %d3, own; cvta.local.u64 %d3, %d3; st.u32 [%d3+4], %r2;\n")
                                KERNEL(
                                    "table_of",
                                    "mov.u64 %d2, table; cvta.global.u64 %d2, %d2; "
                                    "ld.u32 %r1, [%d2+4];\n"
                                    "st.global.u32 [%a], %r1;\n") KERNEL("constant",
                                                                         "ld.const.u32 %r1, "
                                                                         "[fixed+4]; st.global.u32 "
                                                                         "[%a], %r1;\n")
                                    KERNEL("async",
                                           "mov.u32 %r1, all; cp.async.ca.shared.global [%r1], "
                                           "[%b], 4;\n"
                                           "cp.async.wait_all; bar.sync 0; st.global.u32 [%a], "
                                           "%i;\n") KERNEL("async_part",
                                                           "mov.u32 %r1, all; mov.u32 %r2, 3;\n"
                                                           "cp.async.ca.shared.global [%r1], "
                                                           "[%b], 4, %r2;\n"
                                                           "cp.async.wait_all;\n")
                                        KERNEL("bulk",
                                               "mov.u32 %r1, all; setp.eq.u32 %p1, %i, 0;\n"
                                               "@%p1 cp.async.bulk.global.shared::cta.bulk_group "
                                               "[%a], "
                                               "[%r1], 64;\n") KERNEL("bulk_add",
                                                                      "mov.u32 %r1, all; "
                                                                      "setp.eq.u32 %p1, %i, 0;\n"
                                                                      "@%p1 "
                                                                      "cp.reduce.async.bulk.global."
                                                                      "shared::cta.bulk_group."
                                                                      "add.u32 [%a], [%r1], 64;\n")
                                            KERNEL("fails", "st.global.u32 [%a], %i; mov.u64 %d2, "
                                                            "64; st.global.u32 [%d2], %i;\n")
                                                KERNEL("store_to",
                                                       "ld.param.u64 %d2, [b]; sust.b.2d.b32.trap "
                                                       "[%d2, {0, 0}], {%i};\n")
                                                    KERNEL(
                                                        "fetch",
                                                        "ld.param.u64 %d2, [b]; mov.u32 %r1, 0;\n"
                                                        "tex.2d.v4.u32.s32 {%r3, %r4, %r5, %r6}, "
                                                        "[%d2, {%r1, %r1}];\n");

#define ROOM (4200u * 2048) /* of a */

static const struct tsm_emu_times *times;
static CUmodule module;
static CUdeviceptr a, b;

/* An expected range; they are in order of addresses. */
struct range {
    uint64_t address, size, flags;
};

static void check(struct tsm_emu_ticket *ticket, const char *what, unsigned count,
                  const struct range *wanted)
{
    const uint64_t(*list)[3] = NULL;
    size_t found = 0;
    uint64_t start, end;

    OK(cuCtxSynchronize());
    CHECK(times->accesses(ticket, &list, &found));
    if (found != count)
        fprintf(stderr, "%s: %zu ranges\n", what, found);
    CHECK_EQ_INT(found, count);
    for (unsigned i = 0; i < count; i++) {
        if (list[i][0] != wanted[i].address || list[i][1] != wanted[i].size ||
            list[i][2] != wanted[i].flags)
            fprintf(stderr, "%s: range %u is %llx %llu %llu\n", what, i,
                    (unsigned long long)list[i][0], (unsigned long long)list[i][1],
                    (unsigned long long)list[i][2]);
        CHECK_EQ_INT(list[i][0], wanted[i].address);
        CHECK_EQ_INT(list[i][1], wanted[i].size);
        CHECK_EQ_INT(list[i][2], wanted[i].flags);
    }
    CHECK(times->read(ticket, &start, &end) != TSM_EMU_TIMES_NOT_YET);
}

static void check_unknown(struct tsm_emu_ticket *ticket)
{
    const uint64_t(*list)[3];
    size_t count;

    cuCtxSynchronize();
    CHECK(!times->accesses(ticket, &list, &count));
    times->drop(ticket);
}

static struct tsm_emu_ticket *launch(const char *name, unsigned blocks, unsigned threads,
                                     uint64_t to, uint64_t from)
{
    void *parameters[] = {&to, &from};
    struct tsm_emu_ticket *ticket;
    CUfunction f;

    OK(cuModuleGetFunction(&f, module, name));
    ticket = times->begin();
    times->observe(ticket);
    OK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL));
    times->end(ticket);
    return ticket;
}

#define EXPECT(ticket, what, ...)                                                                  \
    do {                                                                                           \
        const struct range wanted_[] = {__VA_ARGS__};                                              \
        check(ticket, what, sizeof(wanted_) / sizeof(wanted_[0]), wanted_);                        \
    } while (0)
#define KERNEL_IS(name, blocks, threads, ...)                                                      \
    EXPECT(launch(name, blocks, threads, a, b), name, __VA_ARGS__)

static void test_kernels(void)
{
    CUdeviceptr table;
    size_t size;

    OK(cuModuleGetGlobal_v2(&table, &size, module, "table"));
    KERNEL_IS("store", 3, 100, {a, 1200, W});
    KERNEL_IS("copy", 2, 32, {a, 256, W}, {b, 256, R});
    EXPECT(launch("copy", 1, 32, a, a + 64), "copy", {a, 64, W}, {a + 64, 64, R | W},
           {a + 128, 64, R});
    KERNEL_IS("some", 1, 32, {a, 12, W});
    check(launch("none", 1, 32, a, b), "none", 0, NULL);
    KERNEL_IS("generic", 1, 2, {a, 8, W}, {b, 1, R}, {b + 4, 1, R});
    KERNEL_IS("wide", 1, 64, {a, 1024, W});
    KERNEL_IS("back", 1, 33, {a, 132, R | W});
    KERNEL_IS("atom", 1, 8, {a, 32, R | W});
    KERNEL_IS("red", 1, 8, {a, 32, R | W});
    KERNEL_IS("cas", 1, 8, {a, 32, R | W});
    KERNEL_IS("volatile", 1, 8, {a, 32, W});
    check(launch("private", 2, 32, a, b), "private", 0, NULL);
    EXPECT(launch("table_of", 1, 1, a, b), "table_of", {a, 4, W}, {table + 4, 4, R});
    KERNEL_IS("async", 1, 8, {a, 32, W}, {b, 32, R});
    KERNEL_IS("async_part", 1, 1, {b, 3, R});
    KERNEL_IS("bulk", 1, 32, {a, 64, W});
    KERNEL_IS("bulk_add", 1, 32, {a, 64, R | W});
    KERNEL_IS("own", 3, 100, {a, 1200, R | W | OWN});
    KERNEL_IS("own", 5, 1024, {a, 20480, R | W | OWN}); /* whole pages */
    KERNEL_IS("own_half", 1, 2, {a, 2, R | W | OWN}, {a + 2, 2, R}, {a + 4, 2, R | W | OWN},
              {a + 6, 2, R});
    KERNEL_IS("own_late", 1, 2, {a, 1, R | W}, {a + 1, 3, R | W | OWN}, {a + 4, 1, R | W},
              {a + 5, 3, R | W | OWN});
    KERNEL_IS("own_atom", 1, 8, {a, 32, R | W | OWN});
}

/* A variable of constant memory is in the list, wherever it lies. */
static void test_constant(void)
{
    struct tsm_emu_ticket *ticket = launch("constant", 1, 1, a, b);
    const uint64_t(*list)[3];
    CUdeviceptr fixed;
    size_t count, size;

    OK(cuModuleGetGlobal_v2(&fixed, &size, module, "fixed"));
    OK(cuCtxSynchronize());
    CHECK(times->accesses(ticket, &list, &count));
    CHECK_EQ_INT(count, 2);
    CHECK_EQ_INT(list[list[0][0] == a][0], fixed + 4);
    CHECK_EQ_INT(list[list[0][0] == a][1], 4);
    CHECK_EQ_INT(list[list[0][0] == a][2], R);
    times->drop(ticket);
}

/* More ranges than there is room for: those near each other are joined, and say so. */
static void test_many(void)
{
    const unsigned wanted = TSM_EMU_ACCESSES_MAX;
    struct tsm_emu_ticket *ticket = launch("apart", 1, 1024, a, b);
    const uint64_t(*list)[3];
    size_t count;

    OK(cuCtxSynchronize());
    CHECK(times->accesses(ticket, &list, &count));
    CHECK_EQ_INT(count, wanted);
    CHECK_EQ_INT(list[5][0], a + 40);
    CHECK_EQ_INT(list[5][1], 2);
    times->drop(ticket);
    EXPECT(launch("apart", 2, 1024, a, b), "apart", {a, 8 * 2047 + 2, W | SOME});
    KERNEL_IS("pages", 64, 32, {a, 4100 * 2047 + 1, W | SOME});
}

/* A million ranges: they are joined as they come, not kept until the end. */
static void test_millions(void)
{
    struct tsm_emu_ticket *ticket;
    struct rusage before, after;

    OK(cuMemsetD8_v2(a, 0, ROOM));
    getrusage(RUSAGE_SELF, &before);
    ticket = launch("apart", ROOM / 8 / 1024, 1024, a, b);
    OK(cuCtxSynchronize());
    getrusage(RUSAGE_SELF, &after);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(after.ru_maxrss - before.ru_maxrss < 24 * 1024);
#endif
    EXPECT(ticket, "apart", {a, ROOM - 6, W | SOME});
}

static void test_images(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        8, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY},
                       linear = {.resType = CU_RESOURCE_TYPE_PITCH2D};
    CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUarray array;
    CUsurfObject s;
    CUtexObject t;
    struct tsm_emu_ticket *ticket;
    const uint64_t(*list)[3];
    size_t count;

    OK(cuArray3DCreate_v2(&array, &d));
    r.res.array.hArray = array;
    OK(cuSurfObjectCreate(&s, &r));
    ticket = launch("store_to", 1, 1, a, s);
    OK(cuCtxSynchronize());
    CHECK(times->accesses(ticket, &list, &count));
    CHECK_EQ_INT(count, 1);
    CHECK_EQ_INT(list[0][2], R | W | SOME | ARRAY);
    CHECK(list[0][1] >= 8 * 4 * 4);
    times->drop(ticket);
    OK(cuSurfObjectDestroy(s));
    linear.res.pitch2D.devPtr = b;
    linear.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT32;
    linear.res.pitch2D.numChannels = 1;
    linear.res.pitch2D.width = 8;
    linear.res.pitch2D.height = 2;
    linear.res.pitch2D.pitchInBytes = 512;
    OK(cuTexObjectCreate(&t, &linear, &how, NULL));
    EXPECT(launch("fetch", 1, 1, a, t), "fetch", {b, 512 + 32, R | SOME});
    OK(cuTexObjectDestroy(t));
    OK(cuArrayDestroy(array));
}

#define SENT(ticket, call)                                                                         \
    do {                                                                                           \
        ticket = times->begin();                                                                   \
        times->observe(ticket);                                                                    \
        OK(call);                                                                                  \
        times->end(ticket);                                                                        \
    } while (0)

static void do_nothing(void *user)
{
    (void)user;
}

static void test_others(void)
{
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = b,
                          .srcPitch = 64,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = a,
                          .dstPitch = 16,
                          .WidthInBytes = 16,
                          .Height = 2};
    struct tsm_emu_ticket *ticket;
    CUevent event;

    SENT(ticket, cuMemsetD32Async(a, 1, 10, NULL));
    EXPECT(ticket, "fill", {a, 40, W});
    SENT(ticket, cuMemsetD2D8Async(a, 32, 1, 8, 3, NULL));
    EXPECT(ticket, "rows", {a, 8, W}, {a + 32, 8, W}, {a + 64, 8, W});
    SENT(ticket, cuMemcpyDtoDAsync_v2(a, a + 8, 8, NULL));
    EXPECT(ticket, "copy", {a, 8, W}, {a + 8, 8, R});
    SENT(ticket, cuMemcpy2DAsync_v2(&rows, NULL));
    EXPECT(ticket, "copy of rows", {a, 32, W}, {b, 16, R}, {b + 64, 16, R});
    SENT(ticket, cuStreamWriteValue32_v2(NULL, a + 4, 3, 0));
    EXPECT(ticket, "value", {a + 4, 4, W});
    SENT(ticket, cuStreamWaitValue32_v2(NULL, a + 4, 3, CU_STREAM_WAIT_VALUE_EQ));
    check(ticket, "wait", 0, NULL);
    OK(cuEventCreate(&event, 0));
    SENT(ticket, cuEventRecord(event, NULL));
    check(ticket, "event", 0, NULL);
    OK(cuEventDestroy_v2(event));
    SENT(ticket, cuLaunchHostFunc(NULL, do_nothing, NULL));
    check_unknown(ticket);
    ticket = times->begin(); /* which nobody wants observed */
    OK(cuMemsetD8Async(a, 1, 4, NULL));
    times->end(ticket);
    check_unknown(ticket);
}

static void test_graphs(void)
{
    CUDA_KERNEL_NODE_PARAMS_v1 kernel = {.gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 8,
                                         .blockDimY = 1,
                                         .blockDimZ = 1};
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = b, .value = 1, .elementSize = 1, .width = 7, .height = 1};
    CUDA_HOST_NODE_PARAMS host = {.fn = do_nothing};
    CUdeviceptr to = a, from = a + 16;
    void *parameters[] = {&to, &from};
    struct tsm_emu_ticket *ticket;
    CUgraphExec exec;
    CUgraphNode node;
    CUgraph graph;
    CUcontext context;

    OK(cuCtxGetCurrent(&context));
    OK(cuModuleGetFunction(&kernel.func, module, "copy"));
    kernel.kernelParams = parameters;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    from = a + 64;
    OK(cuGraphAddKernelNode(&node, graph, &node, 1, &kernel));
    OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        SENT(ticket, cuGraphLaunch(exec, NULL));
        EXPECT(ticket, "graph", {a, 32, W}, {a + 16, 16, R | W}, {a + 32, 16, R}, {a + 64, 32, R},
               {b, 7, W});
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphAddHostNode(&node, graph, NULL, 0, &host));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    SENT(ticket, cuGraphLaunch(exec, NULL));
    check_unknown(ticket);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

int main(void)
{
    CUcontext context;
    tsm_emu_times_function function =
        (tsm_emu_times_function)dlsym(RTLD_DEFAULT, TSM_EMU_TIMES_SYMBOL);

    setenv("TS_EMU_CC", "9.0", 1);
    context = test_context();
    CHECK(function && (times = function()) && times->version >= 3);
    OK(cuModuleLoadData(&module, text));
    OK(cuMemAlloc_v2(&a, ROOM));
    OK(cuMemAlloc_v2(&b, 65536));
    test_kernels();
    test_constant();
    test_many();
    test_millions();
    test_images();
    test_others();
    test_graphs();
    check_unknown(launch("fails", 1, 1, a, b)); /* the last: the context is broken behind it */
    cuCtxDestroy_v2(context);
    return check_result();
}
