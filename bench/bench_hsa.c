/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the cost that recording adds to a dispatch packet of HSA with its doorbell, and to a
 * launch of CUDA with as many bytes of arguments; the runtimes do nothing. Bursts are short enough
 * to fit into a lane, with rests between them, so that the drain thread's work is not measured
 * here.
 */
#include "api/cuda/cuda_calls.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/hsa/hsa_calls.h"
#include "api/hsa/hsa_wrappers.h"
#include "bench/measure.h"
#include "capture/session.h"

#include <string.h>
#include <unistd.h>

enum { ROUNDS = 1000, BATCH = 64, QUEUE_SIZE = 64, ARGUMENT_SIZE = 64 };

const struct tsm_source *const tsm_sources[] = {&cuda_source, &hsa_source, NULL};

static uint64_t rings[2][QUEUE_SIZE * 8] __attribute__((aligned(64)));
static hsa_queue_t queues[2]; /* the runtime's own, and a soft one */
static uint64_t next_signal = 0x1000, write_index;
static uint8_t arguments[ARGUMENT_SIZE];

/* Asked before main(). */
bool tsm_real_library_loaded(unsigned index)
{
    return false;
}

unsigned tsm_source_index(const struct tsm_source *source)
{
    return 1;
}

/* ---- runtimes that do nothing ------------------------------------------------------------------
 */

static hsa_status_t make_signal(hsa_signal_value_t value, uint32_t count, const hsa_agent_t *agents,
                                hsa_signal_t *signal)
{
    signal->handle = next_signal += 64;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t make_queue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                               hsa_queue_callback_t callback, void *data, uint32_t private_size,
                               uint32_t group_size, hsa_queue_t **queue)
{
    queues[0] = (hsa_queue_t){.base_address = rings[0], .size = size, .doorbell_signal = {0x700}};
    *queue = &queues[0];
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t make_soft(hsa_region_t region, uint32_t size, hsa_queue_type32_t type,
                              uint32_t features, hsa_signal_t doorbell, hsa_queue_t **queue)
{
    queues[1] = (hsa_queue_t){.base_address = rings[1], .size = size, .doorbell_signal = doorbell};
    *queue = &queues[1];
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t tell_nothing(hsa_agent_t agent, hsa_agent_info_t attribute, void *value)
{
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

static __attribute__((noinline)) void store(hsa_signal_t signal, hsa_signal_value_t value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

static void store_index(const hsa_queue_t *queue, uint64_t value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

static __attribute__((noinline)) hsa_signal_value_t load(hsa_signal_t signal)
{
    return 1;
}

/* All was taken. */
static __attribute__((noinline)) uint64_t load_index(const hsa_queue_t *queue)
{
    return write_index;
}

static __attribute__((noinline)) CUresult
launch_nothing(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
               unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
    __asm__ volatile("" : : "r"(extra) : "memory");
    return CUDA_SUCCESS;
}

/* ---- a program ---------------------------------------------------------------------------------
 */

static void dispatch(const hsa_queue_t *queue, hsa_signal_t done,
                     void (*ring)(hsa_signal_t signal, hsa_signal_value_t value))
{
    uint64_t index = write_index++;
    hsa_kernel_dispatch_packet_t *packet =
        (hsa_kernel_dispatch_packet_t *)queue->base_address + (index & (QUEUE_SIZE - 1));

    packet->setup = 1;
    packet->workgroup_size_x = 64;
    packet->grid_size_x = 4096;
    packet->kernel_object = 0x9000;
    packet->kernarg_address = arguments;
    packet->completion_signal = done;
    __atomic_store_n(&packet->header, HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << 8, __ATOMIC_RELEASE);
    ring(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void launch(CUresult (*function)(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                        CUstream stream, void **params, void **extra))
{
    size_t size = ARGUMENT_SIZE;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};

    function((CUfunction)0x8000, 64, 1, 1, 64, 1, 1, 0, (CUstream)0x8040, NULL, extra);
}

/* ---- figures -----------------------------------------------------------------------------------
 */

static struct bench_samples packet[2], cuda[2];

static void measure(hsa_queue_t *queue, hsa_signal_t done)
{
    uint64_t begin = tsm_monotonic_ns();

    for (int i = 0; i < BATCH; i++)
        dispatch(&queues[0], done, store);
    bench_add(&packet[0], (double)(tsm_monotonic_ns() - begin) / BATCH);
    write_index -= BATCH; /* those did not go to the queue that is looked at */
    begin = tsm_monotonic_ns();
    for (int i = 0; i < BATCH; i++)
        dispatch(queue, done, hsa_signal_store_screlease);
    bench_add(&packet[1], (double)(tsm_monotonic_ns() - begin) / BATCH);
    begin = tsm_monotonic_ns();
    for (int i = 0; i < BATCH; i++)
        launch(launch_nothing);
    bench_add(&cuda[0], (double)(tsm_monotonic_ns() - begin) / BATCH);
    begin = tsm_monotonic_ns();
    for (int i = 0; i < BATCH; i++)
        launch(cuLaunchKernel);
    bench_add(&cuda[1], (double)(tsm_monotonic_ns() - begin) / BATCH);
}

int main(void)
{
    hsa_queue_t *queue = NULL;
    struct tsm_handle *kernel;
    hsa_signal_t done;

    hsa_runtime.hsa_signal_create = make_signal;
    hsa_runtime.hsa_agent_get_info = tell_nothing;
    hsa_runtime.hsa_queue_create = make_queue;
    hsa_runtime.hsa_soft_queue_create = make_soft;
    hsa_runtime.hsa_signal_store_screlease = store;
    hsa_runtime.hsa_signal_load_scacquire = load;
    hsa_runtime.hsa_queue_store_write_index_screlease = store_index;
    hsa_runtime.hsa_queue_load_write_index_relaxed = load_index;
    hsa_runtime.hsa_queue_load_read_index_scacquire = load_index;
    real.cuLaunchKernel = launch_nothing;
    hsa_signal_create(1, 0, NULL, &done); /* the session begins */
    hsa_queue_create((hsa_agent_t){1}, QUEUE_SIZE, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue);
    kernel = tsm_handle_add(SBT_API_HSA, HSA_OBJECT_KERNEL, 0x9000);
    kernel->user = (void *)(uintptr_t)ARGUMENT_SIZE;
    kernel->name = tsm_intern("kernel", 6);
    kernel = tsm_handle_add(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, 0x8000);
    kernel->name = tsm_intern("kernel", 6);
    tsm_handle_add(SBT_API_CUDA, CUDA_OBJECT_STREAM, 0x8040)->stream =
        tsm_stream_create(SBT_API_CUDA);
    for (int round = 0; round < ROUNDS; round++) {
        measure(queue, done);
        usleep(200);
    }
    bench_print("packet_direct_ns", &packet[0]);
    bench_print("packet_ns", &packet[1]);
    bench_print("launch_direct_ns", &cuda[0]);
    bench_print("launch_ns", &cuda[1]);
    tsm_session_finish();
    return 0;
}
