/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in host memory that the device waits for. A command that writes such a value is in the
 * trace, and so is what the program changed before a command; but a program may also write it while
 * it waits for the GPU, and send nothing more. Then the value that the wait was for is recorded
 * when the wait is known to be over.
 */
#include "capture/call/values.h"
#include "capture/call/readbacks.h"
#include "capture/call/value.h"
#include "capture/memory/host_changes.h"

#include <errno.h>

/* ---- the lists, under the lock ----------------------------------------------------------------
 */

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
    tsm_values_note_awaited(v, call, value);
    tsm_lock_give(&v->lock);
    tsm_readbacks_gate(call, value);
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
    tsm_values_note_written(v, call, value);
    tsm_lock_give(&v->lock);
}

void tsm_values_reached(struct tsm_lane *lane)
{
    struct tsm_values *v = lane->session->values;
    struct tsm_written_value w;

    if (tsm_values_none(&v->written_count))
        return;
    while (tsm_values_take_reached(v, &w)) {
        tsm_readbacks_observed(w.stream, w.position);
        tsm_hostmem_complete(lane, tsm_stream_number(w.stream), w.position);
        tsm_stream_complete(w.stream, w.position);
    }
}

/* The program may have seen values that commands wrote, and not have changed anything yet. */
static void look_at_written(struct tsm_session *s)
{
    struct tsm_lane *lane;
    int saved_errno = errno;

    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    if (lane) {
        tsm_values_reached(lane);
        tsm_readbacks_write();
    }
    tsm_inside_leave();
    errno = saved_errno;
}

void tsm_values_publish(void)
{
    struct tsm_session *s = tsm_session_current();

    if (s && !tsm_values_none(&s->values->awaited_count))
        tsm_hostmem_publish();
    else if (s && !tsm_values_none(&s->values->written_count))
        look_at_written(s);
}

void tsm_values_publish_completed_number(uint32_t stream, uint64_t position)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_awaited_value a;

    while (s && !tsm_values_none(&s->values->awaited_count) &&
           tsm_values_take_passed(s->values, stream, position, &a))
        tsm_hostmem_value(&a.value, a.after);
}

void tsm_values_publish_completed(const struct tsm_stream *stream, uint64_t position)
{
    tsm_values_publish_completed_number(stream ? tsm_stream_number(stream) : SBT_STREAM_NONE,
                                        position);
}
