/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that the device gives back. An asynchronous copy's bytes are there only when a later call
 * has shown that it is complete, so it is remembered here until then. By that time the program may
 * have unmapped the memory: it is read through the kernel, which says so instead of faulting.
 */
#include "capture/call/readback.h"

#include "base/bytes.h"
#include "capture/call/payload.h"
#include "capture/call/place.h"
#include "capture/call/readbacks.h"
#include "capture/memory/gaps.h"
#include "capture/memory/host_changes.h"
#include "capture/parts.h"

#include <string.h>

/* Verdicts are "cannot tell" with one of these in the trace: bytes that the program may have seen.
 */
#define CHANGED   "bytes given back, which were overwritten before it was seen that they were there"
#define TOO_MANY  "bytes given back by more than 4096 commands under way"
#define ENDED     "bytes given back by a call that recording ended in"
#define TOO_LARGE "bytes given back by more than 1024 parts of one call"

struct tsm_readbacks *tsm_readbacks_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_readbacks));
}

/* Counts the box as the device's: the program finds the device's bytes there. Rows with gaps do not
 * count, because the gaps are the program's. */
static void know(struct tsm_lane *lane, const struct tsm_box *box)
{
    const uint64_t from = (uint64_t)(uintptr_t)box->data, size = tsm_box_size(box);

    if (size == tsm_box_extent(box))
        tsm_hostmem_known(lane, from, from + size);
    else
        tsm_hostmem_mixed(lane->session, from, from + tsm_box_extent(box));
}

static bool covers(const struct tsm_box *outer, const struct tsm_box *inner)
{
    return outer->data <= inner->data && (const char *)inner->data + tsm_box_extent(inner) <=
                                             (const char *)outer->data + tsm_box_extent(outer);
}

static bool is_complete(const struct tsm_stream *stream, uint64_t position)
{
    return position <= __atomic_load_n(&stream->completed, __ATOMIC_ACQUIRE);
}

/* Others may write there before the bytes are recorded. */
static void share(struct tsm_pending *p)
{
    if (p->is_weak)
        p->owes = TSM_WRITES;
    p->may_change = true;
}

/* The lock is held. The command writes over the bytes, but has not begun before the program lets
 * it: until then they are there. */
static bool is_put_off(struct tsm_readbacks *r, struct tsm_pending *p,
                       const struct tsm_stream *stream, uint64_t position, bool covers)
{
    if (p->is_gated)
        return true;
    if (!r->gates.count || r->put_off_count >= TSM_PUT_OFF_COUNT_MAX ||
        !tsm_gates_hold(&r->gates, stream, position, p->stream, p->position))
        return false;
    r->put_off_count++;
    p->over = stream;
    p->over_position = position;
    p->over_incarnation = stream->incarnation;
    p->is_gated = true;
    p->is_covered = covers;
    return true;
}

/* The lock is held. */
static void count_put_off(struct tsm_readbacks *r)
{
    r->put_off_count = 0;
    for (uint32_t i = 0; r->gates.count && i < r->count; i++)
        r->put_off_count += r->all[i].is_gated;
}

/* Tests whether the command comes right after the one of `p`: the program has no hand between. */
static bool follows(const struct tsm_pending *p, const struct tsm_stream *stream, uint64_t position)
{
    return p->stream == stream
               ? stream->hold <= p->position || stream->hold > position
               : tsm_stream_is_behind(stream, position, p->stream->number, p->position);
}

/* The lock is held. What is sent over bytes that are not known to be there makes it a race to read
 * them: forget them, unless some of them remain, or it is put off. Of HSA the program may have
 * known before by looking at memory: for what another queue overwrites, and does not wait for them,
 * that is said. */
static void forget_overlapping(struct tsm_readbacks *r, const struct tsm_box *box,
                               const struct tsm_stream *stream, uint64_t position)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->count; i++) {
        struct tsm_pending *p = &r->all[i];
        if (p->owes < TSM_MAY_WRITE && !p->is_announced && tsm_boxes_overlap(&p->box, box) &&
            !is_put_off(r, p, stream, position, covers(box, &p->box))) {
            if (p->stream->api == SBT_API_HSA && !follows(p, stream, position)) {
                p->over = stream;
                p->over_position = position;
                p->is_before_over = false;
            } else if (covers(box, &p->box)) {
                continue;
            } else {
                share(p);
            }
        }
        r->all[kept++] = *p;
    }
    tsm_readbacks_set_count(r, kept);
}

static bool reaches(const struct tsm_deferred *d, const struct tsm_box *box)
{
    return tsm_boxes_overlap(&d->box, box) &&
           (uint64_t)(uintptr_t)box->data + tsm_box_extent(box) > d->from;
}

/* The lock is held. Tests whether the program may have changed what the command writes, because it
 * saw in its memory that it may, when another command is sent that uses it. That is recorded when
 * the first one is known to be complete: too late for the other. */
static bool may_be_changed_for(const struct tsm_pending *p, const struct tsm_stream *stream,
                               uint64_t position)
{
    if (p->is_announced || is_complete(p->stream, p->position))
        return false;
    if (p->owes == TSM_OWES_BYTES)
        return p->may_change;
    return p->owes == TSM_MAY_WRITE && p->stream != stream &&
           !tsm_stream_is_behind(stream, position, p->stream->number, p->position);
}

/* The lock is held. The command uses bytes from `from` on in the box. */
static void contest(struct tsm_readbacks *r, const struct tsm_box *box, uint64_t from,
                    const struct tsm_stream *stream, uint64_t position)
{
    for (uint32_t i = 0; i < r->count; i++) {
        struct tsm_pending *p = &r->all[i];
        const uint64_t end = (uint64_t)(uintptr_t)p->box.data + tsm_box_extent(&p->box);
        if (!p->is_contested && tsm_boxes_overlap(&p->box, box) && end > from &&
            may_be_changed_for(p, stream, position))
            p->is_contested = true;
    }
}

void tsm_readbacks_contest(const struct tsm_call *call, const struct tsm_box *box)
{
    struct tsm_readbacks *r = call->lane->session->readbacks;

    tsm_lock_take(&r->lock);
    contest(r, box, (uint64_t)(uintptr_t)box->data, call->stream, call->position);
    tsm_lock_give(&r->lock);
}

/* The lock is held. One entry says when the last command of the stream that may write there is
 * over. Bytes that are not read back yet may be that one's then. Returns whether it is contested.
 */
static bool forget_same(struct tsm_readbacks *r, struct tsm_deferred *d,
                        const struct tsm_stream *stream)
{
    bool is_contested = false;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->count; i++) {
        struct tsm_pending *p = &r->all[i];
        if (p->is_announced) {
            r->all[kept++] = *p;
            continue;
        }
        if (p->owes == d->owes && p->stream == stream && p->box.data == d->box.data) {
            d->from = p->from < d->from ? p->from : d->from;
            is_contested |= p->is_contested;
            continue;
        }
        if (p->owes == TSM_OWES_BYTES && d->owes == TSM_MAY_WRITE && reaches(d, &p->box) &&
            !is_put_off(r, p, stream, d->position, false))
            share(p);
        r->all[kept++] = *p;
    }
    tsm_readbacks_set_count(r, kept);
    return is_contested;
}

#define WORD_MAX 8u /* bytes that a program looks at, to see that a copy is complete */

/* Tests whether the program can see in its memory that the command is complete. */
static bool is_telling(const struct tsm_deferred *d)
{
    return d->owes == TSM_WRITES || d->owes == TSM_MAY_WRITE ||
           (d->owes == TSM_OWES_BYTES && tsm_box_size(&d->box) <= WORD_MAX);
}

/* The lock is held. When the program sees that the command is complete it may change what those
 * before it gave back, and wait for them only then. */
static void note_seen_by(struct tsm_readbacks *r, const struct tsm_deferred *d,
                         const struct tsm_stream *stream)
{
    for (uint32_t i = 0; i < r->count; i++) {
        struct tsm_pending *p = &r->all[i];
        if (p->owes != TSM_OWES_BYTES || p->may_change || p->is_announced ||
            is_complete(p->stream, p->position))
            continue;
        p->may_change = p->stream == stream ? p->position < d->position
                                            : tsm_stream_is_behind(stream, d->position,
                                                                   p->stream->number, p->position);
    }
}

static void remember(struct tsm_session *s, struct tsm_deferred *d, struct tsm_stream *stream,
                     uint64_t ticks)
{
    struct tsm_readbacks *r = s->readbacks;
    bool is_contested = false, full;
    uint32_t count;

    tsm_lock_take(&r->lock);
    count_put_off(r);
    if (d->owes == TSM_MAY_WRITE)
        contest(r, &d->box, d->from, stream, d->position);
    if (d->owes >= TSM_MAY_WRITE)
        is_contested = forget_same(r, d, stream);
    else
        forget_overlapping(r, &d->box, stream, d->position);
    if (is_telling(d))
        note_seen_by(r, d, stream);
    full = r->count == TSM_PENDING_COUNT_MAX;
    count = r->count - full;
    if (full)
        memmove(r->all, r->all + 1, count * sizeof(*r->all));
    r->all[count] = (struct tsm_pending){.box = d->box,
                                         .stream = stream,
                                         .position = d->position,
                                         .ticks = ticks,
                                         .owes = d->owes,
                                         .is_weak = d->is_weak,
                                         .is_contested = is_contested,
                                         .from = d->from};
    tsm_readbacks_set_count(r, count + 1);
    tsm_lock_give(&r->lock);
    if (full)
        tsm_session_unmodelled(TOO_MANY, true);
}

static void defer(struct tsm_call *call, const struct tsm_box *box, bool complete,
                  enum tsm_owes owes)
{
    struct tsm_scratch *scratch = call->lane->scratch;

    if (tsm_box_size(box) == 0 || (call->flags & SBT_RECORD_CAPTURED))
        return;
    if (scratch->deferred_count == TSM_SCRATCH_DEFERRED_MAX) {
        tsm_session_unmodelled(TOO_LARGE, true);
        return;
    }
    scratch->deferred[scratch->deferred_count++] =
        (struct tsm_deferred){.box = *box,
                              .stream = tsm_stream_number(call->stream),
                              .position = call->position,
                              .complete = complete || !call->stream,
                              .owes = owes};
}

void tsm_readback(struct tsm_call *call, const struct tsm_box *box, bool complete)
{
    defer(call, box, complete, TSM_OWES_BYTES);
}

void tsm_readback_weak(struct tsm_call *call, const struct tsm_box *box)
{
    struct tsm_scratch *scratch = call->lane->scratch;
    const uint32_t count = scratch->deferred_count;

    if (call->stream)
        defer(call, box, false, TSM_OWES_BYTES);
    if (scratch->deferred_count > count)
        scratch->deferred[count].is_weak = true;
}

void tsm_readback_silent(struct tsm_call *call, const struct tsm_box *box)
{
    if (call->stream)
        defer(call, box, false, TSM_WRITES);
}

void tsm_readback_perhaps(struct tsm_call *call, const struct tsm_box *box, uint64_t from)
{
    struct tsm_scratch *scratch = call->lane->scratch;
    const uint32_t count = scratch->deferred_count;

    if (call->stream)
        defer(call, box, false, from ? TSM_MAY_WRITE : TSM_MIGHT_WRITE);
    if (scratch->deferred_count > count)
        scratch->deferred[count].from = from;
}

/* They forget nothing: the call may fail. */
void tsm_device_announced(struct tsm_call *call)
{
    struct tsm_scratch *scratch = call->lane->scratch;
    struct tsm_readbacks *r = call->lane->session->readbacks;

    if (!call->stream || !scratch->deferred_count)
        return;
    scratch->is_announced = true;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < scratch->deferred_count && r->count < TSM_PENDING_COUNT_MAX; i++) {
        const struct tsm_deferred *d = &scratch->deferred[i];
        r->all[r->count] = (struct tsm_pending){.box = d->box,
                                                .stream = call->stream,
                                                .position = d->position,
                                                .ticks = UINT64_MAX,
                                                .owes = d->owes,
                                                .is_weak = d->is_weak,
                                                .from = d->from,
                                                .is_announced = true};
        tsm_readbacks_set_count(r, r->count + 1);
    }
    tsm_lock_give(&r->lock);
}

/* One entry is left, so that the commit withdraws them. */
void tsm_device_foretold(struct tsm_call *call)
{
    struct tsm_scratch *scratch = call->lane->scratch;

    tsm_device_announced(call);
    if (!scratch->is_announced)
        return;
    scratch->deferred[0].owes = TSM_FORETOLD;
    scratch->deferred_count = 1;
}

static void withdraw(struct tsm_readbacks *r, const struct tsm_deferred *d)
{
    uint32_t kept = 0;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->all[i].is_announced || r->all[i].position != d->position ||
            r->all[i].stream->number != d->stream)
            r->all[kept++] = r->all[i];
    tsm_readbacks_set_count(r, kept);
    tsm_lock_give(&r->lock);
}

void tsm_device_failed(struct tsm_call *call)
{
    struct tsm_scratch *scratch = call->lane->scratch;

    if (scratch->is_announced)
        withdraw(call->lane->session->readbacks, &scratch->deferred[0]);
    scratch->is_announced = false;
    scratch->deferred_count = 0;
}

/* Tests whether a readback of these bytes is open, apart from the bytes that the call itself will
 * write. */
bool tsm_readback_is_open(const struct tsm_call *call, const struct tsm_box *box)
{
    struct tsm_readbacks *r = call->lane->session->readbacks;
    bool found = false;

    if (__atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return false;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count && !found; i++) {
        const struct tsm_pending *p = &r->all[i];
        found = tsm_boxes_overlap(&p->box, box) &&
                !(p->is_announced && p->stream == call->stream && p->position == call->position);
    }
    tsm_lock_give(&r->lock);
    return found;
}

/* Bytes that CUDA gives back are known before they are recorded. */
static bool is_known(const struct tsm_stream *stream, enum tsm_owes owes)
{
    return stream && stream->api == SBT_API_CUDA && owes == TSM_OWES_BYTES;
}

/* The device has. What the program leaves there next is recorded, even if it was there before. */
static void written(struct tsm_session *s, const struct tsm_box *box,
                    const struct tsm_stream *stream, enum tsm_owes owes, uint64_t from,
                    bool is_contested)
{
    const uint64_t start = (uint64_t)(uintptr_t)box->data, end = start + tsm_box_extent(box);

    if (owes >= TSM_MAY_WRITE)
        tsm_hostmem_held(s, start, end, from, is_contested);
    else if (!is_known(stream, owes))
        tsm_hostmem_unknown(s, start, end);
}

/* Its call has waited. If recording has ended meanwhile the bytes may come from commands of other
 * threads that have no record. */
static void write_complete_bytes(struct tsm_lane *lane, const struct tsm_call *call,
                                 const struct tsm_deferred *d)
{
    if (tsm_session_current() != lane->session) {
        tsm_session_unmodelled(ENDED, true);
        return;
    }
    if (is_known(call->stream, d->owes))
        know(lane, &d->box);
    tsm_readback_record(lane, &d->box, (uint64_t)(uintptr_t)d->box.data, d->stream, d->position,
                        TSM_FETCH_DIRECT, 0);
    written(lane->session, &d->box, call->stream, d->owes, d->from, false);
}

void tsm_readback_committed(struct tsm_lane *lane, const struct tsm_call *call)
{
    struct tsm_scratch *scratch = lane->scratch;

    for (uint32_t i = 0; call && i < scratch->deferred_count; i++) {
        struct tsm_deferred *d = &scratch->deferred[i];
        if (d->owes == TSM_FORETOLD)
            continue;
        if (d->complete)
            write_complete_bytes(lane, call, d);
        else
            remember(lane->session, d, call->stream, tsm_call_record(call)->end);
    }
    if (scratch->is_announced)
        withdraw(lane->session->readbacks, &scratch->deferred[0]);
    scratch->is_announced = false;
    scratch->deferred_count = 0;
}

/* ---- memory that belongs to the device for now ------------------------------------------------
 */

void tsm_hostmem_device(tsm_device_gaps *find)
{
    struct tsm_session *s = tsm_session_current();

    if (s)
        __atomic_store_n(&s->readbacks->device, find, __ATOMIC_RELEASE);
}

/* ---- synchronisation --------------------------------------------------------------------------
 */

/* The lock is held. A call that has not returned yet may have overwritten the bytes that are to be
 * recorded: if the driver accepts it, they are forgotten. */
static bool is_contested(const struct tsm_readbacks *r, const struct tsm_pending *p)
{
    bool found = false;

    for (uint32_t i = 0; i < r->count && p->owes == TSM_OWES_BYTES && !found; i++)
        found = r->all[i].is_announced && r->all[i].owes < TSM_MAY_WRITE &&
                tsm_boxes_overlap(&r->all[i].box, &p->box);
    return found;
}

/* The lock is held. A later command that was behind a gate may have begun by now. */
static void resolve(struct tsm_readbacks *r, struct tsm_pending *p)
{
    const bool is_alone = tsm_pending_is_alone(r, p);

    p->over = NULL;
    p->is_overwritten = !is_alone && p->is_covered;
    if (is_alone)
        p->may_change = true;
    else
        share(p);
}

/* Finds the oldest one that is known to be complete. */
static bool find_complete(struct tsm_readbacks *r, struct tsm_pending *out)
{
    bool found = false;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count && !found; i++) {
        struct tsm_stream *stream = r->all[i].stream;
        if (r->all[i].is_announced || r->all[i].is_leaving ||
            (!r->all[i].has_landed && !is_complete(stream, r->all[i].position)) ||
            is_contested(r, &r->all[i]))
            continue;
        *out = r->all[i];
        if (out->is_gated)
            resolve(r, out);
        found = true;
    }
    tsm_lock_give(&r->lock);
    return found;
}

/* It is recorded. Others may have been added and forgotten meanwhile, this one too. */
static void take_out(struct tsm_readbacks *r, const struct tsm_pending *p)
{
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->all[i].stream != p->stream || r->all[i].position != p->position ||
            r->all[i].box.data != p->box.data)
            continue;
        memmove(r->all + i, r->all + i + 1, (r->count - i - 1) * sizeof(*r->all));
        tsm_readbacks_set_count(r, r->count - 1);
        break;
    }
    tsm_lock_give(&r->lock);
}

static void write_bytes(struct tsm_lane *lane, const struct tsm_pending *p)
{
    const uint32_t flags = p->may_change ? SBT_RECORD_HELD : 0;

    if (!flags && p->stream->api == SBT_API_CUDA)
        know(lane, &p->box);
    tsm_readback_record(lane, &p->box, (uint64_t)(uintptr_t)p->box.data, p->stream->number,
                        p->position, TSM_FETCH_SAFE,
                        flags && p->is_contested ? flags | SBT_RECORD_LATE : flags);
}

/* The program may overwrite the bytes as soon as any of its waits returns. So the lock is held
 * while they are read, and they count until then: a thread whose wait is over finds none that
 * another still reads. */
static void write_complete(struct tsm_session *s)
{
    struct tsm_lane *lane;
    struct tsm_pending p;

    if (__atomic_load_n(&s->readbacks->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    tsm_lock_take(&s->readbacks->writing);
    while (lane && find_complete(s->readbacks, &p)) {
        bool owes = p.owes == TSM_OWES_BYTES && !p.is_overwritten;
        if (owes && !p.over)
            write_bytes(lane, &p);
        else if (owes && !p.is_before_over && !is_complete(p.over, p.over_position))
            tsm_session_unmodelled(CHANGED, true);
        take_out(s->readbacks, &p);
        if (!p.is_overwritten)
            written(s, &p.box, p.stream, p.owes, p.from, p.is_contested);
        tsm_scratch_clear(lane);
    }
    tsm_lock_give(&s->readbacks->writing);
    tsm_inside_leave();
}

/* Completes the commands sent before `ticks` to `stream` (NULL: to any stream of `api`). */
static void complete_before(struct tsm_session *s, enum sbt_api api, struct tsm_stream *stream,
                            uint64_t ticks)
{
    struct tsm_readbacks *r = s->readbacks;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct tsm_pending *p = &r->all[i];
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
    /* Commands that another thread sent while this one waited may not be complete. */
    ticks = tsm_thread.lane->header->since;
    complete_before(s, api, stream, ticks);
    if (functions)
        tsm_streams_functions_complete(s->streams, api, stream, ticks);
    if (stream)
        tsm_stream_complete_waits(stream, ticks);
    write_complete(s);
    tsm_hostmem_write_held();
}

static bool is_there(const struct tsm_box *box)
{
    const uint64_t start = (uint64_t)(uintptr_t)box->data;
    char byte;

    return tsm_memory_read(&byte, start, 1) &&
           tsm_memory_read(&byte, start + tsm_box_extent(box) - 1, 1);
}

/* Forgets bytes that the stream gave back into memory which is not there any more. */
static void forget_unmapped(struct tsm_readbacks *r, const struct tsm_stream *stream)
{
    uint32_t kept = 0;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->all[i].stream != stream || r->all[i].owes != TSM_OWES_BYTES ||
            is_there(&r->all[i].box))
            r->all[kept++] = r->all[i];
    tsm_readbacks_set_count(r, kept);
    tsm_lock_give(&r->lock);
}

void tsm_stream_ended(struct tsm_stream *stream)
{
    struct tsm_session *s = tsm_session_current();

    if (!s || !tsm_stream_is_awaited(stream))
        return;
    forget_unmapped(s->readbacks, stream);
    tsm_stream_completed(stream, __atomic_load_n(&stream->sent, __ATOMIC_ACQUIRE));
    tsm_synchronised(stream->api, stream);
}

void tsm_readbacks_before(uint32_t stream, uint64_t position)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_readbacks *r = s ? s->readbacks : NULL;

    if (!r || __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_stream_reached(stream, position);
    write_complete(s);
}

/* ---- what the program may have seen -------------------------------------------------------------
 */

#define ASK_COUNT_MAX 8u /* streams that are asked about before a command */

struct asked {
    struct tsm_stream *stream;
    uint64_t sent; /* before it was asked */
};

/* Finds the streams of which something is pending, and not known to be complete. */
static uint32_t find_asked(struct tsm_readbacks *r, struct asked asked[ASK_COUNT_MAX])
{
    uint32_t count = 0, at;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count && count < ASK_COUNT_MAX; i++) {
        struct tsm_stream *stream = r->all[i].stream;
        if (is_complete(stream, r->all[i].position))
            continue;
        for (at = 0; at < count && asked[at].stream != stream; at++)
            ;
        if (at == count)
            asked[count++] =
                (struct asked){stream, __atomic_load_n(&stream->sent, __ATOMIC_ACQUIRE)};
    }
    tsm_lock_give(&r->lock);
    return count;
}

static bool source_says(const struct tsm_stream *stream)
{
    for (const struct tsm_source *const *source = tsm_sources; *source; source++)
        if ((*source)->description->api == stream->api)
            return (*source)->is_complete && (*source)->is_complete(stream);
    return false;
}

/* The lock is held. */
static uint64_t last_telling(const struct tsm_readbacks *r, const struct tsm_stream *stream,
                             uint64_t sent)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < r->count; i++) {
        const struct tsm_pending *p = &r->all[i];
        if (p->stream == stream && p->position <= sent && p->position > last &&
            (p->owes == TSM_WRITES || p->owes == TSM_MAY_WRITE))
            last = p->position;
    }
    return last;
}

void tsm_readbacks_observed(const struct tsm_stream *stream, uint64_t position)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_readbacks *r = s ? s->readbacks : NULL;

    if (!r || __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        struct tsm_pending *p = &r->all[i];
        if (p->stream == stream && p->position < position && p->owes == TSM_OWES_BYTES &&
            !is_complete(stream, p->position))
            share(p);
    }
    tsm_lock_give(&r->lock);
}

/* It has not waited, but may have seen in its memory what a command after a copy wrote, and have
 * changed the bytes. What is weak is read back after waits only: else it would be chance. */
static void note_telling(struct tsm_readbacks *r, const struct asked *asked)
{
    uint64_t last;

    tsm_lock_take(&r->lock);
    last = last_telling(r, asked->stream, asked->sent);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->all[i].is_weak && r->all[i].stream == asked->stream)
            share(&r->all[i]);
    tsm_lock_give(&r->lock);
    if (last)
        tsm_readbacks_observed(asked->stream, last);
}

void tsm_readbacks_ask(struct tsm_lane *lane)
{
    struct tsm_session *s = lane->session;
    struct asked asked[ASK_COUNT_MAX];
    uint32_t count;

    if (__atomic_load_n(&s->readbacks->count, __ATOMIC_ACQUIRE) == 0)
        return;
    count = find_asked(s->readbacks, asked);
    for (uint32_t i = 0; i < count; i++) {
        if (!source_says(asked[i].stream))
            continue;
        note_telling(s->readbacks, &asked[i]);
        tsm_hostmem_complete(lane, tsm_stream_number(asked[i].stream), asked[i].sent);
        tsm_stream_complete(asked[i].stream, asked[i].sent);
    }
    write_complete(s);
}

void tsm_synchronised_event(const struct tsm_handle *event)
{
    struct tsm_session *s = tsm_session_current();

    if (!s || !event || !tsm_stream_is_at(event, NULL))
        return;
    tsm_stream_complete(event->stream, event->position);
    write_complete(s);
    tsm_hostmem_write_held();
}

/* ---- commands that are complete by themselves --------------------------------------------------
 */

void tsm_readbacks_write(void)
{
    struct tsm_session *s = tsm_session_current();

    if (s)
        write_complete(s);
}

#define TOLD_MAX 64u /* streams */

/* Lists the last command of each stream that something is pending of. */
static uint32_t find_last(struct tsm_readbacks *r, enum sbt_api api,
                          struct tsm_running out[TOLD_MAX])
{
    uint32_t count = 0, at;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct tsm_pending *p = &r->all[i];
        if (p->stream->api != api || p->is_announced || is_complete(p->stream, p->position))
            continue;
        for (at = 0; at < count && out[at].stream != p->stream->number; at++)
            ;
        if (at == count && count == TOLD_MAX)
            continue;
        if (at == count)
            out[count++] = (struct tsm_running){p->stream->number, 0};
        if (p->position > out[at].position)
            out[at].position = p->position;
    }
    tsm_lock_give(&r->lock);
    return count;
}

void tsm_readbacks_all_complete(struct tsm_session *s, struct tsm_lane *lane, enum sbt_api api)
{
    struct tsm_running last[TOLD_MAX];
    const uint32_t count = find_last(s->readbacks, api, last);

    for (uint32_t i = 0; i < count; i++)
        tsm_hostmem_complete(lane, last[i].stream, last[i].position);
    complete_before(s, api, NULL, UINT64_MAX);
    write_complete(s);
}
