/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of what has changed in memory here and there: HOST_WRITE for bytes that follow each
 * other, HOST_RUNS for scattered ones that lie close together.
 */
#ifndef CAPTURE_MEMORY_RUNS_H
#define CAPTURE_MEMORY_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct tsm_runs_room;

/* Runs that wait to be recorded. Zero bytes are a valid state. */
struct tsm_runs {
    struct tsm_runs_room *room; /* NULL until scattered runs come */
    uint64_t name;              /* address that records have for offset 0 */
    const uint8_t *bytes;       /* what lies at offset 0 */
    uint64_t from, to;          /* from the first of them to the last */
    uint32_t count, list_size;
};

/* Adds [from, to), to be recorded now, or, if `is_scattered`, with others that come soon. */
void tsm_runs_add(struct tsm_runs *runs, uint64_t from, uint64_t to, bool is_scattered);
/* Records all that waits. What is named and found by `name` and `bytes` must be so until then. */
void tsm_runs_flush(struct tsm_runs *runs);
void tsm_runs_finish(struct tsm_runs *runs);

#endif
