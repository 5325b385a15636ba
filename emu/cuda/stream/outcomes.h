/* SPDX-License-Identifier: Apache-2.0
 *
 * Outcomes: which command has failed, for api/cuda/abi_outcomes.h.
 */
#ifndef EMU_OUTCOMES_H
#define EMU_OUTCOMES_H

#include <stdint.h>

/* Mark of what this thread sends; 0: none. */
extern _Thread_local uint64_t emu_mark;

#endif
