/* SPDX-License-Identifier: Apache-2.0
 *
 * One kernel that takes long, or for ever: slow WAY ROUNDS. It is sent, and waited for unless
 * ROUNDS is 0; then it does not end, and the program does not wait for it. WAY, what it does in
 * each round:
 *
 *   counts    nothing but counting
 *   adds      an atomic addition
 *   asks      an atomic exchange that changes nothing, in a word that stays as it is
 *   polls     a volatile read of it
 */
#include "tests/programs/program.h"

#include <unistd.h>

/* rounds 0: for ever */
#define KERNEL(name, step)                                                                         \
    ".visible .entry " name "(.param .u64 word, .param .u64 rounds)\n"                             \
    "{\n"                                                                                          \
    "  .reg .pred %p<4>; .reg .u32 %r<4>; .reg .u64 %d<6>;\n"                                      \
    "  ld.param.u64 %d1, [word]; ld.param.u64 %d2, [rounds]; mov.u64 %d3, 0;\n"                    \
    "  setp.eq.u64 %p1, %d2, 0;\n"                                                                 \
    "AGAIN:\n"                                                                                     \
    "  " step "\n"                                                                                 \
    "  @%p1 bra AGAIN;\n"                                                                          \
    "  add.u64 %d3, %d3, 1; setp.lt.u64 %p2, %d3, %d2; @%p2 bra AGAIN;\n"                          \
    "  cvt.u32.u64 %r2, %d3; st.global.u32 [%d1+4], %r2;\n"                                        \
    "  ret;\n}\n"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n" KERNEL("counts", "")
    KERNEL("adds", "atom.global.add.u32 %r1, [%d1], 3;")
        KERNEL("asks", "atom.global.exch.b32 %r1, [%d1], 0;")
            KERNEL("polls", "ld.volatile.global.u32 %r1, [%d1];");

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    CUcontext context;
    CUmodule unused = program_begin(&context), module;
    CUfunction kernel;
    CUdeviceptr word;
    uint32_t words[2];

    (void)unused;
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&kernel, module, argc > 1 ? argv[1] : "counts"));
    CU(cuMemAlloc_v2(&word, 8));
    CU(cuMemsetD32_v2(word, 0, 2));
    CU(cuCtxSynchronize());
    CU(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&word, &rounds}, NULL));
    if (!rounds)
        _exit(0);
    CU(cuMemcpyDtoH_v2(words, word, sizeof(words)));
    printf("slow: %u %u\n", words[0], words[1]);
    return 0;
}
