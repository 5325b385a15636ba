/* SPDX-License-Identifier: Apache-2.0
 *
 * A soft queue of the program's own: one thread sends agent dispatches, another carries them out
 * and writes what a copy takes from there. Needs no GPU.
 */
#include "tests/hsa/hsa_helper.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define COUNT  1024u
#define ROUNDS 6u

static const uint16_t head =
    HSA_PACKET_TYPE_AGENT_DISPATCH << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER;

static hsa_queue_t *queue;
static uint32_t *numbers;

static hsa_agent_dispatch_packet_t *place(uint64_t index)
{
    return (hsa_agent_dispatch_packet_t *)queue->base_address + index % queue->size;
}

/* Packet type t: add arg[0] to each number. */
static void carry_out(const hsa_agent_dispatch_packet_t *packet)
{
    for (unsigned i = 0; i < COUNT; i++)
        numbers[i] += (uint32_t)packet->arg[0] * (i + packet->type);
    hsa_signal_subtract_screlease(packet->completion_signal, 1);
}

static void *consume(void *unused)
{
    for (uint64_t index = 0; index < ROUNDS; index++) {
        hsa_agent_dispatch_packet_t *packet = place(index);

        hsa_signal_wait_scacquire(queue->doorbell_signal, HSA_SIGNAL_CONDITION_GTE,
                                  (hsa_signal_value_t)index, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
        while (__atomic_load_n(&packet->header, __ATOMIC_ACQUIRE) != head)
            ;
        carry_out(packet);
        packet->header = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE;
        hsa_queue_store_read_index_screlease(queue, index + 1);
    }
    return NULL;
}

static void produce(hsa_signal_t done)
{
    uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
    hsa_agent_dispatch_packet_t *packet = place(index);

    memset((char *)packet + 2, 0, sizeof(*packet) - 2);
    packet->type = 0x8000;
    packet->arg[0] = index + 1;
    packet->completion_signal = done;
    __atomic_store_n(&packet->header, head, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static hsa_status_t find_region(hsa_region_t region, void *data)
{
    hsa_region_segment_t segment;
    uint32_t flags = 0;

    hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment);
    hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
    if (segment == HSA_REGION_SEGMENT_GLOBAL && (flags & HSA_REGION_GLOBAL_FLAG_FINE_GRAINED))
        *(hsa_region_t *)data = region;
    return HSA_STATUS_SUCCESS;
}

int main(void)
{
    static uint32_t back[COUNT];
    uint32_t sum = ROUNDS * (ROUNDS + 1) / 2;
    struct hsa_machine machine;
    hsa_region_t region = {0};
    hsa_signal_t bell, done;
    pthread_t consumer;
    unsigned bad = 0;

    hsa_machine_find(&machine);
    HSA_CHECK(hsa_agent_iterate_regions(machine.cpu, find_region, &region));
    numbers = hsa_pool_take(machine.fine, sizeof(back));
    memset(numbers, 0, sizeof(back));
    bell = hsa_signal_take(-1);
    HSA_CHECK(hsa_soft_queue_create(region, 16, HSA_QUEUE_TYPE_MULTI,
                                    HSA_QUEUE_FEATURE_AGENT_DISPATCH, bell, &queue));
    pthread_create(&consumer, NULL, consume, NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        done = hsa_signal_take(1);
        produce(done);
        hsa_await(done);
        HSA_CHECK(hsa_memory_copy(back, numbers, sizeof(back)));
        HSA_CHECK(hsa_signal_destroy(done));
    }
    pthread_join(consumer, NULL);
    for (unsigned i = 0; i < COUNT; i++)
        bad += back[i] != sum * (i + 0x8000);
    HSA_CHECK(hsa_queue_destroy(queue));
    HSA_CHECK(hsa_signal_destroy(bell));
    HSA_CHECK(hsa_amd_memory_pool_free(numbers));
    HSA_CHECK(hsa_shut_down());
    printf(bad ? "wrong\n" : "right\n");
    return bad != 0;
}
