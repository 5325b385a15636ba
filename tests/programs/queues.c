/* SPDX-License-Identifier: Apache-2.0
 *
 * Several threads put commands of all kinds on the same streams, each on memory of its own: queues
 * SEED STEPS. Calls that wait for the GPU are among them.
 */
#include "tests/programs/program.h"

#include <pthread.h>

enum { THREADS = 4, COUNT = 2048, SIZE = COUNT * 4, STREAMS = 3 };

static CUstream streams[STREAMS]; /* the last is the default one */
static CUfunction fill;
static CUcontext context;
static unsigned steps;

struct worker {
    pthread_t thread;
    uint64_t state;
    unsigned digest;
    unsigned *pageable, *pinned;
    CUdeviceptr device, other;
};

static unsigned below(struct worker *w, unsigned limit)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return (unsigned)(w->state >> 11) % limit;
}

static void copy_rows(struct worker *w, CUstream stream)
{
    const CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                             .srcHost = w->pageable,
                             .srcPitch = 256,
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                             .dstDevice = w->other,
                             .dstPitch = 256,
                             .WidthInBytes = 100,
                             .Height = 20};

    if (below(w, 2))
        CU(cuMemcpy2DAsync_v2(&c, stream));
    else
        CU(cuMemcpy2D_v2(&c));
}

static void send(struct worker *w, CUstream stream)
{
    int count = COUNT;
    unsigned value = below(w, 1000);

    switch (below(w, 12)) {
    case 0:
        CU(cuMemcpyHtoD_v2(w->device, w->pageable, SIZE));
        break;
    case 1:
        CU(cuMemcpyDtoH_v2(w->pageable, w->device, SIZE));
        break;
    case 2:
        CU(cuMemcpyHtoDAsync_v2(w->device, w->pageable, SIZE, stream));
        break;
    case 3:
        CU(cuMemcpyDtoHAsync_v2(w->pageable, w->device, SIZE, stream));
        break;
    case 4:
        CU(cuMemcpyHtoDAsync_v2(w->other, w->pinned, SIZE, stream));
        break;
    case 5:
        CU(cuMemcpyAsync(w->device, (CUdeviceptr)(uintptr_t)w->pageable, SIZE, stream));
        break;
    case 6:
        CU(cuMemsetD32_v2(w->device, value, COUNT));
        break;
    case 7:
        CU(cuMemcpyDtoD_v2(w->other, w->device, SIZE));
        break;
    case 8:
        copy_rows(w, stream);
        break;
    case 9:
        CU(cuMemcpy(w->other, w->device, SIZE));
        break;
    case 10:
        CU(cuMemsetD32Async(w->device, value, COUNT, stream));
        break;
    default:
        program_launch(fill, COUNT, stream, (void *[]){&count, &value, &w->device});
    }
}

static void *work(void *user)
{
    struct worker *w = user;

    CU(cuCtxSetCurrent(context));
    for (unsigned i = 0; i < steps; i++) {
        send(w, streams[below(w, STREAMS)]);
        if (below(w, 8) == 0)
            CU(cuStreamSynchronize(streams[below(w, STREAMS)]));
    }
    CU(cuCtxSynchronize());
    return NULL;
}

/* ---- a call that waits for one after it ---------------------------------------------------- */

static int is_let_go;

static void wait_for_thread(void *unused)
{
    while (!__atomic_load_n(&is_let_go, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static void *copy_behind(void *user)
{
    struct worker *w = user;

    CU(cuCtxSetCurrent(context));
    CU(cuMemcpyDtoHAsync_v2(w->pageable, w->device, SIZE, streams[0]));
    return NULL;
}

/* The copy waits for the function, and that for this thread, which has something to send before. */
static void let_go(struct worker *w)
{
    CU(cuLaunchHostFunc(streams[0], wait_for_thread, NULL));
    pthread_create(&w->thread, NULL, copy_behind, w);
    usleep(20000); /* until the copy has begun; if it has not, its place is another one, as the log
                      says */
    CU(cuMemsetD32Async(w->other, 1, COUNT, streams[0]));
    __atomic_store_n(&is_let_go, 1, __ATOMIC_RELEASE);
    pthread_join(w->thread, NULL);
    CU(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];
    CUmodule module = program_begin(&context);
    unsigned long seed = strtoul(argc > 1 ? argv[1] : "1", NULL, 10);

    steps = (unsigned)strtoul(argc > 2 ? argv[2] : "100", NULL, 10);
    fill = program_function(module, "fill");
    CU(cuStreamCreate(&streams[0], CU_STREAM_DEFAULT));
    CU(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < THREADS; i++) {
        struct worker *w = &workers[i];
        w->state = (seed * THREADS + i + 1) * 0x9e3779b97f4a7c15u;
        w->pageable = calloc(1, SIZE);
        CU(cuMemHostAlloc((void **)&w->pinned, SIZE, 0));
        CU(cuMemAlloc_v2(&w->device, SIZE));
        CU(cuMemAlloc_v2(&w->other, SIZE));
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    let_go(&workers[0]);
    for (unsigned i = 0; i < THREADS; i++) {
        free(workers[i].pageable);
        CU(cuMemFreeHost(workers[i].pinned));
        CU(cuMemFree_v2(workers[i].device));
        CU(cuMemFree_v2(workers[i].other));
    }
    program_end(module, context);
    printf("queues: %u commands\n", THREADS * steps);
    return 0;
}
