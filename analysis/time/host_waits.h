/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits of the host: from when on it knew that a command had ended, and by which call.
 */
#ifndef ANALYSIS_TIME_HOST_WAITS_H
#define ANALYSIS_TIME_HOST_WAITS_H

#include "analysis/model/objects.h"
#include "base/map.h"
#include "tracesmith/reader.h"

/* The end of a command on its device's clock. */
struct tsm_host_end {
    bool is_known;
    size_t clock; /* its place in a list */
    int64_t ns;
    uint64_t seq;
    const char *call;
};

/* The host knew at `known_ns` that a stream's commands are complete: up to `position`, or that one
 * alone. */
struct tsm_host_wait {
    uint64_t position, known_ns, seq;
    uint32_t parts; /* of the command at `position` that are complete; UINT32_MAX: all */
    const char *call;
    struct tsm_host_end last; /* of the commands that this one is the first to wait for */
};

struct tsm_host_wait_list {
    struct tsm_host_wait *list;
    size_t count, capacity;
};

struct tsm_host_stream {
    uint64_t owner;            /* of the stream; 0: not known */
    uint64_t position;         /* of the last command that was sent ... */
    uint64_t latest_return_ns; /* ... and when the last of the calls that sent them returned */
    struct tsm_host_wait_list waits; /* for a command and all before it; by position */
    struct tsm_host_wait_list alone; /* for a command alone, in the order of the trace */
    struct tsm_map alone_places;     /* its position -> place in `alone` + 1 */
};

/* A zeroed struct with `reader` knows none. */
struct tsm_host_waits {
    struct sbt_reader *reader;
    struct tsm_map events; /* id and API of an event -> place in `event_places` + 1 */
    struct tsm_host_event *event_places;
    size_t event_count, event_capacity;
    struct tsm_objects objects; /* what else is waited for; its reader is set with this one */
    uint64_t launch_count;      /* of graphs, whose nodes may record any event */
    struct tsm_map places;      /* stream -> place in `streams` + 1 */
    struct tsm_host_stream *streams;
    size_t stream_count, stream_capacity;
};

/* Takes a call into account. Calls come in the order of the trace. Memory grows with waits, and
 * with commands that an object stands for. Returns 0 or a negative tsm_error. */
int tsm_host_waits_note(struct tsm_host_waits *w, const struct tsm_call_node *call);

/* Takes one of the recorder's own records into account: it may say that calls are missing. */
int tsm_host_waits_note_core(struct tsm_host_waits *w, const struct sbt_record *record);

/* Returns the wait by which the host knew first that the command, or the part of it, had ended;
 * NULL: it never did. */
struct tsm_host_wait *tsm_host_waits_find(const struct tsm_host_waits *w,
                                          const struct tsm_command_node *node);

void tsm_host_waits_finish(struct tsm_host_waits *w);

#endif
