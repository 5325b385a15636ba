/* SPDX-License-Identifier: Apache-2.0
 *
 * The table NVTX_EVENTS: labels, and the domains and categories that they name.
 */
#ifndef EXPORT_NSYS_LABELS_H
#define EXPORT_NSYS_LABELS_H

#include "export/database.h"
#include "export/events.h"

/* The first three members, `source`, `count` (of labels) and `process` (as globalPid) are given. */
struct nsys_labels {
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
int nsys_labels_note(struct nsys_labels *l, const struct tsm_mark_node *mark);
/* Writes ranges that never ended. */
void nsys_labels_end(struct nsys_labels *l, uint64_t end_ns);
void nsys_labels_finish(struct nsys_labels *l);

#endif
