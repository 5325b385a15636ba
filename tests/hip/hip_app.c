/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of HIP's module API: two kernels on a stream, and a call that fails.
 */
#include "api/hip/hip_prototypes.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT 512u

static void check(hipError_t error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s: %u\n", what, error);
    exit(1);
}

#define CHECK(call) check(call, #call)

static void launch(hipModule_t module, const char *name, hipStream_t stream, void *arguments,
                   size_t size)
{
    void *extra[] = {(void *)1, arguments, (void *)2, &size, (void *)3};
    hipFunction_t function;

    CHECK(hipModuleGetFunction(&function, module, name));
    CHECK(hipModuleLaunchKernel(function, COUNT / 64, 1, 1, 64, 1, 1, 0, stream, NULL, extra));
}

int main(int argc, char **argv)
{
    float host[COUNT], back[COUNT];
    float *data = NULL, *sum = NULL;
    hipStream_t stream;
    hipModule_t module;
    unsigned bad = 0, functions = 0;
    int count = 0;

    CHECK(hipInit(0));
    CHECK(hipGetDeviceCount(&count));
    CHECK(hipModuleLoad(&module, argv[1]));
    CHECK(hipModuleGetFunctionCount(&functions, module));
    CHECK(hipMalloc((void **)&data, sizeof(host)));
    CHECK(hipMalloc((void **)&sum, sizeof(host)));
    for (unsigned i = 0; i < COUNT; i++)
        host[i] = (float)i;
    CHECK(hipMemcpy(data, host, sizeof(host), 1));
    CHECK(hipStreamCreate(&stream));
    launch(module, "scale", stream, &(struct scale_arguments){data, 2},
           sizeof(struct scale_arguments));
    CHECK(hipLaunchKernel("add", (dim3){COUNT / 64, 1, 1}, (dim3){64, 1, 1},
                          (void *[]){&(struct add_arguments){data, data, sum}},
                          sizeof(struct add_arguments), stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipMemcpy(back, sum, sizeof(back), 2));
    for (unsigned i = 0; i < COUNT; i++)
        bad += back[i] != 4 * (float)i;
    CHECK(hipStreamDestroy(stream));
    CHECK(hipFree(data));
    printf("%s, %u\n", bad ? "wrong" : "right", hipFree(&count));
    return bad != 0 || count != 1;
}
