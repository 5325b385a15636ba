/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast path of a call: begin, stream, returned, commit. All that is not needed for nearly every
 * call is in cold_path.c. Rules of both files: no malloc, no system call when nothing is wrong,
 * nothing shared between threads but the stream's lock, errno preserved.
 *
 * Its cost: a time stamp takes some 12 ns and hides whatever runs beside it, locked instructions
 * included, until the processor's store queue (64 entries on Zen 4) is full.
 * So what counts here is the number of stores: no saved registers on the way that nearly all calls
 * take, and fields go straight into the record, which is made at the lane's head.
 *
 * Stores to the lane's header are what another thread (the drain thread) or, after a crash, another
 * process sees of a call in progress. x86 keeps stores in order; the signal fences keep the
 * compiler from moving them around the time stamps. The drain thread pays for the missing fence
 * here with membarrier().
 */
#include "capture/call/path.h"
#include "capture/call/note.h"
#include "capture/call/payload.h"
#include "capture/call/place.h"

static inline __attribute__((always_inline)) bool
begin_on_fast_path(struct tsm_call *call, uint32_t type, const void *return_address, const void *sp)
{
    const struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_RELAXED);
    uint32_t state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
    uint8_t info;

    if (state == TSM_LIVE_OFF || state == TSM_LIVE_PAUSED || tsm_thread.inside)
        return false;
    if (tsm_thread.call) {
        tsm_note_left(call);
        return false;
    }
    if (UNLIKELY(state != TSM_LIVE_ON || tsm_thread.session != live->session))
        return tsm_cold_begin_first(call, type, return_address, sp);
    info = type_info(tsm_thread.session, type);
    if (info & (TSM_TYPE_OFF | TSM_TYPE_STACK | TSM_TYPE_NEW))
        return tsm_cold_begin_with_extras(call, type, return_address, sp);
    return open_record(call, tsm_thread.lane, type, info, 0, live, TSM_LIVE_ON) ||
           tsm_cold_begin_again(call);
}

bool tsm_call_begin(struct tsm_call *call, uint32_t type)
{
    return begin_on_fast_path(call, type, __builtin_return_address(0), __builtin_dwarf_cfa());
}

bool tsm_call_begin_at(struct tsm_call *call, uint32_t type, const struct tsm_origin *origin)
{
    return begin_on_fast_path(call, type, origin->return_address, origin->frame);
}

void tsm_call_on_stream(struct tsm_call *call, struct tsm_stream *stream, enum tsm_stream_use use)
{
    bool locked;

    if (!stream)
        return;
    locked = tsm_lock_try(&stream->lock);
    if (UNLIKELY(!locked || use != TSM_ENQUEUES || is_destroy(call->info) ||
                 (call->info & NOT_KEPT) || tsm_stream_is_joined(stream) ||
                 tsm_turn_is_taken(stream))) {
        tsm_call_on_stream_slowly(call, stream, use, locked);
        return;
    }
    take_place(call, stream);
    call->holds = HOLDS_LOCK;
}

/* See tsm_lane_key: a stream's calls get rising stamps. */
static inline void unlock_stream(struct tsm_call *call, struct tsm_record_entry *record)
{
    struct tsm_stream *stream = call->stream;

    if (UNLIKELY(record->end <= stream->stamp) && !is_at_begin(call))
        record->end = tsm_lane_key(call->lane, stream->stamp + 1);
    stream->stamp = record->end;
    tsm_lock_give(&stream->lock);
}

void tsm_call_returned(struct tsm_call *call, int64_t result, bool failed)
{
    struct tsm_lane_header *h = call->lane->header;
    struct tsm_record_entry *record = tsm_call_record(call);
    bool floor_set = is_at_begin(call);
    uint64_t end;

    record->result = result;
    if (failed)
        call->flags |= SBT_RECORD_FAILED;
    if (!floor_set)
        PUBLISH(h->pending, TSM_PENDING_UNKNOWN);
    COMPILER_FENCE();
    end = tsm_ticks();
    COMPILER_FENCE();
    if (!floor_set) {
        end = tsm_lane_key(call->lane, end);
        PUBLISH(h->pending, end);
    }
    record->end = end;
    if (!call->stream)
        return;
    tsm_stream_sent(call->stream, call->position);
    if (call->holds == HOLDS_LOCK)
        unlock_stream(call, record);
    else if (call->holds == HOLDS_TURN)
        tsm_turn_end(call->stream, call->position);
    call->holds = HOLDS_NOTHING;
}

static inline bool has_scratch(const struct tsm_lane *lane)
{
    const struct tsm_scratch *s = lane->scratch;

    return (s->used | s->large_count | s->deferred_count) != 0;
}

/* The record is where it stays, and nothing comes between. */
static inline bool goes_straight(const struct tsm_call *call, uint32_t size)
{
    const struct tsm_lane *lane = call->lane;
    const struct tsm_lane_header *h = lane->header;

    return !lane->session->filtering && h->lost.count == h->lost_told && !has_scratch(lane) &&
           is_in_place(call) && lane->head + size <= lane->limit && tsm_thread.call == call;
}

uint8_t *tsm_call_room(struct tsm_call *call, uint32_t slot_count, size_t size)
{
    uint64_t all = sizeof(struct tsm_record_entry) + 8ull * slot_count + size;

    return goes_straight(call, tsm_entry_round(all)) ? (uint8_t *)(call->slots + slot_count) : NULL;
}

void tsm_call_commit(struct tsm_call *call)
{
    struct tsm_lane *lane = call->lane;
    uint32_t size = entry_size(call);

    if (UNLIKELY(!goes_straight(call, size))) {
        tsm_cold_commit(call);
        return;
    }
    complete(tsm_call_record(call), call, size);
    if (call->span_count)
        tsm_call_write_spans((uint8_t *)(call->slots + call->slot_count), call);
    publish(lane, size);
    leave(lane);
    tsm_thread.call = NULL;
}
