/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the program that the runtime calls when a signal has a value.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "capture/lock.h"

struct watch {
    struct watch *next; /* of those not in use */
    hsa_signal_t signal;
    hsa_signal_condition_t condition;
    hsa_signal_value_t compare;
    hsa_amd_signal_handler handler;
    void *argument;
};

static struct tsm_lock watch_lock;
static struct watch *unused;

static struct watch *watch_take(void)
{
    struct watch *watch;

    tsm_lock_take(&watch_lock);
    watch = unused;
    if (watch)
        unused = watch->next;
    tsm_lock_give(&watch_lock);
    return watch ? watch : hsa_keep(sizeof(*watch));
}

static void watch_give(struct watch *watch)
{
    tsm_lock_take(&watch_lock);
    watch->next = unused;
    unused = watch;
    tsm_lock_give(&watch_lock);
}

/* In place of the program's handler, on a thread of the runtime. */
static bool handle_signal(hsa_signal_value_t value, void *argument)
{
    struct watch *watch = argument;
    struct tsm_call call;
    bool again;

    hsa_pointers_look(true);
    hsa_signal_observed(watch->signal, value);
    if (tsm_call_begin(&call, TYPE_hsa_signal_handler)) {
        tsm_call_returned(&call, 0, false);
        tsm_call_slot(&call, hsa_signal_id(watch->signal));
        tsm_call_slot(&call, watch->condition);
        tsm_call_slot(&call, (uint64_t)watch->compare);
        tsm_call_slot(&call, (uint64_t)value);
        tsm_call_commit(&call);
        hsa_seen(watch->signal, value);
    }
    again = watch->handler(value, watch->argument);
    if (!again)
        watch_give(watch);
    return again;
}

hsa_status_t hook_hsa_amd_signal_async_handler(hsa_signal_t signal, hsa_signal_condition_t cond,
                                               hsa_signal_value_t value,
                                               hsa_amd_signal_handler handler, void *arg)
{
    struct watch *watch = signal.handle && handler ? watch_take() : NULL;
    struct tsm_call call;
    hsa_status_t status;

    if (watch)
        *watch = (struct watch){NULL, signal, cond, value, handler, arg};
    if (tsm_call_begin(&call, TYPE_hsa_amd_signal_async_handler)) {
        tsm_call_returned(&call, 0, false);
        tsm_call_slot(&call, hsa_signal_id(signal));
        tsm_call_slot(&call, cond);
        tsm_call_slot(&call, (uint64_t)value);
        tsm_call_slot(&call, HSA_SLOT(handler));
        tsm_call_slot(&call, HSA_SLOT(arg));
        tsm_call_commit(&call);
    }
    if (!watch)
        return hsa_runtime.hsa_amd_signal_async_handler(signal, cond, value, handler, arg);
    status = hsa_runtime.hsa_amd_signal_async_handler(signal, cond, value, handle_signal, watch);
    if (status != HSA_STATUS_SUCCESS)
        watch_give(watch);
    return status;
}
