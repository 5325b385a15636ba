/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of other streams that a command waited for, for arrows between them: events, semaphores
 * and barriers are followed to the work before them.
 */
#ifndef EXPORT_WAITS_H
#define EXPORT_WAITS_H

#include "analysis/dependencies/edges.h"
#include "base/map.h"

struct tsm_wait_stream;

/* A zeroed struct with dependencies.reader is empty. Memory grows with streams, not with commands:
 * of more than TSM_WAITS_STANDS commands without work the older ones lead to no arrow. */
#define TSM_WAITS_STANDS (1u << 20)
struct tsm_waits {
    struct tsm_dependencies dependencies;
    struct tsm_map places;           /* stream -> place in `streams` */
    struct tsm_wait_stream *streams; /* what each did last */
    size_t stream_count, stream_capacity;
    struct tsm_wait_stand {
        uint64_t seq,
            work; /* seq + 1 of a command without work of its own, and of the work before it */
    } * stands;   /* TSM_WAITS_STANDS of them, by seq */
    struct tsm_map lists; /* command -> place of its first in `list` + 1 */
    struct tsm_wait_item {
        uint64_t seq;
        size_t next; /* place + 1; 0: the last one */
    } * list;
    size_t list_count, list_capacity;
    size_t unused; /* place + 1 of the first item that is in no list */
};

/* Takes a call into account; calls come in the order of the trace. `is_work`: it sends a command
 * that has work of its own. */
int tsm_waits_note(struct tsm_waits *w, const struct tsm_call_node *call, bool is_work);
int tsm_waits_note_core(struct tsm_waits *w, const struct sbt_record *record);

/* Takes commands that the command waited for, one after the other, each once: true and *out. They
 * are forgotten then. */
bool tsm_waits_take(struct tsm_waits *w, uint64_t seq, uint64_t *out);

void tsm_waits_finish(struct tsm_waits *w);

#endif
