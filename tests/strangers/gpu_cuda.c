/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/strangers/gpu.h"

#include "tests/programs/program.h"

#include <dlfcn.h>

static CUdeviceptr memory;
static CUcontext context;

void gpu_begin(void)
{
    program_begin(&context);
    CU(cuMemAlloc_v2(&memory, 4096));
}

unsigned gpu_fill(unsigned char first, int count)
{
    unsigned char bytes[256];
    unsigned sum = 0;

    for (int i = 0; i < count; i++) {
        CU(cuMemsetD8_v2(memory, (unsigned char)(first + i), sizeof(bytes)));
        CU(cuMemcpyDtoH_v2(bytes, memory, sizeof(bytes)));
        sum += bytes[i];
    }
    return sum;
}

void gpu_attach(void)
{
    CU(cuCtxSetCurrent(context));
}

void gpu_call(void)
{
    int version;

    cuDriverGetVersion(&version);
}

/* Host functions run on the driver's thread. */
int gpu_call_back(void (*function)(void))
{
    return 0;
}

const char *const gpu_library = "libcuda.so.1";

void gpu_call_in(void *library)
{
    CUresult (*version)(int *) = (CUresult(*)(int *))dlsym(library, "cuDriverGetVersion");
    int number;

    CU(version(&number));
}
