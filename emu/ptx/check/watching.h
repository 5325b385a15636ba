/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a launch that is watched. Private to the engine.
 */
#ifndef EMU_PTX_CHECK_WATCHING_H
#define EMU_PTX_CHECK_WATCHING_H

#include "emu/ptx/check/watch.h"
#include "emu/ptx/exec/exec.h"

#define PTX_SYNC_SLOTS 64

struct ptx_shared_race;

/* State of a launch; run->watching. */
struct ptx_watching {
    const struct ptx_watch *watch;
    struct ptx_profile_function *functions; /* that were entered; owned */
    struct ptx_profile_function *latest;    /* of the frame that ran last */
    uint64_t clock;                         /* warp instructions so far, of the whole launch */
};

/* State of a block; block->watching. Created when the block first needs it. */
struct ptx_block_watching {
    uint8_t *shared; /* a byte a byte: 1 when written */
    uint8_t **local; /* of each warp, in the order of its local memory; made at first use */
    uint64_t *arrived; /* clock at which each warp came to the barrier where it waits */
    uint64_t strong;   /* when a thread of the block last did something that may order blocks */
};

/* One access by one lane, resolved. */
struct ptx_touch {
    struct ptx_warp *warp;
    const struct ptx_insn *insn;
    unsigned lane;
    uint32_t size;
    bool writes;
    bool reads;
    bool is_strong; /* volatile, atomic, acquire...: may order what others see */
};

/* watch.c: makes the launch observed, when something is asked for. False: out of memory. */
bool ptx_watching_begin(struct ptx_run *run);
void ptx_watching_end(struct ptx_run *run);
/* The loop of a watched launch. */
void ptx_watch_execute(struct ptx_warp *warp);
/* Fills in who did it, and tells the watcher. */
void ptx_watch_found(const struct ptx_touch *touch, struct ptx_finding *finding);

/* shared_race.c: shared memory. `offset` of the first byte in that of `owner`. */
void ptx_shared_race_access(const struct ptx_touch *touch, const struct ptx_block *owner, uint32_t offset);
/* Barrier `id` opens in blocks [first, first + count) of the cluster, which then are ordered. */
void ptx_shared_race_barrier(struct ptx_cluster *cluster, unsigned id, uint32_t first, uint32_t count);
void ptx_shared_race_warp_sync(struct ptx_warp *warp);
/* A strong access at `address`, to whatever memory. */
void ptx_shared_race_strong(struct ptx_warp *warp, uint64_t address, bool reads, bool writes);
void ptx_shared_race_destroy(struct ptx_shared_race *race);

/* global_race.c: global memory. */
void ptx_global_race_access(const struct ptx_touch *touch, uint64_t address);
/* The blocks of a cluster are ordered here. */
void ptx_global_race_barrier(const struct ptx_cluster *cluster);

/* profile.c */
/* has_lanes: which lanes execute it is known already, else ptx_profile_threads() follows. */
void ptx_profile_step(struct ptx_warp *warp, const struct ptx_insn *insn, uint32_t mask,
                      bool has_lanes);
void ptx_profile_threads(struct ptx_run *run, const struct ptx_code *code,
                         const struct ptx_insn *insn, uint32_t threads, uint32_t lanes);
void ptx_profile_wait(struct ptx_run *run, const struct ptx_code *code, const struct ptx_insn *insn,
                      uint64_t steps);
void ptx_profile_end(struct ptx_run *run);

#endif
