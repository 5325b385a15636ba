/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that the host reads where the kernel wrote them: in memory of the host, and in memory for
 * arguments. Before it runs, or with TEST_BESIDE while it does, the program writes into the other
 * half of the same memory.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT  4096u
#define ROUNDS 3u

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};

/* The kernel waits until the program has filled the other half. */
static double round_of(const struct hsa_machine *machine, hsa_queue_t *queue, float *data,
                       unsigned n)
{
    static struct scale_arguments *arguments;
    struct hsa_found_kernel scale = hsa_kernel_find(machine, "scale_or_not.kd");
    hsa_signal_t go = hsa_signal_take(1), done = hsa_signal_take(1);
    float *mine = data + n % 2 * COUNT, *other = data + (n + 1) % 2 * COUNT;
    double sum = 0;

    if (!arguments)
        arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    *arguments = (struct scale_arguments){mine, 1.5f};
    hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &go, 1, (hsa_signal_t){0});
    hsa_ring(queue, hsa_dispatch(queue, &scale, grid, group, arguments, done));
    if (getenv("TEST_BESIDE"))
        hsa_signal_store_screlease(go, 0);
    for (unsigned i = 0; i < COUNT; i++)
        other[i] = (float)(i + n);
    if (!getenv("TEST_BESIDE"))
        hsa_signal_store_screlease(go, 0);
    hsa_await(done);
    for (unsigned i = 0; i < COUNT; i++)
        sum += mine[i];
    return sum;
}

static void run(const struct hsa_machine *machine, hsa_amd_memory_pool_t pool, const char *name)
{
    hsa_queue_t *queue = hsa_queue_take(machine, 64);
    float *data = hsa_pool_take(pool, 2 * COUNT * sizeof(*data));

    for (unsigned i = 0; i < COUNT; i++)
        data[i] = (float)i;
    for (unsigned n = 0; n < ROUNDS; n++)
        printf("%s: %.1f\n", name, round_of(machine, queue, data, n));
    HSA_CHECK(hsa_queue_destroy(queue));
}

int main(int argc, char **argv)
{
    struct hsa_machine machine;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    run(&machine, machine.fine, "fine");
    run(&machine, machine.kernarg, "arguments");
    return 0;
}
