/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels on one queue: data go to the GPU by copies, are computed on, and come back.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>

#define COUNT 1000u

static void fill(float *data, float start)
{
    for (unsigned i = 0; i < COUNT; i++)
        data[i] = start + (float)i;
}

/* (left * 3 + right), in as many launches, through one queue of 64 places. */
static int compute(const struct hsa_machine *machine, unsigned rounds)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_found_kernel scale = hsa_kernel_find(machine, "scale.kd");
    struct hsa_found_kernel add = hsa_kernel_find(machine, "add.kd");
    hsa_queue_t *queue = hsa_queue_take(machine, 64);
    float *host = hsa_pool_take(machine->fine, COUNT * sizeof(float));
    float *left = hsa_pool_take(machine->device, COUNT * sizeof(float));
    float *right = hsa_pool_take(machine->device, COUNT * sizeof(float));
    char *arguments = hsa_pool_take(machine->kernarg, 128);
    hsa_signal_t done = hsa_signal_take(1), none = {0};
    struct scale_arguments *first = (void *)arguments;
    struct add_arguments *second = (void *)(arguments + 64);
    unsigned bad = 0;

    fill(host, 1);
    hsa_copy(machine, left, machine->gpu, host, machine->cpu, COUNT * sizeof(float));
    fill(host, 100);
    HSA_CHECK(hsa_memory_copy(right, host, COUNT * sizeof(float)));
    *first = (struct scale_arguments){left, 3};
    *second = (struct add_arguments){left, right, right};
    hsa_dispatch(queue, &scale, grid, group, first, none);
    for (unsigned i = 0; i < rounds; i++) {
        hsa_signal_store_relaxed(done, 1);
        hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, second, done));
        hsa_await(done);
    }
    hsa_copy(machine, host, machine->cpu, right, machine->gpu, COUNT * sizeof(float));
    for (unsigned i = 0; i < COUNT; i++)
        bad += host[i] != 100 + (float)i + (float)rounds * 3 * (1 + (float)i);
    HSA_CHECK(hsa_queue_destroy(queue));
    HSA_CHECK(hsa_signal_destroy(done));
    HSA_CHECK(hsa_amd_memory_pool_free(left));
    HSA_CHECK(hsa_amd_memory_pool_free(right));
    HSA_CHECK(hsa_amd_memory_pool_free(host));
    HSA_CHECK(hsa_amd_memory_pool_free(arguments));
    return bad != 0;
}

int main(int argc, char **argv)
{
    struct hsa_machine machine;
    int bad;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    bad = compute(&machine, 200);
    HSA_CHECK(hsa_executable_destroy(machine.executable));
    HSA_CHECK(hsa_shut_down());
    printf(bad ? "wrong\n" : "right\n");
    return bad;
}
