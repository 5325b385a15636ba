/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory of the program's own: a range of addresses, into which memory of the GPU and of
 * the host is mapped part by part, and out again; a kernel works on the one, the host writes the
 * other.
 */
#include "api/hsa/hsa_prototypes.h"
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>

#define PART  (2u << 20)
#define COUNT 2048u

static hsa_vmem_handle_t map(const struct hsa_machine *machine, hsa_amd_memory_pool_t pool,
                             char *at)
{
    hsa_memory_access_t access[2] = {{HSA_ACCESS_PERMISSION_RW, machine->cpu},
                                     {HSA_ACCESS_PERMISSION_RW, machine->gpu}};
    hsa_vmem_handle_t handle;

    HSA_CHECK(hsa_amd_vmem_handle_create(pool, PART, 0, 0, &handle));
    HSA_CHECK(hsa_amd_vmem_map(at, PART, 0, handle, 0));
    HSA_CHECK(hsa_amd_vmem_set_access(at, PART, access, 2));
    return handle;
}

static void unmap(char *at, hsa_vmem_handle_t handle)
{
    HSA_CHECK(hsa_amd_vmem_unmap(at, PART));
    HSA_CHECK(hsa_amd_vmem_handle_release(handle));
}

static unsigned round_of(const struct hsa_machine *machine, char *range, unsigned number)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    static float back[COUNT];
    struct hsa_found_kernel add = hsa_kernel_find(machine, "add.kd");
    hsa_vmem_handle_t device = map(machine, machine->device, range);
    hsa_vmem_handle_t host = map(machine, machine->fine, range + PART);
    struct add_arguments *arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    float *out = (float *)(void *)range, *in = (float *)(void *)(range + PART);
    hsa_queue_t *queue = hsa_queue_take(machine, 64);
    hsa_signal_t done = hsa_signal_take(1);
    unsigned bad = 0;

    for (unsigned i = 0; i < COUNT; i++)
        in[i] = (float)(i + number);
    HSA_CHECK(hsa_memory_copy(out, in, COUNT * sizeof(float)));
    in[7] = 1000;
    *arguments = (struct add_arguments){in, out, out};
    hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(back, out, sizeof(back)));
    for (unsigned i = 0; i < COUNT; i++)
        bad += back[i] != (i == 7 ? 1000 + 7 + (float)number : 2 * (float)(i + number));
    HSA_CHECK(hsa_queue_destroy(queue));
    HSA_CHECK(hsa_signal_destroy(done));
    HSA_CHECK(hsa_amd_memory_pool_free(arguments));
    unmap(range, device);
    unmap(range + PART, host);
    return bad;
}

int main(int argc, char **argv)
{
    struct hsa_machine machine;
    void *range = NULL;
    unsigned bad = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    HSA_CHECK(hsa_amd_vmem_address_reserve(&range, 4 * PART, 0, 0));
    for (unsigned i = 0; i < 3; i++)
        bad += round_of(&machine, (char *)range + (i & 1) * PART, i);
    HSA_CHECK(hsa_amd_vmem_address_free(range, 4 * PART));
    HSA_CHECK(hsa_shut_down());
    printf(bad ? "wrong\n" : "right\n");
    return bad != 0;
}
