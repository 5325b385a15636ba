/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of commands on the device: the runtime notes them in the signal that a command completes, a
 * signal of ours where a dispatch has none. They are read before the signal is used again. Commands
 * that share a signal at one time have no times, nor have copies that the runtime does at once.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>

#define LOOK_COUNT 1024u /* dispatches with a signal of ours before one looks for complete ones */

/* A command that completes a signal. */
struct hsa_timed {
    struct hsa_timed *next; /* of those with a signal of ours */
    hsa_signal_t own;       /* handle 0: the signal is the program's */
    hsa_agent_t agent;
    uint64_t seq, position, sent_ticks;
    uint32_t stream;
    bool is_copy, is_under_way;
};

/* ---- the clock ----------------------------------------------------------------------------- */

static uint64_t ticks_now(const struct hsa_replay *replay)
{
    uint64_t ticks = 0;

    replay->calls.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks);
    return ticks;
}

static uint64_t nanoseconds(const struct hsa_replay *replay, uint64_t ticks)
{
    const uint64_t frequency = replay->timing.frequency;

    return ticks / frequency * 1000000000u + ticks % frequency * 1000000000u / frequency;
}

/* Reads what the runtime has noted. Returns false where that is not of this command. */
static bool read_times(const struct hsa_replay *replay, const struct hsa_timed *timed,
                       hsa_signal_t signal, struct tsm_replay_time *out)
{
    hsa_amd_profiling_dispatch_time_t dispatch = {0};
    hsa_amd_profiling_async_copy_time_t copy = {0};
    hsa_status_t status;
    uint64_t start, end;

    if (timed->is_copy)
        status = replay->calls.hsa_amd_profiling_get_async_copy_time(signal, &copy);
    else
        status = replay->calls.hsa_amd_profiling_get_dispatch_time(timed->agent, signal, &dispatch);
    start = timed->is_copy ? copy.start : dispatch.start;
    end = timed->is_copy ? copy.end : dispatch.end;
    if (status != HSA_STATUS_SUCCESS || start < timed->sent_ticks || end < start)
        return false;
    out->start_ns = nanoseconds(replay, start - replay->timing.start_ticks);
    out->duration_ns = nanoseconds(replay, end - start);
    out->error_ns = (1000000000u + replay->timing.frequency - 1) / replay->timing.frequency;
    return true;
}

/* The lock is held, the command is complete. */
static void take(struct hsa_replay *replay, struct hsa_timed *timed, hsa_signal_t signal)
{
    struct tsm_replay_time time = {
        .seq = timed->seq, .position = timed->position, .stream = timed->stream};

    timed->is_under_way = false;
    if (read_times(replay, timed, signal, &time))
        tsm_time_list_add(&replay->timing.done, &time);
}

/* ---- signals of the program ---------------------------------------------------------------- */

/* The lock is held. Reads what the last command left in the signal. Returns false if one that
 * completes it is still under way. */
static bool settle(struct hsa_replay *replay, struct hsa_signal_state *signal)
{
    struct hsa_timed *timed = signal->timed;
    const int64_t expected = __atomic_load_n(&signal->expected, __ATOMIC_SEQ_CST);
    const bool is_idle = replay->calls.hsa_signal_load_scacquire(signal->raw) == expected;

    if (timed && timed->is_under_way && is_idle)
        take(replay, timed, signal->raw);
    if (timed)
        timed->is_under_way = false;
    return is_idle;
}

/* A command that is not timed completes the signal next. */
static void forget(struct hsa_replay *replay, struct hsa_signal_state *signal)
{
    if (!replay->timing.is_on || !signal)
        return;
    pthread_mutex_lock(&replay->timing.lock);
    settle(replay, signal);
    pthread_mutex_unlock(&replay->timing.lock);
}

/* The lock is held. */
static void note(struct hsa_replay *replay, struct hsa_signal_state *signal,
                 const struct hsa_timed *command)
{
    const bool is_alone = settle(replay, signal);

    if (!signal->timed)
        signal->timed = calloc(1, sizeof(*signal->timed));
    if (!signal->timed)
        return;
    *signal->timed = *command;
    signal->timed->is_under_way = is_alone; /* else the one before may end later */
}

/* ---- signals of ours ----------------------------------------------------------------------- */

/* The lock is held. Makes those free that are complete. */
static void take_complete(struct hsa_replay *replay)
{
    struct hsa_timed **at = &replay->timing.under_way;

    while (*at) {
        struct hsa_timed *timed = *at;

        if (replay->calls.hsa_signal_load_scacquire(timed->own) > 0) {
            at = &timed->next;
            continue;
        }
        take(replay, timed, timed->own);
        *at = timed->next;
        timed->next = replay->timing.free;
        replay->timing.free = timed;
        replay->timing.under_way_count--;
    }
    replay->timing.look_count = replay->timing.under_way_count + LOOK_COUNT;
}

/* The lock is held. NULL: none can be made. */
static struct hsa_timed *take_own(struct hsa_replay *replay)
{
    struct hsa_timed *timed;

    if (replay->timing.under_way_count >= replay->timing.look_count)
        take_complete(replay);
    timed = replay->timing.free;
    if (timed) {
        replay->timing.free = timed->next;
        replay->calls.hsa_signal_store_screlease(timed->own, 1);
        return timed;
    }
    timed = calloc(1, sizeof(*timed));
    if (timed && replay->calls.hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY,
                                                     &timed->own) == HSA_STATUS_SUCCESS)
        return timed;
    free(timed);
    return NULL;
}

/* The lock is held. */
static hsa_signal_t note_own(struct hsa_replay *replay, const struct hsa_timed *command)
{
    struct hsa_timed *timed = take_own(replay);
    struct hsa_timed filled = *command;

    if (!timed)
        return (hsa_signal_t){0};
    filled.own = timed->own;
    filled.next = replay->timing.under_way;
    *timed = filled;
    replay->timing.under_way = timed;
    replay->timing.under_way_count++;
    return timed->own;
}

/* ---- commands ------------------------------------------------------------------------------ */

hsa_signal_t hsa_timing_sending(struct hsa_replay *replay, const struct sbt_record *record,
                                const struct hsa_stream *queue, struct hsa_signal_state *completion)
{
    const struct hsa_timed command = {.agent = queue ? queue->agent : (hsa_agent_t){0},
                                      .seq = record->seq,
                                      .position = record->position,
                                      .stream = record->stream,
                                      .is_copy = !queue,
                                      .is_under_way = true,
                                      .sent_ticks = replay->timing.is_on ? ticks_now(replay) : 0};
    hsa_signal_t signal = completion ? completion->raw : (hsa_signal_t){0};

    if (!replay->timing.is_on || record->seq < replay->timing.seq_first) {
        forget(replay, completion);
        return signal;
    }
    pthread_mutex_lock(&replay->timing.lock);
    if (completion)
        note(replay, completion, &command);
    else
        signal = note_own(replay, &command);
    pthread_mutex_unlock(&replay->timing.lock);
    return signal;
}

void hsa_timing_queue(struct hsa_replay *replay, struct hsa_stream *stream, hsa_agent_t agent)
{
    stream->agent = agent;
    if (replay->timing.is_on)
        replay->calls.hsa_amd_profiling_set_profiler_enabled(stream->queue, 1);
}

/* ---- runs ---------------------------------------------------------------------------------- */

int hsa_timing_start(struct hsa_replay *replay, uint64_t seq_first)
{
    struct hsa_timing *timing = &replay->timing;

    if (replay->calls.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY,
                                          &timing->frequency) != HSA_STATUS_SUCCESS ||
        !timing->frequency)
        return 0; /* nothing is timed */
    timing->is_on = true;
    timing->seq_first = seq_first;
    timing->start_ticks = ticks_now(replay);
    timing->look_count = LOOK_COUNT;
    replay->calls.hsa_amd_profiling_async_copy_enable(true);
    return 0;
}

int hsa_timing_report(struct hsa_replay *replay, tsm_time_user report, void *user)
{
    for (struct hsa_signal_state *s = replay->signals; s; s = s->next)
        settle(replay, s);
    take_complete(replay);
    if (replay->timing.is_on)
        replay->calls.hsa_amd_profiling_async_copy_enable(false);
    replay->timing.is_on = false;
    return tsm_time_list_report(&replay->timing.done, report, user);
}

static void free_own(struct hsa_replay *replay, struct hsa_timed *list)
{
    while (list) {
        struct hsa_timed *timed = list;

        list = timed->next;
        if (replay->is_up)
            replay->calls.hsa_signal_destroy(timed->own);
        free(timed);
    }
}

void hsa_timing_finish(struct hsa_replay *replay)
{
    free_own(replay, replay->timing.under_way);
    free_own(replay, replay->timing.free);
    tsm_time_list_finish(&replay->timing.done);
    pthread_mutex_destroy(&replay->timing.lock);
}
