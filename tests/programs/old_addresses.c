/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses that a replay with the memory elsewhere may miss: the end of an array as a kernel's
 * argument and in memory, the address of memory that is freed before it is read back, and one that
 * the program reads to an odd address; and the address of a variable that it never asks for. The
 * array is the second allocation.
 */
#include "tests/programs/program.h"

enum { COUNT = 1 << 19, STEPS = 100 };

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".global .align 8 .b8 hidden[64];\n"
                          ".visible .entry sum_until(.param .u64 from, .param .u64 end,\n"
                          "                          .param .u64 out)\n"
                          "{\n"
                          ".reg .pred %p;\n.reg .b32 %s, %v, %n;\n.reg .b64 %a, %e, %o;\n"
                          "ld.param.u64 %a, [from];\nld.param.u64 %e, [end];\n"
                          "ld.param.u64 %o, [out];\nmov.u32 %s, 0;\nmov.u32 %n, 0;\n"
                          "next:\n"
                          "ld.global.u32 %v, [%a];\nadd.u32 %s, %s, %v;\nadd.u32 %n, %n, 1;\n"
                          "add.u64 %a, %a, 4;\nsetp.ne.u64 %p, %a, %e;\n@%p bra next;\n"
                          "st.global.u32 [%o], %s;\nst.global.u32 [%o + 4], %n;\n"
                          "mov.u64 %a, hidden + 12;\nst.global.u64 [%o + 8], %a;\n"
                          "ret;\n}\n";

int main(void)
{
    CUcontext context;
    CUmodule module = program_begin(&context), sums;
    CUfunction sum_until;
    CUdeviceptr words, array;
    unsigned sum[4];
    uint64_t there[4];
    char back[sizeof(there) + 3];

    CU(cuModuleLoadData(&sums, ptx));
    sum_until = program_function(sums, "sum_until");
    CU(cuMemAlloc_v2(&words, 64));
    CU(cuMemAlloc_v2(&array, COUNT * 4));
    CU(cuMemsetD32_v2(array, 7, COUNT));

    CUdeviceptr end = array + COUNT * 4ull, from = end - STEPS * 4ull;
    CU(cuLaunchKernel(sum_until, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&from, &end, &words}, NULL));
    CU(cuMemcpyDtoH_v2(sum, words, sizeof(sum)));
    printf("%u of %u\n", sum[0], sum[1]);

    memcpy(there, (uint64_t[]){array, end, array + 12, 5}, sizeof(there));
    CU(cuMemcpyHtoD_v2(words, there, sizeof(there)));
    CU(cuMemcpyDtoH_v2(back + 3, words, sizeof(there)));
    printf("read at an odd address: %d\n", memcmp(there, back + 3, sizeof(there)));
    CU(cuMemFree_v2(array));
    CU(cuMemcpyDtoH_v2(back + 3, words, sizeof(there)));
    printf("of freed memory: %d\n", memcmp(there, back + 3, sizeof(there)));
    CU(cuMemFree_v2(words));
    CU(cuModuleUnload(sums));
    program_end(module, context);
    return 0;
}
