/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources of a record: the commands that had to be over before it, from which its edges are made.
 * Here is what edges.c and loose.c share. Functions return 0 or a negative tsm_error.
 */
#ifndef ANALYSIS_DEPENDENCIES_SOURCES_H
#define ANALYSIS_DEPENDENCIES_SOURCES_H

#include "analysis/dependencies/followed.h"

#define TSM_DEPENDENCY_THREADS_ASKED 64u /* whether they had seen that a command was over */

/* A command that the record depends on. */
struct tsm_dependency_source {
    uint64_t seq, position, object;
    uint32_t stream;
    enum tsm_dependency_reason reason;
    bool is_alone; /* commands before it on its stream may still run */
    bool is_begin; /* it has begun, and may still run */
    bool is_part;  /* a part of the record does not wait for it */
    bool is_own;   /* commands behind the record on its stream need not wait for it */
    const struct tsm_vector_clock *known; /* has ended then */
};

/* Edge from the host: the thread's last wait, and the last call that is not known. */
struct tsm_dependency_host_edge {
    uint64_t seq; /* 0: none */
    const struct tsm_vector_clock *known;
    enum tsm_dependency_reason reason;
    bool is_known; /* it was taken into account before */
    bool is_given; /* nothing else makes it redundant */
    bool is_begin;
};

int tsm_dependency_source_add(struct tsm_dependencies *d,
                              const struct tsm_dependency_source *source);

/* Adds the last command of a stream, if that came before. */
int tsm_dependency_source_last(struct tsm_dependencies *d, const struct tsm_dependency_stream *s,
                               const struct sbt_record *record, enum tsm_dependency_reason reason);

/* Adds the last commands of all streams of an owner (0: of all) but `self` that `known` lacks,
 * where these came after the command with the number `activity`. Returns in *activity how far there
 * is nothing more to add. */
int tsm_dependency_source_all(struct tsm_dependencies *d, uint64_t owner, uint32_t self,
                              const struct tsm_vector_clock *known, const struct sbt_record *record,
                              enum tsm_dependency_reason reason, uint64_t *activity);

/* Adds the last commands of all streams of an owner that a thread waits for. */
int tsm_dependency_source_owned(struct tsm_dependencies *d, struct tsm_dependency_thread *t,
                                uint64_t owner, const struct sbt_record *record);

int tsm_dependency_edge_add(struct tsm_dependencies *d, const struct tsm_dependency *edge);

/* Makes edges of the sources and of what comes from the host. Leaves in the scratch clock what is
 * known to have ended when the record begins. */
int tsm_dependency_edges_make(struct tsm_dependencies *d, uint64_t to,
                              const struct tsm_dependency_host_edge *hosts, size_t host_count);

/* Adds what has ended when a source has to a clock. */
int tsm_dependency_source_join(struct tsm_dependencies *d, struct tsm_vector_clock *known,
                               const struct tsm_dependency_source *source);

/* Notes what a thread knows when its call returns. */
int tsm_dependency_teach(struct tsm_dependencies *d, struct tsm_dependency_thread *t,
                         const struct sbt_record *record, const struct tsm_vector_clock *known,
                         bool is_begin);

/* Makes a node of a record of the host, of which the sources are known, that its thread waits in.
 */
int tsm_dependency_wait_finish(struct tsm_dependencies *d, const struct sbt_record *record);

/* Tests whether it is not known of a command what it waits for, or what for it. */
bool tsm_dependency_is_unknown(const struct sbt_record *record, const struct sbt_schema *schema);

/* Notes that all that comes later comes after the record. */
int tsm_dependency_barrier_remember(struct tsm_dependencies *d, const struct sbt_record *record);

/* Makes edges for a call that is no command, and changes what is not modelled: it comes after all
 * commands, and all come after it. */
int tsm_dependency_unknown_note(struct tsm_dependencies *d, const struct sbt_record *record);

/* Takes a call of an API whose commands may overlap on a stream into account (loose.c). */
int tsm_dependency_loose_note(struct tsm_dependencies *d, const struct tsm_call_node *call);
int tsm_dependency_loose_note_core(struct tsm_dependencies *d, const struct sbt_record *record);
/* Notes that records are missing. */
void tsm_dependency_loose_lost(struct tsm_dependencies *d);
void tsm_dependency_loose_finish(struct tsm_dependencies *d);

#endif
