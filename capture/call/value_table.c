/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of values in host memory that commands wait for, or have written.
 */
#include "capture/call/values.h"
#include "capture/call/value.h"
#include "capture/memory/gaps.h"
#include "capture/parts.h"

#include <string.h>

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

bool tsm_value_is_there(const struct tsm_value *value)
{
    uint64_t now = 0;

    return tsm_memory_read(&now, value->address, value->size) && passes(value, now);
}

/* A value that passes. */
static uint64_t passing(const struct tsm_value *v)
{
    return v->test == TSM_VALUE_NOR ? ~v->value : v->value;
}

static void set_count(uint32_t *count, uint32_t to)
{
    __atomic_store_n(count, to, __ATOMIC_RELEASE);
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

static const struct tsm_written_value *find_written(const struct tsm_values *v, uint64_t address)
{
    for (uint32_t i = 0; i < v->written_count; i++)
        if (v->written[i].value.address == address)
            return &v->written[i];
    return NULL;
}

void tsm_values_note_written(struct tsm_values *v, const struct tsm_call *call,
                             const struct tsm_value *value)
{
    const struct tsm_written_value *there = find_written(v, value->address);
    bool is_telling = there ? there->value.value != value->value : value->value != 0;

    if (there)
        remove_written(v, (uint32_t)(there - v->written));
    else if (v->written_count == VALUE_COUNT)
        remove_written(v, 0);
    v->written[v->written_count] =
        (struct tsm_written_value){*value, call->stream, call->position, is_telling};
    set_count(&v->written_count, v->written_count + 1);
    for (uint32_t i = v->awaited_count; i-- > 0;)
        if (v->awaited[i].value.address == value->address && v->awaited[i].stream != call->stream &&
            passes(&v->awaited[i].value, value->value))
            remove_awaited(v, i);
}

void tsm_values_note_awaited(struct tsm_values *v, const struct tsm_call *call,
                             const struct tsm_value *value)
{
    const struct tsm_written_value *there = find_written(v, value->address);
    struct tsm_running after = {SBT_STREAM_NONE, 0};

    if (there && passes(value, there->value.value))
        return;
    if (v->awaited_count == VALUE_COUNT) {
        tsm_session_unmodelled("more than 256 waits for values of the program", true);
        return;
    }
    if (there && there->stream == call->stream)
        after = (struct tsm_running){tsm_stream_number(there->stream), there->position};
    v->awaited[v->awaited_count] =
        (struct tsm_awaited_value){*value, call->stream, call->position, after};
    set_count(&v->awaited_count, v->awaited_count + 1);
}

/* Called with host memory's lock held, which comes before ours. */
void tsm_values_seen(struct tsm_session *s, uint64_t from, const uint8_t *bytes, uint64_t size)
{
    struct tsm_values *v = s->values;

    if (tsm_values_none(&v->awaited_count) && tsm_values_none(&v->written_count))
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

bool tsm_values_take_reached(struct tsm_values *v, struct tsm_written_value *out)
{
    bool found = false;

    tsm_lock_take(&v->lock);
    for (uint32_t i = 0; i < v->written_count && !found; i++) {
        struct tsm_written_value *w = &v->written[i];
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

static bool is_complete(const struct tsm_awaited_value *a, uint32_t stream, uint64_t position)
{
    return stream == SBT_STREAM_NONE ||
           (tsm_stream_number(a->stream) == stream && a->position <= position);
}

bool tsm_values_take_passed(struct tsm_values *v, uint32_t stream, uint64_t position,
                            struct tsm_awaited_value *out)
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

bool tsm_values_await(struct tsm_session *s, const struct tsm_stream *stream)
{
    struct tsm_values *v = s->values;
    bool found = false;

    if (tsm_values_none(&v->awaited_count) && tsm_values_none(&v->written_count))
        return false;
    tsm_lock_take(&v->lock);
    for (uint32_t i = 0; i < v->awaited_count && !found; i++)
        found = v->awaited[i].stream == stream;
    for (uint32_t i = 0; i < v->written_count && !found; i++)
        found = v->written[i].stream == stream;
    tsm_lock_give(&v->lock);
    return found;
}
