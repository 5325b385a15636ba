/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that hang; each says "hangs" before, and is to be killed: hsa_hangs KERNELS WAY. WAY:
 *
 *   crossed   two queues, each waits for the signal that the other one lowers behind its own wait
 *   ring      three queues, likewise; a kernel behind one of them, and a copy that waits for it
 *   copies    a packet waits for a copy, which waits for that packet
 *   itself    a packet waits for the signal that it lowers itself
 *   late      a signal of 2: one packet lowers it, another one waits for it, a third, behind that,
 *             lowers it, too
 *   open      a packet waits for a signal that nothing lowers
 *   too_high  ... for one of 3, which one packet has lowered
 *   before    ... behind a packet that waits for a signal which is lowered twice, before and after
 *   unseen    ... for one that others may lower
 *   again     ... and before another packet waited for one that the host lowered, and raised again
 *   added     the same, by adding
 *   reused    the same, lowered by a packet
 *   goes_on   crossed, but the host lowers the first signal: it does not hang
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { QUEUES = 3, COUNT = 1024 };

static const hsa_signal_t no_signal;
static struct hsa_machine m;
static hsa_queue_t *queues[QUEUES];
static hsa_signal_t signals[QUEUES];
static float *memory;

/* Its name is in the stacks that the test looks for. */
__attribute__((noinline)) static void wait_for(unsigned queue, hsa_signal_t dep, hsa_signal_t done)
{
    hsa_ring(queues[queue], hsa_barrier(queues[queue], HSA_PACKET_TYPE_BARRIER_AND, &dep, 1, done));
}

static void lower(unsigned queue, hsa_signal_t done)
{
    hsa_ring(queues[queue], hsa_barrier(queues[queue], HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done));
}

static void send_kernel(unsigned queue, hsa_signal_t done)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_found_kernel kernel = hsa_kernel_find(&m, "scale.kd");
    struct scale_arguments *arguments = hsa_pool_take(m.kernarg, sizeof(*arguments));

    *arguments = (struct scale_arguments){memory, 3.0f};
    hsa_ring(queues[queue], hsa_dispatch(queues[queue], &kernel, grid, group, arguments, done));
}

static void send_copy(hsa_signal_t dep, hsa_signal_t done)
{
    float *to = hsa_pool_take(m.fine, COUNT * sizeof(float));

    HSA_CHECK(
        hsa_amd_memory_async_copy(to, m.cpu, memory, m.gpu, COUNT * sizeof(float), 1, &dep, done));
}

/* Each queue waits for the one behind it, the last for the first. */
static void cross(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        wait_for(i, signals[(i + 1) % count], no_signal);
        lower(i, signals[i]);
    }
}

static void send(const char *way)
{
    if (!strcmp(way, "crossed") || !strcmp(way, "goes_on"))
        cross(2);
    else if (!strcmp(way, "ring")) {
        hsa_signal_t ran = hsa_signal_take(1);

        cross(3);
        send_kernel(2, ran);
        send_copy(ran, hsa_signal_take(1));
    } else if (!strcmp(way, "copies")) {
        wait_for(0, signals[1], signals[0]);
        send_copy(signals[0], signals[1]);
    } else if (!strcmp(way, "itself"))
        wait_for(0, signals[0], signals[0]);
    else if (!strcmp(way, "late")) {
        hsa_signal_t two = hsa_signal_take(2);

        lower(1, two);
        wait_for(0, two, no_signal);
        lower(0, two);
    } else if (!strcmp(way, "open"))
        wait_for(0, signals[0], no_signal);
    else if (!strcmp(way, "too_high")) {
        hsa_signal_t three = hsa_signal_take(3);

        lower(1, three);
        hsa_signal_wait_scacquire(three, HSA_SIGNAL_CONDITION_LT, 3, UINT64_MAX,
                                  HSA_WAIT_STATE_BLOCKED);
        wait_for(0, three, no_signal);
    } else if (!strcmp(way, "again") || !strcmp(way, "added")) {
        wait_for(1, signals[0], no_signal);
        if (way[1] == 'g')
            hsa_signal_store_screlease(signals[0], 0);
        else
            hsa_signal_subtract_screlease(signals[0], 1);
        usleep(100000); /* the packet has seen it by then */
        if (way[1] == 'g')
            hsa_signal_store_screlease(signals[0], 1);
        else
            hsa_signal_add_screlease(signals[0], 1);
        wait_for(0, signals[2], no_signal);
    } else if (!strcmp(way, "reused")) {
        wait_for(1, signals[0], no_signal);
        lower(2, signals[0]);
        hsa_await(signals[0]);
        usleep(100000);
        hsa_signal_store_screlease(signals[0], 1);
        wait_for(0, signals[2], no_signal);
    } else if (!strcmp(way, "before")) {
        lower(2, signals[0]);
        hsa_await(signals[0]);
        wait_for(1, signals[0], signals[1]);
        hsa_await(signals[1]);
        hsa_signal_store_screlease(signals[0], 1);
        lower(0, signals[0]);
        hsa_await(signals[0]);
        wait_for(0, signals[2], no_signal);
    } else if (!strcmp(way, "unseen")) {
        volatile hsa_signal_value_t *value;

        HSA_CHECK(hsa_amd_signal_value_pointer(signals[0], &value));
        wait_for(0, signals[0], no_signal);
    }
}

int main(int argc, char **argv)
{
    hsa_signal_t done;

    if (argc < 3)
        return 2;
    hsa_machine_find(&m);
    hsa_machine_load(&m, argv[1]);
    memory = hsa_pool_take(m.device, COUNT * sizeof(float));
    for (unsigned i = 0; i < QUEUES; i++) {
        queues[i] = hsa_queue_take(&m, 64);
        signals[i] = hsa_signal_take(1);
    }
    done = hsa_signal_take(1);
    send(argv[2]);
    lower(0, done);
    puts("hangs");
    fflush(stdout);
    if (!strcmp(argv[2], "goes_on"))
        hsa_signal_store_screlease(signals[0], 0);
    hsa_await(done);
    return 0;
}
