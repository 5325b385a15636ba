/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that has several addresses: one amount of it mapped twice at once, and again later; the
 * same by a file that the process makes of it; memory of a pool, which a file brings to a second
 * address.
 */
#include "api/hsa/hsa_prototypes.h"
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>

#define PART  (2u << 20)
#define COUNT 1024u
#define SIZE  (COUNT * sizeof(float))

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};

static void map(const struct hsa_machine *machine, char *at, hsa_vmem_handle_t handle)
{
    hsa_memory_access_t access[2] = {{HSA_ACCESS_PERMISSION_RW, machine->cpu},
                                     {HSA_ACCESS_PERMISSION_RW, machine->gpu}};

    HSA_CHECK(hsa_amd_vmem_map(at, PART, 0, handle, 0));
    HSA_CHECK(hsa_amd_vmem_set_access(at, PART, access, 2));
}

static void scale(const struct hsa_machine *machine, void *data, float factor)
{
    struct hsa_found_kernel kernel = hsa_kernel_find(machine, "scale.kd");
    struct scale_arguments *arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    hsa_queue_t *queue = hsa_queue_take(machine, 64);
    hsa_signal_t done = hsa_signal_take(1);

    *arguments = (struct scale_arguments){data, factor};
    hsa_ring(queue, hsa_dispatch(queue, &kernel, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_queue_destroy(queue));
    HSA_CHECK(hsa_signal_destroy(done));
    HSA_CHECK(hsa_amd_memory_pool_free(arguments));
}

static void fill(void *data)
{
    float numbers[COUNT];

    for (unsigned i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    HSA_CHECK(hsa_memory_copy(data, numbers, SIZE));
}

static unsigned differs(const void *data, float factor)
{
    float back[COUNT];
    unsigned bad = 0;

    HSA_CHECK(hsa_memory_copy(back, data, SIZE));
    for (unsigned i = 0; i < COUNT; i++)
        bad |= back[i] != factor * (float)i;
    return bad;
}

/* Two addresses at once, a third one when these are gone. */
static unsigned twice(const struct hsa_machine *machine, char *range)
{
    hsa_vmem_handle_t handle, same;
    hsa_amd_memory_pool_t pool;
    hsa_access_permission_t allowed;
    unsigned bad = 0;
    uint32_t type;

    HSA_CHECK(hsa_amd_vmem_handle_create(machine->device, PART, 0, 0, &handle));
    map(machine, range, handle);
    map(machine, range + PART, handle);
    fill(range);
    scale(machine, range + PART, 3);
    bad |= differs(range, 3);
    HSA_CHECK(hsa_amd_vmem_retain_alloc_handle(&same, range));
    HSA_CHECK(hsa_amd_vmem_get_alloc_properties_from_handle(same, &pool, &type));
    HSA_CHECK(hsa_amd_vmem_get_access(range, &allowed, machine->gpu));
    bad |= same.handle != handle.handle || pool.handle != machine->device.handle ||
           allowed != HSA_ACCESS_PERMISSION_RW;
    HSA_CHECK(hsa_amd_vmem_unmap(range, PART));
    HSA_CHECK(hsa_amd_vmem_unmap(range + PART, PART));
    HSA_CHECK(hsa_amd_vmem_handle_release(handle));
    map(machine, range + 2 * PART, same);
    HSA_CHECK(hsa_amd_vmem_handle_release(same));
    scale(machine, range + 2 * PART, 2);
    bad |= differs(range + 2 * PART, 6);
    HSA_CHECK(hsa_amd_vmem_unmap(range + 2 * PART, PART));
    return bad;
}

/* A file of it leads to the same memory. */
static unsigned by_file(const struct hsa_machine *machine, char *range)
{
    hsa_vmem_handle_t handle, same;
    unsigned bad = 0;
    int file;

    HSA_CHECK(hsa_amd_vmem_handle_create(machine->device, PART, 0, 0, &handle));
    map(machine, range, handle);
    fill(range);
    HSA_CHECK(hsa_amd_vmem_export_shareable_handle(&file, handle, 0));
    HSA_CHECK(hsa_amd_vmem_import_shareable_handle(file, &same));
    map(machine, range + PART, same);
    scale(machine, range + PART, 5);
    bad |= differs(range, 5);
    HSA_CHECK(hsa_amd_portable_close_dmabuf(file));
    HSA_CHECK(hsa_amd_vmem_unmap(range, PART));
    HSA_CHECK(hsa_amd_vmem_unmap(range + PART, PART));
    HSA_CHECK(hsa_amd_vmem_handle_release(handle));
    HSA_CHECK(hsa_amd_vmem_handle_release(same));
    return bad;
}

/* The same for memory of a pool. */
static unsigned of_pool(struct hsa_machine *machine, char *range)
{
    char *memory = hsa_pool_take(machine->device, PART);
    hsa_vmem_handle_t handle;
    uint64_t offset = 1;
    size_t size = 0;
    void *again = NULL;
    unsigned bad = 0;
    int file;

    fill(memory);
    HSA_CHECK(hsa_amd_portable_export_dmabuf(memory, PART, &file, &offset));
    HSA_CHECK(hsa_amd_interop_map_buffer(1, &machine->gpu, file, 0, &size, &again, NULL, NULL));
    HSA_CHECK(hsa_amd_vmem_import_shareable_handle(file, &handle));
    map(machine, range, handle);
    HSA_CHECK(hsa_amd_portable_close_dmabuf(file));
    scale(machine, again, 7);
    scale(machine, range, 2);
    bad |= offset != 0 || size != PART || differs(memory, 14);
    HSA_CHECK(hsa_amd_interop_unmap_buffer(again));
    HSA_CHECK(hsa_amd_vmem_unmap(range, PART));
    HSA_CHECK(hsa_amd_vmem_handle_release(handle));
    HSA_CHECK(hsa_amd_memory_pool_free(memory));
    return bad;
}

int main(int argc, char **argv)
{
    struct hsa_machine machine;
    void *range = NULL;
    unsigned bad;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    HSA_CHECK(hsa_amd_vmem_address_reserve_align(&range, 4 * (size_t)PART, 0, PART, 0));
    bad = (uintptr_t)range % PART != 0;
    bad |= twice(&machine, range) << 1;
    bad |= by_file(&machine, range) << 2;
    bad |= of_pool(&machine, range) << 3;
    HSA_CHECK(hsa_amd_vmem_address_free(range, 4 * (size_t)PART));
    HSA_CHECK(hsa_shut_down());
    printf(bad ? "wrong: %u\n" : "right\n", bad);
    return bad != 0;
}
