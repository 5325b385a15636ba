/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI has threads of its own, on which it calls us back: there we only note what records say.
 * Records of the trace are written by the program's threads, after a wait, or now and then beside
 * commands; so is a flush asked for, which delivers what is complete and waits for nothing.
 *
 * Buffers for CUPTI are a fixed number; where it has them all it drops records, and says how many.
 */
#include "api/cuda/source/cupti/cupti.h"

#include "api/cuda/cuda_calls.h"
#include "api/cuda/source/cupti/buffers.h"
#include "api/cuda/source/cupti/clock.h"
#include "api/cuda/source/cupti/commands.h"
#include "api/cuda/source/emu_times.h"
#include "api/cuda/source/source.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "capture/lock.h"
#include "capture/session.h"

#include <errno.h>
#include <signal.h>

#define FLUSH_WAITED_NS                                                                            \
    10000000u /* after a wait of the program, at least so long after the last                      \
               */
#define FLUSH_BESIDE_NS  100000000u /* beside a command */
#define FLUSH_CROWDED_NS 1000000u

bool cuda_cupti_is_on;

static struct {
    struct cupti_library library;
    struct cupti_clock clock;
    void *subscriber;
    struct tsm_lock flush; /* the thread that has it flushes and writes */
    uint64_t flushed_ns;
    bool is_subscribed, has_buffers, was_forked,
        is_over; /* is_over: CUPTI is not to be asked again */
    char reason[CUPTI_REASON_SIZE];
} cupti;

static const int kinds[] = {TSM_CUPTI_OUTER, TSM_CUPTI_KERNEL, TSM_CUPTI_COPY, TSM_CUPTI_PEER_COPY,
                            TSM_CUPTI_FILL};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* ---- on and off ---------------------------------------------------------------------------- */

/* Threads that CUPTI starts meanwhile get none of the program's signals. */
static void block_signals(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static void restore_signals(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void called_back(void *user, int domain, uint32_t call, const void *data) {}

static void say(const char *by)
{
    tsm_session_metadata("cuda.gpu_time", by);
    tsm_session_metadata("cuda.gpu_time.reason", cupti.reason);
}

static void tell_refused(void)
{
    const char *instead = cuda_emu_times_are_there() ? "the software GPU" : "events";

    tsm_log(TSM_LOG_WARN, "TS_GPU_TIME=cupti: %s. Times are by %s", cupti.reason, instead);
    say(instead);
}

/* Undoes what there is. `count`: kinds that are enabled. */
static void turn_off(size_t count)
{
    __atomic_store_n(&cuda_cupti_is_on, false, __ATOMIC_RELEASE);
    cupti.is_over = true;
    while (count--)
        cupti.library.ActivityDisable(kinds[count]);
    if (cupti.has_buffers)
        cupti.library.ActivityFlushAll(TSM_CUPTI_FLUSH_FORCED); /* they come back */
    if (cupti.is_subscribed)
        cupti.library.Unsubscribe(cupti.subscriber);
    cupti.is_subscribed = false;
}

static bool failed(const char *function, int result)
{
    if (result != TSM_CUPTI_DONE)
        cupti_library_reason(&cupti.library, function, result, cupti.reason);
    return result != TSM_CUPTI_DONE;
}

static bool enable(void)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (!failed("cuptiActivityEnable", cupti.library.ActivityEnable(kinds[i])))
            continue;
        turn_off(i);
        return false;
    }
    return true;
}

static bool turn_on(void)
{
    const struct cupti_library *l = &cupti.library;

    if (failed("cuptiSubscribe", l->Subscribe(&cupti.subscriber, called_back, NULL)))
        return false;
    cupti.is_subscribed = true;
    cupti.has_buffers = !failed("cuptiActivityRegisterCallbacks", cupti_buffers_register(l));
    if (!cupti.has_buffers || failed("cuptiGetTimestamp", cupti_clock_sample(&cupti.clock, l))) {
        turn_off(0);
        return false;
    }
    return enable();
}

static bool open(void)
{
    const char *path = tsm_session_settings()->cupti;

    if (cupti.was_forked)
        tsm_format(cupti.reason, sizeof(cupti.reason),
                   "CUPTI does not work in the child of a fork; start another program there");
    else if (cuda_emu_times_are_there() && !*path)
        tsm_format(cupti.reason, sizeof(cupti.reason),
                   "the software GPU says itself when it ran what; use --gpu-time=events");
    else if (!cupti_commands_begin() || !cupti_buffers_begin())
        tsm_format(cupti.reason, sizeof(cupti.reason),
                   "no memory for its records; free some, or use --gpu-time=events");
    else
        return cupti_library_open(&cupti.library, path, cupti.reason) && turn_on();
    return false;
}

void cuda_cupti_begin_session(void)
{
    char text[64];
    sigset_t before;

    if (!cupti.is_over && !cuda_cupti_is_on) {
        block_signals(&before);
        __atomic_store_n(&cuda_cupti_is_on, open(), __ATOMIC_RELEASE);
        restore_signals(&before);
    } else if (cuda_cupti_is_on) {
        cupti_commands_begin(); /* forgets those of the session before */
    }
    if (!cuda_cupti_is_on) {
        cupti.is_over = true;
        tell_refused();
        return;
    }
    tsm_format(text, sizeof(text), "cupti %u", cupti.library.version);
    tsm_session_metadata("cuda.gpu_time", text);
}

/* CUPTI fails, or is the program's, from now on. Inside tsm_inside_enter(), signals blocked. */
static void give_up(void)
{
    turn_off(KIND_COUNT);
    cupti_flush_ended(true);
    tell_refused();
}

void cuda_cupti_forked(void)
{
    cupti.was_forked |= cuda_cupti_is_on || cupti.is_over;
    cupti.is_over = cuda_cupti_is_on = false;
    cupti.flush = (struct tsm_lock){0};
    cupti_commands_forked();
    cupti_buffers_forked();
}

/* ---- commands ------------------------------------------------------------------------------ */

uint64_t cuda_cupti_begin(const struct tsm_call *call, bool is_graph)
{
    const int saved_errno = errno;
    uint64_t id = cupti_command_begin(call, is_graph);

    if (id && cupti.library.ActivityPushExternalCorrelationId(TSM_CUPTI_OUTER_KIND, id) !=
                  TSM_CUPTI_DONE) {
        cupti_command_end(id, false);
        tsm_session_unmodelled("TS_GPU_TIME=cupti: CUPTI took no number of a command", false);
        id = 0;
    }
    errno = saved_errno;
    return id;
}

void cuda_cupti_end(uint64_t id, bool ok)
{
    const int saved_errno = errno;
    uint64_t last = 0;

    cupti.library.ActivityPopExternalCorrelationId(TSM_CUPTI_OUTER_KIND, &last);
    cupti_command_end(id, ok);
    errno = saved_errno;
}

/* ---- times --------------------------------------------------------------------------------- */

/* `may_ask`: CUPTI is there. */
static void tell_losses(bool may_ask)
{
    const struct cupti_losses losses = cupti_commands_losses();

    if (losses.commands)
        tsm_session_unmodelled("TS_GPU_TIME=cupti: too many commands under way, some are not timed",
                               false);
    if (losses.nodes)
        tsm_session_unmodelled("TS_GPU_TIME=cupti: too many nodes of graphs, some are not timed",
                               false);
    if (losses.late)
        tsm_session_unmodelled(
            "TS_GPU_TIME=cupti: CUPTI told of a command when its time was written", false);
    if (losses.unknown)
        tsm_session_unmodelled("TS_GPU_TIME=cupti: CUPTI could not time a command", false);
    if (may_ask && cupti_buffers_dropped(&cupti.library))
        tsm_session_unmodelled(
            "TS_GPU_TIME=cupti: CUPTI dropped records, some commands are not timed", false);
}

/* The part of a record that both have. */
static struct tsm_gpu_time time_of(const struct cupti_settled *settled, uint64_t start_ns,
                                   uint64_t end_ns)
{
    struct tsm_gpu_time time = {.stream = settled->stream,
                                .position = settled->position,
                                .duration_ns = end_ns - start_ns,
                                .flags = SBT_GPU_TIME_CALIBRATED};

    time.start_ns = cupti_clock_host(&cupti.clock, start_ns, &time.error_ns) -
                    tsm_session_current()->start.monotonic_ns;
    return time;
}

/* Nodes come before the launch. */
static void write_one(struct cupti_settled *settled)
{
    struct tsm_gpu_time time;
    uint32_t number = 0;

    for (const struct cupti_node *node = settled->nodes; node; node = node->next) {
        time = time_of(settled, node->start_ns, node->end_ns);
        time.command = ++number;
        time.of_type = node->type;
        tsm_gpu_time_write(&time);
    }
    time = time_of(settled, settled->start_ns, settled->end_ns);
    time.inner_ns = settled->inner_ns;
    tsm_gpu_time_write(&time);
}

static void write_settled(bool may_ask)
{
    struct cupti_settled settled;

    while (tsm_session_current() && cupti_command_next(&settled)) {
        write_one(&settled);
        cupti_command_written(&settled);
    }
    tell_losses(may_ask);
}

/* The lock `flush` is held. */
static void flush(bool is_last)
{
    sigset_t before;
    int result;

    tsm_inside_enter();
    block_signals(&before);
    cupti_flush_begins(cuda_stream_is_complete);
    cuda_aside_begin();
    result = cupti.library.ActivityFlushAll(is_last ? TSM_CUPTI_FLUSH_FORCED : 0);
    cuda_aside_end();
    cupti_flush_ended(is_last);
    if (cupti_clock_sample(&cupti.clock, &cupti.library) != TSM_CUPTI_DONE)
        tsm_session_unmodelled("TS_GPU_TIME=cupti: cuptiGetTimestamp failed, starts are less exact",
                               false);
    cupti.flushed_ns = tsm_monotonic_ns();
    if (failed("cuptiActivityFlushAll", result))
        give_up();
    restore_signals(&before);
    tsm_inside_leave();
}

static bool is_due(bool waited)
{
    const uint64_t since =
        tsm_monotonic_ns() - __atomic_load_n(&cupti.flushed_ns, __ATOMIC_RELAXED);

    return since >= (waited ? FLUSH_WAITED_NS : FLUSH_BESIDE_NS) ||
           (since >= FLUSH_CROWDED_NS && cupti_commands_crowded());
}

void cuda_cupti_collect(bool waited)
{
    const int saved_errno = errno;

    if (tsm_inside() || !is_due(waited) || !tsm_lock_try(&cupti.flush))
        return;
    flush(false);
    write_settled(true);
    tsm_lock_give(&cupti.flush);
    errno = saved_errno;
}

void cuda_cupti_ending(void)
{
    const int saved_errno = errno;

    if (!__atomic_load_n(&cuda_cupti_is_on, __ATOMIC_ACQUIRE) || tsm_inside() ||
        !tsm_session_current() || !tsm_lock_try(&cupti.flush))
        return;
    flush(true);
    write_settled(true);
    __atomic_store_n(&cuda_cupti_is_on, false, __ATOMIC_RELEASE); /* the library may go now */
    cupti.is_over = true;
    tsm_lock_give(&cupti.flush);
    errno = saved_errno;
}

void cuda_cupti_unseen(void)
{
    if (!__atomic_load_n(&cuda_cupti_is_on, __ATOMIC_ACQUIRE) || tsm_inside() ||
        !tsm_session_current() || !tsm_lock_try(&cupti.flush))
        return;
    cupti_flush_ended(true);
    write_settled(false);
    tsm_lock_give(&cupti.flush);
}

void cuda_cupti_opening(const char *path)
{
    sigset_t before;

    if (!__atomic_load_n(&cuda_cupti_is_on, __ATOMIC_ACQUIRE) || tsm_inside() ||
        !cupti_library_is(path))
        return;
    tsm_lock_take(&cupti.flush);
    flush(true);
    if (cuda_cupti_is_on) {
        tsm_format(cupti.reason, sizeof(cupti.reason),
                   "the program opens libcupti itself, which serves one tool at a time; record it "
                   "with --gpu-time=events");
        tsm_inside_enter();
        block_signals(&before);
        give_up();
        restore_signals(&before);
        tsm_inside_leave();
    }
    write_settled(true);
    tsm_lock_give(&cupti.flush);
}
