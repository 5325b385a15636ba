/* SPDX-License-Identifier: Apache-2.0
 *
 * Pending readbacks: commands remembered until the device has given the bytes back. Used by
 * readback.c, which reads and records the bytes, and readback_table.c.
 */
#ifndef CAPTURE_CALL_READBACK_H
#define CAPTURE_CALL_READBACK_H

#include "capture/session.h"
#include "capture/call/gate.h"
#include "capture/call/streams.h"
#include "capture/call/payload.h"

#define TSM_PENDING_COUNT_MAX 4096u
#define TSM_PUT_OFF_COUNT_MAX 256u /* that are kept although a later command writes there, too */

struct tsm_pending {
    struct tsm_box box;
    struct tsm_stream *stream;
    uint64_t position;
    uint64_t ticks; /* end of the call that sent it */
    enum tsm_owes owes;
    bool is_weak; /* as in tsm_deferred */
    uint64_t from;
    bool has_landed;   /* complete, whatever is before it */
    bool is_announced; /* its call has not returned yet */
    bool may_change;   /* a command that was sent after it may write some of the bytes, too, or */
                       /* tell the program by memory that they are there */
    bool is_contested; /* a command may use what the program has put there since */
    /* A later command that writes the same bytes; NULL: none. Behind a gate it is the first one,
     * and of another stream else. */
    const struct tsm_stream *over;
    uint64_t over_position;
    uint16_t over_incarnation;
    bool is_before_over; /* `over` waits for it: the program cannot have seen it between them */
    bool is_gated;       /* `over` has not begun while a gate holds it */
    bool is_covered;     /* ... and leaves none of the bytes, or has an entry that says the same */
    bool is_overwritten; /* nothing of it is to be recorded */
    bool is_leaving;     /* the program gives its memory up: see tsm_memory_leaves() */
};

struct tsm_readbacks {
    struct tsm_lock lock;
    struct tsm_lock writing; /* before `lock`; held while complete ones are read and recorded */
    tsm_device_gaps *device; /* see tsm_hostmem_device(); NULL: none */
    uint32_t
        count; /* changed under the lock, looked at without it: see tsm_readbacks_set_count() */
    uint32_t put_off_count;                        /* of them, when the last command was sent */
    struct tsm_pending all[TSM_PENDING_COUNT_MAX]; /* oldest first */
    struct tsm_gates gates;
};

/* Tests whether what writes over the bytes has certainly not begun. The lock is held. */
static inline bool tsm_pending_is_alone(const struct tsm_readbacks *r, const struct tsm_pending *p)
{
    return p->over->incarnation == p->over_incarnation &&
           tsm_gates_hold(&r->gates, p->over, p->over_position, p->stream, p->position);
}

static inline void tsm_readbacks_set_count(struct tsm_readbacks *r, uint32_t count)
{
    __atomic_store_n(&r->count, count, __ATOMIC_RELEASE);
}

static inline bool tsm_boxes_overlap(const struct tsm_box *a, const struct tsm_box *b)
{
    uint64_t a_start = (uint64_t)(uintptr_t)a->data, b_start = (uint64_t)(uintptr_t)b->data;

    return a_start < b_start + tsm_box_extent(b) && b_start < a_start + tsm_box_extent(a);
}

/* Writes one READBACK record of `box`, which the program has at `address`, or as many as it takes:
 * a replay compares them one after another. `flags`: SBT_RECORD_*. */
void tsm_readback_record(struct tsm_lane *lane, const struct tsm_box *box, uint64_t address,
                         uint32_t stream, uint64_t position, enum tsm_fetch fetch, uint32_t flags);

#endif
