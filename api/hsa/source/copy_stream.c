/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of copies. Nothing orders copies but signals, so a copy goes to the stream of its
 * completion signal, and one that waits to that of its thread: two recordings of a program have the
 * same streams. Beyond STREAM_MAX the streams are shared in turn.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/source/encode.h"

#include "capture/call/streams.h"
#include "capture/lock.h"

#include <string.h>

#define STREAM_MAX 64u

static struct {
    struct tsm_lock lock;
    uint32_t count, next;
    struct tsm_stream *all[STREAM_MAX];
    uint64_t expected[STREAM_MAX]; /* position of the last copy that was put there */
    uint64_t keys[STREAM_MAX];     /* whose it is: number of a signal, or address of a thread */
} streams;

static bool is_idle(uint32_t at)
{
    return __atomic_load_n(&streams.all[at]->completed, __ATOMIC_ACQUIRE) >= streams.expected[at];
}

static uint32_t find(uint64_t key)
{
    uint32_t at = 0;

    while (at < streams.count && streams.keys[at] != key)
        at++;
    return at;
}

/* Takes the next stream for a new key. */
static uint32_t assign(uint64_t key)
{
    uint32_t at = streams.next++ % STREAM_MAX;

    if (at == streams.count)
        streams.all[streams.count++] = tsm_stream_create(SBT_API_HSA);
    streams.keys[at] = key;
    return at;
}

static struct tsm_stream *take(uint32_t at)
{
    streams.expected[at] += !tsm_session_waiting(); /* then nothing takes a place there */
    return streams.all[at];
}

struct tsm_stream *hsa_copy_stream(hsa_signal_t completion)
{
    const uint64_t key = hsa_signal_id(completion);
    struct tsm_stream *stream;
    uint32_t at;

    tsm_lock_take(&streams.lock);
    at = find(key);
    stream = take(at < streams.count ? at : assign(key));
    tsm_lock_give(&streams.lock);
    return stream;
}

struct tsm_stream *hsa_waiting_copy_stream(void)
{
    static __thread char own __attribute__((tls_model("initial-exec")));
    const uint64_t key = (uint64_t)(uintptr_t)&own;
    struct tsm_stream *stream;
    uint32_t at, idle = 0;

    tsm_lock_take(&streams.lock);
    at = find(key);
    at = at < streams.count ? at : assign(key);
    while (!is_idle(at) && idle < streams.count)
        at = idle++; /* of another thread, which waits */
    stream = take(at);
    tsm_lock_give(&streams.lock);
    return stream;
}

bool hsa_copy_streams_idle(void)
{
    bool idle = true;

    tsm_lock_take(&streams.lock);
    for (uint32_t i = 0; i < streams.count && idle; i++)
        idle = is_idle(i);
    tsm_lock_give(&streams.lock);
    return idle;
}

void hsa_copy_streams_forked(void)
{
    memset(&streams, 0, sizeof(streams));
}
