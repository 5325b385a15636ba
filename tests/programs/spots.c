/* SPDX-License-Identifier: Apache-2.0
 *
 * spots MIB WAITS [read]: MIB MiB in one allocation and 16 bytes in another one; WAITS times
 * both begin with another value, and the program waits. It reads nothing back, or the small one in
 * the end.
 */
#include "tests/programs/program.h"

enum { SMALL = 16 };

int main(int argc, char **argv)
{
    const size_t size = (size_t)atoi(argv[1]) << 20;
    const int waits = atoi(argv[2]);
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUdeviceptr large, small;
    uint32_t result[SMALL / 4] = {0};

    CU(cuMemAlloc_v2(&large, size));
    CU(cuMemAlloc_v2(&small, SMALL));
    CU(cuMemsetD8_v2(small, 0, SMALL));
    for (int i = 0; i < waits; i++) {
        CU(cuMemsetD32Async(large + (size - 4), (unsigned)i + 1, 1, NULL));
        CU(cuMemsetD32Async(small, (unsigned)i + 1, 1, NULL));
        CU(cuCtxSynchronize());
    }
    if (argc > 3)
        CU(cuMemcpyDtoH_v2(result, small, SMALL));
    printf("spots: %u\n", result[0]);
    CU(cuMemFree_v2(small));
    CU(cuMemFree_v2(large));
    program_end(module, context);
    return 0;
}
