/* SPDX-License-Identifier: Apache-2.0
 *
 * CUB's primitives of blocks and warps, and Thrust's algorithms in one thread.
 */
#include "check.cuh"

#include <cub/cub.cuh>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#define THREADS 128

struct larger {
    template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

struct before {
    template <class T> __device__ bool operator()(T a, T b) const { return a < b; }
};

template <cub::BlockReduceAlgorithm algorithm, class T> __device__ void reduce(unsigned *counts)
{
    using Reduce = cub::BlockReduce<T, THREADS, algorithm>;
    __shared__ typename Reduce::TempStorage storage;
    T value = (T)(threadIdx.x * 3 + 1);

    T sum = Reduce(storage).Sum(value);
    __syncthreads();
    T most = Reduce(storage).Reduce(value, larger());
    __syncthreads();
    T part = Reduce(storage).Sum(value, 50);
    if (threadIdx.x == 0)
        CHECK(sum == (T)(3 * 127 * 64 + 128) && most == (T)382 && part == (T)(3 * 49 * 25 + 50));
    __syncthreads();
}

KERNEL(reduce, 2, 128, 0)
{
    reduce<cub::BLOCK_REDUCE_RAKING, int>(counts);
    reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS, unsigned long long>(counts);
    reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS, float>(counts);
    reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, double>(counts);
}

template <cub::BlockScanAlgorithm algorithm, class T> __device__ void scan(unsigned *counts)
{
    using Scan = cub::BlockScan<T, THREADS, algorithm>;
    __shared__ typename Scan::TempStorage storage;
    int first = (int)threadIdx.x * 4, most = 0;
    T in[4], out[4], all;

    for (int i = 0; i < 4; i++)
        in[i] = (T)(first + i);
    Scan(storage).InclusiveSum(in, out);
    for (int i = 0; i < 4; i++)
        CHECK(out[i] == (T)((first + i) * (first + i + 1) / 2));
    __syncthreads();
    Scan(storage).ExclusiveSum(in, out, all);
    CHECK(all == (T)(511 * 256) && out[0] == (T)(first * (first - 1) / 2));
    __syncthreads();
    Scan(storage).InclusiveScan((T)(threadIdx.x * 37 % 101), all, larger());
    for (unsigned i = 0; i <= threadIdx.x; i++)
        most = max(most, (int)(i * 37 % 101));
    CHECK(all == (T)most);
    __syncthreads();
}

KERNEL(scan, 1, 128, 0)
{
    scan<cub::BLOCK_SCAN_RAKING, int>(counts);
    scan<cub::BLOCK_SCAN_RAKING_MEMOIZE, long long>(counts);
    scan<cub::BLOCK_SCAN_WARP_SCANS, double>(counts);
}

/* Keys that were seen, in order, each with the value that came with it. */
template <class Key> __device__ void radix(unsigned *counts)
{
    using Sort = cub::BlockRadixSort<Key, THREADS, 4, int>;
    __shared__ typename Sort::TempStorage storage;
    __shared__ Key sorted[THREADS * 4];
    int first = (int)threadIdx.x * 4, values[4];
    Key keys[4];

    for (int i = 0; i < 4; i++) {
        values[i] = first + i;
        keys[i] = (Key)((int)(scramble(values[i]) >> 8) - (1 << 20));
    }
    Sort(storage).Sort(keys, values);
    for (int i = 0; i < 4; i++) {
        sorted[first + i] = keys[i];
        CHECK(keys[i] == (Key)((int)(scramble(values[i]) >> 8) - (1 << 20)));
    }
    __syncthreads();
    for (int i = 0; i < 4; i++)
        CHECK(first + i == 0 || sorted[first + i - 1] <= sorted[first + i]);
    Sort(storage).SortDescendingBlockedToStriped(keys, values);
    for (int i = 0; i < 4; i++)
        CHECK(keys[i] == sorted[511 - ((int)threadIdx.x + THREADS * i)]);
    __syncthreads();
}

KERNEL(radix_sort, 1, 128, 0)
{
    radix<int>(counts);
    radix<double>(counts);
    radix<unsigned short>(counts);
}

KERNEL(merge_sort, 1, 128, 0)
{
    using Block = cub::BlockMergeSort<unsigned, THREADS, 4>;
    using Warp = cub::WarpMergeSort<unsigned, 2, 16>;
    __shared__ typename Block::TempStorage block;
    __shared__ typename Warp::TempStorage warp[THREADS / 16];
    unsigned keys[4], pair[2] = {scramble(threadIdx.x), scramble(threadIdx.x + 1000)};

    for (int i = 0; i < 4; i++)
        keys[i] = scramble(threadIdx.x * 4 + i);
    Block(block).Sort(keys, before());
    for (int i = 1; i < 4; i++)
        CHECK(keys[i - 1] <= keys[i]);
    unsigned last = __shfl_up_sync(~0u, keys[3], 1);
    CHECK(threadIdx.x % 32 == 0 || last <= keys[0]);
    Warp(warp[threadIdx.x / 16]).Sort(pair, before());
    last = __shfl_up_sync(~0u, pair[1], 1, 16);
    CHECK(pair[0] <= pair[1] && (threadIdx.x % 16 == 0 || last <= pair[0]));
}

KERNEL(histogram, 1, 128, 0)
{
    using Sorted = cub::BlockHistogram<unsigned char, THREADS, 4, 64, cub::BLOCK_HISTO_SORT>;
    using Atomic = cub::BlockHistogram<unsigned char, THREADS, 4, 64, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ typename Sorted::TempStorage sorted;
    __shared__ typename Atomic::TempStorage atomic;
    __shared__ unsigned a[64], b[64];
    unsigned char v[4], w[4];
    unsigned expected = 0;

    for (unsigned i = 0; i < 4; i++)
        v[i] = w[i] = scramble(threadIdx.x * 4 + i) % 64;
    Sorted(sorted).Histogram(v, a);
    Atomic(atomic).Histogram(w, b);
    __syncthreads();
    for (unsigned i = 0; i < THREADS * 4; i++)
        expected += scramble(i) % 64 == threadIdx.x % 64;
    CHECK(a[threadIdx.x % 64] == expected && b[threadIdx.x % 64] == expected);
}

KERNEL(exchange, 1, 128, 0)
{
    using Exchange = cub::BlockExchange<int, THREADS, 4, true>;
    using Load = cub::BlockLoad<int, THREADS, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<int, THREADS, 4, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        typename Exchange::TempStorage exchange;
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    int *words = (int *)scratch, first = (int)threadIdx.x * 4, v[4];

    for (int i = (int)threadIdx.x; i < 512; i += THREADS)
        words[i] = i * 7;
    __syncthreads();
    Load(storage.load).Load(words, v);
    for (int i = 0; i < 4; i++)
        CHECK(v[i] == (first + i) * 7);
    __syncthreads();
    Exchange(storage.exchange).BlockedToStriped(v, v);
    for (int i = 0; i < 4; i++)
        CHECK(v[i] == ((int)threadIdx.x + THREADS * i) * 7);
    __syncthreads();
    Exchange(storage.exchange).StripedToBlocked(v, v);
    __syncthreads();
    Store(storage.store).Store(words + 1024, v, 509);
    __syncthreads();
    for (int i = first; i < first + 4; i++)
        CHECK(words[1024 + i] == (i < 509 ? i * 7 : 0));
}

struct five {
    int a[5];
    __device__ five operator+(five o) const
    {
        for (int i = 0; i < 5; i++)
            o.a[i] += a[i];
        return o;
    }
};

struct plus {
    __device__ five operator()(const five &x, const five &y) const { return x + y; }
};

KERNEL(warps, 1, 128, 0)
{
    using Reduce = cub::WarpReduce<int>;
    using Eight = cub::WarpReduce<float, 8>;
    using Five = cub::WarpReduce<five>;
    using Scan = cub::WarpScan<double>;
    __shared__ typename Reduce::TempStorage reduce[4];
    __shared__ typename Eight::TempStorage eight[16];
    __shared__ typename Five::TempStorage fives[4];
    __shared__ typename Scan::TempStorage scan[4];
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    double sum;

    int all = Reduce(reduce[warp]).Sum(lane);
    CHECK(lane || all == 496);
    __syncwarp();
    int segment = Reduce(reduce[warp]).HeadSegmentedSum(lane, lane % 8 == 0);
    CHECK(lane % 8 || segment == 8 * lane + 28);
    float most = Eight(eight[threadIdx.x / 8]).Reduce((float)lane, larger());
    CHECK(lane % 8 || most == lane + 7);
    Scan(scan[warp]).InclusiveSum((double)lane, sum);
    CHECK(sum == lane * (lane + 1) / 2.0);
    five v = Five(fives[warp]).Reduce(five{{lane, 1, -lane, 2 * lane, 7}}, plus());
    CHECK(lane || (v.a[0] == 496 && v.a[1] == 32 && v.a[3] == 992 && v.a[4] == 224));
}

KERNEL(neighbours, 1, 128, 0)
{
    using Heads = cub::BlockDiscontinuity<int, THREADS>;
    using Difference = cub::BlockAdjacentDifference<int, THREADS>;
    __shared__ typename Heads::TempStorage heads;
    __shared__ typename Difference::TempStorage difference;
    int t = (int)threadIdx.x, v[2] = {t / 3, (t + 1) / 3}, flags[2], x[2] = {t * t, 5}, d[2];

    Heads(heads).FlagHeads(flags, v, cuda::std::not_equal_to<>());
    CHECK(flags[1] == (v[0] != v[1]));
    Difference(difference).SubtractLeft(x, d, cuda::std::minus<>());
    CHECK(d[1] == 5 - x[0] && (t == 0 || d[0] == x[0] - 5));
}

KERNEL(thrust, 1, 8, 0)
{
    int a[30], keys[30], sums[30], sum = 0;

    for (int i = 0; i < 30; i++) {
        a[i] = (int)(scramble(i + threadIdx.x * 30) % 100);
        keys[i] = i;
        sum += a[i];
    }
    CHECK(thrust::reduce(thrust::seq, a, a + 30) == sum);
    thrust::exclusive_scan(thrust::seq, a, a + 30, sums);
    CHECK(sums[29] + a[29] == sum);
    thrust::stable_sort_by_key(thrust::seq, a, a + 30, keys);
    for (int i = 0; i < 30; i++)
        CHECK(a[i] == (int)(scramble(keys[i] + threadIdx.x * 30) % 100) && (i == 0 || a[i - 1] <= a[i]));
    int *end = thrust::unique(thrust::seq, a, a + 30);
    CHECK(*thrust::lower_bound(thrust::seq, a, end, a[1]) == a[1]);
    thrust::sort(thrust::seq, a, end, cuda::std::greater<>());
    CHECK(a[0] > a[1]);
}
