/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps that the fast and the cold path of a call share. fast_path.c is what nearly all calls
 * take, cold_path.c what is left: the first call, a stack, a type's first record, a checkpoint, a
 * full lane. The fast path calls the cold one, never the other way round.
 */
#ifndef CAPTURE_CALL_PATH_H
#define CAPTURE_CALL_PATH_H

#include "capture/session.h"
#include "capture/call/payload.h"

#include "capture/call/streams.h"
#include "capture/call/place.h"

#include <string.h>

#define COMPILER_FENCE()      __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define PUBLISH(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define UNLIKELY(condition)   __builtin_expect((condition), 0)
#define SELDOM                __attribute__((noinline, cold))

/* In the info of a call that has begun: its record is not written, recording has not started yet.
 * Calls of an API that is OFF do not begin. */
#define NOT_KEPT TSM_TYPE_OFF

/* ---- the cold path (capture/call/cold_path.c) --------------------------------------------------
 */

/* Begins a call while the session is not ON, or the thread's first one in it. */
SELDOM bool tsm_cold_begin_first(struct tsm_call *call, uint32_t type, const void *return_address,
                                 const void *sp);
/* Begins a call again whose record is open, because the session is not ON any more. */
SELDOM bool tsm_cold_begin_again(struct tsm_call *call);
/* Begins a call whose type is left out, has a stack, or is the first of its API. */
__attribute__((noinline)) bool tsm_cold_begin_with_extras(struct tsm_call *call, uint32_t type,
                                                          const void *return_address,
                                                          const void *sp);
/* Ends a call with all that can come between: filters, payloads, readbacks, a full lane. */
__attribute__((noinline)) void tsm_cold_commit(struct tsm_call *call);

/* Copies the record of a call that has begun out of the lane, so that others can be written there
 * (capture/call/make_way.c). */
void tsm_record_make_way(struct tsm_call *call);

/* ---- begin --------------------------------------------------------------------------------------
 */

static inline uint8_t type_info(const struct tsm_session *s, uint32_t type)
{
    uint32_t api = SBT_TYPE_API(type), call = SBT_TYPE_CALL(type);

    return api < TSM_TYPE_API_COUNT && call < TSM_TYPE_CALL_COUNT
               ? __atomic_load_n(&s->types[api * TSM_TYPE_CALL_COUNT + call], __ATOMIC_RELAXED)
               : 0;
}

static inline bool is_destroy(uint8_t info)
{
    return (info & TSM_TYPE_KIND) == SBT_KIND_DESTROY;
}

/* In tsm_call.flags, beyond what is in the record: it has its place, see tsm_call_takes_effect().
 */
#define PLACED (1u << 16)

/* Its key is its begin stamp, which it has had since before the real function was called. */
static inline bool is_at_begin(const struct tsm_call *call)
{
    return is_destroy(call->info) || (call->flags & PLACED);
}

/* Has the state changed since the call began in it?
 *
 * A checkpoint needs every call that began before it to be over, and every other one to wait. Who
 * takes it stores HELD, has membarrier() order that in all threads, and then waits until `inside`
 * and `pending` are 0 in every lane. Here they were stored, and now the state is loaded. Either the
 * barrier came before this load: then it gives HELD, and the call steps back. Or after it: then
 * those stores are seen over there, and the call is waited for. The compiler must keep the order of
 * the two, the processor need not.
 *
 * When both are 0 again (a release, after everything else that a call stores), what the call did is
 * seen as well: its record, its place on the stream, and that the stream's lock is free, which is a
 * plain store, too. So no stream's lock is held at a checkpoint. Who sleeps for one is inside a
 * call: a wake-up that got lost makes that sleep, and so the checkpoint, a little longer, no more.
 */
static inline bool state_is_other(const struct tsm_live *live, uint32_t state)
{
    COMPILER_FENCE();
    return UNLIKELY(__atomic_load_n(&live->state, __ATOMIC_RELAXED) != state);
}

/* A destroying call's place is its begin, so a floor is published for its whole duration. */
static inline uint64_t stamp_destroy(struct tsm_lane *lane)
{
    uint64_t begin;

    __builtin_ia32_lfence(); /* not before the load that gave us what is to be destroyed */
    begin = tsm_lane_key(lane, tsm_ticks());
    COMPILER_FENCE();
    PUBLISH(lane->header->pending, begin);
    return begin;
}

/* A record without data of its own has room at the lane's head, nothing has to be looked at. */
#define RECORD_SIZE_MAX (sizeof(struct tsm_record_entry) + 8 * SBT_FIELD_COUNT_MAX)

static inline uint64_t *place_for_slots(const struct tsm_lane *lane, uint8_t info)
{
    if (UNLIKELY(lane->head + RECORD_SIZE_MAX > lane->limit) || UNLIKELY(info & NOT_KEPT))
        return lane->scratch->slots;
    return (uint64_t *)(void *)(lane->ring + (lane->head & (lane->size - 1)) +
                                sizeof(struct tsm_record_entry));
}

static inline bool is_in_place(const struct tsm_call *call)
{
    return call->slots != call->lane->scratch->slots;
}

/* Not what is there only after on_stream or returned, nor what commit fills in. */
static inline void init(struct tsm_call *call, struct tsm_lane *lane, uint32_t type, uint8_t info,
                        uint32_t stack)
{
    struct tsm_record_entry *record;

    call->lane = lane;
    call->slots = place_for_slots(lane, info);
    call->stream = NULL;
    call->position = 0;
    call->flags = 0;
    call->slot_count = 0;
    call->span_count = 0;
    call->data_size = 0;
    call->info = info;
    record = tsm_call_record(call);
    record->type = type;
    record->stream = SBT_STREAM_NONE;
    record->stack = stack;
}

/* Opens the record of a call and stamps it. False: the state is not `state` any more, step back. */
static inline bool open_record(struct tsm_call *call, struct tsm_lane *lane, uint32_t type,
                               uint8_t info, uint32_t stack, const struct tsm_live *live,
                               uint32_t state)
{
    struct tsm_lane_header *h = lane->header;
    uint64_t stamp;

    tsm_thread.call = call;
    init(call, lane, type, info, stack);
    PUBLISH(h->closing, 0);
    if (is_destroy(info)) {
        PUBLISH(h->pending, TSM_PENDING_UNKNOWN);
        /* Before the stamp: a whole checkpoint must not find its place between it and the call. */
        if (state_is_other(live, state))
            return false;
        stamp = stamp_destroy(lane);
    } else {
        stamp = tsm_ticks();
    }
    tsm_call_record(call)->begin = stamp;
    PUBLISH(h->since, stamp);
    __atomic_store_n(&h->inside, TSM_INSIDE(type, SBT_STREAM_NONE), __ATOMIC_RELEASE);
    return !state_is_other(live, state);
}

/* ---- on a stream
 * ---------------------------------------------------------------------------------- */

/* Holds of a call on its stream. */
enum { HOLDS_NOTHING, HOLDS_LOCK, HOLDS_TURN };

/* The stream's lock is held. */
static inline void take_place(struct tsm_call *call, struct tsm_stream *stream)
{
    struct tsm_lane_header *h = call->lane->header;
    struct tsm_record_entry *record = tsm_call_record(call);

    call->stream = stream;
    call->position = ++stream->position;
    PUBLISH(h->position, call->position);
    PUBLISH(h->inside, TSM_INSIDE(record->type, stream->number));
    record->stream = stream->number;
}

/* ---- fields
 * --------------------------------------------------------------------------------------- */

#define SPAN_COUNT_MAX (sizeof(((struct tsm_call *)0)->spans) / sizeof(struct tsm_span))

/* Something does not fit; of a call that is not kept, nothing is kept on purpose. */
static inline void cut(struct tsm_call *call)
{
    if (!(call->info & NOT_KEPT))
        call->flags |= SBT_RECORD_TRUNCATED;
}

/* `tagged`: behind a byte 0, a structured value's first one. */
static inline void add_span(struct tsm_call *call, const void *data, uint32_t size, bool tagged)
{
    if (!size && !tagged) {
        tsm_call_slot(call, (uint64_t)call->data_size << 32);
        return;
    }
    if (call->span_count == SPAN_COUNT_MAX) {
        cut(call);
        tsm_call_slot(call, 0);
        return;
    }
    tsm_call_slot(call, (uint64_t)call->data_size << 32 | (size + tagged));
    call->spans[call->span_count++] = (struct tsm_span){data, size, tagged};
    call->data_size += size + tagged;
}

/* ---- the end
 * -------------------------------------------------------------------------------------- */

static inline void leave(struct tsm_lane *lane)
{
    __atomic_store_n(&lane->header->inside, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&lane->header->pending, 0, __ATOMIC_RELEASE);
}

static inline uint32_t entry_flags(const struct tsm_call *call)
{
    uint32_t placed = call->flags & PLACED ? TSM_ENTRY_AT_BEGIN : 0;

    if (is_destroy(call->info))
        return TSM_ENTRY_AT_BEGIN;
    return placed | ((call->info & TSM_TYPE_KIND) == SBT_KIND_COMMAND ? TSM_ENTRY_COMMAND : 0);
}

static inline uint32_t entry_size(const struct tsm_call *call)
{
    return tsm_entry_round(sizeof(struct tsm_record_entry) + 8 * call->slot_count +
                           (uint64_t)call->data_size);
}

static inline uint64_t pair(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

/* Fills what the record lacks, in few stores: they are what a call costs beside its time stamps.
 */
static inline void complete(struct tsm_record_entry *record, const struct tsm_call *call,
                            uint32_t size)
{
    uint64_t *word = (uint64_t *)(void *)record;

    word[0] = pair(size, TSM_ENTRY_RECORD | entry_flags(call) << 16);
    record->thread = call->lane->thread;
    record->position = call->position;
    word[7] = pair((call->flags & 0xffff) | call->slot_count << 16, call->data_size);
}

_Static_assert(sizeof(struct tsm_record_entry) == 64, "record entry");
_Static_assert(offsetof(struct tsm_record_entry, flags) == 56, "record entry");

static inline void publish(struct tsm_lane *lane, uint32_t size)
{
    PUBLISH(lane->header->closing, lane->head + size);
    tsm_lane_publish(lane, size);
}

/* Copies the call's spans to `data`, behind its slots (capture/call/data.c). */
void tsm_call_write_spans(uint8_t *data, const struct tsm_call *call);

#endif
