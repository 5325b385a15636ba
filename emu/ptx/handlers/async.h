/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies. They are done when they are started: waiting for them is nothing, and a
 * barrier that they signal hears of them at once.
 */
#ifndef EMU_PTX_HANDLERS_ASYNC_H
#define EMU_PTX_HANDLERS_ASYNC_H

#include "emu/ptx/exec/exec.h"

/* cp.async: src[0] + imm: the destination in shared memory; src[1]: the global source (64 bits);
 * src[2]: bytes to read of it, the rest is zero, or none; count: bytes. */
void ptx_run_copy(struct ptx_warp *w, const struct ptx_insn *i);

/* In insn->extra of the bulk forms; addresses are 64-bit registers. */
struct ptx_bulk {
    ptx_op to;
    ptx_op from;    /* none: zeros */
    ptx_op barrier; /* none: no barrier is told */
    ptx_op size;    /* 32 bits */
    ptx_op blocks;  /* .b16, a bit for each block of the cluster that gets a copy; none: as `to` says */
    ptx_op bytes;   /* .b16, a bit for each byte of sixteen that is copied; none: all */
    enum ptx_space to_space;
    enum ptx_space from_space;
    enum ptx_space barrier_space;
    bool reduces;
    uint8_t op; /* enum ptx_atomic */
};
void ptx_run_bulk(struct ptx_warp *w, const struct ptx_insn *i);

/* src[0] + imm: a barrier, which hears that `count` bytes came. */
void ptx_run_complete(struct ptx_warp *w, const struct ptx_insn *i);

#endif
