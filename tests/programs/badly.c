/* SPDX-License-Identifier: Apache-2.0
 *
 * badly WAY: work that would be done sooner if it were sent in another order, for tests of orders.
 * WAYS:
 *   last     a long kernel is sent behind short ones, each on a stream of its own
 *   copies   copies that nothing waits for have the engine before the one that a long kernel needs
 *   event    the long kernel waits for an event that is recorded late
 *   same     all of them access the same memory: their order has to stay
 *   waits    the program waits behind each: nothing can be sent in another order
 *   again    an event is recorded for something else; what waits for it as it was is in no hurry
 *   default  the default stream is between two long kernels
 */
#include "tests/programs/program.h"

enum { STREAMS = 6, COUNT = 256, SIZE = COUNT * 4, COPY = 1 << 16, SHORT = 3, LONG = 20000 };

static CUstream streams[STREAMS];
static CUdeviceptr own[STREAMS];
static CUfunction mix;
static uint8_t *pinned;

static void work(unsigned stream, CUdeviceptr at, int rounds)
{
    int count = COUNT;

    program_launch(mix, COUNT, streams[stream], (void *[]){&count, &rounds, &at});
}

static void copy(unsigned stream, size_t size)
{
    CU(cuMemcpyHtoDAsync_v2(own[stream], pinned + (size_t)stream * COPY, size, streams[stream]));
}

static void by_last(int is_same, int is_waiting)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        work(i, own[is_same ? 0 : i], i + 1 < STREAMS ? SHORT : LONG);
        if (is_waiting)
            CU(cuStreamSynchronize(streams[i]));
    }
}

static void by_copies(void)
{
    for (unsigned i = 0; i < STREAMS; i++)
        copy(i, COPY);
    work(STREAMS - 1, own[STREAMS - 1], LONG);
}

static void by_event(void)
{
    CUevent done;

    CU(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < 3; i++)
        copy(i, COPY);
    CU(cuEventRecord(done, streams[2]));
    CU(cuStreamWaitEvent(streams[5], done, 0));
    for (unsigned i = 3; i < 5; i++)
        copy(i, COPY);
    work(5, own[2], LONG);
    /* The same event again, for another command. */
    CU(cuEventRecord(done, streams[4]));
    CU(cuStreamWaitEvent(streams[3], done, 0));
    work(3, own[4], SHORT);
}

static void by_again(void)
{
    CUevent done;

    CU(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    copy(0, SIZE);
    CU(cuEventRecord(done, streams[0]));
    CU(cuStreamWaitEvent(streams[3], done, 0));
    CU(cuMemcpyDtoDAsync_v2(own[3], own[0], SIZE, streams[3]));
    CU(cuStreamWaitEvent(streams[5], done, 0));
    work(5, own[5], LONG);
    copy(1, COPY);
    CU(cuEventRecord(done, streams[1]));
    CU(cuStreamWaitEvent(streams[4], done, 0));
    work(4, own[1], LONG / 2);
}

static void join_default(void)
{
    for (unsigned i = 1; i < STREAMS; i += 4) {
        CU(cuStreamDestroy_v2(streams[i]));
        CU(cuStreamCreate(&streams[i], CU_STREAM_DEFAULT));
    }
    CU(cuStreamDestroy_v2(streams[2]));
    streams[2] = NULL;
}

static void by_default(void)
{
    join_default();
    work(0, own[0], SHORT);
    work(1, own[1], LONG / 2);
    work(2, own[2], SHORT); /* waits for the one before */
    work(3, own[3], SHORT);
    work(5, own[5], LONG); /* waits for that */
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "last";
    static uint8_t results[STREAMS][COPY];
    CUcontext context;
    CUmodule module = program_begin(&context);

    mix = program_function(module, "mix");
    CU(cuMemHostAlloc((void **)&pinned, STREAMS * COPY, 0));
    for (unsigned i = 0; i < STREAMS * COPY; i++)
        pinned[i] = (uint8_t)(i * 7 + i / COPY);
    for (unsigned i = 0; i < STREAMS; i++) {
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        CU(cuMemAlloc_v2(&own[i], COPY));
        CU(cuMemsetD32_v2(own[i], i, COPY / 4));
    }
    CU(cuCtxSynchronize());
    if (!strcmp(way, "copies"))
        by_copies();
    else if (!strcmp(way, "event"))
        by_event();
    else if (!strcmp(way, "again"))
        by_again();
    else if (!strcmp(way, "default"))
        by_default();
    else
        by_last(!strcmp(way, "same"), !strcmp(way, "waits"));
    CU(cuCtxSynchronize());
    for (unsigned i = 0; i < STREAMS; i++)
        CU(cuMemcpyDtoH_v2(results[i], own[i], COPY));
    program_end(module, context);
    printf("badly: %08x\n", program_digest(results, sizeof(results)));
    return 0;
}
