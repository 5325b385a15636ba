/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on two devices at the same time (TS_EMU_DEVICES=2): one that a context was made on, and one
 * by its primary context, from another thread; each with a stream and the default stream.
 */
#include "tests/programs/program.h"

#include <pthread.h>

#define COUNT 4096

/* Sends as many kernels to a stream of the current context, and a copy to its default stream. */
static void work(int launches)
{
    static uint32_t bytes[2][COUNT];
    int width = COUNT, rounds = 50;
    CUdeviceptr memory;
    CUmodule module;
    CUstream stream;

    CU(cuModuleLoad(&module, getenv("TS_TEST_PTX")));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&memory, sizeof(bytes[0])));
    CU(cuMemsetD8_v2(memory, 3, sizeof(bytes[0])));
    for (int i = 0; i < launches; i++)
        program_launch(program_function(module, "mix"), COUNT, stream,
                       (void *[]){&width, &rounds, &memory});
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH_v2(bytes[launches % 2], memory, sizeof(bytes[0])));
    printf("%d: %08x\n", launches, program_digest(bytes[launches % 2], sizeof(bytes[0])));
    CU(cuMemFree_v2(memory));
    CU(cuStreamDestroy_v2(stream));
    CU(cuModuleUnload(module));
}

static void *on_second(void *unused)
{
    CUcontext context;

    CU(cuDevicePrimaryCtxRetain(&context, 1));
    CU(cuCtxSetCurrent(context));
    work(3);
    CU(cuDevicePrimaryCtxRelease_v2(1));
    return unused;
}

int main(void)
{
    pthread_t thread;
    CUcontext context;

    CU(cuInit(0));
    CU(cuCtxCreate_v2(&context, 0, 0));
    work(2);
    if (pthread_create(&thread, NULL, on_second, NULL) || pthread_join(thread, NULL))
        return 1;
    CU(cuCtxDestroy_v2(context));
    return 0;
}
