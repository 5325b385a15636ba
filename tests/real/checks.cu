/* SPDX-License-Identifier: Apache-2.0
 *
 * What compiled CUDA C++ asks of a driver, as kernels that check themselves.
 */
#include "check.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;

/* ---- the language ---- */

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~Shape() {}
};

struct Square : Shape {
    int side;
    __device__ explicit Square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};

struct Strip : Shape {
    int length;
    __device__ explicit Strip(int length) : length(length) {}
    __device__ int area() const override { return 3 * length; }
};

KERNEL(virtual_functions, 2, 64, 0)
{
    int t = (int)threadIdx.x;
    Shape *shape = t % 2 ? (Shape *)new Square(t) : (Shape *)new Strip(t);

    CHECK(shape != nullptr);
    CHECK(shape->area() == (t % 2 ? t * t : 3 * t));
    delete shape;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

KERNEL(recursion, 1, 40, 0)
{
    unsigned n = threadIdx.x % 5;

    CHECK(ackermann(2, n) == 2 * n + 3);
}

struct Record {
    double x, y;
    int k[5];
};
typedef Record (*change)(Record, char, double);
__device__ __noinline__ Record add(Record r, char c, double d)
{
    r.x += c;
    r.y += d;
    r.k[4] = c;
    return r;
}
__device__ __noinline__ Record multiply(Record r, char c, double d)
{
    r.x *= c;
    r.y *= d;
    r.k[4] = -c;
    return r;
}
__device__ change changes[2] = {add, multiply};

KERNEL(function_pointers, 1, 96, 0)
{
    int t = (int)threadIdx.x;
    Record start = {1.5, 2.5, {1, 2, 3, 4, 5}};
    Record r = changes[t & 1](start, (char)(t & 15), 0.5);

    CHECK(r.x == (t & 1 ? 1.5 * (t & 15) : 1.5 + (t & 15)));
    CHECK(r.y == (t & 1 ? 1.25 : 3.0));
    CHECK(r.k[4] == (t & 1 ? -(t & 15) : t & 15) && r.k[1] == 2);
}

extern __shared__ unsigned char dynamic[];

KERNEL(dynamic_shared, 2, 128, 2048)
{
    unsigned *words = (unsigned *)dynamic, t = threadIdx.x;
    double *doubles = (double *)(dynamic + 512);

    words[t] = t * 3;
    doubles[127 - t] = t;
    __syncthreads();
    CHECK(words[127 - t] == (127 - t) * 3);
    CHECK(doubles[t] == 127 - t);
}

template <class F, class... A> __device__ auto call(F f, A... a)
{
    return f(a...);
}

KERNEL(templates, 1, 32, 0)
{
    int k = (int)threadIdx.x;
    auto scale = [k](int a, double b) { return a * b + k; };
    auto sum = [](auto self, int n) -> int { return n ? n + self(self, n - 1) : 0; };

    CHECK(call(scale, 3, 1.5) == 4.5 + k);
    CHECK(sum(sum, 10) == 55);
}

__constant__ int constants[64] = {1, 2, 3, 4};
__device__ const char *strings[] = {"alpha", "beta", "gamma"};
__device__ __managed__ int managed = 42;
__device__ int globals[16] = {1, 2, 3};
__device__ int *inner = &globals[2];

KERNEL(data, 1, 64, 0)
{
    const char *text = strings[threadIdx.x % 3];
    int length = 0;

    while (text[length])
        length++;
    CHECK(length == (threadIdx.x % 3 == 1 ? 4 : 5));
    CHECK(constants[threadIdx.x] == (threadIdx.x < 4 ? (int)threadIdx.x + 1 : 0));
    CHECK(managed == 42 && *inner == 3);
}

KERNEL(local_arrays, 1, 64, 0)
{
    int a[40];

    for (int i = 0; i < 40; i++)
        a[i] = (int)((unsigned)(i * 64 + (int)threadIdx.x) * 2654435761u >> 20);
    for (int i = 1; i < 40; i++) {
        int value = a[i], j = i;
        for (; j > 0 && a[j - 1] > value; j--)
            a[j] = a[j - 1];
        a[j] = value;
    }
    for (int i = 1; i < 40; i++)
        CHECK(a[i - 1] <= a[i]);
}

KERNEL(heap, 2, 64, 0)
{
    int count = (int)threadIdx.x + 1, sum = 0;
    int *list = (int *)malloc(sizeof(int) * count);

    CHECK(list != nullptr);
    for (int i = 0; i < count; i++)
        list[i] = i;
    for (int i = 0; i < count; i++)
        sum += list[i];
    CHECK(sum == count * (count - 1) / 2);
    free(list);
}

/* ---- numbers ---- */

KERNEL(wide_integers, 1, 64, 0)
{
    unsigned t = threadIdx.x;
    unsigned __int128 a = ((unsigned __int128)0x123456789abcdefull << 40) * (t + 1), b = t * 977 + 3;
    long long c = -((long long)t << 33) - 5, d = 7 - 2 * (int)(t % 3);

    CHECK(a / b * b + a % b == a && a % b < b);
    CHECK(c / d * d + c % d == c);
    CHECK(__umul64hi(~0ull - t, 1ull << 63) == (~0ull - t) >> 1);
}

KERNEL(halves, 1, 128, 0)
{
    int t = (int)threadIdx.x;
    __half a = __int2half_rn(t), b = __float2half(0.5f);
    __half2 pair = __halves2half2(a, b);
    __nv_bfloat16 c = __int2bfloat16_rn(t);

    CHECK(__half2float(__hfma(a, b, a)) == 1.5f * t);
    CHECK(__half2float(__high2half(__hadd2(pair, pair))) == 1.0f);
    CHECK(__hlt(b, __int2half_rn(1)) && __hmax(a, b) == (t ? a : b));
    CHECK(__bfloat162float(__hmul(c, __float2bfloat16(2.0f))) == 2.0f * t);
}

KERNEL(functions, 1, 256, 0)
{
    double x = (threadIdx.x + 1) / 16.0;
    float y = (float)x;

    CHECK(fabs(sin(x) * sin(x) + cos(x) * cos(x) - 1) < 1e-14);
    CHECK(fabs(exp(log(x)) - x) < 1e-13 * x);
    CHECK(fabs(cbrt(x) * cbrt(x) * cbrt(x) - x) < 1e-14 * x);
    CHECK(fabsf(tanhf(y) - (1 - 2 / (expf(2 * y) + 1))) < 1e-6f);
    CHECK(fabsf(powf(y, 1.5f) - y * sqrtf(y)) < 1e-5f * (1 + y * sqrtf(y)));
    CHECK(fabs(erf(x) + erfc(x) - 1) < 1e-14);
    CHECK(fmod(x * 16, 7.0) == (threadIdx.x + 1) % 7 && rint(2.5) == 2 && lround(-2.5) == -3);
}

/* ---- threads together ---- */

KERNEL(atomics, 4, 64, 0)
{
    unsigned *word = (unsigned *)scratch;
    unsigned long long *wide = (unsigned long long *)(scratch + 64);
    double *real = (double *)(scratch + 128);
    unsigned old = atomicAdd(word, 1u);

    CHECK(old < 4 * 64);
    CHECK(atomicMax(wide, (unsigned long long)old << 40) <= (255ull << 40));
    CHECK(atomicAdd(real, 1.0) < 256.0);
    unsigned seen = word[1], assumed;
    do {
        assumed = seen;
        seen = atomicCAS(word + 1, assumed, assumed + 2);
    } while (seen != assumed);
    CHECK(seen % 2 == 0);
}

KERNEL(warps, 1, 64, 0)
{
    unsigned lane = threadIdx.x % 32;

    CHECK(__ballot_sync(~0u, lane < 5) == 31);
    CHECK(__shfl_xor_sync(~0u, lane, 7) == (lane ^ 7));
#if __CUDA_ARCH__ >= 800
    CHECK(__reduce_add_sync(~0u, lane) == 496);
#endif
    CHECK(__popc(__match_any_sync(~0u, lane % 4)) == 8);
    if (lane % 3 == 1)
        CHECK(cg::reduce(cg::coalesced_threads(), 1u, cg::plus<unsigned>()) == 11);
}

KERNEL(tiles, 1, 128, 0)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());

    CHECK(tile.thread_rank() == threadIdx.x % 8);
    CHECK(tile.shfl(threadIdx.x, 0) == threadIdx.x / 8 * 8);
    CHECK(cg::reduce(tile, 1, cg::plus<int>()) == 8);
    CHECK(tile.any(tile.thread_rank() == 3) && !tile.all(tile.thread_rank() == 3));
}

/* A matrix of halves times the unit matrix. */
KERNEL(matrices, 1, 32, 0)
{
    using namespace nvcuda;
    __shared__ __half a[256], b[256];
    __shared__ float c[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

    for (unsigned i = threadIdx.x; i < 256; i += 32) {
        a[i] = __int2half_rn((int)i);
        b[i] = __int2half_rn(i / 16 == i % 16);
    }
    __syncwarp();
    wmma::fill_fragment(fc, 0.5f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (unsigned i = threadIdx.x; i < 256; i += 32)
        CHECK(c[i] == i + 0.5f);
}
