/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers in work-groups: sums by a tree in group memory. A barrier in a kernel that has not asked
 * for stacks is an error of its queue.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define COUNT 1024u
#define GROUP 64u

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {GROUP, 1, 1};
static atomic_int error;

static int sums(const struct hsa_machine *machine)
{
    struct hsa_found_kernel kernel = hsa_kernel_find(machine, "tree_sum.kd");
    hsa_queue_t *queue = hsa_queue_take(machine, 64);
    uint64_t host[COUNT], out[COUNT / GROUP];
    struct group_sum_arguments *arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    uint64_t *in = hsa_pool_take(machine->device, sizeof(host));
    hsa_signal_t done = hsa_signal_take(1);
    unsigned bad = 0;

    for (unsigned i = 0; i < COUNT; i++)
        host[i] = i * i;
    HSA_CHECK(hsa_memory_copy(in, host, sizeof(host)));
    *arguments = (struct group_sum_arguments){in, hsa_pool_take(machine->device, sizeof(out))};
    hsa_ring(queue, hsa_dispatch(queue, &kernel, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(out, arguments->out, sizeof(out)));
    for (unsigned i = 0; i < COUNT / GROUP; i++) {
        for (unsigned k = 0; k < GROUP; k++)
            out[i] -= host[i * GROUP + k];
        bad += out[i] != 0;
    }
    HSA_CHECK(hsa_queue_destroy(queue));
    return bad != 0;
}

static void on_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
    atomic_store(&error, (int)status);
}

static int refused(const struct hsa_machine *machine)
{
    struct hsa_found_kernel kernel = hsa_kernel_find(machine, "no_stack.kd");
    struct group_sum_arguments *arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    hsa_queue_t *queue;

    memset(arguments, 0, sizeof(*arguments));
    HSA_CHECK(hsa_queue_create(machine->gpu, 64, HSA_QUEUE_TYPE_MULTI, on_error, NULL, UINT32_MAX,
                               UINT32_MAX, &queue));
    hsa_ring(queue, hsa_dispatch(queue, &kernel, grid, group, arguments, (hsa_signal_t){0}));
    while (!atomic_load(&error))
        ;
    HSA_CHECK(hsa_queue_destroy(queue));
    return atomic_load(&error) != HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
}

int main(int argc, char **argv)
{
    struct hsa_machine machine;
    int bad;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    bad = sums(&machine);
    if (argc > 2)
        bad |= refused(&machine) << 1;
    printf(bad ? "wrong: %d\n" : "right\n", bad);
    return bad;
}
