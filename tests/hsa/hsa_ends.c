/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends that programs come to: the runtime begins and ends several times, callbacks are left by
 * jumps, a queue goes with a packet that waits for ever, more memory comes and goes than is there,
 * a child process goes without using anything. With an argument more the program ends with
 * everything open: killed, or ("waiting") while packets and a copy wait for values that it never
 * stores.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 64u

static void again(void)
{
    for (unsigned i = 0; i < 3; i++) {
        HSA_CHECK(hsa_init());
        HSA_CHECK(hsa_init());
        HSA_CHECK(hsa_shut_down());
        HSA_CHECK(hsa_shut_down());
    }
}

/* Out of a callback of the runtime's, as an exception goes; and so that a thread ends. */
static jmp_buf out;

static hsa_status_t jump(hsa_agent_t agent, void *thread_ends)
{
    if (thread_ends)
        pthread_exit(NULL);
    longjmp(out, 1);
}

static void *end_thread(void *unused)
{
    hsa_iterate_agents(jump, &out);
    return NULL;
}

static void leave_callbacks(void)
{
    pthread_t thread;

    HSA_CHECK(hsa_init());
    if (setjmp(out) == 0)
        hsa_iterate_agents(jump, NULL);
    if (pthread_create(&thread, NULL, end_thread, NULL) == 0)
        pthread_join(thread, NULL);
    HSA_CHECK(hsa_shut_down());
}

static void run(const struct hsa_machine *machine, hsa_queue_t *queue)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_found_kernel scale = hsa_kernel_find(machine, "scale.kd");
    struct scale_arguments *arguments = hsa_pool_take(machine->kernarg, sizeof(*arguments));
    hsa_signal_t done = hsa_signal_take(1);
    float data[COUNT], total = 0;

    for (unsigned i = 0; i < COUNT; i++)
        data[i] = (float)i;
    *arguments = (struct scale_arguments){hsa_pool_take(machine->device, sizeof(data)), 3};
    HSA_CHECK(hsa_memory_copy(arguments->data, data, sizeof(data)));
    hsa_ring(queue, hsa_dispatch(queue, &scale, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(data, arguments->data, sizeof(data)));
    for (unsigned i = 0; i < COUNT; i++)
        total += data[i];
    printf("%.0f\n", (double)total);
}

/* A replay keeps all of these addresses, and needs others for what is its own. */
static void much_memory(const struct hsa_machine *machine)
{
    for (unsigned i = 0; i < 70; i++)
        HSA_CHECK(hsa_amd_memory_pool_free(hsa_pool_take(machine->fine, 64u << 20)));
}

static void end_waiting(const struct hsa_machine *machine, hsa_queue_t *queue)
{
    hsa_signal_t never[2] = {hsa_signal_take(1), hsa_signal_take(1)}, copied = hsa_signal_take(1);
    hsa_amd_barrier_value_packet_t value = {.signal = hsa_signal_take(2),
                                            .value = 1,
                                            .mask = 3,
                                            .cond = HSA_SIGNAL_CONDITION_LT,
                                            .completion_signal = never[1]};
    void *memory = hsa_pool_take(machine->device, 64), *bytes = hsa_pool_take(machine->fine, 64);

    hsa_ring(queue, hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, never, 1, (hsa_signal_t){0}));
    hsa_ring(queue, hsa_barrier_value(queue, &value));
    HSA_CHECK(hsa_amd_memory_async_copy(memory, machine->gpu, bytes, machine->cpu, 64, 1, never + 1,
                                        copied));
    exit(0);
}

int main(int argc, char **argv)
{
    hsa_signal_t never, either[2];
    struct hsa_machine machine;
    hsa_queue_t *queue, *stuck;
    int status = 0;
    pid_t child;

    again();
    leave_callbacks();
    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    much_memory(&machine);
    queue = hsa_queue_take(&machine, 64);
    stuck = hsa_queue_take(&machine, 64);
    never = hsa_signal_take(1);
    hsa_ring(stuck, hsa_barrier(stuck, HSA_PACKET_TYPE_BARRIER_AND, &never, 1, (hsa_signal_t){0}));
    run(&machine, queue);
    HSA_CHECK(hsa_queue_destroy(stuck));
    either[0] = never;
    either[1] = hsa_signal_take(0);
    hsa_ring(queue, hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_OR, either, 2, never));
    hsa_await(never);
    run(&machine, queue);
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(3);
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    fflush(stdout);
    if (argc > 2 && strcmp(argv[2], "waiting") == 0)
        end_waiting(&machine, queue);
    else if (argc > 2)
        raise(SIGKILL);
    HSA_CHECK(hsa_shut_down());
    return 0;
}
