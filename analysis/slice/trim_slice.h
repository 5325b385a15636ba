/* SPDX-License-Identifier: Apache-2.0
 *
 * Which records before a part of a trace that part needs, when memory and what commands leave
 * beside it are given at its begin (docs/FORMAT.md 10.1): those that make the objects which it
 * names, that fill the command buffers which it sends, and so on, backwards.
 */
#ifndef ANALYSIS_SLICE_TRIM_SLICE_H
#define ANALYSIS_SLICE_TRIM_SLICE_H

#include "base/map.h"
#include "tracesmith/reader.h"

#define TSM_TRIM_SLICE_TYPE_MAX 128u

struct tsm_trim_slice {
    uint64_t seq_first;
    uint8_t *records;       /* a bit for each before seq_first */
    struct tsm_map objects; /* type << 48 | id -> what is known */
    struct tsm_map streams; /* that the part sends to */
    struct tsm_map memory;  /* address -> seq + 1 of what made it and has not freed it */
    struct tsm_map dead;    /* seq of memory made and freed before */
    const char *types[TSM_TRIM_SLICE_TYPE_MAX];
    uint32_t type_count;
    uint64_t kept_count; /* records before seq_first */
};

/* Finds what the records [seq_first, seq_end) of `reader` need; seq_end 0: to the end. Takes a bit
 * of memory for each earlier record, and some for each object. */
int tsm_trim_slice_find(struct tsm_trim_slice *out, struct sbt_reader *reader, uint64_t seq_first,
                        uint64_t seq_end);
void tsm_trim_slice_finish(struct tsm_trim_slice *keep);

bool tsm_trim_slice_has_record(const struct tsm_trim_slice *keep, uint64_t seq);
/* Tests whether the object is needed. One whose type may not be dropped always is. */
bool tsm_trim_slice_has_object(const struct tsm_trim_slice *keep, const char *type, uint64_t id);

#endif
