/* SPDX-License-Identifier: Apache-2.0
 *
 * Ramps: registers that are kept as three numbers instead of as 32 lanes. Private to the engine.
 *
 * The lanes of a warp stand in rows, which are as long as a row of a block that is narrower than a
 * warp, and 32 otherwise. A ramp's lane in column x of row y has the value base + x * column + y *
 * row, wrapped to the register's size. Indices, addresses, loop counters and parameters are ramps,
 * and sums and products of ramps are ramps again, so that most of what a kernel computes beside its
 * data is one operation for a warp, and an address says at once which bytes a warp accesses.
 *
 * A plan (emu/ptx/launch/plan.c) says which registers of a kernel may be ramps; each has a slot. A
 * slot's register has its lanes in the frame, or is a ramp, or both. A ramp is written only by
 * instructions that all living lanes of the warp execute together; whoever needs lanes has them
 * spread first. So what a handler that knows nothing of ramps reads and writes is as it ever was.
 */
#ifndef EMU_PTX_EXEC_RAMP_H
#define EMU_PTX_EXEC_RAMP_H

#include "emu/ptx/exec/exec.h"

/* Bits of ptx_ramp.state. */
enum ptx_ramp_state {
    PTX_RAMP_SPREAD = 1, /* the lanes in the frame hold the value */
    PTX_RAMP_KNOWN = 2,  /* base, x and y do */
};

struct ptx_ramp {
    uint64_t base; /* of lane 0, zero-extended from the register's size */
    int64_t x;     /* from column to column, sign-extended from the register's size */
    int64_t y;     /* from row to row */
    ptx_op op;     /* where the lanes are */
    uint8_t size;  /* of a lane, bytes */
    uint8_t state;
    uint8_t extent[2]; /* of the launch, where it pointed to be read, and to be written, last */
};

/* Slots that every plan has. */
enum {
    PTX_SLOT_LANES, /* of all registers that are never ramps */
    PTX_SLOT_ZERO,  /* the constant 0 */
    PTX_SLOT_FIRST,
};

#define PTX_STEP_SLOTS 19

/* How to execute an instruction of the kernel: as large as one, so that one distance leads from
 * each to its step. */
struct ptx_step {
    ptx_fn fn;
    ptx_op guard;
    uint16_t d, a, b, c; /* slots of dst and of src[0] to src[2] */
    uint8_t reads, writes;
    bool may_wait; /* lanes may leave the instruction without having executed it */
    uint8_t row; /* from here on so many steps, this one too, follow one another without a guard */
    uint16_t slots[PTX_STEP_SLOTS]; /* of registers that are read, then of those that are written */
};
_Static_assert(sizeof(struct ptx_step) == sizeof(struct ptx_insn), "one distance for all");

/* Bytes of a frame. */
struct ptx_stretch {
    uint32_t start, size;
};

struct ptx_plan {
    struct ptx_step *steps; /* one for each instruction */
    struct ptx_ramp *ramps; /* as they are when a warp begins: registers, specials, constants */
    uint32_t ramp_count;
    uint32_t reset_count;   /* of registers, from PTX_SLOT_FIRST, that must begin as zeros */
    uint32_t special_first; /* slots of special registers, those of the block first */
    uint32_t special_launch;
    uint32_t special_end;
    struct ptx_stretch *clears; /* lanes of other registers that must begin as zeros */
    uint32_t clear_count;
    /* The kernel begins with so many instructions that cannot do anything but compute, and those of
     * them that come to something else in another block: the others need not be executed again. */
    uint32_t lead;
    uint32_t *again;
    uint32_t again_count;
    bool shows_specials; /* functions are called, which look at lanes of special registers */
};

static inline const struct ptx_step *ptx_step_of(const struct ptx_warp *w, const struct ptx_insn *i)
{
    return (const struct ptx_step *)((uintptr_t)i + w->to_step);
}

#endif
