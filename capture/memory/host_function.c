/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that others write while commands are under way: the device, and functions of the
 * program that the GPU calls in a stream's order. Those run after the call that sent them, often on
 * a thread of the driver, and their writes are recorded where they happen. A payload that either
 * may still change is left to them.
 */
#include "capture/session.h"

#include "base/array.h"
#include "capture/call/streams.h"
#include "format/events/record.h"
#include "capture/call/note.h"
#include "capture/call/payload.h"
#include "capture/call/readbacks.h"
#include "capture/call/value.h"
#include "capture/memory/host_changes.h"

#include <errno.h>
#include <string.h>

#define LARGE_PART (8ull << 20) /* of the bytes that go before a call */

void tsm_function_sent(const struct tsm_call *call)
{
    if (!call->stream)
        return;
    tsm_stream_function_sent(call->stream, call->position);
    tsm_readbacks_gate(call, NULL);
}

/* The bytes are not there yet, or may not be: what the device gets is what it finds then. */
static bool is_late(const struct tsm_call *call, const struct tsm_box *box)
{
    struct tsm_session *s = call->lane->session;
    uint64_t start = (uint64_t)(uintptr_t)box->data;

    return tsm_box_size(box) > 0 &&
           (tsm_streams_await_functions(s->streams) || tsm_readback_is_open(call, box)) &&
           tsm_hostmem_holds(s, start, tsm_box_extent(box));
}

void tsm_device_writes(struct tsm_call *call, const struct tsm_box *box)
{
    if (tsm_hostmem_any() && tsm_box_size(box) > 0 &&
        tsm_hostmem_holds(call->lane->session, (uint64_t)(uintptr_t)box->data, 1))
        tsm_readback_silent(call, box);
}

void tsm_device_gives(struct tsm_call *call, const struct tsm_box *box)
{
    const uint64_t size = tsm_box_size(box);

    if (size != tsm_box_extent(box))
        tsm_device_writes(call, box);
    else if (tsm_hostmem_any() && size > 0 &&
             tsm_hostmem_holds(call->lane->session, (uint64_t)(uintptr_t)box->data, size))
        tsm_readback_weak(call, box);
}

/* The ranges that the words point into. */
struct named {
    const char *words;
    size_t count;
    struct tsm_call *call;
};

static bool visit_range(void *user, uint64_t start, uint64_t size)
{
    const struct named *named = user;
    const struct tsm_box box = {(const void *)(uintptr_t)start, size, 1, 1, size, size};
    uint64_t from = UINT64_MAX, word;

    for (size_t i = 0; i < named->count; i++) {
        memcpy(&word, named->words + i * sizeof(word), sizeof(word));
        if (word - start < size && word < from)
            from = word;
    }
    if (from != UINT64_MAX)
        tsm_readback_perhaps(named->call, &box, from);
    return true;
}

static bool visit_all(void *user, uint64_t start, uint64_t size)
{
    struct tsm_gap *all = user;

    all->start = start < all->start ? start : all->start;
    all->end = start + size > all->end ? start + size : all->end;
    return true;
}

/* One entry for all ranges: there may be many. */
static void may_write_all(struct tsm_call *call)
{
    struct tsm_gap all = {UINT64_MAX, 0};

    tsm_hostmem_each(call->lane->session, visit_all, &all);
    if (all.start < all.end) {
        uint64_t size = all.end - all.start;
        const struct tsm_box box = {(const void *)(uintptr_t)all.start, size, 1, 1, size, size};
        tsm_readback_perhaps(call, &box, 0);
    }
}

void tsm_device_may_write(struct tsm_call *call, const void *words, size_t size)
{
    struct named named = {words, size / sizeof(uint64_t), call};

    if (!tsm_hostmem_any() || !call->stream)
        return;
    if (!words)
        may_write_all(call);
    else
        tsm_hostmem_each(call->lane->session, visit_range, &named);
}

#define SORTED_RANGES_MAX 16u /* entries of one call: others need some, too */

struct sorted_words {
    const uint64_t *words;
    size_t count;
    struct {
        struct tsm_box box;
        uint64_t from;
    } found[SORTED_RANGES_MAX];
    uint32_t found_count;
};

/* The first word that is not less; `count`: none. */
static size_t find_word(const uint64_t *words, size_t count, uint64_t least)
{
    size_t at;

    TSM_BISECT(at, count, words[at] >= least);
    return at;
}

static bool visit_sorted(void *user, uint64_t start, uint64_t size)
{
    struct sorted_words *w = user;
    const size_t at = find_word(w->words, w->count, start);
    const bool is_full = w->found_count == SORTED_RANGES_MAX;
    uint64_t end = start + size, from = at < w->count ? w->words[at] : end;

    if (from >= end)
        return true;
    if (is_full) { /* together with the last one */
        const struct tsm_box *box = &w->found[--w->found_count].box;
        const uint64_t other = (uint64_t)(uintptr_t)box->data, other_end = other + box->width;
        const uint64_t others = w->found[w->found_count].from;
        start = other < start ? other : start;
        end = other_end > end ? other_end : end;
        from = others < from ? others : from;
    }
    w->found[w->found_count].from = from;
    w->found[w->found_count++].box = (struct tsm_box){
        (const void *)(uintptr_t)start, end - start, 1, 1, end - start, end - start};
    return true;
}

void tsm_device_may_write_sorted(struct tsm_call *call, const uint64_t *words, size_t count)
{
    struct sorted_words w = {.words = words, .count = count};

    if (!tsm_hostmem_any() || !call->stream)
        return;
    tsm_hostmem_each(call->lane->session, visit_sorted, &w);
    for (uint32_t i = 0; i < w.found_count; i++)
        tsm_readback_perhaps(call, &w.found[i].box, w.found[i].from);
}

/* Tests whether the call's record can name all these bytes. */
static bool fits(const struct tsm_call *call, uint64_t size)
{
    return tsm_payload_fits(call->lane, SBT_BLOB_ENCODED_SIZE(size) + call->data_size);
}

static bool write_part(struct tsm_call *call, const struct tsm_box *bytes, uint64_t at,
                       uint64_t size, enum tsm_fetch fetch)
{
    const uint64_t encoded = SBT_BLOB_ENCODED_SIZE(size);
    uint8_t *reference = tsm_scratch_take(call->lane, encoded);
    struct tsm_note note = {
        .call = SBT_CORE_HOST_WRITE, .stream = SBT_STREAM_NONE, .slot_count = 5};

    if (!reference || !tsm_payload_store_part(call->lane, bytes, at, size, fetch, true, reference))
        return false;
    note.slots[0] = tsm_box_address(bytes, at);
    note.slots[1] = size;
    note.slots[2] = encoded;
    note.slots[3] = SBT_STREAM_NONE;
    note.data = reference;
    note.data_size = (uint32_t)encoded;
    return tsm_note_write(call->lane, &note);
}

/* The bytes go before the call, as what the program has written there, with those between the rows.
 * Small parts: their references share the lane's scratch memory with the call's own. */
static void write_parts(struct tsm_call *call, const struct tsm_box *box)
{
    const uint64_t extent = tsm_box_extent(box), part = LARGE_PART;
    const struct tsm_box bytes = {box->data, extent, 1, 1, extent, extent};
    const bool is_run = extent == tsm_box_size(box);
    struct tsm_scratch *scratch = call->lane->scratch;
    const uint32_t used = scratch->used;
    bool ok = true;

    for (uint64_t at = 0; at < extent && ok; at += part) {
        ok = write_part(call, &bytes, at, extent - at < part ? extent - at : part,
                        is_run ? TSM_FETCH_DIRECT : TSM_FETCH_SAFE);
        scratch->used = used;
    }
    if (!ok)
        call->flags |= SBT_RECORD_TRUNCATED;
}

/* Writes the bytes before the call, unless they were recorded there as the content of tracked
 * memory. */
static void write_untracked(struct tsm_call *call, const struct tsm_box *box)
{
    if (!tsm_hostmem_holds(call->lane->session, (uint64_t)(uintptr_t)box->data,
                           tsm_box_extent(box)))
        write_parts(call, box);
}

static void append(struct tsm_call *call, const struct tsm_box *box, bool late)
{
    static const struct tsm_box nothing;
    const bool captured = (call->flags & SBT_RECORD_CAPTURED) != 0;
    const bool is_kept = !(call->info & TSM_TYPE_OFF);
    const bool large = !late && !captured && is_kept && !fits(call, tsm_box_size(box));

    if (large)
        write_untracked(call, box);
    if (late || large)
        call->flags |= SBT_RECORD_LATE;
    tsm_call_blob_box(call, late || large || captured ? &nothing : box);
}

static bool contest_late(struct tsm_call *call, const struct tsm_box *box)
{
    const bool late = !(call->flags & SBT_RECORD_CAPTURED) && is_late(call, box);

    if (late && call->stream)
        tsm_readbacks_contest(call, box);
    return late;
}

void tsm_call_payload_box(struct tsm_call *call, const struct tsm_box *box)
{
    append(call, box, contest_late(call, box));
}

void tsm_call_takes(struct tsm_call *call, const struct tsm_box *box)
{
    if (!contest_late(call, box) && !(call->info & TSM_TYPE_OFF))
        write_untracked(call, box);
    call->flags |= SBT_RECORD_LATE;
}

void tsm_call_payload_taken(struct tsm_call *call, const struct tsm_box *box)
{
    append(call, box, false);
}

void tsm_call_payload(struct tsm_call *call, const void *data, uint64_t size, bool taken)
{
    struct tsm_box box = {data, size, 1, 1, size, size};

    if (taken)
        tsm_call_payload_taken(call, &box);
    else
        tsm_call_payload_box(call, &box);
}

bool tsm_hostmem_is_tracked(uint64_t address)
{
    struct tsm_session *s = tsm_session_current();

    return s && tsm_hostmem_holds(s, address, 1);
}

static void note_complete(struct tsm_lane *lane, uint32_t stream, uint64_t position, uint64_t parts)
{
    const struct tsm_note note = {.call = SBT_CORE_COMPLETE,
                                  .stream = SBT_STREAM_NONE,
                                  .slots = {stream, position, parts},
                                  .slot_count = 3};

    tsm_values_publish_completed_number(stream, parts ? position - 1 : position);
    tsm_note_write(lane, &note);
}

void tsm_hostmem_complete(struct tsm_lane *lane, uint32_t stream, uint64_t position)
{
    note_complete(lane, stream, position, 0);
}

void tsm_stream_completed_parts(const struct tsm_stream *stream, uint64_t position, uint64_t parts)
{
    struct tsm_session *s = tsm_session_current();
    int saved_errno = errno;
    struct tsm_lane *lane;

    if (!s || tsm_session_waiting())
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    if (lane)
        note_complete(lane, tsm_stream_number(stream), position, parts);
    tsm_inside_leave();
    errno = saved_errno;
}

void tsm_stream_completed(const struct tsm_stream *stream, uint64_t position)
{
    tsm_stream_completed_parts(stream, position, 0);
}

#define JOINED_MAX 64u

void tsm_function_reached(uint32_t stream, uint64_t done)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_running joined[JOINED_MAX];
    uint32_t count;
    int saved_errno = errno;
    struct tsm_lane *lane;

    if (!s || !tsm_hostmem_any() || tsm_session_waiting())
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    if (lane && done)
        tsm_hostmem_complete(lane, stream, done);
    count = lane ? tsm_stream_joined_at(stream, done, joined, JOINED_MAX) : 0;
    for (uint32_t i = 0; i < count; i++)
        tsm_hostmem_complete(lane, joined[i].stream, joined[i].position);
    tsm_inside_leave();
    errno = saved_errno;
}
