/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/states.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

struct making {
    struct tsm_states *out;
    const struct tsm_workload *w;
    const struct tsm_prediction *s;
    const struct tsm_outcomes *outcomes;
    bool failed;
};

const char *tsm_state_name(enum tsm_state state)
{
    static const char *const names[] = {"idle", "pending",      "wait",   "running",
                                        "sent", "not finished", "failed", "may have failed"};

    return names[state];
}

const char *tsm_state_of_name(enum tsm_state_of of)
{
    static const char *const names[] = {"command", "stream", "engine", "device"};

    return names[of];
}

const char *tsm_state_reason_name(enum tsm_state_reason reason)
{
    static const char *const names[] = {"",      "host",    "latency", "stream",  "default stream",
                                        "event", "signal",  "graph",   "engine",  "device",
                                        "value", "failure", "running", "unknown", "no time"};

    return names[reason];
}

const char *tsm_engine_name(uint32_t engine)
{
    static const char *const names[] = {"marks",   "kernels",   "to device",
                                        "to host", "on device", "host functions"};

    return engine < sizeof(names) / sizeof(*names) ? names[engine] : "?";
}

static void add(struct making *m, const struct tsm_state_interval *interval)
{
    if (interval->begin_ns < interval->end_ns &&
        !TSM_ARRAY_PUSH(m->out->list, m->out->count, m->out->capacity, *interval))
        m->failed = true;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- commands ---------------------------------------------------------------------------------
 */

static uint32_t command_of(const struct making *m, uint32_t part)
{
    return part == TSM_WORKLOAD_NONE ? TSM_WORKLOAD_NONE : m->w->parts[part].command;
}

static enum tsm_state_reason reason_of(enum tsm_prediction_bound bound)
{
    switch (bound) {
    case TSM_BOUND_STREAM:
        return TSM_REASON_STREAM;
    case TSM_BOUND_DEFAULT:
        return TSM_REASON_DEFAULT;
    case TSM_BOUND_EVENT:
        return TSM_REASON_EVENT;
    case TSM_BOUND_VALUE:
    case TSM_BOUND_HOST:
        return TSM_REASON_VALUE;
    case TSM_BOUND_PARENT:
        return TSM_REASON_GRAPH;
    case TSM_BOUND_ENGINE:
        return TSM_REASON_ENGINE;
    default:
        return TSM_REASON_DEVICE;
    }
}

/* Adds what a part did from `from_ns` on until its end: on its way, waiting, waiting for an engine,
 * running. `i` says of what. */
static void add_life(struct making *m, uint32_t part, uint64_t from_ns, struct tsm_state_interval i)
{
    const struct tsm_scheduled_part *p = &m->s->parts[part];
    const uint64_t start_ns = later(from_ns, p->start_ns);
    uint64_t arrival_ns = p->sent_ns + m->w->machine.launch_latency_ns;
    uint64_t ready_ns = p->ready_ns;

    arrival_ns = earlier(later(arrival_ns, from_ns), start_ns);
    ready_ns = earlier(later(ready_ns, arrival_ns), start_ns);
    i.command = m->w->parts[part].command;
    i.state = TSM_STATE_PENDING;
    i.reason = TSM_REASON_LATENCY;
    i.by = TSM_WORKLOAD_NONE;
    i.begin_ns = from_ns;
    i.end_ns = arrival_ns;
    add(m, &i);
    i.state = TSM_STATE_WAIT;
    i.reason = reason_of(p->waited_for);
    i.by = p->waited_for == TSM_BOUND_THREAD || p->waited_for == TSM_BOUND_HOST
               ? TSM_WORKLOAD_NONE
               : command_of(m, p->waited_by);
    i.begin_ns = arrival_ns;
    i.end_ns = ready_ns;
    add(m, &i);
    i.state = TSM_STATE_PENDING;
    i.reason = p->bound == TSM_BOUND_ENGINE ? TSM_REASON_ENGINE : TSM_REASON_DEVICE;
    i.by = p->bound == TSM_BOUND_ENGINE ? command_of(m, p->by) : TSM_WORKLOAD_NONE;
    i.begin_ns = ready_ns;
    i.end_ns = start_ns;
    add(m, &i);
    i.state = TSM_STATE_RUNNING;
    i.reason = TSM_REASON_NONE;
    i.by = TSM_WORKLOAD_NONE;
    i.begin_ns = start_ns;
    i.end_ns = later(start_ns, p->end_ns);
    add(m, &i);
}

static bool has_finished(const struct making *m, uint32_t command)
{
    return m->outcomes->list[command].outcome == TSM_OUTCOME_FINISHED;
}

enum tsm_state_reason tsm_state_reason_of(const struct tsm_command_outcome *o)
{
    static const enum tsm_state_reason reasons[] = {
        [TSM_HINDRANCE_UNKNOWN] = TSM_REASON_UNKNOWN, [TSM_HINDRANCE_WAITED] = TSM_REASON_RUNNING,
        [TSM_HINDRANCE_STREAM] = TSM_REASON_STREAM,   [TSM_HINDRANCE_DEFAULT] = TSM_REASON_DEFAULT,
        [TSM_HINDRANCE_EVENT] = TSM_REASON_EVENT,     [TSM_HINDRANCE_SIGNAL] = TSM_REASON_SIGNAL,
        [TSM_HINDRANCE_VALUE] = TSM_REASON_VALUE,     [TSM_HINDRANCE_FAILURE] = TSM_REASON_FAILURE};

    return o->outcome == TSM_OUTCOME_UNFINISHED ? reasons[o->hindrance] : TSM_REASON_NONE;
}

enum tsm_state tsm_state_of_outcome(const struct tsm_command_outcome *o)
{
    return o->outcome == TSM_OUTCOME_FAILED            ? TSM_STATE_FAILED
           : o->outcome == TSM_OUTCOME_MAY_HAVE_FAILED ? TSM_STATE_MAY_HAVE_FAILED
                                                       : TSM_STATE_UNFINISHED;
}

/* Adds all that is known of a command that has not finished, even where it takes no time. `i` says
 * of what. */
static void add_unfinished(struct making *m, uint32_t command, uint64_t from_ns,
                           struct tsm_state_interval i)
{
    const struct tsm_command_outcome *o = &m->outcomes->list[command];

    i.state = tsm_state_of_outcome(o);
    i.reason = tsm_state_reason_of(o);
    i.command = command;
    i.by = o->by;
    i.begin_ns = earlier(from_ns, m->s->end_ns);
    i.end_ns = m->s->end_ns;
    if (!TSM_ARRAY_PUSH(m->out->list, m->out->count, m->out->capacity, i))
        m->failed = true;
}

static uint64_t error_of(const struct making *m, uint32_t part)
{
    return m->w->commands[m->w->parts[part].command].recorded.error_ns;
}

static bool has_time(const struct making *m, uint32_t part)
{
    return m->w->commands[m->w->parts[part].command].recorded.kind == TSM_TIME_MEASURED;
}

/* Notes that the part began at least `by_ns` too early, if both times are known so well. */
static void find(struct making *m, uint32_t part, uint32_t before, uint64_t by_ns)
{
    const uint64_t error_ns =
        error_of(m, part) + (before == TSM_WORKLOAD_NONE ? 0 : error_of(m, before));

    if (!has_time(m, part) || (before != TSM_WORKLOAD_NONE && !has_time(m, before)))
        return;
    if (by_ns > error_ns &&
        !TSM_ARRAY_PUSH(m->out->findings, m->out->finding_count, m->out->finding_capacity,
                        (struct tsm_state_finding){command_of(m, part), command_of(m, before),
                                                   by_ns - error_ns}))
        m->failed = true;
}

/* Looks whether the part began before it could. */
static void check(struct making *m, uint32_t part)
{
    const struct tsm_scheduled_part *p = &m->s->parts[part];
    const struct tsm_scheduled_part *by =
        p->brought_by == TSM_WORKLOAD_NONE ? NULL : &m->s->parts[p->brought_by];

    if (p->start_ns < p->sent_ns)
        find(m, part, TSM_WORKLOAD_NONE, p->sent_ns - p->start_ns);
    if (by && by->is_done && by->end_ns > p->start_ns)
        find(m, part, p->brought_by, by->end_ns - p->start_ns);
    for (size_t i = p->first_before; i < p->first_before + p->before_count; i++) {
        const struct tsm_scheduled_part *before = &m->s->parts[m->s->before[i]];

        if (before->is_done && before->end_ns > p->start_ns)
            find(m, part, m->s->before[i], before->end_ns - p->start_ns);
    }
}

static void add_commands(struct making *m)
{
    for (size_t i = 0; i < m->w->command_count; i++) {
        const struct tsm_workload_command *c = &m->w->commands[i];
        const struct tsm_state_interval of = {.of = TSM_STATE_OF_COMMAND,
                                              .device = m->w->streams[c->stream].device,
                                              .place = (uint32_t)i,
                                              .step = TSM_WORKLOAD_NONE};
        uint64_t from_ns = m->s->parts[c->first_part].sent_ns;

        if (!has_finished(m, (uint32_t)i)) {
            add_unfinished(m, (uint32_t)i, from_ns, of);
            continue;
        }
        for (uint32_t k = c->first_part; k < c->first_part + c->part_count; k++) {
            if (!m->s->parts[k].is_done)
                continue;
            check(m, k);
            /* Nodes of a graph overlap: of each one what is left when the one before it has ended.
             */
            if (k == c->first_part || m->s->parts[k].end_ns > from_ns)
                add_life(m, k, from_ns, of);
            from_ns = later(from_ns, m->s->parts[k].end_ns);
        }
    }
}

/* ---- streams ----------------------------------------------------------------------------------
 */

/* The state of a stream is that of the first of its parts that has not ended. Behind one that never
 * does there is no other state. */
static void add_streams(struct making *m, uint64_t *at_ns)
{
    for (size_t i = 0; i < m->w->stream_count; i++)
        at_ns[i] = m->s->begin_ns;
    for (size_t i = 0; i < m->w->part_count; i++) {
        const struct tsm_workload_command *c = &m->w->commands[m->w->parts[i].command];
        const struct tsm_scheduled_part *p = &m->s->parts[i];
        struct tsm_state_interval idle = {.of = TSM_STATE_OF_STREAM,
                                          .state = TSM_STATE_IDLE,
                                          .reason = TSM_REASON_HOST,
                                          .device = m->w->streams[c->stream].device,
                                          .place = c->stream,
                                          .command = TSM_WORKLOAD_NONE,
                                          .by = TSM_WORKLOAD_NONE,
                                          .step = c->step};

        if (at_ns[c->stream] == UINT64_MAX || !p->is_done ||
            (p->end_ns <= at_ns[c->stream] && p->sent_ns <= at_ns[c->stream]))
            continue;
        idle.begin_ns = at_ns[c->stream];
        idle.end_ns = p->sent_ns;
        add(m, &idle);
        idle.step = TSM_WORKLOAD_NONE;
        if (!has_finished(m, m->w->parts[i].command)) {
            add_unfinished(m, m->w->parts[i].command, later(at_ns[c->stream], p->sent_ns), idle);
            at_ns[c->stream] = UINT64_MAX;
            continue;
        }
        add_life(m, (uint32_t)i, later(at_ns[c->stream], p->sent_ns), idle);
        at_ns[c->stream] = later(later(at_ns[c->stream], p->sent_ns), p->end_ns);
    }
    for (size_t i = 0; i < m->w->stream_count; i++)
        add(m, &(struct tsm_state_interval){.of = TSM_STATE_OF_STREAM,
                                            .state = TSM_STATE_IDLE,
                                            .reason = TSM_REASON_HOST,
                                            .device = m->w->streams[i].device,
                                            .place = (uint32_t)i,
                                            .command = TSM_WORKLOAD_NONE,
                                            .by = TSM_WORKLOAD_NONE,
                                            .step = TSM_WORKLOAD_NONE,
                                            .begin_ns = at_ns[i],
                                            .end_ns = m->s->end_ns});
}

/* ---- engines and devices ----------------------------------------------------------------------
 */

struct run {
    uint32_t device, kind, part;
    uint64_t start_ns, end_ns;
};

static int by_start(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* Adds when one engine, or a device, ran something, and when not. Returns behind its runs. */
static size_t add_track(struct making *m, const struct run *runs, size_t count, size_t first,
                        enum tsm_state_of of)
{
    struct tsm_state_interval i = {.of = of,
                                   .device = runs[first].device,
                                   .place = runs[first].kind,
                                   .by = TSM_WORKLOAD_NONE,
                                   .step = TSM_WORKLOAD_NONE};
    uint64_t at_ns = m->s->begin_ns;
    size_t k = first;

    for (; k < count && runs[k].device == runs[first].device && runs[k].kind == runs[first].kind;
         k++) {
        i.state = TSM_STATE_IDLE;
        i.command = TSM_WORKLOAD_NONE;
        i.begin_ns = at_ns;
        i.end_ns = runs[k].start_ns;
        add(m, &i);
        i.state = TSM_STATE_RUNNING;
        i.command = command_of(m, runs[k].part);
        i.begin_ns = later(at_ns, runs[k].start_ns);
        i.end_ns = runs[k].end_ns;
        add(m, &i);
        at_ns = later(at_ns, runs[k].end_ns);
    }
    i.state = TSM_STATE_IDLE;
    i.command = TSM_WORKLOAD_NONE;
    i.begin_ns = at_ns;
    i.end_ns = m->s->end_ns;
    add(m, &i);
    return k;
}

static void add_tracks(struct making *m)
{
    struct run *runs = malloc((m->w->part_count + 1) * sizeof(*runs));
    size_t count = 0;

    if (!runs) {
        m->failed = true;
        return;
    }
    for (size_t i = 0; i < m->w->part_count; i++) {
        const struct tsm_scheduled_part *p = &m->s->parts[i];
        const uint32_t stream = m->w->commands[m->w->parts[i].command].stream;

        if (p->is_done && has_finished(m, m->w->parts[i].command) &&
            tsm_workload_kind(m->w, i) != TSM_DEVICE_NONE)
            runs[count++] = (struct run){m->w->streams[stream].device, tsm_workload_kind(m->w, i),
                                         (uint32_t)i, p->start_ns, p->end_ns};
    }
    qsort(runs, count, sizeof(*runs), by_start);
    for (size_t i = 0; i < count;)
        i = add_track(m, runs, count, i, TSM_STATE_OF_ENGINE);
    for (size_t i = 0; i < count; i++)
        runs[i].kind = 0;
    qsort(runs, count, sizeof(*runs), by_start);
    for (size_t i = 0; i < count;)
        i = add_track(m, runs, count, i, TSM_STATE_OF_DEVICE);
    free(runs);
}

static int by_place(const void *a, const void *b)
{
    const struct tsm_state_interval *x = a, *y = b;

    if (x->of != y->of)
        return x->of < y->of ? -1 : 1;
    if (x->of >= TSM_STATE_OF_ENGINE && x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

int tsm_states_make(struct tsm_states *out, const struct tsm_workload *w,
                    const struct tsm_prediction *s, const struct tsm_outcomes *outcomes)
{
    struct making m = {.out = out, .w = w, .s = s, .outcomes = outcomes};
    uint64_t *at_ns = malloc((w->stream_count + 1) * sizeof(*at_ns));

    *out = (struct tsm_states){0};
    if (at_ns) {
        add_commands(&m);
        add_streams(&m, at_ns);
        add_tracks(&m);
    }
    if (out->count)
        qsort(out->list, out->count, sizeof(*out->list), by_place);
    m.failed |= !at_ns;
    free(at_ns);
    return m.failed ? tsm_fail(TSM_E_MEMORY, "no memory for states") : 0;
}

void tsm_states_finish(struct tsm_states *states)
{
    free(states->list);
    free(states->findings);
    *states = (struct tsm_states){0};
}
