/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the host that the GPU has written, and to which the program then gives back the bytes
 * that were there before: the next copy reads those. In whatever way the GPU wrote there.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <string.h>

#define SIZE 8192u

static struct hsa_machine machine;
static uint8_t *device, *host;

static void by_async_copy(void)
{
    hsa_copy(&machine, host, machine.cpu, device, machine.gpu, SIZE);
}

static void by_copy(void)
{
    HSA_CHECK(hsa_memory_copy(host, device, SIZE));
}

static void by_fill(void)
{
    HSA_CHECK(hsa_amd_memory_fill(host, 0x07070707, SIZE / 4));
}

static void by_kernel(void)
{
    struct add_arguments *arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    struct hsa_found_kernel add = hsa_kernel_find(&machine, "add.kd");
    hsa_queue_t *queue = hsa_queue_take(&machine, 64);
    hsa_signal_t done = hsa_signal_take(1);

    *arguments = (struct add_arguments){(float *)device, (float *)device, (float *)host};
    hsa_ring(queue, hsa_dispatch(queue, &add, (uint32_t[3]){SIZE / 4, 1, 1},
                                 (uint16_t[3]){64, 1, 1}, arguments, done));
    hsa_await(done);
}

/* Returns how many bytes are wrong. */
static unsigned restores(void (*write)(void), uint8_t before)
{
    uint8_t *second = hsa_pool_take(machine.device, SIZE), back[SIZE];
    unsigned bad = 0;

    memset(host, before, SIZE);
    hsa_copy(&machine, second, machine.gpu, host, machine.cpu, SIZE);
    write();
    bad += host[SIZE - 1] == before;
    memset(host, before, SIZE);
    hsa_copy(&machine, second, machine.gpu, host, machine.cpu, SIZE);
    HSA_CHECK(hsa_memory_copy(back, second, SIZE));
    for (unsigned i = 0; i < SIZE; i++)
        bad += back[i] != before;
    return bad;
}

int main(int argc, char **argv)
{
    void (*const ways[])(void) = {by_async_copy, by_copy, by_fill, by_kernel};
    uint8_t bytes[SIZE];
    unsigned bad = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    device = hsa_pool_take(machine.device, SIZE);
    memset(bytes, 7, SIZE);
    HSA_CHECK(hsa_memory_copy(device, bytes, SIZE));
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        host = hsa_pool_take(machine.fine, SIZE);
        bad += restores(ways[i], 0);
        bad += restores(ways[i], 9);
    }
    printf("%u wrong\n", bad);
    return bad != 0;
}
