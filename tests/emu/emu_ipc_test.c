/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of one process in another: the kernels of both see each other's writes.
 */
#include "tests/emu/emu_pair.h"

#define LARGE (4u << 20)

struct offer {
    CUdeviceptr address; /* the parent's, which the child must not need */
    CUipcMemHandle small, large, inside, gone;
};

static void parent(int peer)
{
    CUdeviceptr before, small, after, large, gone, host;
    struct offer offer;
    CUcontext context = test_context();
    bool is_capable = false;
    void *p;

    OK(cuMemAlloc_v2(&before, 100));
    OK(cuMemAlloc_v2(&small, 1000));
    OK(cuMemAlloc_v2(&after, 100));
    OK(cuMemAlloc_v2(&large, LARGE));
    OK(cuMemAlloc_v2(&gone, 64));
    OK(cuMemsetD32_v2(before, 11, 25));
    OK(cuMemsetD32_v2(after, 33, 25));
    OK(cuMemsetD8_v2(large, 7, LARGE));
    pair_add(small, 22);
    offer.address = large;
    OK(cuPointerGetAttribute(&is_capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, small));
    CHECK(is_capable);
    OK(cuIpcGetMemHandle(&offer.small, small));
    OK(cuIpcGetMemHandle(&offer.large, large));
    OK(cuIpcGetMemHandle(&offer.inside, large + 4096));
    OK(cuIpcGetMemHandle(&offer.gone, gone));
    OK(cuMemFree_v2(gone));
    /* Earlier contents stay, in the shared memory and beside it. */
    CHECK_EQ_INT(pair_read(before), 11);
    CHECK_EQ_INT(pair_read(small), 22);
    CHECK_EQ_INT(pair_read(after), 33);

    OK(cuMemHostAlloc(&p, 64, 0));
    host = (uintptr_t)p;
    FAILS(cuIpcGetMemHandle(&offer.gone, host), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuIpcGetMemHandle(&offer.gone, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuIpcGetMemHandle(NULL, small), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuIpcOpenMemHandle_v2(&host, offer.small, 1), CUDA_ERROR_INVALID_CONTEXT); /* its own */

    pair_send(peer, &offer, sizeof(offer));
    pair_meet(peer); /* the child has added */
    CHECK_EQ_INT(pair_read(small), 122);
    CHECK_EQ_INT(pair_read(large + LARGE - 4), 0x07070707 + 5);
    pair_add(small, 1000);
    OK(cuMemsetD32_v2(large, 99, 1));
    OK(cuCtxSynchronize());
    pair_meet(peer);
    pair_meet(peer); /* the child has closed */
    OK(cuMemFree_v2(small));
    OK(cuMemFree_v2(large));
    /* New memory does not show what was shared. */
    OK(cuMemAlloc_v2(&small, 1000));
    OK(cuMemAlloc_v2(&large, LARGE));
    CHECK_EQ_INT(large, offer.address);
    CHECK_EQ_INT(pair_read(small), 0);
    CHECK_EQ_INT(pair_read(large + 8192), 0);
    CHECK_EQ_INT(pair_read(before), 11);
    OK(cuCtxDestroy_v2(context));
}

static void check_opened(const struct offer *offer, CUdeviceptr small, CUdeviceptr large)
{
    CUdeviceptr again, base;
    size_t size;

    OK(cuMemGetAddressRange_v2(&base, &size, small + 8));
    CHECK_EQ_INT(base, small);
    CHECK_EQ_INT(size, 1000);
    CHECK(small != large);
    OK(cuIpcOpenMemHandle_v2(&again, offer->large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK_EQ_INT(again, large);
    OK(cuIpcCloseMemHandle(again)); /* once more than the other */
    OK(cuIpcOpenMemHandle(&again, offer->inside, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK_EQ_INT(again, large);
    OK(cuIpcCloseMemHandle(again));
    FAILS(cuMemFree_v2(small), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuIpcCloseMemHandle(small + 8), CUDA_ERROR_INVALID_VALUE);
}

static void child(int peer)
{
    CUdeviceptr small, large, other;
    struct offer offer;
    CUipcMemHandle bad = {{0}};
    CUcontext context = test_context();

    pair_receive(peer, &offer, sizeof(offer));
    FAILS(cuIpcOpenMemHandle_v2(&small, bad, 1), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuIpcOpenMemHandle_v2(&small, offer.small, 2), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuIpcOpenMemHandle_v2(NULL, offer.small, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuIpcOpenMemHandle_v2(&small, offer.gone, 1), CUDA_ERROR_INVALID_HANDLE);
    OK(cuIpcOpenMemHandle_v2(&small, offer.small, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcOpenMemHandle_v2(&large, offer.large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    check_opened(&offer, small, large);
    CHECK_EQ_INT(pair_read(small), 22);
    CHECK_EQ_INT(pair_read(large + LARGE - 4), 0x07070707);
    pair_add(small, 100);
    pair_add(large + LARGE - 4, 5);
    pair_meet(peer);
    pair_meet(peer); /* the parent has added */
    CHECK_EQ_INT(pair_read(small), 1122);
    CHECK_EQ_INT(pair_read(large), 99);
    OK(cuIpcCloseMemHandle(small));
    FAILS(cuIpcCloseMemHandle(small), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoH_v2(&bad, small, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuIpcOpenMemHandle_v2(&other, offer.small, 1));
    OK(cuCtxDestroy_v2(context)); /* closes the rest */
    pair_meet(peer);
}

int main(void)
{
    return pair_run(parent, child);
}
