/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the program gives up when a command has written there, which it finds in the memory
 * and asks nobody: hsa_given_up KERNELS WAY. WAY: copy, kernel, lock (a copy into locked memory).
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT 4096u
#define SIZE  (COUNT * sizeof(float))

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};
static const hsa_signal_t no_signal;

static struct hsa_machine m;
static bool is_lock;

static float *take(void **device)
{
    float *memory;

    if (!is_lock)
        return *device = hsa_pool_take(m.fine, SIZE);
    memory = aligned_alloc(4096, SIZE);
    HSA_CHECK(hsa_amd_memory_lock(memory, SIZE, &m.gpu, 1, device));
    return memory;
}

int main(int argc, char **argv)
{
    const bool by_kernel = argc > 2 && !strcmp(argv[2], "kernel");
    float seen;

    if (argc < 3)
        return 2;
    is_lock = !strcmp(argv[2], "lock");
    hsa_machine_find(&m);
    hsa_machine_load(&m, argv[1]);
    struct hsa_found_kernel kernel = hsa_kernel_find(&m, "scale.kd");
    hsa_queue_t *queue = hsa_queue_take(&m, 64);
    float *scaled = hsa_pool_take(m.device, SIZE);
    struct scale_arguments *arguments = hsa_pool_take(m.kernarg, sizeof(*arguments));
    hsa_signal_t start = hsa_signal_take(1), ran = hsa_signal_take(1), done = hsa_signal_take(1);
    void *device;
    float *memory = take(&device), *other;

    for (unsigned i = 0; i < COUNT; i++)
        memory[i] = (float)i;
    HSA_CHECK(hsa_memory_copy(scaled, memory, SIZE));
    *arguments = (struct scale_arguments){by_kernel ? device : scaled, 3.0f};
    hsa_ring(queue, hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &start, 1, no_signal));
    hsa_ring(queue, hsa_dispatch(queue, &kernel, grid, group, arguments, ran));
    if (!by_kernel)
        HSA_CHECK(hsa_amd_memory_async_copy(device, m.cpu, scaled, m.gpu, SIZE, 1, &ran, done));
    hsa_signal_store_screlease(start, 0);
    while (((volatile float *)memory)[COUNT - 1] != 3.0f * (COUNT - 1))
        usleep(1000);
    usleep(100000); /* between the last byte and the end of the command are microseconds */
    seen = memory[100];
    if (is_lock)
        HSA_CHECK(hsa_amd_memory_unlock(memory));
    else
        HSA_CHECK(hsa_amd_memory_pool_free(memory));
    other = is_lock ? memory : take(&device);
    memset(other, 0x55, SIZE);
    hsa_await(by_kernel ? ran : done);
    printf("given up: %f\n", seen);
    return 0;
}
