/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters: blocks that start together, meet at a barrier and see one another's shared memory. They
 * are made once and used again: a launch of many small blocks costs little more than their
 * instructions.
 */
#include "emu/ptx/exec/exec.h"

#include <stdlib.h>

/* ---- life ---- */

static void cluster_free(struct ptx_cluster *cluster)
{
    for (uint32_t k = 0; k < cluster->count; k++)
        ptx_block_destroy(cluster->blocks[k]);
    free(cluster);
}

static struct ptx_cluster *cluster_new(struct ptx_run *run)
{
    uint32_t count = run->cluster_count;
    struct ptx_cluster *cluster = calloc(1, sizeof(*cluster) + count * sizeof(cluster->blocks[0]));

    if (!cluster)
        return NULL;
    for (; cluster->count < count; cluster->count++) {
        cluster->blocks[cluster->count] = ptx_block_create(run, cluster, cluster->count);
        if (!cluster->blocks[cluster->count]) {
            cluster_free(cluster);
            return NULL;
        }
    }
    return cluster;
}

bool ptx_cluster_reserve(struct ptx_run *run)
{
    if (!run->spare_clusters)
        run->spare_clusters = cluster_new(run);
    return run->spare_clusters != NULL;
}

/* Ranks go along x, then y, then z. */
void ptx_cluster_place(const struct ptx_run *run, uint64_t linear, uint32_t rank, uint32_t id[3])
{
    const uint32_t *size = run->cluster;
    const uint32_t *grid = run->launch->grid;
    uint32_t across = grid[0] / size[0];
    uint32_t down = grid[1] / size[1];

    id[0] = (uint32_t)(linear % across) * size[0] + rank % size[0];
    id[1] = (uint32_t)(linear / across % down) * size[1] + rank / size[0] % size[1];
    id[2] = (uint32_t)(linear / across / down) * size[2] + rank / size[0] / size[1];
}

struct ptx_cluster *ptx_cluster_create(struct ptx_run *run, uint64_t linear)
{
    struct ptx_cluster *cluster;

    if (!ptx_cluster_reserve(run))
        return NULL;
    cluster = run->spare_clusters;
    run->spare_clusters = cluster->spare;
    for (uint32_t k = 0; k < cluster->count; k++) {
        uint32_t id[3];
        ptx_cluster_place(run, linear, k, id);
        ptx_block_start(cluster->blocks[k], id);
    }
    cluster->alive = run->threads * cluster->count;
    cluster->next = 0;
    cluster->is_arrived = false;
    cluster->is_used = true;
    return cluster;
}

void ptx_cluster_destroy(struct ptx_run *run, struct ptx_cluster *cluster)
{
    if (run->observer)
        run->observer->cluster_end(cluster);
    if (cluster->alive) {
        cluster_free(cluster);
        return;
    }
    cluster->spare = run->spare_clusters;
    run->spare_clusters = cluster;
}

void ptx_spare_clusters_free(struct ptx_run *run)
{
    while (run->spare_clusters) {
        struct ptx_cluster *next = run->spare_clusters->spare;
        cluster_free(run->spare_clusters);
        run->spare_clusters = next;
    }
}

bool ptx_cluster_is_ready(const struct ptx_cluster *cluster)
{
    for (uint32_t k = 0; k < cluster->count; k++)
        for (uint32_t n = 0; n < cluster->blocks[k]->warp_count; n++) {
            const struct ptx_warp *w = cluster->blocks[k]->warps[n];
            if (w->alive && !w->waits)
                return true;
        }
    return false;
}

/* ---- shared memory of the others ---- */

struct ptx_block *ptx_cluster_owner(const struct ptx_block *block, const uint8_t *host)
{
    const struct ptx_cluster *cluster = block->cluster;
    uint32_t size = block->warps[0]->run->shared_size;

    for (uint32_t k = 0; k < cluster->count; k++) {
        struct ptx_block *other = cluster->blocks[k];
        if ((uintptr_t)host - (uintptr_t)other->shared < size)
            return other;
    }
    return NULL;
}

#define OFFSET_MASK ((1u << PTX_RANK_SHIFT) - 1)

uint64_t ptx_cluster_map(uint64_t address, uint32_t rank)
{
    uint64_t window = address >> 60 << 60;
    uint64_t tag = (rank < PTX_CLUSTER_MAX ? rank : PTX_CLUSTER_MAX) + 1u; /* or nobody's */

    return window | tag << PTX_RANK_SHIFT | (address & OFFSET_MASK);
}

uint32_t ptx_cluster_rank(const struct ptx_block *block, uint64_t address)
{
    uint32_t tag = (uint32_t)(address << 4 >> 4 >> PTX_RANK_SHIFT);

    return tag ? tag - 1 : block->rank;
}

uint8_t *ptx_cluster_locate(const struct ptx_block *block, uint64_t address, uint64_t size)
{
    const struct ptx_cluster *cluster = block->cluster;
    uint32_t limit = block->warps[0]->run->shared_size;
    uint64_t tag = address >> PTX_RANK_SHIFT;
    uint64_t offset = address & OFFSET_MASK;

    if (tag > cluster->count || offset > limit || size > limit - offset)
        return NULL;
    const struct ptx_block *owner = tag ? cluster->blocks[tag - 1] : block;
    return owner->alive ? owner->shared + offset : NULL;
}
