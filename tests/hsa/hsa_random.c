/* SPDX-License-Identifier: Apache-2.0
 *
 * A program made of a number: `hsa_random KERNELS SEED`; with TEST_POLL it also looks at memory. Each thread has queues,
 * buffers and signals of its own and takes random steps: copies, kernels, writes of the host, work
 * behind a gate that the host opens later. It orders everything that touches a buffer and learns in
 * every way that there is that something is complete; so what it prints is always the same.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_MAX   4u
#define BUFFER_COUNT 6u    /* the first half is the host's */
#define WORDS        2048u /* of a buffer */
#define ITEMS        512u

struct buffer {
    uint32_t *words;
    bool is_hosts, is_gated, is_awaited; /* ... a command waits for `last` */
    hsa_signal_t
        last; /* what the last command that uses it counts down; 0: it is known to be complete */
};

/* Queue 1 is for work behind a gate. */
struct worker {
    uint64_t random;
    uint32_t steps, sum;
    hsa_queue_t *queues[2];
    struct buffer buffers[BUFFER_COUNT];
    struct weave_arguments *arguments;
    uint32_t argument_count;
    hsa_signal_t gate; /* 0: none is closed */
    struct buffer *behind_gate;
    pthread_t thread;
};

static struct hsa_machine machine;
static struct hsa_found_kernel weave;
static bool may_poll;

static uint32_t draw(struct worker *w, uint32_t below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->random >> 33) % below;
}

/* ---- learning ----------------------------------------------------------------------------------
 */

static void by_barrier(struct worker *w, uint32_t type, hsa_signal_t done)
{
    hsa_queue_t *queue = w->queues[0];
    hsa_signal_t passed = hsa_signal_take(1);
    const hsa_amd_barrier_value_packet_t packet = {.signal = done,
                                                   .value = 1,
                                                   .mask = -1,
                                                   .cond = HSA_SIGNAL_CONDITION_LT,
                                                   .completion_signal = passed};

    hsa_ring(queue,
             type ? hsa_barrier(queue, type, &done, 1, passed) : hsa_barrier_value(queue, &packet));
    hsa_await(passed);
}

static void by_any(hsa_signal_t done)
{
    hsa_signal_t signals[2] = {hsa_signal_take(1), done};
    hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_LT};
    hsa_signal_value_t values[2] = {1, 1}, value;

    hsa_amd_signal_wait_any(2, signals, conditions, values, UINT64_MAX, HSA_WAIT_STATE_BLOCKED,
                            &value);
}

static void by_group(hsa_signal_t done)
{
    hsa_signal_t signals[2] = {hsa_signal_take(1), done}, which;
    hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_LT};
    hsa_signal_value_t values[2] = {1, 1}, value;
    hsa_signal_group_t group;

    HSA_CHECK(hsa_signal_group_create(2, signals, 1, &machine.cpu, &group));
    HSA_CHECK(hsa_signal_group_wait_any_scacquire(group, conditions, values, HSA_WAIT_STATE_BLOCKED,
                                                  &which, &value));
}

/* `is_awaited`: commands wait for the signal, so that it must not get another value. */
static void learn(struct worker *w, hsa_signal_t done, bool is_awaited)
{
    uint32_t way = draw(w, 11);

    switch (is_awaited && (way == 2 || way == 3) ? 0 : way) {
    case 0:
        hsa_await(done);
        break;
    case 1:
        while (hsa_signal_load_relaxed(done) != 0)
            ;
        break;
    case 2:
        while (hsa_signal_cas_scacq_screl(done, 0, 1) != 0)
            ;
        break;
    case 3:
        while (hsa_signal_exchange_acq_rel(done, 1) != 0)
            ;
        break;
    case 4:
        by_any(done);
        break;
    case 5:
        hsa_await_by_handler(done);
        break;
    case 6:
        by_group(done);
        break;
    case 7:
        by_barrier(w, HSA_PACKET_TYPE_BARRIER_AND, done);
        break;
    case 8:
        by_barrier(w, HSA_PACKET_TYPE_BARRIER_OR, done);
        break;
    case 9:
        hsa_signal_wait_relaxed(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX,
                                HSA_WAIT_STATE_ACTIVE);
        break;
    default:
        by_barrier(w, 0, done);
        break;
    }
}

/* ---- gates -------------------------------------------------------------------------------------
 */

static void fill(struct worker *w, uint32_t *words, uint32_t count)
{
    uint32_t first = draw(w, 1u << 20), step = draw(w, 99) + 1;

    for (uint32_t i = 0; i < count; i++)
        words[i] = first + i * step;
}

/* Writes what waits for it, and lets it go. */
static void open_gate(struct worker *w)
{
    hsa_signal_t gate = w->gate;

    if (!gate.handle)
        return;
    fill(w, w->behind_gate->words, ITEMS);
    switch (draw(w, 6)) {
    case 0:
        hsa_signal_store_relaxed(gate, 0);
        break;
    case 1:
        hsa_signal_subtract_acq_rel(gate, 1);
        break;
    case 2:
        hsa_signal_and_scacq_screl(gate, 0);
        break;
    case 3:
        hsa_signal_exchange_scacquire(gate, 0);
        break;
    case 4:
        hsa_signal_cas_relaxed(gate, 1, 0);
        break;
    default:
        hsa_signal_silent_store_screlease(gate, 0);
        break;
    }
    w->gate.handle = 0;
    for (unsigned i = 0; i < BUFFER_COUNT; i++)
        w->buffers[i].is_gated = false;
}

/* The buffer can be used by the host. */
static void settle(struct worker *w, struct buffer *b)
{
    hsa_signal_t last = b->last;

    if (b->is_gated)
        open_gate(w);
    if (!last.handle)
        return;
    learn(w, last, b->is_awaited);
    for (unsigned i = 0; i < BUFFER_COUNT; i++)
        if (w->buffers[i].last.handle == last.handle)
            w->buffers[i].last.handle = 0;
}

static struct buffer *pick(struct worker *w)
{
    return &w->buffers[draw(w, BUFFER_COUNT)];
}

static struct buffer *pick_hosts(struct worker *w)
{
    return &w->buffers[draw(w, BUFFER_COUNT / 2)];
}

static hsa_agent_t agent_of(const struct buffer *b)
{
    return b->is_hosts ? machine.cpu : machine.gpu;
}

/* ---- steps -------------------------------------------------------------------------------------
 */

/* Finds the signals that a command which uses both buffers has to wait for. */
static unsigned deps_of(struct worker *w, struct buffer *a, struct buffer *b, hsa_signal_t deps[2])
{
    unsigned count = 0;

    if (a->is_gated || b->is_gated)
        open_gate(w);
    for (unsigned i = 0; i < BUFFER_COUNT; i++)
        w->buffers[i].is_awaited |= w->buffers[i].last.handle == a->last.handle ||
                                    w->buffers[i].last.handle == b->last.handle;
    if (a->last.handle)
        deps[count++] = a->last;
    if (b->last.handle && b->last.handle != a->last.handle)
        deps[count++] = b->last;
    return count;
}

static void use(struct buffer *a, struct buffer *b, hsa_signal_t done)
{
    a->last = b->last = done;
    a->is_awaited = b->is_awaited = false;
}

static void copy(struct worker *w)
{
    struct buffer *to = pick(w), *from = pick(w);
    hsa_signal_t deps[2], done = hsa_signal_take(1);
    size_t size = (draw(w, WORDS) + 1) * sizeof(*to->words);
    unsigned count;

    if (to == from)
        return;
    count = deps_of(w, to, from, deps);
    HSA_CHECK(hsa_amd_memory_async_copy(to->words, agent_of(to), from->words, agent_of(from), size,
                                        count, count ? deps : NULL, done));
    use(to, from, done);
}

static struct weave_arguments *next_arguments(struct worker *w, const uint32_t *in, uint32_t *out)
{
    struct weave_arguments *arguments = &w->arguments[w->argument_count++];

    *arguments = (struct weave_arguments){
        in, out, draw(w, 9) + 1, draw(w, 4) + 1, 0, draw(w, 3) ? 0 : draw(w, 400)};
    arguments->offset = draw(w, arguments->stride);
    return arguments;
}

static void dispatch(hsa_queue_t *queue, uint32_t items, struct weave_arguments *arguments,
                     hsa_signal_t done)
{
    hsa_ring(queue, hsa_dispatch(queue, &weave, (uint32_t[3]){items, 1, 1}, (uint16_t[3]){64, 1, 1},
                                 arguments, done));
}

static void kernel(struct worker *w)
{
    struct buffer *in = pick(w), *out = pick(w);
    hsa_signal_t deps[2], done = hsa_signal_take(1);
    unsigned count;

    if (in == out)
        return;
    count = deps_of(w, in, out, deps);
    if (count)
        hsa_barrier(w->queues[0], HSA_PACKET_TYPE_BARRIER_AND, deps, count, (hsa_signal_t){0});
    dispatch(w->queues[0], ITEMS, next_arguments(w, in->words, out->words), done);
    use(in, out, done);
}

/* The host writes what the kernel reads when that has been sent. */
static void gated(struct worker *w)
{
    struct buffer *in = pick_hosts(w), *out = pick(w);
    hsa_signal_t done = hsa_signal_take(1);

    if (in == out || w->gate.handle)
        return;
    settle(w, in);
    settle(w, out);
    w->gate = hsa_signal_take(1);
    hsa_barrier(w->queues[1], HSA_PACKET_TYPE_BARRIER_AND, &w->gate, 1, (hsa_signal_t){0});
    dispatch(w->queues[1], ITEMS, next_arguments(w, in->words, out->words), done);
    w->behind_gate = in;
    use(in, out, done);
    in->is_gated = out->is_gated = true;
}

/* Each kernel reads its quarter, which the host fills while the one before may run. */
static void quarters(struct worker *w)
{
    struct buffer *in = pick_hosts(w), *out = pick(w);
    hsa_signal_t done = hsa_signal_take(1);

    if (in == out)
        return;
    settle(w, in);
    settle(w, out);
    for (unsigned i = 0; i < 4; i++) {
        struct weave_arguments *arguments;
        fill(w, in->words + i * ITEMS, ITEMS);
        arguments = next_arguments(w, in->words + i * ITEMS, out->words + i * ITEMS);
        arguments->stride = 1;
        arguments->offset = 0;
        dispatch(w->queues[0], ITEMS, arguments, i == 3 ? done : (hsa_signal_t){0});
    }
    use(in, out, done);
}

/* The program looks at memory, and makes no call. */
static void poll(struct worker *w)
{
    struct buffer *in = pick_hosts(w), *out = pick_hosts(w);
    hsa_signal_t done = hsa_signal_take(1);
    struct weave_arguments *arguments;
    volatile uint32_t *last;

    if (in == out || !may_poll)
        return;
    settle(w, in);
    settle(w, out);
    fill(w, in->words, ITEMS);
    arguments = next_arguments(w, in->words, out->words);
    last = &out->words[(ITEMS - 1) * arguments->stride + arguments->offset];
    *last = ~(in->words[ITEMS - 1] * arguments->factor + ITEMS - 1);
    dispatch(w->queues[0], ITEMS, arguments, done);
    while (*last != in->words[ITEMS - 1] * arguments->factor + ITEMS - 1)
        ;
    fill(w, in->words, ITEMS);
    w->sum = w->sum * 31 + out->words[arguments->offset];
    use(in, out, done);
}

static void write_some(struct worker *w)
{
    struct buffer *b = pick_hosts(w);
    uint32_t from = draw(w, WORDS), count = draw(w, WORDS - from) + 1;

    settle(w, b);
    fill(w, b->words + from, count);
}

static void read_all(struct worker *w)
{
    struct buffer *b = pick(w);
    uint32_t back[WORDS];

    settle(w, b);
    if (b->is_hosts)
        memcpy(back, b->words, sizeof(back));
    else
        HSA_CHECK(hsa_memory_copy(back, b->words, sizeof(back)));
    for (unsigned i = 0; i < WORDS; i++)
        w->sum = w->sum * 31 + back[i];
}

static void step(struct worker *w)
{
    void (*const steps[])(struct worker *) = {copy,  copy,     kernel, kernel,     kernel,  gated,
                                              gated, quarters, poll,   write_some, read_all};

    steps[draw(w, sizeof(steps) / sizeof(steps[0]))](w);
}

/* ---- */

static void *work(void *argument)
{
    struct worker *w = argument;

    for (unsigned i = 0; i < BUFFER_COUNT; i++)
        settle(w, &w->buffers[i]);
    for (uint32_t i = 0; i < w->steps; i++)
        step(w);
    for (unsigned i = 0; i < BUFFER_COUNT; i++) {
        uint32_t back[WORDS];
        settle(w, &w->buffers[i]);
        HSA_CHECK(hsa_memory_copy(back, w->buffers[i].words, sizeof(back)));
        for (unsigned k = 0; k < WORDS; k++)
            w->sum = w->sum * 31 + back[k];
    }
    return NULL;
}

static void prepare(struct worker *w, uint64_t seed, uint32_t steps)
{
    *w = (struct worker){.random = seed * 2654435761u + 12345, .steps = steps};
    w->queues[0] = hsa_queue_take(&machine, 64);
    w->queues[1] = hsa_queue_take(&machine, 64);
    w->arguments = hsa_pool_take(machine.kernarg, (4 * steps + 1) * sizeof(*w->arguments));
    for (unsigned i = 0; i < BUFFER_COUNT; i++) {
        struct buffer *b = &w->buffers[i];
        b->is_hosts = i < BUFFER_COUNT / 2;
        b->words =
            hsa_pool_take(b->is_hosts ? machine.fine : machine.device, WORDS * sizeof(*b->words));
        if (b->is_hosts)
            fill(w, b->words, WORDS);
        else
            HSA_CHECK(hsa_amd_memory_fill(b->words, draw(w, 1u << 30), WORDS));
    }
}

int main(int argc, char **argv)
{
    static struct worker workers[THREAD_MAX];
    uint32_t seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    uint32_t threads = seed % 3 + 1;

    may_poll = getenv("TEST_POLL") != NULL;
    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    weave = hsa_kernel_find(&machine, "weave.kd");
    for (unsigned i = 0; i < threads; i++)
        prepare(&workers[i], seed * 16 + i, 20 + seed % 20);
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < threads; i++)
        printf("%u\n", workers[i].sum);
    return 0;
}
