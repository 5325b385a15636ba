/* SPDX-License-Identifier: Apache-2.0
 *
 * A private interface of the software GPU's libcuda.so.1: which command of a context has failed,
 * and how much the device has executed. NVIDIA's driver has nothing like it. Whoever wants it looks
 * for TSM_EMU_OUTCOMES_SYMBOL in the library, a function of type tsm_emu_outcomes_function, and
 * goes on without it where there is none.
 */
#ifndef API_CUDA_ABI_OUTCOMES_H
#define API_CUDA_ABI_OUTCOMES_H

#include <stdbool.h>
#include <stdint.h>

#define TSM_EMU_OUTCOMES_SYMBOL  "tsm_emu_outcomes"
#define TSM_EMU_OUTCOMES_VERSION 1u

/* Any thread may call these. None of them waits for the device, or counts as a call of the driver.
 */
struct tsm_emu_outcomes {
    uint32_t version; /* TSM_EMU_OUTCOMES_VERSION; later ones only add members */

    /* Marks all that the calling thread sends from now on with a number of the caller's. */
    void (*mark)(uint64_t number);

    /* Returns whether a command of a context (CUcontext) has failed: then its CUresult, and the
     * number that it was marked with, 0 for none. */
    bool (*failure)(void *context, int *result, uint64_t *number);

    /* Returns a number that grows while kernels execute instructions: others than those of loops
     * that poll memory which does not change. */
    uint64_t (*progress)(void);
};

/* Returns NULL before cuInit(), and with TS_EMU_EXACT=0. Valid as long as the library is loaded. */
typedef const struct tsm_emu_outcomes *(*tsm_emu_outcomes_function)(void);

#endif
