/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes to a call that has begun: its place, its stamps, its flags.
 */
#include "capture/call/left.h"
#include "capture/call/path.h"
#include "capture/call/payload.h"
#include "capture/call/place.h"

void tsm_call_captured(struct tsm_call *call, struct tsm_stream *stream)
{
    call->info &= (uint8_t)~NOT_KEPT; /* also before the start: its graph is sent later */
    call->flags |= SBT_RECORD_CAPTURED;
    tsm_call_record(call)->stream = tsm_stream_number(stream);
}

void tsm_call_more_places(struct tsm_call *call, uint32_t count)
{
    if (call->stream && call->holds == HOLDS_LOCK)
        call->stream->position += count;
}

void tsm_call_restart(struct tsm_call *call)
{
    if (!is_destroy(call->info))
        tsm_call_record(call)->begin = tsm_ticks();
}

void tsm_call_since(struct tsm_call *call, uint64_t began)
{
    if (!is_destroy(call->info))
        tsm_call_record(call)->begin = began;
}

void tsm_call_takes_effect(void)
{
    struct tsm_call *call = tsm_thread.call;
    struct tsm_lane_header *h;
    uint64_t stamp;

    if (!call || tsm_left_is(call) || is_at_begin(call))
        return;
    h = call->lane->header;
    PUBLISH(h->pending, TSM_PENDING_UNKNOWN);
    COMPILER_FENCE();
    stamp = tsm_ticks();
    if (call->stream && stamp <= call->stream->stamp)
        stamp = call->stream->stamp + 1;
    stamp = tsm_lane_key(call->lane, stamp);
    COMPILER_FENCE();
    tsm_call_record(call)->begin = stamp;
    call->flags |= PLACED;
    PUBLISH(h->since, stamp);
    PUBLISH(h->pending, stamp);
}

void tsm_call_flag(struct tsm_call *call, uint32_t flags)
{
    call->flags |= flags;
}

void *tsm_call_scratch(struct tsm_call *call, size_t size)
{
    return tsm_scratch_take(call->lane, size);
}

bool tsm_call_other_api_in_use(const struct tsm_call *call, enum sbt_api api)
{
    return __atomic_load_n(&call->lane->session->apis_used, __ATOMIC_RELAXED) & ~(1u << api);
}

_Static_assert(sizeof(((struct tsm_lane *)0)->local) == TSM_LOCAL_SIZE, "tsm_call_local");

void *tsm_call_local(const struct tsm_call *call)
{
    return call->lane->local;
}
