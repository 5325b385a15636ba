/* SPDX-License-Identifier: Apache-2.0
 *
 * mapa, getctarank, isspacep.shared and clusterlaunchcontrol: blocks of a cluster, and of those
 * that have not started.
 */
#include "emu/ptx/exec/exec.h"
#include "emu/ptx/exec/grid.h"
#include "emu/ptx/handlers/mbarrier.h"
#include "emu/ptx/handlers/memory.h"

#include <string.h>

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
        response.is_cancelled = ptx_grid_cancel(w->run, response.first);
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
