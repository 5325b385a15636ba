/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared virtual memory: pages of the program's, which a kernel reads where they are, after a
 * prefetch. They are shared again, and grow.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <sys/mman.h>

#define COUNT 1024u
#define SIZE  (COUNT * sizeof(float))

static void share(const struct hsa_machine *machine, void *memory, size_t size)
{
    hsa_amd_svm_attribute_pair_t attributes[] = {
        {HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED},
        {HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, machine->gpu.handle}};

    HSA_CHECK(hsa_amd_svm_attributes_set(memory, size, attributes, 2));
    attributes[0] =
        (hsa_amd_svm_attribute_pair_t){HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, machine->gpu.handle};
    HSA_CHECK(hsa_amd_svm_attributes_get(memory, size, attributes, 1));
    if (attributes[0].attribute != HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE)
        printf("not accessible\n");
}

int main(int argc, char **argv)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_machine machine;
    struct hsa_found_kernel add;
    struct add_arguments *arguments;
    hsa_signal_t moved, done;
    hsa_queue_t *queue;
    float *shared, back[COUNT];
    unsigned bad = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    moved = hsa_signal_take(1);
    done = hsa_signal_take(2);
    add = hsa_kernel_find(&machine, "add.kd");
    queue = hsa_queue_take(&machine, 64);
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    shared = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    share(&machine, shared, SIZE);
    share(&machine, shared, SIZE);
    share(&machine, shared, 2 * SIZE);
    for (unsigned i = 0; i < COUNT; i++)
        shared[i] = shared[COUNT + i] = (float)i;
    HSA_CHECK(hsa_amd_svm_prefetch_async(shared, SIZE, machine.gpu, 0, NULL, moved));
    *arguments =
        (struct add_arguments){shared, shared + COUNT, hsa_pool_take(machine.device, SIZE)};
    hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &moved, 1, done);
    hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(back, arguments->out, SIZE));
    for (unsigned i = 0; i < COUNT; i++)
        bad += back[i] != 2 * (float)i;
    printf(bad ? "wrong: %u\n" : "right\n", bad);
    return bad != 0;
}
