/* SPDX-License-Identifier: Apache-2.0
 *
 * hsa_hostile CODE [DEED [ADDRESS]]: one dispatch of the kernel that does what no trace may.
 * hsa_hostile CODE store ADDRESS: and an agent dispatch that stores there, which is no memory of
 * the GPU, but of this program.
 */
#include "tests/hsa/hostile_kernels.h"
#include "tests/hsa/hsa_helper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracesmith/hsa_kernel.h"

static void store(hsa_queue_t *queue, uint64_t address)
{
    uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    hsa_agent_dispatch_packet_t *packet =
        (hsa_agent_dispatch_packet_t *)queue->base_address + index % queue->size;
    hsa_signal_t done = hsa_signal_take(1);
    void *there = mmap((void *)(uintptr_t)address, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    if (there == MAP_FAILED)
        exit(1);
    memset((char *)packet + 4, 0, sizeof(*packet) - 4);
    packet->arg[0] = address;
    packet->arg[1] = 1;
    packet->completion_signal = done;
    __atomic_store_n((uint32_t *)(void *)packet,
                     HSA_PACKET_TYPE_AGENT_DISPATCH | TRACESMITH_HSA_FUNCTION_STORE << 16,
                     __ATOMIC_RELEASE);
    hsa_ring(queue, index);
    hsa_await(done);
}

int main(int argc, char **argv)
{
    static const uint32_t grid[3] = {1, 1, 1};
    static const uint16_t group[3] = {1, 1, 1};
    struct hostile_arguments *arguments;
    struct hsa_found_kernel attack;
    struct hsa_machine machine;
    uint64_t back = 0;
    hsa_signal_t done;
    hsa_queue_t *queue;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    attack = hsa_kernel_find(&machine, "attack.kd");
    queue = hsa_queue_take(&machine, 64);
    done = hsa_signal_take(1);
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    arguments->out = hsa_pool_take(machine.device, sizeof(back));
    if (argc > 3 && strcmp(argv[2], "store") == 0)
        store(queue, strtoull(argv[3], NULL, 0));
    arguments->deed = argc > 2 ? strtoull(argv[2], NULL, 0) : 0; /* "store": 0 */
    arguments->address = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
    hsa_ring(queue, hsa_dispatch(queue, &attack, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(&back, arguments->out, sizeof(back)));
    printf("%" PRIu64 "\n", back);
    HSA_CHECK(hsa_shut_down());
    return back != 1;
}
