/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals: what the host does to them, and what it learns from them.
 *
 * A change has its place in the trace before it is made, so that a wait that it ends comes after
 * it; and its call is over when it is made, so that a checkpoint finds both or neither. A value
 * that was read is recorded only where it tells something: that commands are complete of which this
 * was not known.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/condition.h"
#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "base/clock.h"

#include <string.h>

/* ---- changes by the host -----------------------------------------------------------------------
 */

struct change {
    struct tsm_call call;
    struct hsa_turn turn;
    bool has_begun;
};

/* Before the change: what is complete by now was so before it, and what waits for the signal sees
 * what the program has written until here. */
static void turns(struct change *change, hsa_signal_t signal)
{
    hsa_soft_ring(signal);
    hsa_pointers_look(false);
    hsa_signal_changed(signal);
    hsa_look_at(signal);
    if (hsa_count_is_awaited(signal)) {
        tsm_hostmem_publish();
        hsa_count_publish_arguments();
    }
    change->turn = hsa_count_turn(signal);
    hsa_await_lookers(); /* what others have seen it hold goes before the change */
}

/* It was the doorbell of a queue, and all is done. */
WRAPPED bool is_doorbell(hsa_signal_t signal, hsa_signal_value_t value)
{
    struct hsa_queue_state *queue = hsa_queue_by_doorbell(signal);

    if (!queue)
        return false;
    hsa_queue_ring(queue, value);
    __asm__ volatile(""); /* a call, no jump: the hook's frame has to be there */
    return true;
}

/* Records a change of a signal. Returns false if the signal was a doorbell. */
WRAPPED bool changes(struct change *change, uint32_t type, hsa_signal_t signal,
                     hsa_signal_value_t value)
{
    if (is_doorbell(signal, value))
        return false;
    turns(change, signal);
    change->has_begun = tsm_call_begin(&change->call, type);
    if (!change->has_begun)
        return true;
    tsm_call_returned(&change->call, 0, false);
    tsm_call_slot(&change->call, hsa_signal_id(signal));
    tsm_call_slot(&change->call, (uint64_t)value);
    return true;
}

#define CHANGE_(name, how, by)                                                                     \
    void hook_hsa_signal_##name(hsa_signal_t signal, hsa_signal_value_t value)                     \
    {                                                                                              \
        struct change change;                                                                      \
        if (!changes(&change, TYPE_hsa_signal_##name, signal, value))                              \
            return;                                                                                \
        hsa_runtime.hsa_signal_##name(signal, value);                                              \
        if (change.has_begun)                                                                      \
            tsm_call_commit(&change.call);                                                         \
        hsa_count_turned(&change.turn, how, by, NULL);                                             \
    }
#define SET(name)      CHANGE_(name, HSA_CHANGES_ALL, value)
#define ADD(name)      CHANGE_(name, HSA_CHANGES_BY, value)
#define SUBTRACT(name) CHANGE_(name, HSA_CHANGES_BY, -value)
#define BITS(name)     CHANGE_(name, HSA_CHANGES_BITS, value)

SET(store_screlease)
SET(store_release)
SET(store_relaxed)
SET(silent_store_screlease)
SET(silent_store_relaxed)

#define EACH_ORDER(DEFINE, name)                                                                   \
    DEFINE(name##_acq_rel)                                                                         \
    DEFINE(name##_acquire)                                                                         \
    DEFINE(name##_relaxed)                                                                         \
    DEFINE(name##_release)                                                                         \
    DEFINE(name##_scacq_screl)                                                                     \
    DEFINE(name##_scacquire)                                                                       \
    DEFINE(name##_screlease)
EACH_ORDER(ADD, add)
EACH_ORDER(SUBTRACT, subtract)
EACH_ORDER(BITS, and)
EACH_ORDER(BITS, or)
EACH_ORDER(BITS, xor)

/* The record has its place before the change, and in its result what the signal held: so much was
 * counted down by then. */
WRAPPED void swaps(struct change *change, uint32_t type, hsa_signal_t signal,
                   const hsa_signal_value_t *expected, hsa_signal_value_t value)
{
    turns(change, signal);
    change->has_begun = tsm_call_begin(&change->call, type);
    if (!change->has_begun)
        return;
    tsm_call_slot(&change->call, hsa_signal_id(signal));
    if (expected)
        tsm_call_slot(&change->call, (uint64_t)*expected);
    tsm_call_slot(&change->call, (uint64_t)value);
    tsm_call_takes_effect();
}

/* One that changes nothing is a look. */
WRAPPED void swapped(struct change *change, hsa_signal_t signal, bool changed,
                     hsa_signal_value_t value, hsa_signal_value_t before)
{
    struct hsa_landing *seen;

    if (change->has_begun && changed) {
        tsm_call_returned(&change->call, before, false);
        tsm_call_commit(&change->call);
    } else if (change->has_begun) {
        tsm_call_drop(&change->call);
    }
    seen = hsa_count_turned(&change->turn, changed ? HSA_CHANGES_ALL : HSA_CHANGES_NOTHING, value,
                            &before);
    if (seen)
        hsa_take_note(changed ? seen : NULL, changed ? NULL : seen);
}

/* A doorbell's former value means nothing. */
#define EXCHANGE(name)                                                                             \
    hsa_signal_value_t hook_hsa_signal_##name(hsa_signal_t signal, hsa_signal_value_t value)       \
    {                                                                                              \
        struct change change;                                                                      \
        hsa_signal_value_t before;                                                                 \
        if (is_doorbell(signal, value))                                                            \
            return 0;                                                                              \
        swaps(&change, TYPE_hsa_signal_##name, signal, NULL, value);                               \
        before = hsa_runtime.hsa_signal_##name(signal, value);                                     \
        swapped(&change, signal, before != value, value, before);                                  \
        return before;                                                                             \
    }
EACH_ORDER(EXCHANGE, exchange)

#define COMPARE(name)                                                                              \
    hsa_signal_value_t hook_hsa_signal_##name(hsa_signal_t signal, hsa_signal_value_t expected,    \
                                              hsa_signal_value_t value)                            \
    {                                                                                              \
        struct change change;                                                                      \
        hsa_signal_value_t before;                                                                 \
        if (is_doorbell(signal, value))                                                            \
            return expected;                                                                       \
        swaps(&change, TYPE_hsa_signal_##name, signal, &expected, value);                          \
        before = hsa_runtime.hsa_signal_##name(signal, expected, value);                           \
        swapped(&change, signal, before == expected && before != value, value, before);            \
        return before;                                                                             \
    }
EACH_ORDER(COMPARE, cas)

/* ---- looks -------------------------------------------------------------------------------------
 */

WRAPPED hsa_signal_value_t loaded(uint32_t type, hsa_signal_t signal, hsa_signal_value_t value)
{
    struct tsm_call call;

    hsa_pointers_look(false);
    hsa_signal_observed(signal, value);
    if (!hsa_count_is_news(signal, value)) {
        hsa_await_lookers();
        return value;
    }
    if (!tsm_call_begin(&call, type))
        return value;
    tsm_call_returned(&call, value, false);
    tsm_call_slot(&call, hsa_signal_id(signal));
    tsm_call_slot(&call, (uint64_t)value);
    tsm_call_commit(&call);
    hsa_seen(signal, value);
    return value;
}

#define LOAD(order)                                                                                \
    hsa_signal_value_t hook_hsa_signal_load_##order(hsa_signal_t signal)                           \
    {                                                                                              \
        return loaded(TYPE_hsa_signal_load_##order, signal,                                        \
                      hsa_runtime.hsa_signal_load_##order(signal));                                \
    }
LOAD(scacquire)
LOAD(acquire)
LOAD(relaxed)

/* ---- waits -------------------------------------------------------------------------------------
 */

typedef hsa_signal_value_t (*wait_function)(hsa_signal_t signal, hsa_signal_condition_t condition,
                                            hsa_signal_value_t compare_value, uint64_t timeout_hint,
                                            hsa_wait_state_t wait_state_hint);

/* A call has waited: what another process did to the signal gets its record before the wait's.
 * False: the call is not recorded any more. */
WRAPPED bool explained(struct tsm_call *call, uint32_t type, hsa_signal_t signal,
                       hsa_signal_value_t value)
{
    uint64_t now;

    if (!hsa_signal_is_foreign(signal) && !hsa_pointers_any())
        return true;
    tsm_call_drop(call);
    hsa_pointers_look(true);
    hsa_signal_observed(signal, value);
    now = tsm_ticks();
    if (!tsm_call_begin(call, type))
        return false;
    tsm_call_since(call, now);
    return true;
}

/* One that was given up counts as failed: nothing is known from it. */
WRAPPED hsa_signal_value_t waits(uint32_t type, wait_function wait, hsa_signal_t signal,
                                 hsa_signal_condition_t condition, hsa_signal_value_t compare,
                                 uint64_t timeout, hsa_wait_state_t state)
{
    struct tsm_call call;
    hsa_signal_value_t value;

    hsa_pointers_look(false);
    if (!tsm_call_begin(&call, type))
        return wait(signal, condition, compare, timeout, state);
    value = wait(signal, condition, compare, timeout, state);
    if (!explained(&call, type, signal, value))
        return value;
    tsm_call_returned(&call, value, !hsa_condition_holds(value, condition, compare));
    tsm_call_slot(&call, hsa_signal_id(signal));
    tsm_call_slot(&call, condition);
    tsm_call_slot(&call, (uint64_t)compare);
    tsm_call_slot(&call, timeout);
    tsm_call_slot(&call, state);
    tsm_call_slot(&call, (uint64_t)value);
    tsm_call_commit(&call);
    hsa_seen(signal, value);
    return value;
}

#define WAIT(order)                                                                                \
    hsa_signal_value_t hook_hsa_signal_wait_##order(                                               \
        hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare_value,   \
        uint64_t timeout_hint, hsa_wait_state_t wait_state_hint)                                   \
    {                                                                                              \
        return waits(TYPE_hsa_signal_wait_##order, hsa_runtime.hsa_signal_wait_##order, signal,    \
                     condition, compare_value, timeout_hint, wait_state_hint);                     \
    }
WAIT(scacquire)
WAIT(acquire)
WAIT(relaxed)

uint32_t hook_hsa_amd_signal_wait_any(uint32_t signal_count, hsa_signal_t *signals,
                                      hsa_signal_condition_t *conds, hsa_signal_value_t *values,
                                      uint64_t timeout_hint, hsa_wait_state_t wait_hint,
                                      hsa_signal_value_t *satisfying_value)
{
    hsa_signal_value_t value = 0;
    struct tsm_call call;
    uint32_t which;
    bool ok;

    hsa_pointers_look(false);
    if (!tsm_call_begin(&call, TYPE_hsa_amd_signal_wait_any))
        return hsa_runtime.hsa_amd_signal_wait_any(signal_count, signals, conds, values,
                                                   timeout_hint, wait_hint, satisfying_value);
    which = hsa_runtime.hsa_amd_signal_wait_any(signal_count, signals, conds, values, timeout_hint,
                                                wait_hint, &value);
    ok = which < signal_count;
    if (satisfying_value && ok)
        *satisfying_value = value;
    if (ok && !explained(&call, TYPE_hsa_amd_signal_wait_any, signals[which], value))
        return which;
    tsm_call_returned(&call, which, !ok);
    tsm_call_slot(&call, signal_count);
    tsm_call_slot(&call, timeout_hint);
    tsm_call_slot(&call, wait_hint);
    tsm_call_slot(&call, ok ? hsa_signal_id(signals[which]) : 0);
    tsm_call_slot(&call, ok ? conds[which] : 0);
    tsm_call_slot(&call, ok ? (uint64_t)values[which] : 0);
    tsm_call_slot(&call, (uint64_t)value);
    tsm_call_commit(&call);
    if (ok)
        hsa_seen(signals[which], value);
    return which;
}

/* ---- signals that go ---------------------------------------------------------------------------
 */

hsa_status_t hook_hsa_signal_destroy(hsa_signal_t signal)
{
    struct tsm_call call;
    hsa_status_t status;
    uint64_t id;

    hsa_look_at(signal);
    if (!tsm_call_begin(&call, TYPE_hsa_signal_destroy))
        return hsa_runtime.hsa_signal_destroy(signal);
    hsa_count_forget(signal);
    hsa_pointers_forget(signal);
    id = hsa_id_destroyed(HSA_OBJECT_SIGNAL, signal.handle);
    status = hsa_runtime.hsa_signal_destroy(signal);
    tsm_call_returned(&call, status, status != HSA_STATUS_SUCCESS);
    tsm_call_slot(&call, id);
    tsm_call_commit(&call);
    return status;
}

/* With the runtime all of them go. */
hsa_status_t hook_hsa_shut_down(void)
{
    struct tsm_call call;
    hsa_status_t status;
    uint64_t now;

    hsa_look_around();
    hsa_gpu_time_collect();
    hsa_uses_ending();
    if (!tsm_call_begin(&call, TYPE_hsa_shut_down))
        return hsa_runtime.hsa_shut_down();
    status = hsa_runtime.hsa_shut_down();
    tsm_call_returned(&call, status, status != HSA_STATUS_SUCCESS);
    tsm_call_commit(&call);
    if (hsa_runtime.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now) != HSA_STATUS_SUCCESS) {
        hsa_counts_forget();
        hsa_gpu_time_forget();
    }
    return status;
}

/* ---- groups ------------------------------------------------------------------------------------
 */

/* Members of a signal group, as `user` of its handle. */
struct members {
    uint32_t count;
    hsa_signal_t all[];
};

void hsa_after_group(struct tsm_call *call, bool ok, uint32_t count, const hsa_signal_t *signals,
                     hsa_signal_group_t *group)
{
    struct tsm_handle *handle = ok ? hsa_find(HSA_OBJECT_GROUP, group->handle) : NULL;
    struct members *members =
        handle ? hsa_keep(sizeof(*members) + count * sizeof(members->all[0])) : NULL;
    uint64_t *ids = members ? tsm_call_scratch(call, count * sizeof(*ids)) : NULL;

    if (members) {
        members->count = count;
        memcpy(members->all, signals, count * sizeof(members->all[0]));
        handle->user = members;
    }
    for (uint32_t i = 0; ids && i < count; i++)
        ids[i] = hsa_signal_id(signals[i]);
    tsm_call_bytes(call, ids, ids ? count * sizeof(*ids) : 0);
}

/* The signal's place in the group; 0 where that is not known. */
static uint32_t place_in(hsa_signal_group_t group, hsa_signal_t signal)
{
    const struct tsm_handle *handle = hsa_find(HSA_OBJECT_GROUP, group.handle);
    const struct members *members = handle ? handle->user : NULL;

    for (uint32_t i = 0; members && i < members->count; i++)
        if (members->all[i].handle == signal.handle)
            return i;
    return 0;
}

typedef hsa_status_t (*group_function)(hsa_signal_group_t signal_group,
                                       const hsa_signal_condition_t *conditions,
                                       const hsa_signal_value_t *compare_values,
                                       hsa_wait_state_t wait_state_hint, hsa_signal_t *signal,
                                       hsa_signal_value_t *value);

WRAPPED hsa_status_t group_waits(uint32_t type, group_function wait, hsa_signal_group_t group,
                                 const hsa_signal_condition_t *conditions,
                                 const hsa_signal_value_t *compare_values, hsa_wait_state_t state,
                                 hsa_signal_t *signal, hsa_signal_value_t *value)
{
    struct tsm_call call;
    hsa_status_t status;
    uint32_t at;
    bool ok;

    hsa_pointers_look(false);
    if (!tsm_call_begin(&call, type))
        return wait(group, conditions, compare_values, state, signal, value);
    status = wait(group, conditions, compare_values, state, signal, value);
    ok = status == HSA_STATUS_SUCCESS;
    if (ok && !explained(&call, type, *signal, *value))
        return status;
    at = ok ? place_in(group, *signal) : 0;
    tsm_call_returned(&call, status, !ok);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_GROUP, group.handle));
    tsm_call_slot(&call, state);
    tsm_call_slot(&call, ok ? hsa_signal_id(*signal) : 0);
    tsm_call_slot(&call, ok ? conditions[at] : 0);
    tsm_call_slot(&call, ok ? (uint64_t)compare_values[at] : 0);
    tsm_call_slot(&call, ok ? (uint64_t)*value : 0);
    tsm_call_commit(&call);
    if (ok)
        hsa_seen(*signal, *value);
    return status;
}

#define GROUP_WAIT(order)                                                                          \
    hsa_status_t hook_hsa_signal_group_wait_any_##order(                                           \
        hsa_signal_group_t signal_group, const hsa_signal_condition_t *conditions,                 \
        const hsa_signal_value_t *compare_values, hsa_wait_state_t wait_state_hint,                \
        hsa_signal_t *signal, hsa_signal_value_t *value)                                           \
    {                                                                                              \
        return group_waits(TYPE_hsa_signal_group_wait_any_##order,                                 \
                           hsa_runtime.hsa_signal_group_wait_any_##order, signal_group,            \
                           conditions, compare_values, wait_state_hint, signal, value);            \
    }
GROUP_WAIT(scacquire)
GROUP_WAIT(relaxed)
