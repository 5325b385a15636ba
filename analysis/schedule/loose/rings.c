/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/loose/rings.h"

#include "analysis/ring/submit_jobs.h"

/* Returns a time after the session's start; 0: not known, before it, or one that nothing can have.
 */
static uint64_t since(uint64_t ns, uint64_t start_ns)
{
    return ns > start_ns && ns - start_ns <= INT64_MAX ? ns - start_ns : 0;
}

/* A job that is done, or reported, has ended; a ring that does not say when it took a job has no
 * time for it. `is_whole`: none of what the rings told is lost. */
static void note_job(struct tsm_loose_command *c, const struct tsm_ring_job *job, uint64_t start_ns,
                     bool is_whole)
{
    const uint64_t begin = since(job->start_ns, start_ns),
                   end = since(job->end_ns ? job->end_ns : job->complete_ns, start_ns);

    c->is_begun = begin && !job->end_ns && !job->complete_ns && is_whole;
    if (!end)
        return;
    c->has_ended = true;
    c->over_ns = end < c->over_ns ? end : c->over_ns;
    c->has_failed = job->error;
    if (!job->end_ns || !begin || begin > end)
        return;
    c->has_time = c->is_taken = true;
    c->start_ns = begin;
    c->end_ns = end;
}

int tsm_loose_rings_note(struct tsm_loose *l, struct sbt_reader *reader,
                         const struct tsm_ring_jobs *jobs)
{
    const uint64_t start_ns = sbt_reader_session(reader)->start_monotonic_ns;
    struct tsm_submit_jobs submits = {.joined_count = 0};
    const int error = tsm_submit_jobs_find(&submits, reader, jobs);

    for (uint32_t i = 0; i < l->command_count && !error; i++) {
        const struct tsm_submit_job *submit = tsm_submit_jobs_of(&submits, l->commands[i].seq);

        if (submit && submit->job)
            note_job(&l->commands[i], submit->job, start_ns, !jobs->lost_count);
    }
    tsm_submit_jobs_finish(&submits);
    return error;
}
