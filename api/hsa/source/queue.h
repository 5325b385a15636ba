/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a queue (queue.c), and the list of all (queue_list.c). Any thread.
 */
#ifndef API_HSA_SOURCE_QUEUE_H
#define API_HSA_SOURCE_QUEUE_H

#include "api/hsa/source/encode.h"
#include "api/hsa/source/source.h"
#include "capture/lock.h"

struct hsa_queue_state {
    struct tsm_lock lock;
    hsa_queue_t *given; /* the program's: a soft queue; NULL: destroyed */
    hsa_queue_t *real;
    struct tsm_stream *stream;
    uint64_t next; /* index of the first packet that was not passed on */
    /* Barriers of ours in `real`, how many << 44 | index there of the newest: changed with the
     * lock. */
    uint64_t barriers;
    uint64_t barrier_next; /* `next` when the newest was put there */
    bool barrier_waits;    /* its end was not seen */
    bool is_software;      /* hsa_agent_is_software() */
    uint64_t rung;         /* packets before that index were rung for */
    uint64_t room;         /* the runtime's ring has room before that index there */
    bool is_behind;        /* packets that were rung for could not be taken: see pump() */
    bool is_gone;          /* being destroyed */
    hsa_agent_t agent;
    /* State of hsa_amd_queue_intercept_create(): functions, the newest first; the runtime's next
     * index. */
    bool is_intercepted;
    const struct hsa_interceptor *interceptors;
    uint64_t real_next;
    hsa_signal_t fence; /* what it counts down */
    hsa_queue_callback_t callback;
    void *data;
};

/* Adds the queue to the list. Returns false if there are too many. */
bool hsa_queue_list_add(struct hsa_queue_state *queue);
void hsa_queue_list_remove(struct hsa_queue_state *queue);

/* Returns how many places of the list were ever taken. */
uint32_t hsa_queue_list_count(void);

/* Returns the queue at a place below that count. NULL: the place is free. */
struct hsa_queue_state *hsa_queue_list_at(uint32_t at);

/* Returns the queue that the program has, or that of the doorbell if `queue` is NULL, after the
 * recording has ended: the table of handles ends with it, of which the disk may be full; what is
 * sent to these queues goes to the runtime for as long as they live. */
struct hsa_queue_state *hsa_queue_unrecorded(const hsa_queue_t *queue, hsa_signal_t doorbell);

/* Returns the state of the program's queue, NULL: none of ours. */
static inline struct hsa_queue_state *hsa_queue_by_pointer(const hsa_queue_t *queue)
{
    const struct tsm_handle *handle = queue ? hsa_find(HSA_OBJECT_QUEUE, HSA_SLOT(queue)) : NULL;

    if (handle || !queue)
        return handle ? handle->user : NULL;
    return hsa_queue_unrecorded(queue, (hsa_signal_t){0});
}

#endif
