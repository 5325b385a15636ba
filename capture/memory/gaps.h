/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of memory into which the device, or a function of the program, may be writing.
 */
#ifndef CAPTURE_MEMORY_GAPS_H
#define CAPTURE_MEMORY_GAPS_H

#include "capture/session.h"

/* Gaps of one range, at most. */
#define TSM_GAP_COUNT_MAX 64u

/* A function of the program that runs now, on a stream: that stream's commands have ended or not
 * begun. */
struct tsm_running {
    uint32_t stream; /* SBT_STREAM_NONE: a thread of the program, none */
    uint64_t position;
};

/* Sorts by address. Few, and nearly sorted already. */
void tsm_gaps_sort(struct tsm_gap *gaps, uint32_t count);

#endif
