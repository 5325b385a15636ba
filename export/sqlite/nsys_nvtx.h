/* SPDX-License-Identifier: Apache-2.0
 *
 * The table NVTX_EVENTS: labels, and the domains and categories that they name.
 */
#ifndef EXPORT_SQLITE_NSYS_NVTX_H
#define EXPORT_SQLITE_NSYS_NVTX_H

#include "export/sqlite/database.h"
#include "export/events.h"

/* The first three members, `source`, `count` (of labels) and `process` (as globalPid) are given. */
struct tsm_nsys_nvtx {
    struct tsm_database *d;
    struct tsm_rows *rows;
    const struct tsm_event_source *source;
    uint64_t *count;
    int64_t process;
    struct tsm_numbering domains; /* by their names' addresses; 0 is the one without a name */
    struct tsm_map categories;    /* number and domain's number -> name's address */
    struct tsm_ranges ranges;
};

/* Negative: a tsm_error. */
int tsm_nsys_nvtx_note(struct tsm_nsys_nvtx *l, const struct tsm_mark_node *mark);
/* Writes ranges that never ended. */
void tsm_nsys_nvtx_end(struct tsm_nsys_nvtx *l, uint64_t end_ns);
void tsm_nsys_nvtx_finish(struct tsm_nsys_nvtx *l);

#endif
