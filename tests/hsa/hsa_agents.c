/* SPDX-License-Identifier: Apache-2.0
 *
 * Agent dispatch packets to the GPU, between kernels: it fills, copies and counts; what it returns
 * goes to memory that the host reads.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"
#include "tracesmith/hsa_kernel.h"

#include <stdio.h>
#include <string.h>

#define COUNT 512u

static uint64_t perform(hsa_queue_t *queue, uint16_t type, void *returned, const void *to,
                        uint64_t what, uint64_t size, hsa_signal_t completion)
{
    const uint16_t head =
        HSA_PACKET_TYPE_AGENT_DISPATCH << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER;
    uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
    hsa_agent_dispatch_packet_t *packet =
        (hsa_agent_dispatch_packet_t *)queue->base_address + index % queue->size;

    memset((char *)packet + 2, 0, sizeof(*packet) - 2);
    packet->type = type;
    packet->return_address = returned;
    packet->arg[0] = (uintptr_t)to;
    packet->arg[1] = what;
    packet->arg[2] = size;
    packet->completion_signal = completion;
    __atomic_store_n(&packet->header, head, __ATOMIC_RELEASE);
    return index;
}

int main(int argc, char **argv)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    const size_t size = COUNT * sizeof(float);
    float first[COUNT], back[COUNT];
    struct add_arguments *arguments;
    struct hsa_found_kernel add;
    struct hsa_machine machine;
    uint64_t *returned, counter = 0;
    hsa_queue_t *queue;
    hsa_signal_t done;
    unsigned bad = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    add = hsa_kernel_find(&machine, "add.kd");
    queue = hsa_queue_take(&machine, 64);
    done = hsa_signal_take(1);
    returned = hsa_pool_take(machine.fine, 4096);
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    arguments->left = hsa_pool_take(machine.device, size);
    arguments->right = hsa_pool_take(machine.device, size);
    arguments->out = hsa_pool_take(machine.device, size);
    for (unsigned i = 0; i < COUNT; i++)
        first[i] = (float)i;
    returned[1] = 40;
    HSA_CHECK(hsa_memory_copy((void *)(uintptr_t)arguments->left, first, size));
    perform(queue, TRACESMITH_HSA_FUNCTION_COPY, NULL, arguments->right, (uintptr_t)arguments->left,
            size, (hsa_signal_t){0});
    hsa_dispatch(queue, &add, grid, group, arguments, (hsa_signal_t){0});
    perform(queue, TRACESMITH_HSA_FUNCTION_FILL, NULL, arguments->out, 0, size / 2,
            (hsa_signal_t){0});
    hsa_ring(queue,
             perform(queue, TRACESMITH_HSA_FUNCTION_ADD, returned, returned + 1, 2, 0, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(back, arguments->out, sizeof(back)));
    HSA_CHECK(hsa_memory_copy(&counter, returned + 1, sizeof(counter)));
    for (unsigned i = 0; i < COUNT; i++)
        bad += back[i] != (i < COUNT / 2 ? 0 : 2 * (float)i);
    bad += returned[0] != 40 || counter != 42;
    HSA_CHECK(hsa_queue_destroy(queue));
    HSA_CHECK(hsa_shut_down());
    printf(bad ? "wrong\n" : "right\n");
    return bad != 0;
}
