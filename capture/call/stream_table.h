/* SPDX-License-Identifier: Apache-2.0
 *
 * All streams of a session, for stream.c and stream_life.c alone.
 */
#ifndef CAPTURE_CALL_STREAM_TABLE_H
#define CAPTURE_CALL_STREAM_TABLE_H

#include "capture/call/streams.h"
#include "capture/session.h"

#define STREAM_COUNT_MAX 65536u

struct tsm_streams {
    struct tsm_lock edge_lock;
    uint32_t count;
    bool functions;  /* some were sent and are not known to have run */
    uint32_t number; /* of the next one; under the edge lock, like what follows */
    uint32_t forgotten_count;
    struct tsm_stream *oldest_forgotten, *newest_forgotten;
    struct tsm_stream all[STREAM_COUNT_MAX];
};

/* Stream for commands without a session or room: harmless, never recorded as a stream. */
extern struct tsm_stream tsm_stream_nowhere;

/* Returns the streams of the session that this thread's call belongs to, or NULL. */
static inline struct tsm_streams *tsm_streams_current(void)
{
    struct tsm_session *s = tsm_session_of_call();

    return s ? s->streams : NULL;
}

/* Takes a stream that is destroyed, and that was sent commands up to `sent`, out of those that the
 * default stream waits for. Its commands still run, and the default stream waits for them. The edge lock is held. */
void tsm_stream_leave_legacy(struct tsm_stream *stream, uint64_t sent);

#endif
