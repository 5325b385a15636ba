/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of a watched launch, and what becomes of each access in it.
 */
#include "emu/ptx/check/touched.h"
#include "emu/ptx/check/watching.h"
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/handlers/async.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/handlers/matrix/wmma.h"

#include <stdlib.h>
#include <string.h>

/* ---- state ---- */

static unsigned checks_of(const struct ptx_run *run)
{
    return run->watching->watch->checks;
}

static struct ptx_touched *touched_of(const struct ptx_run *run)
{
    return run->watching->watch->touched;
}

static void end_block(struct ptx_block *block)
{
    struct ptx_block_watching *b = block->watching;

    if (!b)
        return;
    for (uint32_t k = 0; b->local && k < block->warp_count; k++)
        free(b->local[k]);
    free(b->local);
    free(b->shared);
    free(b->arrived);
    free(b);
    block->watching = NULL;
}

static struct ptx_block_watching *watching_of(struct ptx_block *block)
{
    const struct ptx_run *run = block->warps[0]->run;
    struct ptx_block_watching *b = block->watching;

    if (b)
        return b;
    b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->shared = calloc(1, run->shared_size + 1);
    b->local = calloc(block->warp_count, sizeof(*b->local));
    b->arrived = calloc(block->warp_count, sizeof(*b->arrived));
    block->watching = b;
    if (!b->shared || !b->local || !b->arrived) {
        end_block(block);
        return NULL;
    }
    return b;
}

/* ---- the loop ---- */

static bool comes_back(const struct ptx_insn *i)
{
    /* Lanes with another target than the first execute these again. */
    return i->fn == ptx_run_branch_table || (i->fn == ptx_run_call && i->src[0] != PTX_OP_NONE);
}

void ptx_watch_execute(struct ptx_warp *w)
{
    struct ptx_watching *x = w->run->watching;
    bool is_profiled = x->watch->is_profiled;

    while (w->stop == PTX_STOP_NONE) {
        const struct ptx_insn *i = w->pc++;
        uint32_t mask = w->active;
        bool waits = i->fn == ptx_run_barrier || i->fn == ptx_run_cluster_wait;
        struct ptx_block_watching *b = waits ? watching_of(w->block) : NULL;
        w->steps++;
        if (i->guard != PTX_OP_NONE)
            mask &= ptx_pred(w, i->guard);
        if (is_profiled)
            ptx_profile_step(w, i, mask, !comes_back(i));
        if (!mask)
            continue;
        if (b)
            b->arrived[w->index] = x->clock;
        const struct ptx_code *code = w->frame->code;
        w->mask = mask;
        i->fn(w, i);
        if (is_profiled && comes_back(i))
            ptx_profile_threads(w->run, code, i, w->active, w->active);
        if (i->fn == ptx_run_warp_sync && checks_of(w->run) & PTX_CHECK_RACE)
            ptx_shared_race_warp_sync(w);
    }
}

/* ---- accesses ---- */

void ptx_watch_found(const struct ptx_touch *t, struct ptx_finding *f)
{
    const struct ptx_watch *watch = t->warp->run->watching->watch;

    ptx_place_fill(&f->place, t->warp, t->insn, t->warp->frame, t->lane);
    f->access = ptx_access_of(t->insn, t->writes);
    f->size = t->size;
    watch->found(watch->user, f);
}

/* Loads and stores. Whatever else comes to memory, atomics and barriers in memory, orders threads.
 */
static bool is_plain(const struct ptx_insn *i)
{
    static const ptx_fn plain[] = {ptx_run_load,        ptx_run_store,        ptx_run_copy,
                                   ptx_run_load_matrix, ptx_run_store_matrix, ptx_run_wmma_load,
                                   ptx_run_wmma_store,  ptx_run_load_bytes,   ptx_run_store_bytes};

    for (size_t k = 0; k < sizeof(plain) / sizeof(*plain); k++)
        if (i->fn == plain[k])
            return true;
    return ptx_handler_is(i->fn);
}

static void uninit(const struct ptx_touch *t, const char *space, uint64_t address, uint32_t bad)
{
    struct ptx_finding f = {
        .check = PTX_CHECK_UNINIT, .space = space, .address = address, .bad = bad};

    if (bad)
        ptx_watch_found(t, &f);
}

static uint32_t missing(const uint8_t *shadow, uint32_t size)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < size; k++)
        n += !shadow[k];
    return n;
}

static void touch_bytes(const struct ptx_touch *t, uint8_t *shadow, const char *space,
                        uint64_t address)
{
    if (!(checks_of(t->warp->run) & PTX_CHECK_UNINIT))
        return;
    if (t->reads)
        uninit(t, space, address, missing(shadow, t->size));
    if (t->writes)
        memset(shadow, 1, t->size);
}

static void touch_shared(const struct ptx_touch *t, struct ptx_block *owner, uint32_t offset)
{
    struct ptx_block_watching *b = watching_of(owner);

    if (!b)
        return;
    touch_bytes(t, b->shared + offset, "shared", offset);
    if (checks_of(t->warp->run) & PTX_CHECK_RACE)
        ptx_shared_race_access(t, owner, offset);
}

/* The shadow of a warp's local memory, all lanes; NULL: not made, because memory is short. */
static uint8_t *local_shadow(struct ptx_warp *w)
{
    struct ptx_block_watching *b = watching_of(w->block);

    if (b && !b->local[w->index])
        b->local[w->index] = calloc(PTX_LANES, w->run->local_stride);
    return b ? b->local[w->index] : NULL;
}

static void touch_local(const struct ptx_touch *t, uint64_t offset)
{
    uint8_t *shadow = local_shadow(t->warp);

    if (shadow)
        touch_bytes(t, shadow + offset, "local", offset % t->warp->run->local_stride);
}

static void touch_global(const struct ptx_touch *t, uint64_t address)
{
    unsigned checks = checks_of(t->warp->run);

    if (checks & PTX_CHECK_UNINIT) {
        if (t->reads)
            uninit(t, "global", address, ptx_shadow_missing(address, t->size));
        if (t->writes)
            ptx_shadow_written(address, t->size);
    }
    if (checks & PTX_CHECK_BLOCKS)
        ptx_global_race_access(t, address);
    if (t->is_strong && checks & PTX_CHECK_RACE)
        ptx_shared_race_strong(t->warp, address, t->reads, t->writes);
}

static bool lies_in(const uint8_t *p, const void *start, uint64_t size)
{
    return start && (uintptr_t)p >= (uintptr_t)start && (uintptr_t)p < (uintptr_t)start + size;
}

static void touch(const struct ptx_touch *t, uint8_t *p)
{
    const struct ptx_warp *w = t->warp;
    const struct ptx_run *run = w->run;
    struct ptx_block *owner = ptx_cluster_owner(w->block, p);

    if (owner)
        touch_shared(t, owner, (uint32_t)(p - owner->shared));
    else if (lies_in(p, w->local, PTX_LANES * run->local_stride))
        touch_local(t, (uint64_t)(p - w->local));
    else if (!lies_in(p, run->launch->params, run->code->info.params_size))
        touch_global(t, (uintptr_t)p);
}

static void watch_pass(struct ptx_warp *w, const uint8_t *host, uint32_t size)
{
    uint8_t *shadow = checks_of(w->run) & PTX_CHECK_UNINIT && w->local ? local_shadow(w) : NULL;

    if (shadow && lies_in(host, w->local, PTX_LANES * w->run->local_stride))
        memset(shadow + (host - w->local), 1, size);
}

/* Tests whether it is neither shared nor local memory, nor an argument. */
static bool is_global(const struct ptx_warp *w, const uint8_t *p)
{
    const struct ptx_run *run = w->run;

    return !ptx_cluster_owner(w->block, p) &&
           !lies_in(p, w->local, PTX_LANES * run->local_stride) &&
           !lies_in(p, run->launch->params, run->code->info.params_size);
}

static void note_written(struct ptx_warp *w, const uint8_t *host, uint64_t size)
{
    struct ptx_block *owner = ptx_cluster_owner(w->block, host);
    struct ptx_block_watching *b = owner ? watching_of(owner) : NULL;

    if (b)
        memset(b->shared + (host - owner->shared), 1, size);
    else if (w->local && lies_in(host, w->local, PTX_LANES * w->run->local_stride))
        watch_pass(w, host, (uint32_t)size);
    else
        ptx_shadow_written((uintptr_t)host, size);
}

/* Copies of many bytes at once: they count as writes, and are not checked otherwise. */
static void watch_bulk(struct ptx_warp *w, const uint8_t *host, uint64_t size, bool write)
{
    if (touched_of(w->run) && is_global(w, host))
        ptx_touched_add(touched_of(w->run), (uintptr_t)host, size,
                        write ? PTX_TOUCHED_WRITTEN : PTX_TOUCHED_READ);
    if (write && checks_of(w->run) & PTX_CHECK_UNINIT)
        note_written(w, host, size);
}

static void watch_image(struct ptx_warp *w, const uint8_t *host, uint64_t size, bool may_write)
{
    if (touched_of(w->run))
        ptx_touched_add(touched_of(w->run), (uintptr_t)host, size,
                        PTX_TOUCHED_SOME | PTX_TOUCHED_READ |
                            (may_write ? PTX_TOUCHED_WRITTEN : 0));
}

/* Adds what the lanes access, as far as others can see it: lanes side by side, or at one place, in
 * one go. What orders threads counts as a read, too: what was there plays a part. */
static void note_touched(struct ptx_warp *w, const struct ptx_insn *i, uint32_t lanes,
                         unsigned size, bool write, uint8_t *const *host)
{
    const unsigned bits =
        (!write || !is_plain(i) ? PTX_TOUCHED_READ : 0) | (write ? PTX_TOUCHED_WRITTEN : 0);
    const uint8_t *start = NULL, *end = NULL;

    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint8_t *p = host[__builtin_ctz(left)];

        if (p == end) {
            end += size;
        } else if (p != start) {
            if (start && is_global(w, start))
                ptx_touched_add(touched_of(w->run), (uintptr_t)start, (uint64_t)(end - start),
                                bits);
            start = p;
            end = p + size;
        }
    }
    if (start && is_global(w, start))
        ptx_touched_add(touched_of(w->run), (uintptr_t)start, (uint64_t)(end - start), bits);
}

static void watch_access(struct ptx_warp *w, const struct ptx_insn *i, uint32_t lanes,
                         unsigned size, bool write, uint8_t *const *host)
{
    struct ptx_touch t = {.warp = w,
                          .insn = i,
                          .size = size,
                          .writes = write,
                          .reads = !write || ptx_access_of(i, true) == PTX_ACCESS_ATOMIC,
                          .is_strong = !is_plain(i) || i->flags & PTX_F_POLL};

    if (touched_of(w->run))
        note_touched(w, i, lanes, size, write, host);
    if (!checks_of(w->run))
        return;
    for (uint32_t left = lanes; left; left &= left - 1) {
        t.lane = (unsigned)__builtin_ctz(left);
        touch(&t, host[t.lane]);
    }
}

/* ---- calls and barriers ---- */

static void watch_enter(struct ptx_warp *w)
{
    uint8_t *shadow = checks_of(w->run) & PTX_CHECK_UNINIT && w->local ? local_shadow(w) : NULL;

    for (uint32_t left = w->active; shadow && left; left &= left - 1)
        memset(shadow + (unsigned)__builtin_ctz(left) * w->run->local_stride + w->frame->local_base,
               0, w->frame->code->local_frame);
}

static void watch_barrier(struct ptx_block *block, unsigned id)
{
    struct ptx_block_watching *b = watching_of(block);
    struct ptx_run *run = block->warps[0]->run;

    if (!b)
        return;
    if (id != PTX_BAR_CLUSTER && checks_of(run) & PTX_CHECK_RACE)
        ptx_shared_race_barrier(block->cluster, id, block->rank, 1);
    for (uint32_t k = 0; run->watching->watch->is_profiled && k < block->warp_count; k++)
        for (unsigned n = 0; n < PTX_LANES; n++) {
            const struct ptx_group *g = &block->warps[k]->groups[n];
            if (g->state == PTX_GROUP_BARRIER && g->wait == id)
                ptx_profile_wait(run, g->frame->code, g->pc - 1,
                                 run->watching->clock - b->arrived[k]);
        }
}

static void watch_cluster_barrier(struct ptx_cluster *cluster)
{
    unsigned checks = checks_of(cluster->blocks[0]->warps[0]->run);

    if (checks & PTX_CHECK_RACE)
        ptx_shared_race_barrier(cluster, PTX_BAR_CLUSTER, 0, cluster->count);
    if (checks & PTX_CHECK_BLOCKS)
        ptx_global_race_barrier(cluster);
}

/* ---- life ---- */

static void end_cluster(struct ptx_cluster *cluster)
{
    for (uint32_t k = 0; k < cluster->count; k++)
        end_block(cluster->blocks[k]);
    ptx_shared_race_destroy(cluster->race);
    cluster->race = NULL;
}

static const struct ptx_observer observer = {.access = watch_access,
                                             .bulk = watch_bulk,
                                             .image = watch_image,
                                             .enter = watch_enter,
                                             .pass = watch_pass,
                                             .barrier = watch_barrier,
                                             .cluster_barrier = watch_cluster_barrier,
                                             .cluster_end = end_cluster};

bool ptx_watching_begin(struct ptx_run *run)
{
    if (!run->launch->watch)
        return true;
    run->watching = calloc(1, sizeof(*run->watching));
    if (!run->watching)
        return false;
    run->watching->watch = run->launch->watch;
    run->observer = &observer;
    run->is_observed = true;
    return true;
}

void ptx_watching_end(struct ptx_run *run)
{
    if (!run->watching)
        return;
    ptx_profile_end(run);
    free(run->watching);
    run->watching = NULL;
    run->observer = NULL;
}
