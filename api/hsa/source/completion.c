/* SPDX-License-Identifier: Apache-2.0
 *
 * Completion: finds out which commands the program may know to be complete, by their signals
 * (count.c), and tells all who follow a command.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/source/encode.h"
#include "capture/lock.h"

#include <string.h>

/* Serialises checks of what the device wrote: the thread with the news checks, and another one must
 * not go on and write there meanwhile. */
static struct tsm_lock looking;
static uint32_t lookers;

void hsa_await_lookers(void)
{
    if (__builtin_expect(!__atomic_load_n(&lookers, __ATOMIC_ACQUIRE), 1) || tsm_inside())
        return;
    tsm_lock_take(&looking);
    tsm_lock_give(&looking);
}

/* The recorder has seen it, where the program may have by a way of its own. */
static void record_load(hsa_signal_t signal, hsa_signal_value_t value)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, TYPE_hsa_signal_load_scacquire))
        return;
    tsm_call_returned(&call, value, false);
    tsm_call_slot(&call, hsa_signal_id(signal));
    tsm_call_slot(&call, (uint64_t)value);
    tsm_call_commit(&call);
}

/* Tells all who follow a command that it is complete. */
static void complete(struct hsa_landing *landing)
{
    struct tsm_stream *stream = landing->stream;

    hsa_use_landed(stream, landing->position, landing->in_order, landing->is_late);
    if (landing->sent_ns)
        hsa_gpu_time_end(stream, landing->position, landing->signal, landing->is_copy,
                         landing->sent_ns);
    if (landing->is_late)
        tsm_readback_lost(stream, landing->position);
    tsm_readback_landed(stream, landing->position);
    hsa_count_landed(landing);
}

static void complete_all(struct hsa_landing *landings)
{
    while (landings) {
        struct hsa_landing *next = landings->next;
        complete(landings);
        landings = next;
    }
}

void hsa_landed(struct tsm_stream *stream, uint64_t position)
{
    struct hsa_landing *landing = hsa_count_landing(stream, position);

    if (landing)
        complete(landing);
}

/* Publishes completed commands. Returns false if all of them were known to be complete. */
static bool settle(struct hsa_landing *seen, struct hsa_landing *looked)
{
    if (!seen && !looked)
        return false;
    hsa_count_tell(looked, record_load);
    complete_all(seen);
    complete_all(looked);
    tsm_readbacks_write();
    hsa_memory_results();
    hsa_checksum_sync();
    return true;
}

static void begin_looking(void)
{
    __atomic_fetch_add(&lookers, 1, __ATOMIC_ACQ_REL);
    tsm_lock_take(&looking);
}

static void end_looking(void)
{
    tsm_lock_give(&looking);
    __atomic_fetch_sub(&lookers, 1, __ATOMIC_ACQ_REL);
}

void hsa_seen(hsa_signal_t signal, hsa_signal_value_t value)
{
    struct hsa_landing *seen;
    bool news;

    if (!hsa_count_any() || tsm_inside()) {
        hsa_await_lookers();
        return;
    }
    begin_looking();
    seen = hsa_count_seen(signal, value);
    news = settle(seen, hsa_count_look(NULL));
    end_looking();
    hsa_gpu_time_collect();
    if (news)
        tsm_checkpoint_point(true);
}

void hsa_take_note(struct hsa_landing *seen, struct hsa_landing *looked)
{
    begin_looking();
    settle(seen, looked);
    end_looking();
}

static void look(const hsa_signal_t *only)
{
    if (!hsa_count_any() || tsm_inside()) {
        hsa_await_lookers();
        return;
    }
    begin_looking();
    settle(NULL, hsa_count_look(only));
    end_looking();
}

void hsa_look_at(hsa_signal_t signal)
{
    look(&signal);
}

void hsa_look_around(void)
{
    look(NULL);
}

void hsa_completion_forked(void)
{
    memset(&looking, 0, sizeof(looking));
    lookers = 0;
}
