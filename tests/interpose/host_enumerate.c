/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds its kernels by looking at all of them, in a library and in a module, and launches "mix".
 */
#include "tests/programs/program.h"

enum { COUNT = 256, KERNEL_MAX = 64 };

int main(void)
{
    static CUfunction functions[KERNEL_MAX];
    static CUkernel kernels[KERNEL_MAX];
    int count = COUNT, steps = 1;
    unsigned int found = 0;
    CUdeviceptr memory;
    void *arguments[] = {&count, &steps, &memory};
    const char *name;
    CUcontext context;
    CUlibrary library;
    CUmodule module = program_begin(&context);

    CU(cuMemAlloc_v2(&memory, COUNT * 4));
    CU(cuMemsetD8_v2(memory, 1, COUNT * 4));
    CU(cuModuleGetFunctionCount(&found, module));
    CU(cuModuleEnumerateFunctions(functions, KERNEL_MAX, module));
    for (unsigned int i = 0; i < found; i++) {
        CU(cuFuncGetName(&name, functions[i]));
        if (strcmp(name, "mix") == 0)
            program_launch(functions[i], COUNT, NULL, arguments);
    }
    CU(cuLibraryLoadFromFile(&library, getenv("TS_TEST_PTX"), NULL, NULL, 0, NULL, NULL, 0));
    CU(cuLibraryGetKernelCount(&found, library));
    CU(cuLibraryEnumerateKernels(kernels, KERNEL_MAX, library));
    for (unsigned int i = 0; i < found; i++) {
        CU(cuKernelGetName(&name, kernels[i]));
        if (strcmp(name, "mix") == 0)
            program_launch((CUfunction)kernels[i], COUNT, NULL, arguments);
    }
    CU(cuCtxSynchronize());
    CU(cuLibraryUnload(library));
    CU(cuMemFree_v2(memory));
    program_end(module, context);
    return 0;
}
