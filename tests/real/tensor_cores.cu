/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor cores of sm_90a and sm_100a as inline PTX and the toolkit's wrappers have them.
 */
#include "check.cuh"

#include <cuda/ptx>
#include <cuda_fp16.h>

namespace ptx = cuda::ptx;

#define DEPTH 64 /* of the halves' matrices: rows of 128 bytes, swizzled */

static __device__ int value_a(unsigned row, unsigned k)
{
    return (int)(scramble(row * 131 + k) % 7) - 3;
}

static __device__ int value_b(unsigned n, unsigned k)
{
    return (int)(scramble(77777 + n * 131 + k) % 7) - 3;
}

static __device__ int product(unsigned row, unsigned n, unsigned depth)
{
    int sum = 0;

    for (unsigned k = 0; k < depth; k++)
        sum += value_a(row, k) * value_b(n, k);
    return sum;
}

/* Rows of 64 halves, whose eight pieces change places by the row. */
static __device__ void put_half(__half *tile, unsigned line, unsigned k, int v)
{
    tile[line * DEPTH + ((k / 8 ^ line % 8) * 8 + k % 8)] = __float2half((float)v);
}

static __device__ void fill_halves(__half *a, unsigned rows, __half *b, unsigned columns)
{
    for (unsigned e = threadIdx.x; e < rows * DEPTH; e += blockDim.x)
        put_half(a, e / DEPTH, e % DEPTH, value_a(e / DEPTH, e % DEPTH));
    for (unsigned e = threadIdx.x; e < columns * DEPTH; e += blockDim.x)
        put_half(b, e / DEPTH, e % DEPTH, value_b(e / DEPTH, e % DEPTH));
}

static __device__ unsigned long long place_of(const void *p)
{
    return (unsigned long long)__cvta_generic_to_shared(p) >> 4;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* Eight lines are 1024 bytes; 128 bytes change places. */
static __device__ unsigned long long swizzled(const void *tile, unsigned k)
{
    return place_of(tile) + 2 * k | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

KERNEL(halves, 1, 128, 0)
{
    __shared__ __align__(1024) __half a[64 * DEPTH];
    __shared__ __align__(1024) __half b[8 * DEPTH];
    float d[4];
    unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    unsigned column = threadIdx.x % 4 * 2;

    fill_halves(a, 64, b, 8);
    __syncthreads();
    asm volatile("fence.proxy.async; wgmma.fence.sync.aligned;" ::: "memory");
    for (unsigned k = 0; k < DEPTH / 16; k++)
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, "
                     "1, 1, 0, 0; }"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "l"(swizzled(a, k)), "l"(swizzled(b, k)), "r"(k));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (unsigned e = 0; e < 4; e++)
        CHECK(d[e] == (float)product(row + e / 2 * 8, column + e % 2, DEPTH));
}

/* A in registers, B in rows of 16 bytes. */
KERNEL(bytes, 1, 128, 0)
{
    __shared__ __align__(128) signed char b[2][8][16];
    unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    unsigned a[4];
    int d[4];

    for (unsigned e = threadIdx.x; e < 256; e += 128)
        b[e / 16 % 2][e / 32][e % 16] = (signed char)value_b(e / 32, e % 32);
    for (unsigned r = 0; r < 4; r++) {
        a[r] = 0;
        for (unsigned j = 0; j < 4; j++)
            a[r] |= (unsigned)(unsigned char)value_a(row + r % 2 * 8,
                                                     threadIdx.x % 4 * 4 + r / 2 * 16 + j)
                    << 8 * j;
    }
    __syncthreads();
    asm volatile(
        "fence.proxy.async; wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, "
        "0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(place_of(b) | 8ull << 16 | 16ull << 32)
        : "memory");
    for (unsigned e = 0; e < 4; e++)
        CHECK(d[e] == product(row + e / 2 * 8, threadIdx.x % 4 * 2 + e % 2, 32));
}

#else

static __device__ unsigned long long swizzled(const void *tile, unsigned k)
{
    return place_of(tile) + 2 * k | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
}

KERNEL(halves, 1, 128, 0)
{
    __shared__ __align__(1024) __half a[128 * DEPTH];
    __shared__ __align__(1024) __half b[16 * DEPTH];
    __shared__ cuda::std::uint64_t barrier;
    __shared__ unsigned base;
    const unsigned form = 1u << 4 | 16u / 8 << 17 | 128u / 16 << 24; /* f32; N 16; M 128 */
    unsigned d[16];

    fill_halves(a, 128, b, 16);
    if (threadIdx.x == 0)
        ptx::mbarrier_init(&barrier, 1);
    if (threadIdx.x < 32)
        ptx::tcgen05_alloc(ptx::cta_group_1, &base, 32);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned k = 0; k < DEPTH / 16; k++)
            ptx::tcgen05_mma(ptx::kind_f16, ptx::cta_group_1, base, swizzled(a, k), swizzled(b, k),
                             form, k != 0);
        ptx::tcgen05_commit(ptx::cta_group_1, &barrier);
    }
    while (!ptx::mbarrier_try_wait_parity(&barrier, 0))
        ;
    ptx::tcgen05_fence_after_thread_sync();
    ptx::tcgen05_ld_32x32b(d, base + (threadIdx.x / 32 * 32 << 16));
    ptx::tcgen05_wait_ld();
    for (unsigned n = 0; n < 16; n++)
        CHECK(__uint_as_float(d[n]) == (float)product(threadIdx.x, n, DEPTH));
    __syncthreads();
    if (threadIdx.x < 32) {
        ptx::tcgen05_dealloc(ptx::cta_group_1, base, 32);
        ptx::tcgen05_relinquish_alloc_permit(ptx::cta_group_1);
    }
}

/* Half of a unit in the last place is rounded up by half of the random numbers. */
KERNEL(stochastic, 1, 64, 0)
{
    unsigned random = threadIdx.x * 0x00800080u;
    unsigned d;

    asm("cvt.rs.f16x2.f32 %0, %1, %2, %3;"
        : "=r"(d)
        : "f"(1.00048828125f), "f"(-2.0f), "r"(random));
    CHECK((d & 0xffff) == 0xc000);
    CHECK(d >> 16 == 0x3c00 + (threadIdx.x * 0x80 % 0x2000 >= 0x1000));
}

#endif
