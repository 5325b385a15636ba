/* SPDX-License-Identifier: Apache-2.0
 *
 * Watchers of a launch: checks of memory, and a profile. A launch without a watcher pays one test
 * of a pointer per memory access of a warp; one with a watcher runs in a loop of its own.
 *
 * Threads: the callbacks are called from the launch's thread. Shadow memory may be used from any.
 */
#ifndef EMU_PTX_CHECK_WATCH_H
#define EMU_PTX_CHECK_WATCH_H

#include "emu/ptx/ptx.h"

enum ptx_check {
    PTX_CHECK_UNINIT = 1 << 0, /* loads of bytes that nothing has written */
    PTX_CHECK_RACE = 1 << 1,   /* shared memory, between the threads of a block */
    PTX_CHECK_BLOCKS = 1 << 2, /* global memory, between the blocks of a launch */
};

/* `place` did something to `size` bytes at `address` in `space`; `bad` of them are meant. */
struct ptx_finding {
    enum ptx_check check;
    struct ptx_place place;
    enum ptx_access access;
    const char *space;
    uint64_t address; /* as a program sees it: an offset in shared memory */
    uint32_t size;
    uint32_t bad;
    bool has_other; /* races: what it collides with; the innermost level only */
    struct ptx_place other;
    enum ptx_access other_access;
};

/* The running instruction of a warp. stack[0] is the innermost level. */
struct ptx_sample {
    uint64_t block; /* linear */
    uint32_t warp;
    uint32_t lanes; /* that execute it */
    uint32_t depth;
    struct ptx_level stack[PTX_DEPTH_MAX];
};

/* Executions of one PTX instruction in a launch. */
struct ptx_count {
    uint64_t warps;      /* times a warp, or a part of one, executed it */
    uint64_t threads;    /* lanes whose guard held, summed */
    uint64_t lanes;      /* lanes that were together, guarded off or not, summed */
    uint64_t waits;      /* times that a warp waited here, at a barrier, for others */
    uint64_t wait_steps; /* warp instructions that the launch executed meanwhile, summed */
};

struct ptx_watch {
    unsigned checks;             /* bits of enum ptx_check */
    struct ptx_touched *touched; /* takes what is accessed (touched.h); NULL: nobody asks */
    void (*found)(void *user, const struct ptx_finding *finding);
    bool is_profiled;
    uint64_t sample_every; /* warp instructions */
    uint64_t *sample_left; /* until the next sample; kept from launch to launch */
    void (*sample)(void *user, const struct ptx_sample *sample);
    /* At the launch's end, for every instruction that was executed. */
    void (*count)(void *user, const struct ptx_function *function, uint32_t line,
                  const struct ptx_count *count);
    void *user;
};

/* shadow.c: which bytes of global memory have been written, for PTX_CHECK_UNINIT. Memory that
 * was never told of counts as written. Nothing here allocates before the first ptx_shadow_fresh().
 */
void ptx_shadow_fresh(uint64_t address, uint64_t size); /* allocated: not written */
void ptx_shadow_written(uint64_t address, uint64_t size);
void ptx_shadow_copied(uint64_t to, uint64_t from, uint64_t size);
/* How many of the bytes were not. */
uint32_t ptx_shadow_missing(uint64_t address, uint32_t size);

#endif
