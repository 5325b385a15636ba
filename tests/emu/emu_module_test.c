/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules and libraries: what is found in them, variables, and what the log says of wrong text.
 */
#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

static void module(void)
{
    CUmodule m;
    CUfunction f, all[2] = {NULL};
    CUdeviceptr counter;
    size_t size, offset;
    unsigned count, value = 0;
    const char *name;

    OK(cuModuleLoadData(&m, PTX_HEAD PTX_BUMP PTX_STORE));
    OK(cuModuleGetFunctionCount(&count, m));
    CHECK_EQ_INT(count, 2);
    OK(cuModuleEnumerateFunctions(all, 2, m));
    OK(cuFuncGetName(&name, all[1]));
    CHECK_EQ_STR(name, "store");
    OK(cuFuncGetParamInfo(all[1], 1, &offset, &size));
    CHECK_EQ_INT(offset, 8);
    CHECK_EQ_INT(size, 4);
    FAILS(cuFuncGetParamInfo(all[1], 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleGetFunction(&f, m, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&f, m, "bump"));
    CHECK(f == all[0]);
    OK(cuModuleGetGlobal_v2(&counter, &size, m, "counter"));
    CHECK_EQ_INT(size, 4);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuMemcpyDtoH_v2(&value, counter, 4));
    CHECK_EQ_INT(value, 42);
    FAILS(cuModuleGetGlobal_v2(&counter, &size, m, "bump"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(m));
    FAILS(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuMemcpyDtoH_v2(&value, counter, 4), CUDA_ERROR_INVALID_VALUE);
}

static void library(void)
{
    CUlibrary l;
    CUkernel k;
    CUmodule m;
    CUdeviceptr counter;
    unsigned count, value = 0;
    size_t size;

    OK(cuLibraryLoadData(&l, PTX_HEAD PTX_BUMP, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernelCount(&count, l));
    CHECK_EQ_INT(count, 1);
    OK(cuLibraryGetKernel(&k, l, "bump"));
    OK(cuLaunchKernel((CUfunction)(void *)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLibraryGetGlobal(&counter, &size, l, "counter"));
    OK(cuMemcpyDtoH_v2(&value, counter, 4));
    CHECK_EQ_INT(value, 42);
    OK(cuLibraryGetModule(&m, l));
    OK(cuLibraryUnload(l));
    FAILS(cuLibraryGetModule(&m, l), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLaunchKernel((CUfunction)(void *)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
          CUDA_ERROR_INVALID_HANDLE);
}

static void wrong(void)
{
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof(log)};
    CUmodule m;

    FAILS(cuModuleLoadDataEx(&m, PTX_HEAD ".entry f() { .reg .b32 %r1; frobnicate.u32 %r1; }", 2,
                             options, values),
          CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(log, "frobnicate"));
    CHECK_EQ_INT((uintptr_t)values[1], strlen(log));
    FAILS(cuModuleLoad(&m, "/nowhere/at/all.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    FAILS(cuModuleLoadData(&m, "\177ELF"), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

int main(void)
{
    CUcontext context = test_context();

    module();
    library();
    wrong();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
