/* SPDX-License-Identifier: Apache-2.0
 *
 * Two processes: one makes memory of the GPU, memory of the host and a signal; the other one
 * attaches them, reads, has a kernel write, writes itself, and sets the signal; the first reads
 * what came.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 1024u
#define SIZE  (COUNT * sizeof(float))

struct given {
    hsa_amd_ipc_memory_t device, host;
    hsa_amd_ipc_signal_t signal;
};

static float sum(const float *data)
{
    float total = 0;

    for (unsigned i = 0; i < COUNT; i++)
        total += data[i];
    return total;
}

static int other(const char *code, int from)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_machine machine;
    struct hsa_found_kernel scale;
    struct scale_arguments *arguments;
    struct given given;
    hsa_signal_t signal, done;
    void *device, *host;
    float back[COUNT];
    hsa_queue_t *queue;

    if (read(from, &given, sizeof(given)) != sizeof(given))
        return 1;
    hsa_machine_find(&machine);
    hsa_machine_load(&machine, code);
    HSA_CHECK(hsa_amd_ipc_memory_attach(&given.device, SIZE, 1, &machine.gpu, &device));
    HSA_CHECK(hsa_amd_ipc_memory_attach(&given.host, SIZE, 1, &machine.gpu, &host));
    HSA_CHECK(hsa_amd_ipc_signal_attach(&given.signal, &signal));
    scale = hsa_kernel_find(&machine, "scale.kd");
    queue = hsa_queue_take(&machine, 64);
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    *arguments = (struct scale_arguments){device, 2};
    done = hsa_signal_take(1);
    hsa_ring(queue, hsa_dispatch(queue, &scale, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(back, device, SIZE));
    for (unsigned i = 0; i < COUNT; i++)
        ((float *)host)[i] += back[i];
    HSA_CHECK(hsa_amd_ipc_memory_detach(device));
    HSA_CHECK(hsa_amd_ipc_memory_detach(host));
    hsa_signal_store_screlease(signal, 0);
    HSA_CHECK(hsa_signal_destroy(signal));
    return sum(back) != 2.0f * COUNT * (COUNT - 1) / 2;
}

static void one(int to)
{
    struct hsa_machine machine;
    struct given given;
    hsa_signal_t signal;
    float *device, *host, back[COUNT];

    hsa_machine_find(&machine);
    device = hsa_pool_take(machine.device, SIZE);
    host = hsa_pool_take(machine.fine, SIZE);
    HSA_CHECK(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_IPC, &signal));
    for (unsigned i = 0; i < COUNT; i++)
        host[i] = (float)i;
    HSA_CHECK(hsa_memory_copy(device, host, SIZE));
    HSA_CHECK(hsa_amd_ipc_memory_create(device, SIZE, &given.device));
    HSA_CHECK(hsa_amd_ipc_memory_create(host, SIZE, &given.host));
    HSA_CHECK(hsa_amd_ipc_signal_create(signal, &given.signal));
    if (write(to, &given, sizeof(given)) != sizeof(given))
        return;
    hsa_await(signal);
    HSA_CHECK(hsa_memory_copy(back, device, SIZE));
    printf("%.0f %.0f\n", (double)sum(host), (double)sum(back));
}

int main(int argc, char **argv)
{
    int ends[2], status = 1;
    pid_t child;

    if (pipe(ends) != 0)
        return 1;
    child = fork();
    if (child == 0)
        return other(argv[1], ends[0]);
    one(ends[1]);
    waitpid(child, &status, 0);
    printf("the other one: %d\n", status);
    return status != 0;
}
