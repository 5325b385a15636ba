/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues. Each queue of the GPU has a thread that is its packet processor: it takes a packet as
 * soon as its header says that it is one, in order, and is done with it before it takes the next.
 * That is within the rules (a barrier bit can only ask for more order than that, which there is
 * none).
 */
#include "emu/hsa/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"

#define NAP_NS      100000000u
#define PACKET_SIZE 64u
#define TYPE_MASK   ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1)

/* A function that packets pass through. */
struct interceptor {
    struct interceptor *next;
    hsa_intercept_handler_t handler;
    void *data;
};

struct queue {
    amd_queue_t amd; /* first: what programs see */
    hsa_queue_callback_t callback;
    void *data;
    pthread_t thread;
    bool is_soft;                     /* the program processes the packets */
    struct interceptor *interceptors; /* of a tool's queue, the newest first */
    bool is_intercepted;
    bool stop;
};

static uint32_t next_id;

static struct queue *queue_of(const hsa_queue_t *queue)
{
    return (struct queue *)(uintptr_t)queue;
}

/* ---- packets -----------------------------------------------------------------------------------
 */

static bool holds(hsa_signal_t signal)
{
    return !signal.handle || emu_hsa_signal_load(signal) == 0;
}

static bool barrier_holds(const hsa_barrier_and_packet_t *packet, bool any)
{
    unsigned there = 0, held = 0;

    for (unsigned i = 0; i < 5; i++) {
        there += packet->dep_signal[i].handle != 0;
        held += packet->dep_signal[i].handle && holds(packet->dep_signal[i]);
    }
    return any ? held > 0 || !there : held == there;
}

/* Waits for a barrier's signals. Returns false if the queue is being destroyed. */
static bool await_barrier(const struct queue *queue, const hsa_barrier_and_packet_t *packet,
                          bool any)
{
    for (;;) {
        uint32_t now = emu_hsa_now();
        if (barrier_holds(packet, any))
            return true;
        if (__atomic_load_n(&queue->stop, __ATOMIC_ACQUIRE))
            return false;
        emu_hsa_await(now, NAP_NS);
    }
}

/* A packet without a signal waits for nothing (hsa_ext_amd.h). */
static bool value_holds(const hsa_amd_barrier_value_packet_t *packet)
{
    return !packet->signal.handle ||
           hsa_condition_holds(emu_hsa_signal_load(packet->signal) & packet->mask, packet->cond,
                               packet->value);
}

static bool await_value(const struct queue *queue, const hsa_amd_barrier_value_packet_t *packet)
{
    for (;;) {
        uint32_t now = emu_hsa_now();
        if (value_holds(packet))
            return true;
        if (__atomic_load_n(&queue->stop, __ATOMIC_ACQUIRE))
            return false;
        emu_hsa_await(now, NAP_NS);
    }
}

static void complain(struct queue *queue, hsa_status_t status)
{
    tsm_log(TSM_LOG_WARN, "queue %llu: error 0x%x", (unsigned long long)queue->amd.hsa_queue.id,
            status);
    if (queue->callback)
        queue->callback(status, &queue->amd.hsa_queue, queue->data);
}

/* Processes a packet. Returns false if the queue ends here. */
static bool process(struct queue *queue, const uint8_t *packet)
{
    const hsa_kernel_dispatch_packet_t *dispatch = (const void *)packet;
    const hsa_barrier_and_packet_t *barrier = (const void *)packet;
    const hsa_amd_barrier_value_packet_t *value = (const void *)packet;
    unsigned type = dispatch->header & TYPE_MASK;
    uint64_t start = emu_hsa_time();
    hsa_status_t status = HSA_STATUS_SUCCESS;
    hsa_signal_t completion = dispatch->completion_signal; /* in the same place in each packet */

    if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH)
        status = emu_hsa_dispatch(dispatch);
    else if (type == HSA_PACKET_TYPE_AGENT_DISPATCH)
        status = emu_hsa_perform((const void *)packet);
    else if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR)
        status = await_barrier(queue, barrier, type == HSA_PACKET_TYPE_BARRIER_OR)
                     ? HSA_STATUS_SUCCESS
                     : HSA_STATUS_ERROR;
    else if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
             value->header.AmdFormat == HSA_AMD_FORMAT_BARRIER_VALUE)
        status = await_value(queue, value) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
    else
        status = HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH)
        emu_hsa_be_late();
    if (__atomic_load_n(&queue->stop, __ATOMIC_ACQUIRE))
        return false;
    if (status != HSA_STATUS_SUCCESS) {
        complain(queue, status);
        return false;
    }
    emu_hsa_signal_times(completion, start, emu_hsa_time());
    emu_hsa_signal_decrement(completion);
    return true;
}

/* ---- functions that packets pass through: as with AMD's runtime, one packet after the other, the
 * newest function first; but on the queue's thread
 * -----------------------------------------------------------------------------------------------
 */

static _Thread_local struct passage {
    struct queue *queue;
    struct interceptor *at; /* NULL: after the last function */
    uint64_t index;
    bool goes_on; /* the queue does */
} passage;

static void writer(const void *packets, uint64_t count);

static void give(const void *packets, uint64_t count)
{
    const struct interceptor *at = passage.at;

    if (at) {
        at->handler(packets, count, passage.index, at->data, writer);
        return;
    }
    for (uint64_t i = 0; i < count && passage.goes_on; i++)
        passage.goes_on = process(passage.queue, (const uint8_t *)packets + i * PACKET_SIZE);
}

static void writer(const void *packets, uint64_t count)
{
    struct interceptor *at = passage.at;

    if (!at || !packets)
        return;
    passage.at = at->next;
    give(packets, count);
    passage.at = at;
}

static bool pass(struct queue *queue, const uint8_t *packet, uint64_t index)
{
    passage = (struct passage){queue, __atomic_load_n(&queue->interceptors, __ATOMIC_ACQUIRE),
                               index, true};
    give(packet, 1);
    passage.at = NULL;
    return passage.goes_on;
}

/* The next packet, NULL when the queue is to end. */
static uint8_t *next_packet(struct queue *queue, uint64_t index)
{
    uint8_t *packet = (uint8_t *)queue->amd.hsa_queue.base_address +
                      (index & (queue->amd.hsa_queue.size - 1)) * PACKET_SIZE;

    for (;;) {
        uint32_t now = emu_hsa_now();
        uint16_t header = __atomic_load_n((uint16_t *)(void *)packet, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&queue->stop, __ATOMIC_ACQUIRE))
            return NULL;
        if ((header & TYPE_MASK) != HSA_PACKET_TYPE_INVALID)
            return packet;
        emu_hsa_await(now, NAP_NS);
    }
}

static void *run_queue(void *argument)
{
    struct queue *queue = argument;
    uint8_t *packet, copy[PACKET_SIZE];

    for (uint64_t index = 0; (packet = next_packet(queue, index)) != NULL; index++) {
        memcpy(copy, packet, sizeof(copy));
        __atomic_store_n((uint16_t *)(void *)packet, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
        __atomic_store_n(&queue->amd.read_dispatch_id, index + 1, __ATOMIC_RELEASE);
        emu_hsa_changed();
        if (!(queue->is_intercepted ? pass(queue, copy, index) : process(queue, copy)))
            break;
    }
    return NULL;
}

/* ---- making ------------------------------------------------------------------------------------
 */

static void destroy(struct queue *queue)
{
    while (queue->interceptors) {
        struct interceptor *gone = queue->interceptors;
        queue->interceptors = gone->next;
        free(gone);
    }
    free(queue->amd.hsa_queue.base_address);
    free(queue);
}

static struct queue *create(uint32_t size, hsa_queue_type32_t type, uint32_t features)
{
    struct queue *queue =
        aligned_alloc(AMD_QUEUE_ALIGN_BYTES, (sizeof(*queue) + AMD_QUEUE_ALIGN_BYTES - 1) &
                                                 ~(size_t)(AMD_QUEUE_ALIGN_BYTES - 1));
    uint8_t *ring = aligned_alloc(PACKET_SIZE, (size_t)size * PACKET_SIZE);

    if (!queue || !ring) {
        free(queue);
        free(ring);
        return NULL;
    }
    memset(queue, 0, sizeof(*queue));
    memset(ring, 0, (size_t)size * PACKET_SIZE);
    for (uint32_t i = 0; i < size; i++)
        ring[i * PACKET_SIZE] = HSA_PACKET_TYPE_INVALID;
    queue->amd.hsa_queue.type = type;
    queue->amd.hsa_queue.features = features;
    queue->amd.hsa_queue.base_address = ring;
    queue->amd.hsa_queue.size = size;
    queue->amd.hsa_queue.id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
    return queue;
}

static hsa_status_t start(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                          hsa_queue_callback_t callback, void *data, bool is_intercepted,
                          hsa_queue_t **queue)
{
    struct queue *made;

    if (!emu_hsa_is_up())
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (agent.handle != emu_hsa_gpu().handle)
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!queue || !size || (size & (size - 1)) || size > 131072)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    made = create(size, type, HSA_QUEUE_FEATURE_KERNEL_DISPATCH | HSA_QUEUE_FEATURE_AGENT_DISPATCH);
    if (!made)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    made->callback = callback;
    made->data = data;
    made->is_intercepted = is_intercepted;
    if (hsa_signal_create(-1, 0, NULL, &made->amd.hsa_queue.doorbell_signal) !=
            HSA_STATUS_SUCCESS ||
        tsm_thread_create(&made->thread, run_queue, made) != 0) {
        hsa_signal_destroy(made->amd.hsa_queue.doorbell_signal);
        destroy(made);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    *queue = &made->amd.hsa_queue;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size,
                                             hsa_queue_type32_t type, hsa_queue_callback_t callback,
                                             void *data, uint32_t private_segment_size,
                                             uint32_t group_segment_size, hsa_queue_t **queue)
{
    return start(agent, size, type, callback, data, false, queue);
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_queue_intercept_create(
    hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, hsa_queue_callback_t callback,
    void *data, uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
    return start(agent, size, type, callback, data, true, queue);
}

/* Functions come one after the other, and stay. */
EMU_HSA_EXPORT hsa_status_t hsa_amd_queue_intercept_register(hsa_queue_t *queue,
                                                             hsa_intercept_handler_t callback,
                                                             void *user_data)
{
    struct interceptor *added;

    if (!queue || !queue_of(queue)->is_intercepted)
        return HSA_STATUS_ERROR_INVALID_QUEUE;
    added = callback ? malloc(sizeof(*added)) : NULL;
    if (!added)
        return callback ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *added = (struct interceptor){queue_of(queue)->interceptors, callback, user_data};
    __atomic_store_n(&queue_of(queue)->interceptors, added, __ATOMIC_RELEASE);
    return HSA_STATUS_SUCCESS;
}

/* It makes no queue for itself. */
EMU_HSA_EXPORT hsa_status_t hsa_amd_runtime_queue_create_register(hsa_queue_notifier_t callback,
                                                                  void *user_data)
{
    return callback ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_soft_queue_create(hsa_region_t region, uint32_t size,
                                                  hsa_queue_type32_t type, uint32_t features,
                                                  hsa_signal_t doorbell_signal, hsa_queue_t **queue)
{
    struct queue *made;

    if (!emu_hsa_is_up())
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (!queue || !size || (size & (size - 1)) || !doorbell_signal.handle)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    made = create(size, type, features);
    if (!made)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    made->is_soft = true;
    made->amd.hsa_queue.doorbell_signal = doorbell_signal;
    *queue = &made->amd.hsa_queue;
    return HSA_STATUS_SUCCESS;
}

static void stop(struct queue *queue)
{
    if (queue->is_soft || __atomic_exchange_n(&queue->stop, true, __ATOMIC_SEQ_CST))
        return;
    emu_hsa_changed();
    pthread_join(queue->thread, NULL);
}

EMU_HSA_EXPORT hsa_status_t hsa_queue_destroy(hsa_queue_t *queue)
{
    struct queue *gone = queue_of(queue);

    if (!queue)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    stop(gone);
    if (!gone->is_soft)
        hsa_signal_destroy(gone->amd.hsa_queue.doorbell_signal);
    destroy(gone);
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_queue_inactivate(hsa_queue_t *queue)
{
    if (!queue)
        return HSA_STATUS_ERROR_INVALID_QUEUE;
    stop(queue_of(queue));
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t *queue,
                                                       hsa_amd_queue_priority_t priority)
{
    return queue ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}

/* ---- indices -----------------------------------------------------------------------------------
 */

#define READ(queue)  (&queue_of(queue)->amd.read_dispatch_id)
#define WRITE(queue) (&queue_of(queue)->amd.write_dispatch_id)

#define LOADS(order)                                                                               \
    EMU_HSA_EXPORT uint64_t hsa_queue_load_read_index_##order(const hsa_queue_t *queue)            \
    {                                                                                              \
        return __atomic_load_n(READ(queue), __ATOMIC_SEQ_CST);                                     \
    }                                                                                              \
    EMU_HSA_EXPORT uint64_t hsa_queue_load_write_index_##order(const hsa_queue_t *queue)           \
    {                                                                                              \
        return __atomic_load_n(WRITE(queue), __ATOMIC_SEQ_CST);                                    \
    }
LOADS(scacquire)
LOADS(acquire)
LOADS(relaxed)

#define STORES(order)                                                                              \
    EMU_HSA_EXPORT void hsa_queue_store_read_index_##order(const hsa_queue_t *queue,               \
                                                           uint64_t value)                         \
    {                                                                                              \
        __atomic_store_n(READ(queue), value, __ATOMIC_SEQ_CST);                                    \
        emu_hsa_changed();                                                                         \
    }                                                                                              \
    EMU_HSA_EXPORT void hsa_queue_store_write_index_##order(const hsa_queue_t *queue,              \
                                                            uint64_t value)                        \
    {                                                                                              \
        __atomic_store_n(WRITE(queue), value, __ATOMIC_SEQ_CST);                                   \
    }
STORES(screlease)
STORES(release)
STORES(relaxed)

#define UPDATES(order)                                                                             \
    EMU_HSA_EXPORT uint64_t hsa_queue_add_write_index_##order(const hsa_queue_t *queue,            \
                                                              uint64_t value)                      \
    {                                                                                              \
        return __atomic_fetch_add(WRITE(queue), value, __ATOMIC_SEQ_CST);                          \
    }                                                                                              \
    EMU_HSA_EXPORT uint64_t hsa_queue_cas_write_index_##order(const hsa_queue_t *queue,            \
                                                              uint64_t expected, uint64_t value)   \
    {                                                                                              \
        uint64_t before = expected;                                                                \
        __atomic_compare_exchange_n(WRITE(queue), &before, value, false, __ATOMIC_SEQ_CST,         \
                                    __ATOMIC_SEQ_CST);                                             \
        return before;                                                                             \
    }
UPDATES(acq_rel)
UPDATES(acquire)
UPDATES(relaxed)
UPDATES(release)
UPDATES(scacq_screl)
UPDATES(scacquire)
UPDATES(screlease)
