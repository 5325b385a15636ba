/* SPDX-License-Identifier: Apache-2.0
 *
 * Three streams that hand work to one another through events, with asynchronous copies from and to
 * pinned memory: upload on one, compute on another, download on a third. Argument: rounds.
 */
#include "tests/programs/program.h"

enum { COUNT = 4096, SLOT_COUNT = 4 };

struct slot {
    unsigned *host_in, *host_out;
    CUdeviceptr in, out;
    CUevent uploaded, computed, downloaded;
};

static void slot_init(struct slot *s)
{
    CU(cuMemHostAlloc((void **)&s->host_in, COUNT * 4, 0));
    CU(cuMemHostAlloc((void **)&s->host_out, COUNT * 4, 0));
    CU(cuMemAlloc_v2(&s->in, COUNT * 4));
    CU(cuMemAlloc_v2(&s->out, COUNT * 4));
    CU(cuEventCreate(&s->uploaded, CU_EVENT_DISABLE_TIMING));
    CU(cuEventCreate(&s->computed, CU_EVENT_DISABLE_TIMING));
    CU(cuEventCreate(&s->downloaded, CU_EVENT_DISABLE_TIMING));
}

static void slot_finish(struct slot *s)
{
    CU(cuMemFreeHost(s->host_in));
    CU(cuMemFreeHost(s->host_out));
    CU(cuMemFree_v2(s->in));
    CU(cuMemFree_v2(s->out));
    CU(cuEventDestroy_v2(s->uploaded));
    CU(cuEventDestroy_v2(s->computed));
    CU(cuEventDestroy_v2(s->downloaded));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 32, count = COUNT, steps = 3;
    struct slot slots[SLOT_COUNT];
    CUstream upload, compute, download;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction copy = program_function(module, "copy"), mix = program_function(module, "mix");
    uint32_t digest = 0;

    CU(cuStreamCreate(&upload, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreateWithPriority(&download, CU_STREAM_NON_BLOCKING, -1));
    for (int i = 0; i < SLOT_COUNT; i++)
        slot_init(&slots[i]);
    for (int round = 0; round < rounds + SLOT_COUNT; round++) {
        struct slot *s = &slots[round % SLOT_COUNT];
        if (round >= SLOT_COUNT) {
            CU(cuEventSynchronize(s->downloaded));
            digest = digest * 31 + program_digest(s->host_out, COUNT * 4);
        }
        if (round >= rounds)
            continue;
        for (int i = 0; i < COUNT; i++)
            s->host_in[i] = (unsigned)(i * (round + 1));
        CU(cuMemcpyHtoDAsync_v2(s->in, s->host_in, COUNT * 4, upload));
        CU(cuEventRecord(s->uploaded, upload));
        CU(cuStreamWaitEvent(compute, s->uploaded, 0));
        program_launch(copy, COUNT, compute, (void *[]){&count, &s->in, &s->out});
        program_launch(mix, COUNT, compute, (void *[]){&count, &steps, &s->out});
        CU(cuEventRecord(s->computed, compute));
        CU(cuStreamWaitEvent(download, s->computed, 0));
        CU(cuMemcpyDtoHAsync_v2(s->host_out, s->out, COUNT * 4, download));
        CU(cuEventRecord(s->downloaded, download));
    }
    for (int i = 0; i < SLOT_COUNT; i++)
        slot_finish(&slots[i]);
    CU(cuStreamDestroy_v2(upload));
    CU(cuStreamDestroy_v2(compute));
    CU(cuStreamDestroy_v2(download));
    program_end(module, context);
    printf("pipeline %d rounds: %08x\n", rounds, digest);
    return 0;
}
