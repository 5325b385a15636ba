/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of a single record against a filter (struct sbt_filter, tracesmith/reader.h).
 */
#ifndef FORMAT_FILTER_H
#define FORMAT_FILTER_H

#include "tracesmith/reader.h"

/* Tests whether the record lies in the range of the filter; its streams do not count. */
static inline bool sbt_filter_in_range(const struct sbt_filter *f, const struct sbt_record *record)
{
    return record->seq >= f->seq_first && (!f->seq_end || record->seq < f->seq_end) &&
           record->time_ns >= f->time_first_ns &&
           (!f->time_end_ns || record->time_ns < f->time_end_ns);
}

/* Tests whether the filter has the stream, or names none. */
static inline bool sbt_filter_has_stream(const struct sbt_filter *f, uint32_t stream)
{
    bool found = !f->streams;

    for (size_t i = 0; i < f->stream_count && !found; i++)
        found = f->streams[i] == stream;
    return found;
}

#endif
