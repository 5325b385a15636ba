/* SPDX-License-Identifier: Apache-2.0
 *
 * libcu++: what its headers make of atomics, barriers, pipelines and semaphores.
 */
#include "check.cuh"

#include <cuda/annotated_ptr>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/ratio>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

/* ---- atomics ---- */

template <class T, cuda::thread_scope scope> __device__ void arithmetic(unsigned *counts, void *at)
{
    cuda::atomic_ref<T, scope> value(*(T *)at);
    T old = value.fetch_add((T)1, cuda::memory_order_relaxed);

    CHECK(old >= (T)0 && old <= (T)(2 * gridDim.x * blockDim.x - 1));
    if constexpr (cuda::std::is_integral<T>::value) {
        value.fetch_or((T)0, cuda::memory_order_seq_cst);
        value.fetch_xor((T)0, cuda::memory_order_acq_rel);
        value.fetch_and((T)~(T)0, cuda::memory_order_seq_cst);
    }
    value.fetch_max((T)0);
    T seen = value.load(cuda::memory_order_acquire);
    while (!value.compare_exchange_weak(seen, (T)(seen + (T)1))) {
    }
    value.fetch_sub((T)1, cuda::memory_order_release);
}

/* A counter of every type: whoever comes last sees what all have added. */
KERNEL(atomic_types, 2, 64, 0)
{
    arithmetic<unsigned, cuda::thread_scope_device>(counts, scratch);
    arithmetic<long long, cuda::thread_scope_system>(counts, scratch + 8);
    arithmetic<float, cuda::thread_scope_device>(counts, scratch + 16);
    arithmetic<double, cuda::thread_scope_device>(counts, scratch + 24);
    arithmetic<short, cuda::thread_scope_device>(counts, scratch + 32);
    arithmetic<unsigned char, cuda::thread_scope_device>(counts, scratch + 40);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd((unsigned *)scratch + 16, 1u) == 1) {
        CHECK(*(volatile unsigned *)scratch == 128);
        CHECK(*(volatile long long *)(scratch + 8) == 128);
        CHECK(*(volatile float *)(scratch + 16) == 128);
        CHECK(*(volatile double *)(scratch + 24) == 128);
        CHECK(*(volatile short *)(scratch + 32) == 128);
        CHECK(*(volatile unsigned char *)(scratch + 40) == 128);
    }
}

/* A flag, and what was written before it, from block to block. */
KERNEL(message, 2, 32, 0)
{
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*(unsigned *)scratch);
    int *data = (int *)(scratch + 128);

    if (blockIdx.x == 1) {
        data[threadIdx.x] = (int)threadIdx.x * 5;
        __syncthreads();
        if (threadIdx.x == 0) {
            flag.store(1, cuda::memory_order_release);
            flag.notify_all();
        }
    } else {
        if (threadIdx.x == 0)
            flag.wait(0, cuda::memory_order_acquire);
        __syncthreads();
        CHECK(data[threadIdx.x] == (int)threadIdx.x * 5);
    }
}

struct wide {
    unsigned a, b, c;
    __device__ bool operator==(const wide &o) const { return a == o.a && b == o.b && c == o.c; }
};

/* Larger than any instruction: with a lock. */
KERNEL(locked, 1, 64, 0)
{
    __shared__ cuda::std::atomic<wide> value;

    if (threadIdx.x == 0)
        value.store(wide{0, 0, 0});
    __syncthreads();
    wide seen = value.load();
    while (!value.compare_exchange_strong(seen, wide{seen.a + 1, seen.b + 2, seen.c + 3})) {
    }
    __syncthreads();
    seen = value.load();
    CHECK(seen.a == 64 && seen.b == 128 && seen.c == 192);
}

KERNEL(flags, 1, 64, 0)
{
    __shared__ cuda::std::atomic_flag taken;
    __shared__ unsigned inside;

    if (threadIdx.x == 0) {
        taken.clear();
        inside = 0;
    }
    __syncthreads();
    while (taken.test_and_set(cuda::std::memory_order_acquire)) {
    }
    inside = inside + 1;
    taken.clear(cuda::std::memory_order_release);
    __syncthreads();
    CHECK(inside == 64);
}

/* ---- threads that meet ---- */

KERNEL(barriers, 2, 96, 0)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int words[96];
    int t = (int)threadIdx.x;

    if (t == 0)
        init(&barrier, 96);
    __syncthreads();
    for (int round = 0; round < 5; round++) {
        words[t] = t + round;
        auto token = barrier.arrive();
        barrier.wait(cuda::std::move(token));
        CHECK(words[95 - t] == 95 - t + round);
        barrier.arrive_and_wait();
    }
    if (t >= 64)
        barrier.arrive_and_drop();
    else
        barrier.arrive_and_wait();
    if (t < 64)
        for (int round = 0; round < 3; round++) {
            words[t] = round;
            barrier.arrive_and_wait();
            CHECK(words[t ^ 32] == round);
            barrier.arrive_and_wait();
        }
}

/* A function that runs when all have come. */
KERNEL(completion, 1, 64, 0)
{
    __shared__ int phases;
    auto count = [] __device__() { phases++; };
    using barrier_type = cuda::barrier<cuda::thread_scope_block, decltype(count)>;
    __shared__ cuda::std::aligned_storage<sizeof(barrier_type), alignof(barrier_type)>::type memory;
    barrier_type *barrier = (barrier_type *)&memory;

    if (threadIdx.x == 0) {
        phases = 0;
        new (barrier) barrier_type(64, count);
    }
    __syncthreads();
    for (int round = 1; round < 5; round++) {
        barrier->arrive_and_wait();
        CHECK(phases == round);
        __syncthreads();
    }
}

KERNEL(latches, 2, 64, 0)
{
    __shared__ cuda::latch<cuda::thread_scope_block> *latch;
    __shared__ cuda::std::aligned_storage<64, 16>::type memory;
    __shared__ int first;

    if (threadIdx.x == 0)
        latch = new (&memory) cuda::latch<cuda::thread_scope_block>(32);
    first = 0;
    __syncthreads();
    if (threadIdx.x >= 32) {
        atomicAdd(&first, 1);
        __threadfence_block();
        latch->count_down();
    } else {
        latch->wait();
        CHECK(*(volatile int *)&first == 32);
    }
}

KERNEL(semaphores, 1, 96, 0)
{
    __shared__ cuda::std::aligned_storage<64, 16>::type memory;
    __shared__ int inside, most;
    auto *semaphore = (cuda::counting_semaphore<cuda::thread_scope_block, 3> *)&memory;

    if (threadIdx.x == 0) {
        new (semaphore) cuda::counting_semaphore<cuda::thread_scope_block, 3>(3);
        inside = most = 0;
    }
    __syncthreads();
    semaphore->acquire();
    int now = atomicAdd(&inside, 1) + 1;
    atomicMax(&most, now);
    CHECK(now <= 3);
    atomicSub(&inside, 1);
    semaphore->release();
    __syncthreads();
    CHECK(inside == 0 && most >= 1 && most <= 3);
}

/* ---- copies that are under way ---- */

KERNEL(async_barrier, 1, 64, 0)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ alignas(16) int words[256];
    int *source = (int *)scratch, t = (int)threadIdx.x;
    auto block = cg::this_thread_block();

    for (int i = t; i < 256; i += 64)
        source[i] = i * 3;
    if (t == 0)
        init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(block, words, source, cuda::aligned_size_t<16>(sizeof(words)), barrier);
    barrier.arrive_and_wait();
    for (int i = 0; i < 4; i++)
        CHECK(words[(t * 4 + i + 77) % 256] == (t * 4 + i + 77) % 256 * 3);
    __syncthreads();
    cuda::memcpy_async(block, words + 1, source, 37 * sizeof(int), barrier);
    barrier.arrive_and_wait();
    CHECK(words[1 + t % 37] == t % 37 * 3 && words[60] == 180);
}

/* Two stages: one is filled while the other is used. */
KERNEL(pipeline_stages, 1, 64, 0)
{
    constexpr int stages = 2, size = 64, count = 9;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    __shared__ alignas(16) int words[stages][size];
    int *source = (int *)scratch, t = (int)threadIdx.x;
    auto block = cg::this_thread_block();

    for (int i = t; i < size * count; i += 64)
        source[i] = i ^ 21;
    __syncthreads();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int done = 0, begun = 0; done < count; done++) {
        for (; begun < count && begun < done + stages; begun++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, words[begun % stages], source + begun * size, sizeof(words[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        CHECK(words[done % stages][63 - t] == ((done * size + 63 - t) ^ 21));
        pipe.consumer_release();
    }
}

/* A warp fetches for another one. */
KERNEL(pipeline_roles, 1, 64, 0)
{
    constexpr int stages = 3, count = 10;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    __shared__ alignas(16) int words[stages][32];
    int *source = (int *)scratch, lane = (int)threadIdx.x % 32;
    auto block = cg::this_thread_block();

    for (int i = (int)threadIdx.x; i < 32 * count; i += 64)
        source[i] = i * 7;
    __syncthreads();
    auto pipe = cuda::make_pipeline(block, &state, threadIdx.x < 32 ? cuda::pipeline_role::producer
                                                                    : cuda::pipeline_role::consumer);
    for (int i = 0; i < count; i++)
        if (threadIdx.x < 32) {
            pipe.producer_acquire();
            cuda::memcpy_async(&words[i % stages][lane], source + i * 32 + lane, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            CHECK(words[i % stages][lane] == (i * 32 + lane) * 7);
            pipe.consumer_release();
        }
}

KERNEL(pipeline_thread, 1, 32, 0)
{
    __shared__ alignas(16) double words[64];
    double *source = (double *)scratch;
    auto pipe = cuda::make_pipeline();
    int t = (int)threadIdx.x;

    source[t] = t * 0.5;
    source[t + 32] = t;
    pipe.producer_acquire();
    cuda::memcpy_async(words + t, source + t, sizeof(double), pipe);
    pipe.producer_commit();
    pipe.producer_acquire();
    cuda::memcpy_async(words + t + 32, source + t + 32, sizeof(double), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    CHECK(words[t] == t * 0.5);
    pipe.consumer_release();
    pipe.consumer_wait();
    CHECK(words[t + 32] == t);
    pipe.consumer_release();
}

/* ---- the standard library ---- */

KERNEL(library, 1, 64, 0)
{
    namespace std = cuda::std;
    int t = (int)threadIdx.x;
    std::complex<double> c(t, 1.0), d = std::exp(std::complex<double>(0, 0.1 * t));
    std::variant<int, double> v = t % 2 ? std::variant<int, double>(t) : std::variant<int, double>(t * 0.5);
    std::optional<int> maybe = t % 3 ? std::optional<int>(t) : std::nullopt;
    std::array<int, 8> list = {5, 3, 8, 1, 9, 2, 7, t};
    std::mdspan<int, std::extents<int, 2, 4>> grid(list.data());
    auto pair = std::make_tuple(t, 2.5f, 'x');

    CHECK((c * std::conj(c)).real() == (double)t * t + 1);
    CHECK(fabs(std::norm(d) - 1) < 1e-14);
    CHECK(fabs(std::arg(std::complex<double>(cos(0.05 * t), sin(0.05 * t))) - 0.05 * t) < 2e-15 || t > 62);
    CHECK(std::visit([](auto x) { return (double)x; }, v) == (t % 2 ? t : t * 0.5));
    CHECK(maybe.value_or(-1) == (t % 3 ? t : -1));
    CHECK(grid(1, 3) == t && grid(1, 0) == 9);
    CHECK(std::get<0>(pair) == t && std::get<2>(pair) == 'x');
    CHECK(std::popcount((unsigned)t) == __popc(t) && std::countl_zero((unsigned)t) == __clz(t));
    CHECK(std::bit_ceil((unsigned)t + 1) >= (unsigned)t + 1 && std::rotl((unsigned)t, 31) == __funnelshift_l(t, t, 31));
    CHECK(std::span<int>(list.data(), 8).subspan(2).front() == 8);
    auto begin = std::chrono::system_clock::now();
    auto end = std::chrono::high_resolution_clock::now();
    CHECK(end.time_since_epoch().count() > 0 && begin.time_since_epoch().count() > 0);
}

/* Pointers that say how their memory is used. */
KERNEL(hints, 1, 64, 0)
{
    int *data = (int *)scratch;
    cuda::annotated_ptr<int, cuda::access_property::persisting> keep(data);
    cuda::annotated_ptr<int, cuda::access_property> some(
        data + 64, cuda::access_property(data + 64, 256, 256, cuda::access_property::streaming{}));

    keep[threadIdx.x] = (int)threadIdx.x;
    some[threadIdx.x] = (int)threadIdx.x * 2;
    CHECK(data[threadIdx.x] == (int)threadIdx.x && keep[threadIdx.x] == (int)threadIdx.x);
    CHECK(some[threadIdx.x] == (int)threadIdx.x * 2);
    cuda::apply_access_property(data, 256, cuda::access_property::persisting{});
    CHECK(data[threadIdx.x] == (int)threadIdx.x);
}
