/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a trace in the program's terms: frames, submits, labels.
 */
#ifndef ANALYSIS_RANGE_H
#define ANALYSIS_RANGE_H

#include "tracesmith/reader.h"

enum tsm_range_unit {
    TSM_RANGE_RECORDS = 0, /* nothing to look for */
    TSM_RANGE_FRAMES,      /* a frame ends with a call that presents */
    TSM_RANGE_SUBMITS,     /* each command on a stream that presents nothing */
    TSM_RANGE_LABEL,       /* what a label (VK_EXT_debug_utils, a MARK record) goes around */
};

struct tsm_range {
    enum tsm_range_unit unit;
    uint64_t first, end; /* of frames, submits: from 0, half open; end 0: to the last */
    const char *label;
    uint64_t place; /* which one of that name, from 1 */
};

/* *seq_first and *seq_end (0: the trace's end), so that what follows the last command without being
 * one, results first of all, is in. A label in a command buffer, or in one that it executes, stands for
 * the submits of it, and of those after it on the same queue until it ends.
 * TSM_E_NOT_FOUND with a message when there is no such. */
int tsm_range_find(const struct tsm_range *range, struct sbt_reader *reader, uint64_t *seq_first,
                   uint64_t *seq_end);

#endif
