/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters: blocks that start together, meet at a barrier and see one another's shared memory. They
 * are made once and used again: a launch of many small blocks costs little more than their
 * instructions.
 */
#include "emu/ptx/check/watching.h"
#include "emu/ptx/exec/exec.h"
#include "emu/ptx/handlers/mbarrier.h"
#include "emu/ptx/handlers/memory.h"

#include <stdlib.h>
#include <string.h>

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
    for (uint32_t k = 0; k < cluster->count; k++)
        ptx_watching_block_end(cluster->blocks[k]);
    ptx_shared_race_destroy(cluster->race);
    cluster->race = NULL;
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

/* ---- the barrier ---- */

void ptx_cluster_check(struct ptx_cluster *cluster)
{
    for (uint32_t k = 0; k < cluster->count; k++)
        if (!ptx_barrier_is_complete(cluster->blocks[k], PTX_BAR_CLUSTER))
            return;
    cluster->is_arrived = false;
    if (cluster->blocks[0]->warps[0]->run->watching)
        ptx_watch_cluster_barrier(cluster);
    for (uint32_t k = 0; k < cluster->count; k++)
        ptx_barrier_open(cluster->blocks[k], PTX_BAR_CLUSTER);
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

/* mapa: dst, src[0]: the address, src[1]: the rank; type: u32 or u64. */
void ptx_run_map_address(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint32_t *rank = ptx_lanes(w, i->src[1]);
    const uint32_t *a32 = ptx_lanes(w, i->src[0]);
    const uint64_t *a64 = ptx_lanes(w, i->src[0]);
    uint32_t *d32 = ptx_lanes(w, i->dst);
    uint64_t *d64 = ptx_lanes(w, i->dst);

    if (i->type == PTX_U32)
        PTX_EACH(w, d32[l] = (uint32_t)ptx_cluster_map(a32[l], rank[l]));
    else
        PTX_EACH(w, d64[l] = ptx_cluster_map(a64[l], rank[l]));
}

/* getctarank: the same, the other way. */
void ptx_run_block_rank(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint32_t *a32 = ptx_lanes(w, i->src[0]);
    const uint64_t *a64 = ptx_lanes(w, i->src[0]);
    uint32_t *d = ptx_lanes(w, i->dst);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        d[l] = ptx_cluster_rank(w->block, i->type == PTX_U32 ? a32[l] : a64[l]);
    }
}

/* isspacep.shared::cta (PTX_MODE 0) and .shared::cluster. */
void ptx_run_is_shared(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint64_t *a = ptx_lanes(w, i->src[0]);
    uint32_t bits = 0;

    for (unsigned l = 0; l < PTX_LANES; l++)
        if (a[l] >> 60 == PTX_SHARED_WINDOW >> 60)
            bits |= (uint32_t)(PTX_MODE(i) || ptx_cluster_rank(w->block, a[l]) == w->block->rank)
                    << l;
    ptx_set_pred(w, i->dst, bits);
}

/* ---- clusterlaunchcontrol ---- */

/* Answer to a request for a cluster that has not started: is there one, and its first block. 16
 * bytes, opaque to programs. */
struct response {
    uint32_t is_cancelled;
    uint32_t first[3];
};

static bool respond(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint32_t rank,
                    const struct response *response)
{
    uint64_t window = 1ull << 60;
    uint64_t to = ((const uint64_t *)ptx_lanes(w, i->src[0]))[lane] % window;
    uint64_t barrier = ((const uint64_t *)ptx_lanes(w, i->src[1]))[lane] % window;
    uint8_t *p = ptx_resolve(w, i, lane, PTX_SPACE_CLUSTER, ptx_cluster_map(to, rank), 16, true);
    uint8_t *b =
        p ? ptx_resolve(w, i, lane, PTX_SPACE_CLUSTER, ptx_cluster_map(barrier, rank), 8, true)
          : NULL;

    if (!b)
        return false;
    memcpy(p, response, sizeof(*response));
    ptx_mbarrier_complete(b, sizeof(*response));
    return true;
}

/* src[0]: where the response goes; src[1]: the barrier that hears of it; both 64 bits. PTX_MODE 1:
 * in every block of the cluster. */
void ptx_run_cancel(struct ptx_warp *w, const struct ptx_insn *i)
{
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        struct response response = {0};
        response.is_cancelled = ptx_run_take_cluster(w->run, response.first);
        for (uint32_t k = 0; k < w->block->cluster->count; k++)
            if ((PTX_MODE(i) || k == w->block->rank) && !respond(w, i, l, k, &response))
                return;
    }
}

void ptx_run_cancelled(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct response *a = ptx_lanes(w, i->src[0]);
    uint32_t bits = 0;

    for (unsigned l = 0; l < PTX_LANES; l++)
        bits |= (uint32_t)(a[l].is_cancelled != 0) << l;
    ptx_set_pred(w, i->dst, bits);
}

/* PTX_MODE: the component. */
void ptx_run_cancelled_block(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct response *a = ptx_lanes(w, i->src[0]);
    uint32_t *d = ptx_lanes(w, i->dst);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        d[l] = a[l].first[PTX_MODE(i)];
    }
}
