/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings: run with TS_EMU_DEVICES=2 TS_EMU_CC=9.0 TS_EMU_MEMORY=64M TS_EMU_POISON=0xa5.
 */
#include "tests/emu/emu_test.h"

int main(void)
{
    CUcontext first = test_context(), second;
    int count, major, can;
    unsigned value = 0;
    CUdeviceptr p, q;
    size_t total;

    OK(cuDeviceGetCount(&count));
    CHECK_EQ_INT(count, 2);
    OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
    CHECK_EQ_INT(major, 9);
    OK(cuDeviceTotalMem_v2(&total, 1));
    CHECK_EQ_INT(total, 64 << 20);
    OK(cuMemAlloc_v2(&p, 60 << 20));
    FAILS(cuMemAlloc_v2(&q, 60 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemcpyDtoH_v2(&value, p + 1000, 4));
    CHECK_EQ_INT(value, 0xa5a5a5a5);

    /* The other device has its own limit, and its memory can be copied to. */
    OK(cuCtxCreate_v2(&second, 0, 1));
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    CHECK_EQ_INT(can, 1);
    OK(cuCtxEnablePeerAccess(first, 0));
    FAILS(cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuMemAlloc_v2(&q, 60 << 20));
    OK(cuMemsetD32_v2(q, 7, 1));
    OK(cuMemcpyPeer(p, first, q, second, 4));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(&value, p, 4));
    CHECK_EQ_INT(value, 7);
    OK(cuCtxDestroy_v2(second));
    OK(cuCtxDestroy_v2(first));
    return check_result();
}
