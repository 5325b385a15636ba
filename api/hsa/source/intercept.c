/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues whose packets pass through functions of a tool (hsa_amd_queue_intercept_register). AMD's
 * runtime calls them on the thread that rings, one packet at a time, the newest function first;
 * each gives what it likes to the next by a function that has no argument to say for whom. Here it
 * is the same, so that what is recorded is what comes out, and the thread tells for whom.
 */
#include "api/hsa/source/source.h"

#include "capture/lock.h"

#include <pthread.h>

/* A packet on its way, on the stack of the thread that rings. */
struct passage {
    struct passage *next;
    pthread_t thread;
    const struct hsa_queue_state *queue;
    const struct hsa_interceptor *at; /* the function that is being called; NULL: after the last */
    uint64_t index;
    const struct hsa_sender *sender;
};

static struct tsm_lock lock;
static struct passage *passages;

static struct passage *own(void)
{
    pthread_t self = pthread_self();
    struct passage *passage;

    tsm_lock_take(&lock);
    for (passage = passages; passage && !pthread_equal(passage->thread, self);)
        passage = passage->next;
    tsm_lock_give(&lock);
    return passage;
}

bool hsa_intercept_is_passing(const struct hsa_queue_state *queue)
{
    const struct passage *passage = own();

    return passage && passage->queue == queue;
}

static void writer(const void *packets, uint64_t count);

static void give(struct passage *passage, const void *packets, uint64_t count)
{
    const struct hsa_interceptor *at = passage->at;

    if (!at)
        passage->sender->send(passage->sender, packets, count);
    else
        at->handler(packets, count, passage->index, at->data, writer);
}

static void writer(const void *packets, uint64_t count)
{
    struct passage *passage = own();
    const struct hsa_interceptor *at = passage ? passage->at : NULL;

    if (!at || !packets)
        return; /* from outside of a function of ours */
    passage->at = at->next;
    give(passage, packets, count);
    passage->at = at;
}

void hsa_intercept_pass(const struct hsa_queue_state *queue, const struct hsa_interceptor *newest,
                        const void *packet, uint64_t index, const struct hsa_sender *sender)
{
    struct passage passage = {NULL, pthread_self(), queue, newest, index, sender};
    struct passage **link = &passages;

    tsm_lock_take(&lock);
    passage.next = passages;
    passages = &passage;
    tsm_lock_give(&lock);
    give(&passage, packet, 1);
    tsm_lock_take(&lock);
    while (*link != &passage)
        link = &(*link)->next;
    *link = passage.next;
    tsm_lock_give(&lock);
}

void hsa_intercept_forked(void)
{
    lock = (struct tsm_lock){0};
    passages = NULL;
}
