/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about streams and threads, collected in one pass before dependencies are searched.
 */
#ifndef ANALYSIS_STREAM_FACTS_H
#define ANALYSIS_STREAM_FACTS_H

#include "base/map.h"
#include "tracesmith/reader.h"

struct tsm_stream_fact {
    bool is_default;  /* no record makes it, or it came with a context */
    bool is_apart;    /* made so that it does not join the default stream */
    uint32_t sharing; /* streams that name memory in common have the same number here, see find */
};

struct tsm_stream_facts {
    struct tsm_stream_fact *streams; /* by number */
    uint32_t count;
    size_t capacity;
    struct tsm_map thread_first; /* thread -> seq + 1 of its first record */
};

int tsm_stream_facts_collect(struct tsm_stream_facts *out, struct sbt_reader *reader);
void tsm_stream_facts_finish(struct tsm_stream_facts *facts);

/* The number of the group of streams that share memory with `stream`, directly or through others.
 */
uint32_t tsm_stream_facts_group(const struct tsm_stream_facts *facts, uint32_t stream);

/* Tests whether the stream that a record makes does not join the default stream. `known`, empty at
 * first, keeps what was found out about tables of flags. */
bool tsm_stream_made_apart(struct tsm_map *known, struct sbt_reader *reader,
                           const struct sbt_record *record, const struct sbt_schema *schema);

/* seq of a thread's first record; UINT64_MAX when unknown. */
uint64_t tsm_stream_facts_thread_first(const struct tsm_stream_facts *facts, uint32_t thread);

#endif
