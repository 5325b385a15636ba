/* SPDX-License-Identifier: Apache-2.0
 *
 * The call path: begin, stream, returned, commit. Rules of this file: no malloc, no system call
 * when nothing is wrong, nothing shared between threads but the stream's lock, errno preserved.
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
#include "capture/session.h"

#include "capture/call/streams.h"

#include <errno.h>
#include <string.h>

#define COMPILER_FENCE()      __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define PUBLISH(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define UNLIKELY(condition)   __builtin_expect((condition), 0)
#define SELDOM                __attribute__((noinline, cold))

/* In the info of a call that has begun: its record is not written, recording has not started yet.
 * Calls of an API that is OFF do not begin. */
#define NOT_KEPT TSM_TYPE_OFF

static uint8_t type_info(const struct tsm_session *s, uint32_t type)
{
    uint32_t api = SBT_TYPE_API(type), call = SBT_TYPE_CALL(type);

    return api < TSM_TYPE_API_COUNT && call < TSM_TYPE_CALL_COUNT
               ? __atomic_load_n(&s->types[api * TSM_TYPE_CALL_COUNT + call], __ATOMIC_RELAXED)
               : 0;
}

static bool is_destroy(uint8_t info)
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
static uint64_t stamp_destroy(struct tsm_lane *lane)
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

_Static_assert(offsetof(struct tsm_scratch, slots) ==
                   offsetof(struct tsm_scratch, record) + sizeof(struct tsm_record_entry),
               "a record and its slots");

static void make_way(struct tsm_call *call)
{
    struct tsm_scratch *scratch = call->lane->scratch;

    if (!is_in_place(call))
        return;
    memcpy(&scratch->record, tsm_call_record(call), sizeof(scratch->record));
    memcpy(scratch->slots, call->slots, 8 * (size_t)call->slot_count);
    call->slots = scratch->slots;
}

void tsm_call_make_way(const struct tsm_lane *lane)
{
    if (tsm_thread.call && tsm_thread.call->lane == lane)
        make_way(tsm_thread.call);
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

/* Not ON: start the session, wait for the end of a checkpoint, or look whether recording starts.
 * Returns the state that this call is made in: ON and WAITING are those in which calls begin. */
static uint32_t state_to_begin_in(uint32_t state)
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

/* False: the state is not `state` any more, step back. */
static inline bool begin(struct tsm_call *call, struct tsm_lane *lane, uint32_t type, uint8_t info,
                         uint32_t stack, const struct tsm_live *live, uint32_t state)
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

/* This thread's lane in the session that is live. */
static struct tsm_lane *find_lane(const struct tsm_live *live)
{
    int saved_errno = errno;
    struct tsm_lane *lane;

    tsm_inside_enter();
    lane = tsm_thread_lane(live->session);
    tsm_inside_leave();
    errno = saved_errno;
    return lane;
}

/* Where a call comes from, for its stack, or that stack. */
struct origin {
    const void *return_address, *sp; /* sp NULL: the stack is known, if there is to be one */
    uint32_t stack;
};

enum outcome {
    REFUSED, /* not to be recorded */
    BEGUN,
    TOO_LATE, /* the state has changed */
};

/* With all that a type can ask for. */
static inline enum outcome begin_with(struct tsm_call *call, uint32_t type,
                                      const struct origin *origin, struct tsm_lane *lane,
                                      const struct tsm_live *live, uint32_t state)
{
    uint8_t info = type_info(lane->session, type);
    uint32_t stack = origin->stack;

    if (info & TSM_TYPE_OFF) {
        tsm_missing_add(&lane->header->filtered[TSM_FILTERED_API], SBT_STREAM_NONE, tsm_ticks());
        return REFUSED;
    }
    if (info & TSM_TYPE_NEW)
        tsm_api_used(lane->session, SBT_TYPE_API(type));
    if (state != TSM_LIVE_ON && !(info & TSM_TYPE_EARLY))
        info |= NOT_KEPT;
    if ((info & (TSM_TYPE_STACK | NOT_KEPT)) == TSM_TYPE_STACK && origin->sp)
        stack = tsm_stack_capture(lane->session, lane, origin->return_address, origin->sp);
    return begin(call, lane, type, info, stack, live, state) ? BEGUN : TOO_LATE;
}

/* As if the call had not begun: nothing was published of it. */
static void step_back(struct tsm_call *call)
{
    struct tsm_lane_header *h = call->lane->header;

    __atomic_store_n(&h->inside, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&h->pending, 0, __ATOMIC_RELEASE);
    tsm_thread.call = NULL;
}

static SELDOM bool begin_slowly(struct tsm_call *call, uint32_t type, const struct origin *origin)
{
    for (;;) {
        const struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_RELAXED);
        uint32_t state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
        int saved_errno = errno;
        enum outcome outcome;
        struct tsm_lane *lane;

        if (state != TSM_LIVE_ON)
            state = state_to_begin_in(state);
        errno = saved_errno;
        if (state != TSM_LIVE_ON && state != TSM_LIVE_WAITING)
            return false;
        live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);
        lane = find_lane(live);
        outcome = lane ? begin_with(call, type, origin, lane, live, state) : REFUSED;
        if (outcome != TOO_LATE)
            return outcome == BEGUN;
        step_back(call);
    }
}

/* The session is not on, or this is the thread's first call in it. */
static SELDOM bool begin_first(struct tsm_call *call, uint32_t type, const void *return_address,
                               const void *sp)
{
    return begin_slowly(call, type, &(struct origin){return_address, sp, 0});
}

/* ON no longer. Its stack was taken: nobody has to keep `sp` for us. */
static SELDOM bool begin_again(struct tsm_call *call)
{
    const struct tsm_record_entry *record = tsm_call_record(call);
    const struct origin origin = {NULL, NULL, record->stack};
    uint32_t type = record->type;

    step_back(call);
    return begin_slowly(call, type, &origin);
}

static __attribute__((noinline)) bool begin_fully(struct tsm_call *call, uint32_t type,
                                                  const void *return_address, const void *sp)
{
    const struct origin origin = {return_address, sp, 0};
    enum outcome outcome = begin_with(call, type, &origin, tsm_thread.lane,
                                      __atomic_load_n(&tsm_live, __ATOMIC_RELAXED), TSM_LIVE_ON);

    return UNLIKELY(outcome == TOO_LATE) ? begin_again(call) : outcome == BEGUN;
}

static inline __attribute__((always_inline)) bool
begin_from(struct tsm_call *call, uint32_t type, const void *return_address, const void *sp)
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
        return begin_first(call, type, return_address, sp);
    info = type_info(tsm_thread.session, type);
    if (info & (TSM_TYPE_OFF | TSM_TYPE_STACK | TSM_TYPE_NEW))
        return begin_fully(call, type, return_address, sp);
    return begin(call, tsm_thread.lane, type, info, 0, live, TSM_LIVE_ON) || begin_again(call);
}

bool tsm_call_begin(struct tsm_call *call, uint32_t type)
{
    return begin_from(call, type, __builtin_return_address(0), __builtin_dwarf_cfa());
}

bool tsm_call_begin_at(struct tsm_call *call, uint32_t type, const struct tsm_origin *origin)
{
    return begin_from(call, type, origin->return_address, origin->frame);
}

/* What a call holds of its stream. */
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

SELDOM void tsm_call_on_stream_slowly(struct tsm_call *call, struct tsm_stream *stream,
                                      enum tsm_stream_use use, bool locked)
{
    if (call->info & NOT_KEPT) { /* takes no place */
        if (locked)
            tsm_lock_give(&stream->lock);
        return;
    }
    if (!locked)
        tsm_stream_lock_wait(stream);
    if (tsm_stream_is_joined(stream))
        tsm_stream_join(stream);
    if (tsm_turn_is_taken(stream))
        tsm_turn_await(stream);
    take_place(call, stream);
    call->holds = use == TSM_ENQUEUES           ? HOLDS_LOCK
                  : use == TSM_SENDS_AND_BLOCKS ? HOLDS_TURN
                                                : HOLDS_NOTHING;
    if (use == TSM_SENDS_AND_BLOCKS)
        tsm_turn_begin(stream, call->position);
    if (use != TSM_ENQUEUES)
        tsm_lock_give(&stream->lock);
    /* A destroying command (a stream-ordered free): its place among the stream's commands is here,
     * not before the wait for the lock. The floor stays at the older stamp. */
    if (is_destroy(call->info)) {
        uint64_t stamp;
        COMPILER_FENCE();
        stamp = tsm_ticks();
        if (stamp <= stream->stamp)
            stamp = stream->stamp + 1;
        tsm_call_record(call)->begin = tsm_lane_key(call->lane, stamp);
    }
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

void tsm_call_captured(struct tsm_call *call, struct tsm_stream *stream)
{
    call->flags |= SBT_RECORD_CAPTURED;
    tsm_call_record(call)->stream = tsm_stream_number(stream);
}

void tsm_call_more_places(struct tsm_call *call, uint32_t count)
{
    if (call->stream && call->holds == HOLDS_LOCK)
        call->stream->position += count;
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

    if (!call || is_at_begin(call))
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

/* Something does not fit; of a call that is not kept, nothing is kept on purpose. */
static void cut(struct tsm_call *call)
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

void tsm_call_bytes(struct tsm_call *call, const void *data, size_t size)
{
    if (size > TSM_BYTES_MAX) {
        size = TSM_BYTES_MAX;
        cut(call);
    }
    add_span(call, data, data ? (uint32_t)size : 0, false);
}

/* A reference to the box's bytes, which are stored now, behind `before` bytes of the caller's;
 * NULL: it cannot be had. */
static uint8_t *store(struct tsm_call *call, const struct tsm_box *box, uint32_t before,
                      uint32_t *size)
{
    uint64_t encoded = before + SBT_BLOB_ENCODED_SIZE(tsm_box_size(box));
    struct tsm_lane *lane = call->lane;
    bool fits = !(call->info & NOT_KEPT) && encoded + call->data_size < lane->size / 4;
    uint8_t *out = fits && box->data ? tsm_scratch_take(lane, encoded) : NULL;

    *size = (uint32_t)encoded;
    return out && tsm_payload_store(lane, box, TSM_FETCH_DIRECT, out + before) ? out : NULL;
}

void tsm_call_blob_box(struct tsm_call *call, const struct tsm_box *box)
{
    static const uint8_t empty[8];
    uint32_t size;
    const uint8_t *reference = store(call, box, 0, &size);

    if (reference) {
        add_span(call, reference, size, false);
        return;
    }
    if (tsm_box_size(box) > 0)
        cut(call);
    add_span(call, empty, sizeof(empty), false);
}

/* By reference. */
static __attribute__((noinline, cold)) void put_large_struct(struct tsm_call *call,
                                                             const void *value, size_t size)
{
    struct tsm_box box = {value, size, 1, 1, size, size};
    uint8_t *reference = NULL;
    uint32_t encoded;

    if (size <= SBT_VALUE_MAX)
        reference = store(call, &box, 1, &encoded);
    if (reference) {
        reference[0] = 1;
        add_span(call, reference, encoded, false);
        return;
    }
    cut(call);
    tsm_call_slot(call, 0);
}

void tsm_call_struct(struct tsm_call *call, const void *value, size_t size)
{
    if (!value)
        tsm_call_slot(call, 0);
    else if (size <= TSM_BYTES_MAX)
        add_span(call, value, (uint32_t)size, true);
    else
        put_large_struct(call, value, size);
}

void tsm_call_blob(struct tsm_call *call, const void *data, uint64_t size)
{
    struct tsm_box box = {data, size, 1, 1, size, size};

    tsm_call_blob_box(call, &box);
}

/* ---- the end -------------------------------------------------------------------------------- */

static inline bool has_scratch(const struct tsm_lane *lane)
{
    const struct tsm_scratch *s = lane->scratch;

    return (s->used | s->large_count | s->deferred_count) != 0;
}

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

/* What is not in the record yet, in few stores: they are what a call costs beside its time stamps.
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

/* Most spans are a few bytes: two overlapping words hold them, and cost less than a call. */
static inline void copy_span(uint8_t *out, const uint8_t *in, uint32_t size)
{
    if (UNLIKELY(size > 16)) {
        memcpy(out, in, size);
    } else if (size >= 8) {
        uint64_t first, last;
        memcpy(&first, in, 8);
        memcpy(&last, in + size - 8, 8);
        memcpy(out, &first, 8);
        memcpy(out + size - 8, &last, 8);
    } else if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, in, 4);
        memcpy(&last, in + size - 4, 4);
        memcpy(out, &first, 4);
        memcpy(out + size - 4, &last, 4);
    } else if (size) {
        out[0] = in[0];
        out[size / 2] = in[size / 2];
        out[size - 1] = in[size - 1];
    }
}

/* A span of 0 bytes: the program may have left the argument out. */
static void write_spans(uint8_t *data, const struct tsm_call *call)
{
    for (uint32_t i = 0; i < call->span_count; i++) {
        if (call->spans[i].tagged)
            *data++ = 0;
        copy_span(data, call->spans[i].data, call->spans[i].size);
        data += call->spans[i].size;
    }
}

/* NULL: lost. */
static struct tsm_record_entry *find_room(struct tsm_call *call, uint32_t size)
{
    struct tsm_lane *lane = call->lane;
    struct tsm_record_entry *record;

    if (is_in_place(call) && lane->head + size <= lane->limit)
        return tsm_call_record(call);
    make_way(call);
    record = tsm_lane_reserve(lane, size);
    if (record)
        memcpy(record, tsm_call_record(call), sizeof(*record) + 8 * (size_t)call->slot_count);
    return record;
}

static void write_record(struct tsm_call *call)
{
    struct tsm_lane *lane = call->lane;
    uint32_t size = entry_size(call);
    struct tsm_record_entry *record;

    if (lane->header->lost.count != lane->header->lost_told)
        tsm_note_lost(lane);
    record = find_room(call, size);
    if (record) {
        complete(record, call, size);
        write_spans((uint8_t *)(record + 1) + 8 * (size_t)call->slot_count, call);
        publish(lane, size);
    } else {
        tsm_lane_lost(lane, tsm_stream_number(call->stream), tsm_call_record(call)->end);
    }
}

/* With all that can come between. A call that is not kept comes here, too: it is never in place. */
static __attribute__((noinline)) void commit_fully(struct tsm_call *call)
{
    struct tsm_lane *lane = call->lane;
    bool kept = !(call->info & NOT_KEPT);

    if (kept && (!lane->session->filtering || tsm_filter_keeps(lane, call)))
        write_record(call);
    leave(lane);
    tsm_readback_committed(lane, kept ? call : NULL);
    tsm_scratch_clear(lane);
    tsm_thread.call = NULL;
}

/* The record is where it stays, and nothing comes between. */
static inline bool goes_straight(const struct tsm_call *call, uint32_t size)
{
    const struct tsm_lane *lane = call->lane;
    const struct tsm_lane_header *h = lane->header;

    return !lane->session->filtering && h->lost.count == h->lost_told && !has_scratch(lane) &&
           is_in_place(call) && lane->head + size <= lane->limit;
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
        commit_fully(call);
        return;
    }
    complete(tsm_call_record(call), call, size);
    if (call->span_count)
        write_spans((uint8_t *)(call->slots + call->slot_count), call);
    publish(lane, size);
    leave(lane);
    tsm_thread.call = NULL;
}

void tsm_call_drop(struct tsm_call *call)
{
    struct tsm_lane *lane = call->lane;

    if (call->stream && call->holds == HOLDS_LOCK)
        tsm_lock_give(&call->stream->lock);
    else if (call->stream && call->holds == HOLDS_TURN)
        tsm_turn_end(call->stream, call->position);
    tsm_scratch_clear(lane);
    tsm_readback_committed(lane, NULL);
    leave(lane);
    tsm_thread.call = NULL;
}
