/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that share a context, each with a stream and buffers of its own, and one stream that all
 * of them use. Arguments: threads, rounds.
 */
#include "tests/programs/program.h"

#include <pthread.h>

enum { COUNT = 512 };

static CUcontext context;
static CUfunction fill, mix;
static CUstream shared_stream;
static int rounds = 20;

static void *worker(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument, out[COUNT];
    int count = COUNT, steps = 1;
    CUdeviceptr own, other;
    CUstream stream;

    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&own, sizeof(out)));
    CU(cuMemAlloc_v2(&other, sizeof(out)));
    for (int i = 0; i < rounds; i++) {
        program_launch(fill, COUNT, stream, (void *[]){&count, &seed, &own});
        program_launch(mix, COUNT, stream, (void *[]){&count, &steps, &own});
        program_launch(fill, COUNT, shared_stream, (void *[]){&count, &seed, &other});
    }
    CU(cuMemcpyDtoHAsync_v2(out, own, sizeof(out), stream));
    CU(cuStreamSynchronize(stream));
    CU(cuStreamSynchronize(shared_stream));
    CU(cuMemFree_v2(own));
    CU(cuMemFree_v2(other));
    CU(cuStreamDestroy_v2(stream));
    return (void *)(uintptr_t)program_digest(out, sizeof(out));
}

int main(int argc, char **argv)
{
    int thread_count = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t *threads = calloc((size_t)thread_count, sizeof(*threads));
    CUmodule module = program_begin(&context);
    uint32_t digest = 0;

    if (argc > 2)
        rounds = atoi(argv[2]);
    fill = program_function(module, "fill");
    mix = program_function(module, "mix");
    CU(cuStreamCreate(&shared_stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < thread_count; i++) {
        if (pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)(i + 1)) != 0)
            return 1;
    }
    for (int i = 0; i < thread_count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        digest = digest * 31 + (uint32_t)(uintptr_t)result;
    }
    CU(cuStreamDestroy_v2(shared_stream));
    program_end(module, context);
    free(threads);
    printf("threads %d: %08x\n", thread_count, digest);
    return 0;
}
