/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures of commands: what the driver says of a context in which one has failed, and where it is
 * the software GPU, which one that was.
 */
#include "api/cuda/replay/state.h"

#include <dlfcn.h>
#include <string.h>

#include "base/text.h"

void cuda_failure_open(struct cuda_replay *replay)
{
    void *found = dlsym(replay->library.handle, TSM_EMU_OUTCOMES_SYMBOL);
    tsm_emu_outcomes_function function;

    replay->outcomes = NULL;
    if (!found || !replay->library.is_emu)
        return;
    memcpy(&function, &found, sizeof(function));
    replay->outcomes = function();
}

void cuda_failure_mark(const struct cuda_replay *replay, const struct sbt_record *record)
{
    if (replay->outcomes)
        replay->outcomes->mark(record ? record->seq + 1 : 0);
}

/* Asks the driver, which keeps the error of a context in which a command has failed. The context is
 * current. */
static CUresult ask(const struct cuda_replay *replay, CUcontext context, uint64_t *mark)
{
    int result = CUDA_SUCCESS;

    if (replay->outcomes)
        return replay->outcomes->failure(context, &result, mark) ? (CUresult)result : CUDA_SUCCESS;
    return replay->library.calls.cuStreamQuery(CU_STREAM_LEGACY);
}

static bool describe(const struct cuda_replay *replay, CUcontext context,
                     struct tsm_device_failure *out)
{
    const char *name = NULL;
    uint64_t mark = 0;
    const CUresult result = ask(replay, context, &mark);

    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY ||
        replay->library.calls.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        return false;
    *out = (struct tsm_device_failure){
        .result = (int)result, .has_command = mark != 0, .seq = mark ? mark - 1 : 0};
    tsm_format(out->name, sizeof(out->name), "%s", name);
    return true;
}

/* Returns the context of a stream that was made; NULL: there is none. */
static CUcontext context_of(struct cuda_replay *replay, uint32_t number)
{
    CUcontext context = NULL;

    pthread_mutex_lock(&replay->streams_lock);
    if (number < replay->stream_capacity && replay->streams[number] &&
        replay->streams[number]->is_made)
        context = replay->streams[number]->context;
    pthread_mutex_unlock(&replay->streams_lock);
    return context;
}

bool cuda_failure_here(struct cuda_replay *replay, uint32_t number)
{
    CUcontext context = NULL;

    return replay->library.calls.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context &&
           context == context_of(replay, number);
}

bool cuda_failure_find(struct cuda_replay *replay, uint32_t number, struct tsm_device_failure *out)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUcontext context = context_of(replay, number), before = NULL;
    bool is_found;

    if (!context || driver->cuCtxGetCurrent(&before) != CUDA_SUCCESS)
        return false;
    is_found = driver->cuCtxSetCurrent(context) == CUDA_SUCCESS && describe(replay, context, out);
    driver->cuCtxSetCurrent(before);
    return is_found;
}
