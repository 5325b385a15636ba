/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of kernels, given as text in memory that is gone when they are launched: by CUkernel,
 * by its CUfunction, by the function of the library's module, and with a cluster attribute.
 */
#include "tests/programs/program.h"

enum { COUNT = 256 };

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);

    if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0)
        exit(1);
    fclose(file);
    return text;
}

int main(void)
{
    char *text = read_file(getenv("TS_TEST_PTX"));
    int count = COUNT, steps = 1;
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = {.priority = -1}};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 256,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    CUdeviceptr memory;
    void *arguments[] = {&count, &steps, &memory};
    CUfunction function, of_module;
    CUcontext context;
    CUlibrary library;
    CUdevice device;
    CUkernel kernel;
    CUmodule module;

    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    free(text);
    CU(cuLibraryGetKernel(&kernel, library, "mix"));
    CU(cuKernelGetFunction(&function, kernel));
    CU(cuLibraryGetModule(&module, library));
    CU(cuModuleGetFunction(&of_module, module, "mix"));
    CU(cuMemAlloc_v2(&memory, COUNT * 4));
    CU(cuMemsetD8_v2(memory, 1, COUNT * 4));
    program_launch((CUfunction)kernel, COUNT, NULL, arguments);
    program_launch(function, COUNT, NULL, arguments);
    program_launch(of_module, COUNT, NULL, arguments);
    CU(cuLaunchKernelEx(&config, (CUfunction)kernel, arguments, NULL));
    CU(cuCtxSynchronize());
    CU(cuMemFree_v2(memory));
    CU(cuLibraryUnload(library));
    CU(cuDevicePrimaryCtxRelease_v2(device));
    return 0;
}
