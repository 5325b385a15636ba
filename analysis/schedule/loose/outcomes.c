/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/loose/outcomes.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE TSM_WORKLOAD_NONE

struct finding {
    struct tsm_loose *l;
    uint32_t *todo; /* commands that have finished, of which the edges are to be followed */
    size_t todo_count;
    uint32_t *until; /* by stream: commands before this place in `sorted` have finished */
    bool *is_done;   /* by command */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the outcomes of commands");
}

/* ---- commands that have finished --------------------------------------------------------------
 */

static void note_done(struct finding *f, uint32_t command)
{
    if (f->is_done[command])
        return;
    f->is_done[command] = true;
    f->todo[f->todo_count++] = command;
}

/* Notes that commands of a stream have finished, [first, last) in `sorted`. */
static void note_range(struct finding *f, uint32_t first, uint32_t last)
{
    const struct tsm_loose *l = f->l;
    uint32_t *until;

    if (first == last)
        return;
    until = &f->until[l->commands[l->sorted[first]].stream];
    if (first == l->streams[l->commands[l->sorted[first]].stream].first && last - first > 1) {
        first = first < *until ? *until : first;
        *until = last > *until ? last : *until;
    }
    for (; first < last; first++)
        note_done(f, l->sorted[first]);
}

/* Notes what had to be over before a record that is over itself. */
static void follow(struct finding *f, const struct tsm_dependency_node *node)
{
    const struct tsm_dependency_graph *g = &f->l->graph;

    for (size_t e = node[0].first_edge; e < node[1].first_edge; e++) {
        uint32_t first, last;

        tsm_loose_over_with(f->l, &g->edges[e], &first, &last);
        note_range(f, first, last);
    }
}

/* A mark ends before anything behind it on its stream begins. */
static void find_marks(struct finding *f)
{
    const struct tsm_loose *l = f->l;

    for (size_t i = 0; i < l->stream_count; i++) {
        bool is_behind = false;

        for (uint32_t k = l->streams[i].count; k--;) {
            const uint32_t command = l->sorted[l->streams[i].first + k];

            if (is_behind && l->commands[command].is_mark)
                note_done(f, command);
            is_behind |= f->is_done[command];
        }
    }
}

static void follow_all(struct finding *f)
{
    while (f->todo_count) {
        const uint64_t seq = f->l->commands[f->todo[--f->todo_count]].seq;
        const struct tsm_dependency_node *node = tsm_dependency_graph_find(&f->l->graph, seq);

        if (node)
            follow(f, node);
    }
}

static void find_finished(struct finding *f)
{
    struct tsm_loose *l = f->l;

    for (uint32_t i = 0; i < l->command_count; i++)
        if (l->commands[i].has_ended || l->commands[i].over_ns != UINT64_MAX)
            note_done(f, i);
    for (size_t i = 0; i < l->call_count; i++) {
        const struct tsm_dependency_node *node =
            l->calls[i].is_over ? tsm_dependency_graph_find(&l->graph, l->calls[i].seq) : NULL;

        if (node)
            follow(f, node);
    }
    follow_all(f);
    find_marks(f);
    follow_all(f);
    for (size_t i = 0; i < l->command_count; i++) {
        l->commands[i].outcome.outcome =
            f->is_done[i] ? TSM_OUTCOME_FINISHED : TSM_OUTCOME_UNFINISHED;
        l->unfinished_count += !f->is_done[i];
    }
}

/* ---- until when -------------------------------------------------------------------------------
 */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns the time at which all that an edge to the command comes from was over. A barrier may lie
 * behind the time stamp with which it begins. */
static uint64_t met_ns(const struct tsm_loose_command *c, const struct tsm_dependency *e)
{
    const bool is_later =
        e->is_part || e->reason == TSM_DEPENDS_BARRIER || c->is_mark || c->is_taken;

    return !c->has_time ? c->over_ns : is_later ? c->end_ns : c->start_ns;
}

/* Notes of commands without times that what waited for them has one. Commands that are sent later
 * come first, so that what they say of earlier ones goes on from there. */
static void find_over(const struct finding *f, uint64_t *over_ns)
{
    struct tsm_loose *l = f->l;

    for (size_t i = 0; i < l->command_count; i++)
        over_ns[i] = UINT64_MAX; /* by place in `sorted`: it, and all before it on its stream */
    for (uint32_t i = (uint32_t)l->command_count; i--;) {
        struct tsm_loose_command *c = &l->commands[i];
        const struct tsm_loose_stream *s = &l->streams[c->stream];
        const struct tsm_dependency *e, *end;
        uint32_t first, last;

        if (c->order + 1 < s->first + s->count)
            over_ns[c->order] = earlier(over_ns[c->order], over_ns[c->order + 1]);
        if (!f->is_done[i])
            continue;
        c->over_ns = earlier(c->over_ns, over_ns[c->order]);
        for (tsm_loose_edges_to(l, i, &e, &end); e < end; e++) {
            tsm_loose_over_with(l, e, &first, &last);
            if (first == last)
                continue;
            if (first == l->streams[l->commands[l->sorted[first]].stream].first)
                over_ns[last - 1] = earlier(over_ns[last - 1], met_ns(c, e));
            else
                l->commands[l->sorted[first]].over_ns =
                    earlier(l->commands[l->sorted[first]].over_ns, met_ns(c, e));
        }
    }
}

/* ---- failures ---------------------------------------------------------------------------------
 */

static struct tsm_failure *failure_of(const struct tsm_loose *l, uint32_t place)
{
    const struct tsm_loose_command *c = &l->commands[place];
    struct tsm_failure *f = tsm_failures_find(&l->failures, c->owner);

    return f && c->outcome.outcome != TSM_OUTCOME_FINISHED && c->call_ns < f->told_ns ? f : NULL;
}

static void find_failed(struct tsm_loose *l)
{
    for (uint32_t i = 0; i < l->command_count && l->failures.count; i++) {
        struct tsm_failure *f = failure_of(l, i);

        if (f && !l->commands[i].is_mark && !f->count++)
            f->first = i;
    }
    for (uint32_t i = 0; i < l->command_count && l->failures.count; i++) {
        const struct tsm_failure *f = failure_of(l, i);
        struct tsm_command_outcome *o = &l->commands[i].outcome;

        if (!f)
            continue;
        o->hindrance = TSM_HINDRANCE_FAILURE;
        o->by = f->count == 1 && f->first != i ? f->first : NONE;
        if (!l->commands[i].is_mark)
            o->outcome = f->count == 1 ? TSM_OUTCOME_FAILED : TSM_OUTCOME_MAY_HAVE_FAILED;
    }
}

/* ---- all --------------------------------------------------------------------------------------
 */

static int find(struct finding *f, struct sbt_reader *reader)
{
    struct tsm_loose *l = f->l;
    uint64_t *over_ns = malloc((l->command_count + 1) * sizeof(*over_ns));
    int error = 0;

    if (!over_ns)
        return no_memory();
    find_finished(f);
    find_over(f, over_ns);
    free(over_ns);
    if (l->unfinished_count)
        error = tsm_loose_values_find(l, reader);
    if (!error && l->unfinished_count)
        error = tsm_loose_hang_find(l);
    if (!error)
        find_failed(l);
    return error;
}

int tsm_loose_outcomes_find(struct tsm_loose *l, struct sbt_reader *reader)
{
    struct finding f = {.l = l,
                        .todo = malloc((l->command_count + 1) * sizeof(*f.todo)),
                        .until = calloc(l->stream_count + 1, sizeof(*f.until)),
                        .is_done = calloc(l->command_count + 1, sizeof(*f.is_done))};
    const int error = f.todo && f.until && f.is_done ? find(&f, reader) : no_memory();

    free(f.todo);
    free(f.until);
    free(f.is_done);
    return error;
}
