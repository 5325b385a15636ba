/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ring/submit_jobs.h"
#include "analysis/time/clocks.h"
#include "tracesmith/error.h"

static struct tsm_clock *clock_of(struct tsm_clocks *all, const struct tsm_ring_job *job)
{
    return tsm_clocks_find(all, true, SBT_API_CORE, &(struct tsm_device){.number = job->device},
                           TSM_AXIS_HOST);
}

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for clocks of rings");
}

static int64_t minus(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b);
}

static int note_job(struct tsm_clocks *all, const struct tsm_ring_job *job, uint64_t start_ns)
{
    const uint64_t begin_ns = tsm_job_begin_ns(job);
    const uint64_t end_ns = job->end_ns > begin_ns ? job->end_ns : begin_ns;
    struct tsm_clock *clock = begin_ns ? clock_of(all, job) : NULL;

    if (!clock)
        return begin_ns ? no_memory() : 0;
    clock->command_count++;
    if (minus(begin_ns, start_ns) < clock->first_ns)
        clock->first_ns = minus(begin_ns, start_ns);
    if (minus(end_ns, start_ns) > clock->last_ns)
        clock->last_ns = minus(end_ns, start_ns);
    return 0;
}

static void tighten(struct tsm_clock_bound *bound, const struct tsm_drift_bound *other,
                    bool is_least)
{
    if (bound->is_known &&
        (is_least ? other->offset_ns <= bound->offset_ns : other->offset_ns >= bound->offset_ns))
        return;
    *bound = (struct tsm_clock_bound){.is_known = true,
                                      .offset_ns = other->offset_ns,
                                      .seq = other->seq,
                                      .other_seq = other->other_seq};
}

/* The first event of a job comes while the call that submitted it runs. */
static int bound_job(struct tsm_clocks *all, const struct tsm_submit_job *submit, uint64_t start_ns)
{
    const uint64_t begin_ns = tsm_job_begin_ns(submit->job);
    struct tsm_clock *clock = begin_ns ? clock_of(all, submit->job) : NULL;
    struct tsm_drift_bound bound = {.time_ns = minus(begin_ns, start_ns),
                                    .offset_ns = minus(submit->call_ns, begin_ns),
                                    .seq = submit->seq,
                                    .other_seq = submit->seq,
                                    .call = "the ring's job",
                                    .other_call = "its submit"};

    if (!clock)
        return begin_ns ? no_memory() : 0;
    if (!tsm_drift_at_least(&clock->drift, &bound))
        return no_memory();
    tighten(&clock->least, &bound, true);
    bound.offset_ns = minus(submit->return_ns, begin_ns);
    if (!tsm_drift_at_most(&clock->drift, &bound))
        return no_memory();
    tighten(&clock->most, &bound, false);
    return 0;
}

int tsm_clocks_add_rings(struct tsm_clocks *out, struct sbt_reader *reader,
                         const struct tsm_ring_jobs *jobs)
{
    const uint64_t start_ns = sbt_reader_session(reader)->start_monotonic_ns;
    struct tsm_submit_jobs submits = {.joined_count = 0};
    int error = 0;

    for (size_t i = 0; !error && i < tsm_ring_jobs_count(jobs); i++)
        error = note_job(out, tsm_ring_jobs_at(jobs, i), start_ns);
    if (!error)
        error = tsm_submit_jobs_find(&submits, reader, jobs);
    for (size_t i = 0; !error && i < tsm_submit_jobs_count(&submits); i++) {
        const struct tsm_submit_job *submit =
            (const struct tsm_submit_job *)(const void *)submits.list.data + i;

        if (submit->job)
            error = bound_job(out, submit, start_ns);
    }
    tsm_submit_jobs_finish(&submits);
    for (size_t i = 0; i < out->count; i++)
        if (out->list[i].is_ring)
            out->list[i].fit = tsm_drift_fit(&out->list[i].drift);
    return error;
}
