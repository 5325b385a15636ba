/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that gets an address as an argument, and another one in a struct. What it writes to the
 * first is read back, the other memory is not looked at. Both addresses are printed.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#define COUNT 64u

int main(int argc, char **argv)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_machine machine;
    struct hsa_found_kernel hold;
    struct hold_arguments *arguments;
    uint32_t back[COUNT], bad = 0;
    hsa_signal_t done;
    hsa_queue_t *queue;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    hold = hsa_kernel_find(&machine, "hold.kd");
    queue = hsa_queue_take(&machine, 64);
    done = hsa_signal_take(1);
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    arguments->out = hsa_pool_take(machine.device, sizeof(back));
    /* Not side by side: what touches is placed as one. */
    mmap((char *)arguments->out + 4096, 4096, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    arguments->held.factor = 3;
    arguments->held.beside = hsa_pool_take(machine.device, sizeof(back));
    hsa_ring(queue, hsa_dispatch(queue, &hold, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(back, arguments->out, sizeof(back)));
    for (uint32_t i = 0; i < COUNT; i++)
        bad += back[i] != 3 * i;
    printf("%" PRIxPTR " %" PRIxPTR "\n", (uintptr_t)arguments->out,
           (uintptr_t)arguments->held.beside);
    HSA_CHECK(hsa_shut_down());
    return bad != 0;
}
