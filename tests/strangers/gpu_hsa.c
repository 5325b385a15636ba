/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/strangers/gpu.h"

#include "tests/hsa/hsa_helper.h"

#include <dlfcn.h>

#define SIZE 256u

static struct hsa_machine machine;
static hsa_queue_t *queue;
static hsa_signal_t done;
static unsigned char *memory, *host;

void gpu_begin(void)
{
    hsa_machine_find(&machine);
    queue = hsa_queue_take(&machine, 64);
    done = hsa_signal_take(1);
    memory = hsa_pool_take(machine.device, SIZE);
    host = hsa_pool_take(machine.fine, SIZE);
}

unsigned gpu_fill(unsigned char first, int count)
{
    unsigned sum = 0;

    for (int i = 0; i < count; i++) {
        hsa_signal_store_screlease(done, 1);
        HSA_CHECK(hsa_amd_memory_fill(memory, (unsigned char)(first + i), SIZE / 4));
        hsa_ring(queue, hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done));
        hsa_await(done);
        HSA_CHECK(hsa_memory_copy(host, memory, SIZE));
        sum += host[4 * i];
    }
    return sum;
}

void gpu_attach(void) {}

void gpu_call(void)
{
    hsa_signal_load_relaxed(done);
}

static hsa_status_t call(hsa_agent_t agent, void *function)
{
    ((void (*)(void))function)();
    return HSA_STATUS_INFO_BREAK;
}

int gpu_call_back(void (*function)(void))
{
    hsa_iterate_agents(call, (void *)function);
    return 1;
}

const char *const gpu_library = "libhsa-runtime64.so.1";

void gpu_call_in(void *library)
{
    hsa_status_t (*about)(hsa_system_info_t, void *) =
        (hsa_status_t(*)(hsa_system_info_t, void *))dlsym(library, "hsa_system_get_info");
    uint16_t major;

    HSA_CHECK(about(HSA_SYSTEM_INFO_VERSION_MAJOR, &major));
}
