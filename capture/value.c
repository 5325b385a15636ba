/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in host memory that the device waits for. A command that writes such a value is in the
 * trace, and so is what the program changed before a command; but a program may also write it while
 * it waits for the GPU, and send nothing more. Then the value that the wait was for is recorded
 * when the wait is known to be over.
 */
#include "capture/session.h"

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
    const struct tsm_stream *stream;
    uint64_t position;
};

static struct tsm_lock lock;
static struct awaited awaited[VALUE_COUNT]; /* oldest first */
static uint32_t awaited_count;              /* looked at without the lock */
static struct written written[VALUE_COUNT]; /* by commands, the last of each address */
static uint32_t written_count;

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

static void remove_awaited(uint32_t at)
{
    memmove(&awaited[at], &awaited[at + 1], (awaited_count - at - 1) * sizeof(awaited[0]));
    __atomic_store_n(&awaited_count, awaited_count - 1, __ATOMIC_RELEASE);
}

static struct written *find_written(uint64_t address)
{
    for (uint32_t i = 0; i < written_count; i++)
        if (written[i].value.address == address)
            return &written[i];
    return NULL;
}

static void note_written(const struct tsm_call *call, const struct tsm_value *value)
{
    struct written *there = find_written(value->address);

    if (!there && written_count < VALUE_COUNT)
        there = &written[written_count++];
    if (there)
        *there = (struct written){*value, call->stream, call->position};
    for (uint32_t i = awaited_count; i-- > 0;)
        if (awaited[i].value.address == value->address && awaited[i].stream != call->stream &&
            passes(&awaited[i].value, value->value))
            remove_awaited(i);
}

/* What the device itself has written before, on the same stream and other than it waits for, is
 * there until the program answers. */
static void note_awaited(const struct tsm_call *call, const struct tsm_value *value)
{
    const struct written *there = find_written(value->address);
    struct tsm_running after = {SBT_STREAM_NONE, 0};

    if (there && passes(value, there->value.value))
        return;
    if (awaited_count == VALUE_COUNT) {
        tsm_session_unmodelled("more than 256 waits for values of the program", true);
        return;
    }
    if (there && there->stream == call->stream)
        after = (struct tsm_running){tsm_stream_number(there->stream), there->position};
    awaited[awaited_count] = (struct awaited){*value, call->stream, call->position, after};
    __atomic_store_n(&awaited_count, awaited_count + 1, __ATOMIC_RELEASE);
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static bool is_followed(const struct tsm_call *call, const struct tsm_value *value)
{
    struct tsm_session *s = tsm_session_current();

    return s && call->stream && !(call->flags & SBT_RECORD_CAPTURED) &&
           tsm_hostmem_holds(s, value->address, value->size);
}

void tsm_value_awaited(const struct tsm_call *call, const struct tsm_value *value)
{
    if (!is_followed(call, value))
        return;
    tsm_lock_take(&lock);
    note_awaited(call, value);
    tsm_lock_give(&lock);
}

void tsm_value_written(struct tsm_call *call, const struct tsm_value *value)
{
    const struct tsm_box box = {.data = (const void *)(uintptr_t)value->address,
                                .width = value->size,
                                .height = 1,
                                .depth = 1,
                                .pitch = value->size,
                                .plane = value->size};

    if (!is_followed(call, value))
        return;
    tsm_readback_silent(call, &box);
    tsm_lock_take(&lock);
    note_written(call, value);
    tsm_lock_give(&lock);
}

/* Called with host memory's lock held, which comes before ours. */
void tsm_values_seen(uint64_t from, const uint8_t *bytes, uint64_t size)
{
    if (__atomic_load_n(&awaited_count, __ATOMIC_ACQUIRE) == 0 &&
        __atomic_load_n(&written_count, __ATOMIC_RELAXED) == 0)
        return;
    tsm_lock_take(&lock);
    for (uint32_t i = awaited_count; i-- > 0;) {
        const struct tsm_value *v = &awaited[i].value;
        uint64_t now = 0;
        if (v->address < from || v->address - from + v->size > size)
            continue;
        memcpy(&now, bytes + (v->address - from), v->size);
        if (passes(v, now))
            remove_awaited(i);
    }
    for (uint32_t i = written_count; i-- > 0;)
        if (written[i].value.address >= from && written[i].value.address - from < size)
            written[i] = written[--written_count]; /* the program's now */
    tsm_lock_give(&lock);
}

static bool is_complete(const struct awaited *a, const struct tsm_stream *stream, uint64_t position)
{
    return !stream || (a->stream == stream && a->position <= position);
}

/* One that is over, with the value that is to be recorded. */
static bool take_settled(const struct tsm_stream *stream, uint64_t position, struct awaited *out)
{
    bool found = false;

    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < awaited_count && !found; i++) {
        uint64_t now = 0;
        *out = awaited[i];
        struct tsm_value *v = &out->value;
        bool there = tsm_memory_read(&now, v->address, v->size) && passes(v, now);
        found = there || is_complete(out, stream, position);
        v->value = there ? now : passing(v);
        if (found)
            remove_awaited(i);
    }
    tsm_lock_give(&lock);
    return found;
}

void tsm_values_publish(void)
{
    if (__atomic_load_n(&awaited_count, __ATOMIC_ACQUIRE) != 0)
        tsm_hostmem_publish();
}

void tsm_values_settle(const struct tsm_stream *stream, uint64_t position)
{
    struct awaited a;

    while (__atomic_load_n(&awaited_count, __ATOMIC_ACQUIRE) != 0 &&
           take_settled(stream, position, &a))
        tsm_hostmem_value(a.value.address, &a.value.value, a.value.size, a.after);
}
