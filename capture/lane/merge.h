/* SPDX-License-Identifier: Apache-2.0
 *
 * The consumer's side of lanes: entries in, a trace out. Used by the drain thread on lanes that are
 * being written, and by salvage on those of a dead process. May use malloc.
 *
 * Everything is checked before it is followed: what a crash (or a program that writes through wild
 * pointers) left of a lane may be anything. A lane whose next entry makes no sense is `torn`: it is
 * read no further.
 */
#ifndef CAPTURE_LANE_MERGE_H
#define CAPTURE_LANE_MERGE_H

#include "base/map.h"
#include "capture/lane/lane.h"
#include "tracesmith/writer.h"

/* Ids of strings of our own: above those that a session can give out. */
#define TSM_OWN_STRING(i)      ((1u << 20) + 1 + (uint32_t)(i))
#define TSM_OWN_STRING_REFUSED TSM_OWN_STRING(100)

struct tsm_merge_lane {
    const uint8_t *ring;
    uint64_t size;
    uint64_t read;    /* records before this are in the writer */
    uint64_t scanned; /* pieces before this, and before `read`, are in the writer */
    uint64_t pieces;  /* so many were handed to it */
    uint64_t limit;   /* may be read up to here */
    uint64_t key;     /* while in the heap: of the record at `read` */
    const struct tsm_record_entry *next; /* ... and the record itself */
    bool torn;
};

struct tsm_merge {
    struct sbt_writer *writer;
    struct tsm_merge_lane *lanes; /* [0] is lane 0, definitions */
    uint32_t lane_count;
    size_t lane_capacity;
    uint32_t *heap; /* lanes with a record before their limit, smallest (key, index) on top */
    uint32_t heap_count;
    struct tsm_clock_line clock;
    uint64_t start_ns;
    uint64_t record_count; /* in the trace */
    struct tsm_map there;  /* thread -> so many of its next records are in the trace already */
    uint64_t cut;          /* leave out commands with a smaller key */
    struct tsm_missing kept_out;
    /* Called before the first record of each type is written; NULL: the trace describes them. */
    int (*declare)(void *user, uint32_t type);
    void *declare_user;
    uint64_t declared[TSM_TYPE_API_COUNT][TSM_TYPE_CALL_COUNT / 64];
};

void tsm_merge_finish(struct tsm_merge *m);

int tsm_merge_add_lane(struct tsm_merge *m, const uint8_t *ring, uint64_t size);

/* Hand all definitions of lane 0 before `until` to the writer. */
int tsm_merge_definitions(struct tsm_merge *m, uint64_t until);

/* Hand the pieces in `lane` before `until` to the writer. Needed when a record, perhaps of another
 * lane, may name them; pieces that nothing names yet go when records around them are taken. */
int tsm_merge_pieces(struct tsm_merge *m, struct tsm_merge_lane *lane, uint64_t until);

/* Hand records with a key below `watermark`, before the lanes' limits, to the writer in order. */
int tsm_merge_records(struct tsm_merge *m, uint64_t watermark);

/* One record that is not in a lane; written at the end of what was merged. `begin`, `end`: TSC. */
int tsm_merge_write(struct tsm_merge *m, struct sbt_record *record, uint64_t begin, uint64_t end);

uint64_t tsm_merge_ns(const struct tsm_merge *m, uint64_t ticks);

/* Key of the first record at or after position `at` of a lane; UINT64_MAX when there is none. */
uint64_t tsm_merge_key_at(const struct tsm_merge_lane *lane, uint64_t at);

/* ---- the end of a trace (capture/lane/merge_end.c)
 * -------------------------------------------------
 */

/* Sums of the records that lanes count as missing. */
struct tsm_merge_ending {
    struct tsm_missing lost; /* less what LOST records tell of already */
    uint64_t lost_count;     /* all of it */
    struct tsm_missing filtered[TSM_FILTERED_COUNT];
    struct tsm_missing torn; /* one for each torn lane: at least so much is lost */
};

/* Counts what came after the torn place of `lane` as lost. */
void tsm_merge_ending_torn(struct tsm_merge_ending *ending, const struct tsm_merge *m,
                           const struct tsm_merge_lane *lane);

void tsm_merge_ending_add(struct tsm_merge_ending *ending, const struct tsm_lane_header *lane);

/* The call that the lane's thread is in, as a record flagged UNFINISHED; nothing when in none. */
int tsm_merge_unfinished(struct tsm_merge *m, const struct tsm_lane_header *lane, uint64_t until);

/* Records of what is missing, and of why capture stopped early; then index and trailer. */
int tsm_merge_end(struct tsm_merge *m, const struct tsm_merge_ending *ending,
                  const struct tsm_lanes_header *lanes, enum sbt_end end);

#endif
