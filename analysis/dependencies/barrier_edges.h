/* SPDX-License-Identifier: Apache-2.0
 *
 * Barrier edges: which submits of a stream had to be over before a later one of the stream, or a
 * part of it, because barriers that were recorded into what they carry out say so.
 *
 * Of each stream those submits are kept that barriers have not put before all that comes later; of
 * these the last stands for all before it. Two of which barriers say the same become one, and so do
 * the oldest two when there are too many: then an edge from one alone may be missing.
 */
#ifndef ANALYSIS_DEPENDENCIES_BARRIER_EDGES_H
#define ANALYSIS_DEPENDENCIES_BARRIER_EDGES_H

#include "analysis/dependencies/recorded_order.h"
#include "analysis/model/node.h"
#include "base/map.h"

#define TSM_OPEN_SUBMITS_MAX 64u
#define TSM_KNOWN_WAYS       1024u

/* Ends of a submit: the user's. */
struct tsm_submit_ends {
    void *whole; /* it has ended, and all before it on its stream have */
    void *alone; /* it has ended, by itself */
};

/* A submit, or several that barriers treat alike: then the last of them. */
struct tsm_open_submit {
    uint64_t seq, position;
    uint64_t low;  /* position of the first of those that it stands for */
    uint64_t over; /* bits: submits by `place` that have ended when it has */
    unsigned place;
    bool is_several; /* of those that it stands for others may run when it has ended */
    uint16_t work;   /* stages */
    struct tsm_held first, last;
    struct tsm_submit_ends ends;
};

/* An edge to the submit that is noted. */
struct tsm_barrier_edge {
    const struct tsm_open_submit *from; /* until the submit is added */
    bool is_alone, is_begin, is_part;   /* as in struct tsm_dependency */
    bool is_own; /* work of later submits may begin before `from` has ended */
};

/* A zeroed struct with `drop` knows nothing. */
struct tsm_barrier_edges {
    void *user;
    void (*drop)(void *user, const struct tsm_submit_ends *ends);
    uint16_t ways[TSM_KNOWN_WAYS]; /* by call: what tsm_recorded_way() says, + 1; 0: not asked */
    const char *recording_type;    /* a type of objects that are recorded into; NULL: not met */
    struct tsm_map object_places;  /* id of what is recorded into -> place + 1 */
    uint64_t latest_object, latest_place; /* one of these; 0: none */
    struct tsm_recording *objects;
    size_t object_count, object_capacity;
    size_t *unused; /* places */
    size_t unused_count, unused_capacity;
    struct tsm_map stream_places; /* number -> place + 1 */
    struct tsm_barrier_stream **streams;
    size_t stream_count, stream_capacity;
    uint64_t unseen_count; /* times that something was recorded that is not in the trace */
    uint64_t left_out;     /* edges that say less than is known, and calls that record into more
                              objects than are followed */
    struct tsm_barrier_edge found[2 * TSM_OPEN_SUBMITS_MAX + 4];
    size_t found_count;
    /* The submit that is noted: */
    struct tsm_recorded_order order;
    uint64_t over;
    bool is_submit;
};

/* Notes a call that is recorded into an object, or a command. `is_late`: commands behind it on its
 * stream came before it. Returns 0 or a negative tsm_error. */
int tsm_barrier_edges_note(struct tsm_barrier_edges *b, struct sbt_reader *reader,
                           const struct tsm_call_node *call, bool is_late);

/* Adds the submit that was noted last to those that later ones may wait for. Takes the ends, in any
 * case. */
int tsm_barrier_edges_add(struct tsm_barrier_edges *b, const struct sbt_record *record,
                          struct tsm_submit_ends ends);

/* Notes that calls are missing in the trace. */
void tsm_barrier_edges_lost(struct tsm_barrier_edges *b);

void tsm_barrier_edges_finish(struct tsm_barrier_edges *b);

#endif
