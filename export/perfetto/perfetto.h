/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside export/perfetto/: the state of an export, and what its files share.
 */
#ifndef EXPORT_PERFETTO_PERFETTO_H
#define EXPORT_PERFETTO_PERFETTO_H

#include "export/events.h"
#include "export/perfetto/packets.h"
#include "export/waits.h"

/* Kinds of tracks of our own, for their ids. */
enum track_kind { OF_PROCESS, OF_THREAD, OF_LABELS, OF_COUNTER, OF_FINDINGS, OF_STATES };

#define LANE_MAX                                                                                   \
    64u /* tracks of labels that do not nest; of more at once the last one has the rest */

/* Numbers of texts that come again and again; 0: not written yet. */
struct tsm_perfetto_numbers {
    uint64_t seq, device, stream, shared, arg_seq; /* names of annotations, of arguments */
    uint64_t categories[8];                        /* by API */
    uint64_t stages[TSM_WORK_COUNT];
};

struct tsm_perfetto {
    const struct tsm_event_source *source;
    struct tsm_perfetto_numbers known;
    struct tsm_map queues; /* stream -> number of its queue */
    struct tsm_event_counts *counts;
    struct tsm_packets packets;
    struct tsm_buffer event, inner, deep; /* messages that are being made */
    struct tsm_waits waits;
    struct tsm_device_numbers devices;
    struct tsm_numbering threads;
    struct tsm_map call_names; /* record type -> number of the call's name */
    struct tsm_map kernels;    /* number of a kernel -> of its name among those of events */
    struct tsm_ranges ranges;  /* that do not nest in a thread */
    uint64_t lane_end_ns[LANE_MAX];
    uint32_t lane_count;
    uint64_t held[TSM_PLACE_COUNT]; /* bytes */
    uint32_t counters;              /* bits of places that have their track */
    bool has_findings;
    uint64_t inner_count;
    uint64_t base;     /* of ids of tracks: others' files have others */
    uint64_t start_ns; /* of the session, on CLOCK_MONOTONIC */
    uint32_t process;
    int error;
};

/* ---- tracks.c ------------------------------------------------------------------------------- */

/* Returns a time of the session on the trace's clock. */
uint64_t tsm_perfetto_at(const struct tsm_perfetto *p, int64_t ns);

/* Returns the id of a track. */
uint64_t tsm_perfetto_track(const struct tsm_perfetto *p, enum track_kind kind, uint64_t number);

/* Describe tracks. Between packets. */
void tsm_perfetto_process(struct tsm_perfetto *p);
void tsm_perfetto_name_thread(struct tsm_perfetto *p, uint32_t thread, const char *name);
void tsm_perfetto_child(struct tsm_perfetto *p, enum track_kind kind, uint64_t number,
                        const char *name);
/* Returns the track of a thread, described when it is the first time. Between packets. */
uint64_t tsm_perfetto_thread(struct tsm_perfetto *p, uint32_t thread);

/* Returns the number of a stack; 0: it has no frames. */
uint64_t tsm_perfetto_stack(struct tsm_perfetto *p, uint32_t stack);

/* Returns the number of a text that is always the same. */
uint64_t tsm_perfetto_text(struct tsm_perfetto *p, uint64_t *known, enum tsm_interned table,
                           const char *text);

/* Returns the number of the name of a call. */
uint64_t tsm_perfetto_call(struct tsm_perfetto *p, uint32_t type, const struct sbt_schema *schema);

/* Returns the id of an event on the device: the record's number and one, for 0 is none. */
uint64_t tsm_perfetto_event_id(uint64_t seq);

/* Returns Perfetto's number of an API; 0: it has none. */
int tsm_perfetto_api(uint32_t type);

/* ---- commands.c: visitors ------------------------------------------------------------------- */

int tsm_perfetto_command(void *user, const struct tsm_command_node *c);
int tsm_perfetto_inner(void *user, const struct tsm_inner_node *inner);

/* ---- description.c: packets that come first ------------------------------------------------- */

void tsm_perfetto_clocks(struct tsm_perfetto *p);
void tsm_perfetto_gpus(struct tsm_perfetto *p);
void tsm_perfetto_extension(
    struct tsm_perfetto *p); /* describes the fields that we add to events */

#endif
