/* SPDX-License-Identifier: Apache-2.0
 *
 * Which places commands have on the streams of a trace, stream by stream: analysis/places.h.
 */
#ifndef ANALYSIS_PLACE_LIST_H
#define ANALYSIS_PLACE_LIST_H

#include "analysis/places.h"

/* Zeroed at first. */
struct tsm_place_list {
    struct tsm_places *streams; /* by number */
    size_t count;
    struct tsm_graph_functions functions;
};

void tsm_place_list_finish(struct tsm_place_list *list);

/* Notes what a record says of graphs. Call it for every record of the trace, in order. */
int tsm_place_list_watch(struct tsm_place_list *list, struct sbt_reader *reader,
                         const struct sbt_record *record);

/* Notes a record that has a place on a stream; others are passed over. */
int tsm_place_list_note(struct tsm_place_list *list, const struct sbt_record *record);

/* Tells whether the stream of `record` has a noted place before it (or_last: one after it). */
bool tsm_place_list_reaches(const struct tsm_place_list *list, const struct sbt_record *record,
                            bool or_last);

/* The places of all of a trace's commands up to record `seq_end` (0: all), and of those after it
 * that come before one of these on their stream; and of what commands there are results. What came
 * before a checkpoint where recording began late is left out. */
int tsm_place_list_read(struct tsm_place_list *out, struct sbt_reader *reader, uint64_t seq_end);

/* Tells how many commands are missing from a list that was read, at least; `stream`: the first that
 * lacks one. What the trace says itself that it lacks does not count. */
uint64_t tsm_place_list_missing(const struct tsm_place_list *list, struct sbt_reader *reader,
                                uint32_t *stream);

#endif
