/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges that threads have open (MARK records): the innermost one labels what a thread sends.
 */
#ifndef ANALYSIS_MODEL_LABELS_H
#define ANALYSIS_MODEL_LABELS_H

#include "base/map.h"
#include "tracesmith/reader.h"

#define TSM_LABEL_DEPTH_MAX 64u

struct tsm_thread_labels;

/* A zeroed struct has none. */
struct tsm_labels {
    struct tsm_map places; /* thread -> place in `threads` */
    struct tsm_map ranges; /* id of an open range -> thread that has begun it */
    struct tsm_thread_labels *threads;
    size_t count, capacity;
};

/* Takes a MARK record into account. */
int tsm_labels_note(struct tsm_labels *l, struct sbt_reader *reader,
                    const struct sbt_record *record);

/* Returns the name of the innermost open range of the thread; NULL: none. Lives as long as the
 * reader. */
const char *tsm_labels_of(const struct tsm_labels *l, uint32_t thread);

void tsm_labels_finish(struct tsm_labels *l);

#endif
