/* SPDX-License-Identifier: Apache-2.0
 *
 * Two copies into the same memory are sent at once; the second one waits for the first, and for the
 * program, which reads what the first one gave: hsa_gated KERNELS WAY
 * WAY: signals (the second copy waits for both), barrier (a queue waits for the first copy, and
 * then for the program, and the second copy for that)
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <string.h>

#define COUNT 4096u
#define SIZE  (COUNT * sizeof(float))

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};
static const hsa_signal_t no_signal;

int main(int argc, char **argv)
{
    const bool by_barrier = argc > 2 && !strcmp(argv[2], "barrier");
    static float host[COUNT];
    struct hsa_machine m;
    float seen;

    if (argc < 2)
        return 2;
    hsa_machine_find(&m);
    hsa_machine_load(&m, argv[1]);
    struct hsa_found_kernel kernel = hsa_kernel_find(&m, "scale.kd");
    hsa_queue_t *work = hsa_queue_take(&m, 64), *waits = hsa_queue_take(&m, 64);
    float *scaled = hsa_pool_take(m.device, SIZE), *plain = hsa_pool_take(m.device, SIZE);
    float *memory = hsa_pool_take(m.fine, SIZE);
    struct scale_arguments *arguments = hsa_pool_take(m.kernarg, sizeof(*arguments));
    hsa_signal_t start = hsa_signal_take(1), ran = hsa_signal_take(1), gate = hsa_signal_take(1);
    hsa_signal_t passed = hsa_signal_take(1), done[2] = {hsa_signal_take(1), hsa_signal_take(1)};
    const hsa_signal_t both[2] = {done[0], gate};

    for (unsigned i = 0; i < COUNT; i++)
        host[i] = (float)i;
    HSA_CHECK(hsa_memory_copy(scaled, host, SIZE));
    HSA_CHECK(hsa_memory_copy(plain, host, SIZE));
    *arguments = (struct scale_arguments){scaled, 3.0f};
    hsa_ring(work, hsa_barrier(work, HSA_PACKET_TYPE_BARRIER_AND, &start, 1, no_signal));
    hsa_ring(work, hsa_dispatch(work, &kernel, grid, group, arguments, ran));
    HSA_CHECK(hsa_amd_memory_async_copy(memory, m.cpu, scaled, m.gpu, SIZE, 1, &ran, done[0]));
    if (by_barrier) {
        hsa_ring(waits, hsa_barrier(waits, HSA_PACKET_TYPE_BARRIER_AND, &done[0], 1, no_signal));
        hsa_ring(waits, hsa_barrier(waits, HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, passed));
    }
    HSA_CHECK(hsa_amd_memory_async_copy(memory, m.cpu, plain, m.gpu, SIZE, by_barrier ? 1 : 2,
                                        by_barrier ? &passed : both, done[1]));
    hsa_signal_store_screlease(start, 0);
    hsa_await(done[0]);
    seen = memory[100];
    hsa_signal_store_screlease(gate, 0);
    hsa_await(done[1]);
    printf("gated: %f %f\n", seen, memory[100]);
    return 0;
}
