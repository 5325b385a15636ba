/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals: those of the recording are real signals here, with the same values.
 */
#include "api/hsa/condition.h"
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>

struct hsa_signal_state *hsa_signal_find(const struct hsa_replay *replay, uint64_t id)
{
    return (void *)(uintptr_t)hsa_object_find(replay, HSA_OBJECT_SIGNAL, id);
}

hsa_signal_t hsa_signal_raw(const struct hsa_replay *replay, uint64_t id)
{
    const struct hsa_signal_state *signal = hsa_signal_find(replay, id);

    return signal ? signal->raw : (hsa_signal_t){0};
}

/* ---- what it will be ---------------------------------------------------------------------------
 */

static bool is_known(const struct hsa_signal_state *signal)
{
    return __atomic_load_n(&signal->is_known, __ATOMIC_SEQ_CST);
}

static void set_known(struct hsa_signal_state *signal, bool known)
{
    __atomic_store_n(&signal->is_known, known, __ATOMIC_SEQ_CST);
}

void hsa_signal_sent(struct hsa_signal_state *signal)
{
    if (signal)
        __atomic_fetch_sub(&signal->expected, 1, __ATOMIC_SEQ_CST);
}

void hsa_signal_not_sent(struct hsa_signal_state *signal)
{
    if (signal)
        __atomic_fetch_add(&signal->expected, 1, __ATOMIC_SEQ_CST);
}

/* Waits until the signal has such a value, or never will, because the sandbox has ended with the
 * kernels that would count it down. */
static int wait_for(const struct hsa_replay *replay, hsa_signal_t signal, uint64_t condition,
                    int64_t compare)
{
    uint64_t slice = UINT64_MAX;
    int error = 0;

    if (replay->has_sandbox &&
        replay->calls.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &slice) ==
            HSA_STATUS_SUCCESS)
        slice /= 10;
    while (!error && !hsa_condition_holds(replay->calls.hsa_signal_wait_scacquire(
                                              signal, (hsa_signal_condition_t)condition, compare,
                                              slice, HSA_WAIT_STATE_BLOCKED),
                                          condition, compare))
        error = hsa_streams_check(replay);
    return error;
}

int hsa_signal_wait_complete(const struct hsa_replay *replay, const struct hsa_signal_state *signal)
{
    if (!signal || !is_known(signal))
        return 0;
    return wait_for(replay, signal->raw, HSA_SIGNAL_CONDITION_LT,
                    __atomic_load_n(&signal->expected, __ATOMIC_SEQ_CST) + 1);
}

void hsa_signal_wanted(struct hsa_signal_state *signal, int64_t value)
{
    if (!signal)
        return;
    __atomic_store_n(&signal->wanted, value, __ATOMIC_SEQ_CST);
    __atomic_store_n(&signal->is_wanted, true, __ATOMIC_SEQ_CST);
}

/* Tests whether commands wait for a value of this signal that no command is going to give it. */
static bool is_awaited(const struct hsa_signal_state *signal)
{
    return __atomic_load_n(&signal->is_wanted, __ATOMIC_SEQ_CST) &&
           (!is_known(signal) || __atomic_load_n(&signal->expected, __ATOMIC_SEQ_CST) !=
                                     __atomic_load_n(&signal->wanted, __ATOMIC_SEQ_CST));
}

static struct hsa_signal_state *newest(const struct hsa_replay *replay)
{
    return __atomic_load_n(&replay->signals, __ATOMIC_ACQUIRE);
}

bool hsa_signals_stuck(const struct hsa_replay *replay)
{
    for (const struct hsa_signal_state *s = newest(replay); s; s = s->next)
        if (is_awaited(s))
            return true;
    return false;
}

unsigned hsa_signals_unblock_waiters(const struct hsa_replay *replay)
{
    unsigned count = 0;

    for (struct hsa_signal_state *s = newest(replay); s; s = s->next) {
        if (!is_awaited(s))
            continue;
        hsa_signal_set(replay, s, __atomic_load_n(&s->wanted, __ATOMIC_SEQ_CST));
        count++;
    }
    return count;
}

/* ---- making ------------------------------------------------------------------------------------
 */

int hsa_signal_make(struct hsa_replay *replay, uint64_t id, int64_t value)
{
    struct hsa_signal_state *signal = calloc(1, sizeof(*signal));
    hsa_status_t status;
    int error;

    if (!signal)
        return tsm_fail(TSM_E_MEMORY, "no memory for a signal");
    status = replay->calls.hsa_signal_create(value, 0, NULL, &signal->raw);
    if (status != HSA_STATUS_SUCCESS) {
        free(signal);
        return hsa_fail(replay, "hsa_signal_create", status);
    }
    signal->expected = value;
    set_known(signal, true);
    error = hsa_object_add(replay, HSA_OBJECT_SIGNAL, id, (uint64_t)(uintptr_t)signal);
    if (error) {
        replay->calls.hsa_signal_destroy(signal->raw);
        free(signal->timed);
        free(signal);
        return error;
    }
    signal->next = newest(replay);
    __atomic_store_n(&replay->signals, signal, __ATOMIC_RELEASE);
    return 0;
}

int replay_hsa_signal_create(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_signal_make(replay, hsa_slot(record, SLOT_hsa_signal_create_signal),
                           (int64_t)hsa_slot(record, SLOT_hsa_signal_create_initial_value));
}

int replay_hsa_amd_signal_create(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_signal_make(replay, hsa_slot(record, SLOT_hsa_amd_signal_create_signal),
                           (int64_t)hsa_slot(record, SLOT_hsa_amd_signal_create_initial_value));
}

/* Commands that are still to count it down may be on their way. */
int replay_hsa_signal_destroy(struct hsa_replay *replay, const struct sbt_record *record)
{
    return 0;
}

void hsa_signals_finish(struct hsa_replay *replay)
{
    while (replay->signals) {
        struct hsa_signal_state *signal = replay->signals;
        replay->signals = signal->next;
        replay->calls.hsa_signal_destroy(signal->raw);
        free(signal);
    }
}

/* ---- changes by the host -----------------------------------------------------------------------
 */

/* All of these have the signal in their first slot and the value in the last. */
static struct hsa_signal_state *changed(struct hsa_replay *replay, const struct sbt_record *record,
                                        int64_t *value)
{
    *value = (int64_t)hsa_slot(record, SLOT_hsa_signal_store_screlease_value);
    return hsa_signal_find(replay, hsa_slot(record, SLOT_hsa_signal_store_screlease_signal));
}

void hsa_signal_set(const struct hsa_replay *replay, struct hsa_signal_state *signal, int64_t value)
{
    __atomic_store_n(&signal->expected, value, __ATOMIC_SEQ_CST);
    set_known(signal, true);
    replay->calls.hsa_signal_store_screlease(signal->raw, value);
}

int replay_hsa_signal_store_screlease(struct hsa_replay *replay, const struct sbt_record *record)
{
    int64_t value;
    struct hsa_signal_state *signal = changed(replay, record, &value);

    if (signal) /* else: of something that is not replayed */
        hsa_signal_set(replay, signal, value);
    return 0;
}

int replay_hsa_signal_add_acq_rel(struct hsa_replay *replay, const struct sbt_record *record)
{
    int64_t value;
    struct hsa_signal_state *signal = changed(replay, record, &value);

    if (!signal)
        return 0;
    __atomic_fetch_add(&signal->expected, value, __ATOMIC_SEQ_CST);
    replay->calls.hsa_signal_add_scacq_screl(signal->raw, value);
    return 0;
}

int replay_hsa_signal_subtract_acq_rel(struct hsa_replay *replay, const struct sbt_record *record)
{
    int64_t value;
    struct hsa_signal_state *signal = changed(replay, record, &value);

    if (!signal)
        return 0;
    __atomic_fetch_sub(&signal->expected, value, __ATOMIC_SEQ_CST);
    replay->calls.hsa_signal_subtract_scacq_screl(signal->raw, value);
    return 0;
}

/* Has everything that was sent counted it down? */
static bool is_settled(const struct hsa_replay *replay, const struct hsa_signal_state *signal)
{
    return is_known(signal) && replay->calls.hsa_signal_load_scacquire(signal->raw) ==
                                   __atomic_load_n(&signal->expected, __ATOMIC_SEQ_CST);
}

#define BITWISE(operation, by)                                                                     \
    int replay_hsa_signal_##operation##_acq_rel(struct hsa_replay *replay,                         \
                                                const struct sbt_record *record)                   \
    {                                                                                              \
        int64_t value;                                                                             \
        struct hsa_signal_state *signal = changed(replay, record, &value);                         \
        if (!signal)                                                                               \
            return 0;                                                                              \
        set_known(signal, is_settled(replay, signal));                                             \
        signal->expected = signal->expected by value;                                              \
        replay->calls.hsa_signal_##operation##_scacq_screl(signal->raw, value);                    \
        return 0;                                                                                  \
    }
BITWISE(and, &)
BITWISE(or, |)
BITWISE(xor, ^)

/* It held `before` when it was recorded: what had counted it down by then has to do so first, and
 * what had not may do so now. False: it cannot have held that here. */
static bool swap(struct hsa_replay *replay, struct hsa_signal_state *signal, int64_t before,
                 int64_t value)
{
    if (!is_known(signal) || __atomic_load_n(&signal->expected, __ATOMIC_SEQ_CST) > before)
        return false;
    if (wait_for(replay, signal->raw, HSA_SIGNAL_CONDITION_LT, before + 1))
        return true; /* the command that failed says so itself */
    __atomic_fetch_add(&signal->expected, value - before, __ATOMIC_SEQ_CST);
    replay->calls.hsa_signal_add_scacq_screl(signal->raw, value - before);
    return true;
}

int replay_hsa_signal_exchange_acq_rel(struct hsa_replay *replay, const struct sbt_record *record)
{
    int64_t value;
    struct hsa_signal_state *signal = changed(replay, record, &value);

    if (signal && !swap(replay, signal, record->result, value))
        hsa_signal_set(replay, signal, value);
    return 0;
}

int replay_hsa_signal_cas_acq_rel(struct hsa_replay *replay, const struct sbt_record *record)
{
    int64_t expected = (int64_t)hsa_slot(record, SLOT_hsa_signal_cas_acq_rel_expected);
    int64_t value = (int64_t)hsa_slot(record, SLOT_hsa_signal_cas_acq_rel_value);
    struct hsa_signal_state *signal =
        hsa_signal_find(replay, hsa_slot(record, SLOT_hsa_signal_cas_acq_rel_signal));

    if (!signal || (record->result == expected && swap(replay, signal, expected, value)))
        return 0;
    set_known(signal, false);
    replay->calls.hsa_signal_cas_scacq_screl(signal->raw, expected, value);
    return 0;
}

/* ---- waits -------------------------------------------------------------------------------------
 */

/* `seen`: what the program saw then, which what was sent counts it down to. By counting down a
 * value can be passed that the condition names. */
static int await(struct hsa_replay *replay, uint64_t id, uint64_t condition, uint64_t compare,
                 uint64_t seen)
{
    const struct hsa_signal_state *signal = hsa_signal_find(replay, id);
    int64_t expected = signal ? __atomic_load_n(&signal->expected, __ATOMIC_SEQ_CST) : 0;

    if (!signal)
        return 0;
    if (is_known(signal) && (int64_t)seen < INT64_MAX) {
        if (expected > (int64_t)seen)
            return 0; /* commands that count it down are not in this replay */
        condition = HSA_SIGNAL_CONDITION_LT;
        compare = seen + 1;
    }
    return wait_for(replay, signal->raw, condition, (int64_t)compare);
}

int replay_hsa_signal_wait_scacquire(struct hsa_replay *replay, const struct sbt_record *record)
{
    return await(replay, hsa_slot(record, SLOT_hsa_signal_wait_scacquire_signal),
                 hsa_slot(record, SLOT_hsa_signal_wait_scacquire_condition),
                 hsa_slot(record, SLOT_hsa_signal_wait_scacquire_compare_value),
                 hsa_slot(record, SLOT_hsa_signal_wait_scacquire_value));
}

int replay_hsa_amd_signal_wait_any(struct hsa_replay *replay, const struct sbt_record *record)
{
    return await(replay, hsa_slot(record, SLOT_hsa_amd_signal_wait_any_signal),
                 hsa_slot(record, SLOT_hsa_amd_signal_wait_any_condition),
                 hsa_slot(record, SLOT_hsa_amd_signal_wait_any_compare_value),
                 hsa_slot(record, SLOT_hsa_amd_signal_wait_any_value));
}

int replay_hsa_signal_group_wait_any_scacquire(struct hsa_replay *replay,
                                               const struct sbt_record *record)
{
    return await(replay, hsa_slot(record, SLOT_hsa_signal_group_wait_any_scacquire_signal),
                 hsa_slot(record, SLOT_hsa_signal_group_wait_any_scacquire_condition),
                 hsa_slot(record, SLOT_hsa_signal_group_wait_any_scacquire_compare_value),
                 hsa_slot(record, SLOT_hsa_signal_group_wait_any_scacquire_value));
}

int replay_hsa_signal_handler(struct hsa_replay *replay, const struct sbt_record *record)
{
    return await(replay, hsa_slot(record, SLOT_hsa_signal_handler_signal),
                 hsa_slot(record, SLOT_hsa_signal_handler_condition),
                 hsa_slot(record, SLOT_hsa_signal_handler_compare_value),
                 hsa_slot(record, SLOT_hsa_signal_handler_value));
}

/* The program saw this value, or a lower one later: both tell the same. */
int replay_hsa_signal_load_scacquire(struct hsa_replay *replay, const struct sbt_record *record)
{
    uint64_t value = hsa_slot(record, SLOT_hsa_signal_load_scacquire_value);

    return await(replay, hsa_slot(record, SLOT_hsa_signal_load_scacquire_signal),
                 HSA_SIGNAL_CONDITION_LT, value + 1, value);
}
