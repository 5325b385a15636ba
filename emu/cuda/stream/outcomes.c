/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/stream/outcomes.h"

#include <stddef.h>

#include "api/cuda/abi_outcomes.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/stream/schedule.h"

_Thread_local uint64_t emu_mark;

static void mark(uint64_t number)
{
    emu_mark = number;
}

static bool failure(void *handle, int *result, uint64_t *number)
{
    CUcontext context = handle;

    if (!emu_object_is(EMU_CONTEXT, context))
        return false;
    pthread_mutex_lock(&emu_scheduler.lock);
    *result = (int)emu_context_error(context);
    *number = context->failed_mark;
    pthread_mutex_unlock(&emu_scheduler.lock);
    return *result != CUDA_SUCCESS;
}

__attribute__((visibility("default"))) const struct tsm_emu_outcomes *tsm_emu_outcomes(void);

const struct tsm_emu_outcomes *tsm_emu_outcomes(void)
{
    static const struct tsm_emu_outcomes outcomes = {
        .version = TSM_EMU_OUTCOMES_VERSION,
        .mark = mark,
        .failure = failure,
        .progress = ptx_progress,
    };

    return emu_settings.has_times ? &outcomes : NULL;
}
