/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts that writers of events share: where events come from, the numbers that other tools know
 * objects by, ranges made of their ends, names of kernels.
 */
#ifndef EXPORT_EVENTS_H
#define EXPORT_EVENTS_H

#include "analysis/model/pass.h"
#include "base/map.h"
#include "export/sites.h"

/* A state of a stream, an engine or a device over a time. Texts are without control characters, and
 * live until the next one is asked for. */
struct tsm_state_event {
    const char *subject; /* "stream 2", "cuda 0 kernels", "cuda 0" */
    const char *state;   /* "wait" */
    const char *reason;  /* "event"; NULL: none */
    uint64_t begin_ns, end_ns;
    bool has_command, has_by;
    uint64_t command; /* seq of what runs, or waits */
    uint64_t by;      /* seq of what it waits for */
};

/* A time that cannot be, or something else that somebody should look at. */
struct tsm_finding_event {
    uint64_t ns;
    const char *text; /* likewise */
};

/* States, by subject and time, and findings. */
struct tsm_state_source {
    void *user;
    bool (*next_state)(void *user, struct tsm_state_event *out); /* false: there is no other one */
    bool (*next_finding)(void *user, struct tsm_finding_event *out);
};

/* A trace, and what of it is wanted. */
struct tsm_event_source {
    struct sbt_reader *reader;
    const struct sbt_filter *filter; /* NULL: all */
    const struct tsm_frame_names *names;
    const struct tsm_state_source *states; /* NULL: not wanted */
    bool is_plain;                         /* Perfetto: packets are not compressed */
    /* Returns a C++ name as people write it, from malloc; NULL: it is none. */
    char *(*demangle)(const char *name);
};

/* Counts of what was written, and of what could not be. */
struct tsm_event_counts {
    struct tsm_model_counts model;
    uint64_t call_count, command_count, mark_count, memory_count, state_count;
    uint64_t rerun_count;     /* times left out: of other runs than the first */
    uint64_t untimed_count;   /* commands left out: nobody knows when they ran */
    uint64_t displaced_count; /* ... written as they are, though their times are on a clock of their
                                 own */
};

/* Returns the process that the trace is of; 0: it does not say. */
uint32_t tsm_event_process(const struct tsm_event_source *source);
/* "" where the trace does not say. */
const char *tsm_event_program(const struct tsm_event_source *source);

/* Returns what comes from a program or a trace, without control characters; "" for NULL. Valid as
 * what names->clean() gives. */
const char *tsm_event_clean(const struct tsm_event_source *source, const char *text);

/* Returns how many devices the trace describes by number, at most TSM_DEVICE_NUMBER_OBJECTS. */
uint32_t tsm_event_device_count(const struct tsm_event_source *source);
/* Returns a fact of such a device: "name", "memory"... NULL: the trace does not say. */
const char *tsm_event_device_fact(const struct tsm_event_source *source, uint64_t device,
                                  const char *fact);

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

/* ---- kernels -------------------------------------------------------------------------------- */

/* Names of a kernel: as the code has it, as people write it, its own. From malloc. */
struct tsm_kernel_names {
    char *mangled, *plain, *own;
};

/* NULL: the kernel is unknown. Texts are without control characters. Returns false when out of
 * memory. */
bool tsm_kernel_names_make(struct tsm_kernel_names *out, const struct tsm_event_source *source,
                           const char *name);
void tsm_kernel_names_finish(struct tsm_kernel_names *names);

/* ---- writers -------------------------------------------------------------------------------- */

/* An SQLite file with the tables of Nsight Systems (docs/export.md). `path`: an empty file, or
 * none; `shown`: its name in messages. */
int tsm_export_nsys(struct tsm_event_counts *out, const char *path, const char *shown,
                    const struct tsm_event_source *source);
/* JSON of PyTorch's profiler, for chrome://tracing, TensorBoard, HolisticTraceAnalysis. */
int tsm_export_kineto(struct tsm_event_counts *out, FILE *file,
                      const struct tsm_event_source *source);
/* A line for each command. */
int tsm_export_csv(struct tsm_event_counts *out, FILE *file, const struct tsm_event_source *source);
/* Packets for Perfetto. */
int tsm_export_perfetto(struct tsm_event_counts *out, FILE *file,
                        const struct tsm_event_source *source);

#endif
