/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's private interface, where the driver is that (api/cuda/abi_times.h).
 */
#ifndef API_CUDA_SOURCE_EMU_TIMES_H
#define API_CUDA_SOURCE_EMU_TIMES_H

#include "api/cuda/abi_times.h"

/* NULL: another driver, or one that is not initialised. */
extern const struct tsm_emu_times *cuda_emu_times;

/* The driver's function of that name, or NULL. */
void cuda_emu_times_found(void *function);

/* Is the driver the software GPU, initialised or not, that says its times? */
bool cuda_emu_times_are_there(void);

/* Asks it. The driver is initialised; any thread, any number of times. */
void cuda_emu_times_bind(void);

/* Between these two this thread calls the driver for us: in virtual time that takes no time. */
static inline void cuda_aside_begin(void)
{
    if (cuda_emu_times)
        cuda_emu_times->aside(true);
}

static inline void cuda_aside_end(void)
{
    if (cuda_emu_times)
        cuda_emu_times->aside(false);
}

#endif
