/* SPDX-License-Identifier: Apache-2.0 -- errno is the program's: no call changes it. */
#include "tests/programs/program.h"

#include <dlfcn.h>
#include <errno.h>

static int bad;

#define KEEPS(call)                                                                                \
    do {                                                                                           \
        errno = 77;                                                                                \
        CU(call);                                                                                  \
        if (errno != 77)                                                                           \
            bad += printf("%s: errno %d\n", #call, errno);                                         \
    } while (0)

int main(void)
{
    static char bytes[1 << 20];
    CUcontext context;
    CUdeviceptr memory;
    CUfunction function;
    CUmodule module;
    CUstream stream;
    void *host;

    KEEPS(cuInit(0));
    module = program_begin(&context);
    KEEPS(cuModuleGetFunction(&function, module, "saxpy"));
    KEEPS(cuMemAlloc_v2(&memory, sizeof(bytes)));
    KEEPS(cuMemHostAlloc(&host, sizeof(bytes), 0));
    KEEPS(cuStreamCreate(&stream, 0));
    KEEPS(cuMemcpyHtoDAsync_v2(memory, bytes, sizeof(bytes), stream));
    KEEPS(cuMemcpyDtoHAsync_v2(host, memory, sizeof(bytes), stream));
    KEEPS(cuStreamSynchronize(stream));
    KEEPS(cuStreamDestroy_v2(stream));
    KEEPS(cuMemFreeHost(host));
    KEEPS(cuMemFree_v2(memory));
    program_end(module, context);
    return bad != 0;
}
