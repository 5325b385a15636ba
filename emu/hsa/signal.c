/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals, and what waits for them.
 */
#include "emu/hsa/runtime.h"

#include "base/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- waiting -----------------------------------------------------------------------------------
 */

static uint32_t changes;
static uint32_t sleepers;

uint32_t emu_hsa_now(void)
{
    return __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
}

void emu_hsa_await(uint32_t now, uint64_t timeout_ns)
{
    const struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                                     (long)(timeout_ns % 1000000000u)};

    __atomic_fetch_add(&sleepers, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &changes, FUTEX_WAIT_PRIVATE, now, &timeout, NULL, 0);
    __atomic_fetch_sub(&sleepers, 1, __ATOMIC_SEQ_CST);
}

void emu_hsa_changed(void)
{
    __atomic_fetch_add(&changes, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &changes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- values ------------------------------------------------------------------------------------
 */

hsa_signal_value_t emu_hsa_signal_load(hsa_signal_t signal)
{
    return __atomic_load_n(&emu_hsa_signal(signal)->value, __ATOMIC_SEQ_CST);
}

void emu_hsa_signal_decrement(hsa_signal_t signal)
{
    if (!signal.handle)
        return;
    __atomic_fetch_sub(&emu_hsa_signal(signal)->value, 1, __ATOMIC_SEQ_CST);
    emu_hsa_changed();
}

void emu_hsa_signal_times(hsa_signal_t signal, uint64_t start_ns, uint64_t end_ns)
{
    if (!signal.handle)
        return;
    emu_hsa_signal(signal)->start_ts = start_ns;
    emu_hsa_signal(signal)->end_ts = end_ns;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_profiling_get_dispatch_time(
    hsa_agent_t agent, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t *time)
{
    if (!signal.handle || !time)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *time = (hsa_amd_profiling_dispatch_time_t){emu_hsa_signal(signal)->start_ts,
                                                emu_hsa_signal(signal)->end_ts};
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_profiling_get_async_copy_time(
    hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t *time)
{
    if (!signal.handle || !time)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *time = (hsa_amd_profiling_async_copy_time_t){emu_hsa_signal(signal)->start_ts,
                                                  emu_hsa_signal(signal)->end_ts};
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t *queue, int enable)
{
    return queue ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_profiling_async_copy_enable(bool enable)
{
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_profiling_convert_tick_to_system_domain(hsa_agent_t agent,
                                                                            uint64_t agent_tick,
                                                                            uint64_t *system_tick)
{
    if (!system_tick)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *system_tick = agent_tick;
    return HSA_STATUS_SUCCESS;
}

/* ---- objects -----------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_signal_create(hsa_signal_value_t initial_value,
                                              uint32_t num_consumers, const hsa_agent_t *consumers,
                                              hsa_signal_t *signal)
{
    amd_signal_t *made;

    if (!emu_hsa_is_up())
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (!signal || (num_consumers && !consumers))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    made = aligned_alloc(AMD_SIGNAL_ALIGN_BYTES, sizeof(*made));
    if (!made)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    memset(made, 0, sizeof(*made));
    made->kind = AMD_SIGNAL_KIND_USER;
    made->value = initial_value;
    signal->handle = (uint64_t)(uintptr_t)made;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_signal_create(hsa_signal_value_t initial_value,
                                                  uint32_t num_consumers,
                                                  const hsa_agent_t *consumers, uint64_t attributes,
                                                  hsa_signal_t *signal)
{
    amd_signal_t *made;

    if (!(attributes & HSA_AMD_SIGNAL_IPC))
        return hsa_signal_create(initial_value, num_consumers, consumers, signal);
    made = emu_hsa_is_up() && signal ? emu_hsa_ipc_signal() : NULL;
    if (!made)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    made->kind = AMD_SIGNAL_KIND_USER;
    made->value = initial_value;
    signal->handle = (uint64_t)(uintptr_t)made;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_signal_destroy(hsa_signal_t signal)
{
    if (!signal.handle)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    emu_hsa_copies_forget(signal);
    if (!emu_hsa_ipc_signal_destroyed(emu_hsa_signal(signal)))
        free(emu_hsa_signal(signal));
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal,
                                                         hsa_signal_value_pointer_t *value_ptr)
{
    if (!signal.handle || !value_ptr)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *value_ptr = (hsa_signal_value_pointer_t)&emu_hsa_signal(signal)->value;
    return HSA_STATUS_SUCCESS;
}

/* ---- operations: every memory order is the strongest -------------------------------------------
 */

#define VALUE(signal) (&emu_hsa_signal(signal)->value)

#define LOAD(order)                                                                                \
    EMU_HSA_EXPORT hsa_signal_value_t hsa_signal_load_##order(hsa_signal_t signal)                 \
    {                                                                                              \
        return emu_hsa_signal_load(signal);                                                        \
    }
LOAD(scacquire)
LOAD(acquire)
LOAD(relaxed)

#define STORE(name)                                                                                \
    EMU_HSA_EXPORT void hsa_signal_##name(hsa_signal_t signal, hsa_signal_value_t value)           \
    {                                                                                              \
        __atomic_store_n(VALUE(signal), value, __ATOMIC_SEQ_CST);                                  \
        emu_hsa_changed();                                                                         \
    }
STORE(store_screlease)
STORE(store_release)
STORE(store_relaxed)
STORE(silent_store_screlease)
STORE(silent_store_relaxed)

#define EACH_ORDER(DEFINE, ...)                                                                    \
    DEFINE(acq_rel, __VA_ARGS__)                                                                   \
    DEFINE(acquire, __VA_ARGS__)                                                                   \
    DEFINE(relaxed, __VA_ARGS__)                                                                   \
    DEFINE(release, __VA_ARGS__)                                                                   \
    DEFINE(scacq_screl, __VA_ARGS__)                                                               \
    DEFINE(scacquire, __VA_ARGS__)                                                                 \
    DEFINE(screlease, __VA_ARGS__)

#define UPDATE(order, name, operation)                                                             \
    EMU_HSA_EXPORT void hsa_signal_##name##_##order(hsa_signal_t signal, hsa_signal_value_t value) \
    {                                                                                              \
        __atomic_fetch_##operation(VALUE(signal), value, __ATOMIC_SEQ_CST);                        \
        emu_hsa_changed();                                                                         \
    }
EACH_ORDER(UPDATE, add, add)
EACH_ORDER(UPDATE, subtract, sub)
EACH_ORDER(UPDATE, and, and)
EACH_ORDER(UPDATE, or, or)
EACH_ORDER(UPDATE, xor, xor)

#define EXCHANGE(order, unused)                                                                    \
    EMU_HSA_EXPORT hsa_signal_value_t hsa_signal_exchange_##order(hsa_signal_t signal,             \
                                                                  hsa_signal_value_t value)        \
    {                                                                                              \
        hsa_signal_value_t before = __atomic_exchange_n(VALUE(signal), value, __ATOMIC_SEQ_CST);   \
        emu_hsa_changed();                                                                         \
        return before;                                                                             \
    }
EACH_ORDER(EXCHANGE, )

#define CAS(order, unused)                                                                         \
    EMU_HSA_EXPORT hsa_signal_value_t hsa_signal_cas_##order(                                      \
        hsa_signal_t signal, hsa_signal_value_t expected, hsa_signal_value_t value)                \
    {                                                                                              \
        int64_t before = expected;                                                                 \
        __atomic_compare_exchange_n(VALUE(signal), &before, value, false, __ATOMIC_SEQ_CST,        \
                                    __ATOMIC_SEQ_CST);                                             \
        emu_hsa_changed();                                                                         \
        return before;                                                                             \
    }
EACH_ORDER(CAS, )

/* ---- waits -------------------------------------------------------------------------------------
 */

#define NAP_NS 100000000u

EMU_HSA_EXPORT uint32_t hsa_amd_signal_wait_any(uint32_t signal_count, hsa_signal_t *signals,
                                                hsa_signal_condition_t *conds,
                                                hsa_signal_value_t *values, uint64_t timeout_hint,
                                                hsa_wait_state_t wait_hint,
                                                hsa_signal_value_t *satisfying_value)
{
    uint64_t start = emu_hsa_time();

    for (;;) {
        uint32_t now = emu_hsa_now();
        uint64_t gone = emu_hsa_time() - start;
        for (uint32_t i = 0; i < signal_count; i++) {
            hsa_signal_value_t value = emu_hsa_signal_load(signals[i]);
            if (!hsa_condition_holds(value, conds[i], values[i]))
                continue;
            if (satisfying_value)
                *satisfying_value = value;
            return i;
        }
        if (gone >= timeout_hint)
            return UINT32_MAX;
        emu_hsa_await(now, timeout_hint - gone < NAP_NS ? timeout_hint - gone : NAP_NS);
    }
}

static hsa_signal_value_t wait_for(hsa_signal_t signal, hsa_signal_condition_t condition,
                                   hsa_signal_value_t compare, uint64_t timeout)
{
    hsa_signal_value_t value = 0;

    if (hsa_amd_signal_wait_any(1, &signal, &condition, &compare, timeout, HSA_WAIT_STATE_BLOCKED,
                                &value) == UINT32_MAX)
        return emu_hsa_signal_load(signal);
    return value;
}

#define WAIT(order)                                                                                \
    EMU_HSA_EXPORT hsa_signal_value_t hsa_signal_wait_##order(                                     \
        hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare_value,   \
        uint64_t timeout_hint, hsa_wait_state_t wait_state_hint)                                   \
    {                                                                                              \
        return wait_for(signal, condition, compare_value, timeout_hint);                           \
    }
WAIT(scacquire)
WAIT(acquire)
WAIT(relaxed)

/* ---- handlers ----------------------------------------------------------------------------------
 */

struct watch {
    struct watch *next;
    hsa_signal_t signal;
    uint32_t condition;
    hsa_signal_value_t compare;
    hsa_amd_signal_handler handler;
    void *argument;
};

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct watch *watches;
static bool watching;

/* One whose condition holds, out of the list. */
static struct watch *take_due(hsa_signal_value_t *value)
{
    struct watch **link = &watches, *found;

    pthread_mutex_lock(&watch_lock);
    for (; (found = *link) != NULL; link = &found->next) {
        *value = emu_hsa_signal_load(found->signal);
        if (hsa_condition_holds(*value, found->condition, found->compare))
            break;
    }
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&watch_lock);
    return found;
}

static void watch_again(struct watch *watch)
{
    pthread_mutex_lock(&watch_lock);
    watch->next = watches;
    watches = watch;
    pthread_mutex_unlock(&watch_lock);
}

static void *watch_signals(void *unused)
{
    for (;;) {
        uint32_t now = emu_hsa_now();
        hsa_signal_value_t value;
        struct watch *due = take_due(&value);

        if (!due)
            emu_hsa_await(now, NAP_NS);
        else if (due->handler(value, due->argument))
            watch_again(due);
        else
            free(due);
    }
    return NULL;
}

static bool start_watching(void)
{
    pthread_t thread;

    if (!watching && tsm_thread_create(&thread, watch_signals, NULL) == 0) {
        pthread_detach(thread);
        watching = true;
    }
    return watching;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal,
                                                         hsa_signal_condition_t cond,
                                                         hsa_signal_value_t value,
                                                         hsa_amd_signal_handler handler, void *arg)
{
    struct watch *watch;
    bool ok;

    if (!signal.handle || !handler)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    watch = malloc(sizeof(*watch));
    if (!watch)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *watch = (struct watch){NULL, signal, cond, value, handler, arg};
    pthread_mutex_lock(&watch_lock);
    ok = start_watching();
    if (ok) {
        watch->next = watches;
        watches = watch;
    }
    pthread_mutex_unlock(&watch_lock);
    if (!ok)
        free(watch);
    emu_hsa_changed();
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}
