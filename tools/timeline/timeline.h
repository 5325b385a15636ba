/* SPDX-License-Identifier: Apache-2.0
 *
 * Data of `tracesmith merge`: a trace, CPU events during its recording, and the requests that both
 * describe.
 */
#ifndef TOOLS_TIMELINE_TIMELINE_H
#define TOOLS_TIMELINE_TIMELINE_H

#include "analysis/request.h"

/* Which requests and events. Zeroed: all. */
struct tsm_timeline_filter {
    uint64_t pid, tid;
    const char *cgroup;          /* a number, or a path below /sys/fs/cgroup */
    const char *device;          /* part of its name, or its number; of ring jobs */
    uint64_t since_ns, until_ns; /* after the trace's start; until 0: no bound */

    uint64_t cgroup_id; /* of `cgroup`, when it is resolved */
};

struct tsm_timeline {
    struct sbt_reader *reader;
    const char *trace_path, *cpu_path; /* cpu_path NULL: the trace has the events */
    struct tsm_ring_jobs jobs;
    const struct tsm_ring_record *devices[256]; /* record that describes each device; NULL: none */
    struct tsm_cpu_events events;
    struct tsm_cpu_time time;
    struct tsm_requests requests;
    struct tsm_timeline_filter filter;
};

/* Reads all; `timeline` is zeroed but for the paths and the filter. */
int tsm_timeline_load(struct tsm_timeline *timeline, enum tsm_clock_way way, int64_t offset_ns);
void tsm_timeline_finish(struct tsm_timeline *timeline);

/* Tests whether the filter lets the request through. */
bool tsm_timeline_wants(const struct tsm_timeline *timeline, const struct tsm_request *request);
bool tsm_timeline_wants_event(const struct tsm_timeline *timeline,
                              const struct tsm_cpu_event *event);

/* "toygpu 0000:01:00.0" into out, "" when no record describes it. */
void tsm_timeline_device(char *out, size_t size, const struct tsm_timeline *timeline,
                         uint8_t device);

/* The events that the filter lets through, into the trace `path`, a copy of the other one. */
int tsm_timeline_write(const struct tsm_timeline *timeline, const char *path);

#endif
