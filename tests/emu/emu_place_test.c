/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory is found where the usual places are taken: a replay takes those where memory was recorded
 * before it begins with the driver.
 */
#include "tests/emu/emu_test.h"

#include <sys/mman.h>

static void take(uint64_t address)
{
    mmap((void *)(uintptr_t)address, 2 << 20, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

int main(void)
{
    CUdeviceptr device = 0;
    uint32_t value = 0;
    void *host = NULL;
    CUcontext context;

#ifdef __SANITIZE_THREAD__
    return 77; /* its own memory is in the other places */
#endif
    take(0x200000000000);
    take(0x4000000000);
    context = test_context();
    OK(cuMemAlloc_v2(&device, 4096));
    OK(cuMemHostAlloc(&host, 4096, 0));
    OK(cuMemsetD32_v2(device, 7, 1));
    OK(cuMemcpyDtoH_v2(&value, device, 4));
    CHECK_EQ_INT(value, 7);
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
