/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals: each command takes 1 from its completion signal when it has ended; a program sets and
 * counts signals as it likes, and waits until their values are such. A packet whose header has the
 * barrier bit begins when all packets before it in its queue have ended.
 */
#include "api/waits_of.h"
#include "base/bytes.h"

#define BARRIER         0x100u /* of a packet's header */
#define DEPENDENCY_SIZE 8u     /* bytes of a signal's id in a list */
#define EQUAL           0u     /* conditions of a packet that waits for a value */
#define LESS            2u

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

/* ---- what is sent -----------------------------------------------------------------------------
 */

static int say_in_turn(const struct tsm_wait_visit *v)
{
    return tsm_wait_say(v, TSM_WAIT_IN_TURN, 0, 0);
}

static int say_lowers(const struct tsm_wait_visit *v, bool is_alone)
{
    const struct tsm_wait_step step = {
        .kind = TSM_WAIT_LOWERS, .object = signal_of(v), .is_alone = is_alone};

    return step.object ? v->visit(v->user, &step) : 0;
}

static bool has_barrier(const struct tsm_wait_visit *v)
{
    return tsm_wait_slot(v, "header", 0) & BARRIER;
}

static int each_packet(const struct tsm_wait_visit *v, uint32_t detail)
{
    const int error = has_barrier(v) ? say_in_turn(v) : 0;

    (void)detail;
    return error ? error : say_lowers(v, !has_barrier(v));
}

/* A packet that waits until signals are 0: all of them, or one (`detail`: 1). Which one that was is
 * known where there is only one. */
static int each_barrier(const struct tsm_wait_visit *v, uint32_t detail)
{
    static const char *const names[] = {"dep0", "dep1", "dep2", "dep3", "dep4"};
    uint64_t found[sizeof(names) / sizeof(names[0])];
    size_t count = 0;
    int error = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        found[count] = tsm_wait_slot(v, names[i], 0);
        count += found[count] != 0;
    }
    for (size_t i = 0; i < count && (!detail || count == 1) && !error; i++)
        error = tsm_wait_say(v, TSM_WAIT_FOR_EXACT, found[i], 0);
    return error ? error : each_packet(v, 0);
}

/* A packet that waits for a signal's value. Values fall, so to be less than one is to hold the one
 * below it, where that is the last. */
static int each_barrier_value(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t signal = tsm_wait_slot(v, "signal", 0), value = tsm_wait_slot(v, "value", 0),
                   condition = tsm_wait_slot(v, "condition", UINT64_MAX);
    int error = 0;

    (void)detail;
    if (signal && tsm_wait_slot(v, "mask", 0) == UINT64_MAX &&
        (condition == EQUAL || condition == LESS))
        error = tsm_wait_say(v, TSM_WAIT_FOR_EXACT, signal, value - (condition == LESS));
    return error ? error : each_packet(v, 0);
}

/* A copy waits until all signals of a list are 0. All before it on its stream is known to be
 * complete when it is sent. */
static int each_copy(const struct tsm_wait_visit *v, uint32_t detail)
{
    const int slot = tsm_wait_field(v->schema, "dep_signals");
    const uint8_t *bytes;
    size_t size;
    int error = say_in_turn(v);

    (void)detail;
    if (slot >= 0 && sbt_record_bytes(v->record, (uint32_t)slot, &bytes, &size))
        for (size_t at = 0; at + DEPENDENCY_SIZE <= size && !error; at += DEPENDENCY_SIZE) {
            const uint64_t signal = tsm_get_u64(bytes + at);

            error = signal ? tsm_wait_say(v, TSM_WAIT_FOR_EXACT, signal, 0) : 0;
        }
    return error ? error : say_lowers(v, false);
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
    {"aql_kernel_dispatch", each_packet, 0},
    {"aql_barrier_and", each_barrier, 0},
    {"aql_barrier_or", each_barrier, 1},
    {"aql_barrier_value", each_barrier_value, 0},
    {"aql_agent_dispatch", each_packet, 0},
    {"aql_other", each_unread, 0},
    {"hsa_amd_memory_async_*", each_copy, 0},
    {"hsa_amd_svm_prefetch_async", each_copy, 0},
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
