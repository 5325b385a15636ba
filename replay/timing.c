/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs whose commands are timed on the device (struct tsm_replay_options, timed_runs).
 */
#include "replay/player.h"

#include <string.h>

unsigned tsm_timing_run_count(const struct tsm_replay *p)
{
    const struct tsm_replay_options *o = &p->options;

    if (o->timed_runs)
        return p->backend->timing ? o->warmup_runs + o->timed_runs : 1;
    return o->loop ? o->loop : 1;
}

bool tsm_timing_is_timed(const struct tsm_replay *p)
{
    return p->options.timed_runs && p->backend->timing && p->run >= p->options.warmup_runs;
}

int tsm_timing_begin(struct tsm_replay *p)
{
    return tsm_timing_is_timed(p) ? p->backend->timing->start(p->state, p->part_first) : 0;
}

/* Leaves out what was sent only because the part needs it. */
static bool is_wanted(const struct tsm_replay *p, const struct tsm_replay_time *time)
{
    const struct sbt_filter *f = &p->options.filter;

    return time->seq >= p->part_first && (!f->seq_end || time->seq < f->seq_end) &&
           tsm_is_wanted_stream(p, time->stream);
}

/* Times of a run on their way out. */
struct handing {
    struct tsm_replay *p;
    uint64_t count;
};

static int hand_out(void *user, const struct tsm_replay_time *time)
{
    struct handing *h = user;
    struct tsm_replay_time own = *time;

    if (!is_wanted(h->p, time))
        return 0;
    own.run = h->p->run - h->p->options.warmup_runs;
    h->count++;
    return h->p->options.on_time ? h->p->options.on_time(h->p->options.user, &own) : 0;
}

int tsm_timing_end(struct tsm_replay *p)
{
    const struct tsm_backend_timing *timing = p->backend->timing;
    struct handing h = {p, 0};
    int error;

    if (!tsm_timing_is_timed(p) || p->stop)
        return 0;
    error = timing->report(p->state, hand_out, &h);
    p->result.timed_run_count += !error && h.count > 0;
    if (!error && timing->clocks)
        timing->clocks(p->state, p->result.clocks, sizeof(p->result.clocks));
    return error;
}

void tsm_timing_settle(struct tsm_replay *p, const struct tsm_replay_result *compared)
{
    struct tsm_replay_result all = p->result;

    p->result = *compared;
    p->result.elapsed_ns = all.elapsed_ns;
    p->result.timed_run_count = all.timed_run_count;
    memcpy(p->result.clocks, all.clocks, sizeof(all.clocks));
}

bool tsm_replay_can_time(const char *api)
{
    if (strcmp(api, TSM_TOGETHER_NAME) == 0)
        return true;
    for (size_t i = 0; tsm_backends[i]; i++)
        if (strcmp(tsm_backends[i]->description->name, api) == 0)
            return tsm_backends[i]->timing != NULL;
    return false;
}

bool tsm_replay_can_replace_kernels(const char *api)
{
    if (strcmp(api, TSM_TOGETHER_NAME) == 0)
        return true;
    for (size_t i = 0; tsm_backends[i]; i++)
        if (strcmp(tsm_backends[i]->description->name, api) == 0)
            return tsm_backends[i]->report && tsm_backends[i]->report->replaced;
    return false;
}
