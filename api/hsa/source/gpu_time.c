/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime can note in a command's completion signal when the command began and ended, on the
 * clock that HSA_SYSTEM_INFO_TIMESTAMP tells. The time is read when the recorder learns that the
 * command is complete. Commands without a signal, and those that share one, have no time.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_wrappers.h"
#include "base/clock.h"
#include "capture/call/streams.h"
#include "capture/session.h"

#include <string.h>

#define CLOCK_TRIES 3u
#define OURS_MAX    4096u /* dispatches with a signal of ours that are under way */
#define AT_ONCE     8u
#define QUEUES_MAX  1024u

/* A dispatch that completes a signal of ours. */
struct dispatch {
    hsa_signal_t signal;
    const struct tsm_stream *stream;
    uint64_t position, sent_ns;
};

/* Agents of queues, by the stream that their packets have. */
static struct {
    struct tsm_lock lock;
    uint32_t count;
    struct {
        const struct tsm_stream *stream;
        hsa_agent_t agent;
    } all[QUEUES_MAX];
} queues;

static struct {
    struct tsm_lock lock;
    uint32_t count, created; /* under way; signals that there are, those under way first */
    struct dispatch all[OURS_MAX];
} ours;

static bool is_wanted(void)
{
    const struct tsm_session *session = tsm_session_current();

    return session && tsm_session_settings()->gpu_time;
}

/* The lock is held. Returns the place of a stream, or where it would be. */
static uint32_t find_queue(const struct tsm_stream *stream)
{
    uint32_t at = 0;

    while (at < queues.count && queues.all[at].stream != stream)
        at++;
    return at;
}

static hsa_agent_t agent_of(const struct tsm_stream *stream)
{
    hsa_agent_t agent = {0};
    uint32_t at;

    tsm_lock_take(&queues.lock);
    at = find_queue(stream);
    if (at < queues.count)
        agent = queues.all[at].agent;
    tsm_lock_give(&queues.lock);
    return agent;
}

static void add_queue(const struct tsm_stream *stream, hsa_agent_t agent)
{
    uint32_t at;

    tsm_lock_take(&queues.lock);
    at = find_queue(stream);
    if (at < QUEUES_MAX) {
        queues.all[at].stream = stream;
        queues.all[at].agent = agent;
        queues.count += at == queues.count;
    }
    tsm_lock_give(&queues.lock);
}

void hsa_gpu_time_begin(hsa_queue_t *queue, const struct tsm_stream *stream, hsa_agent_t agent)
{
    if (!is_wanted())
        return;
    if (stream)
        add_queue(stream, agent);
    hsa_runtime.hsa_amd_profiling_set_profiler_enabled(queue, 1);
    hsa_runtime.hsa_amd_profiling_async_copy_enable(true);
}

uint64_t hsa_gpu_time_sent(void)
{
    return is_wanted() ? tsm_monotonic_ns() : 0;
}

/* Pairs both clocks. */
struct moment {
    uint64_t ticks, host_ns, error_ns;
};

static bool read_moment(struct moment *out)
{
    bool found = false;

    for (unsigned i = 0; i < CLOCK_TRIES; i++) {
        const uint64_t before = tsm_monotonic_ns();
        uint64_t ticks = 0, length;

        if (hsa_runtime.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks) !=
            HSA_STATUS_SUCCESS)
            return false;
        length = tsm_monotonic_ns() - before;
        if (found && (length + 1) / 2 >= out->error_ns)
            continue;
        *out = (struct moment){ticks, before + length / 2, (length + 1) / 2};
        found = true;
    }
    return found;
}

static uint64_t nanoseconds(uint64_t ticks, uint64_t frequency)
{
    return ticks / frequency * 1000000000u + ticks % frequency * 1000000000u / frequency;
}

/* Returns false if the runtime has no time there. */
static bool read_dispatch(hsa_agent_t agent, hsa_signal_t signal, uint64_t *start, uint64_t *end)
{
    hsa_amd_profiling_dispatch_time_t time = {0};

    if (!agent.handle ||
        hsa_runtime.hsa_amd_profiling_get_dispatch_time(agent, signal, &time) != HSA_STATUS_SUCCESS)
        return false;
    *start = time.start;
    *end = time.end;
    return true;
}

static bool read_copy(hsa_signal_t signal, uint64_t *start, uint64_t *end)
{
    hsa_amd_profiling_async_copy_time_t time = {0};

    if (hsa_runtime.hsa_amd_profiling_get_async_copy_time(signal, &time) != HSA_STATUS_SUCCESS)
        return false;
    *start = time.start;
    *end = time.end;
    return true;
}

/* From ticks of the runtime's clock. Returns false where they are none of a command sent at
 * `sent_ns`: the program has switched the times off, or another command's are still there. */
static bool convert(struct tsm_gpu_time *out, uint64_t start, uint64_t end, uint64_t sent_ns)
{
    const struct tsm_session *session = tsm_session_current();
    uint64_t frequency = 0, start_ns;
    struct moment now;

    if (!session || !start || end < start || !read_moment(&now) || end > now.ticks ||
        hsa_runtime.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency) !=
            HSA_STATUS_SUCCESS ||
        frequency < 1000 || frequency > 10000000000u)
        return false;
    start_ns = now.host_ns - nanoseconds(now.ticks - start, frequency);
    out->error_ns = now.error_ns + (1000000000u + frequency - 1) / frequency;
    out->start_ns = start_ns - session->start.monotonic_ns;
    out->duration_ns = nanoseconds(end - start, frequency);
    out->flags = SBT_GPU_TIME_CALIBRATED;
    return start_ns + out->error_ns >= sent_ns;
}

void hsa_gpu_time_end(const struct tsm_stream *stream, uint64_t position, hsa_signal_t signal,
                      bool is_copy, uint64_t sent_ns)
{
    struct tsm_gpu_time time = {.stream = tsm_stream_number(stream), .position = position};
    uint64_t start, end;

    if ((is_copy ? read_copy(signal, &start, &end)
                 : read_dispatch(agent_of(stream), signal, &start, &end)) &&
        convert(&time, start, end, sent_ns))
        tsm_gpu_time_write(&time);
}

/* ---- signals of ours ----------------------------------------------------------------------- */

/* The lock is held. Without consumers on the host a signal raises no interrupt. */
static bool make_room(void)
{
    if (ours.count < ours.created)
        return true;
    if (ours.created == OURS_MAX ||
        hsa_runtime.hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY,
                                          &ours.all[ours.created].signal) != HSA_STATUS_SUCCESS)
        return false;
    ours.created++;
    return true;
}

static bool is_to_be_timed(const void *packet)
{
    const hsa_kernel_dispatch_packet_t *dispatch = packet;

    return (dispatch->header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH &&
           !dispatch->completion_signal.handle && is_wanted();
}

hsa_signal_t hsa_gpu_time_signal(const struct tsm_stream *stream, const void *packet)
{
    hsa_signal_t signal = {0};

    if (!is_to_be_timed(packet))
        return signal;
    if (__atomic_load_n(&ours.count, __ATOMIC_RELAXED) >= OURS_MAX / 2)
        hsa_gpu_time_collect();
    tsm_lock_take(&ours.lock);
    if (make_room()) {
        struct dispatch *d = &ours.all[ours.count];
        signal = d->signal;
        hsa_runtime.hsa_signal_store_relaxed(signal, 1);
        *d = (struct dispatch){signal, stream, stream->position, tsm_monotonic_ns()};
        __atomic_store_n(&ours.count, ours.count + 1, __ATOMIC_RELEASE);
    }
    tsm_lock_give(&ours.lock);
    if (!signal.handle)
        tsm_session_unmodelled("TS_GPU_TIME: too many packets under way, some are not timed",
                               false);
    return signal;
}

/* The lock is held. Takes those out that are complete. */
static uint32_t take_complete(uint32_t *at, struct dispatch *out)
{
    uint32_t count = 0;

    while (*at < ours.count && count < AT_ONCE) {
        const struct dispatch found = ours.all[*at];

        if (hsa_runtime.hsa_signal_load_scacquire(found.signal) > 0) {
            ++*at;
            continue;
        }
        out[count++] = found;
        ours.all[*at] = ours.all[ours.count - 1];
        ours.all[ours.count - 1] = found;
        __atomic_store_n(&ours.count, ours.count - 1, __ATOMIC_RELEASE);
    }
    return count;
}

void hsa_gpu_time_collect(void)
{
    struct tsm_gpu_time times[AT_ONCE];
    struct dispatch done[AT_ONCE];
    uint32_t at = 0, count;

    if (!__atomic_load_n(&ours.count, __ATOMIC_ACQUIRE))
        return;
    do { /* the signals are read before others can use them */
        uint32_t known = 0;

        tsm_lock_take(&ours.lock);
        count = take_complete(&at, done);
        for (uint32_t i = 0; i < count; i++) {
            struct tsm_gpu_time *time = &times[known];
            uint64_t start, end;

            *time = (struct tsm_gpu_time){.stream = tsm_stream_number(done[i].stream),
                                          .position = done[i].position};
            known += read_dispatch(agent_of(done[i].stream), done[i].signal, &start, &end) &&
                     convert(time, start, end, done[i].sent_ns);
        }
        tsm_lock_give(&ours.lock);
        for (uint32_t i = 0; i < known; i++)
            tsm_gpu_time_write(&times[i]);
    } while (count == AT_ONCE);
}

void hsa_gpu_time_forget(void)
{
    memset(&ours, 0, sizeof(ours));
    memset(&queues, 0, sizeof(queues));
}
