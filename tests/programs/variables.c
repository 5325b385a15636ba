/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of variables of modules, and of libraries, where a replay cannot see them: the program
 * sends them in bytes of its own, packed or not ("plain": not), a kernel stores them, and all comes
 * back.
 */
#include "tests/programs/program.h"

#include <stdbool.h>

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 8 .u8 before[40];\n"
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .entry follow(.param .u64 list)\n{\n"
    " .reg .u64 %d<8>; .reg .u32 %r<4>;\n"
    " ld.param.u64 %d1, [list];\n"
    " ld.global.u64 %d2, [%d1];\n" /* where the program says that it is */
    " ld.global.u32 %r1, [%d2]; add.u32 %r1, %r1, 1; st.global.u32 [%d2], %r1;\n"
    " mov.u64 %d3, counter; st.global.u64 [%d1+8], %d3;\n"
    " st.global.u32 [%d1+16], %r1;\n ret;\n}\n";

struct answer {
    CUdeviceptr said, found;
    unsigned value;
    unsigned char packed[12]; /* the address, from the third byte on */
};

static bool is_plain;

static void ask(const char *name, CUfunction follow, CUdeviceptr counter)
{
    struct answer a = {.said = counter};
    CUdeviceptr list;

    if (!is_plain)
        memcpy(a.packed + 3, &counter, sizeof(counter));
    CU(cuMemAlloc_v2(&list, sizeof(a)));
    CU(cuMemcpyHtoD_v2(list, &a, sizeof(a)));
    CU(cuLaunchKernel(follow, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&list}, NULL));
    CU(cuMemcpyDtoH_v2(&a, list, sizeof(a)));
    printf("%s: %u %s %s\n", name, a.value, a.said == a.found ? "there" : "elsewhere",
           is_plain                                          ? "plain"
           : memcmp(a.packed + 3, &a.found, sizeof(a.found)) ? "broken"
                                                             : "whole");
    CU(cuMemFree_v2(list));
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule kernels = program_begin(&context), module, again;
    CUlibrary library;
    CUkernel kernel;
    CUfunction follow;
    CUdeviceptr counter, memory;

    is_plain = argc > 1;
    CU(cuMemAlloc_v2(&memory, 3000)); /* between the images */
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetGlobal_v2(&counter, NULL, module, "counter"));
    ask("module", program_function(module, "follow"), counter);
    CU(cuModuleLoadDataEx(&again, ptx, 0, NULL, NULL));
    CU(cuModuleUnload(module));
    CU(cuModuleGetGlobal_v2(&counter, NULL, again, "counter"));
    ask("another", program_function(again, "follow"), counter);
    CU(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CU(cuLibraryGetKernel(&kernel, library, "follow"));
    CU(cuKernelGetFunction(&follow, kernel));
    CU(cuLibraryGetGlobal(&counter, NULL, library, "counter"));
    ask("library", follow, counter);
    CU(cuLibraryUnload(library));
    CU(cuModuleUnload(again));
    CU(cuMemFree_v2(memory));
    program_end(kernels, context);
    return 0;
}
