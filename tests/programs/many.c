/* SPDX-License-Identifier: Apache-2.0
 *
 * Many launches from several call sites: for figures and for long traces. Arguments: launches; a
 * file in which a u64 says, also after the program was killed, how many have returned.
 */
#include "tests/programs/program.h"

#include <fcntl.h>
#include <sys/mman.h>

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

static uint64_t *progress_in(const char *path)
{
    static uint64_t nowhere;
    int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    void *place;

    if (fd < 0 || ftruncate(fd, 8) != 0)
        return &nowhere;
    place = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return place == MAP_FAILED ? &nowhere : place;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000;
    uint64_t *progress = progress_in(argc > 2 ? argv[2] : NULL);
    CUcontext context;
    CUmodule module = program_begin(&context);

    nothing = program_function(module, "nothing");
    CU(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
    for (long i = 0; i < count; i++) {
        launch_deep((int)(i % 16), (int)(i & 1));
        __atomic_store_n(progress, (uint64_t)i + 1, __ATOMIC_RELEASE);
        if (i % 1024 == 1023)
            CU(cuCtxSynchronize());
    }
    CU(cuStreamDestroy_v2(streams[0]));
    CU(cuStreamDestroy_v2(streams[1]));
    program_end(module, context);
    printf("many: %ld launches\n", count);
    return 0;
}
