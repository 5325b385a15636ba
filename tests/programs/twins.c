/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that do the same at once, in two steps: the makers fill a buffer each and record an event
 * of their own, the takers wait for it on a stream of their own and go on with the buffer. twins
 * [1: the last maker fills with another value] [2: the last buffer begins with other bytes] [3: the
 * last taker takes the buffer of the first maker, too].
 */
#include "tests/programs/program.h"

#include <pthread.h>
#include <stdbool.h>

enum { PAIRS = 4, COUNT = 256, SIZE = COUNT * 4 };

struct pair {
    pthread_t maker, taker;
    CUdeviceptr buffer, taken;
    CUevent event;
    unsigned value;
    uint32_t out[COUNT];
};

static CUcontext context;
static CUfunction fill, mix;
static struct pair pairs[PAIRS];

static void *make(void *user)
{
    struct pair *pair = user;
    int count = COUNT;
    CUstream stream;

    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&pair->event, CU_EVENT_DISABLE_TIMING));
    program_launch(fill, COUNT / 2, stream, (void *[]){&count, &pair->value, &pair->buffer});
    CU(cuEventRecord(pair->event, stream));
    return NULL;
}

static void *take(void *user)
{
    struct pair *pair = user;
    int count = COUNT, rounds = 2;
    CUstream stream;

    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamWaitEvent(stream, pair->event, 0));
    program_launch(mix, COUNT, stream, (void *[]){&count, &rounds, &pair->taken});
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH_v2(pair->out, pair->taken, SIZE));
    return NULL;
}

int main(int argc, char **argv)
{
    const int change = argc > 1 ? atoi(argv[1]) : 0;
    CUmodule module = program_begin(&context);
    uint32_t bytes[COUNT] = {0};

    fill = program_function(module, "fill");
    mix = program_function(module, "mix");
    for (int i = 0; i < PAIRS; i++) {
        const bool is_last = i == PAIRS - 1;
        for (uint32_t k = 0; k < COUNT; k++)
            bytes[k] = k + (change == 2 && is_last);
        CU(cuMemAlloc_v2(&pairs[i].buffer, SIZE));
        CU(cuMemcpyHtoD_v2(pairs[i].buffer, bytes, SIZE));
        pairs[i].value = 7 + (change == 1 && is_last);
        pairs[i].taken = pairs[change == 3 && is_last ? 0 : i].buffer;
    }
    for (int i = 0; i < PAIRS; i++)
        if (pthread_create(&pairs[i].maker, NULL, make, &pairs[i]))
            return 1;
    for (int i = 0; i < PAIRS; i++)
        pthread_join(pairs[i].maker, NULL);
    for (int i = 0; i < PAIRS; i++)
        if (pthread_create(&pairs[i].taker, NULL, take, &pairs[i]))
            return 1;
    for (int i = 0; i < PAIRS; i++) {
        pthread_join(pairs[i].taker, NULL);
        printf("twins %d: %08x\n", i, program_digest(pairs[i].out, SIZE));
    }
    program_end(module, context);
    return 0;
}
