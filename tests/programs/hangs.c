/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that hang; each says "hangs" before, and is to be killed: hangs WAY. WAY:
 *
 *   crossed   two streams, each waits for a value that the other one writes behind its own wait
 *   ring      three streams, likewise, and a fourth that waits for one of them by an event
 *   pairs     crossed twice, and a fifth stream that waits for the second pair, sent before both
 *   open      a stream waits for a value that nobody writes
 *   too_low   ... for one that a stream has written, but a smaller one
 *   function  a function of the program does not return
 *   goes_on   crossed, but the first value is there already: it does not hang
 */
#include "tests/programs/program.h"

#include <stdbool.h>
#include <unistd.h>

enum { STREAMS = 5 };

static CUstream streams[STREAMS];
static CUdeviceptr words;
static CUfunction fill;

static CUdeviceptr word(unsigned i)
{
    return words + 64 * i;
}

static void send_fill(CUstream stream)
{
    unsigned count = 1, value = 7;
    CUdeviceptr to = word(STREAMS);

    program_launch(fill, count, stream, (void *[]){&count, &value, &to});
}

/* Its name is in the stacks that the test looks for. */
__attribute__((noinline)) static void wait_for(unsigned stream, unsigned i)
{
    CU(cuStreamWaitValue32_v2(streams[stream], word(i), 1, CU_STREAM_WAIT_VALUE_GEQ));
}

static void give(unsigned stream, unsigned i, unsigned value)
{
    CU(cuStreamWriteValue32_v2(streams[stream], word(i), value, 0));
}

/* Each stream waits for the one behind it, the last for the first. */
static void cross(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        wait_for(i, first + (i - first + 1) % count);
        send_fill(streams[i]);
        give(i, i, 1);
    }
}

static void wait_for_ever(void *unused)
{
    for (;;)
        pause();
}

static void hang(const char *way)
{
    CUevent event;

    CU(cuEventCreate(&event, 0));
    if (!strcmp(way, "goes_on"))
        give(2, 1, 1);
    CU(cuCtxSynchronize());
    if (!strcmp(way, "ring")) {
        cross(0, 3);
        CU(cuEventRecord(event, streams[0]));
        CU(cuStreamWaitEvent(streams[3], event, 0));
        send_fill(streams[3]);
    } else if (!strcmp(way, "open") || !strcmp(way, "too_low")) {
        if (!strcmp(way, "too_low"))
            give(1, 0, 0);
        wait_for(0, 0);
        send_fill(streams[0]);
    } else if (!strcmp(way, "function")) {
        wait_for(1, 0);
        CU(cuLaunchHostFunc(streams[0], wait_for_ever, NULL));
        give(0, 0, 1);
    } else {
        if (!strcmp(way, "pairs"))
            wait_for(4, 2);
        cross(0, 2);
        if (!strcmp(way, "pairs"))
            cross(2, 2);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "crossed";
    CUcontext context;
    CUmodule module = program_begin(&context);

    fill = program_function(module, "fill");
    CU(cuMemAlloc_v2(&words, 4096));
    CU(cuMemsetD32_v2(words, 0, 1024));
    for (unsigned i = 0; i < STREAMS; i++)
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    hang(way);
    puts("hangs");
    fflush(stdout);
    CU(cuCtxSynchronize());
    program_end(module, context);
    return 0;
}
