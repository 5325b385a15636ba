/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects what each thread of one trace does, and with which objects. By that the threads and
 * streams of two traces are told apart (analysis/diff/counterparts.h).
 */
#ifndef ANALYSIS_DIFF_USAGE_H
#define ANALYSIS_DIFF_USAGE_H

#include "analysis/diff/pairing.h"

/* A thread, by hashes of its calls. Polls and waits are left out: how many there are is chance.
 * Objects and addresses are left out, too: they are links. A queue that any thread may write into
 * counts as a thread, of which the order of commands does not matter. */
struct tsm_usage_thread {
    uint64_t all;    /* of all calls; of a queue the sum of their hashes */
    uint64_t order;  /* of all calls in their order */
    uint64_t stable; /* the same, without bytes that may hold addresses */
    uint64_t begin;  /* of the first calls, without any bytes */
    uint64_t full;   /* `all`, and what came back: see tsm_usage_collect_results() */
    uint32_t call_count;
    uint32_t command_count;
    uint32_t link_count;
    uint32_t made_count; /* streams that it made */
    uint32_t queue;      /* number in records of the queue's stream, or SBT_STREAM_NONE */
};

/* Something that a call of a thread names: an object, an allocation, the stream that it is on. */
struct tsm_usage_link {
    uint32_t thread, object; /* numbers, from 0 */
    uint64_t where;          /* hash of which call of the thread and which of its arguments */
};

struct tsm_usage_stream {
    uint32_t number; /* in records */
    uint32_t maker;  /* thread; UINT32_MAX: no call made it */
    uint32_t nth;    /* of those that the maker made */
    uint32_t object;
    uint32_t sender; /* first thread that sent commands; UINT32_MAX: none did */
    bool is_shared;  /* several threads did */
};

/* Memory grows with threads, streams, objects and, up to a bound, with links. */
struct tsm_usage {
    struct tsm_map thread_numbers; /* id, tsm_usage_sender() -> number + 1, in order of first
                                      appearance */
    struct tsm_usage_thread *threads;
    size_t thread_count, thread_capacity;
    struct tsm_map stream_numbers; /* number in records -> index + 1 */
    struct tsm_usage_stream *streams;
    size_t stream_count, stream_capacity;
    struct tsm_map objects;     /* hash of kind and id -> number + 1 */
    struct tsm_map call_counts; /* hash of thread and type of call -> how many so far */
    struct tsm_usage_link *links;
    size_t link_count, link_capacity;
};

/* Reads the trace once. `thread_count`: how many threads it has, about; they share the room for
 * links. */
int tsm_usage_collect(struct tsm_usage *out, struct sbt_reader *reader,
                      const struct tsm_extents *extents, size_t thread_count);
/* Reads the trace once more, for `full`. */
int tsm_usage_collect_results(struct tsm_usage *usage, struct sbt_reader *reader);
void tsm_usage_finish(struct tsm_usage *usage);

/* Returns the id of the thread that sent a command, or made a call; of the queue's, if it was found
 * in one. */
uint64_t tsm_usage_sender(const struct sbt_record *record, const struct sbt_schema *schema);

/* Returns one hash of both, whichever process asks. */
uint64_t tsm_usage_mix(uint64_t a, uint64_t b);

/* Colors the objects by who uses them where, and then the threads (`colors`, by number) by the
 * objects that they use. `object_colors` has room for objects.count. Two threads, or two objects,
 * of one color may stand for each other as far as one more step of neighbours tells. */
void tsm_usage_refine(const struct tsm_usage *usage, uint64_t *colors, uint64_t *object_colors);

/* Writes to `orders`, by thread, a hash of what it does with which objects, in its order.
 * `object_names`: numbers that both traces have in common. */
void tsm_usage_order(const struct tsm_usage *usage, const uint64_t *object_names, uint64_t *orders);

#endif
