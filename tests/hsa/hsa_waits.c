/* SPDX-License-Identifier: Apache-2.0
 *
 * All ways in which a program can learn that a copy is complete: `hsa_waits WAY`. What came back is
 * looked at and then overwritten.
 */
#include "tests/hsa/hsa_helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE  4096u
#define MANY  200u
#define FLOOD 5000u

static struct hsa_machine machine;
static uint8_t *device, *out, *other;
static hsa_queue_t *queue;
static unsigned bad;

static void look(uint8_t *bytes)
{
    for (unsigned i = 0; i < SIZE; i++)
        bad += bytes[i] != (uint8_t)(i * 7 + 1);
    memset(bytes, 0xee, SIZE);
}

static void copy_after(uint8_t *to, hsa_signal_t done, const hsa_signal_t *dep)
{
    HSA_CHECK(hsa_amd_memory_async_copy(to, machine.cpu, device, machine.gpu, SIZE, dep != NULL,
                                        dep, done));
}

static void copy(uint8_t *to, hsa_signal_t done)
{
    copy_after(to, done, NULL);
}

static void await(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value)
{
    hsa_signal_wait_scacquire(signal, condition, value, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
}

static void await_barrier(uint32_t type, hsa_signal_t dep)
{
    hsa_signal_t passed = hsa_signal_take(1);

    hsa_ring(queue, hsa_barrier(queue, type, &dep, 1, passed));
    hsa_await(passed);
}

static void one_signal_for_two(void)
{
    hsa_signal_t done = hsa_signal_take(2);

    copy(out, done);
    copy(other, done);
    hsa_await(done);
    look(out);
    look(other);
}

static void other_value(void)
{
    hsa_signal_t done = hsa_signal_take(5);

    copy(out, done);
    await(done, HSA_SIGNAL_CONDITION_EQ, 4);
    look(out);
    copy(out, done);
    await(done, HSA_SIGNAL_CONDITION_NE, 4);
    look(out);
}

static void from_zero(void)
{
    hsa_signal_t done = hsa_signal_take(0);

    copy(out, done);
    await(done, HSA_SIGNAL_CONDITION_LT, 0);
    look(out);
    copy(out, done);
    await(done, HSA_SIGNAL_CONDITION_EQ, -2);
    look(out);
}

static void barrier_or(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    copy(out, done);
    await_barrier(HSA_PACKET_TYPE_BARRIER_OR, done);
    look(out);
}

static void barrier_and(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    copy(out, done);
    await_barrier(HSA_PACKET_TYPE_BARRIER_AND, done);
    look(out);
}

static void barrier_value(void)
{
    hsa_signal_t done = hsa_signal_take(3), passed = hsa_signal_take(1);
    hsa_amd_barrier_value_packet_t packet = {.signal = done,
                                             .value = 2,
                                             .mask = -1,
                                             .cond = HSA_SIGNAL_CONDITION_EQ,
                                             .completion_signal = passed};

    copy(out, done);
    hsa_ring(queue, hsa_barrier_value(queue, &packet));
    hsa_await(passed);
    look(out);
    packet.signal.handle = 0; /* it waits for nothing then */
    packet.completion_signal = hsa_signal_take(1);
    hsa_ring(queue, hsa_barrier_value(queue, &packet));
    hsa_await(packet.completion_signal);
}

static void compared(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    for (unsigned round = 0; round < 2; round++) {
        copy(out, done);
        while (hsa_signal_cas_scacq_screl(done, 0, 1) != 0)
            ;
        look(out);
    }
}

static void exchanged(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    for (unsigned round = 0; round < 2; round++) {
        copy(out, done);
        while (hsa_signal_exchange_scacq_screl(done, 1) != 0)
            ;
        look(out);
    }
}

static void polled(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    copy(out, done);
    while (hsa_signal_load_scacquire(done) != 0)
        ;
    look(out);
}

static void pointed(void)
{
    hsa_signal_value_pointer_t value;
    hsa_signal_t done = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_signal_value_pointer(done, &value));
    copy(out, done);
    while (__atomic_load_n(value, __ATOMIC_ACQUIRE) != 0)
        ;
    look(out);
    copy(other, done);
    await(done, HSA_SIGNAL_CONDITION_LT, 0);
    look(other);
}

static bool tell(hsa_signal_value_t value, void *user)
{
    hsa_signal_store_screlease(*(hsa_signal_t *)user, 0);
    return false;
}

static void handled(void)
{
    hsa_signal_t done = hsa_signal_take(1), told = hsa_signal_take(1);

    copy(out, done);
    HSA_CHECK(hsa_amd_signal_async_handler(done, HSA_SIGNAL_CONDITION_LT, 1, tell, &told));
    hsa_await(told);
    look(out);
}

static void chained(void)
{
    hsa_signal_t first = hsa_signal_take(1), second = hsa_signal_take(1);

    copy(out, first);
    copy_after(other, second, &first);
    hsa_await(second);
    look(out);
    look(other);
}

static void any_of_two(void)
{
    hsa_signal_t signals[2] = {hsa_signal_take(1), hsa_signal_take(1)};
    hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_LT};
    hsa_signal_value_t values[2] = {1, 1}, value;

    copy(out, signals[1]);
    if (hsa_amd_signal_wait_any(2, signals, conditions, values, UINT64_MAX, HSA_WAIT_STATE_BLOCKED,
                                &value) != 1)
        bad++;
    look(out);
}

/* Stored, added, and changed bit by bit in between. */
static void used_again(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    copy(out, done);
    await_barrier(HSA_PACKET_TYPE_BARRIER_OR, done);
    look(out);
    hsa_signal_store_screlease(done, 1);
    copy(out, done);
    await_barrier(HSA_PACKET_TYPE_BARRIER_AND, done);
    look(out);
    hsa_signal_add_screlease(done, 2);
    copy(out, done);
    await(done, HSA_SIGNAL_CONDITION_LT, 2);
    look(out);
    hsa_signal_xor_screlease(done, 3);
    copy(out, done);
    await(done, HSA_SIGNAL_CONDITION_EQ, 1);
    look(out);
    hsa_signal_exchange_relaxed(done, 1);
    copy(out, done);
    hsa_await(done);
    look(out);
}

/* More than there are streams for, each with a signal of its own, waited for from the last to the
 * first. */
static void many(void)
{
    hsa_signal_t done[MANY];
    uint8_t *all = hsa_pool_take(machine.fine, MANY * SIZE);

    for (unsigned i = 0; i < MANY; i++) {
        done[i] = hsa_signal_take(1);
        copy(all + i * SIZE, done[i]);
    }
    for (unsigned i = MANY; i-- > 0;) {
        hsa_await(done[i]);
        look(all + i * SIZE);
    }
}

/* More than are kept in mind, of which the last is waited for. */
static void flood(void)
{
    uint8_t *all = hsa_pool_take(machine.fine, FLOOD);
    hsa_signal_t before = hsa_signal_take(0), done = before;

    for (unsigned i = 0; i < FLOOD; i++) {
        done = hsa_signal_take(1);
        HSA_CHECK(hsa_amd_memory_async_copy(all + i, machine.cpu, device + i % 4096, machine.gpu, 1,
                                            1, &before, done));
        before = done;
    }
    hsa_await(done);
    for (unsigned i = 0; i < FLOOD; i++)
        bad += all[i] != (uint8_t)(i % 4096 * 7 + 1);
    memset(all, 0xee, FLOOD);
}

static void destroyed(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    copy(out, done);
    await_barrier(HSA_PACKET_TYPE_BARRIER_AND, done);
    HSA_CHECK(hsa_signal_destroy(done));
    look(out);
}

/* The same memory, by a copy that may not run before the first one was looked at. */
static void overwritten(void)
{
    hsa_signal_t gate = hsa_signal_take(1), first = hsa_signal_take(1), second = hsa_signal_take(1);

    copy(out, first);
    copy_after(out, second, &gate);
    hsa_await(first);
    look(out);
    hsa_signal_store_screlease(gate, 0);
    hsa_await(second);
    look(out);
}

static void unseen(void)
{
    copy(out, hsa_signal_take(1));
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"one_signal_for_two", one_signal_for_two},
    {"other_value", other_value},
    {"from_zero", from_zero},
    {"barrier_or", barrier_or},
    {"barrier_and", barrier_and},
    {"barrier_value", barrier_value},
    {"compared", compared},
    {"exchanged", exchanged},
    {"polled", polled},
    {"pointed", pointed},
    {"handled", handled},
    {"chained", chained},
    {"any_of_two", any_of_two},
    {"used_again", used_again},
    {"many", many},
    {"flood", flood},
    {"destroyed", destroyed},
    {"overwritten", overwritten},
    {"unseen", unseen},
};

int main(int argc, char **argv)
{
    uint8_t bytes[SIZE], back = 0;

    hsa_machine_find(&machine);
    queue = hsa_queue_take(&machine, 64);
    device = hsa_pool_take(machine.device, SIZE);
    out = hsa_pool_take(machine.fine, SIZE);
    other = hsa_pool_take(machine.fine, SIZE);
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    HSA_CHECK(hsa_memory_copy(device, bytes, SIZE));
    HSA_CHECK(hsa_memory_copy(&back, device, 1)); /* something that always compares */
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (argc > 1 && !strcmp(argv[1], ways[i].name))
            ways[i].run();
    if (argc < 2)
        for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
            puts(ways[i].name);
    else
        printf("%s: %u wrong\n", argv[1], bad);
    return bad != 0;
}
