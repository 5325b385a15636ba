/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hsa/hsa_ways.h"

static void by_wait(const struct hsa_place *place, hsa_signal_t done)
{
    hsa_await(done);
}

static void by_relaxed_wait(const struct hsa_place *place, hsa_signal_t done)
{
    hsa_signal_wait_relaxed(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
}

static void by_load(const struct hsa_place *place, hsa_signal_t done)
{
    while (hsa_signal_load_scacquire(done) != 0)
        ;
}

static void by_cas(const struct hsa_place *place, hsa_signal_t done)
{
    while (hsa_signal_cas_scacq_screl(done, 0, 1) != 0)
        ;
}

static void by_exchange(const struct hsa_place *place, hsa_signal_t done)
{
    while (hsa_signal_exchange_scacq_screl(done, 1) != 0)
        ;
}

static void by_any(const struct hsa_place *place, hsa_signal_t done)
{
    hsa_signal_t signals[2] = {hsa_signal_take(1), done};
    hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_LT};
    hsa_signal_value_t values[2] = {1, 1}, value;

    hsa_amd_signal_wait_any(2, signals, conditions, values, UINT64_MAX, HSA_WAIT_STATE_BLOCKED,
                            &value);
}

static void behind(const struct hsa_place *place, uint32_t type, hsa_signal_t done)
{
    hsa_signal_t passed = hsa_signal_take(1);

    hsa_ring(place->queue, hsa_barrier(place->queue, type, &done, 1, passed));
    hsa_await(passed);
}

static void by_barrier_and(const struct hsa_place *place, hsa_signal_t done)
{
    behind(place, HSA_PACKET_TYPE_BARRIER_AND, done);
}

static void by_barrier_or(const struct hsa_place *place, hsa_signal_t done)
{
    behind(place, HSA_PACKET_TYPE_BARRIER_OR, done);
}

static void by_barrier_value(const struct hsa_place *place, hsa_signal_t done)
{
    hsa_signal_t passed = hsa_signal_take(1);
    const hsa_amd_barrier_value_packet_t packet = {.signal = done,
                                                   .value = 0,
                                                   .mask = -1,
                                                   .cond = HSA_SIGNAL_CONDITION_EQ,
                                                   .completion_signal = passed};

    hsa_ring(place->queue, hsa_barrier_value(place->queue, &packet));
    hsa_await(passed);
}

/* A copy that waits for the kernel, and that the program waits for. */
static void by_copy(const struct hsa_place *place, hsa_signal_t done)
{
    uint8_t *to = hsa_pool_take(place->machine->device, 64),
            *from = hsa_pool_take(place->machine->fine, 64);
    hsa_signal_t copied = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_memory_async_copy(to, place->machine->gpu, from, place->machine->cpu, 64, 1,
                                        &done, copied));
    hsa_await(copied);
}

static void by_handler(const struct hsa_place *place, hsa_signal_t done)
{
    hsa_await_by_handler(done);
}

static void by_relaxed_load(const struct hsa_place *place, hsa_signal_t done)
{
    while (hsa_signal_load_relaxed(done) != 0)
        ;
}

static void by_group(const struct hsa_place *place, hsa_signal_t done)
{
    hsa_signal_t signals[2] = {hsa_signal_take(1), done}, which;
    hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_LT};
    hsa_signal_value_t values[2] = {1, 1}, value;
    hsa_signal_group_t group;

    HSA_CHECK(hsa_signal_group_create(2, signals, 1, &place->machine->cpu, &group));
    HSA_CHECK(hsa_signal_group_wait_any_scacquire(group, conditions, values, HSA_WAIT_STATE_BLOCKED,
                                                  &which, &value));
}

const struct hsa_way hsa_ways[] = {
    {"wait", by_wait},
    {"relaxed_wait", by_relaxed_wait},
    {"load", by_load},
    {"relaxed_load", by_relaxed_load},
    {"cas", by_cas},
    {"exchange", by_exchange},
    {"any", by_any},
    {"group", by_group},
    {"handler", by_handler},
    {"barrier_and", by_barrier_and},
    {"barrier_or", by_barrier_or},
    {"barrier_value", by_barrier_value},
    {"copy", by_copy},
};

const unsigned hsa_way_count = sizeof(hsa_ways) / sizeof(hsa_ways[0]);
