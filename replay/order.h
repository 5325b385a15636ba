/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what must be submitted before a command: the order of its own stream (kept by its worker),
 * events, and the default streams. Main thread only.
 *
 * Which streams join the legacy default stream is for the API to know. Here every stream that no
 * record made counts as a default stream, and what is submitted to one is submitted in the recorded
 * order with respect to all others: an order of submission, which costs little and which is never
 * wrong. The same holds between streams of different APIs, which may share memory and semaphores.
 */
#ifndef REPLAY_ORDER_H
#define REPLAY_ORDER_H

#include "analysis/places.h"
#include "base/map.h"
#include "replay/worker.h"

/* One stream of the trace. */
struct tsm_track {
    struct tsm_worker *worker;  /* NULL: nothing was submitted yet */
    uint64_t first_position;    /* the lowest one of commands submitted; 0: there is none */
    uint64_t position;          /* of the last command submitted */
    uint64_t complete_position; /* commands up to here are known to be complete */
    bool may_stay;              /* a later one may wait for something that is not sent yet */
    bool is_made;               /* by a record; else it is a default stream */
    bool is_recent;             /* something was submitted since tsm_order_before_host() */
    uint32_t api;               /* of the last command; 0: there is none */
};

struct tsm_event_order; /* one event: its last signal, and who waits for it */

struct tsm_order {
    struct tsm_track *tracks;
    uint32_t track_count;
    uint32_t *recent; /* streams that are recent: there may be thousands that are not */
    uint32_t recent_count;
    bool has_sent;              /* any command */
    struct tsm_map event_index; /* id -> index + 1 */
    struct tsm_event_order *events;
    size_t event_count, event_capacity;
    struct tsm_place ordered; /* of the last command whose place among all others matters */
    struct tsm_place *after;  /* filled by tsm_order_before() */
    size_t after_count, after_capacity;
};

int tsm_order_init(struct tsm_order *order, uint32_t stream_count);
void tsm_order_finish(struct tsm_order *order);

/* Puts the places that must be reached before `record` is submitted into order->after. */
int tsm_order_before(struct tsm_order *order, const struct sbt_record *record,
                     const struct sbt_schema *schema);

/* `record` was queued and will have been submitted at `place`. */
int tsm_order_submitted(struct tsm_order *order, const struct sbt_record *record,
                        const struct sbt_schema *schema, struct tsm_place place);

/* `record`, a signal, is left out of the replay. */
int tsm_order_skipped(struct tsm_order *order, const struct sbt_record *record,
                      const struct sbt_schema *schema);

/* Adds a command's use of an event that its record does not name: places that must be reached
 * before it go into order->after; a queued command adds its `place`. */
int tsm_order_after_event(struct tsm_order *order, const struct tsm_event_use *use);
int tsm_order_note_event(struct tsm_order *order, const struct tsm_event_use *use,
                         const struct sbt_record *record, struct tsm_place place);

/* Adds a place that must be reached to order->after. */
int tsm_order_add(struct tsm_order *order, struct tsm_place place);

/* Everything queued on every stream since the last time, into order->after: for jobs of the host's
 * worker, which takes one after the other, each of them. */
int tsm_order_before_host(struct tsm_order *order);

/* Last signal of the event that a synchronisation names. False: it names none that was
 * signalled. */
struct tsm_signal {
    struct tsm_place place;
    uint32_t stream;
    uint64_t position;
    bool is_skipped; /* it is left out: all that was submitted to its stream before it comes before
                        it */
};
bool tsm_order_signal(const struct tsm_order *order, const struct sbt_record *record,
                      const struct sbt_schema *schema, struct tsm_signal *out);

#endif
