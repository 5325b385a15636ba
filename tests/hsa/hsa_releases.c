/* SPDX-License-Identifier: Apache-2.0
 *
 * All ways in which a program can let a command go on that was sent before: `hsa_releases WAY`.
 * What the command reads, memory of the host and its arguments, is written between the two.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <hsa/amd_hsa_signal.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT  1024u
#define ROUNDS 3u

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};

static struct hsa_machine machine;
static struct hsa_found_kernel add;
static hsa_queue_t *queue;
static float *left, *right, *nothing, *out;
static struct add_arguments *arguments;
static hsa_signal_t gate;

#define EACH_ORDER(DEFINE, name, ...)                                                              \
    DEFINE(name##_acq_rel, __VA_ARGS__)                                                            \
    DEFINE(name##_acquire, __VA_ARGS__)                                                            \
    DEFINE(name##_relaxed, __VA_ARGS__)                                                            \
    DEFINE(name##_release, __VA_ARGS__)                                                            \
    DEFINE(name##_scacq_screl, __VA_ARGS__)                                                        \
    DEFINE(name##_scacquire, __VA_ARGS__)                                                          \
    DEFINE(name##_screlease, __VA_ARGS__)

/* From 1 to 0. */
#define BY(name, value)                                                                            \
    static void by_##name(void)                                                                    \
    {                                                                                              \
        hsa_signal_##name(gate, value);                                                            \
    }
BY(store_screlease, 0)
BY(store_release, 0)
BY(store_relaxed, 0)
BY(silent_store_screlease, 0)
BY(silent_store_relaxed, 0)
EACH_ORDER(BY, add, -1)
EACH_ORDER(BY, subtract, 1)
EACH_ORDER(BY, and, ~1)
EACH_ORDER(BY, xor, 1)
EACH_ORDER(BY, exchange, 0)

#define CAS(name, value)                                                                           \
    static void by_##name(void)                                                                    \
    {                                                                                              \
        while (hsa_signal_##name(gate, 1, value) != 1)                                             \
            ;                                                                                      \
    }
EACH_ORDER(CAS, cas, 0)

/* From -2 to -1: for what waits until a bit is there. */
EACH_ORDER(BY, or, 1)

static void by_pointer(void)
{
    hsa_signal_value_pointer_t value;

    HSA_CHECK(hsa_amd_signal_value_pointer(gate, &value));
    __atomic_store_n(value, 0, __ATOMIC_RELEASE);
}

/* The pointer is asked for when the command waits already. */
static void by_late(void)
{
    by_pointer();
}

/* Past all calls. */
static void by_handle(void)
{
    amd_signal_t *signal = (void *)(uintptr_t)gate.handle;

    __atomic_store_n(&signal->value, 0, __ATOMIC_RELEASE);
}

/* A copy, which waits for another signal, counts the gate down. */
static void by_copy(void)
{
    hsa_signal_t before = hsa_signal_take(1);

    HSA_CHECK(
        hsa_amd_memory_async_copy(out, machine.gpu, nothing, machine.cpu, 4, 1, &before, gate));
    hsa_signal_store_relaxed(before, 0);
}

/* ---- what waits --------------------------------------------------------------------------------
 */

static hsa_signal_t dispatch(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    *arguments = (struct add_arguments){nothing, nothing, out};
    hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
    return done;
}

static hsa_signal_t behind_barrier(uint32_t type)
{
    hsa_barrier(queue, type, &gate, 1, (hsa_signal_t){0});
    return dispatch();
}

static hsa_signal_t behind_value(hsa_signal_value_t value, hsa_signal_value_t mask)
{
    const hsa_amd_barrier_value_packet_t packet = {
        .signal = gate, .value = value, .mask = mask, .cond = HSA_SIGNAL_CONDITION_EQ};

    hsa_barrier_value(queue, &packet);
    return dispatch();
}

/* The copy reads memory of the host; it waits by itself. */
static hsa_signal_t copied(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_memory_async_copy(out, machine.gpu, left, machine.cpu, COUNT * sizeof(*left),
                                        1, &gate, done));
    return done;
}

static void fill(unsigned round)
{
    for (unsigned i = 0; i < COUNT; i++) {
        left[i] = (float)(i + round);
        right[i] = (float)(i * round);
    }
    *arguments = (struct add_arguments){left, right, out};
}

static unsigned check(unsigned round, bool is_sum)
{
    float back[COUNT];
    unsigned bad = 0;

    HSA_CHECK(hsa_memory_copy(back, out, sizeof(back)));
    for (unsigned i = 0; i < COUNT; i++)
        bad += back[i] != (float)(i + round) + (is_sum ? (float)(i * round) : 0);
    return bad;
}

enum waiter { BARRIER_AND, BARRIER_OR, VALUE, COPY };

static unsigned run(enum waiter waiter, hsa_signal_value_t from, void (*release)(void))
{
    unsigned bad = 0;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        hsa_signal_t done;
        gate = hsa_signal_take(from);
        if (release == by_pointer) {
            hsa_signal_value_pointer_t value;
            HSA_CHECK(hsa_amd_signal_value_pointer(gate, &value));
        }
        done = waiter == COPY ? copied()
               : waiter == VALUE
                   ? behind_value(from < 0 ? 1 : 0, 1)
                   : behind_barrier(waiter == BARRIER_OR ? HSA_PACKET_TYPE_BARRIER_OR
                                                         : HSA_PACKET_TYPE_BARRIER_AND);
        fill(round);
        release();
        hsa_await(done);
        bad += check(round, waiter != COPY);
    }
    return bad;
}

static unsigned run_all(hsa_signal_value_t from, void (*release)(void))
{
    unsigned bad = run(VALUE, from, release);

    if (from == 1)
        bad += run(BARRIER_AND, from, release) + run(BARRIER_OR, from, release) +
               run(COPY, from, release);
    return bad;
}

/* Writes a kernel's arguments while it waits for a value. */
static unsigned by_value(void)
{
    unsigned bad = 0;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        hsa_signal_t done = hsa_signal_take(1);
        hsa_amd_barrier_value_packet_t packet = {
            .value = round, .mask = 0xff, .cond = HSA_SIGNAL_CONDITION_EQ};
        gate = packet.signal = hsa_signal_take(0);
        *arguments = (struct add_arguments){left, right, out};
        hsa_barrier_value(queue, &packet);
        hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
        fill(round);
        hsa_signal_store_screlease(gate, round);
        hsa_await(done);
        bad += check(round, true);
    }
    return bad;
}

/* Writes a kernel's arguments before the gate is set past all calls. */
static unsigned written(void)
{
    unsigned bad = 0;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        hsa_signal_t done = hsa_signal_take(1);
        gate = hsa_signal_take(1);
        *arguments = (struct add_arguments){left, right, out};
        hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, (hsa_signal_t){0});
        hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
        fill(round);
        by_pointer();
        hsa_await(done);
        bad += check(round, true);
    }
    return bad;
}

static unsigned unseen(void)
{
    return run(BARRIER_AND, 1, by_handle) + run(COPY, 1, by_handle);
}

/* ---- packets that are not ready ----------------------------------------------------------------
 */

static uint32_t *place(hsa_queue_t *in, uint64_t index)
{
    return (uint32_t *)in->base_address + (index & (in->size - 1)) * 16;
}

/* The doorbell rings for two packets, of which the first gets its header later. */
static unsigned by_header(void)
{
    unsigned bad = 0;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        hsa_signal_t done = hsa_signal_take(1), last = hsa_signal_take(1);
        uint32_t *at = place(queue, hsa_queue_add_write_index_relaxed(queue, 1));
        hsa_kernel_dispatch_packet_t packet = {.workgroup_size_x = group[0],
                                               .workgroup_size_y = 1,
                                               .workgroup_size_z = 1,
                                               .grid_size_x = COUNT,
                                               .grid_size_y = 1,
                                               .grid_size_z = 1,
                                               .kernel_object = add.object,
                                               .kernarg_address = arguments,
                                               .completion_signal = done};

        *arguments = (struct add_arguments){nothing, nothing, out};
        memcpy(at + 1, (uint32_t *)&packet + 1, 60);
        hsa_ring(queue, hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, last));
        fill(round);
        __atomic_store_n(
            at, HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << HSA_PACKET_HEADER_BARRIER | 1u << 16,
            __ATOMIC_RELEASE);
        hsa_await(last);
        bad += check(round, true);
    }
    return bad;
}

static void *open_later(void *user)
{
    usleep(50000); /* until the others wait; if they do not yet, the store comes first, which is
                      right, too */
    hsa_signal_store_screlease(*(hsa_signal_t *)user, 0);
    return NULL;
}

/* Places are free when their headers are INVALID; the first packet waits until the ring is full. */
static unsigned by_room(void)
{
    hsa_queue_t *small = hsa_queue_take(&machine, 16);
    hsa_signal_t done = hsa_signal_take(100), open = hsa_signal_take(1);
    hsa_barrier_and_packet_t packet = {.dep_signal = {open}, .completion_signal = done};
    pthread_t opener;

    if (pthread_create(&opener, NULL, open_later, &open) != 0)
        return 1;
    for (unsigned i = 0; i < 100; i++) {
        uint32_t *at = place(small, i);
        while ((__atomic_load_n(at, __ATOMIC_ACQUIRE) & 0xff) != HSA_PACKET_TYPE_INVALID)
            ;
        memcpy(at + 1, (uint32_t *)&packet + 1, 60);
        packet.dep_signal[0].handle = 0;
        hsa_queue_store_write_index_relaxed(small, i + 1);
        __atomic_store_n(at, HSA_PACKET_TYPE_BARRIER_AND | 1u << HSA_PACKET_HEADER_BARRIER,
                         __ATOMIC_RELEASE);
        hsa_ring(small, i);
    }
    hsa_await(done);
    pthread_join(opener, NULL);
    HSA_CHECK(hsa_queue_destroy(small));
    return 0;
}

/* ---- what waits after what is done ------------------------------------------------------------
 */

/* A dispatch is waited for, and what it wrote is read, while the next packet of its queue waits. */
static unsigned by_behind(void)
{
    float *seen = hsa_pool_take(machine.fine, COUNT * sizeof(*seen));
    unsigned bad = 0;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        hsa_signal_t done = hsa_signal_take(1), last = hsa_signal_take(1);
        gate = hsa_signal_take(1);
        fill(round);
        arguments->out = seen;
        hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
        hsa_ring(queue, hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, last));
        hsa_await(done);
        for (unsigned i = 0; i < COUNT; i++)
            bad += seen[i] != (float)(i + round) + (float)(i * round);
        memset(seen, 0, COUNT * sizeof(*seen));
        hsa_signal_store_screlease(gate, 0);
        hsa_await(last);
    }
    return bad;
}

/* ---- */

#define ROW(name, from) {#name, from, by_##name, NULL},
static const struct {
    const char *name;
    hsa_signal_value_t from;
    void (*release)(void);
    unsigned (*run)(void);
} ways[] = {
    ROW(store_screlease, 1) ROW(store_release, 1) ROW(store_relaxed, 1)
        ROW(silent_store_screlease, 1) ROW(silent_store_relaxed, 1) EACH_ORDER(ROW, add, 1)
            EACH_ORDER(ROW, subtract, 1) EACH_ORDER(ROW, and, 1) EACH_ORDER(ROW, or, -2)
                EACH_ORDER(ROW, xor, 1) EACH_ORDER(ROW, exchange, 1) EACH_ORDER(ROW, cas, 1)
                    ROW(pointer, 1) ROW(late, 1) ROW(copy, 1){"header", 0, NULL, by_header},
    {"room", 0, NULL, by_room},
    {"behind", 0, NULL, by_behind},
    {"value", 0, NULL, by_value},
    {"written", 0, NULL, written},
    {"unseen", 0, NULL, unseen},
};

int main(int argc, char **argv)
{
    unsigned bad = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    add = hsa_kernel_find(&machine, "add.kd");
    queue = hsa_queue_take(&machine, 64);
    left = hsa_pool_take(machine.fine, COUNT * sizeof(*left));
    right = hsa_pool_take(machine.fine, COUNT * sizeof(*right));
    nothing = hsa_pool_take(machine.fine, COUNT * sizeof(*nothing));
    out = hsa_pool_take(machine.device, COUNT * sizeof(*out));
    HSA_CHECK(hsa_amd_memory_fill(out, 0, COUNT));
    check(0, false); /* something that always compares */
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (argc < 3)
            puts(ways[i].name);
        else if (!strncmp(argv[2], ways[i].name, strlen(argv[2])))
            bad += ways[i].run ? ways[i].run() : run_all(ways[i].from, ways[i].release);
    }
    if (argc > 2)
        printf("%s: %u wrong\n", argv[2], bad);
    return bad != 0;
}
