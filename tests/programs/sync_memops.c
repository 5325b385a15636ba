/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory whose asynchronous copies wait for their end, as libraries want it that pass GPU memory to
 * network cards.
 */
#include "tests/programs/program.h"

#include <string.h>

enum { SIZE = 4096 };

int main(void)
{
    unsigned on = 1;
    CUcontext context;
    static unsigned char in[SIZE], out[SIZE];
    CUdeviceptr memory;

    program_begin(&context);
    memset(in, 0x5a, sizeof(in));
    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    CU(cuMemcpyHtoDAsync_v2(memory, in, SIZE, NULL));
    CU(cuMemcpyDtoHAsync_v2(out, memory, SIZE, NULL));
    CU(cuCtxSynchronize());
    CU(cuMemFree_v2(memory));
    printf("%s\n", memcmp(in, out, SIZE) == 0 ? "same" : "different");
    return 0;
}
