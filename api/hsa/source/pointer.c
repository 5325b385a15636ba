/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals that others change. What they do to a signal shows in the values that the program sees:
 * that is recorded as if the program had stored them; where only the GPU waits, it counts as over.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/condition.h"
#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "capture/lock.h"

static void record_store(hsa_signal_t signal, hsa_signal_value_t value)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, TYPE_hsa_signal_store_screlease))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, hsa_signal_id(signal));
    tsm_call_slot(&call, (uint64_t)value);
    tsm_call_commit(&call);
}

void hsa_signal_counted(hsa_signal_t signal)
{
    hsa_signal_value_t value;

    if (hsa_signal_sharing(signal) != HSA_SIGNAL_POINTED_TO)
        return;
    hsa_look_at(signal);
    if (hsa_count_rearmed(signal, &value))
        record_store(signal, value);
}

/* The handle's position has no other use while it has no stream: the newest value, plus 1. */
void hsa_signal_observed(hsa_signal_t signal, hsa_signal_value_t value)
{
    struct tsm_handle *handle =
        hsa_signal_is_foreign(signal) ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;

    if (!handle || handle->position == (uint64_t)value + 1)
        return;
    handle->position = (uint64_t)value + 1;
    record_store(signal, value);
}

void hsa_signal_changed(hsa_signal_t signal)
{
    struct tsm_handle *handle =
        hsa_signal_is_foreign(signal) ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;

    if (handle)
        handle->position = 0;
}

/* A value with which the condition holds. */
static hsa_signal_value_t satisfying(uint32_t condition, hsa_signal_value_t compare)
{
    switch (condition) {
    case HSA_SIGNAL_CONDITION_NE:
        return compare ^ 1;
    case HSA_SIGNAL_CONDITION_LT:
        return compare - 1;
    default:
        return compare;
    }
}

/* ---- signals that the program sets through a pointer, which commands wait for -------------------
 */

#define POINTER_MAX 64u

static struct tsm_lock pointer_lock;
static struct hsa_wait pointers[POINTER_MAX];
static uint32_t pointer_count;

void hsa_pointers_forked(void)
{
    pointer_lock = (struct tsm_lock){0};
    pointer_count = 0;
}

bool hsa_pointers_any(void)
{
    return __atomic_load_n(&pointer_count, __ATOMIC_ACQUIRE) != 0;
}

static bool add_pointer(const struct hsa_wait *wait)
{
    bool has_room;

    tsm_lock_take(&pointer_lock);
    has_room = pointer_count < POINTER_MAX;
    if (has_room) {
        pointers[pointer_count] = *wait;
        __atomic_store_n(&pointer_count, pointer_count + 1, __ATOMIC_RELEASE);
    }
    tsm_lock_give(&pointer_lock);
    return has_room;
}

/* One that lets its command go on. */
static bool take_pointer(hsa_signal_t *signal, hsa_signal_value_t *value)
{
    bool found = false;

    tsm_lock_take(&pointer_lock);
    for (uint32_t i = 0; i < pointer_count && !found; i++) {
        const struct hsa_wait *p = &pointers[i];
        *signal = p->signal;
        *value = hsa_runtime.hsa_signal_load_scacquire(p->signal);
        found = hsa_condition_holds(*value & p->mask, p->condition, p->compare);
        if (found) {
            pointers[i] = pointers[pointer_count - 1];
            __atomic_store_n(&pointer_count, pointer_count - 1, __ATOMIC_RELEASE);
        }
    }
    tsm_lock_give(&pointer_lock);
    return found;
}

/* Records first what the program wrote before it let the command go on. If it has waited since, the
 * command may have written there, too. */
void hsa_pointers_look(bool is_late)
{
    hsa_signal_value_t value;
    hsa_signal_t signal;

    while (hsa_pointers_any() && take_pointer(&signal, &value)) {
        hsa_uses_opened(signal);
        tsm_hostmem_publish();
        hsa_count_publish_arguments();
        if (is_late && tsm_hostmem_any())
            tsm_session_unmodelled("a signal that was set through a pointer during a wait", true);
        record_store(signal, value);
    }
}

void hsa_pointers_forget(hsa_signal_t signal)
{
    tsm_lock_take(&pointer_lock);
    for (uint32_t i = pointer_count; i-- > 0;)
        if (pointers[i].signal.handle == signal.handle) {
            pointers[i] = pointers[pointer_count - 1];
            __atomic_store_n(&pointer_count, pointer_count - 1, __ATOMIC_RELEASE);
        }
    tsm_lock_give(&pointer_lock);
}

/* Commands that were sent before may wait for the signal. */
void hsa_after_value_pointer(struct tsm_call *call, bool ok, hsa_signal_t signal)
{
    struct tsm_handle *handle = ok ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;
    struct hsa_wait waits[HSA_WAITS_MAX];
    bool has_more = false, is_first = handle && handle->owner != HSA_SIGNAL_POINTED_TO;
    uint32_t count = is_first ? hsa_count_waits(signal, waits, &has_more) : 0;

    hsa_signal_share(handle, HSA_SIGNAL_POINTED_TO);
    if (!hsa_signal_is_foreign(signal))
        return;
    for (uint32_t i = 0; i < count; i++)
        has_more |= !add_pointer(&waits[i]);
    if (has_more)
        tsm_session_unmodelled("a signal whose value the program got a pointer to while many "
                               "commands waited for it",
                               true);
}

void hsa_signal_awaited(const struct hsa_wait *wait)
{
    hsa_signal_t signal = wait->signal;
    const struct tsm_handle *handle =
        hsa_signal_is_foreign(signal) ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;

    if (!handle || handle->owner < HSA_SIGNAL_ATTACHED)
        return;
    if (handle->owner == HSA_SIGNAL_POINTED_TO && add_pointer(wait))
        hsa_pointers_look(false);
    else
        record_store(signal, satisfying(wait->condition, wait->compare));
}
