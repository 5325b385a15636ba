/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel's results in memory of the host, of which the program learns by looking there, without
 * any call; then it sends the next kernel, which reads them.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT 4096u

int main(int argc, char **argv)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_found_kernel scale, add;
    struct scale_arguments *first;
    struct add_arguments *second;
    struct hsa_machine machine;
    hsa_signal_t done;
    hsa_queue_t *queue;
    volatile float *data;
    double sum = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    scale = hsa_kernel_find(&machine, "scale_or_not.kd");
    add = hsa_kernel_find(&machine, "add.kd");
    queue = hsa_queue_take(&machine, 64);
    done = hsa_signal_take(2);
    data = hsa_pool_take(machine.fine, COUNT * sizeof(*data));
    first = hsa_pool_take(machine.kernarg, 4096);
    second = (void *)(first + 16);
    for (unsigned i = 0; i < COUNT; i++)
        data[i] = (float)(i + 1);
    *first = (struct scale_arguments){(float *)data, 1.5f};
    *second = (struct add_arguments){(float *)data, (float *)data,
                                     hsa_pool_take(machine.fine, COUNT * sizeof(*data))};
    hsa_ring(queue, hsa_dispatch(queue, &scale, grid, group, first, done));
    while (data[COUNT - 1] == COUNT)
        ;
    hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, second, done));
    hsa_await(done);
    for (unsigned i = 0; i < COUNT; i++)
        sum += second->out[i];
    printf("%.1f\n", sum);
    return 0;
}
