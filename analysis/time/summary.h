/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of a trace: where time went on the device and on the host, what was copied and allocated,
 * and how busy streams were.
 */
#ifndef ANALYSIS_TIME_SUMMARY_H
#define ANALYSIS_TIME_SUMMARY_H

#include "analysis/model/pass.h"
#include "analysis/time/groups.h"
#include "analysis/time/intervals.h"

/* Work that can go on at once on most devices. */
enum tsm_engine {
    TSM_ENGINE_COMPUTE, /* kernels, graphs, submits */
    TSM_ENGINE_COPY,    /* copies and fills */
    TSM_ENGINE_COUNT
};

struct tsm_stream_sum {
    uint32_t stream;
    struct tsm_device device; /* a stream that serves several has a sum for each */
    uint64_t command_count, timed_count;
    uint64_t placed_count;   /* timed, and on `axis` */
    enum tsm_time_axis axis; /* of its first time that is not on a device's own clock */
    struct tsm_intervals busy[TSM_ENGINE_COUNT]; /* measured times on `axis` */
};

struct tsm_memory_sum {
    uint64_t allocated_count, freed_count, allocated_bytes;
    uint64_t live_bytes, peak_bytes; /* live: at the end of the selection */
    uint64_t peak_seq, peak_time_ns; /* when the peak was reached first */
};

struct tsm_summary {
    struct tsm_model_counts counts;
    struct tsm_time_groups
        commands; /* of work kernel, copy, fill, graph, host function, submit, other */
    struct tsm_time_groups inner;   /* of work kernel, copy, fill, other: inside of submits, whose
                                       own time in `commands` is without these, but with
                                       TSM_TIME_WHOLE */
    struct tsm_time_groups calls;   /* of the host; waits are among them */
    struct tsm_programs programs;   /* names in `inner` */
    struct tsm_stream_sum *streams; /* by number */
    size_t stream_count, stream_capacity;
    struct tsm_memory_sum memory[TSM_PLACE_COUNT];
    uint64_t *run_ns; /* by number: time of all work on the device; one for a recording */
    size_t run_count, run_capacity;
};

#define TSM_SUMMARY_RUN_MAX 10000u /* later ones are in no sum of a run */

/* Reads the trace. `by`: enum tsm_time_by, of all groups. */
int tsm_summary_collect(struct tsm_summary *out, struct sbt_reader *reader,
                        const struct sbt_filter *filter, unsigned by);
/* The same with times that are not in the trace. */
int tsm_summary_collect_times(struct tsm_summary *out, struct sbt_reader *reader,
                              const struct sbt_filter *filter, unsigned by,
                              const struct tsm_model_times *times);
void tsm_summary_finish(struct tsm_summary *s);

/* Adds the busy times of all streams of a device (NULL: of all devices), of one engine or
 * (TSM_ENGINE_COUNT) of all, to *out. Returns false when out of memory. */
bool tsm_summary_busy(struct tsm_intervals *out, const struct tsm_summary *s,
                      const struct tsm_device *device, enum tsm_engine engine);

/* "host to device" etc.: the name of a group of copies or fills. */
const char *tsm_copy_name(enum tsm_work work, enum tsm_place from, enum tsm_place to);

#endif
