/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of a stream are numbered without gaps: a place that no record has is a command that is
 * missing, also where the records themselves were numbered again.
 */
#ifndef ANALYSIS_PLACES_H
#define ANALYSIS_PLACES_H

#include "analysis/graph_functions.h"

#define TSM_STREAM_COUNT_MAX 65536u

/* One stream, zeroed at first. */
struct tsm_places {
    uint64_t first, last; /* positions */
    uint64_t named;      /* the last position of which there is a result, where results are noted */
    uint64_t count;      /* of records, and of functions that graphs call */
    uint64_t free_count; /* places that commands may have taken without a record */
    uint64_t sum, square_sum;
    uint64_t more; /* places after the last that may have been taken without a record */
};

/* Notes a record of the stream, unless it has no place there. `functions`: the result of
 * tsm_graph_functions_count(); they have the places after the record's. */
void tsm_places_note(struct tsm_places *p, const struct sbt_record *record, uint64_t functions);

/* Returns how many records are missing, at least. `from_first`: positions begin at 1. */
uint64_t tsm_places_missing(const struct tsm_places *p, bool from_first);

/* Returns how many commands of `stream` were missing when the trace was cut out of another one,
 * because the cut went between them. Metadata "trim.missing", "1:20,3:2". */
#define TSM_PLACES_METADATA "trim.missing"
uint64_t tsm_places_known(const struct sbt_reader *reader, uint32_t stream);

#endif
