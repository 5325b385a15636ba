/* SPDX-License-Identifier: Apache-2.0
 *
 * Several threads write packets into the same small queue, and ring for what others have written;
 * each has a queue of its own, too.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS 4u
#define ROUNDS  200u
#define COUNT   16u

static struct hsa_machine machine;
static struct hsa_found_kernel kernel;
static hsa_queue_t *shared;

static unsigned check(const uint32_t *data, uint32_t wanted)
{
    uint32_t copy[COUNT];
    unsigned bad = 0;

    HSA_CHECK(hsa_memory_copy(copy, data, sizeof(copy)));
    for (unsigned i = 0; i < COUNT; i++)
        bad += copy[i] != wanted;
    return bad;
}

static void *work(void *result)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {COUNT, 1, 1};
    hsa_queue_t *own = hsa_queue_take(&machine, 64);
    uint32_t *data = hsa_pool_take(machine.device, COUNT * 4);
    struct bias_arguments *arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    hsa_signal_t done = hsa_signal_take(2 * ROUNDS);

    HSA_CHECK(hsa_amd_memory_fill(data, 0, COUNT));
    arguments->data = data;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t index = hsa_dispatch(shared, &kernel, grid, group, arguments, done);
        hsa_ring(shared, index);
        /* On its own queue only when that one is done: both change the same memory. */
        hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 2 * (ROUNDS - i), UINT64_MAX,
                                  HSA_WAIT_STATE_BLOCKED);
        hsa_ring(own, hsa_dispatch(own, &kernel, grid, group, arguments, done));
        hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 2 * (ROUNDS - i) - 1, UINT64_MAX,
                                  HSA_WAIT_STATE_BLOCKED);
    }
    *(unsigned *)result = check(data, 2 * ROUNDS * 7);
    HSA_CHECK(hsa_queue_destroy(own));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    unsigned bad[THREADS] = {0}, all = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    kernel = hsa_kernel_find(&machine, "add_bias.kd");
    shared = hsa_queue_take(&machine, 64);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &bad[i]) != 0)
            return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += bad[i];
    }
    HSA_CHECK(hsa_queue_destroy(shared));
    printf(all ? "wrong\n" : "right\n");
    return all != 0;
}
