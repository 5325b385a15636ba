/* SPDX-License-Identifier: Apache-2.0
 *
 * The producer's side of a lane. The fast path of reserve is one comparison: `limit` is the nearest
 * of the places where something else has to be thought of (the ring's end, memory that was never
 * touched, the consumer's tail, the point at which to nudge the drain thread).
 */
#include "capture/lane/lane.h"

#include "capture/session.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define POPULATE_STEP 65536u
#define WAIT_NS       1000000000u

void tsm_lane_init(struct tsm_lane *lane, struct tsm_session *session, uint32_t index, void *memory,
                   uint64_t size)
{
    lane->header = memory;
    lane->ring = (uint8_t *)memory + TSM_LANE_HEADER_SIZE;
    lane->size = size;
    lane->session = session;
    lane->index = index;
    lane->wake_at = size / 2;
}

void tsm_lane_lost(struct tsm_lane *lane, uint32_t stream, uint64_t ticks)
{
    tsm_missing_add(&lane->header->lost, stream, ticks);
}

/* A store to a hole of a file on a full disk raises SIGBUS; asking for the memory first gives an
 * error instead. Where the kernel cannot be asked (before 5.14) the store has to be risked. */
static bool populate(struct tsm_lane *lane, uint64_t until)
{
    uint64_t from = lane->populated;
    uint64_t to = (until + POPULATE_STEP - 1) & ~(uint64_t)(POPULATE_STEP - 1);
    int saved_errno = errno;
    bool ok;

    if (to > lane->size)
        to = lane->size;
    ok = madvise(lane->ring + from, to - from, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
    errno = saved_errno;
    if (ok)
        lane->populated = to;
    return ok;
}

/* The drain thread is gone: only when the program ended it, by exec of another thread or by hand.
 */
static bool drain_is_gone(struct tsm_session *session)
{
    int saved_errno = errno;
    bool gone = syscall(SYS_tgkill, session->pid, session->drain_thread, 0) != 0 && errno == ESRCH;

    errno = saved_errno;
    return gone;
}

static bool failed(const struct tsm_session *session)
{
    return __atomic_load_n(&session->drain_state, __ATOMIC_ACQUIRE) != TSM_DRAIN_RUNNING;
}

/* Until the consumer's tail has reached `tail`. */
static bool wait_for_space(struct tsm_lane *lane, uint64_t tail)
{
    struct tsm_session *session = lane->session;

    while (!failed(session)) {
        uint32_t seen = __atomic_load_n(&lane->space_signal, __ATOMIC_ACQUIRE);

        __atomic_store_n(&lane->waiting, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&lane->header->tail, __ATOMIC_SEQ_CST) >= tail)
            return true;
        if (session->settings.full == TSM_FULL_DROP && lane->index != 0)
            return false;
        tsm_session_nudge(session);
        tsm_futex_wait(&lane->space_signal, seen, WAIT_NS);
        if (drain_is_gone(session))
            return false;
    }
    return false;
}

static void set_limit(struct tsm_lane *lane)
{
    uint64_t tail = __atomic_load_n(&lane->header->tail, __ATOMIC_ACQUIRE);
    uint64_t limit = (lane->head / lane->size + 1) * lane->size; /* the ring's end */

    if (limit > tail + lane->size)
        limit = tail + lane->size;
    if (lane->head < lane->size && lane->populated < lane->size && limit > lane->populated)
        limit = lane->populated;
    if (limit > lane->wake_at)
        limit = lane->wake_at;
    lane->limit = limit;
}

/* More than half full: the consumer should come now, and again after each further eighth. */
static void nudge_when_filling(struct tsm_lane *lane)
{
    uint64_t tail = __atomic_load_n(&lane->header->tail, __ATOMIC_ACQUIRE);

    if (lane->head - tail >= lane->size / 2) {
        tsm_session_nudge(lane->session);
        lane->wake_at = lane->head + lane->size / 8;
    } else {
        lane->wake_at = tail + lane->size / 2;
    }
}

static bool make_room(struct tsm_lane *lane, uint64_t size)
{
    uint64_t at = lane->head & (lane->size - 1);

    if (lane->head + size - __atomic_load_n(&lane->header->tail, __ATOMIC_ACQUIRE) > lane->size &&
        !wait_for_space(lane, lane->head + size - lane->size))
        return false;
    return at + size <= lane->populated || populate(lane, at + size);
}

void *tsm_lane_reserve_slowly(struct tsm_lane *lane, uint32_t size)
{
    uint64_t to_end = lane->size - (lane->head & (lane->size - 1));

    if (size > lane->size / 2 || failed(lane->session))
        return NULL;
    if (size > to_end) {
        struct tsm_entry *pad;
        if (!make_room(lane, to_end))
            return NULL;
        pad = (struct tsm_entry *)(void *)(lane->ring + (lane->head & (lane->size - 1)));
        *pad = (struct tsm_entry){(uint32_t)to_end, TSM_ENTRY_PAD, 0};
        tsm_lane_publish(lane, (uint32_t)to_end);
    }
    if (!make_room(lane, size))
        return NULL;
    if (lane->head + size > lane->wake_at)
        nudge_when_filling(lane);
    set_limit(lane);
    return lane->ring + (lane->head & (lane->size - 1));
}
