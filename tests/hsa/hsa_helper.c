/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hsa/hsa_helper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hsa_check(hsa_status_t status, const char *what)
{
    if (status == HSA_STATUS_SUCCESS)
        return;
    fprintf(stderr, "%s: 0x%x\n", what, status);
    exit(1);
}

/* ---- the machine -------------------------------------------------------------------------------
 */

static hsa_status_t find_agent(hsa_agent_t agent, void *data)
{
    struct hsa_machine *machine = data;
    hsa_device_type_t type;

    HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_CPU)
        machine->cpu = agent;
    else if (type == HSA_DEVICE_TYPE_GPU)
        machine->gpu = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void *data)
{
    struct hsa_machine *machine = data;
    hsa_amd_memory_pool_access_t access;
    hsa_amd_segment_t segment;
    uint32_t flags;

    HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL)
        return HSA_STATUS_SUCCESS;
    HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    HSA_CHECK(hsa_amd_agent_memory_pool_get_info(machine->cpu, pool,
                                                 HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access));
    if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
        machine->kernarg = pool;
    else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
        machine->fine = pool;
    else if (access != HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT)
        machine->device = pool;
    else
        machine->coarse = pool;
    return HSA_STATUS_SUCCESS;
}

void hsa_machine_find(struct hsa_machine *out)
{
    memset(out, 0, sizeof(*out));
    HSA_CHECK(hsa_init());
    HSA_CHECK(hsa_iterate_agents(find_agent, out));
    HSA_CHECK(hsa_amd_agent_iterate_memory_pools(out->cpu, find_pool, out));
    if (out->gpu.handle)
        HSA_CHECK(hsa_amd_agent_iterate_memory_pools(out->gpu, find_pool, out));
}

void hsa_machine_load(struct hsa_machine *machine, const char *path)
{
    hsa_code_object_reader_t reader;
    int file = open(path, O_RDONLY);

    if (file < 0) {
        perror(path);
        exit(1);
    }
    HSA_CHECK(hsa_code_object_reader_create_from_file(file, &reader));
    HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR,
                                        NULL, &machine->executable));
    HSA_CHECK(hsa_executable_load_agent_code_object(machine->executable, machine->gpu, reader, NULL,
                                                    NULL));
    HSA_CHECK(hsa_executable_freeze(machine->executable, NULL));
    HSA_CHECK(hsa_code_object_reader_destroy(reader));
    close(file);
}

struct hsa_found_kernel hsa_kernel_find(const struct hsa_machine *machine, const char *name)
{
    struct hsa_found_kernel kernel;
    hsa_executable_symbol_t symbol;

    HSA_CHECK(hsa_executable_get_symbol_by_name(machine->executable, name, &machine->gpu, &symbol));
    HSA_CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                             &kernel.object));
    HSA_CHECK(hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.arguments_size));
    HSA_CHECK(hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_size));
    HSA_CHECK(hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_size));
    return kernel;
}

void *hsa_pool_take(hsa_amd_memory_pool_t pool, size_t size)
{
    void *memory = NULL;

    HSA_CHECK(hsa_amd_memory_pool_allocate(pool, size, 0, &memory));
    return memory;
}

hsa_queue_t *hsa_queue_take(const struct hsa_machine *machine, uint32_t size)
{
    hsa_queue_t *queue = NULL;

    HSA_CHECK(hsa_queue_create(machine->gpu, size, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
                               UINT32_MAX, &queue));
    return queue;
}

hsa_signal_t hsa_signal_take(hsa_signal_value_t value)
{
    hsa_signal_t signal;

    HSA_CHECK(hsa_signal_create(value, 0, NULL, &signal));
    return signal;
}

/* ---- packets -----------------------------------------------------------------------------------
 */

#define FENCES                                                                                     \
    (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |                           \
     HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE)
#define HEADER(type)                                                                               \
    ((uint32_t)(type) << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER | FENCES)

static void *packet_place(hsa_queue_t *queue, uint64_t *index)
{
    *index = hsa_queue_add_write_index_scacq_screl(queue, 1);
    while (*index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
        ;
    return (char *)queue->base_address + (*index & (queue->size - 1)) * 64;
}

/* The header and what stands beside it, last. */
static void publish(void *packet, uint32_t first)
{
    __atomic_store_n((uint32_t *)packet, first, __ATOMIC_RELEASE);
}

uint64_t hsa_dispatch(hsa_queue_t *queue, const struct hsa_found_kernel *kernel,
                      const uint32_t grid[3], const uint16_t group[3], void *arguments,
                      hsa_signal_t completion)
{
    unsigned dimensions = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
    uint64_t index;
    hsa_kernel_dispatch_packet_t *packet = packet_place(queue, &index);

    memset((char *)packet + 4, 0, sizeof(*packet) - 4);
    packet->workgroup_size_x = group[0];
    packet->workgroup_size_y = group[1];
    packet->workgroup_size_z = group[2];
    packet->grid_size_x = grid[0];
    packet->grid_size_y = grid[1];
    packet->grid_size_z = grid[2];
    packet->private_segment_size = kernel->private_size;
    packet->group_segment_size = kernel->group_size;
    packet->kernel_object = kernel->object;
    packet->kernarg_address = arguments;
    packet->completion_signal = completion;
    publish(packet, HEADER(HSA_PACKET_TYPE_KERNEL_DISPATCH) | dimensions << 16);
    return index;
}

uint64_t hsa_barrier(hsa_queue_t *queue, uint32_t type, const hsa_signal_t *deps, unsigned count,
                     hsa_signal_t completion)
{
    uint64_t index;
    hsa_barrier_and_packet_t *packet = packet_place(queue, &index);

    memset((char *)packet + 4, 0, sizeof(*packet) - 4);
    for (unsigned i = 0; i < count; i++)
        packet->dep_signal[i] = deps[i];
    packet->completion_signal = completion;
    publish(packet, HEADER(type));
    return index;
}

uint64_t hsa_barrier_value(hsa_queue_t *queue, const hsa_amd_barrier_value_packet_t *like)
{
    uint64_t index;
    hsa_amd_barrier_value_packet_t *packet = packet_place(queue, &index);

    memcpy((char *)packet + 4, (const char *)like + 4, sizeof(*packet) - 4);
    publish(packet,
            HEADER(HSA_PACKET_TYPE_VENDOR_SPECIFIC) | (uint32_t)HSA_AMD_FORMAT_BARRIER_VALUE << 16);
    return index;
}

void hsa_ring(hsa_queue_t *queue, uint64_t index)
{
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

void hsa_await(hsa_signal_t signal)
{
    while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                     HSA_WAIT_STATE_BLOCKED) > 0)
        ;
}

static bool tell(hsa_signal_value_t value, void *user)
{
    hsa_signal_store_screlease(*(hsa_signal_t *)user, 0);
    return false;
}

void hsa_await_by_handler(hsa_signal_t signal)
{
    hsa_signal_t told = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, tell, &told));
    hsa_await(told);
}

void hsa_copy(const struct hsa_machine *machine, void *dst, hsa_agent_t dst_agent, const void *src,
              hsa_agent_t src_agent, size_t size)
{
    hsa_signal_t done = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size, 0, NULL, done));
    hsa_await(done);
    HSA_CHECK(hsa_signal_destroy(done));
}
