/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_EMU_PROFILE: what launches execute, in a text file of lines of tab-separated fields, described
 * in docs/emu.md. Samples are written when their launch ends; counts and host stacks when the
 * process does.
 *
 * Threads: any.
 */
#ifndef EMU_PROFILE_H
#define EMU_PROFILE_H

#include "emu/cuda/check/watch.h"

/* Let watch->ptx profile. Does nothing when the file cannot be written, after saying so. */
void emu_profile_begin(struct emu_watch *watch, const struct ptx_launch *launch, CUstream stream);
void emu_profile_end(struct emu_watch *watch);

/* The module is about to go: another one may come to lie at its address. */
void emu_profile_forget(const struct ptx_module *module);

#endif
