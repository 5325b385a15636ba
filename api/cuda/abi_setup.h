/* SPDX-License-Identifier: Apache-2.0
 *
 * A private interface of the software GPU's libcuda.so.1: settings of the machine, for a replayer
 * that knows the recorded one. Whoever wants it looks for TSM_EMU_SETUP_SYMBOL in the library, a
 * function of type tsm_emu_setup_function, and goes on without it where there is none.
 */
#ifndef API_CUDA_ABI_SETUP_H
#define API_CUDA_ABI_SETUP_H

#include <stdbool.h>

#define TSM_EMU_SETUP_SYMBOL "tsm_emu_setup"

/* Gives a setting (docs/emu.md, by the name of its variable) a value in place of its default: what
 * the environment says counts first. Call it before cuInit(), from one thread. Returns false when
 * it is too late, or there are too many. */
typedef bool (*tsm_emu_setup_function)(const char *name, const char *value);

#endif
