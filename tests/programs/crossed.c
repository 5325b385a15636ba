/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads, one after the other, each with a stream and memory of its own size: crossed [1: the
 * other one first] [2: memory of one size, and the address of memory of the program in what they
 * send] [3: 1 and 2].
 */
#include "tests/programs/program.h"

#include <pthread.h>
#include <stdbool.h>

static CUcontext context;
static CUfunction mix;

static bool is_alike;

static void *work(void *user)
{
    const int number = *(const int *)user;
    int count = is_alike ? 1024 : number, rounds = 3;
    const size_t size = (size_t)count * 4;
    uint32_t *host = malloc(size), sum = 0;
    CUdeviceptr memory;
    CUstream stream;

    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc_v2(&memory, size));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < count; i++)
        host[i] = (uint32_t)(i * number);
    if (is_alike)
        CU(cuMemcpyHtoD_v2(memory, &host, sizeof(host)));
    CU(cuMemcpyHtoD_v2(memory, host, size));
    program_launch(mix, (unsigned)count, stream, (void *[]){&count, &rounds, &memory});
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH_v2(host, memory, size));
    for (int i = 0; i < count; i++)
        sum = sum * 31 + host[i];
    printf("crossed %d: %08x\n", number, sum);
    free(host);
    return NULL;
}

int main(int argc, char **argv)
{
    static int counts[2] = {1024, 2048};
    const int mode = argc > 1 ? atoi(argv[1]) : 0, first = mode & 1;
    CUmodule module = program_begin(&context);

    is_alike = mode & 2;
    mix = program_function(module, "mix");
    for (int i = 0; i < 2; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, work, &counts[i ^ first]))
            return 1;
        pthread_join(thread, NULL);
    }
    program_end(module, context);
    return 0;
}
