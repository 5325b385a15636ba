/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace's submits of DRM files, each with the job of the kernel's rings that it became: from the
 * program's call to the ring's answer.
 */
#ifndef ANALYSIS_RING_SUBMIT_JOBS_H
#define ANALYSIS_RING_SUBMIT_JOBS_H

#include "analysis/ring/join.h"
#include "tracesmith/reader.h"

/* Times are on CLOCK_MONOTONIC in ns. */
struct tsm_submit_job {
    uint64_t seq; /* of the record */
    uint64_t call_ns, return_ns;
    const struct tsm_ring_job *job; /* NULL: not found, or one of several */
};

struct tsm_submit_jobs {
    struct tsm_buffer list; /* struct tsm_submit_job, by seq */
    size_t joined_count;
};

/* Fills in what the command `record` says of its ring job, for tsm_ring_join(): for an ioctl its
 * thread and the number that it returned; for a call of another API only its time, because its
 * driver may submit from threads of its own. */
void tsm_submit_ask(struct tsm_ring_submit *ask, struct sbt_reader *reader,
                    const struct sbt_record *record, const struct sbt_schema *schema);

/* `submits` is zeroed; it refers to `jobs`, which must live as long. Reads all records of the
 * trace. */
int tsm_submit_jobs_find(struct tsm_submit_jobs *submits, struct sbt_reader *reader,
                         const struct tsm_ring_jobs *jobs);
void tsm_submit_jobs_finish(struct tsm_submit_jobs *submits);

size_t tsm_submit_jobs_count(const struct tsm_submit_jobs *submits);
/* Returns the job of record `seq`; NULL if the record is no submit. */
const struct tsm_submit_job *tsm_submit_jobs_of(const struct tsm_submit_jobs *submits,
                                                uint64_t seq);

#endif
