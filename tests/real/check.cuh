/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that check themselves: tests/programs/run_checks.c runs every check_NAME__GRID_BLOCK_SHARED.
 * counts[0] counts what is wrong, counts[1] what was looked at; scratch are 64 KiB of zeros.
 */
#ifndef TESTS_REAL_CHECK_CUH
#define TESTS_REAL_CHECK_CUH

#ifndef __CUDACC_RTC__
#include <stdio.h>
#endif

#define CHECK(condition)                                                                           \
    (atomicAdd(&counts[1], 1u), (condition) ? 0u                                                   \
     : atomicAdd(&counts[0], 1u) < 3                                                               \
         ? (unsigned)printf("wrong: %s, thread %u\n", #condition, threadIdx.x)                     \
         : 0u)
#define KERNEL(name, grid, block, shared)                                                          \
    extern "C" __global__ void check_##name##__##grid##_##block##_##shared(unsigned *counts,       \
                                                                           char *scratch)

/* A hash, for numbers that look random. */
static inline __device__ unsigned scramble(unsigned x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

#endif
