/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes between scattered runs are written as zeros: whoever carries the record out leaves them
 * alone, and what the device has there is no part of it.
 */
#include "capture/memory/runs.h"

#include "capture/call/note.h"
#include "capture/call/payload.h"
#include "capture/session.h"

#include <string.h>

#define SPAN_MAX  (1u << 20)        /* bytes of one HOST_WRITE */
#define CLOSE_MAX SBT_HOST_RUNS_MAX /* bytes from the first scattered run to the last */
#define LIST_MAX  4096u
#define PAIR_MAX  8u /* bytes of a gap and a length, each of at most CLOSE_MAX */

struct tsm_runs_room {
    uint8_t list[LIST_MAX + SBT_BLOB_ENCODED_MAX(CLOSE_MAX)]; /* the reference follows */
    uint8_t bytes[CLOSE_MAX];
    struct {
        uint32_t at, size; /* from tsm_runs.from on */
    } runs[LIST_MAX / 2];
};

static void write_bytes(struct tsm_lane *lane, const struct tsm_runs *r, uint64_t from,
                        uint64_t size)
{
    struct tsm_box box = {r->bytes + from, size, 1, 1, size, size};
    uint8_t reference[SBT_BLOB_ENCODED_MAX(SPAN_MAX)];
    struct tsm_note note = {
        .call = SBT_CORE_HOST_WRITE, .stream = SBT_STREAM_NONE, .slot_count = 5};

    if (!lane || !tsm_payload_store(lane, &box, TSM_FETCH_DIRECT, reference)) {
        tsm_session_unmodelled("a change of host memory could not be recorded", true);
        return;
    }
    note.slots[0] = r->name + from;
    note.slots[1] = size;
    note.slots[2] = SBT_BLOB_ENCODED_SIZE(size);
    note.slots[3] = SBT_STREAM_NONE;
    note.data = reference;
    note.data_size = (uint32_t)SBT_BLOB_ENCODED_SIZE(size);
    tsm_note_write(lane, &note);
}

static void write_runs(struct tsm_lane *lane, const struct tsm_runs *r)
{
    struct tsm_runs_room *room = r->room;
    uint64_t size = r->to - r->from;
    struct tsm_box box = {room->bytes, size, 1, 1, size, size};
    struct tsm_note note = {.call = SBT_CORE_HOST_RUNS, .stream = SBT_STREAM_NONE, .slot_count = 4};

    memset(room->bytes, 0, size);
    for (uint32_t i = 0; i < r->count; i++)
        memcpy(room->bytes + room->runs[i].at, r->bytes + r->from + room->runs[i].at,
               room->runs[i].size);
    if (!lane || !tsm_payload_store(lane, &box, TSM_FETCH_DIRECT, room->list + r->list_size)) {
        tsm_session_unmodelled("a change of host memory could not be recorded", true);
        return;
    }
    note.slots[0] = r->name + r->from;
    note.slots[1] = size;
    note.slots[2] = (uint64_t)r->list_size << 32 | SBT_BLOB_ENCODED_SIZE(size);
    note.slots[3] = r->list_size;
    note.data = room->list;
    note.data_size = r->list_size + (uint32_t)SBT_BLOB_ENCODED_SIZE(size);
    tsm_note_write(lane, &note);
}

/* Returns the session that is to record something now. What changes before it begins with a
 * checkpoint is in that. */
static struct tsm_session *recording_session(void)
{
    struct tsm_session *session = tsm_session_current();

    return session && tsm_session_waiting() ? NULL : session;
}

static void record_bytes(const struct tsm_runs *r, uint64_t from, uint64_t to)
{
    struct tsm_session *session = recording_session();

    if (!session)
        return;
    tsm_inside_enter();
    for (uint64_t size; from < to; from += size) {
        size = to - from < SPAN_MAX ? to - from : SPAN_MAX;
        write_bytes(tsm_thread_lane(session), r, from, size);
    }
    tsm_inside_leave();
}

static void record_runs(const struct tsm_runs *r)
{
    struct tsm_session *session = recording_session();

    if (!session)
        return;
    tsm_inside_enter();
    write_runs(tsm_thread_lane(session), r);
    tsm_inside_leave();
}

void tsm_runs_flush(struct tsm_runs *r)
{
    if (r->count == 1)
        record_bytes(r, r->from, r->to);
    else if (r->count > 1)
        record_runs(r);
    r->count = r->list_size = 0;
}

static bool has_room(struct tsm_runs *r)
{
    if (!r->room)
        r->room = tsm_memory_map(sizeof(*r->room));
    return r->room != NULL;
}

static void put_varint(struct tsm_runs *r, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        r->room->list[r->list_size++] = (uint8_t)value | 0x80;
    r->room->list[r->list_size++] = (uint8_t)value;
}

void tsm_runs_add(struct tsm_runs *r, uint64_t from, uint64_t to, bool is_scattered)
{
    if (!is_scattered || to - from > CLOSE_MAX || !has_room(r)) {
        record_bytes(r, from, to);
        return;
    }
    if (r->count &&
        (from < r->to || to - r->from > CLOSE_MAX || r->list_size > LIST_MAX - PAIR_MAX))
        tsm_runs_flush(r);
    if (!r->count)
        r->from = r->to = from;
    put_varint(r, from - r->to);
    put_varint(r, to - from);
    r->room->runs[r->count].at = (uint32_t)(from - r->from);
    r->room->runs[r->count++].size = (uint32_t)(to - from);
    r->to = to;
}

void tsm_runs_finish(struct tsm_runs *r)
{
    if (r->room)
        tsm_memory_unmap(r->room, sizeof(*r->room));
    r->room = NULL;
}
