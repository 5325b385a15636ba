/* SPDX-License-Identifier: Apache-2.0
 *
 * Which threads and streams of two traces of the same work stand for each other. Their order is
 * chance where threads run at once: they are told apart by what they do, and with which objects.
 * Each stands for one at most, so that what is equal under any such choice is the same work.
 */
#ifndef ANALYSIS_DIFF_COUNTERPARTS_H
#define ANALYSIS_DIFF_COUNTERPARTS_H

#include "analysis/diff/pairing.h"

/* Commands that one thread sends to a stream are a strand: they have an order of their own, while
 * the order of several threads' commands on one stream is chance. Strands of one key are compared.
 * A stream that one thread uses is one strand, its key the stream's number in trace 0. */
#define TSM_STRAND_STREAM_BITS 33
#define TSM_LONE_STREAM        ((uint64_t)1 << 32) /* in the number of one that stands for none */

/* Pairs of threads and streams of traces 0 and 1. A zeroed struct: threads in order of first
 * appearance, streams by number. */
struct tsm_counterparts {
    struct tsm_map threads[2];      /* id -> number + 1: those with one number are a pair */
    struct tsm_map streams;         /* number in trace 1 -> that in trace 0 */
    struct tsm_map own_streams;     /* numbers in trace 0 */
    struct tsm_map guessed_threads; /* numbers, */
    struct tsm_map guessed_streams; /* and numbers of streams in trace 0, of which several could
                                       stand for the same one */
    struct tsm_map shared_streams;  /* numbers in trace 0: several threads send commands */
    struct tsm_map senders[2]; /* hash of such a stream and a position -> thread's number + 1 */
    uint64_t numbers[2];       /* given to threads that make no calls */
    bool is_known;             /* by tsm_counterparts_find() */
};

/* Pairs threads, and the streams that they make. Reads each trace once. */
int tsm_counterparts_find(struct tsm_counterparts *out, struct sbt_reader *const readers[2],
                          const struct tsm_extents extents[2], const size_t thread_counts[2]);
void tsm_counterparts_finish(struct tsm_counterparts *c);

/* Returns the number of thread `id` of a trace, UINT64_MAX when out of memory. */
uint64_t tsm_counterparts_thread(struct tsm_counterparts *c, int trace, uint64_t id);

/* Returns the number in trace 0 of a stream of either trace. One that stands for none has a number
 * beyond 32 bits. */
uint64_t tsm_counterparts_stream(const struct tsm_counterparts *c, int trace, uint64_t number);

/* Returns the key of the strand that a command of a trace is part of; UINT64_MAX: out of memory.
 * Notes who sent it. */
uint64_t tsm_counterparts_strand(struct tsm_counterparts *c, int trace,
                                 const struct sbt_record *command, const struct sbt_schema *schema);

/* Returns the key of the strand that a command was part of which was noted. */
uint64_t tsm_counterparts_strand_at(const struct tsm_counterparts *c, int trace, uint64_t stream,
                                    uint64_t position);

static inline uint64_t tsm_strand_stream(uint64_t strand)
{
    return strand == SBT_STREAM_NONE ? strand
                                     : strand & (((uint64_t)1 << TSM_STRAND_STREAM_BITS) - 1);
}

/* Tests whether other threads' commands may have been taken for these. */
bool tsm_counterparts_is_guess(const struct tsm_counterparts *c, uint64_t strand);

/* Tests whether any pair is a guess. */
static inline bool tsm_counterparts_has_guess(const struct tsm_counterparts *c)
{
    return c->guessed_threads.count;
}

#endif
