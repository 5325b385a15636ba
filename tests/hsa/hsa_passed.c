/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue whose packets pass through two functions: one makes two of each dispatch (itself, and a
 * barrier that completes in its place), the other counts what it sees, and drops what asks for it.
 * A group of signals tells when all is done. More packets come out than the queue has room for.
 */
#include "api/hsa/hsa_prototypes.h"
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define COUNT  256u
#define ROUNDS 40u
#define QUEUE  16u
#define DROP   0x5a5aull /* in reserved2 of a dispatch */

static atomic_uint seen, doubled;
static hsa_signal_t own[ROUNDS];

static bool is_dispatch(const hsa_kernel_dispatch_packet_t *packet)
{
    return (packet->header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}

static void count_and_drop(const void *packets, uint64_t count, uint64_t index, void *data,
                           hsa_intercept_writer_t writer)
{
    const hsa_kernel_dispatch_packet_t *packet = packets;

    atomic_fetch_add(&seen, (unsigned)count);
    if (!is_dispatch(packet) || packet->reserved2 != DROP)
        writer(packets, count);
}

static void make_two(const void *packets, uint64_t count, uint64_t index, void *data,
                     hsa_intercept_writer_t writer)
{
    union {
        hsa_kernel_dispatch_packet_t dispatch;
        hsa_barrier_and_packet_t barrier;
    } two[2];

    if (count != 1 || !is_dispatch(packets)) {
        writer(packets, count);
        return;
    }
    memset(two, 0, sizeof(two));
    memcpy(&two[0], packets, sizeof(two[0]));
    two[0].dispatch.completion_signal = own[index % ROUNDS];
    two[1].barrier.header =
        HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER;
    two[1].barrier.dep_signal[0] = own[index % ROUNDS];
    two[1].barrier.completion_signal =
        ((const hsa_kernel_dispatch_packet_t *)packets)->completion_signal;
    atomic_fetch_add(&doubled, 1);
    writer(two, 2);
}

static hsa_queue_t *take_queue(const struct hsa_machine *machine)
{
    hsa_queue_t *queue = NULL, *plain = hsa_queue_take(machine, QUEUE);

    HSA_CHECK(hsa_amd_queue_intercept_create(machine->gpu, QUEUE, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
                                             UINT32_MAX, UINT32_MAX, &queue));
    HSA_CHECK(hsa_amd_queue_intercept_register(queue, count_and_drop, NULL));
    HSA_CHECK(hsa_amd_queue_intercept_register(queue, make_two, NULL));
    hsa_check(hsa_amd_queue_intercept_register(plain, make_two, NULL) ==
                      HSA_STATUS_ERROR_INVALID_QUEUE
                  ? HSA_STATUS_SUCCESS
                  : HSA_STATUS_ERROR,
              "a plain queue");
    HSA_CHECK(hsa_queue_destroy(plain));
    return queue;
}

/* One that is dropped: nobody would see its end. */
static void send_dropped(hsa_queue_t *queue, const struct hsa_found_kernel *kernel, void *arguments)
{
    uint64_t index = hsa_queue_load_write_index_relaxed(queue);
    hsa_kernel_dispatch_packet_t *packet =
        (hsa_kernel_dispatch_packet_t *)queue->base_address + index % queue->size;
    uint16_t head = HSA_PACKET_TYPE_KERNEL_DISPATCH;

    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
        ;
    hsa_queue_store_write_index_relaxed(queue, index + 1);
    memset((char *)packet + 2, 0, sizeof(*packet) - 2);
    packet->setup = 1;
    packet->workgroup_size_x = packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = packet->grid_size_y = packet->grid_size_z = 1;
    packet->kernel_object = kernel->object;
    packet->kernarg_address = arguments;
    packet->reserved2 = DROP;
    __atomic_store_n(&packet->header, head, __ATOMIC_RELEASE);
    hsa_ring(queue, index);
}

int main(int argc, char **argv)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    static const hsa_signal_condition_t until[2] = {HSA_SIGNAL_CONDITION_LT,
                                                    HSA_SIGNAL_CONDITION_GTE};
    static const hsa_signal_value_t compare[2] = {1, 100};
    struct scale_arguments *arguments, *dropped;
    struct hsa_found_kernel scale;
    struct hsa_machine machine;
    hsa_signal_t signals[2], which;
    hsa_signal_group_t both;
    hsa_signal_value_t value;
    float numbers[COUNT];
    hsa_queue_t *queue;
    unsigned bad = 0;

    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    scale = hsa_kernel_find(&machine, "scale.kd");
    for (unsigned i = 0; i < ROUNDS; i++)
        own[i] = hsa_signal_take(1);
    for (unsigned i = 0; i < COUNT; i++)
        numbers[i] = 1;
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    dropped = hsa_pool_take(machine.kernarg, sizeof(*dropped));
    *arguments = (struct scale_arguments){hsa_pool_take(machine.device, sizeof(numbers)), 1.25f};
    *dropped = (struct scale_arguments){arguments->data, 0};
    HSA_CHECK(hsa_memory_copy(arguments->data, numbers, sizeof(numbers)));
    signals[0] = hsa_signal_take(ROUNDS - 1);
    signals[1] = hsa_signal_take(1);
    HSA_CHECK(hsa_signal_group_create(2, signals, 1, &machine.cpu, &both));
    queue = take_queue(&machine);
    for (unsigned i = 0; i + 1 < ROUNDS; i++)
        hsa_ring(queue, hsa_dispatch(queue, &scale, grid, group, arguments, signals[0]));
    HSA_CHECK(hsa_signal_group_wait_any_scacquire(both, until, compare, HSA_WAIT_STATE_BLOCKED,
                                                  &which, &value));
    HSA_CHECK(hsa_memory_copy(numbers, arguments->data, sizeof(numbers)));
    bad |= which.handle != signals[0].handle || value > 0;
    HSA_CHECK(hsa_signal_group_destroy(both));
    send_dropped(queue, &scale, dropped);
    hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, signals[1]);
    hsa_ring(queue, hsa_queue_load_write_index_relaxed(queue) - 1);
    hsa_await(signals[1]);
    HSA_CHECK(hsa_queue_destroy(queue));
    for (unsigned i = 0; i + 1 < ROUNDS; i++)
        numbers[0] /= 1.25f;
    bad |= numbers[0] < 0.99f || numbers[0] > 1.01f || numbers[COUNT - 1] < 1000;
    /* The newest function sees packets first. */
    bad |= atomic_load(&doubled) != ROUNDS || atomic_load(&seen) != 2 * ROUNDS + 1;
    printf(bad ? "wrong: %u doubled, %u seen\n" : "right: %u, %u\n", atomic_load(&doubled),
           atomic_load(&seen));
    return bad != 0;
}
