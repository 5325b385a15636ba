/* SPDX-License-Identifier: Apache-2.0
 *
 * scratch WAY: each thread puts its number where a counter says, so that what lies there depends on
 * the order in which blocks run, and adds what it finds there to a sum, which does not. Twice; the
 * sum is read back. WAYS:
 *   unread   nothing else reads that memory, and each launch overwrites it first
 *   freed    the same, and it is freed before the next launch, which has other memory
 *   read     in the end it is read back, too
 *   copied   in the end it is copied to other memory, which nothing reads
 *   kernel   in the end another kernel reads it, and writes other memory, which nothing reads
 *   seen     the same, and that is read back
 *   managed  the program could look at it
 */
#include "tests/programs/program.h"

#include <stdbool.h>

enum { BLOCKS = 8, THREADS = 32, COUNT = BLOCKS * THREADS, SIZE = COUNT * 4 };

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry work(.param .u64 p_scratch, .param .u64 p_words)\n{\n"
    " .reg .u32 %r<9>; .reg .u64 %rd<6>;\n"
    " ld.param.u64 %rd1, [p_scratch]; ld.param.u64 %rd2, [p_words];\n"
    " mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
    " mad.lo.u32 %r1, %r2, %r3, %r1;\n"
    " atom.global.add.u32 %r4, [%rd2], 1;\n"
    " mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd1, %rd3;\n"
    " st.global.u32 [%rd3], %r1;\n"
    " ld.global.u32 %r5, [%rd3];\n"
    " red.global.add.u32 [%rd2+4], %r5;\n"
    " ret;\n}\n"
    ".visible .entry look(.param .u64 p_scratch, .param .u64 p_out)\n{\n"
    " .reg .u32 %r<3>; .reg .u64 %rd<4>; .reg .pred %p;\n"
    " ld.param.u64 %rd1, [p_scratch]; ld.param.u64 %rd2, [p_out];\n"
    " ld.global.u32 %r1, [%rd1]; shr.u32 %r1, %r1, 31; st.global.u32 [%rd2], %r1;\n"
    " ret;\n}\n";

static CUmodule module;
static CUdeviceptr scratch, words;

static bool is(const char *way, const char *name)
{
    return strcmp(way, name) == 0;
}

static void allocate(const char *way)
{
    if (is(way, "managed"))
        CU(cuMemAllocManaged(&scratch, SIZE, CU_MEM_ATTACH_GLOBAL));
    else
        CU(cuMemAlloc_v2(&scratch, SIZE));
}

static void work(void)
{
    CUfunction function = program_function(module, "work");

    CU(cuMemsetD32_v2(words, 0, 1));
    CU(cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){&scratch, &words},
                      NULL));
    CU(cuCtxSynchronize());
}

static void finish(const char *way)
{
    static uint32_t seen[COUNT];
    CUdeviceptr other;

    if (is(way, "read"))
        CU(cuMemcpyDtoH_v2(seen, scratch, SIZE));
    CU(cuMemAlloc_v2(&other, SIZE));
    if (is(way, "copied"))
        CU(cuMemcpyDtoD_v2(other, scratch, SIZE));
    if (is(way, "kernel") || is(way, "seen"))
        CU(cuLaunchKernel(program_function(module, "look"), 1, 1, 1, 1, 1, 1, 0, NULL,
                          (void *[]){&scratch, &other}, NULL));
    CU(cuCtxSynchronize());
    if (is(way, "seen"))
        CU(cuMemcpyDtoH_v2(seen, other, 4));
    CU(cuMemFree_v2(other));
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "unread";
    uint32_t result[2];
    CUcontext context;
    CUmodule kernels = program_begin(&context);

    CU(cuModuleLoadData(&module, ptx));
    CU(cuMemAlloc_v2(&words, 8));
    CU(cuMemsetD32_v2(words, 0, 2));
    allocate(way);
    work();
    if (is(way, "freed")) {
        CU(cuMemFree_v2(scratch));
        allocate(way);
    }
    work();
    finish(way);
    CU(cuMemcpyDtoH_v2(result, words, 8));
    printf("scratch: %u\n", result[1]);
    CU(cuMemFree_v2(scratch));
    CU(cuMemFree_v2(words));
    CU(cuModuleUnload(module));
    program_end(kernels, context);
    return result[1] != COUNT * (COUNT - 1);
}
