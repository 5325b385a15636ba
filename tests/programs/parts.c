/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a device: two green contexts, streams in each, and events behind all streams of a green
 * context and of a whole one. Each step takes what a slow kernel on another stream computes, which
 * only such an event orders.
 */
#include "tests/programs/program.h"

enum { WIDTH = 64, SIZE = WIDTH * 4, ROUNDS = 3000 };

static CUfunction mix;
static CUdeviceptr memory;

static CUdeviceptr row(unsigned number)
{
    return memory + (CUdeviceptr)number * SIZE;
}

static void compute(unsigned number, CUstream stream)
{
    CUdeviceptr own = row(number);
    int width = WIDTH, rounds = ROUNDS;

    CU(cuLaunchKernel(mix, 1, 1, 1, WIDTH, 1, 1, 0, stream, (void *[]){&width, &rounds, &own},
                      NULL));
}

static void follow(unsigned number, CUstream stream)
{
    CU(cuMemcpyDtoDAsync_v2(row(number), row(number - 1), SIZE, stream));
}

static CUgreenCtx make(const char *name, CUdevResource *parts, unsigned count)
{
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUdevResource of;

    CU(cuDevResourceGenerateDesc(&desc, parts, count));
    CU(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CU(cuGreenCtxGetDevResource(green, &of, CU_DEV_RESOURCE_TYPE_SM));
    printf("%s: %u\n", name, of.sm.smCount);
    return green;
}

/* Three groups of multiprocessors and a rest: the first group, and the two others together. */
static void split(CUgreenCtx *green)
{
    CUdevResource whole, parts[3], rest;
    unsigned count = 0;

    CU(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    CU(cuDevSmResourceSplitByCount(NULL, &count, &whole, NULL, 0, 4));
    printf("groups of 4 of %u: %u\n", whole.sm.smCount, count);
    count = 3;
    CU(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 0, 4));
    printf("rest: %u\n", rest.sm.smCount);
    green[0] = make("first", parts, 1);
    green[1] = make("others", parts + 1, 2);
}

int main(void)
{
    CUstream in[2][2], plain, later;
    uint32_t values[8 * WIDTH];
    CUcontext context, again;
    CUgreenCtx green[2], of;
    CUmodule module;
    CUevent event;

    CU(cuInit(0));
    split(green);
    /* Streams first: the program has asked for no context so far. */
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < 2; k++)
            CU(cuGreenCtxStreamCreate(&in[i][k], green[i], CU_STREAM_NON_BLOCKING, 0));
    CU(cuCtxFromGreenCtx(&context, green[0]));
    CU(cuCtxSetCurrent(context));
    CU(cuStreamGetCtx_v2(in[0][0], &again, &of));
    CU(cuModuleLoad(&module, getenv("TS_TEST_PTX")));
    mix = program_function(module, "mix");
    CU(cuMemAlloc_v2(&memory, sizeof(values)));
    CU(cuMemsetD32_v2(memory, 3, 8 * WIDTH));
    CU(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU(cuCtxSynchronize());

    /* Behind both streams of the first green context, before both of the second. */
    compute(0, in[0][0]);
    compute(2, in[0][1]);
    CU(cuGreenCtxRecordEvent(green[0], event));
    CU(cuGreenCtxWaitEvent(green[1], event));
    follow(1, in[1][0]);
    follow(3, in[1][1]);
    /* Behind all streams, before all. */
    compute(4, in[1][0]);
    compute(6, plain);
    CU(cuCtxRecordEvent(context, event));
    CU(cuCtxWaitEvent(context, event));
    follow(5, plain);
    follow(7, in[0][1]);
    CU(cuCtxRecordEvent(context, event));
    CU(cuEventSynchronize(event));
    CU(cuMemcpyDtoH_v2(values, memory, sizeof(values)));
    printf("rows: %08x\n", program_digest(values, sizeof(values)));

    /* A stream that is made behind a wait, and one of a green context that is gone. */
    compute(0, in[0][0]);
    CU(cuGreenCtxRecordEvent(green[0], event));
    CU(cuGreenCtxWaitEvent(green[1], event));
    follow(1, in[1][1]);
    CU(cuStreamSynchronize(in[1][1]));
    CU(cuGreenCtxDestroy(green[1]));
    CU(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
    follow(2, later);
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH_v2(values, memory, sizeof(values)));
    printf("later: %08x\n", program_digest(values, sizeof(values)));
    CU(cuMemFree_v2(memory));
    CU(cuGreenCtxDestroy(green[0]));
    return 0;
}
