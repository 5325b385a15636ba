/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that the device gives back. An asynchronous copy's bytes are there only when a later call
 * has shown that it is complete, so it is remembered here until then. By that time the program may
 * have unmapped the memory: it is read through the kernel, which says so instead of faulting.
 */
#include "capture/session.h"

#include "base/bytes.h"
#include "capture/streams.h"

#include <string.h>

#define PENDING_COUNT_MAX 4096u

struct pending {
    struct tsm_box box;
    struct tsm_stream *stream;
    uint64_t position;
    uint64_t ticks; /* end of the call that sent it */
    bool is_silent;
};

struct tsm_readbacks {
    struct tsm_lock lock;
    uint32_t count; /* changed under the lock, looked at without it: see set_count() */
    struct pending all[PENDING_COUNT_MAX]; /* oldest first */
};

struct tsm_readbacks *tsm_readbacks_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_readbacks));
}

static void set_count(struct tsm_readbacks *r, uint32_t count)
{
    __atomic_store_n(&r->count, count, __ATOMIC_RELEASE);
}

/* A reference to the bytes, which are stored, or named by their keys alone. */
static bool keep(struct tsm_lane *lane, const struct tsm_box *box, enum tsm_fetch fetch, bool store,
                 uint8_t *reference)
{
    if (store)
        return tsm_payload_store(lane, box, fetch, reference);
    tsm_put_u64(reference, tsm_box_size(box));
    return tsm_payload_pieces(lane, box, fetch, false, reference + 8);
}

/* Of bytes that are at `address` in the program. */
static void write_record_of(struct tsm_lane *lane, const struct tsm_box *box, uint64_t address,
                            uint32_t stream, uint64_t position, enum tsm_fetch fetch)
{
    bool store = lane->session->settings.readback == TSM_READBACK_STORE;
    uint64_t size = tsm_box_size(box);
    uint64_t encoded = store ? SBT_BLOB_ENCODED_SIZE(size) : SBT_BLOB_KEYED_SIZE(size);
    uint8_t *reference = encoded < lane->size / 4 ? tsm_scratch_take(lane, encoded) : NULL;
    struct tsm_note note = {.call = SBT_CORE_READBACK, .stream = SBT_STREAM_NONE, .slot_count = 5};

    if (lane->session->settings.readback == TSM_READBACK_OFF)
        return;
    if (!reference || !keep(lane, box, fetch, store, reference)) {
        tsm_session_unmodelled("a readback could not be read", false);
        return;
    }
    note.slots[0] = stream;
    note.slots[1] = position;
    note.slots[2] = address;
    note.slots[3] = size;
    note.slots[4] = encoded;
    note.data = reference;
    note.data_size = (uint32_t)encoded;
    tsm_note_write(lane, &note);
}

static void write_record(struct tsm_lane *lane, const struct tsm_box *box, uint32_t stream,
                         uint64_t position, enum tsm_fetch fetch)
{
    write_record_of(lane, box, (uint64_t)(uintptr_t)box->data, stream, position, fetch);
}

void tsm_readback_copied(struct tsm_lane *lane, const struct tsm_box *box, uint64_t address,
                         struct tsm_running by)
{
    write_record_of(lane, box, address, by.stream, by.position, TSM_FETCH_DIRECT);
}

static bool overlap(const struct tsm_box *a, const struct tsm_box *b)
{
    uint64_t a_start = (uint64_t)(uintptr_t)a->data, b_start = (uint64_t)(uintptr_t)b->data;

    return a_start < b_start + tsm_box_extent(b) && b_start < a_start + tsm_box_extent(a);
}

/* The lock is held. What is about to be overwritten can no longer be read back: forget it. */
static void forget_overlapping(struct tsm_readbacks *r, const struct tsm_box *box)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->count; i++) {
        if (!overlap(&r->all[i].box, box))
            r->all[kept++] = r->all[i];
    }
    set_count(r, kept);
}

static void remember(struct tsm_session *s, const struct tsm_deferred *d, struct tsm_stream *stream,
                     uint64_t ticks)
{
    struct tsm_readbacks *r = s->readbacks;
    uint32_t count;
    bool full;

    tsm_lock_take(&r->lock);
    forget_overlapping(r, &d->box);
    full = r->count == PENDING_COUNT_MAX;
    count = r->count - full;
    if (full)
        memmove(r->all, r->all + 1, count * sizeof(*r->all));
    r->all[count] = (struct pending){d->box, stream, d->position, ticks, d->is_silent};
    set_count(r, count + 1);
    tsm_lock_give(&r->lock);
    if (full)
        tsm_session_unmodelled("more than 4096 readbacks pending", false);
}

static void defer(struct tsm_call *call, const struct tsm_box *box, bool complete, bool is_silent)
{
    struct tsm_scratch *scratch = call->lane->scratch;

    if (tsm_box_size(box) == 0 || (call->flags & SBT_RECORD_CAPTURED))
        return;
    if (scratch->deferred_count == TSM_SCRATCH_DEFERRED_MAX) {
        tsm_session_unmodelled("more than 64 readbacks of one call", false);
        return;
    }
    scratch->deferred[scratch->deferred_count++] =
        (struct tsm_deferred){*box, tsm_stream_number(call->stream), call->position,
                              complete || !call->stream, is_silent};
}

void tsm_readback(struct tsm_call *call, const struct tsm_box *box, bool complete)
{
    defer(call, box, complete, false);
}

void tsm_readback_silent(struct tsm_call *call, const struct tsm_box *box)
{
    if (call->stream)
        defer(call, box, false, true);
}

void tsm_readback_committed(struct tsm_lane *lane, const struct tsm_call *call)
{
    struct tsm_scratch *scratch = lane->scratch;

    for (uint32_t i = 0; call && i < scratch->deferred_count; i++) {
        const struct tsm_deferred *d = &scratch->deferred[i];
        if (d->complete)
            write_record(lane, &d->box, d->stream, d->position, TSM_FETCH_DIRECT);
        else
            remember(lane->session, d, call->stream, tsm_call_record(call)->end);
    }
    scratch->deferred_count = 0;
}

/* ---- memory that belongs to the device for now ------------------------------------------------
 */

/* Few, and nearly sorted already. */
static void sort_gaps(struct tsm_gap *gaps, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && gaps[k].start < gaps[k - 1].start; k--) {
            struct tsm_gap swapped = gaps[k];
            gaps[k] = gaps[k - 1];
            gaps[k - 1] = swapped;
        }
    }
}

static bool runs_function(const struct pending *p, const struct tsm_running *running,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (p->stream->number == running[i].stream)
            return true;
    return false;
}

uint32_t tsm_readback_gaps(struct tsm_session *s, uint64_t from, uint64_t to,
                           const struct tsm_running *running, uint32_t running_count,
                           struct tsm_gap gaps[TSM_GAP_COUNT_MAX])
{
    struct tsm_readbacks *r = s->readbacks;
    uint32_t count = 0;

    if (__atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return 0;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        uint64_t start = (uint64_t)(uintptr_t)r->all[i].box.data;
        uint64_t end = start + tsm_box_extent(&r->all[i].box);

        if (start >= to || end <= from || runs_function(&r->all[i], running, running_count))
            continue;
        start = start < from ? from : start;
        end = end > to ? to : end;
        if (count < TSM_GAP_COUNT_MAX)
            gaps[count++] = (struct tsm_gap){start, end};
        else
            gaps[0] = (struct tsm_gap){from, to}; /* too many to tell apart: all of it */
    }
    tsm_lock_give(&r->lock);
    sort_gaps(gaps, count);
    return count;
}

/* ---- synchronisation --------------------------------------------------------------------------
 */

/* Take out the oldest one that is known to be complete. */
static bool take_complete(struct tsm_readbacks *r, struct pending *out)
{
    bool found = false;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count && !found; i++) {
        struct tsm_stream *stream = r->all[i].stream;
        if (r->all[i].position > __atomic_load_n(&stream->completed, __ATOMIC_ACQUIRE))
            continue;
        *out = r->all[i];
        memmove(r->all + i, r->all + i + 1, (r->count - i - 1) * sizeof(*r->all));
        set_count(r, r->count - 1);
        found = true;
    }
    tsm_lock_give(&r->lock);
    return found;
}

static void write_complete(struct tsm_session *s)
{
    struct tsm_lane *lane;
    struct pending p;

    if (__atomic_load_n(&s->readbacks->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    while (lane && take_complete(s->readbacks, &p)) {
        if (!p.is_silent)
            write_record(lane, &p.box, p.stream->number, p.position, TSM_FETCH_SAFE);
        tsm_scratch_clear(lane);
    }
    tsm_inside_leave();
}

/* What was sent before `ticks` to `stream` (NULL: to any stream of `api`) is complete. */
static void complete_before(struct tsm_session *s, enum sbt_api api, struct tsm_stream *stream,
                            uint64_t ticks)
{
    struct tsm_readbacks *r = s->readbacks;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct pending *p = &r->all[i];
        if ((stream ? p->stream == stream : p->stream->api == api) && p->ticks < ticks)
            tsm_stream_complete(p->stream, p->position);
    }
    tsm_lock_give(&r->lock);
}

void tsm_synchronised(enum sbt_api api, struct tsm_stream *stream)
{
    struct tsm_session *s = tsm_session_current();
    bool functions;
    uint64_t ticks;

    if (!s || tsm_thread.session != s)
        return;
    functions = tsm_streams_await_functions(s->streams);
    if (!functions && __atomic_load_n(&s->readbacks->count, __ATOMIC_ACQUIRE) == 0)
        return;
    /* What another thread sent while this one waited may not be complete. */
    ticks = tsm_thread.lane->header->since;
    complete_before(s, api, stream, ticks);
    if (functions)
        tsm_streams_functions_complete(s->streams, api, stream, ticks);
    if (stream)
        tsm_stream_complete_waits(stream, ticks);
    write_complete(s);
}

void tsm_readbacks_before(uint32_t stream, uint64_t position)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_readbacks *r = s ? s->readbacks : NULL;

    if (!r || __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->all[i].stream->number == stream && r->all[i].position <= position)
            tsm_stream_complete(r->all[i].stream, r->all[i].position);
    tsm_lock_give(&r->lock);
    write_complete(s);
}

void tsm_synchronised_event(const struct tsm_handle *event)
{
    struct tsm_session *s = tsm_session_current();

    if (!s || !event || !tsm_stream_is_at(event, NULL))
        return;
    tsm_stream_complete(event->stream, event->position);
    write_complete(s);
}

void tsm_readbacks_all_complete(struct tsm_session *s, enum sbt_api api)
{
    complete_before(s, api, NULL, UINT64_MAX);
    write_complete(s);
}

bool tsm_readbacks_await(struct tsm_session *s, const struct tsm_stream *stream)
{
    struct tsm_readbacks *r = s->readbacks;
    bool found = false;

    if (__atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return false;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count && !found; i++)
        found = r->all[i].stream == stream;
    tsm_lock_give(&r->lock);
    return found;
}
