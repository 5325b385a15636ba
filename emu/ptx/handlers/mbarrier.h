/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier objects: 64 opaque bits in shared memory. Ours: pending arrivals (20 bits), expected
 * arrivals (20), bytes of copies still to come (22, signed), one spare, the phase (1).
 */
#ifndef EMU_PTX_HANDLERS_MBARRIER_H
#define EMU_PTX_HANDLERS_MBARRIER_H

#include "emu/ptx/exec/exec.h"

enum ptx_mbarrier_op {
    PTX_MBARRIER_INIT,
    PTX_MBARRIER_INVAL,
    PTX_MBARRIER_ARRIVE,
    PTX_MBARRIER_DROP,
    PTX_MBARRIER_ARRIVE_EXPECT,
    PTX_MBARRIER_DROP_EXPECT,
    PTX_MBARRIER_EXPECT,
    PTX_MBARRIER_COMPLETE,
    PTX_MBARRIER_TEST,
    PTX_MBARRIER_TEST_PARITY,
};

#define PTX_MBARRIER_COUNT_MAX ((1u << 20) - 1)

/* src[0] + imm: the object; src[1]: count, bytes, state or parity, or none; dst: state or truth, or
 * none. PTX_MODE: enum ptx_mbarrier_op. */
void ptx_run_mbarrier(struct ptx_warp *w, const struct ptx_insn *i);
/* src[0]: a state; dst: its pending count. */
void ptx_run_mbarrier_pending(struct ptx_warp *w, const struct ptx_insn *i);
/* Somebody arrives who is no thread. */
void ptx_mbarrier_arrive(uint8_t *object);
/* `bytes` of a copy have come. */
void ptx_mbarrier_complete(uint8_t *object, uint32_t bytes);

#endif
