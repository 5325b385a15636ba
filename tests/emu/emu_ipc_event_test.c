/* SPDX-License-Identifier: Apache-2.0
 *
 * An event of one process orders the streams of both.
 */
#include <stdatomic.h>
#include <time.h>

#include "tests/emu/emu_pair.h"

static atomic_bool is_open;

static void gate(void *data)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    while (!atomic_load(&is_open))
        nanosleep(&moment, NULL);
}

struct offer {
    CUipcEventHandle event;
    CUipcMemHandle memory;
};

static void check_refusals(CUevent event)
{
    CUipcEventHandle handle;
    CUevent plain, out;
    float ms;

    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    FAILS(cuIpcGetEventHandle(&handle, plain), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuIpcGetEventHandle(&handle, NULL), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuIpcGetEventHandle(NULL, event), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuEventCreate(&out, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
    OK(cuIpcGetEventHandle(&handle, event));
    FAILS(cuIpcOpenEventHandle(&out, handle), CUDA_ERROR_INVALID_CONTEXT); /* its own */
    memset(&handle, 0, sizeof(handle));
    FAILS(cuIpcOpenEventHandle(&out, handle), CUDA_ERROR_INVALID_HANDLE);
}

static void parent(int peer)
{
    CUcontext context = test_context();
    struct offer offer;
    CUdeviceptr memory;
    CUstream stream;
    CUevent event;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    check_refusals(event);
    OK(cuEventQuery(event)); /* never recorded */
    OK(cuMemAlloc_v2(&memory, 8));
    OK(cuMemsetD32_v2(memory, 0, 2));
    OK(cuCtxSynchronize());
    OK(cuIpcGetEventHandle(&offer.event, event));
    OK(cuIpcGetMemHandle(&offer.memory, memory));
    OK(cuLaunchHostFunc(stream, gate, NULL));
    OK(cuMemsetD32Async(memory, 5, 1, stream));
    OK(cuEventRecord(event, stream));
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    pair_send(peer, &offer, sizeof(offer));
    pair_meet(peer); /* the child's streams wait */
    atomic_store(&is_open, true);
    OK(cuEventSynchronize(event));
    pair_meet(peer);
    pair_meet(peer); /* the child has recorded, too */
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuMemcpyDtoDAsync_v2(memory, memory + 4, 4, stream));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    pair_meet(peer);
    OK(cuEventSynchronize(event));
    OK(cuStreamSynchronize(stream));
    CHECK_EQ_INT(pair_read(memory), 77);
    pair_meet(peer);
    /* The child records, and ends before that is complete: nobody waits for ever. */
    pair_meet(peer);
    OK(cuEventSynchronize(event));
    OK(cuEventDestroy_v2(event));
    OK(cuCtxDestroy_v2(context));
}

static void child(int peer)
{
    CUdeviceptr memory, copy;
    struct offer offer;
    CUipcEventHandle again;
    CUstream stream;
    CUevent event;

    test_context();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&copy, 4));
    OK(cuMemsetD32_v2(copy, 1, 1));
    OK(cuCtxSynchronize());
    pair_receive(peer, &offer, sizeof(offer));
    OK(cuIpcOpenEventHandle(&event, offer.event));
    OK(cuIpcOpenMemHandle_v2(&memory, offer.memory, 1));
    FAILS(cuIpcGetEventHandle(&again, event), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuMemcpyDtoDAsync_v2(copy, memory, 4, stream));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    pair_meet(peer);
    OK(cuEventSynchronize(event));
    OK(cuStreamSynchronize(stream));
    CHECK_EQ_INT(pair_read(copy), 5);
    pair_meet(peer);

    OK(cuLaunchHostFunc(stream, gate, NULL));
    OK(cuMemsetD32Async(memory + 4, 77, 1, stream));
    OK(cuEventRecord(event, stream));
    pair_meet(peer);
    pair_meet(peer); /* the parent waits */
    atomic_store(&is_open, true);
    OK(cuStreamSynchronize(stream));
    pair_meet(peer);

    atomic_store(&is_open, false);
    OK(cuLaunchHostFunc(stream, gate, NULL));
    OK(cuEventRecord(event, stream));
    pair_meet(peer);
}

int main(void)
{
    return pair_run(parent, child);
}
