/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of copies. Nothing orders copies but signals, so each is put on a stream on which
 * everything is known to be complete; only where there are more copies under way than STREAM_MAX,
 * streams are shared.
 */
#include "api/hsa/source/source.h"

#include "capture/call/streams.h"
#include "capture/lock.h"

#include <string.h>

#define STREAM_MAX 64u

static struct {
    struct tsm_lock lock;
    uint32_t count, next;
    struct tsm_stream *all[STREAM_MAX];
    uint64_t expected[STREAM_MAX]; /* position of the last copy that was put there */
} streams;

static bool is_idle(uint32_t at)
{
    return __atomic_load_n(&streams.all[at]->completed, __ATOMIC_ACQUIRE) >= streams.expected[at];
}

static uint32_t choose(void)
{
    for (uint32_t i = 0; i < streams.count; i++)
        if (is_idle(i))
            return i;
    if (streams.count < STREAM_MAX) {
        streams.all[streams.count] = tsm_stream_create(SBT_API_HSA);
        return streams.count++;
    }
    return streams.next++ % STREAM_MAX;
}

struct tsm_stream *hsa_copy_stream(void)
{
    struct tsm_stream *stream;
    uint32_t at;

    tsm_lock_take(&streams.lock);
    at = choose();
    stream = streams.all[at];
    streams.expected[at] += !tsm_session_waiting(); /* then nothing takes a place there */
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
