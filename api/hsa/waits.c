/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals: each command takes 1 from its completion signal when it has ended; a program sets and
 * counts signals as it likes, and waits until their values are such. A packet whose header has the
 * barrier bit begins when all packets before it in its queue have ended.
 */
#include "api/waits_of.h"

#define BARRIER 0x100u /* of a packet's header */

static uint64_t signal_of(const struct tsm_wait_visit *v)
{
    return sbt_record_role(v->schema, v->record, SBT_ROLE_OBJECT, tsm_wait_slot(v, "signal", 0));
}

static int say(const struct tsm_wait_visit *v, enum tsm_wait_kind kind, uint64_t value)
{
    const uint64_t signal = signal_of(v);

    return signal ? tsm_wait_say(v, kind, signal, value) : 0;
}

static int each_created(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return say(v, TSM_WAIT_SET, tsm_wait_slot(v, "initial_value", 0));
}

/* Says what a change by the host does; `detail`: enum tsm_wait_kind. */
static int each_changed(const struct tsm_wait_visit *v, uint32_t detail)
{
    return say(v, (enum tsm_wait_kind)detail, tsm_wait_slot(v, "value", 0));
}

static int each_subtracted(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return say(v, TSM_WAIT_ADD, 0 - tsm_wait_slot(v, "value", 0));
}

/* The result is what the signal held before. Calls that changed nothing are not recorded. */
static int each_swapped(const struct tsm_wait_visit *v, uint32_t detail)
{
    const struct tsm_wait_step step = {.kind = TSM_WAIT_SWAP,
                                       .object = signal_of(v),
                                       .value = tsm_wait_slot(v, "value", 0),
                                       .before = (uint64_t)v->record->result};

    (void)detail;
    return step.object ? v->visit(v->user, &step) : 0;
}

static int each_sent(const struct tsm_wait_visit *v, uint32_t detail)
{
    const struct tsm_wait_step step = {.kind = TSM_WAIT_LOWERS,
                                       .object = signal_of(v),
                                       .is_alone = !(tsm_wait_slot(v, "header", 0) & BARRIER)};

    (void)detail;
    return step.object ? v->visit(v->user, &step) : 0;
}

/* A packet that nobody can read may have a completion signal. */
static int each_unread(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return tsm_wait_say(v, TSM_WAIT_UNSEEN, 0, 0);
}

/* A signal of several processes, or one of which the program has the value's address. */
static int each_shared(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t signal = tsm_wait_slot(v, "signal", 0);

    (void)detail;
    return signal ? tsm_wait_say(v, TSM_WAIT_FOREIGN, signal, 0) : 0;
}

static const struct tsm_wait_call calls[] = {
    {"aql_kernel_dispatch", each_sent, 0},
    {"aql_barrier_*", each_sent, 0},
    {"aql_agent_dispatch", each_sent, 0},
    {"aql_other", each_unread, 0},
    {"hsa_amd_memory_async_*", each_sent, 0},
    {"hsa_amd_svm_prefetch_async", each_sent, 0},
    {"hsa_signal_wait_*", each_changed, TSM_WAIT_HELD},
    {"hsa_amd_signal_wait_any", each_changed, TSM_WAIT_HELD},
    {"hsa_signal_group_wait_any_*", each_changed, TSM_WAIT_HELD},
    {"hsa_signal_load_*", each_changed, TSM_WAIT_HELD},
    {"hsa_signal_handler", each_changed, TSM_WAIT_HELD},
    {"hsa_signal_store_*", each_changed, TSM_WAIT_SET},
    {"hsa_signal_silent_store_*", each_changed, TSM_WAIT_SET},
    {"hsa_signal_add_*", each_changed, TSM_WAIT_ADD},
    {"hsa_signal_subtract_*", each_subtracted, 0},
    {"hsa_signal_exchange_*", each_swapped, 0},
    {"hsa_signal_cas_*", each_swapped, 0},
    {"hsa_signal_and_*", each_changed, TSM_WAIT_BITS},
    {"hsa_signal_or_*", each_changed, TSM_WAIT_BITS},
    {"hsa_signal_xor_*", each_changed, TSM_WAIT_BITS},
    {"hsa_signal_create", each_created, 0},
    {"hsa_amd_signal_create", each_created, 0},
    {"hsa_signal_destroy", each_changed, TSM_WAIT_OVER},
    {"hsa_amd_ipc_signal_*", each_shared, 0},
    {"hsa_amd_signal_value_pointer", each_shared, 0},
};

struct tsm_wait_calls tsm_wait_calls_hsa(void)
{
    return (struct tsm_wait_calls){calls, sizeof(calls) / sizeof(calls[0])};
}
