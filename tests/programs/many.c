/* SPDX-License-Identifier: Apache-2.0
 *
 * Many launches from several call sites: for figures and for long traces. Argument: launches.
 */
#include "tests/programs/program.h"

static CUfunction nothing;
static CUstream streams[2];

static void __attribute__((noinline)) launch(int which)
{
    CU(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, streams[which], NULL, NULL));
}

static void __attribute__((noinline)) launch_deep(int depth, int which)
{
    if (depth == 0)
        launch(which);
    else
        launch_deep(depth - 1, which);
    __asm__ volatile("" ::: "memory"); /* no tail call: the depth is the point */
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000;
    CUcontext context;
    CUmodule module = program_begin(&context);

    nothing = program_function(module, "nothing");
    CU(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
    for (long i = 0; i < count; i++) {
        launch_deep((int)(i % 16), (int)(i & 1));
        if (i % 1024 == 1023)
            CU(cuCtxSynchronize());
    }
    CU(cuStreamDestroy_v2(streams[0]));
    CU(cuStreamDestroy_v2(streams[1]));
    program_end(module, context);
    printf("many: %ld launches\n", count);
    return 0;
}
