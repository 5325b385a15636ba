/* SPDX-License-Identifier: Apache-2.0
 *
 * emu_lab_test CASE: one small kernel, wrong or right, for emu_lab_test.py, which sets what is
 * looked for and reads what was found. Prints the results of the synchronisation and of a wait
 * after it; exits with 0, as a program does that does not look at errors.
 */
#include <stdio.h>
#include <string.h>

#include "api/cuda/cuda_prototypes.h"

#define HEAD                                                                                       \
    ".version 6.0\n.target sm_70\n.address_size 64\n"                                              \
    ".shared .align 4 .b8 tile[256];\n"
#define KERNEL(body)                                                                               \
    ".visible .entry k(.param .u64 p) {\n"                                                         \
    ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.local .align 4 .b8 own[16];\n"       \
    "ld.param.u64 %rd1, [p];\n"                                                                    \
    "mov.u32 %r1, %tid.x;\n"                                                                       \
    "mul.wide.u32 %rd2, %r1, 4;\n"                                                                 \
    "add.u64 %rd3, %rd1, %rd2;\n"                                                                  \
    "mov.u32 %r2, tile;\n"                                                                         \
    "shl.b32 %r3, %r1, 2;\n"                                                                       \
    "add.u32 %r3, %r2, %r3;\n" body "ret;\n}\n"

#define HELPER                                                                                     \
    ".func helper(.param .b64 at) {\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n"                        \
    ".loc 1 17 3\n"                                                                                \
    "ld.param.u64 %rd1, [at];\n"                                                                   \
    "mov.u32 %r1, 5;\n"                                                                            \
    "st.global.u32 [%rd1], %r1;\n"                                                                 \
    "ret;\n}\n"
#define CALL_HELPER                                                                                \
    "{ .param .b64 a;\nst.param.b64 [a], %rd3;\n"                                                  \
    ".loc 1 30 1\n"                                                                                \
    "call helper, (a);\n}\n"
#define FILE_1 ".file 1 \"/src/wrong.cu\"\n"

/* The right half of shared memory, loaded by the other warp than the one that stored it. */
#define STORE "st.shared.u32 [%r3], %r1;\n"
#define LOAD_OTHER                                                                                 \
    "xor.b32 %r4, %r1, 32;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r2, %r4;\n"                        \
    "ld.shared.u32 %r5, [%r4];\n"
#define LOAD_NEIGHBOUR                                                                             \
    "xor.b32 %r4, %r1, 1;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r2, %r4;\n"                         \
    "ld.shared.u32 %r5, [%r4];\n"
#define KEEP "st.global.u32 [%rd3], %r5;\n"

static const struct lab {
    const char *name;
    const char *ptx;
    unsigned grid;
    unsigned block;
} cases[] = {
    {"bounds", FILE_1 HELPER KERNEL(CALL_HELPER), 1, 101},
    {"bounds_right", FILE_1 HELPER KERNEL(CALL_HELPER), 1, 100},
    {"misaligned", KERNEL("st.global.u32 [%rd3+2], %r1;\n"), 1, 1},
    {"shared_bounds", KERNEL("st.shared.u32 [%r3+252], %r1;\n"), 1, 2},
    {"const_bounds", KERNEL("ld.global.u32 %r5, [%rd3+-8];\n" KEEP), 1, 1},
    {"freed", KERNEL("ld.global.u32 %r5, [%rd3];\n" KEEP), 1, 32},
    {"uninit", KERNEL("ld.global.u32 %r5, [%rd3];\n" KEEP), 1, 32},
    {"uninit_right", KERNEL("ld.global.u32 %r5, [%rd3];\n" KEEP), 1, 32},
    {"uninit_copied", KERNEL("ld.global.u32 %r5, [%rd3];\n" KEEP), 1, 32},
    {"uninit_shared", KERNEL("ld.shared.u32 %r5, [%r3];\n" KEEP), 1, 32},
    {"uninit_shared_right", KERNEL(STORE "ld.shared.u32 %r5, [%r3];\n" KEEP), 1, 32},
    {"uninit_local",
     KERNEL("st.local.u32 [own], %r1;\nld.local.u64 %rd4, [own];\n"
            "cvt.u32.u64 %r5, %rd4;\n" KEEP),
     1, 32},
    {"uninit_local_right",
     KERNEL("st.local.u32 [own], %r1;\nst.local.u32 [own+4], %r1;\n"
            "ld.local.u64 %rd4, [own];\ncvt.u32.u64 %r5, %rd4;\n" KEEP),
     1, 32},
    {"race", KERNEL(STORE LOAD_OTHER KEEP), 1, 64},
    {"race_right", KERNEL(STORE "bar.sync 0;\n" LOAD_OTHER KEEP), 1, 64},
    {"race_after", KERNEL(STORE "bar.sync 0;\n" LOAD_OTHER STORE KEEP), 1, 64},
    {"race_warp", KERNEL(STORE LOAD_NEIGHBOUR KEEP), 1, 32},
    {"race_warp_right", KERNEL(STORE "bar.warp.sync 0xffffffff;\n" LOAD_NEIGHBOUR KEEP), 1, 32},
    {"race_stores", KERNEL("st.shared.u32 [%r2], %r1;\n"), 1, 64},
    {"race_stores_right", KERNEL("mov.u32 %r4, 7;\nst.shared.u32 [%r2], %r4;\n"), 1, 64},
    {"race_atomic_right", KERNEL("atom.shared.add.u32 %r5, [%r2], 1;\n" KEEP), 1, 64},
    {"blocks", KERNEL("mov.u32 %r5, %ctaid.x;\n" KEEP), 2, 32},
    {"blocks_right", KERNEL("red.global.add.u32 [%rd3], 1;\n"), 2, 32},
    {"leak", KERNEL(""), 1, 1},
    {"endless", KERNEL("A: add.u32 %r5, %r5, 1;\nbra A;\n"), 1, 64},
    {"barrier", KERNEL("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 0;\nA: bar.sync 1;\n"), 1,
     64},
    {"recursion",
     ".func deep(.param .b64 at);\n.func deep(.param .b64 at) {\n.reg .b64 %rd<2>;\n"
     "ld.param.u64 %rd1, [at];\n{ .param .b64 a;\nst.param.b64 [a], %rd1;\n"
     "call deep, (a);\n}\nret;\n}\n" KERNEL(
         "{ .param .b64 a;\nst.param.b64 [a], %rd3;\ncall deep, (a);\n}\n"),
     1, 32},
    {"no_function", KERNEL("proto: .callprototype _ ();\ncall %rd3, (), proto;\n"), 1, 32},
    {"order",
     KERNEL("and.b32 %r4, %r1, 31;\nsetp.ne.u32 %p1, %r4, 0;\n@%p1 bra A;\n"
            "atom.global.add.u32 %r5, [%rd1], 1;\nmov.u32 %r6, %ctaid.x;\nshl.b32 %r6, %r6, 2;\n"
            "shr.u32 %r4, %r1, 5;\nadd.u32 %r6, %r6, %r4;\nmul.wide.u32 %rd4, %r6, 4;\n"
            "add.u64 %rd4, %rd4, %rd1;\nst.global.u32 [%rd4+4], %r5;\nA:\n"),
     8, 128},
    {"right", KERNEL(""), 1, 1},
    {"tables", KERNEL(""), 1, 1},
    {"trap", KERNEL("trap;\n"), 1, 1},
    {"loop",
     KERNEL("mov.u32 %r5, 0;\nA: add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 10;\n"
            "@%p1 bra A;\nsetp.lt.u32 %p2, %r1, 5;\n@%p2 add.u32 %r6, %r5, 1;\n"
            "bar.sync 0;\n" KEEP),
     3, 48},
};

static const struct lab *find(const char *name)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    return NULL;
}

static void launch(CUmodule module, const struct lab *lab, CUdeviceptr p)
{
    void *params[] = {&p};
    CUfunction f;

    cuModuleGetFunction(&f, module, "k");
    cuLaunchKernel(f, lab->grid, 1, 1, lab->block, 1, 1, 0, NULL, params, NULL);
}

/* 400 bytes, in the state that the case is about. */
static CUdeviceptr memory_for(const char *name)
{
    CUdeviceptr p = 0, q;

    cuMemAlloc_v2(&p, 400);
    if (strcmp(name, "freed") == 0)
        cuMemFree_v2(p);
    else if (strcmp(name, "uninit") != 0)
        cuMemsetD8_v2(p, 0, 400);
    if (strcmp(name, "uninit_copied") == 0) {
        cuMemAlloc_v2(&q, 400);
        cuMemcpyDtoD_v2(p, q, 400);
    }
    return p;
}

static void ask_for_tables(void)
{
    const CUuuid id = {{1, 2, 3}};
    const void *table;

    for (int i = 0; i < 2; i++)
        if (cuGetExportTable(&table, &id) != CUDA_ERROR_NOT_FOUND)
            printf("there is a table\n");
}

/* Which ticket each of the four warps of each of the eight blocks drew. */
static void print_order(CUdeviceptr p)
{
    unsigned tickets[33];

    cuMemcpyDtoH_v2(tickets, p, sizeof(tickets));
    for (unsigned i = 1; i < 33; i++)
        printf("%u ", tickets[i]);
}

int main(int argc, char **argv)
{
    const struct lab *lab = argc > 1 ? find(argv[1]) : NULL;
    char text[8192];
    CUcontext context;
    CUmodule module;
    CUdeviceptr p;

    if (!lab)
        return 2;
    snprintf(text, sizeof(text), HEAD "%s", lab->ptx);
    cuInit(0);
    cuCtxCreate_v2(&context, 0, 0);
    if (cuModuleLoadData(&module, text))
        return 3;
    if (strcmp(lab->name, "tables") == 0)
        ask_for_tables();
    p = memory_for(lab->name);
    launch(module, lab, p);
    printf("%d\n", (int)cuCtxSynchronize());
    if (strcmp(lab->name, "order") == 0)
        print_order(p);
    if (strcmp(lab->name, "leak") != 0)
        cuMemFree_v2(p);
    cuCtxDestroy_v2(context);
    /* The program lives on, and another context works. */
    cuCtxCreate_v2(&context, 0, 0);
    printf("%d\n", (int)cuMemAlloc_v2(&p, 4));
    cuMemFree_v2(p);
    cuCtxDestroy_v2(context);
    return 0;
}
