/* SPDX-License-Identifier: Apache-2.0
 *
 * The laboratory around a launch: what TS_EMU_CHECK and TS_EMU_PROFILE ask for. Nothing of it costs
 * anything when neither is set.
 */
#ifndef EMU_WATCH_H
#define EMU_WATCH_H

#include "emu/cuda/core/abi.h"
#include "emu/ptx/check/watch.h"

/* A watched launch. Lies where the launch runs, until it has ended. */
struct emu_watch {
    struct ptx_watch ptx;
    const struct ptx_module *module;
    const char *kernel;
    uint32_t stack; /* host stack of the launch */
    uint64_t profile_launch;
    uint64_t profile_left;
};

/* Prepare launch->watch; leaves it NULL when nothing is asked for. `touched`: takes what the launch
 * accesses; NULL: nobody asks. */
void emu_watch_begin(struct emu_watch *watch, struct ptx_launch *launch, CUstream stream,
                     uint32_t stack, struct ptx_touched *touched);
void emu_watch_end(struct emu_watch *watch);

/* The module is about to go. */
void emu_watch_forget(const struct ptx_module *module);

#endif
