/* SPDX-License-Identifier: Apache-2.0
 *
 * HSA calls from where there is little stack: a thread of 16 KiB, a signal handler on a stack of 8
 * KiB.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#define COUNT 64u
#define SIZE  (COUNT * sizeof(float))

static struct hsa_machine machine;
static struct hsa_found_kernel add;
static struct add_arguments *arguments;
static hsa_queue_t *queue;
static float *host, *out, back[COUNT];

static void calls(void)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    hsa_signal_t done = hsa_signal_take(1), gate = hsa_signal_take(1);
    void *memory;

    for (unsigned i = 0; i < 5; i++) {
        hsa_signal_value_t value = 0;
        host[i] += (float)i;
        hsa_signal_store_screlease(done, 2);
        hsa_signal_store_screlease(gate, 1);
        hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, (hsa_signal_t){0});
        hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
        HSA_CHECK(hsa_amd_memory_async_copy(host + COUNT, machine.cpu, host, machine.cpu, SIZE, 1,
                                            &gate, done));
        hsa_signal_subtract_scacq_screl(gate, 1);
        hsa_amd_signal_wait_any(1, &done, (hsa_signal_condition_t[]){HSA_SIGNAL_CONDITION_LT},
                                (hsa_signal_value_t[]){1}, UINT64_MAX, HSA_WAIT_STATE_BLOCKED,
                                &value);
        HSA_CHECK(hsa_memory_copy(back, out, SIZE));
        host[i] += back[i] + host[COUNT + i];
    }
    HSA_CHECK(hsa_amd_memory_pool_allocate(machine.device, 8192, 0, &memory));
    HSA_CHECK(hsa_amd_memory_fill(memory, 7, 2048));
    HSA_CHECK(hsa_memory_copy(back + 32, memory, 128));
    HSA_CHECK(hsa_amd_memory_pool_free(memory));
    HSA_CHECK(hsa_signal_destroy(gate));
    HSA_CHECK(hsa_signal_destroy(done));
}

static char *make_stack(size_t size)
{
    char *stack =
        mmap(NULL, 4096 + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mprotect(stack, 4096, PROT_NONE);
    return stack + 4096;
}

static void *thread_main(void *unused)
{
    calls();
    return NULL;
}

static void on_signal(int number)
{
    calls();
}

int main(int argc, char **argv)
{
    const stack_t alternative = {.ss_sp = make_stack(8192), .ss_size = 8192};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    pthread_attr_t attributes;
    pthread_t thread;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    add = hsa_kernel_find(&machine, "add.kd");
    queue = hsa_queue_take(&machine, 64);
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    host = hsa_pool_take(machine.fine, 2 * SIZE);
    out = hsa_pool_take(machine.device, SIZE);
    *arguments = (struct add_arguments){host, host, out};
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    if (pthread_create(&thread, &attributes, thread_main, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    sigaltstack(&alternative, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    for (unsigned i = 0; i < COUNT; i++)
        printf("%g %g\n", (double)host[i], (double)back[i]);
    return 0;
}
