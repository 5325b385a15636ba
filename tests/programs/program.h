/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the small driver-API programs of the suite. Each shows one behaviour, prints a
 * result that does not depend on time or addresses, and exits 0, or 1 with the failed call.
 *
 * They find kernels.ptx through TS_TEST_PTX, else beside the program.
 */
#ifndef TESTS_PROGRAMS_PROGRAM_H
#define TESTS_PROGRAMS_PROGRAM_H

#include "api/cuda/abi.h"
#include "api/cuda/cuda_prototypes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CU(call)                                                                                   \
    do {                                                                                           \
        CUresult result_ = (call);                                                                 \
        if (result_ != CUDA_SUCCESS) {                                                             \
            fprintf(stderr, "%s:%d: %s = %d\n", __FILE__, __LINE__, #call, (int)result_);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Device 0, a current context, kernels.ptx loaded. */
static inline CUmodule program_begin(CUcontext *context)
{
    const char *path = getenv("TS_TEST_PTX");
    char beside[4096];
    CUmodule module;
    CUdevice device;

    if (!path) {
        ssize_t size = readlink("/proc/self/exe", beside, sizeof(beside) - 16);
        if (size < 0)
            exit(1);
        beside[size] = '\0';
        strcpy(strrchr(beside, '/') + 1, "kernels.ptx");
        path = beside;
    }
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate_v2(context, 0, device));
    CU(cuModuleLoad(&module, path));
    return module;
}

static inline void program_end(CUmodule module, CUcontext context)
{
    CU(cuModuleUnload(module));
    CU(cuCtxDestroy_v2(context));
}

static inline CUfunction program_function(CUmodule module, const char *name)
{
    CUfunction function;

    CU(cuModuleGetFunction(&function, module, name));
    return function;
}

/* One-dimensional launch with blocks of 256 over `count` elements. */
static inline void program_launch(CUfunction function, unsigned count, CUstream stream,
                                  void **arguments)
{
    CU(cuLaunchKernel(function, (count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
}

/* An order-sensitive sum of bytes, for printing results. */
static inline uint32_t program_digest(const void *data, size_t size)
{
    const uint8_t *p = data;
    uint32_t digest = 2166136261u;

    for (size_t i = 0; i < size; i++)
        digest = (digest ^ p[i]) * 16777619u;
    return digest;
}

#endif
