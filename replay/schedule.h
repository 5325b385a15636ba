/* SPDX-License-Identifier: Apache-2.0
 *
 * A schedule: the order in which a program that could choose would send the commands of a trace,
 * and when. A text file, docs/tools.md says what is in it; it may come from anywhere.
 */
#ifndef REPLAY_SCHEDULE_H
#define REPLAY_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tsm_schedule_kind {
    TSM_SCHEDULE_SEND, /* the command is sent now */
    TSM_SCHEDULE_WAIT, /* the host's wait happens here */
    TSM_SCHEDULE_DROP, /* the wait, of the host or in a stream, is left out */
};

struct tsm_schedule_item {
    enum tsm_schedule_kind kind;
    bool has_at; /* SEND: the next member says when */
    bool has_on; /* SEND: it goes to stream `on` of the replay's own, not to its own */
    uint32_t on;
    uint64_t at_ns; /* since the run began */
    uint64_t seq;   /* of the record */
    /* Places in `after`: commands that have to be over before: of a SEND with `on` before it
     * begins, of a WAIT before the host goes on. They were sent before, to such streams. */
    size_t first_after, after_count;
    uint64_t line; /* of the file, from 1; not needed to write one */
};

#define TSM_SCHEDULE_AT_MAX 1000000000000000000u /* ns, 31 years */

/* A zeroed struct is empty. */
struct tsm_schedule {
    struct tsm_schedule_item *items; /* in the file's order */
    size_t count, capacity;
    uint64_t *after; /* seqs */
    size_t after_count, after_capacity;
    bool has_on; /* an item has it */
    char *name;  /* of the file */
};

#define TSM_SCHEDULE_ON_MAX 4096u

/* Reads a file of at most `item_max` items. Messages name the file, the line and what to do. On
 * failure nothing is left to be freed. */
int tsm_schedule_read(struct tsm_schedule *out, const char *path, uint64_t item_max);
void tsm_schedule_finish(struct tsm_schedule *schedule);

/* Writes a file that tsm_schedule_read() takes. "-" is standard output. */
int tsm_schedule_write(const char *path, const struct tsm_schedule *schedule);

#endif
