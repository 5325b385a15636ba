/* SPDX-License-Identifier: Apache-2.0
 *
 * Core records: what capture itself has to say. They go into the lane of the thread that says it.
 */
#include "capture/session.h"

#include "base/arena.h"
#include "base/hash.h"
#include "capture/call/left.h"
#include "capture/call/intern.h"
#include "capture/call/note.h"
#include "capture/call/place.h"

#include <string.h>

/* Keys never fall within a lane, and a record must not appear with a key that the consumer has
 * already passed. Inside a call that has its stamp the same stamp is good for both; otherwise a new
 * one is taken under a published floor, as tsm_call_returned does. */
static uint64_t take_stamp(struct tsm_lane *lane, bool *taken)
{
    struct tsm_lane_header *h = lane->header;
    uint64_t stamp = __atomic_load_n(&h->pending, __ATOMIC_RELAXED);

    *taken = stamp == 0;
    if (!*taken)
        return tsm_lane_key(lane, stamp);
    __atomic_store_n(&h->pending, TSM_PENDING_UNKNOWN, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    stamp = tsm_lane_key(lane, tsm_ticks());
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&h->pending, stamp, __ATOMIC_RELEASE);
    return stamp;
}

/* Outside of a call: as a call's stamp, it stays for all notes until it is taken back. */
bool tsm_notes_begin(struct tsm_lane *lane)
{
    bool taken;

    take_stamp(lane, &taken);
    return taken;
}

void tsm_notes_end(struct tsm_lane *lane, bool taken)
{
    if (taken)
        __atomic_store_n(&lane->header->pending, 0, __ATOMIC_RELEASE);
}

static void fill(struct tsm_record_entry *e, const struct tsm_lane *lane,
                 const struct tsm_note *note, uint64_t stamp, uint32_t size)
{
    uint64_t *slots = (uint64_t *)(void *)(e + 1);

    *e = (struct tsm_record_entry){
        .entry = {size, TSM_ENTRY_RECORD, 0},
        .begin = stamp,
        .end = stamp,
        .type = SBT_TYPE(SBT_API_CORE, note->call),
        .thread = lane->thread,
        .stream = note->stream,
        .position = note->position,
        .flags = (uint16_t)note->flags,
        .slot_count = (uint16_t)note->slot_count,
        .data_size = note->data_size,
    };
    memcpy(slots, note->slots, note->slot_count * sizeof(*slots));
    if (note->data_size)
        memcpy(slots + note->slot_count, note->data, note->data_size);
}

static bool write_note(struct tsm_lane *lane, const struct tsm_note *note)
{
    uint32_t size = tsm_entry_round(sizeof(struct tsm_record_entry) + 8 * note->slot_count +
                                    (uint64_t)note->data_size);
    bool taken;
    uint64_t stamp = take_stamp(lane, &taken);
    struct tsm_record_entry *e;

    tsm_call_make_way(lane);
    e = tsm_lane_reserve(lane, size);
    if (e) {
        fill(e, lane, note, stamp, size);
        tsm_lane_publish(lane, size);
    }
    tsm_notes_end(lane, taken);
    return e != NULL;
}

bool tsm_note_write(struct tsm_lane *lane, const struct tsm_note *note)
{
    bool written = write_note(lane, note);

    if (!written)
        tsm_lane_lost(lane, note->stream, tsm_ticks());
    return written;
}

/* Ticks to nanoseconds after the session's start, by the line that the drain thread published. */
static uint64_t to_ns(const struct tsm_session *s, uint64_t ticks)
{
    const struct tsm_lanes_header *h = s->lanes_header;
    uint32_t epoch = __atomic_load_n(&h->clock_epoch, __ATOMIC_ACQUIRE);
    uint64_t ns = tsm_clock_line_ns(&h->clock[epoch & 1], ticks);

    return ns > s->start.monotonic_ns ? ns - s->start.monotonic_ns : 0;
}

void tsm_note_lost(struct tsm_lane *lane)
{
    struct tsm_lane_header *h = lane->header;
    static const char reason[] = "lane full";
    struct tsm_missing lost = h->lost;
    struct tsm_note note = {.call = SBT_CORE_LOST, .stream = SBT_STREAM_NONE, .slot_count = 5};

    if (lost.count == h->lost_told)
        return;
    note.slots[0] = lost.count - h->lost_told;
    note.slots[1] = to_ns(lane->session, lost.first);
    note.slots[2] = to_ns(lane->session, lost.last);
    note.slots[3] = tsm_intern_in(lane->session, reason, sizeof(reason) - 1);
    note.slots[4] = lost.streams;
    if (write_note(lane, &note))
        h->lost_told = lost.count;
}

void tsm_note_left(const struct tsm_call *call)
{
    const struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);

    if (tsm_left_check(call) && tsm_thread.session == live->session)
        tsm_lane_lost(tsm_thread.lane, SBT_STREAM_NONE, tsm_ticks());
}

/* Writes a note of this thread, inside of a call or outside. */
static void write_here(const struct tsm_note *note)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_lane *lane;

    if (!s || tsm_session_waiting())
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    if (lane)
        tsm_note_write(lane, note);
    tsm_inside_leave();
}

void tsm_gpu_time_write(const struct tsm_gpu_time *time)
{
    const struct tsm_note note = {
        .call = SBT_CORE_GPU_TIME,
        .stream = SBT_STREAM_NONE,
        .slots = {time->stream, time->position, time->part, time->start_ns, time->duration_ns,
                  time->flags, time->error_ns, 0 /* run */, time->buffer, time->command,
                  time->of_type, time->object, time->inner_ns},
        .slot_count = 13,
    };

    write_here(&note);
}

/* A part with more parents is left out: the command's work is not known then. */
#define PARENTS_MAX 4096u

void tsm_gpu_work_write(const struct tsm_gpu_work *work)
{
    const struct tsm_note note = {
        .call = SBT_CORE_GPU_WORK,
        .stream = SBT_STREAM_NONE,
        .slots = {work->stream, work->position, work->number, work->kind, work->bytes, work->blocks,
                  work->instructions, work->sent_ns, work->queue, (uint64_t)(int64_t)work->priority,
                  work->flags, work->parent_count * sizeof(*work->parents), work->id},
        .slot_count = 13,
        .data = work->parents,
        .data_size = work->parent_count * (uint32_t)sizeof(*work->parents),
    };

    if (work->parent_count <= PARENTS_MAX)
        write_here(&note);
}

void tsm_gpu_order_write(const struct tsm_gpu_order *order)
{
    const uint32_t size = order->awaited_count * (uint32_t)sizeof(*order->awaited);
    const struct tsm_note note = {
        .call = SBT_CORE_GPU_ORDER,
        .stream = SBT_STREAM_NONE,
        .slots = {order->stream, order->position, order->number, order->event, order->access,
                  order->size, order->address, order->value, order->brought_by, order->host_ns,
                  size},
        .slot_count = 11,
        .data = order->awaited,
        .data_size = size,
    };

    if (order->awaited_count <= PARENTS_MAX)
        write_here(&note);
}

#define RANGES_MAX 4096u

void tsm_accesses_write(uint32_t stream, uint64_t position, const uint64_t (*ranges)[3],
                        size_t count)
{
    const uint32_t size = (uint32_t)(count * sizeof(*ranges));
    const struct tsm_note note = {
        .call = SBT_CORE_ACCESSES,
        .stream = SBT_STREAM_NONE,
        .slots = {stream, position, size},
        .slot_count = 3,
        .data = ranges,
        .data_size = size,
    };

    if (count <= RANGES_MAX)
        write_here(&note);
}
