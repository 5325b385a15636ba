/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses only features without a GPU, which run on AMD's own runtime with a CPU's agent alone: pools,
 * locked memory, signals, copies that wait for each other, a handler.
 */
#include "tests/hsa/hsa_helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 5000u
#define STEPS 8u

static bool on_done(hsa_signal_value_t value, void *arg)
{
    hsa_signal_store_screlease(*(hsa_signal_t *)arg, value);
    return false;
}

/* Memory to memory to memory ..., each copy after the one before it, started by the host. */
static unsigned chain(const struct hsa_machine *machine, const uint32_t *from, uint32_t *to)
{
    hsa_signal_t signals[STEPS + 1], told = hsa_signal_take(1);
    void *memory[STEPS + 1];
    unsigned bad = 0;

    for (unsigned i = 0; i <= STEPS; i++) {
        signals[i] = hsa_signal_take(1);
        memory[i] = hsa_pool_take(i % 2 ? machine->fine : machine->coarse, COUNT * 4);
    }
    memcpy(memory[0], from, COUNT * 4);
    HSA_CHECK(
        hsa_amd_signal_async_handler(signals[STEPS], HSA_SIGNAL_CONDITION_LT, 1, on_done, &told));
    for (unsigned i = 0; i < STEPS; i++)
        HSA_CHECK(hsa_amd_memory_async_copy(memory[i + 1], machine->cpu, memory[i], machine->cpu,
                                            COUNT * 4, 1, &signals[i], signals[i + 1]));
    hsa_signal_store_screlease(signals[0], 0);
    while (hsa_signal_load_scacquire(told) != 0)
        ;
    HSA_CHECK(hsa_memory_copy(to, memory[STEPS], COUNT * 4));
    for (unsigned i = 0; i <= STEPS; i++) {
        HSA_CHECK(hsa_signal_destroy(signals[i]));
        HSA_CHECK(hsa_amd_memory_pool_free(memory[i]));
    }
    for (unsigned i = 0; i < COUNT; i++)
        bad += to[i] != from[i];
    return bad;
}

int main(void)
{
    static uint32_t numbers[COUNT], back[COUNT];
    uint32_t *locked = malloc(COUNT * 4), *fine;
    struct hsa_machine machine;
    void *agents_own = NULL;
    unsigned bad;

    hsa_machine_find(&machine);
    for (unsigned i = 0; i < COUNT; i++)
        numbers[i] = i * 2654435761u;
    bad = chain(&machine, numbers, back);
    HSA_CHECK(hsa_amd_memory_lock(locked, COUNT * 4, NULL, 0, &agents_own));
    fine = hsa_pool_take(machine.fine, COUNT * 4);
    HSA_CHECK(hsa_amd_memory_fill(fine, 0x5a5a5a5a, COUNT));
    for (unsigned i = 0; i < COUNT; i += 2)
        fine[i] = i;
    hsa_copy(&machine, agents_own, machine.cpu, fine, machine.cpu, COUNT * 4);
    bad += memcmp(locked, fine, COUNT * 4) != 0;
    HSA_CHECK(hsa_amd_memory_unlock(locked));
    HSA_CHECK(hsa_amd_memory_pool_free(fine));
    HSA_CHECK(hsa_shut_down());
    free(locked);
    printf(bad ? "wrong\n" : "right\n");
    return bad != 0;
}
