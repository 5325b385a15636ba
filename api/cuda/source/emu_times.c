/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/source/emu_times.h"

#include <stddef.h>

const struct tsm_emu_times *cuda_emu_times;

static tsm_emu_times_function ask;

void cuda_emu_times_found(void *function)
{
    ask = (tsm_emu_times_function)function;
}

bool cuda_emu_times_are_there(void)
{
    return ask != NULL;
}

/* An older software GPU lacks what is used. */
static const struct tsm_emu_times *of_this_version(const struct tsm_emu_times *times)
{
    return times && times->version >= TSM_EMU_TIMES_VERSION ? times : NULL;
}

void cuda_emu_times_bind(void)
{
    if (ask && !cuda_emu_times)
        cuda_emu_times = of_this_version(ask());
}
