/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/outcomes.h"

#include "analysis/model/pass.h"
#include "analysis/model/work.h"
#include "analysis/time/host_waits.h"
#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

/* Latest commands of one context. */
struct context {
    uint32_t on_default, joining;      /* place + 1 of the latest that has not finished; 0: none */
    uint32_t default_end, joining_end; /* ... that has */
};

struct making {
    struct tsm_outcomes *out;
    const struct tsm_workload *w;
    struct sbt_reader *reader;
    struct tsm_host_waits waits;
    uint64_t *ends;        /* by stream: up to which position commands have finished */
    uint32_t *contexts_of; /* by stream: place */
    struct context *contexts;
    bool is_waiting; /* a wait of the host had not returned */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the outcomes of commands");
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static int add_call(void *user, const struct tsm_call_node *call)
{
    struct making *m = user;
    const uint32_t flags = call->record->flags;

    if (!call->schema)
        return 0;
    m->is_waiting |= call->is_wait && flags & SBT_RECORD_UNFINISHED;
    if (!(flags & SBT_RECORD_FAILED))
        return tsm_host_waits_note(&m->waits, call);
    return tsm_api_traits(call->record->type) & TSM_API_IN_ORDER
               ? tsm_failures_note(&m->out->failures, m->reader, call)
               : 0;
}

static int add_core(void *user, const struct sbt_record *record)
{
    struct making *m = user;

    return tsm_host_waits_note_core(&m->waits, record);
}

/* ---- commands that have finished --------------------------------------------------------------
 */

/* Returns the failure that a command was sent before; NULL: there is none. */
static struct tsm_failure *failure_after(const struct making *m,
                                         const struct tsm_workload_command *c)
{
    struct tsm_failure *f = tsm_failures_find(&m->out->failures, m->w->streams[c->stream].owner);

    return f && m->w->steps[c->step].call_ns < f->told_ns ? f : NULL;
}

/* A wait behind the failure of the context is one in a context that was made again. */
static bool is_told(const struct making *m, const struct tsm_workload_command *c)
{
    const struct tsm_command_node node = {
        .stream = m->w->streams[c->stream].number, .position = c->position, .part = UINT32_MAX};
    const struct tsm_host_wait *wait = tsm_host_waits_find(&m->waits, &node);
    const struct tsm_failure *failure = failure_after(m, c);

    return c->recorded.kind == TSM_TIME_MEASURED ||
           (wait && (!failure || wait->known_ns <= failure->told_ns));
}

static bool is_behind(const struct making *m, const struct tsm_workload_command *c)
{
    return c->position > m->ends[c->stream];
}

/* Tests whether the call that sent a command had returned before that of the one at `place` - 1. */
static bool is_sent_before(const struct making *m, const struct tsm_workload_command *c,
                           uint32_t place)
{
    const struct tsm_workload_step *step = &m->w->steps[c->step], *other;

    if (!place)
        return false;
    other = &m->w->steps[m->w->commands[place - 1].step];
    return step->thread == other->thread || step->returned_ns <= other->call_ns;
}

/* Notes what has finished because this command has. */
static void note_finished(const struct making *m, uint32_t place)
{
    const struct tsm_workload_command *c = &m->w->commands[place];
    const struct tsm_workload_stream *s = &m->w->streams[c->stream];
    struct context *context = &m->contexts[m->contexts_of[c->stream]];

    m->ends[c->stream] = c->position > m->ends[c->stream] ? c->position : m->ends[c->stream];
    for (uint32_t i = 0; i < c->event_count; i++) {
        const struct tsm_workload_command *e =
            &m->w->commands[m->w->events[c->first_event + i].command];

        if (is_behind(m, e))
            m->ends[e->stream] = e->position;
    }
    if (s->is_default && !context->default_end)
        context->default_end = place + 1;
    else if (!s->is_default && !s->is_apart && !context->joining_end)
        context->joining_end = place + 1;
}

/* Finds which commands have finished: those of which it was told, and what these had to wait for,
 * which was sent before them. */
static void find_finished(const struct making *m)
{
    for (size_t i = m->w->command_count; i--;) {
        const struct tsm_workload_command *c = &m->w->commands[i];
        const struct tsm_workload_stream *s = &m->w->streams[c->stream];
        const struct context *context = &m->contexts[m->contexts_of[c->stream]];
        const uint32_t other = s->is_default ? context->joining_end
                               : s->is_apart ? 0
                                             : context->default_end;

        if (!is_behind(m, c) || is_told(m, c) || is_sent_before(m, c, other))
            note_finished(m, (uint32_t)i);
    }
}

static int find_contexts(struct making *m)
{
    struct tsm_map places = {0}; /* owner -> place + 1 */
    size_t count = 0;
    int error = 0;

    for (size_t i = 0; i < m->w->stream_count && !error; i++) {
        bool added;
        uint64_t *place = tsm_map_insert(&places, m->w->streams[i].owner, &added);

        if (place && added)
            *place = ++count;
        if (place)
            m->contexts_of[i] = (uint32_t)*place - 1;
        error = place ? 0 : no_memory();
    }
    tsm_map_finish(&places);
    return error;
}

/* ---- commands that have not -------------------------------------------------------------------
 */

static bool is_unfinished(const struct making *m, uint32_t place)
{
    return m->out->list[place].outcome != TSM_OUTCOME_FINISHED;
}

static struct tsm_command_outcome blocked(enum tsm_hindrance hindrance, uint32_t by)
{
    return (struct tsm_command_outcome){TSM_OUTCOME_UNFINISHED, hindrance, by};
}

/* Says what a command had to wait for, of what has not finished. */
static struct tsm_command_outcome outcome_of(const struct making *m, uint32_t place)
{
    const struct tsm_workload_command *c = &m->w->commands[place];
    const struct tsm_workload_stream *s = &m->w->streams[c->stream];
    const struct context *context = &m->contexts[m->contexts_of[c->stream]];
    const uint32_t other = s->is_default ? context->joining : s->is_apart ? 0 : context->on_default;

    if (c->previous != TSM_WORKLOAD_NONE && is_unfinished(m, c->previous))
        return blocked(TSM_HINDRANCE_STREAM, c->previous);
    for (uint32_t i = 0; i < c->event_count; i++)
        if (is_unfinished(m, m->w->events[c->first_event + i].command))
            return blocked(TSM_HINDRANCE_EVENT, m->w->events[c->first_event + i].command);
    if (other)
        return blocked(TSM_HINDRANCE_DEFAULT, other - 1);
    if (c->schema->kind == SBT_KIND_WAIT && !c->event)
        return blocked(TSM_HINDRANCE_VALUE, TSM_WORKLOAD_NONE);
    if (c->event) /* it has nothing more to wait for, and takes no time */
        return (struct tsm_command_outcome){.by = TSM_WORKLOAD_NONE};
    return blocked(m->is_waiting ? TSM_HINDRANCE_WAITED : TSM_HINDRANCE_UNKNOWN, TSM_WORKLOAD_NONE);
}

static void note_unfinished(const struct making *m, uint32_t place)
{
    const uint32_t stream = m->w->commands[place].stream;
    struct context *context = &m->contexts[m->contexts_of[stream]];

    m->out->unfinished_count++;
    if (m->w->streams[stream].is_default)
        context->on_default = place + 1;
    else if (!m->w->streams[stream].is_apart)
        context->joining = place + 1;
}

/* Goes through commands in the order in which they were sent. */
static void find_unfinished(const struct making *m)
{
    for (size_t i = 0; i < m->w->command_count; i++)
        m->out->list[i].outcome =
            is_behind(m, &m->w->commands[i]) ? TSM_OUTCOME_UNFINISHED : TSM_OUTCOME_FINISHED;
    for (uint32_t i = 0; i < m->w->command_count; i++) {
        if (is_unfinished(m, i))
            m->out->list[i] = outcome_of(m, i);
        if (is_unfinished(m, i))
            note_unfinished(m, i);
    }
}

/* ---- failures ---------------------------------------------------------------------------------
 */

static struct tsm_failure *failure_of(const struct making *m, uint32_t place)
{
    return is_unfinished(m, place) ? failure_after(m, &m->w->commands[place]) : NULL;
}

/* Events, waits and functions of the program do not fail. */
static bool can_fail(const struct tsm_workload_command *c)
{
    const enum tsm_work work = tsm_work_of_type(c->schema).work;

    return work != TSM_WORK_ORDER && work != TSM_WORK_HOST_FUNCTION;
}

static void find_failed(struct making *m)
{
    for (uint32_t i = 0; i < m->w->command_count && m->out->failures.count; i++) {
        struct tsm_failure *f = failure_of(m, i);

        if (f && can_fail(&m->w->commands[i]) && !f->count++)
            f->first = i;
    }
    for (uint32_t i = 0; i < m->w->command_count && m->out->failures.count; i++) {
        const struct tsm_failure *f = failure_of(m, i);
        struct tsm_command_outcome *o = &m->out->list[i];

        if (!f)
            continue;
        o->hindrance = TSM_HINDRANCE_FAILURE;
        o->by = f->count == 1 && f->first != i ? f->first : TSM_WORKLOAD_NONE;
        if (can_fail(&m->w->commands[i]))
            o->outcome = f->count == 1 ? TSM_OUTCOME_FAILED : TSM_OUTCOME_MAY_HAVE_FAILED;
    }
}

/* ---- all --------------------------------------------------------------------------------------
 */

static int make(struct making *m)
{
    const struct tsm_model_visitor visitor = {.user = m, .call = add_call, .core = add_core};
    struct tsm_model_counts counts;
    int error = tsm_model_pass(&counts, m->reader, NULL, &visitor);

    if (!error)
        error = find_contexts(m);
    if (error)
        return error;
    m->out->last_ns = counts.last_ns > 0 ? (uint64_t)counts.last_ns : 0;
    find_finished(m);
    find_unfinished(m);
    find_failed(m);
    return 0;
}

int tsm_outcomes_make(struct tsm_outcomes *out, const struct tsm_workload *w,
                      struct sbt_reader *reader)
{
    struct making m = {.out = out,
                       .w = w,
                       .reader = reader,
                       .waits = {.reader = reader},
                       .ends = calloc(w->stream_count + 1, sizeof(*m.ends)),
                       .contexts_of = calloc(w->stream_count + 1, sizeof(*m.contexts_of)),
                       .contexts = calloc(w->stream_count + 1, sizeof(*m.contexts))};
    int error;

    *out = (struct tsm_outcomes){.list = calloc(w->command_count + 1, sizeof(*out->list))};
    error = m.ends && m.contexts_of && m.contexts && out->list ? make(&m) : no_memory();
    free(m.ends);
    free(m.contexts_of);
    free(m.contexts);
    tsm_host_waits_finish(&m.waits);
    return error;
}

void tsm_outcomes_finish(struct tsm_outcomes *outcomes)
{
    free(outcomes->list);
    tsm_failures_finish(&outcomes->failures);
    *outcomes = (struct tsm_outcomes){0};
}

const char *tsm_hindrance_name(enum tsm_hindrance hindrance)
{
    static const char *const names[] = {"unknown", "running", "stream", "default stream",
                                        "event",   "signal",  "value",  "failure"};

    return names[hindrance];
}
