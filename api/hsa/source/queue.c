/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues: source.h says how packets come to be recorded. A packet has the same index in the
 * program's ring and in the runtime's, which are of one size; so there is room in one when there is
 * room in the other, and the runtime's read index is true for both. But for checkpoints: to know
 * that a queue is idle, a barrier of ours is put into the runtime's, and from there on indices
 * there are one higher. And but for queues of tools, whose functions may make any number of packets
 * of one: these have indices of their own.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "api/hsa/source/queue.h"
#include "base/thread.h"
#include "capture/call/streams.h"
#include "capture/lock.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define PACKET_SIZE 64u
#define TYPE_MASK   ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1)

static uint32_t pumping; /* there is a thread that runs pump() */

void hsa_queues_forked(void)
{
    pumping = 0;
}

/* The runtime's own queue behind the program's. */
static hsa_queue_t *behind(const hsa_queue_t *queue)
{
    const struct hsa_queue_state *state = hsa_queue_by_pointer(queue);

    return state ? state->real : (hsa_queue_t *)(uintptr_t)queue;
}

/* ---- indices -----------------------------------------------------------------------------------
 */

#define BARRIER_BITS 44u
#define BARRIER_MAX  (1u << 20) /* of ours in a queue: then it counts as never idle */

static uint64_t barriers_of(const struct hsa_queue_state *queue)
{
    return __atomic_load_n(&queue->barriers, __ATOMIC_ACQUIRE);
}

/* Returns the index in the runtime's ring of the program's packet `index`: after all barriers. A
 * tool's queue is asked for its next one only. */
static uint64_t real_index(const struct hsa_queue_state *queue, uint64_t index)
{
    return queue->is_intercepted ? queue->real_next : index + (barriers_of(queue) >> BARRIER_BITS);
}

/* A read index of the runtime's as one of the program's. Barriers but the newest have been read. */
static uint64_t given_index(const struct hsa_queue_state *queue, uint64_t real)
{
    uint64_t barriers = barriers_of(queue), count_there = barriers >> BARRIER_BITS;
    uint64_t newest = barriers & (((uint64_t)1 << BARRIER_BITS) - 1);

    return real - count_there + (count_there && real <= newest);
}

/* ---- packets -----------------------------------------------------------------------------------
 */

static uint32_t *place(const hsa_queue_t *queue, uint64_t index)
{
    return (uint32_t *)(void *)((uint8_t *)queue->base_address +
                                (index & (queue->size - 1)) * PACKET_SIZE);
}

/* Only a barrier of ours can be in the way, and waits for what was sent before. */
static void await_room(const hsa_queue_t *real_queue, uint64_t index)
{
    while (index - hsa_runtime.hsa_queue_load_read_index_scacquire(real_queue) >= real_queue->size)
        sched_yield();
}

static void ring_real(const hsa_queue_t *real_queue, uint64_t next)
{
    hsa_runtime.hsa_queue_store_write_index_screlease(real_queue, next);
    hsa_runtime.hsa_signal_store_screlease(real_queue->doorbell_signal,
                                           (hsa_signal_value_t)(next - 1));
}

/* Room in the runtime's ring for the program's next packet. A program that takes places whose
 * header is INVALID for free ones does not look at the read index. */
static bool has_room(struct hsa_queue_state *queue)
{
    uint64_t index = real_index(queue, queue->next);

    if (index >= queue->room)
        queue->room =
            hsa_runtime.hsa_queue_load_read_index_scacquire(queue->real) + queue->real->size;
    return index < queue->room;
}

/* The packet is a copy: its place in the program's ring is free. */
static void send_packet(struct hsa_queue_state *queue, const struct tsm_origin *origin,
                        const uint32_t *packet)
{
    uint64_t index = real_index(queue, queue->next);
    uint32_t *to = place(queue->real, index);
    const uint64_t before = queue->stream->position;
    hsa_signal_t signal = {0};

    hsa_packet_record(queue->stream, queue->is_software, origin, packet);
    if (queue->stream->position != before)
        signal = hsa_gpu_time_signal(queue->stream, packet);
    if (queue->barrier_waits || queue->is_intercepted)
        await_room(queue->real, index);
    memcpy(to + 1, packet + 1, PACKET_SIZE - sizeof(*to));
    if (signal.handle)
        memcpy((uint8_t *)to + offsetof(hsa_kernel_dispatch_packet_t, completion_signal), &signal,
               sizeof(signal));
    __atomic_store_n(to, packet[0], __ATOMIC_RELEASE);
    queue->real_next = index + 1;
}

/* Sends the packets that a tool's functions made of one packet, and rings at once: they may be more
 * than there is room. */
static void send_made(const struct hsa_sender *sender, const void *packets, uint64_t packet_count)
{
    tsm_hostmem_publish();
    for (uint64_t i = 0; i < packet_count; i++) {
        send_packet(sender->queue, sender->origin,
                    (const uint32_t *)packets + i * (PACKET_SIZE / sizeof(uint32_t)));
        ring_real(sender->queue->real, sender->queue->real_next);
    }
}

static bool is_ready(const struct hsa_queue_state *queue)
{
    return (__atomic_load_n(place(queue->given, queue->next), __ATOMIC_ACQUIRE) & TYPE_MASK) !=
           HSA_PACKET_TYPE_INVALID;
}

/* All packets that are ready, up to the first that is not, or has no room. */
static void take_packets(struct hsa_queue_state *queue, const struct tsm_origin *origin)
{
    const struct hsa_sender sender = {send_made, queue, origin};
    uint32_t packet[PACKET_SIZE / sizeof(uint32_t)];

    for (; is_ready(queue); queue->next++) {
        uint32_t *from = place(queue->given, queue->next);

        if (!queue->is_intercepted && !has_room(queue))
            break;
        packet[0] = __atomic_load_n(from, __ATOMIC_ACQUIRE);
        memcpy(packet + 1, from + 1, PACKET_SIZE - sizeof(*packet));
        __atomic_store_n(from, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
        if (!queue->is_intercepted) {
            send_packet(queue, origin, packet);
            continue;
        }
        hsa_intercept_pass(queue, queue->interceptors, packet, queue->next, &sender);
        hsa_runtime.hsa_queue_store_read_index_screlease(queue->given, queue->next + 1);
    }
}

/* Are there packets that were rung for, but have no room, or are not ready? */
static bool is_left(const struct hsa_queue_state *queue)
{
    if (is_ready(queue))
        return true;
    return queue->next < queue->rung &&
           queue->next < hsa_runtime.hsa_queue_load_write_index_relaxed(queue->given);
}

/* The lock is held. */
static void take(struct hsa_queue_state *queue, const struct tsm_origin *origin)
{
    uint64_t first = queue->next;

    take_packets(queue, origin);
    if (queue->next != first && !queue->is_intercepted)
        ring_real(queue->real, queue->real_next);
    queue->is_behind = is_left(queue);
}

/* ---- packets that are left ---------------------------------------------------------------------
 *
 * A GPU goes on by itself when there is room, or when a packet that was rung for becomes ready. So
 * does a thread of ours, which is there as long as such packets are.
 */

#define PUMP_NAP_NS  20000
#define PUMP_NAP_MAX 1000000

/* *left: there will be more to do. True: something was done. */
__attribute__((noinline)) static bool pump_queue(struct hsa_queue_state *queue, bool *left)
{
    const struct tsm_origin origin = TSM_ORIGIN_HERE;
    bool done = false;

    tsm_lock_take(&queue->lock);
    if (queue->is_behind && !queue->is_gone) {
        uint64_t first = queue->next;
        if (is_ready(queue) && has_room(queue)) {
            tsm_hostmem_publish();
            take(queue, &origin);
        } else {
            queue->is_behind = is_left(queue);
        }
        done = queue->next != first;
        *left |= queue->is_behind;
    }
    tsm_lock_give(&queue->lock);
    return done;
}

static bool pump_all(bool *left)
{
    const uint32_t there = hsa_queue_list_count();
    bool done = false;

    *left = false;
    for (uint32_t i = 0; i < there; i++) {
        struct hsa_queue_state *queue = hsa_queue_list_at(i);
        if (queue && __atomic_load_n(&queue->is_behind, __ATOMIC_ACQUIRE))
            done |= pump_queue(queue, left);
    }
    return done;
}

static void *pump(void *unused)
{
    struct timespec nap = {0, PUMP_NAP_NS};
    bool left = true;

    for (;;) {
        if (pump_all(&left))
            nap.tv_nsec = PUMP_NAP_NS;
        if (!left)
            __atomic_store_n(&pumping, 0, __ATOMIC_SEQ_CST);
        /* One that fell behind just before that has seen the thread. */
        if (!left &&
            (!(pump_all(&left), left) || __atomic_exchange_n(&pumping, 1, __ATOMIC_SEQ_CST)))
            return NULL;
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec < PUMP_NAP_MAX ? nap.tv_nsec * 2 : PUMP_NAP_MAX;
    }
}

static void start_pump(void)
{
    pthread_t thread;

    if (__atomic_exchange_n(&pumping, 1, __ATOMIC_SEQ_CST))
        return;
    if (tsm_thread_create_blocked(&thread, pump, NULL) == 0) {
        pthread_detach(thread);
    } else {
        __atomic_store_n(&pumping, 0, __ATOMIC_SEQ_CST);
        tsm_session_unmodelled("packets for which there was no room", true);
    }
}

/* From a tool's function: the packet is taken when that has returned. */
__attribute__((noinline)) void hsa_queue_ring(struct hsa_queue_state *queue,
                                              hsa_signal_value_t value)
{
    const struct tsm_origin origin = TSM_ORIGIN_HERE;
    bool is_behind;

    if (queue->is_intercepted && hsa_intercept_is_passing(queue))
        return;
    hsa_pointers_look(false);
    /* The program may have learnt from memory what is complete. */
    if (hsa_uses_any() || tsm_readbacks_pending())
        hsa_look_around();
    tsm_hostmem_publish();
    tsm_lock_take(&queue->lock);
    if (value >= 0 && (uint64_t)value + 1 > queue->rung)
        queue->rung = (uint64_t)value + 1;
    take(queue, &origin);
    is_behind = queue->is_behind;
    tsm_lock_give(&queue->lock);
    if (__builtin_expect(is_behind, 0))
        start_pump();
    tsm_checkpoint_point(false);
}

/* ---- idle? -------------------------------------------------------------------------------------
 */

/* The ring is empty: a barrier packet that ends when all before it has ended. */
static bool send_barrier(struct hsa_queue_state *queue)
{
    const uint32_t head = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
                          1u << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    uint64_t index = real_index(queue, queue->next), number = barriers_of(queue) >> BARRIER_BITS;
    hsa_barrier_and_packet_t packet = {0};
    uint32_t *to = place(queue->real, index);

    if (number + 1 >= BARRIER_MAX ||
        (!queue->fence.handle &&
         hsa_runtime.hsa_signal_create(1, 0, NULL, &queue->fence) != HSA_STATUS_SUCCESS))
        return false;
    hsa_runtime.hsa_signal_store_screlease(queue->fence, 1);
    packet.completion_signal = queue->fence;
    memcpy(to + 1, (const uint32_t *)(const void *)&packet + 1, PACKET_SIZE - sizeof(*to));
    __atomic_store_n(&queue->barriers, (number + 1) << BARRIER_BITS | index, __ATOMIC_RELEASE);
    queue->barrier_next = queue->next;
    queue->barrier_waits = true;
    queue->real_next = index + 1;
    __atomic_store_n(to, head, __ATOMIC_RELEASE);
    ring_real(queue->real, index + 1);
    return true;
}

static bool await_barrier(struct hsa_queue_state *queue, uint64_t until_ns)
{
    while (queue->barrier_waits && hsa_runtime.hsa_signal_load_scacquire(queue->fence) > 0)
        if (!tsm_nap_until(until_ns))
            return false;
    queue->barrier_waits = false;
    return true;
}

/* The lock is held. A barrier that is still to end when time is over is waited for the next time.
 */
static bool settle(struct hsa_queue_state *queue, uint64_t until_ns)
{
    if (!await_barrier(queue, until_ns))
        return false;
    if (queue->barrier_next == queue->next)
        return true; /* nothing came since */
    while (hsa_runtime.hsa_queue_load_read_index_scacquire(queue->real) !=
           real_index(queue, queue->next))
        if (!tsm_nap_until(until_ns))
            return false;
    return send_barrier(queue) && await_barrier(queue, until_ns);
}

/* A thread that is just ringing holds the lock and may itself be held back. */
bool hsa_queues_quiet(uint64_t until_ns)
{
    const uint32_t there = hsa_queue_list_count();
    bool quiet = true;

    for (uint32_t i = 0; i < there && quiet; i++) {
        struct hsa_queue_state *queue = hsa_queue_list_at(i);
        if (!queue || !queue->given)
            continue;
        quiet = tsm_lock_try(&queue->lock);
        if (!quiet)
            break;
        quiet = settle(queue, until_ns);
        tsm_lock_give(&queue->lock);
    }
    return quiet;
}

/* ---- making ------------------------------------------------------------------------------------
 */

/* The program knows its own queue, not the one that has failed. */
static void on_error(hsa_status_t status, hsa_queue_t *source, void *data)
{
    const struct hsa_queue_state *queue = data;

    if (queue->callback)
        queue->callback(status, queue->given ? queue->given : source, queue->data);
}

/* A soft queue like the runtime's. */
static hsa_queue_t *make_soft(const hsa_queue_t *like)
{
    hsa_queue_t *queue = NULL;
    hsa_signal_t doorbell;

    if (hsa_runtime.hsa_signal_create(-1, 0, NULL, &doorbell) != HSA_STATUS_SUCCESS)
        return NULL;
    if (hsa_runtime.hsa_soft_queue_create(hsa_queue_region(), like->size, HSA_QUEUE_TYPE_MULTI,
                                          like->features, doorbell, &queue) != HSA_STATUS_SUCCESS) {
        hsa_runtime.hsa_signal_destroy(doorbell);
        return NULL;
    }
    queue->type = like->type;
    for (uint32_t i = 0; i < queue->size; i++)
        *place(queue, i) = HSA_PACKET_TYPE_INVALID;
    return queue;
}

/* Intercepts a queue. Returns false if the program gets the runtime's queue, whose packets are not
 * seen. */
static bool intercept(struct hsa_queue_state *queue, hsa_queue_t *real_queue)
{
    queue->real = real_queue;
    queue->stream = tsm_stream_create(SBT_API_HSA);
    queue->given = make_soft(real_queue);
    if (queue->given && !hsa_queue_list_add(queue)) {
        hsa_signal_t doorbell = queue->given->doorbell_signal;
        hsa_runtime.hsa_queue_destroy(queue->given);
        hsa_runtime.hsa_signal_destroy(doorbell);
        queue->given = NULL;
    }
    if (!queue->given) {
        tsm_session_unmodelled("a queue whose packets cannot be seen", true);
        return false;
    }
    tsm_handle_add(SBT_API_HSA, HSA_OBJECT_DOORBELL, queue->given->doorbell_signal.handle)->user =
        queue;
    return true;
}

static void record_created(struct tsm_call *call, hsa_agent_t agent, uint32_t size,
                           hsa_queue_type32_t type, uint32_t private_size, uint32_t group_size,
                           struct hsa_queue_state *queue)
{
    struct tsm_handle *handle = NULL;

    if (queue) {
        handle = tsm_handle_add(SBT_API_HSA, HSA_OBJECT_QUEUE, HSA_SLOT(queue->given));
        handle->user = queue;
    }
    tsm_call_slot(call, hsa_id(HSA_OBJECT_AGENT, agent.handle));
    tsm_call_slot(call, size);
    tsm_call_slot(call, type);
    tsm_call_slot(call, queue ? HSA_SLOT(queue->callback) : 0);
    tsm_call_slot(call, queue ? HSA_SLOT(queue->data) : 0);
    tsm_call_slot(call, private_size);
    tsm_call_slot(call, group_size);
    tsm_call_slot(call, handle ? handle->id : 0);
    tsm_call_slot(call, queue ? tsm_stream_number(queue->stream) : SBT_STREAM_NONE);
}

/* The call has begun. */
static hsa_status_t make(struct tsm_call *call, struct hsa_queue_state *state, hsa_agent_t agent,
                         uint32_t size, hsa_queue_type32_t type, uint32_t private_size,
                         uint32_t group_size, hsa_queue_pointer_t *queue)
{
    hsa_queue_t *made = NULL;
    hsa_status_t status;

    state->is_software = hsa_agent_is_software(agent);
    status = hsa_runtime.hsa_queue_create(agent, size, type, on_error, state, private_size,
                                          group_size, &made);
    *queue = made;
    if (status == HSA_STATUS_SUCCESS && intercept(state, made))
        *queue = state->given;
    if (status == HSA_STATUS_SUCCESS)
        hsa_gpu_time_begin(made, state->stream, agent);
    tsm_call_returned(call, status, status != HSA_STATUS_SUCCESS);
    record_created(call, agent, size, type, private_size, group_size, state->given ? state : NULL);
    tsm_call_commit(call);
    return status;
}

hsa_status_t hook_hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                   hsa_queue_callback_t callback, void *data,
                                   uint32_t private_segment_size, uint32_t group_segment_size,
                                   hsa_queue_pointer_t *queue)
{
    struct hsa_queue_state *state = queue ? hsa_keep(sizeof(*state)) : NULL;
    struct tsm_call call;

    if (!state || !tsm_call_begin(&call, TYPE_hsa_queue_create))
        return hsa_runtime.hsa_queue_create(agent, size, type, callback, data, private_segment_size,
                                            group_segment_size, queue);
    state->callback = callback;
    state->data = data;
    return make(&call, state, agent, size, type, private_segment_size, group_segment_size, queue);
}

hsa_status_t hook_hsa_amd_queue_intercept_create(hsa_agent_t agent, uint32_t size,
                                                 hsa_queue_type32_t type,
                                                 hsa_queue_callback_t callback, void *data,
                                                 uint32_t private_segment_size,
                                                 uint32_t group_segment_size,
                                                 hsa_queue_pointer_t *queue)
{
    struct hsa_queue_state *state = queue ? hsa_keep(sizeof(*state)) : NULL;
    struct tsm_call call;

    if (!state || !tsm_call_begin(&call, TYPE_hsa_amd_queue_intercept_create))
        return hsa_runtime.hsa_amd_queue_intercept_create(
            agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
    state->callback = callback;
    state->data = data;
    state->is_intercepted = true;
    return make(&call, state, agent, size, type, private_segment_size, group_segment_size, queue);
}

/* Adds a function that packets pass through. Returns true on success. */
static bool add_interceptor(struct hsa_queue_state *state, hsa_intercept_handler_t handler,
                            void *data)
{
    struct hsa_interceptor *added =
        state->is_intercepted && handler ? hsa_keep(sizeof(*added)) : NULL;

    if (!added)
        return false;
    tsm_lock_take(&state->lock);
    *added = (struct hsa_interceptor){state->interceptors, handler, data};
    state->interceptors = added;
    tsm_lock_give(&state->lock);
    return true;
}

hsa_status_t hook_hsa_amd_queue_intercept_register(hsa_queue_pointer_t queue,
                                                   hsa_intercept_handler_t callback,
                                                   void *user_data)
{
    struct hsa_queue_state *state = hsa_queue_by_pointer(queue);
    hsa_status_t status = HSA_STATUS_ERROR_INVALID_QUEUE;
    struct tsm_call call;

    if (!state)
        return hsa_runtime.hsa_amd_queue_intercept_register(queue, callback, user_data);
    if (add_interceptor(state, callback, user_data))
        status = HSA_STATUS_SUCCESS;
    if (!tsm_call_begin(&call, TYPE_hsa_amd_queue_intercept_register))
        return status;
    tsm_call_returned(&call, status, status != HSA_STATUS_SUCCESS);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_QUEUE, HSA_SLOT(queue)));
    tsm_call_slot(&call, HSA_SLOT(callback));
    tsm_call_slot(&call, HSA_SLOT(user_data));
    tsm_call_commit(&call);
    return status;
}

/* Packets that are not known to be complete: some may never be. */
static uint64_t in_flight(const struct tsm_stream *stream)
{
    uint64_t sent = __atomic_load_n(&stream->position, __ATOMIC_ACQUIRE);
    uint64_t done = __atomic_load_n(&stream->completed, __ATOMIC_ACQUIRE);

    return sent > done ? sent - done : 0;
}

hsa_status_t hook_hsa_queue_destroy(hsa_queue_pointer_t queue)
{
    struct hsa_queue_state *state = hsa_queue_by_pointer(queue);
    struct tsm_call call;
    hsa_signal_t doorbell;
    hsa_status_t status;
    bool begun;

    if (!state) {
        hsa_soft_queue_destroyed(queue);
        return hsa_runtime.hsa_queue_destroy(queue);
    }
    hsa_look_around();
    hsa_gpu_time_collect();
    begun = tsm_call_begin(&call, TYPE_hsa_queue_destroy);
    doorbell = queue->doorbell_signal;
    tsm_handle_remove(SBT_API_HSA, HSA_OBJECT_DOORBELL, doorbell.handle);
    if (begun) {
        tsm_call_slot(&call, hsa_id_destroyed(HSA_OBJECT_QUEUE, HSA_SLOT(queue)));
        tsm_call_slot(&call, tsm_stream_number(state->stream));
        tsm_call_slot(&call, in_flight(state->stream));
    }
    tsm_lock_take(&state->lock);
    state->is_gone = true;
    tsm_lock_give(&state->lock);
    hsa_queue_list_remove(state);
    status = hsa_runtime.hsa_queue_destroy(state->real);
    state->given = NULL;
    if (state->fence.handle)
        hsa_runtime.hsa_signal_destroy(state->fence);
    hsa_runtime.hsa_queue_destroy(queue);
    hsa_runtime.hsa_signal_destroy(doorbell);
    if (begun) {
        tsm_call_returned(&call, status, status != HSA_STATUS_SUCCESS);
        tsm_call_commit(&call);
    }
    hsa_uses_queue_destroyed(state->stream);
    hsa_memory_results();
    return status;
}

/* ---- what is asked of a queue and means the runtime's own --------------------------------------
 */

hsa_status_t hook_hsa_queue_inactivate(hsa_queue_pointer_t queue)
{
    return hsa_runtime.hsa_queue_inactivate(behind(queue));
}

#define READ_INDEX(order)                                                                          \
    uint64_t hook_hsa_queue_load_read_index_##order(hsa_queue_const_t queue)                       \
    {                                                                                              \
        const struct hsa_queue_state *state = hsa_queue_by_pointer(queue);                         \
        if (!state || state->is_intercepted)                                                       \
            return hsa_runtime.hsa_queue_load_read_index_##order(queue);                           \
        return given_index(state, hsa_runtime.hsa_queue_load_read_index_##order(state->real));     \
    }
READ_INDEX(scacquire)
READ_INDEX(acquire)
READ_INDEX(relaxed)

hsa_status_t hook_hsa_amd_queue_cu_set_mask(hsa_queue_const_t queue, uint32_t num_cu_mask_count,
                                            const uint32_t *cu_mask)
{
    return hsa_runtime.hsa_amd_queue_cu_set_mask(behind(queue), num_cu_mask_count, cu_mask);
}

hsa_status_t hook_hsa_amd_queue_cu_get_mask(hsa_queue_const_t queue, uint32_t num_cu_mask_count,
                                            uint32_t *cu_mask)
{
    return hsa_runtime.hsa_amd_queue_cu_get_mask(behind(queue), num_cu_mask_count, cu_mask);
}

hsa_status_t hook_hsa_amd_queue_set_priority(hsa_queue_pointer_t queue,
                                             hsa_amd_queue_priority_t priority)
{
    return hsa_runtime.hsa_amd_queue_set_priority(behind(queue), priority);
}

hsa_status_t hook_hsa_amd_queue_get_info(hsa_queue_pointer_t queue, uint32_t attribute, void *value)
{
    return hsa_runtime.hsa_amd_queue_get_info(behind(queue), attribute, value);
}

hsa_status_t hook_hsa_amd_profiling_set_profiler_enabled(hsa_queue_pointer_t queue, int enable)
{
    return hsa_runtime.hsa_amd_profiling_set_profiler_enabled(behind(queue), enable);
}
