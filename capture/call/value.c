/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in host memory that the device waits for. A command that writes such a value is in the
 * trace, and so is what the program changed before a command; but a program may also write it while
 * it waits for the GPU, and send nothing more. Then the value that the wait was for is recorded
 * when the wait is known to be over.
 */
#include "capture/session.h"

#include "capture/call/streams.h"

#include <string.h>

#define VALUE_COUNT 256u

struct awaited {
    struct tsm_value value;
    const struct tsm_stream *stream;
    uint64_t position;
    struct tsm_running after; /* the command of the stream that had taken such a value back */
};

struct written {
    struct tsm_value value;
    struct tsm_stream *stream;
    uint64_t position;
    bool is_telling; /* other than what was there before: when it is there, the program can know */
};

struct tsm_values {
    struct tsm_lock lock;
    uint32_t awaited_count;              /* looked at without the lock */
    uint32_t written_count;              /* the same */
    struct awaited awaited[VALUE_COUNT]; /* oldest first */
    struct written written[VALUE_COUNT]; /* by commands, the last of each address, oldest first */
};

struct tsm_values *tsm_values_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_values));
}

static bool passes(const struct tsm_value *v, uint64_t now)
{
    switch (v->test) {
    case TSM_VALUE_GEQ:
        return v->size == 8 ? (int64_t)(now - v->value) >= 0
                            : (int32_t)(uint32_t)(now - v->value) >= 0;
    case TSM_VALUE_EQ:
        return now == v->value;
    case TSM_VALUE_AND:
        return (now & v->value) != 0;
    case TSM_VALUE_NOR:
        return v->size == 8 ? ~(now | v->value) != 0 : (uint32_t) ~(now | v->value) != 0;
    }
    return false;
}

/* A value that passes. */
static uint64_t passing(const struct tsm_value *v)
{
    return v->test == TSM_VALUE_NOR ? ~v->value : v->value;
}

/* ---- the lists, under the lock ----------------------------------------------------------------
 */

static void set_count(uint32_t *count, uint32_t to)
{
    __atomic_store_n(count, to, __ATOMIC_RELEASE);
}

static bool is_empty(const uint32_t *count)
{
    return __atomic_load_n(count, __ATOMIC_ACQUIRE) == 0;
}

static void remove_awaited(struct tsm_values *v, uint32_t at)
{
    memmove(&v->awaited[at], &v->awaited[at + 1],
            (v->awaited_count - at - 1) * sizeof(v->awaited[0]));
    set_count(&v->awaited_count, v->awaited_count - 1);
}

static void remove_written(struct tsm_values *v, uint32_t at)
{
    memmove(&v->written[at], &v->written[at + 1],
            (v->written_count - at - 1) * sizeof(v->written[0]));
    set_count(&v->written_count, v->written_count - 1);
}

static const struct written *find_written(const struct tsm_values *v, uint64_t address)
{
    for (uint32_t i = 0; i < v->written_count; i++)
        if (v->written[i].value.address == address)
            return &v->written[i];
    return NULL;
}

/* A wait of the same stream that stands before the write cannot be ended by it. */
static void note_written(struct tsm_values *v, const struct tsm_call *call,
                         const struct tsm_value *value)
{
    const struct written *there = find_written(v, value->address);
    bool is_telling = there ? there->value.value != value->value : value->value != 0;

    if (there)
        remove_written(v, (uint32_t)(there - v->written));
    else if (v->written_count == VALUE_COUNT)
        remove_written(v, 0);
    v->written[v->written_count] =
        (struct written){*value, call->stream, call->position, is_telling};
    set_count(&v->written_count, v->written_count + 1);
    for (uint32_t i = v->awaited_count; i-- > 0;)
        if (v->awaited[i].value.address == value->address && v->awaited[i].stream != call->stream &&
            passes(&v->awaited[i].value, value->value))
            remove_awaited(v, i);
}

/* What the device itself has written before, on the same stream and other than it waits for, is
 * there until the program answers. */
static void note_awaited(struct tsm_values *v, const struct tsm_call *call,
                         const struct tsm_value *value)
{
    const struct written *there = find_written(v, value->address);
    struct tsm_running after = {SBT_STREAM_NONE, 0};

    if (there && passes(value, there->value.value))
        return;
    if (v->awaited_count == VALUE_COUNT) {
        tsm_session_unmodelled("more than 256 waits for values of the program", true);
        return;
    }
    if (there && there->stream == call->stream)
        after = (struct tsm_running){tsm_stream_number(there->stream), there->position};
    v->awaited[v->awaited_count] = (struct awaited){*value, call->stream, call->position, after};
    set_count(&v->awaited_count, v->awaited_count + 1);
}

/* ---- calls ------------------------------------------------------------------------------------
 */

/* NULL: this call's value is none of ours. */
static struct tsm_values *values_of(const struct tsm_call *call, const struct tsm_value *value)
{
    struct tsm_session *s = tsm_session_current();

    return s && call->stream && !(call->flags & SBT_RECORD_CAPTURED) &&
                   tsm_hostmem_holds(s, value->address, value->size)
               ? s->values
               : NULL;
}

void tsm_value_awaited(const struct tsm_call *call, const struct tsm_value *value)
{
    struct tsm_values *v = values_of(call, value);

    if (!v)
        return;
    tsm_lock_take(&v->lock);
    note_awaited(v, call, value);
    tsm_lock_give(&v->lock);
}

void tsm_value_written(struct tsm_call *call, const struct tsm_value *value)
{
    const struct tsm_box box = {.data = (const void *)(uintptr_t)value->address,
                                .width = value->size,
                                .height = 1,
                                .depth = 1,
                                .pitch = value->size,
                                .plane = value->size};
    struct tsm_values *v = values_of(call, value);

    if (!v)
        return;
    tsm_readback_silent(call, &box);
    tsm_lock_take(&v->lock);
    note_written(v, call, value);
    tsm_lock_give(&v->lock);
}

/* Called with host memory's lock held, which comes before ours. */
void tsm_values_seen(struct tsm_session *s, uint64_t from, const uint8_t *bytes, uint64_t size)
{
    struct tsm_values *v = s->values;

    if (is_empty(&v->awaited_count) && is_empty(&v->written_count))
        return;
    tsm_lock_take(&v->lock);
    for (uint32_t i = v->awaited_count; i-- > 0;) {
        const struct tsm_value *value = &v->awaited[i].value;
        uint64_t now = 0;
        if (value->address < from || value->address - from + value->size > size)
            continue;
        memcpy(&now, bytes + (value->address - from), value->size);
        if (passes(value, now))
            remove_awaited(v, i);
    }
    for (uint32_t i = v->written_count; i-- > 0;)
        if (v->written[i].value.address >= from && v->written[i].value.address - from < size)
            remove_written(v, i); /* the program's now */
    tsm_lock_give(&v->lock);
}

/* Finds a value that is there now and was not known to be. */
static bool take_reached(struct tsm_values *v, struct written *out)
{
    bool found = false;

    tsm_lock_take(&v->lock);
    for (uint32_t i = 0; i < v->written_count && !found; i++) {
        struct written *w = &v->written[i];
        uint64_t now = 0;
        if (!w->is_telling || !tsm_memory_read(&now, w->value.address, w->value.size) ||
            now != w->value.value)
            continue;
        w->is_telling = false;
        *out = *w;
        found = true;
    }
    tsm_lock_give(&v->lock);
    return found;
}

void tsm_values_reached(struct tsm_lane *lane)
{
    struct tsm_values *v = lane->session->values;
    struct written w;

    if (is_empty(&v->written_count))
        return;
    while (take_reached(v, &w)) {
        tsm_readbacks_observed(w.stream, w.position);
        tsm_hostmem_complete(lane, tsm_stream_number(w.stream), w.position);
        tsm_stream_complete(w.stream, w.position);
    }
}

static bool is_complete(const struct awaited *a, uint32_t stream, uint64_t position)
{
    return stream == SBT_STREAM_NONE ||
           (tsm_stream_number(a->stream) == stream && a->position <= position);
}

/* One that is over, with the value that is to be recorded. */
static bool take_settled(struct tsm_values *v, uint32_t stream, uint64_t position,
                         struct awaited *out)
{
    bool found = false;

    tsm_lock_take(&v->lock);
    for (uint32_t i = 0; i < v->awaited_count && !found; i++) {
        struct tsm_value *value = &out->value;
        uint64_t now = 0;
        *out = v->awaited[i];
        bool there = tsm_memory_read(&now, value->address, value->size) && passes(value, now);
        found = there || is_complete(out, stream, position);
        value->value = there ? now : passing(value);
        if (found)
            remove_awaited(v, i);
    }
    tsm_lock_give(&v->lock);
    return found;
}

void tsm_values_publish(void)
{
    struct tsm_session *s = tsm_session_current();

    if (s && !is_empty(&s->values->awaited_count))
        tsm_hostmem_publish();
}

void tsm_values_publish_completed_number(uint32_t stream, uint64_t position)
{
    struct tsm_session *s = tsm_session_current();
    struct awaited a;

    while (s && !is_empty(&s->values->awaited_count) &&
           take_settled(s->values, stream, position, &a))
        tsm_hostmem_value(&a.value, a.after);
}

void tsm_values_publish_completed(const struct tsm_stream *stream, uint64_t position)
{
    tsm_values_publish_completed_number(stream ? tsm_stream_number(stream) : SBT_STREAM_NONE,
                                        position);
}

bool tsm_values_await(struct tsm_session *s, const struct tsm_stream *stream)
{
    struct tsm_values *v = s->values;
    bool found = false;

    if (is_empty(&v->awaited_count) && is_empty(&v->written_count))
        return false;
    tsm_lock_take(&v->lock);
    for (uint32_t i = 0; i < v->awaited_count && !found; i++)
        found = v->awaited[i].stream == stream;
    for (uint32_t i = 0; i < v->written_count && !found; i++)
        found = v->written[i].stream == stream;
    tsm_lock_give(&v->lock);
    return found;
}
