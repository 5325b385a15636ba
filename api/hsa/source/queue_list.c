/* SPDX-License-Identifier: Apache-2.0
 *
 * The queues that the program has: finds one, and says whether all are idle.
 */
#include "api/hsa/source/queue.h"

#include "capture/call/streams.h"
#include "capture/session.h"

#include <string.h>

#define QUEUE_MAX 4096u

static struct hsa_queue_state *all[QUEUE_MAX]; /* NULL: a free place */
static uint32_t count;                         /* places that were ever taken */

bool hsa_queue_list_add(struct hsa_queue_state *queue)
{
    for (uint32_t i = 0; i < QUEUE_MAX; i++) {
        struct hsa_queue_state *none = NULL;
        uint32_t there = __atomic_load_n(&count, __ATOMIC_RELAXED);

        if (!__atomic_compare_exchange_n(&all[i], &none, queue, false, __ATOMIC_RELEASE,
                                         __ATOMIC_RELAXED))
            continue;
        while (there <= i && !__atomic_compare_exchange_n(&count, &there, i + 1, false,
                                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
        return true;
    }
    return false;
}

void hsa_queue_list_remove(struct hsa_queue_state *queue)
{
    uint32_t there = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < there; i++) {
        struct hsa_queue_state *same = queue;
        __atomic_compare_exchange_n(&all[i], &same, NULL, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
    }
}

struct hsa_queue_state *hsa_queue_unrecorded(const hsa_queue_t *queue, hsa_signal_t doorbell)
{
    uint32_t there = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < there && !tsm_session_of_call(); i++) {
        struct hsa_queue_state *state = __atomic_load_n(&all[i], __ATOMIC_ACQUIRE);
        const hsa_queue_t *given = state ? __atomic_load_n(&state->given, __ATOMIC_ACQUIRE) : NULL;
        if (given && (queue ? given == queue : given->doorbell_signal.handle == doorbell.handle))
            return state;
    }
    return NULL;
}

struct hsa_queue_state *hsa_queue_by_doorbell(hsa_signal_t signal)
{
    const struct tsm_handle *handle = hsa_find(HSA_OBJECT_DOORBELL, signal.handle);

    return handle ? handle->user : hsa_queue_unrecorded(NULL, signal);
}

bool hsa_queues_idle(void)
{
    uint32_t there = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < there; i++) {
        const struct hsa_queue_state *queue = __atomic_load_n(&all[i], __ATOMIC_ACQUIRE);
        const struct tsm_stream *stream = queue && queue->given ? queue->stream : NULL;
        if (stream && __atomic_load_n(&stream->completed, __ATOMIC_ACQUIRE) <
                          __atomic_load_n(&stream->position, __ATOMIC_ACQUIRE))
            return false;
    }
    return true;
}

void hsa_queue_list_forked(void)
{
    memset(all, 0, sizeof(all));
    count = 0;
}

uint32_t hsa_queue_list_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

struct hsa_queue_state *hsa_queue_list_at(uint32_t at)
{
    return __atomic_load_n(&all[at], __ATOMIC_ACQUIRE);
}
