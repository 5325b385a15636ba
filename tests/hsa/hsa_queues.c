/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders work across queues: barrier packets, signals that the host sets, copies that wait for
 * kernels and kernels that wait for copies, a handler, polling. Memory is the GPU's, the host's,
 * and malloc's.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <stdlib.h>

#define SIDE  32u
#define COUNT (SIDE * SIDE)

static bool on_done(hsa_signal_value_t value, void *arg)
{
    hsa_signal_store_screlease(*(hsa_signal_t *)arg, 0);
    return false;
}

/* Sums of 8 x 8 squares, on the second queue, when the first queue's barrier lets them. */
static int sums(const struct hsa_machine *machine)
{
    static const uint32_t grid[3] = {SIDE, SIDE, 1};
    static const uint16_t group[3] = {8, 8, 1};
    struct hsa_found_kernel kernel = hsa_kernel_find(machine, "group_sum.kd");
    hsa_queue_t *first = hsa_queue_take(machine, 64), *second = hsa_queue_take(machine, 128);
    uint64_t *host = malloc(COUNT * 8), *locked = NULL;
    uint64_t *in = hsa_pool_take(machine->device, COUNT * 8);
    uint64_t *out = hsa_pool_take(machine->device, 16 * 8);
    uint64_t *result = hsa_pool_take(machine->fine, 16 * 8);
    struct group_sum_arguments *arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    hsa_signal_t copied = hsa_signal_take(1), gate = hsa_signal_take(1), open = hsa_signal_take(1);
    hsa_signal_t summed = hsa_signal_take(1), back = hsa_signal_take(1), told = hsa_signal_take(1);
    const hsa_signal_t both[2] = {copied, gate};
    uint64_t total = 0;

    for (unsigned i = 0; i < COUNT; i++)
        host[i] = i * 3;
    HSA_CHECK(hsa_amd_memory_lock(host, COUNT * 8, NULL, 0, (void **)&locked));
    *arguments = (struct group_sum_arguments){in, out};
    HSA_CHECK(hsa_amd_signal_async_handler(back, HSA_SIGNAL_CONDITION_LT, 1, on_done, &told));
    hsa_ring(first, hsa_barrier(first, HSA_PACKET_TYPE_BARRIER_AND, both, 2, open));
    hsa_barrier(second, HSA_PACKET_TYPE_BARRIER_OR, &open, 1, (hsa_signal_t){0});
    hsa_ring(second, hsa_dispatch(second, &kernel, grid, group, arguments, summed));
    HSA_CHECK(hsa_amd_memory_async_copy(result, machine->cpu, out, machine->gpu, 16 * 8, 1, &summed,
                                        back));
    HSA_CHECK(hsa_amd_memory_async_copy(in, machine->gpu, locked, machine->cpu, COUNT * 8, 0, NULL,
                                        copied));
    hsa_signal_subtract_screlease(gate, 1);
    while (hsa_signal_load_scacquire(told) != 0)
        ;
    for (unsigned i = 0; i < 16; i++)
        total += result[i];
    HSA_CHECK(hsa_queue_destroy(first));
    HSA_CHECK(hsa_queue_destroy(second));
    HSA_CHECK(hsa_amd_memory_unlock(host));
    free(host);
    return total != 3ull * COUNT * (COUNT - 1) / 2;
}

/* A signal that two launches count down. */
static int biased(const struct hsa_machine *machine)
{
    static const uint32_t grid[3] = {SIDE, 1, 1};
    static const uint16_t group[3] = {SIDE, 1, 1};
    struct hsa_found_kernel kernel = hsa_kernel_find(machine, "add_bias.kd");
    hsa_queue_t *queue = hsa_queue_take(machine, 64);
    uint32_t *data = hsa_pool_take(machine->device, SIDE * 4), copy[SIDE];
    struct bias_arguments *arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    hsa_signal_t done = hsa_signal_take(2);
    unsigned bad = 0;

    HSA_CHECK(hsa_amd_memory_fill(data, 5, SIDE));
    *arguments = (struct bias_arguments){data};
    hsa_dispatch(queue, &kernel, grid, group, arguments, done);
    hsa_ring(queue, hsa_dispatch(queue, &kernel, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(copy, data, sizeof(copy)));
    for (unsigned i = 0; i < SIDE; i++)
        bad += copy[i] != 5 + 2 * 7;
    HSA_CHECK(hsa_queue_destroy(queue));
    return bad != 0;
}

int main(int argc, char **argv)
{
    struct hsa_machine machine;
    int bad;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    bad = sums(&machine) | biased(&machine) << 1;
    printf(bad ? "wrong: %d\n" : "right\n", bad);
    return bad;
}
