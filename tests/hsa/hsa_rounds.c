/* SPDX-License-Identifier: Apache-2.0
 *
 * State that lives from round to round, wherever it can: memory of the GPU, of the host and mapped
 * by address, a variable of the executable, a signal that counts, arguments that are written once.
 * Packets without a completion signal; a queue that comes and goes.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <string.h>

#define COUNT  256u
#define ROUNDS 40u

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};

struct state {
    struct hsa_machine machine;
    struct hsa_found_kernel count, mix;
    hsa_queue_t *queue;
    struct mix_arguments *arguments; /* both kernels' */
    hsa_signal_t counter;            /* one less with each round */
};

static void begin(struct state *s, const char *path)
{
    hsa_machine_find(&s->machine);
    hsa_machine_load(&s->machine, path);
    s->count = hsa_kernel_find(&s->machine, "count_up.kd");
    s->mix = hsa_kernel_find(&s->machine, "mix.kd");
    s->queue = hsa_queue_take(&s->machine, 64);
    s->arguments = hsa_pool_take(s->machine.kernarg, sizeof(*s->arguments));
    *s->arguments = (struct mix_arguments){hsa_pool_take(s->machine.device, COUNT * 4),
                                           hsa_pool_take(s->machine.fine, COUNT * 4)};
    s->counter = hsa_signal_take(ROUNDS);
    memset(s->arguments->hosts, 0, COUNT * 4);
    HSA_CHECK(hsa_amd_memory_fill(s->arguments->data, 1, COUNT));
}

static uint32_t turn(struct state *s, unsigned round)
{
    hsa_queue_t *other = hsa_queue_take(&s->machine, 64);
    hsa_signal_t none = {0}, done = hsa_signal_take(1);
    uint32_t result[COUNT], sum = 0;

    s->arguments->hosts[round] += round;
    hsa_ring(s->queue, hsa_dispatch(s->queue, &s->count, grid, group, s->arguments, none));
    hsa_ring(s->queue, hsa_dispatch(s->queue, &s->mix, grid, group, s->arguments, s->counter));
    while (hsa_signal_wait_scacquire(s->counter, HSA_SIGNAL_CONDITION_EQ, ROUNDS - 1 - round,
                                     UINT64_MAX,
                                     HSA_WAIT_STATE_BLOCKED) != (int64_t)(ROUNDS - 1 - round))
        ;
    hsa_ring(other, hsa_dispatch(other, &s->mix, grid, group, s->arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(result, s->arguments->data, sizeof(result)));
    for (unsigned i = 0; i < COUNT; i++)
        sum = sum * 31 + result[i];
    HSA_CHECK(hsa_signal_destroy(done));
    HSA_CHECK(hsa_queue_destroy(other));
    return sum;
}

int main(int argc, char **argv)
{
    struct state state;

    begin(&state, argv[1]);
    for (unsigned round = 0; round < ROUNDS; round++)
        printf("%08x\n", turn(&state, round));
    HSA_CHECK(hsa_queue_destroy(state.queue));
    HSA_CHECK(hsa_shut_down());
    return 0;
}
