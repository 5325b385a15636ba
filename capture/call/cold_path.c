/* SPDX-License-Identifier: Apache-2.0
 *
 * The cold path of a call: what fast_path.c leaves to be done when something is unusual. The rules
 * there hold here, too, but that a call may wait here for the start of the session, the end of a
 * checkpoint, or a lane.
 */
#include "base/own_stack.h"
#include "capture/call/left.h"
#include "capture/call/path.h"
#include "capture/call/checkpoint.h"
#include "capture/call/filter.h"
#include "capture/call/note.h"
#include "capture/call/payload.h"
#include "capture/call/place.h"
#include "capture/call/readbacks.h"
#include "capture/call/stack.h"
#include "capture/lane/drain_thread.h"

#include <errno.h>

/* ---- begin --------------------------------------------------------------------------------------
 */

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

/* Origin of a call: the place that its stack is taken from, or that stack. */
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
static inline enum outcome open_with_extras(struct tsm_call *call, uint32_t type,
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
    return open_record(call, lane, type, info, stack, live, state) ? BEGUN : TOO_LATE;
}

/* Undoes the begin of a call, of which nothing was published. */
static void step_back(struct tsm_call *call)
{
    struct tsm_lane_header *h = call->lane->header;

    __atomic_store_n(&h->inside, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&h->pending, 0, __ATOMIC_RELEASE);
    tsm_thread.call = NULL;
}

static SELDOM bool begin_when_allowed(struct tsm_call *call, uint32_t type,
                                      const struct origin *origin)
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
        outcome = lane ? open_with_extras(call, type, origin, lane, live, state) : REFUSED;
        if (outcome != TOO_LATE)
            return outcome == BEGUN;
        step_back(call);
    }
}

struct beginning {
    struct tsm_call *call;
    uint32_t type;
    struct origin origin;
    bool begun;
};

static void begin_on_own_stack(void *argument)
{
    struct beginning *b = argument;

    b->begun = begin_when_allowed(b->call, b->type, &b->origin);
}

/* The session is not on, or this is the thread's first call in it. */
SELDOM bool tsm_cold_begin_first(struct tsm_call *call, uint32_t type, const void *return_address,
                                 const void *sp)
{
    struct beginning b = {call, type, {return_address, sp, 0}, false};

    tsm_own_stack_run(begin_on_own_stack, &b);
    return b.begun;
}

/* ON no longer. Its stack was taken: nobody has to keep `sp` for us. */
SELDOM bool tsm_cold_begin_again(struct tsm_call *call)
{
    const struct tsm_record_entry *record = tsm_call_record(call);
    const struct origin origin = {NULL, NULL, record->stack};
    uint32_t type = record->type;

    step_back(call);
    return begin_when_allowed(call, type, &origin);
}

__attribute__((noinline)) bool tsm_cold_begin_with_extras(struct tsm_call *call, uint32_t type,
                                                          const void *return_address,
                                                          const void *sp)
{
    const struct origin origin = {return_address, sp, 0};
    enum outcome outcome =
        open_with_extras(call, type, &origin, tsm_thread.lane,
                         __atomic_load_n(&tsm_live, __ATOMIC_RELAXED), TSM_LIVE_ON);

    return UNLIKELY(outcome == TOO_LATE) ? tsm_cold_begin_again(call) : outcome == BEGUN;
}

/* ---- the end
 * -------------------------------------------------------------------------------------- */

/* NULL: lost. */
static struct tsm_record_entry *find_room(struct tsm_call *call, uint32_t size)
{
    struct tsm_lane *lane = call->lane;
    struct tsm_record_entry *record;

    if (is_in_place(call) && lane->head + size <= lane->limit)
        return tsm_call_record(call);
    tsm_record_make_way(call);
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
        tsm_call_write_spans((uint8_t *)(record + 1) + 8 * (size_t)call->slot_count, call);
        publish(lane, size);
    } else {
        tsm_lane_lost(lane, tsm_stream_number(call->stream), tsm_call_record(call)->end);
    }
}

/* Returns true, and counts `call` as lost, if its record was overwritten: it ends, but was taken to
 * be left by mistake. A coroutine, which has another stack, went on with it. */
static bool is_overwritten(const struct tsm_call *call)
{
    if (!is_in_place(call) || !tsm_left_overwritten())
        return false;
    tsm_lane_lost(call->lane, tsm_stream_number(call->stream), tsm_ticks());
    return true;
}

/* With all that can come between. A call that is not kept comes here, too: it is never in place. */
__attribute__((noinline)) void tsm_cold_commit(struct tsm_call *call)
{
    struct tsm_lane *lane = call->lane;
    bool kept = !(call->info & NOT_KEPT) && !is_overwritten(call);

    if (kept && (!lane->session->filtering || tsm_filter_keeps(lane, call)))
        write_record(call);
    leave(lane);
    tsm_readback_committed(lane, kept ? call : NULL);
    tsm_scratch_clear(lane);
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
