/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of a stream are numbered without gaps: a place that no record has is a command that is
 * missing, also where the records themselves were numbered again.
 */
#ifndef ANALYSIS_PLACES_H
#define ANALYSIS_PLACES_H

#include "tracesmith/reader.h"

#define TSM_STREAM_COUNT_MAX 65536u

/* Numbers of calls are pinned: those of cuGraphLaunch in api/cuda/cuda.api. */
#define TSM_PLACES_GRAPH_LAUNCH      SBT_TYPE(SBT_API_CUDA, 514)
#define TSM_PLACES_GRAPH_LAUNCH_PTSZ SBT_TYPE(SBT_API_CUDA, 515)

/* One stream, zeroed at first. */
struct tsm_places {
    uint64_t first, last; /* positions */
    uint64_t named;      /* the last position of which there is a result, where results are noted */
    uint64_t count;      /* of records */
    uint64_t free_count; /* places that commands took without a record */
    uint64_t sum, square_sum;
    bool last_takes_more;
};

/* A record of the stream. One that has no place there is passed over. */
void tsm_places_note(struct tsm_places *p, const struct sbt_record *record);

/* Tells how many records are missing, at least. `from_first`: positions begin at 1 there. */
uint64_t tsm_places_missing(const struct tsm_places *p, bool from_first);

/* What a trace that was cut out of another one says of itself: how many commands were missing from
 * a stream when it was made, because the cut went between them. Metadata "trim.missing",
 * "1:20,3:2". */
#define TSM_PLACES_METADATA "trim.missing"
uint64_t tsm_places_known(const struct sbt_reader *reader, uint32_t stream);

#endif
