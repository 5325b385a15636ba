/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay that follows a schedule (replay/schedule.h), and the virtual time of the software GPU.
 *
 * There each thread has a clock. A program that a schedule describes has one thread that sends;
 * here each stream has one. Only one of them does something at a time, so all have one clock, which
 * each takes over from the one before. What the program did not do takes no time.
 */
#include "api/cuda/replay/state.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The clock that a later replay of this process begins at: the device is busy until then. The
 * library stays loaded. */
static uint64_t latest_ns;

void cuda_clock_open(struct cuda_replay *replay)
{
    struct cuda_clock *clock = &replay->clock;
    void *found = dlsym(replay->library.handle, TSM_EMU_TIMES_SYMBOL);
    tsm_emu_times_function function;

    if (!found || !replay->library.is_emu)
        return;
    memcpy(&function, &found, sizeof(function));
    clock->times = function();
    if (clock->times && (!clock->times->is_virtual || clock->times->version < 2))
        clock->times = NULL;
    clock->is_shared = clock->times && replay->options->schedule;
    clock->begin_ns = clock->now_ns = latest_ns;
}

void cuda_clock_take(const struct cuda_replay *replay)
{
    if (replay->clock.is_shared)
        replay->clock.times->set_now(replay->clock.now_ns);
}

void cuda_clock_give(struct cuda_replay *replay)
{
    struct cuda_clock *clock = &replay->clock;

    if (!clock->is_shared)
        return;
    clock->now_ns = clock->times->now();
    if (latest_ns < clock->now_ns)
        latest_ns = clock->now_ns;
}

void cuda_clock_aside(const struct cuda_replay *replay, bool begins)
{
    if (!replay->clock.is_shared)
        return;
    if (begins)
        replay->clock.times->set_now(replay->clock.now_ns);
    replay->clock.times->aside(begins);
    if (begins) /* what is sent now comes before all that is sent and has not run */
        replay->clock.times->set_now(0);
}

void cuda_clock_send(struct cuda_replay *replay)
{
    struct cuda_clock *clock = &replay->clock;

    if (!clock->is_shared)
        return;
    if (clock->has_at)
        clock->times->set_now(clock->begin_ns + clock->at_ns);
    clock->sent_ns = clock->times->now();
}

void cuda_clock_sent(struct cuda_replay *replay)
{
    cuda_clock_give(replay);
    replay->clock.has_at = false;
}

void cuda_clock_beside(const struct cuda_replay *replay)
{
    if (replay->clock.is_shared)
        replay->clock.times->set_now(replay->clock.sent_ns);
}

void cuda_clock_behind(struct cuda_replay *replay, bool begins)
{
    if (begins)
        cuda_clock_sent(replay);
    cuda_clock_aside(replay, begins);
    if (!begins)
        cuda_clock_take(replay);
}

bool cuda_schedule_send_at(struct cuda_replay *replay, uint64_t ns)
{
    replay->clock.has_at = replay->clock.is_shared;
    replay->clock.at_ns = ns;
    return replay->clock.is_shared;
}

/* ---- commands that are sent later ---------------------------------------------------------- */

int cuda_schedule_leave(struct cuda_replay *replay, const struct sbt_record *record)
{
    CUcontext context = cuda_context_of(replay, record->thread);

    return tsm_map_set(&replay->left_contexts, record->seq + 1, (uint64_t)(uintptr_t)context)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for contexts");
}

CUcontext cuda_schedule_context(struct cuda_replay *replay, const struct sbt_record *record)
{
    const uint64_t *left =
        replay->left_contexts.count ? tsm_map_find(&replay->left_contexts, record->seq + 1) : NULL;

    return left ? (CUcontext)(uintptr_t)*left : cuda_context_of(replay, record->thread);
}

/* Which context is current is kept for each command that is left for later. */
bool cuda_schedule_commutes(const struct sbt_record *record)
{
    return record->type == TYPE_cuCtxSetCurrent || record->type == TYPE_cuCtxPushCurrent_v2 ||
           record->type == TYPE_cuCtxPopCurrent_v2;
}
