/* SPDX-License-Identifier: Apache-2.0
 *
 * All ways in which a program can learn that a kernel is done: `hsa_learns KERNELS WAY`. Then it
 * writes into what the kernel has read.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"
#include "tests/hsa/hsa_ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT  4096u
#define ROUNDS 4u

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};

static struct hsa_machine machine;
static hsa_queue_t *queue;

static unsigned run(const struct hsa_found_kernel *add, const struct hsa_way *way)
{
    const struct hsa_place place = {&machine, queue};
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
        way->learn(&place, done);
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
    for (unsigned i = 0; i < hsa_way_count; i++) {
        if (argc < 3)
            puts(hsa_ways[i].name);
        else if (!strcmp(argv[2], hsa_ways[i].name))
            bad += run(&add, &hsa_ways[i]);
    }
    if (argc > 2)
        printf("%s: %u wrong\n", argv[2], bad);
    return bad != 0;
}
