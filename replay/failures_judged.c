/* SPDX-License-Identifier: Apache-2.0
 *
 * Judges failures of commands: whether the replay failed as the recording did (docs/verdict.md).
 */
#include <stdlib.h>

#include "format/filter.h"
#include "replay/player.h"

static bool in_range(const struct tsm_replay *p, uint64_t seq)
{
    const struct sbt_filter *f = &p->options.filter;

    return seq >= f->seq_first && (!f->seq_end || seq < f->seq_end);
}

/* Tests whether the failure is a result of the part that was asked for: the call that said so lies
 * in it, or all commands that can have failed do. */
static bool is_wanted(const struct tsm_replay *p, const struct tsm_recorded_failure *e)
{
    return in_range(p, e->seq) || (e->command_count && in_range(p, e->commands[0]) &&
                                   in_range(p, e->commands[e->command_count - 1]));
}

static bool is_candidate(const struct tsm_recorded_failure *e, uint64_t seq)
{
    for (size_t i = 0; i < e->command_count; i++)
        if (e->commands[i] == seq)
            return true;
    return false;
}

/* Tests whether no command can have failed but those that can have in the recording: of all others
 * that were sent it is known that they are complete. */
static bool are_others_complete(const struct tsm_replay *p, const struct tsm_recorded_failure *e)
{
    for (size_t i = 0; i < e->stream_count; i++) {
        const struct tsm_failure_stream *s = &e->streams[i];
        const struct tsm_track *track =
            s->number < p->order.track_count ? &p->order.tracks[s->number] : NULL;

        if (track && track->worker && track->complete_position < track->position &&
            track->complete_position < s->known_position)
            return false;
    }
    return true;
}

static enum tsm_failure_end end_of(const struct tsm_replay *p, const struct tsm_recorded_failure *e)
{
    if (e->found.result != e->result)
        return TSM_FAILURE_OTHER;
    if (e->found.has_command)
        return is_candidate(e, e->found.seq) ? TSM_FAILURE_AS_RECORDED : TSM_FAILURE_OTHER;
    return !p->scheduled && are_others_complete(p, e) ? TSM_FAILURE_AS_RECORDED
                                                      : TSM_FAILURE_UNKNOWN;
}

static void settle(struct tsm_replay *p, struct tsm_recorded_failure *e, enum tsm_failure_end end)
{
    e->end = end;
    if (!tsm_timing_is_compared(p))
        return;
    if (end == TSM_FAILURE_UNKNOWN)
        tsm_verify_pass_over(&p->verify, TSM_UNCOMPARED_FAILURE);
    else if (end == TSM_FAILURE_AS_RECORDED)
        p->failure_count += is_wanted(p, e);
    else if (!p->failed)
        p->failed = e;
    p->stop |= (end == TSM_FAILURE_OTHER || end == TSM_FAILURE_NONE) && !p->options.keep_going;
}

void tsm_failures_judge(struct tsm_replay *p)
{
    struct tsm_recorded_failures *f = &p->failures;
    bool has_failed;

    for (size_t i = 0; i < f->count && atomic_load(&f->any); i++) {
        pthread_mutex_lock(&f->lock);
        has_failed = f->list[i].has_failed;
        pthread_mutex_unlock(&f->lock);
        if (has_failed && f->list[i].end == TSM_FAILURE_OPEN)
            settle(p, &f->list[i], end_of(p, &f->list[i]));
    }
}

/* Everything that the failure can come from is complete. */
static void judge_absent(struct tsm_replay *p, struct tsm_recorded_failure *e)
{
    tsm_recorded_failures_take(&p->failures); /* no function need have said so */
    tsm_failures_judge(p);
    if (e->end != TSM_FAILURE_OPEN || !is_wanted(p, e))
        return;
    if (e->command_count && e->sent_count == e->command_count)
        settle(p, e, TSM_FAILURE_NONE);
    else if (e->sent_count && in_range(p, e->seq))
        settle(p, e, TSM_FAILURE_UNKNOWN); /* not all of them were sent */
}

int tsm_failures_await(struct tsm_replay *p, uint64_t seq, tsm_stream_wait wait)
{
    struct tsm_recorded_failure *e = tsm_recorded_failures_of(&p->failures, seq);
    int error = 0;

    if (!e || p->scheduled || seq < p->plan.from_seq)
        return 0;
    if (e->command_count && e->commands[e->command_count - 1] > seq)
        return 0; /* of a call under way in another thread: it is sent later */
    for (size_t i = 0; i < e->stream_count && !error; i++)
        if (e->streams[i].number < p->order.track_count)
            error = wait(p, e->streams[i].number);
    if (!error)
        judge_absent(p, e);
    return error;
}

void tsm_failures_end(struct tsm_replay *p)
{
    for (size_t i = 0; i < p->failures.count && !p->stop; i++)
        if (p->failures.list[i].end == TSM_FAILURE_OPEN)
            judge_absent(p, &p->failures.list[i]);
}

void tsm_failures_spoil(struct tsm_replay *p, uint32_t stream)
{
    p->verify.has_failed = tsm_recorded_failures_has_failed(&p->failures, stream);
}
