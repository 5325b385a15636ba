/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the report of `grtrace report`.
 */
#ifndef TOOLS_KERNEL_REPORT_H
#define TOOLS_KERNEL_REPORT_H

#include "analysis/ring/jobs.h"
#include "tracesmith/reader.h"

enum tsm_report_by { TSM_REPORT_JOB, TSM_REPORT_RING, TSM_REPORT_ENGINE, TSM_REPORT_CONTEXT };
#define TSM_REPORT_BY "job|ring|engine|context"
enum tsm_report_format { TSM_REPORT_TEXT, TSM_REPORT_CSV, TSM_REPORT_JSON };
#define TSM_REPORT_FORMAT "text|csv|json"
#define TSM_REPORT_SPANS  "t_submit_host|t_queue|t_exec|t_gpu_wait|t_complete"

struct tsm_report_values {
    int by, format; /* enum tsm_report_by, tsm_report_format */
    int span;       /* enum tsm_job_span: what --top and --histogram look at */
    bool histogram, overhead;
    uint64_t top, limit;        /* 0: all */
    double since_s, until_s;    /* after the session's start; until 0: no bound */
    uint64_t queue_ns, exec_ns; /* above which a job is labelled; 0: 10 ms */
};

/* Load all kernel records of the trace. */
int tsm_report_load(struct tsm_ring_jobs *jobs, struct sbt_reader *reader);

/* Prints the report to stdout. Returns 0 or an error. */
int tsm_report_print(const struct tsm_ring_jobs *jobs, const struct sbt_reader *reader,
                     const struct tsm_report_values *values);

/* "failed", "preempted", "long-queue", "slow-exec", "unfinished" or "". */
const char *tsm_report_label(const struct tsm_ring_job *job,
                             const struct tsm_report_values *values);

/* "render" etc. */
const char *tsm_report_engine(uint8_t engine);

#endif
