/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters as CUDA C++ has them, as kernels that check themselves.
 */
#include "check.cuh"

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

#define CLUSTER_KERNEL(name, grid, block, size)                                                    \
    extern "C" __global__ void __cluster_dims__(size, 1, 1)                                        \
        check_##name##__##grid##_##block##_0(unsigned *counts, char *scratch)
/* The launch says how large its clusters are. */
#define ASKED_KERNEL(name, grid, block, size)                                                      \
    extern "C" __global__ void check_##name##__##grid##_##block##_0_##size(unsigned *counts,       \
                                                                           char *scratch)

/* ---- what a group knows of itself ---- */

CLUSTER_KERNEL(places, 12, 32, 4)
{
    cg::cluster_group cluster = cg::this_cluster();

    CHECK(cluster.num_blocks() == 4);
    CHECK(cluster.num_threads() == 128);
    CHECK(cluster.block_rank() == blockIdx.x % 4);
    CHECK(cluster.thread_rank() == blockIdx.x % 4 * 32 + threadIdx.x);
    CHECK(cluster.dim_blocks().x == 4 && cluster.dim_blocks().y == 1);
    CHECK(cluster.block_index().x == blockIdx.x % 4);
    CHECK(cg::grid_group::num_clusters() == 3);
    CHECK(cg::grid_group::cluster_rank() == blockIdx.x / 4);
}

/* ---- distributed shared memory ---- */

/* A histogram whose bins are spread over the blocks of a cluster. */
ASKED_KERNEL(histogram, 8, 128, 8)
{
    __shared__ unsigned bins[16];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned count = 0;

    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    cluster.sync();
    for (unsigned k = 0; k < 4; k++) {
        unsigned bin = scramble(cluster.thread_rank() * 4 + k) % 128;
        atomicAdd(cluster.map_shared_rank(bins, bin / 16) + bin % 16, 1u);
    }
    cluster.sync();
    if (threadIdx.x < 16) {
        for (unsigned k = 0; k < 4096; k++)
            count += scramble(k) % 128 == cluster.block_rank() * 16 + threadIdx.x;
        CHECK(bins[threadIdx.x] == count);
    }
}

CLUSTER_KERNEL(neighbours, 16, 64, 4)
{
    __shared__ float edge[64];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    float *next = cluster.map_shared_rank(edge, (rank + 1) % 4);

    edge[threadIdx.x] = (float)(blockIdx.x * 64 + threadIdx.x);
    CHECK(cluster.query_shared_rank(next) == (rank + 1) % 4);
    CHECK(cluster.query_shared_rank(edge) == rank);
    cluster.sync();
    CHECK(next[threadIdx.x] == (float)((blockIdx.x / 4 * 4 + (rank + 1) % 4) * 64 + threadIdx.x));
    next[threadIdx.x] = -1.0f;
    cluster.sync();
    CHECK(edge[threadIdx.x] == -1.0f);
}

/* Arrive, work, wait: work of several rounds in the two halves of a buffer. */
ASKED_KERNEL(rounds, 6, 96, 2)
{
    __shared__ unsigned halves[2][96];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned other = cluster.block_rank() ^ 1;
    unsigned own = cluster.thread_rank();

    halves[0][threadIdx.x] = own;
    for (unsigned k = 0; k < 10; k++) {
        auto token = cluster.barrier_arrive();
        own = own * 5 + k;
        cluster.barrier_wait(std::move(token));
        unsigned theirs = cluster.map_shared_rank(halves[k % 2], other)[threadIdx.x];
        halves[(k + 1) % 2][threadIdx.x] = theirs + 1;
    }
    cluster.sync();
    CHECK(halves[0][threadIdx.x] == cluster.block_rank() * 96 + threadIdx.x + 10);
}

/* ---- barriers in the memory of another block ---- */

CLUSTER_KERNEL(remote_barrier, 8, 32, 4)
{
    __shared__ uint64_t barrier;
    __shared__ unsigned sum;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned *first = cluster.map_shared_rank(&sum, 0);

    if (threadIdx.x == 0) {
        sum = 0;
        ptx::mbarrier_init(&barrier, 128);
    }
    cluster.sync();
    atomicAdd(first, threadIdx.x);
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                         cluster.map_shared_rank(&barrier, 0));
    if (cluster.block_rank() == 0) {
        while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &barrier, 0))
            ;
        CHECK(sum == 4 * 31 * 16);
    }
    cluster.sync();
}

CLUSTER_KERNEL(stores, 4, 32, 4)
{
    __shared__ uint64_t barrier;
    __shared__ alignas(16) int32_t words[4][4];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared,
                                       &barrier, sizeof(words));
    }
    cluster.sync();
    if (threadIdx.x < 4) {
        const int32_t values[4] = {(int)rank, (int)threadIdx.x, 7, -1};
        ptx::st_async(cluster.map_shared_rank(words[rank], threadIdx.x), values,
                      cluster.map_shared_rank(&barrier, threadIdx.x));
    }
    while (!ptx::mbarrier_try_wait_parity(&barrier, 0))
        ;
    for (unsigned k = 0; k < 4; k++) {
        CHECK(words[k][0] == (int)k && words[k][1] == (int)rank);
        CHECK(words[k][2] == 7 && words[k][3] == -1);
    }
    cluster.sync();
}

/* ---- bulk copies ---- */

CLUSTER_KERNEL(multicast, 8, 64, 4)
{
    __shared__ uint64_t barrier;
    __shared__ alignas(128) unsigned buffer[64];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned *source = (unsigned *)scratch + blockIdx.x / 4 * 64;

    if (cluster.block_rank() == 2)
        source[threadIdx.x] = scramble(blockIdx.x + threadIdx.x);
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared,
                                       &barrier, sizeof(buffer));
    }
    cluster.sync();
    if (cluster.block_rank() == 2 && threadIdx.x == 0) {
        ptx::fence_proxy_async();
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, buffer, source, sizeof(buffer),
                           &barrier, (uint16_t)15);
    }
    while (!ptx::mbarrier_try_wait_parity(&barrier, 0))
        ;
    CHECK(buffer[threadIdx.x] == scramble(blockIdx.x / 4 * 4 + 2 + threadIdx.x));
    cluster.sync();
}

/* From one block's memory to another's, and reduced in global memory. */
ASKED_KERNEL(between, 4, 64, 4)
{
    __shared__ uint64_t barrier;
    __shared__ alignas(128) unsigned from[64], to[64];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % 4;
    unsigned before = (cluster.block_rank() + 3) % 4;

    from[threadIdx.x] = cluster.block_rank() * 64 + threadIdx.x;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared,
                                       &barrier, sizeof(to));
    }
    cluster.sync();
    if (threadIdx.x == 0) {
        ptx::fence_proxy_async();
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared,
                           cluster.map_shared_rank(to, next), from, sizeof(from),
                           cluster.map_shared_rank(&barrier, next));
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add,
                                  (unsigned *)scratch, from, sizeof(from));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    while (!ptx::mbarrier_try_wait_parity(&barrier, 0))
        ;
    CHECK(to[threadIdx.x] == before * 64 + threadIdx.x);
    cluster.sync();
    CHECK(((volatile unsigned *)scratch)[threadIdx.x] == 64 * 6 + 4 * threadIdx.x);
}
