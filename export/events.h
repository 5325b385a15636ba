/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts that the writers of events share: where events come from, the numbers that other tools
 * know objects by, and ranges made of their ends.
 */
#ifndef EXPORT_EVENTS_H
#define EXPORT_EVENTS_H

#include "analysis/model/pass.h"
#include "base/map.h"
#include "export/sites.h"

/* A trace, and what of it is wanted. */
struct tsm_event_source {
    struct sbt_reader *reader;
    const struct sbt_filter *filter; /* NULL: all */
    const struct tsm_frame_names *names;
    /* Returns a C++ name as people write it, from malloc; NULL: it is none. */
    char *(*demangle)(const char *name);
};

/* Counts of what was written, and of what could not be. */
struct tsm_event_counts {
    struct tsm_model_counts model;
    uint64_t call_count, command_count, mark_count, memory_count;
    uint64_t untimed_count;   /* commands left out: nobody knows when they ran */
    uint64_t displaced_count; /* ... written as they are, though their times are on a clock of their
                                 own */
};

/* Returns the process that the trace is of; 0: it does not say. */
uint32_t tsm_event_process(const struct tsm_event_source *source);
/* "" where the trace does not say. */
const char *tsm_event_program(const struct tsm_event_source *source);

/* ---- numbers -------------------------------------------------------------------------------- */

/* Numbers from `first` on for keys, in the order in which they come. */
struct tsm_numbering {
    struct tsm_map numbers;
    uint32_t first;
};

/* Returns the number of the key; `first` where memory is out. *added (NULL: nobody asks): it is
 * new. */
uint32_t tsm_number_of(struct tsm_numbering *n, uint64_t key, bool *added);

/* Devices by the number that their API gives them; those that are objects, as of Vulkan and HSA,
 * after those in the order in which they come, from TSM_DEVICE_NUMBER_OBJECTS on. */
#define TSM_DEVICE_NUMBER_OBJECTS 64u
struct tsm_device_numbers {
    struct tsm_device list[64];
    uint32_t count;
};
/* 0 for a device that is not known. */
uint32_t tsm_device_number(struct tsm_device_numbers *n, const struct tsm_device *device);

/* ---- ranges --------------------------------------------------------------------------------- */

/* A range of the program, whole, or a point. */
struct tsm_range_event {
    const char *name; /* "" for none */
    uint64_t seq, id;
    uint64_t start_ns, end_ns; /* the same: a point, or a range that never ended if is_open */
    uint32_t thread, end_thread;
    bool is_point, is_open;
    const struct tsm_mark_node *begin; /* what else its begin says; until the next call */
};

/* A zeroed struct has none. */
struct tsm_ranges {
    struct tsm_mark_node *open; /* begins, in their order */
    size_t count, capacity;
    struct tsm_mark_node last; /* of what was given out */
};

/* Takes a mark into account. Returns 1 and *out where a range is whole or it is a point, 0, or a
 * negative tsm_error. An end without a begin is dropped. */
int tsm_ranges_note(struct tsm_ranges *r, struct tsm_range_event *out,
                    const struct tsm_mark_node *mark);
/* Takes a range that is still open, as it ends at `end_ns`: true and *out. */
bool tsm_ranges_take_open(struct tsm_ranges *r, struct tsm_range_event *out, uint64_t end_ns);
void tsm_ranges_finish(struct tsm_ranges *r);

/* ---- writers -------------------------------------------------------------------------------- */

/* An SQLite file with the tables of Nsight Systems (docs/export.md). `path`: an empty file, or
 * none; `shown`: its name in messages. */
int tsm_export_nsys(struct tsm_event_counts *out, const char *path, const char *shown,
                    const struct tsm_event_source *source);

#endif
