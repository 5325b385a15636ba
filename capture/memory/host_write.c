/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes down what has changed in host memory that the device can read.
 */
#include "capture/memory/host_memory.h"

#include "base/hash.h"
#include "capture/call/note.h"
#include "capture/call/payload.h"
#include "capture/call/readbacks.h"
#include "capture/call/value.h"
#include "capture/memory/gaps.h"
#include "capture/memory/host_changes.h"

#include <errno.h>
#include <string.h>

static bool is_same(const struct tsm_running *a, const struct tsm_running *b)
{
    return a->stream == b->stream && a->position == b->position;
}

static void write_note(struct tsm_lane *lane, struct tsm_note *note,
                       const struct tsm_running *writer, uint32_t flags)
{
    note->slots[3] = writer->stream;
    note->slots[4] = writer->position;
    note->flags = flags;
    tsm_note_write(lane, note);
}

/* Writes [from, to) of the program's addresses, which lie in h->bytes from `base` on. What a
 * command may have written is there when a function begins, too: a replay, whose function may run
 * before the program's record has its turn, compares it then. */
static void write_part(struct tsm_lane *lane, struct tsm_hostmem *h, uint64_t base, uint64_t from,
                       uint64_t to, uint32_t flags)
{
    struct tsm_note note = {
        .call = SBT_CORE_HOST_WRITE, .stream = SBT_STREAM_NONE, .slot_count = 5};
    struct tsm_box box;

    if (from >= to)
        return;
    box = (struct tsm_box){h->bytes + (from - base), to - from, 1, 1, to - from, to - from};
    if (!tsm_payload_store(lane, &box, TSM_FETCH_DIRECT, h->reference)) {
        tsm_session_unmodelled("a change of host memory could not be recorded", true);
        return;
    }
    note.slots[0] = from;
    note.slots[1] = to - from;
    note.slots[2] = SBT_BLOB_ENCODED_SIZE(to - from);
    note.data = h->reference;
    note.data_size = (uint32_t)SBT_BLOB_ENCODED_SIZE(to - from);
    if (h->entering && flags & SBT_RECORD_DEVICE)
        write_note(lane, &note, h->entering, SBT_RECORD_DEVICE);
    for (uint32_t i = 0; i < h->writer_count; i++) {
        const struct tsm_running *writer = &h->writers[i];

        if (h->entered && is_same(writer, h->entered))
            write_note(lane, &note, writer, SBT_RECORD_DEVICE);
        else if (!h->entered)
            write_note(lane, &note, writer, writer->stream == SBT_STREAM_NONE ? flags : 0);
    }
}

static uint64_t limit(uint64_t value, uint64_t from, uint64_t to)
{
    if (value < from)
        return from;
    return value > to ? to : value;
}

/* Writes [from, to); what a command may have written is a record of its own. */
static void write_span(struct tsm_lane *lane, struct tsm_hostmem *h, uint64_t base, uint64_t from,
                       uint64_t to)
{
    const uint32_t held = h->is_held ? SBT_RECORD_HELD : 0;
    const uint64_t begin = limit(h->device.start, from, to);
    const uint64_t end = limit(h->device.end, begin, to);

    if (!held || begin == end) {
        write_part(lane, h, base, from, to, held);
        return;
    }
    write_part(lane, h, base, from, begin, held);
    write_part(lane, h, base, begin, end,
               held | SBT_RECORD_DEVICE | (h->is_contested ? SBT_RECORD_LATE : 0u));
    write_part(lane, h, base, end, to, held);
}

/* Writes the part of [from, to) that the command was given. Its bytes are in the trace anyway, as
 * HOST_WRITE. */
static void write_given(struct tsm_lane *lane, const struct tsm_hostmem *h, uint64_t base,
                        uint64_t from, uint64_t to)
{
    struct tsm_box box;

    if (h->by_parts && from < h->given.start)
        from = h->given.start;
    if (h->by_parts && to > h->given.end)
        to = h->given.end;
    if (from >= to)
        return;
    box = (struct tsm_box){h->bytes + (from - base), to - from, 1, 1, to - from, to - from};
    tsm_readback_copied(lane, &box, from, h->by);
    tsm_scratch_clear(lane);
}

void tsm_hostmem_write_hash(const struct tsm_hostmem *h, uint64_t base, uint64_t size)
{
    uint64_t from = base < h->given.start ? h->given.start : base;
    uint64_t to = base + size > h->given.end ? h->given.end : base + size;
    struct sbt_key key;

    if (h->gap_count || from >= to)
        return;
    key = tsm_hash_key(h->bytes + (from - base), to - from);
    tsm_checksum_write(0, h->by.stream, h->by.position, from, to - from, &key);
}

static void write_seen(struct tsm_lane *lane, struct tsm_hostmem *h, uint64_t base, uint64_t from,
                       uint64_t to)
{
    if (from >= to)
        return;
    h->has_changed = true;
    tsm_values_seen(lane->session, from, h->bytes + (from - base), to - from);
    if (h->is_by)
        write_given(lane, h, base, from, to);
    write_span(lane, h, base, from, to);
}

/* The same without the bytes that belong to the device. */
void tsm_hostmem_write_run(struct tsm_lane *lane, struct tsm_hostmem *h, uint64_t base,
                           uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; i < h->gap_count && from < to; i++) {
        const struct tsm_gap *gap = &h->gaps[i];
        if (gap->end <= from)
            continue;
        write_seen(lane, h, base, from, gap->start < to ? gap->start : to);
        from = gap->end;
    }
    write_seen(lane, h, base, from, to);
}

void tsm_hostmem_add_writer(struct tsm_hostmem *h, struct tsm_running writer)
{
    if (h->writer_count < TSM_HOSTMEM_WRITER_COUNT_MAX)
        h->writers[h->writer_count++] = writer;
}

void tsm_hostmem_remove_writer(struct tsm_hostmem *h, struct tsm_running writer)
{
    for (uint32_t i = h->writer_count; i-- > 0;) {
        if (h->writers[i].stream != writer.stream || h->writers[i].position != writer.position)
            continue;
        h->writers[i] = h->writers[--h->writer_count];
        return;
    }
}

static void write_block(struct tsm_lane *lane, struct tsm_hostmem *h, uint64_t from, uint64_t to)
{
    if (!tsm_memory_read(h->block, from, to - from)) {
        tsm_session_unmodelled("host memory could not be read", true);
        return;
    }
    h->bytes = h->block;
    h->gap_count = tsm_readback_gaps(lane->session, from, to, h->writers, h->writer_count, h->gaps);
    tsm_hostmem_write_run(lane, h, from, from, to);
}

/* Calls write() for `what` and counts what that records as `writer`'s, too. */
static void write_then(void (*write)(struct tsm_lane *, struct tsm_hostmem *, const void *what),
                       const void *what, struct tsm_running writer)
{
    struct tsm_session *s = tsm_session_of_call();
    struct tsm_lane *lane;
    int saved_errno = errno;

    if (!s || tsm_session_waiting())
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    if (lane) {
        tsm_lock_take(&s->hostmem->lock);
        tsm_hostmem_add_writer(s->hostmem, writer);
        write(lane, s->hostmem, what);
        tsm_hostmem_remove_writer(s->hostmem, writer);
        tsm_lock_give(&s->hostmem->lock);
    }
    tsm_inside_leave();
    errno = saved_errno;
}

static void write_box(struct tsm_lane *lane, struct tsm_hostmem *h, const void *what)
{
    const struct tsm_box *box = what;
    const uint64_t start = (uint64_t)(uintptr_t)box->data, end = start + tsm_box_extent(box);

    for (uint64_t at = start; at < end; at += TSM_HOSTMEM_BLOCK_SIZE)
        write_block(lane, h, at,
                    end - at < TSM_HOSTMEM_BLOCK_SIZE ? end : at + TSM_HOSTMEM_BLOCK_SIZE);
}

void tsm_hostmem_write(const struct tsm_box *box)
{
    write_then(write_box, box, (struct tsm_running){SBT_STREAM_NONE, 0});
}

static void write_value(struct tsm_lane *lane, struct tsm_hostmem *h, const void *what)
{
    const struct tsm_value *value = what;

    memcpy(h->block, &value->value, value->size);
    h->bytes = h->block;
    write_span(lane, h, value->address, value->address, value->address + value->size);
}

void tsm_hostmem_value(const struct tsm_value *value, struct tsm_running after)
{
    write_then(write_value, value, after);
}
