/* SPDX-License-Identifier: Apache-2.0
 *
 * Soft queues of the program: it sends packets to itself. They are recorded when it rings, and
 * nothing else is done about them: what they make it do shows in the memory that it writes.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "capture/lock.h"

#include <string.h>

#define PACKET_SIZE 64u
#define TYPE_MASK   ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1)

struct soft_queue {
    struct tsm_lock lock;
    const hsa_queue_t *queue; /* NULL: destroyed */
    uint64_t next;            /* index of the first packet that was not seen */
};

static uint32_t there; /* that were ever made: mostly none */

static void record_function(const hsa_queue_t *queue, uint64_t index,
                            const hsa_agent_dispatch_packet_t *packet)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, TYPE_aql_soft_dispatch))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, HSA_SLOT(queue));
    tsm_call_slot(&call, index);
    hsa_packet_append_function(&call, packet);
    tsm_call_commit(&call);
}

static void record(const hsa_queue_t *queue, uint64_t index, const uint8_t *packet)
{
    struct tsm_call call;
    uint16_t header;

    memcpy(&header, packet, sizeof(header));
    if ((header >> HSA_PACKET_HEADER_TYPE & TYPE_MASK) == HSA_PACKET_TYPE_AGENT_DISPATCH) {
        record_function(queue, index, (const void *)packet);
        return;
    }
    if (!tsm_call_begin(&call, TYPE_aql_soft))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, HSA_SLOT(queue));
    tsm_call_slot(&call, index);
    tsm_call_slot(&call, header);
    tsm_call_bytes(&call, packet, PACKET_SIZE);
    tsm_call_commit(&call);
}

static bool is_ready(const uint8_t *packet)
{
    uint16_t header;

    __atomic_load((const uint16_t *)(const void *)packet, &header, __ATOMIC_ACQUIRE);
    return (header >> HSA_PACKET_HEADER_TYPE & TYPE_MASK) != HSA_PACKET_TYPE_INVALID;
}

/* Records new packets. Packets after the write index were not written yet. */
static void record_new(struct soft_queue *soft)
{
    const hsa_queue_t *queue = soft->queue;
    uint64_t end = hsa_runtime.hsa_queue_load_write_index_scacquire(queue);

    for (; soft->next < end; soft->next++) {
        const uint8_t *packet =
            (const uint8_t *)queue->base_address + (soft->next & (queue->size - 1)) * PACKET_SIZE;

        if (!is_ready(packet))
            break;
        record(queue, soft->next, packet);
    }
}

void hsa_soft_ring(hsa_signal_t signal)
{
    const struct tsm_handle *handle;
    struct soft_queue *soft;

    if (!__atomic_load_n(&there, __ATOMIC_RELAXED))
        return;
    handle = hsa_find(HSA_OBJECT_BELL, signal.handle);
    soft = handle ? handle->user : NULL;
    if (!soft)
        return;
    tsm_lock_take(&soft->lock);
    if (soft->queue)
        record_new(soft);
    tsm_lock_give(&soft->lock);
}

void hsa_soft_queue_destroyed(const hsa_queue_t *queue)
{
    const struct tsm_handle *handle;
    struct soft_queue *soft;

    if (!queue || !__atomic_load_n(&there, __ATOMIC_RELAXED))
        return;
    handle = hsa_find(HSA_OBJECT_BELL, queue->doorbell_signal.handle);
    soft = handle ? handle->user : NULL;
    if (!soft || soft->queue != queue)
        return;
    tsm_handle_remove(SBT_API_HSA, HSA_OBJECT_BELL, queue->doorbell_signal.handle);
    tsm_lock_take(&soft->lock);
    soft->queue = NULL;
    tsm_lock_give(&soft->lock);
}

hsa_status_t hook_hsa_soft_queue_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type,
                                        uint32_t features, hsa_signal_t doorbell_signal,
                                        hsa_queue_pointer_t *queue)
{
    struct soft_queue *soft = hsa_keep(sizeof(*soft));
    struct tsm_call call;
    hsa_status_t status;
    bool ok;

    if (!soft || !tsm_call_begin(&call, TYPE_hsa_soft_queue_create))
        return hsa_runtime.hsa_soft_queue_create(region, size, type, features, doorbell_signal,
                                                 queue);
    status =
        hsa_runtime.hsa_soft_queue_create(region, size, type, features, doorbell_signal, queue);
    ok = status == HSA_STATUS_SUCCESS;
    if (ok) {
        soft->queue = *queue;
        tsm_handle_add(SBT_API_HSA, HSA_OBJECT_BELL, doorbell_signal.handle)->user = soft;
        __atomic_fetch_add(&there, 1, __ATOMIC_RELAXED);
    }
    tsm_call_returned(&call, status, !ok);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_REGION, region.handle));
    tsm_call_slot(&call, size);
    tsm_call_slot(&call, type);
    tsm_call_slot(&call, features);
    tsm_call_slot(&call, hsa_signal_id(doorbell_signal));
    tsm_call_slot(&call, ok ? HSA_SLOT(*queue) : 0);
    tsm_call_commit(&call);
    return status;
}
