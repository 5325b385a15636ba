/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that put a command on a stream and may then wait for the GPU. Their stream's lock cannot be
 * held meanwhile: what the GPU waits for may be another thread's call on that stream. But who calls
 * next must not reach the driver before them, or the recorded order is wrong.
 *
 * A call that waits for what its stream was given before is made short: the recorder waits for that
 * first, with no lock, and gives the call its place when nothing was sent meanwhile. To the program
 * it looks as if its thread were slower. Then such a call, like those that seldom wait at all, has
 * a turn: the others of the stream wait until it returns. It may still wait for one of them (a copy
 * that the driver must stage; work that came to another stream which the default stream joins). So
 * they wait for a limited time. When that is over the trace says that their order is not known.
 * docs/decisions/012-turns.md
 */
#include "capture/call/path.h"

#include "base/clock.h"
#include "capture/call/place.h"

#include <errno.h>

#define LOOK_NS   100000000u
#define TRIES_MAX 4u /* to find that nothing was sent while the stream was waited for */

/* Far more than a call on an idle stream takes, on a busy machine, too. */
uint64_t tsm_turn_limit_ns = 5000000000u;

static bool is_past(const struct tsm_turn *turn)
{
    return __atomic_load_n(&turn->past, __ATOMIC_ACQUIRE) >= turn->last;
}

static void set_past(struct tsm_turn *turn, uint64_t position)
{
    __atomic_store_n(&turn->past, position, __ATOMIC_RELEASE);
}

/* The holder may have left its call by a jump and never give the lock. Whoever has waited as long
 * as for a turn goes on as its new holder. If the old one does give it, two threads are inside at
 * once, which the taint covers. */
void tsm_stream_lock_wait(struct tsm_stream *stream)
{
    int saved_errno = errno;

    if (!tsm_lock_wait_until(&stream->lock, tsm_monotonic_ns() + tsm_turn_limit_ns))
        tsm_session_unmodelled(
            "order of two threads' calls on a stream, one of which does not return", true);
    errno = saved_errno;
}

static void take_lock(struct tsm_stream *stream)
{
    if (!tsm_lock_try(&stream->lock))
        tsm_stream_lock_wait(stream);
}

/* The lock is held before and after. */
static void give_up(struct tsm_stream *stream)
{
    set_past(&stream->turn, stream->turn.last);
    tsm_lock_give(&stream->lock);
    tsm_session_unmodelled(
        "order of two threads' calls on a stream, one of which waits for the GPU", true);
    take_lock(stream);
}

/* A call that begins meanwhile is waited for as long. */
void tsm_turn_await(struct tsm_stream *stream)
{
    struct tsm_turn *turn = &stream->turn;
    uint64_t last = 0, end_ns = 0;
    int saved_errno = errno;

    while (tsm_turn_is_taken(stream) && !is_past(turn)) {
        uint32_t word = __atomic_load_n(&turn->word, __ATOMIC_ACQUIRE);
        uint64_t now = tsm_monotonic_ns();

        if (last != turn->last)
            end_ns = now + tsm_turn_limit_ns;
        last = turn->last;
        if (now >= end_ns) {
            give_up(stream);
            continue;
        }
        __atomic_add_fetch(&turn->waiters, 1, __ATOMIC_SEQ_CST);
        tsm_lock_give(&stream->lock);
        if (tsm_turn_is_taken(stream))
            tsm_futex_wait(&turn->word, word, LOOK_NS);
        take_lock(stream);
        __atomic_sub_fetch(&turn->waiters, 1, __ATOMIC_SEQ_CST);
    }
    errno = saved_errno;
}

void tsm_turn_begin(struct tsm_stream *stream, uint64_t position)
{
    struct tsm_turn *turn = &stream->turn;

    __atomic_store_n(&turn->last, position, __ATOMIC_RELEASE);
    __atomic_add_fetch(&turn->count, 1, __ATOMIC_RELEASE);
}

/* Earlier calls were waited for when this one began. */
void tsm_turn_end(struct tsm_stream *stream, uint64_t position)
{
    struct tsm_turn *turn = &stream->turn;

    if (__atomic_load_n(&turn->last, __ATOMIC_ACQUIRE) == position)
        set_past(turn, position);
    __atomic_sub_fetch(&turn->count, 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&turn->word, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&turn->waiters, __ATOMIC_SEQ_CST))
        tsm_futex_wake(&turn->word, 64);
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

void tsm_call_on_synchronized_stream(struct tsm_call *call, struct tsm_stream *stream,
                                     void (*settle)(void *user), void *user)
{
    uint64_t known;

    take_lock(stream);
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        known = stream->position;
        tsm_lock_give(&stream->lock);
        settle(user);
        take_lock(stream);
        if (tsm_turn_is_taken(stream))
            tsm_turn_await(stream);
        if (stream->position == known)
            break;
    }
    tsm_call_on_stream_slowly(call, stream, TSM_SENDS_AND_BLOCKS, true);
}
