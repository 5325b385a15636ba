/* SPDX-License-Identifier: Apache-2.0
 *
 * All ways in which a program can learn that a kernel is done: `hsa_learns KERNELS WAY`. Then it
 * writes into what the kernel has read.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT  4096u
#define ROUNDS 4u

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};

static struct hsa_machine machine;
static hsa_queue_t *queue;

static void by_wait(hsa_signal_t done)
{
    hsa_await(done);
}

static void by_relaxed_wait(hsa_signal_t done)
{
    hsa_signal_wait_relaxed(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
}

static void by_load(hsa_signal_t done)
{
    while (hsa_signal_load_scacquire(done) != 0)
        ;
}

static void by_cas(hsa_signal_t done)
{
    while (hsa_signal_cas_scacq_screl(done, 0, 1) != 0)
        ;
}

static void by_exchange(hsa_signal_t done)
{
    while (hsa_signal_exchange_scacq_screl(done, 1) != 0)
        ;
}

static void by_any(hsa_signal_t done)
{
    hsa_signal_t signals[2] = {hsa_signal_take(1), done};
    hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_LT};
    hsa_signal_value_t values[2] = {1, 1}, value;

    hsa_amd_signal_wait_any(2, signals, conditions, values, UINT64_MAX, HSA_WAIT_STATE_BLOCKED,
                            &value);
}

static void behind(uint32_t type, hsa_signal_t done)
{
    hsa_signal_t passed = hsa_signal_take(1);

    hsa_ring(queue, hsa_barrier(queue, type, &done, 1, passed));
    hsa_await(passed);
}

static void by_barrier_and(hsa_signal_t done)
{
    behind(HSA_PACKET_TYPE_BARRIER_AND, done);
}

static void by_barrier_or(hsa_signal_t done)
{
    behind(HSA_PACKET_TYPE_BARRIER_OR, done);
}

static void by_barrier_value(hsa_signal_t done)
{
    hsa_signal_t passed = hsa_signal_take(1);
    const hsa_amd_barrier_value_packet_t packet = {.signal = done,
                                                   .value = 0,
                                                   .mask = -1,
                                                   .cond = HSA_SIGNAL_CONDITION_EQ,
                                                   .completion_signal = passed};

    hsa_ring(queue, hsa_barrier_value(queue, &packet));
    hsa_await(passed);
}

/* A copy that waits for the kernel, and that the program waits for. */
static void by_copy(hsa_signal_t done)
{
    uint8_t *to = hsa_pool_take(machine.device, 64), *from = hsa_pool_take(machine.fine, 64);
    hsa_signal_t copied = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_memory_async_copy(to, machine.gpu, from, machine.cpu, 64, 1, &done, copied));
    hsa_await(copied);
}

static const struct {
    const char *name;
    void (*learn)(hsa_signal_t done);
} ways[] = {
    {"wait", by_wait},
    {"relaxed_wait", by_relaxed_wait},
    {"load", by_load},
    {"cas", by_cas},
    {"exchange", by_exchange},
    {"any", by_any},
    {"handler", hsa_await_by_handler},
    {"barrier_and", by_barrier_and},
    {"barrier_or", by_barrier_or},
    {"barrier_value", by_barrier_value},
    {"copy", by_copy},
};

static unsigned run(const struct hsa_found_kernel *add, void (*learn)(hsa_signal_t done))
{
    float *left = hsa_pool_take(machine.fine, COUNT * sizeof(*left));
    float *right = hsa_pool_take(machine.fine, COUNT * sizeof(*right)), back[COUNT];
    struct add_arguments *arguments = hsa_pool_take(machine.kernarg, ROUNDS * sizeof(*arguments));
    float *out[ROUNDS];
    unsigned bad = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        hsa_signal_t done = hsa_signal_take(1);
        out[round] = hsa_pool_take(machine.device, COUNT * sizeof(**out));
        for (unsigned i = 0; i < COUNT; i++) {
            left[i] = (float)(i + round);
            right[i] = (float)(i * round);
        }
        arguments[round] = (struct add_arguments){left, right, out[round]};
        hsa_ring(queue, hsa_dispatch(queue, add, grid, group, &arguments[round], done));
        learn(done);
        memset(left, 0xee, COUNT * sizeof(*left));
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        HSA_CHECK(hsa_memory_copy(back, out[round], sizeof(back)));
        for (unsigned i = 0; i < COUNT; i++)
            bad += back[i] != (float)(i + round) + (float)(i * round);
    }
    return bad;
}

int main(int argc, char **argv)
{
    struct hsa_found_kernel add;
    unsigned bad = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    add = hsa_kernel_find(&machine, "add.kd");
    queue = hsa_queue_take(&machine, 64);
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (argc < 3)
            puts(ways[i].name);
        else if (!strcmp(argv[2], ways[i].name))
            bad += run(&add, ways[i].learn);
    }
    if (argc > 2)
        printf("%s: %u wrong\n", argv[2], bad);
    return bad != 0;
}
