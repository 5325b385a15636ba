/* SPDX-License-Identifier: Apache-2.0
 *
 * Freed memory: the last few thousand freed allocations, for messages about wild addresses.
 * With TS_EMU_CHECK=bounds their places are also not used again for a while, so that an access to
 * freed memory meets nothing rather than a stranger's data.
 *
 * Threads: any.
 */
#ifndef EMU_CUDA_CHECK_QUARANTINE_H
#define EMU_CUDA_CHECK_QUARANTINE_H

#include "emu/cuda/memory/near.h"

/* Called when the allocation is out of the register. Gives its place back, now or later. */
void emu_quarantine_add(const struct emu_memory *memory, bool is_placed_by_us);

/* Improve *near, if a freed allocation is nearer than what is there. near->distance UINT64_MAX:
 * nothing is there yet. */
void emu_quarantine_near(struct emu_near *near, uint64_t address);

/* Give back what is held, because memory or address space is short. False: nothing was held. */
bool emu_quarantine_release(void);

#endif
