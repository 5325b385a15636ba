/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: both ways to give arguments, and the launches that are refused.
 */
#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

#define N 1000

static CUdeviceptr a, b, c;

static void fill(void)
{
    float x[N], y[N];

    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = (float)(2 * i);
    }
    OK(cuMemAlloc_v2(&a, sizeof(x)));
    OK(cuMemAlloc_v2(&b, sizeof(x)));
    OK(cuMemAlloc_v2(&c, sizeof(x)));
    OK(cuMemcpyHtoD_v2(a, x, sizeof(x)));
    OK(cuMemcpyHtoD_v2(b, y, sizeof(y)));
}

static void check_sum(void)
{
    float z[N];

    OK(cuMemcpyDtoH_v2(z, c, sizeof(z)));
    for (int i = 0; i < N; i++)
        if (!CHECK_EQ_INT(z[i], 3 * i))
            break;
    OK(cuMemsetD8_v2(c, 0, sizeof(z)));
}

static void by_pointers(CUfunction add)
{
    unsigned n = N;
    void *params[] = {&c, &a, &b, &n};

    OK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    check_sum();
    OK(cuLaunchKernel_ptsz(add, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    check_sum();
    FAILS(cuLaunchKernel(add, 0, 1, 1, 128, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchKernel(add, 1, 1, 1, 1024, 2, 1, 0, NULL, params, NULL),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 60000, NULL, params, NULL),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    OK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 60000, NULL, params, NULL));
    check_sum();
    FAILS(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchKernel((CUfunction)(void *)&n, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
          CUDA_ERROR_INVALID_HANDLE);
}

static void by_buffer(CUfunction add)
{
    struct {
        CUdeviceptr c, a, b;
        unsigned n;
    } args = {c, a, b, N};
    size_t size = 28;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                     .value = {.cooperative = 1}};
    CUlaunchConfig config = {.gridDimX = 8,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 128,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &cooperative,
                             .numAttrs = 1};

    OK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    check_sum();
    OK(cuLaunchKernelEx(&config, add, NULL, extra));
    check_sum();
    config.gridDimX = 100000;
    FAILS(cuLaunchKernelEx(&config, add, NULL, extra), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    size = 32; /* with the tail padding */
    FAILS(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
}

static void the_old_way(CUfunction add)
{
    OK(cuFuncSetBlockShape(add, 128, 1, 1));
    OK(cuParamSetv(add, 0, &c, 8));
    OK(cuParamSetv(add, 8, &a, 8));
    OK(cuParamSetv(add, 16, &b, 8));
    OK(cuParamSeti(add, 24, N));
    OK(cuParamSetSize(add, 28));
    OK(cuLaunchGrid(add, 8, 1));
    check_sum();
}

int main(void)
{
    CUcontext context = test_context();
    CUmodule module;
    CUfunction add;
    int blocks;

    OK(cuModuleLoadData(&module, PTX_HEAD PTX_ADD));
    OK(cuModuleGetFunction(&add, module, "add"));
    fill();
    by_pointers(add);
    by_buffer(add);
    the_old_way(add);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 128, 0));
    CHECK(blocks > 0 && blocks <= 16);
    OK(cuModuleUnload(module));
    FAILS(cuLaunchGrid(add, 1, 1), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
