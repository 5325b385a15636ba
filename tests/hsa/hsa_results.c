/* SPDX-License-Identifier: Apache-2.0
 *
 * Results in memory of the host, which it reads where the kernel wrote them: `hsa_results KERNELS
 * WAY MEMORY [still]`. Each round the program learns in that way that the kernel is done, looks,
 * and writes there. With "still" the kernel leaves what it finds, if it computes right.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"
#include "tests/hsa/hsa_ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNT  4096u
#define SIZE   (COUNT * sizeof(float))
#define ROUNDS 3u
#define MARK   12345.0f

static const uint32_t grid[3] = {COUNT, 1, 1};
static const uint16_t group[3] = {64, 1, 1};

static struct hsa_machine machine;
static struct hsa_found_kernel scale;
static struct scale_arguments *arguments; /* one for each round */
static hsa_queue_t *queue;
static float *data;
static float factor = 1.5f;

/* ---- memory ------------------------------------------------------------------------------------
 */

static void *pages(void)
{
    void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static float *fine(void)
{
    return hsa_pool_take(machine.fine, SIZE);
}

static float *coarse(void)
{
    return hsa_pool_take(machine.coarse, SIZE);
}

/* Returns a part of memory that holds other things, too, neither at its begin nor up to its end. */
static float *inside(void)
{
    return (float *)hsa_pool_take(machine.fine, 3 * SIZE) + COUNT + 3;
}

static float *kernarg(void)
{
    return hsa_pool_take(machine.kernarg, SIZE);
}

static float *locked(void)
{
    void *memory = pages(), *there;

    HSA_CHECK(hsa_amd_memory_lock(memory, SIZE, NULL, 0, &there));
    return there;
}

static float *registered(void)
{
    void *memory = pages();

    HSA_CHECK(hsa_memory_register(memory, SIZE));
    return memory;
}

static const struct {
    const char *name;
    float *(*take)(void);
} memories[] = {
    {"fine", fine},       {"coarse", coarse}, {"inside", inside},
    {"kernarg", kernarg}, {"locked", locked}, {"registered", registered},
};

/* ---- rounds ------------------------------------------------------------------------------------
 */

static void send(unsigned n, hsa_signal_t done)
{
    arguments[n] = (struct scale_arguments){data, factor};
    hsa_ring(queue, hsa_dispatch(queue, &scale, grid, group, &arguments[n], done));
}

static double look(void)
{
    double sum = 0;

    for (unsigned i = 0; i < COUNT; i++)
        sum += data[i];
    return sum;
}

static void fill(unsigned n)
{
    for (unsigned i = 0; i < COUNT; i++)
        data[i] = (float)(i + n);
}

static void by_way(const struct hsa_way *way)
{
    const struct hsa_place place = {&machine, queue};

    for (unsigned n = 0; n < ROUNDS; n++) {
        hsa_signal_t done = hsa_signal_take(1);
        send(n, done);
        way->learn(&place, done);
        printf("%.1f\n", look());
        fill(n);
    }
}

/* Finds by polling that the kernel is done, as a program does: the last item writes last. */
static void poll(void)
{
    const volatile float *last = &data[COUNT - 1];

    while (*last != MARK * factor)
        ;
    printf("%.1f\n", look());
}

static void by_memory(void)
{
    data[COUNT - 1] = MARK;
    send(0, hsa_signal_take(1));
    poll();
}

static void without_signal(void)
{
    data[COUNT - 1] = MARK;
    send(0, (hsa_signal_t){0});
    poll();
}

static void by_pointer(void)
{
    hsa_signal_value_pointer_t value;
    hsa_signal_t done = hsa_signal_take(1);

    HSA_CHECK(hsa_amd_signal_value_pointer(done, &value));
    send(0, done);
    while (__atomic_load_n(value, __ATOMIC_ACQUIRE) != 0)
        ;
    printf("%.1f\n", look());
    hsa_ring(queue, hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, (hsa_signal_t){0}));
}

static void by_end_of_queue(void)
{
    data[COUNT - 1] = MARK;
    send(0, (hsa_signal_t){0});
    poll();
    HSA_CHECK(hsa_queue_destroy(queue));
    printf("%.1f\n", look());
}

static void by_shut_down(void)
{
    data[COUNT - 1] = MARK;
    send(0, (hsa_signal_t){0});
    poll();
    HSA_CHECK(hsa_shut_down());
}

static void by_exit(void)
{
    without_signal();
    fflush(stdout);
    _exit(0);
}

/* The last of several, which are in order. */
static void by_last(void)
{
    hsa_signal_t done = hsa_signal_take(1);

    for (unsigned n = 0; n < ROUNDS; n++)
        send(n, n == ROUNDS - 1 ? done : (hsa_signal_t){0});
    hsa_await(done);
    printf("%.1f\n", look());
}

/* While a later one waits for the program. */
static void before_gate(void)
{
    hsa_signal_t gate = hsa_signal_take(1), first = hsa_signal_take(1), second = hsa_signal_take(1);

    send(0, first);
    hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, (hsa_signal_t){0});
    send(1, second);
    hsa_await(first);
    printf("%.1f\n", look());
    fill(3);
    hsa_signal_store_screlease(gate, 0);
    hsa_await(second);
    printf("%.1f\n", look());
}

static const struct {
    const char *name;
    void (*run)(void);
} others[] = {
    {"last", by_last},           {"gate", before_gate},
    {"memory", by_memory},       {"no_signal", without_signal},
    {"pointer", by_pointer},     {"end_of_queue", by_end_of_queue},
    {"shut_down", by_shut_down},
    {"exit", by_exit},
};

static int list(void)
{
    for (unsigned i = 0; i < hsa_way_count; i++)
        printf("%s ", hsa_ways[i].name);
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        printf("%s ", others[i].name);
    puts("");
    for (unsigned i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
        printf("%s ", memories[i].name);
    puts("");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return list();
    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    scale = hsa_kernel_find(&machine, "scale_or_not.kd");
    queue = hsa_queue_take(&machine, 64);
    arguments = hsa_pool_take(machine.kernarg, ROUNDS * sizeof(*arguments));
    factor = argc > 4 ? 1 : factor;
    for (unsigned i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
        if (!strcmp(argv[3], memories[i].name))
            data = memories[i].take();
    fill(1);
    for (unsigned i = 0; i < hsa_way_count; i++)
        if (!strcmp(argv[2], hsa_ways[i].name))
            by_way(&hsa_ways[i]);
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!strcmp(argv[2], others[i].name))
            others[i].run();
    return 0;
}
