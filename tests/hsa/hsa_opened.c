/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the runtime as AMD's clr can be built: its functions are asked for by name.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/hsa/types.h"
#include "tests/hsa/hsa_kernels.h"
#include "tests/programs/opened.h"
#include "tracesmith/hsa_kernel.h"

static void check(hsa_status_t status, const char *what)
{
    if (status == HSA_STATUS_SUCCESS)
        return;
    fprintf(stderr, "%s: 0x%x\n", what, status);
    exit(1);
}

static hsa_agent_t gpu;
static hsa_region_t host_region, gpu_region;

static hsa_status_t find_region(hsa_region_t region, void *data)
{
    bool may_allocate = false;
    uint32_t flags = 0;

    F(hsa_region_get_info)(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
    F(hsa_region_get_info)(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED, &may_allocate);
    if (flags & HSA_REGION_GLOBAL_FLAG_KERNARG)
        host_region = region;
    if (data && may_allocate)
        gpu_region = region;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_gpu(hsa_agent_t agent, void *data)
{
    hsa_device_type_t type;

    F(hsa_agent_get_info)(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type == HSA_DEVICE_TYPE_GPU)
        gpu = agent;
    F(hsa_agent_iterate_regions)(agent, find_region, type == HSA_DEVICE_TYPE_GPU ? &gpu : NULL);
    return HSA_STATUS_SUCCESS;
}

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);

    *size = file && bytes ? fread(bytes, 1, 1 << 20, file) : 0;
    if (!*size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return bytes;
}

static uint64_t load(const char *path, const char *name)
{
    hsa_code_object_reader_t reader;
    hsa_executable_symbol_t symbol;
    hsa_executable_t executable;
    uint64_t object = 0;
    size_t size;
    void *bytes = read_file(path, &size);

    check(F(hsa_code_object_reader_create_from_memory)(bytes, size, &reader), "reader");
    check(F(hsa_executable_create)(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL,
                                   &executable),
          "executable");
    check(F(hsa_executable_load_agent_code_object)(executable, gpu, reader, NULL, NULL), "load");
    check(F(hsa_executable_freeze)(executable, NULL), "freeze");
    check(F(hsa_executable_get_symbol_by_name)(executable, name, &gpu, &symbol), "symbol");
    check(F(hsa_executable_symbol_get_info)(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                            &object),
          "kernel");
    free(bytes);
    return object;
}

/* Regions and plain copies, as programs of HSA 1.0 do. */
static unsigned run(uint64_t kernel)
{
    static const uint32_t head = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                                 1u << HSA_PACKET_HEADER_BARRIER | 1u << 16;
    hsa_kernel_dispatch_packet_t *packet;
    struct bias_arguments *arguments = NULL;
    uint32_t *data = NULL, copy[256];
    hsa_queue_t *queue = NULL;
    hsa_signal_t done;
    unsigned bad = 0;

    check(F(hsa_memory_allocate)(host_region, sizeof(*arguments), (void **)&arguments), "memory");
    check(F(hsa_memory_allocate)(gpu_region, sizeof(copy), (void **)&data), "memory");
    for (unsigned i = 0; i < 256; i++)
        copy[i] = i;
    check(F(hsa_memory_copy)(data, copy, sizeof(copy)), "copy");
    arguments->data = data;
    check(F(hsa_signal_create)(1, 0, NULL, &done), "signal");
    check(F(hsa_queue_create)(gpu, 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, 0, 0, &queue), "queue");
    packet = queue->base_address;
    F(hsa_queue_store_write_index_relaxed)(queue, 1);
    memset((char *)packet + 4, 0, sizeof(*packet) - 4);
    packet->workgroup_size_x = packet->grid_size_x = 256;
    packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_y = packet->grid_size_z = 1;
    packet->kernel_object = kernel;
    packet->kernarg_address = arguments;
    packet->completion_signal = done;
    __atomic_store_n((uint32_t *)(void *)packet, head, __ATOMIC_RELEASE);
    F(hsa_signal_store_relaxed)(queue->doorbell_signal, 0);
    F(hsa_signal_wait_acquire)(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
    check(F(hsa_memory_copy)(copy, data, sizeof(copy)), "copy");
    for (unsigned i = 0; i < 256; i++)
        bad += copy[i] != i + 7;
    return bad;
}

/* Programs look for all kinds of GPUs: calls of another API, and no commands. */
static void look_for_others(void)
{
    void *other = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned flags) = other ? (int (*)(unsigned))dlsym(other, "cuInit") : NULL;

    if (init)
        init(0);
}

int main(int argc, char **argv)
{
    unsigned bad;

    library = dlopen(argc > 2 ? argv[2] : "libhsa-runtime64.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    check(F(hsa_init)(), "hsa_init");
    look_for_others();
    check(F(hsa_iterate_agents)(find_gpu, NULL), "agents");
    bad = run(load(argv[1], "add_bias.kd"));
    printf(bad ? "wrong\n" : "right\n");
    return bad != 0;
}
