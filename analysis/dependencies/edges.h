/* SPDX-License-Identifier: Apache-2.0
 *
 * Edges of the dependency graph: what had to be over before a command could begin, or before a wait
 * of the host could return. Known are the order of a stream, events, default streams, waits of the
 * host, and what the thread that sends a command has waited for before. Not known is what threads
 * of the program tell each other. Of what commands read and write memory_edges.h makes more edges.
 * Of calls that two threads made at once it is not known which came first: they have no edge but on
 * one stream, and some edges that are redundant there do not say so.
 *
 * Commands of a stream begin when those before them have ended (TSM_API_IN_ORDER), or are loose:
 * they may overlap, and what they wait for is said by semaphores, signals and the like
 * (api/waits.h).
 */
#ifndef ANALYSIS_DEPENDENCIES_EDGES_H
#define ANALYSIS_DEPENDENCIES_EDGES_H

#include "analysis/dependencies/vector_clock.h"
#include "analysis/model/objects.h"
#include "base/map.h"
#include "tracesmith/columns.h"
#include "tracesmith/reader.h"

/* Both ends are records: commands, waits of the host. */
struct tsm_dependency {
    uint64_t from, to; /* seq */
    uint64_t object;   /* id of the event, or of an array that has no address; of signals and the
                          like what TSM_WAIT_KEY says; 0: none */
    enum tsm_dependency_reason reason;
    bool is_begin : 1;     /* it waits until the command has begun, not until it has ended */
    bool is_redundant : 1; /* the other edges to `to` say as much, or order it */
    bool is_alone : 1; /* commands before `from` on its stream may still run; else they are over */
    bool is_part : 1;  /* a part of `to` does not wait for it */
    /* For conflicts in memory: */
    bool is_unordered : 1; /* nothing that is known puts the one before the other */
    bool is_partial : 1;   /* `to` may leave some of the bytes as they were */
    uint8_t access;        /* enum tsm_access_kind: the less sure one of both ends */
    uint64_t start, size;  /* bytes; size 0: not known */
};

static inline bool tsm_dependency_is_memory(const struct tsm_dependency *d)
{
    return d->reason >= TSM_DEPENDS_READ_AFTER_WRITE;
}

/* A zeroed struct with `reader` is empty. */
struct tsm_dependencies {
    struct sbt_reader *reader;
    uint64_t dropped; /* seq + 1 of a record that is taken to wait for nothing; 0: none */
    /* Results of the last record: */
    bool is_node;                 /* it is a command or a wait */
    struct tsm_dependency *found; /* edges to it; after these, edges from it to earlier records */
    size_t found_count, found_capacity;
    uint64_t passed_count; /* commands so far of APIs that are not known */
    /* State: */
    struct tsm_map stream_places, event_places, thread_places, owner_places; /* place + 1 */
    struct tsm_dependency_stream *streams;
    struct tsm_dependency_event *events;
    struct tsm_dependency_thread *threads;
    struct tsm_dependency_owner *owners;
    size_t stream_count, stream_capacity, event_count, event_capacity;
    size_t thread_count, thread_capacity, owner_count, owner_capacity;
    struct tsm_dependency_source *sources; /* of the record that is noted */
    size_t source_count, source_capacity;
    uint64_t activity;               /* commands so far */
    uint64_t unseen_count;           /* times that something unseen may have recorded any event */
    size_t latest;                   /* place + 1 of the stream that sent last */
    struct tsm_vector_budget budget; /* of all vector clocks */
    struct tsm_vector_clock scratch;
    struct tsm_map apart;               /* see tsm_stream_made_apart() */
    struct tsm_objects objects;         /* that loose commands wait for */
    struct tsm_barrier_edges *recorded; /* barriers in what they carry out; NULL: none so far */
    struct tsm_dependency_barrier {
        uint64_t seq, version; /* version: how many there were */
        uint64_t activity;     /* all commands up to this one are before it */
        struct tsm_vector_clock known;
    } barrier; /* the last call that is not known */
};

/* Takes a call into account; calls come in the order of the trace. Returns 0 or a negative
 * tsm_error. */
int tsm_dependencies_note(struct tsm_dependencies *d, const struct tsm_call_node *call);

/* The same for one of the recorder's own records: it may say that the program knew that commands
 * are complete. */
int tsm_dependencies_note_core(struct tsm_dependencies *d, const struct sbt_record *record);

/* Tests whether a command was over when the record that was noted last began, a command or a record
 * of the host: by what is known, or because some thread had seen it before. */
bool tsm_dependencies_is_over(const struct tsm_dependencies *d, const struct sbt_record *record,
                              bool is_command, uint32_t stream, uint64_t position);

/* Returns the position up to which all commands of a stream were over then, likewise; 0: none. */
uint64_t tsm_dependencies_over_until(const struct tsm_dependencies *d,
                                     const struct sbt_record *record, bool is_command,
                                     uint32_t stream);

void tsm_dependencies_finish(struct tsm_dependencies *d);

#endif
