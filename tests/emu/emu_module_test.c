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

/* Writes a kernel with `count` registers, each of which is written once, and then read: at once, or
 * when all were written. */
static void write_registers(char *out, size_t size, const char *name, unsigned count, bool at_once)
{
    size_t at = (size_t)snprintf(out, size,
                                 ".visible .entry %s(.param .u64 p)\n{\n.reg .u64 %%d<2>;\n"
                                 ".reg .u32 %%s;\n.reg .u32 %%r<%u>;\n"
                                 "ld.param.u64 %%d1, [p];\nmov.u32 %%s, 0;\n",
                                 name, count);

    for (unsigned i = 0; i < count; i++) {
        at += (size_t)snprintf(out + at, size - at, "ld.global.u32 %%r%u, [%%d1+%u];\n", i, 4 * i);
        if (at_once)
            at += (size_t)snprintf(out + at, size - at, "add.u32 %%s, %%s, %%r%u;\n", i);
    }
    for (unsigned i = 0; i < count && !at_once; i++)
        at += (size_t)snprintf(out + at, size - at, "add.u32 %%s, %%s, %%r%u;\n", i);
    snprintf(out + at, size - at, "st.global.u32 [%%d1], %%s;\nret;\n}\n");
}

/* The count is of those in use at once, and what the occupancy calls say agrees with it. */
static void expect_registers(CUmodule m, const char *name, int expected)
{
    int registers, blocks, grid, threads;
    CUfunction f;

    OK(cuModuleGetFunction(&f, m, name));
    OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    CHECK_EQ_INT(registers, expected);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0));
    CHECK(blocks >= 1 && (blocks == 1 || blocks * 256 * ((registers + 7) / 8 * 8) <= 65536));
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, f, NULL, 0, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, threads, 0));
    CHECK(blocks >= 1);
}

static void registers(void)
{
    static char text[100000], kernel[30000];
    CUmodule m;

    strcpy(text,
           PTX_HEAD ".visible .entry empty()\n{\nret;\n}\n"
                    ".visible .entry loop(.param .u64 p)\n{\n.reg .u64 %d; .reg .u32 %r<40>;\n"
                    ".reg .pred %q;\nld.param.u64 %d, [p];\n"
                    "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r3, 0;\nAGAIN:\n"
                    "add.u32 %r4, %r3, %r1;\nadd.u32 %r5, %r4, %r2;\n"
                    "mul.lo.u32 %r6, %r5, 3;\nadd.u32 %r7, %r6, 1;\nadd.u32 %r3, %r3, 1;\n"
                    "setp.lt.u32 %q, %r3, 9;\n@%q bra AGAIN;\nst.global.u32 [%d], %r7;\nret;\n}\n");
    write_registers(kernel, sizeof(kernel), "soon", 300, true);
    strcat(text, kernel);
    write_registers(kernel, sizeof(kernel), "late", 100, false);
    strcat(text, kernel);
    write_registers(kernel, sizeof(kernel), "many", 400, false);
    strcat(text, kernel);
    OK(cuModuleLoadData(&m, text));
    expect_registers(m, "empty", 4);
    expect_registers(m, "soon", 4);   /* the address, the sum, one more */
    expect_registers(m, "late", 103); /* the address, the sum, all */
    expect_registers(m, "many", 255);
    expect_registers(m, "loop", 6); /* the address, three from outside, one more */
    OK(cuModuleUnload(m));
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
    registers();
    library();
    wrong();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
