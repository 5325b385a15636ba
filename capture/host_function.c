/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the program that the GPU calls in a stream's order. They run after the call that
 * sent them, often on a thread of the driver, and may write memory that commands behind them read:
 * their writes are recorded where they happen, and a payload that they may still change is left to
 * them.
 */
#include "capture/session.h"

#include "capture/streams.h"

void tsm_function_sent(const struct tsm_call *call)
{
    if (call->stream)
        tsm_stream_function_sent(call->stream, call->position);
}

static bool is_late(const struct tsm_call *call, const struct tsm_box *box)
{
    struct tsm_session *s = call->lane->session;
    uint64_t start = (uint64_t)(uintptr_t)box->data;

    return tsm_box_size(box) > 0 && tsm_streams_await_functions(s->streams) &&
           tsm_hostmem_holds(s, start, tsm_box_extent(box));
}

void tsm_call_payload_box(struct tsm_call *call, const struct tsm_box *box)
{
    static const struct tsm_box nothing;
    bool captured = (call->flags & SBT_RECORD_CAPTURED) != 0;
    bool late = !captured && is_late(call, box);

    if (late)
        call->flags |= SBT_RECORD_LATE;
    tsm_call_blob_box(call, late || captured ? &nothing : box);
}

void tsm_call_payload(struct tsm_call *call, const void *data, uint64_t size)
{
    struct tsm_box box = {data, size, 1, 1, size, size};

    tsm_call_payload_box(call, &box);
}
