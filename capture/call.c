/* SPDX-License-Identifier: Apache-2.0
 *
 * The call path: begin, stream, returned, commit. Rules of this file: no malloc, no system call
 * when nothing is wrong, nothing shared between threads but the stream's lock, errno preserved.
 *
 * Stores to the lane's header are what another thread (the drain thread) or, after a crash, another
 * process sees of a call in progress. x86 keeps stores in order; the signal fences keep the
 * compiler from moving them around the time stamps. The drain thread pays for the missing fence
 * here with membarrier().
 */
#include "capture/session.h"

#include "capture/streams.h"

#include <errno.h>
#include <string.h>

#define COMPILER_FENCE()      __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define PUBLISH(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

static uint8_t type_info(const struct tsm_session *s, uint32_t type)
{
    uint32_t api = SBT_TYPE_API(type), call = SBT_TYPE_CALL(type);

    return api < TSM_TYPE_API_COUNT && call < TSM_TYPE_CALL_COUNT
               ? s->types[api * TSM_TYPE_CALL_COUNT + call]
               : 0;
}

static bool is_destroy(uint8_t info)
{
    return (info & TSM_TYPE_KIND) == SBT_KIND_DESTROY;
}

/* A destroying call's place is its begin, so a floor is published for its whole duration. */
static uint64_t stamp_begin(struct tsm_lane *lane, uint8_t info)
{
    uint64_t begin;

    if (!is_destroy(info))
        return tsm_ticks();
    PUBLISH(lane->header->pending, TSM_PENDING_UNKNOWN);
    COMPILER_FENCE();
    __builtin_ia32_lfence(); /* not before the load that gave us what is to be destroyed */
    begin = tsm_lane_key(lane, tsm_ticks());
    COMPILER_FENCE();
    PUBLISH(lane->header->pending, begin);
    return begin;
}

static void init(struct tsm_call *call, struct tsm_lane *lane, uint32_t type)
{
    call->lane = lane;
    call->stream = NULL;
    call->position = 0;
    call->result = 0;
    call->type = type;
    call->stack = 0;
    call->flags = 0;
    call->slot_count = 0;
    call->stream_locked = false;
    call->keep = true;
    call->span_count = 0;
    call->data_size = 0;
}

/* Not ON: start the session, wait for the end of a checkpoint, or look whether recording starts.
 * Returns the state that this call is made in: ON and WAITING are those that record. */
static uint32_t begin_slowly(uint32_t state)
{
    bool looked = false;
    struct tsm_live *live;

    while (!tsm_thread.inside) {
        if (state == TSM_LIVE_NONE || state == TSM_LIVE_STARTING)
            state = tsm_session_start();
        live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);
        if (state == TSM_LIVE_HELD)
            tsm_futex_wait(&live->state, state, 0);
        else if (state == TSM_LIVE_WAITING && !looked)
            tsm_checkpoint_start(live->session);
        else
            return state;
        looked = looked || state == TSM_LIVE_WAITING;
        state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
    }
    return TSM_LIVE_OFF;
}

/* This thread's first call in the session. */
static struct tsm_lane *find_lane(struct tsm_session *s)
{
    int saved_errno = errno;
    struct tsm_lane *lane;

    tsm_thread.inside++;
    lane = tsm_thread_lane(s);
    tsm_thread.inside--;
    errno = saved_errno;
    return lane;
}

/* The state has changed since it was read: as if the call had not begun. Returns the new one. */
static uint32_t step_back(struct tsm_lane *lane, const struct tsm_live *live)
{
    __atomic_store_n(&lane->header->inside, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&lane->header->pending, 0, __ATOMIC_RELEASE);
    tsm_scratch_clear(lane);
    tsm_thread.inside = 0;
    return __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
}

bool tsm_call_begin(struct tsm_call *call, uint32_t type)
{
    const struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_RELAXED);
    uint32_t state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
    struct tsm_session *s;
    struct tsm_lane *lane;
    uint8_t info;

again:
    if (__builtin_expect(state != TSM_LIVE_ON, 0)) {
        int saved_errno = errno;
        state = begin_slowly(state);
        errno = saved_errno;
        if (state != TSM_LIVE_ON && state != TSM_LIVE_WAITING)
            return false;
        live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);
    }
    if (tsm_thread.inside)
        return false;
    s = live->session;
    lane = tsm_thread.session == s ? tsm_thread.lane : find_lane(s);
    info = type_info(s, type);
    if (!lane || (info & TSM_TYPE_OFF)) {
        if (lane)
            tsm_missing_add(&lane->header->filtered[TSM_FILTERED_API], SBT_STREAM_NONE,
                            tsm_ticks());
        return false;
    }
    tsm_thread.inside = 1;
    init(call, lane, type);
    call->keep = state == TSM_LIVE_ON || (info & TSM_TYPE_EARLY);
    if ((info & TSM_TYPE_STACK) && call->keep)
        call->stack =
            tsm_stack_capture(s, lane, __builtin_return_address(0), __builtin_dwarf_cfa());
    PUBLISH(lane->header->closing, 0);
    PUBLISH(lane->header->stream, SBT_STREAM_NONE);
    call->begin = stamp_begin(lane, info);
    PUBLISH(lane->header->since, call->begin);
    __atomic_store_n(&lane->header->inside, type, __ATOMIC_RELEASE);
    /* Whoever takes a checkpoint sets the state first and looks at `inside` then, with
     * membarrier() between: either it sees us here, or we see it there. */
    COMPILER_FENCE();
    if (__builtin_expect(__atomic_load_n(&live->state, __ATOMIC_RELAXED) != state, 0)) {
        state = step_back(lane, live);
        goto again;
    }
    return true;
}

void tsm_call_on_stream(struct tsm_call *call, struct tsm_stream *stream, enum tsm_stream_use use)
{
    struct tsm_lane_header *h = call->lane->header;

    if (!stream || !call->keep)
        return;
    call->stream = stream;
    tsm_lock_take(&stream->lock);
    call->position = tsm_stream_next(stream);
    if (use == TSM_ENQUEUES)
        call->stream_locked = true;
    else
        tsm_lock_give(&stream->lock);
    PUBLISH(h->position, call->position);
    PUBLISH(h->stream, stream->number);
    /* A destroying command (a stream-ordered free): its place among the stream's commands is here,
     * not before the wait for the lock. The floor stays at the older stamp. */
    if (__atomic_load_n(&h->pending, __ATOMIC_RELAXED) != 0) {
        COMPILER_FENCE();
        call->begin = tsm_ticks();
        if (call->begin <= stream->stamp)
            call->begin = stream->stamp + 1;
        call->begin = tsm_lane_key(call->lane, call->begin);
    }
}

/* See tsm_lane_key: a stream's calls get rising stamps. */
static void unlock_stream(struct tsm_call *call, bool key_is_end)
{
    struct tsm_stream *stream = call->stream;

    if (key_is_end && call->end <= stream->stamp)
        call->end = tsm_lane_key(call->lane, stream->stamp + 1);
    stream->stamp = call->end;
    call->stream_locked = false;
    tsm_lock_give(&stream->lock);
}

void tsm_call_returned(struct tsm_call *call, int64_t result, bool failed)
{
    struct tsm_lane_header *h = call->lane->header;
    bool floor_set = __atomic_load_n(&h->pending, __ATOMIC_RELAXED) != 0;

    if (!floor_set)
        PUBLISH(h->pending, TSM_PENDING_UNKNOWN);
    COMPILER_FENCE();
    call->end = tsm_ticks();
    COMPILER_FENCE();
    if (!floor_set) {
        call->end = tsm_lane_key(call->lane, call->end);
        PUBLISH(h->pending, call->end);
    }
    if (call->stream)
        tsm_stream_sent(call->stream, call->position);
    if (call->stream_locked)
        unlock_stream(call, !floor_set);
    call->result = result;
    if (failed)
        call->flags |= SBT_RECORD_FAILED;
}

/* ---- fields --------------------------------------------------------------------------------- */

void tsm_call_flag(struct tsm_call *call, uint32_t flags)
{
    call->flags |= flags;
}

void tsm_call_string(struct tsm_call *call, const char *text)
{
    tsm_call_slot(call, text ? tsm_intern_in(call->lane->session, text, strlen(text)) : 0);
}

#define SPAN_COUNT_MAX (sizeof(((struct tsm_call *)0)->spans) / sizeof(struct tsm_span))

static void add_span(struct tsm_call *call, const void *data, uint32_t size)
{
    if (call->span_count == SPAN_COUNT_MAX) {
        call->flags |= SBT_RECORD_TRUNCATED;
        tsm_call_slot(call, 0);
        return;
    }
    tsm_call_slot(call, (uint64_t)call->data_size << 32 | size);
    call->spans[call->span_count++] = (struct tsm_span){data, size, call->slot_count - 1};
    call->data_size += size;
}

void *tsm_call_scratch(struct tsm_call *call, size_t size)
{
    return tsm_scratch_take(call->lane, size);
}

void tsm_call_bytes(struct tsm_call *call, const void *data, size_t size)
{
    if (size > TSM_BYTES_MAX) {
        size = TSM_BYTES_MAX;
        call->flags |= SBT_RECORD_TRUNCATED;
    }
    add_span(call, data, data ? (uint32_t)size : 0);
}

void tsm_call_blob_box(struct tsm_call *call, const struct tsm_box *box)
{
    static const uint8_t empty[8];
    uint64_t encoded = SBT_BLOB_ENCODED_SIZE(tsm_box_size(box));
    struct tsm_lane *lane = call->lane;
    bool fits = encoded + call->data_size < lane->size / 4;
    uint8_t *out = fits && box->data && call->keep ? tsm_scratch_take(lane, encoded) : NULL;

    if (out && tsm_payload_store(lane, box, TSM_FETCH_DIRECT, true, out)) {
        add_span(call, out, (uint32_t)encoded);
        return;
    }
    if (call->keep && tsm_box_size(box) > 0)
        call->flags |= SBT_RECORD_TRUNCATED;
    add_span(call, empty, sizeof(empty));
}

void tsm_call_blob(struct tsm_call *call, const void *data, uint64_t size)
{
    struct tsm_box box = {data, size, 1, 1, size, size};

    tsm_call_blob_box(call, &box);
}

/* ---- the end -------------------------------------------------------------------------------- */

static void leave(struct tsm_call *call)
{
    struct tsm_lane *lane = call->lane;

    __atomic_store_n(&lane->header->inside, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&lane->header->pending, 0, __ATOMIC_RELEASE);
    lane->last_begin = call->begin;
    tsm_readback_committed(lane, call);
    tsm_scratch_clear(lane);
    tsm_thread.inside = 0;
}

static uint16_t entry_flags(uint8_t info)
{
    if (is_destroy(info))
        return TSM_ENTRY_AT_BEGIN;
    return (info & TSM_TYPE_KIND) == SBT_KIND_COMMAND ? TSM_ENTRY_COMMAND : 0;
}

static void write_entry(struct tsm_record_entry *e, const struct tsm_call *call, uint32_t size)
{
    uint64_t *slots = (uint64_t *)(void *)(e + 1);
    uint8_t *data = (uint8_t *)(slots + call->slot_count);

    e->entry = (struct tsm_entry){size, TSM_ENTRY_RECORD,
                                  entry_flags(type_info(call->lane->session, call->type))};
    e->begin = call->begin;
    e->end = call->end;
    e->type = call->type;
    e->thread = call->lane->thread;
    e->stream = call->stream ? call->stream->number : SBT_STREAM_NONE;
    e->stack = call->stack;
    e->position = call->position;
    e->result = call->result;
    e->flags = (uint16_t)call->flags;
    e->slot_count = (uint16_t)call->slot_count;
    e->data_size = call->data_size;
    for (uint32_t i = 0; i < call->slot_count; i++)
        slots[i] = call->slots[i];
    for (uint32_t i = 0; i < call->span_count; i++) {
        memcpy(data, call->spans[i].data, call->spans[i].size);
        data += call->spans[i].size;
    }
}

void tsm_call_commit(struct tsm_call *call)
{
    struct tsm_lane *lane = call->lane;
    struct tsm_lane_header *h = lane->header;
    uint32_t size = tsm_entry_round(sizeof(struct tsm_record_entry) + 8 * call->slot_count +
                                    (uint64_t)call->data_size);
    struct tsm_record_entry *e;

    if (!call->keep || (lane->session->filtering && !tsm_filter_keeps(lane, call))) {
        leave(call);
        return;
    }
    if (__builtin_expect(h->lost.count != h->lost_told, 0))
        tsm_note_lost(lane);
    e = tsm_lane_reserve(lane, size);
    if (e) {
        write_entry(e, call, size);
        PUBLISH(h->closing, lane->head + size);
        tsm_lane_publish(lane, size);
    } else {
        tsm_lane_lost(lane, call->stream ? call->stream->number : SBT_STREAM_NONE, call->end);
    }
    leave(call);
}

void tsm_call_drop(struct tsm_call *call)
{
    if (call->stream_locked) {
        call->stream_locked = false;
        tsm_lock_give(&call->stream->lock);
    }
    tsm_scratch_clear(call->lane);
    tsm_readback_committed(call->lane, NULL);
    __atomic_store_n(&call->lane->header->inside, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&call->lane->header->pending, 0, __ATOMIC_RELEASE);
    tsm_thread.inside = 0;
}
