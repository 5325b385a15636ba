/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/hang.h"

#include "analysis/model/pass.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE TSM_WORKLOAD_NONE
#define WRITERS_MAX                                                                                \
    64u /* compared with one wait; a wait with more writers counts as one that ends */

/* A write of a value. */
struct value_write {
    uint64_t address, value;
    uint32_t command;
};

/* One command waits for another one: places of nodes. */
struct edge {
    uint32_t from, to; /* `to` ends the wait of `from` */
};

struct finding {
    struct tsm_hang *out;
    const struct tsm_workload *w;
    const struct tsm_outcomes *outcomes;
    uint32_t *node_of; /* by command: place + 1; 0: it has finished */
    struct value_write *writes;
    size_t write_count, write_capacity;
    struct edge *edges;
    size_t edge_count, edge_capacity;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for what commands wait for");
}

/* ---- commands and calls -----------------------------------------------------------------------
 */

static int make_nodes(struct finding *f)
{
    f->node_of = calloc(f->w->command_count + 1, sizeof(*f->node_of));
    f->out->nodes = malloc((f->outcomes->unfinished_count + 1) * sizeof(*f->out->nodes));
    if (!f->node_of || !f->out->nodes)
        return no_memory();
    for (uint32_t i = 0; i < f->w->command_count; i++) {
        if (f->outcomes->list[i].outcome == TSM_OUTCOME_FINISHED)
            continue;
        f->out->nodes[f->out->node_count] =
            (struct tsm_hang_node){.command = i, .next = NONE, .other = NONE};
        f->node_of[i] = (uint32_t)++f->out->node_count;
    }
    return 0;
}

static int add_value(struct finding *f, const struct tsm_call_node *call)
{
    const uint32_t command = tsm_workload_find_command(f->w, call->record->seq);
    struct tsm_value_access value;

    if (command == NONE || !tsm_value_access_of(&value, call->record, call->schema))
        return 0;
    if (f->node_of[command]) {
        struct tsm_hang_node *n = &f->out->nodes[f->node_of[command] - 1];

        n->has_value = true;
        n->value = value;
    }
    if (value.kind == SBT_VALUE_WRITE &&
        !TSM_ARRAY_PUSH(f->writes, f->write_count, f->write_capacity,
                        (struct value_write){value.address, value.value, command}))
        return no_memory();
    return 0;
}

static int add_call(void *user, const struct tsm_call_node *call)
{
    struct finding *f = user;
    const struct sbt_record *record = call->record;

    if (call->schema && record->flags & SBT_RECORD_UNFINISHED &&
        !TSM_ARRAY_PUSH(f->out->calls, f->out->call_count, f->out->call_capacity,
                        (struct tsm_hung_call){record->seq, record->time_ns, call->schema,
                                               record->thread, record->stream}))
        return no_memory();
    return call->is_command ? add_value(f, call) : 0;
}

/* ---- edges ------------------------------------------------------------------------------------
 */

static int by_address(const void *a, const void *b)
{
    const struct value_write *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

static bool add_edge(struct finding *f, uint32_t from, uint32_t to)
{
    return TSM_ARRAY_PUSH(f->edges, f->edge_count, f->edge_capacity, (struct edge){from, to});
}

/* Finds the writes that would end the wait. */
static bool find_writers(struct finding *f, uint32_t place)
{
    struct tsm_hang_node *n = &f->out->nodes[place];
    size_t at, last;

    TSM_BISECT(at, f->write_count, f->writes[at].address >= n->value.address);
    TSM_BISECT(last, f->write_count, f->writes[last].address > n->value.address);
    n->is_cut = last - at > WRITERS_MAX;
    if (n->is_cut)
        return true;
    for (; at < last; at++) {
        const uint32_t writer = f->node_of[f->writes[at].command];

        if (!tsm_value_ends(&n->value, f->writes[at].value))
            n->other = f->writes[at].command;
        else if (writer && writer - 1 != place) {
            n->next = n->writer_count++ ? n->next : writer - 1;
            if (!add_edge(f, place, writer - 1))
                return false;
        }
    }
    return true;
}

static int find_edges(struct finding *f)
{
    if (f->write_count)
        qsort(f->writes, f->write_count, sizeof(*f->writes), by_address);
    for (uint32_t i = 0; i < f->out->node_count; i++) {
        struct tsm_hang_node *n = &f->out->nodes[i];
        const struct tsm_command_outcome *o = &f->outcomes->list[n->command];

        if (o->hindrance == TSM_HINDRANCE_VALUE && n->has_value) {
            if (!find_writers(f, i))
                return no_memory();
        } else if (o->by != NONE && f->node_of[o->by]) {
            n->next = f->node_of[o->by] - 1;
            if (!add_edge(f, i, n->next))
                return no_memory();
        }
    }
    return 0;
}

/* ---- cycles -----------------------------------------------------------------------------------
 */

static int by_end(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Finds the nodes that may go on: those that wait for nothing known, and from there on each that
 * one of these may let go on. The others are stuck. */
static int find_stuck(struct finding *f)
{
    uint32_t *todo = malloc((f->out->node_count + 1) * sizeof(*todo));
    size_t count = 0;

    if (!todo)
        return no_memory();
    if (f->edge_count)
        qsort(f->edges, f->edge_count, sizeof(*f->edges), by_end);
    for (uint32_t i = 0; i < f->out->node_count; i++) {
        f->out->nodes[i].is_stuck = f->out->nodes[i].next != NONE;
        if (!f->out->nodes[i].is_stuck)
            todo[count++] = i;
    }
    while (count) {
        const uint32_t to = todo[--count];
        size_t at;

        TSM_BISECT(at, f->edge_count, f->edges[at].to >= to);
        for (; at < f->edge_count && f->edges[at].to == to; at++) {
            struct tsm_hang_node *n = &f->out->nodes[f->edges[at].from];

            if (!n->is_stuck)
                continue;
            n->is_stuck = false;
            n->next = to;
            todo[count++] = f->edges[at].from;
        }
    }
    free(todo);
    return 0;
}

/* Numbers the nodes of a cycle, of which `at` is one. */
static bool add_cycle(struct finding *f, uint32_t at)
{
    struct tsm_hang *h = f->out;
    const uint32_t number = (uint32_t)h->cycle_count + 1;
    uint32_t first = NONE;

    for (; !h->nodes[at].cycle; at = h->nodes[at].next) {
        const enum tsm_hindrance hindrance = f->outcomes->list[h->nodes[at].command].hindrance;

        h->nodes[at].cycle = number;
        if (hindrance != TSM_HINDRANCE_STREAM && at < first)
            first = at;
    }
    return TSM_ARRAY_PUSH(h->cycles, h->cycle_count, h->cycle_capacity, first == NONE ? at : first);
}

/* Finds the cycles: each stuck node leads to one. */
static int find_cycles(struct finding *f)
{
    struct tsm_hang *h = f->out;
    uint32_t *seen = calloc(h->node_count + 1, sizeof(*seen)); /* walk that came by, from 1 */
    bool ok = seen;

    for (uint32_t i = 0; i < h->node_count && ok; i++) {
        uint32_t at = i;

        for (; h->nodes[at].is_stuck && !seen[at]; at = h->nodes[at].next)
            seen[at] = i + 1;
        if (h->nodes[at].is_stuck && seen[at] == i + 1 && !h->nodes[at].cycle)
            ok = add_cycle(f, at);
    }
    free(seen);
    return ok ? 0 : no_memory();
}

int tsm_hang_find(struct tsm_hang *out, const struct tsm_workload *w,
                  const struct tsm_outcomes *outcomes, struct sbt_reader *reader)
{
    struct finding f = {.out = out, .w = w, .outcomes = outcomes};
    const struct tsm_model_visitor visitor = {.user = &f, .call = add_call};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_hang){0};
    error = make_nodes(&f);
    if (!error)
        error = tsm_model_pass(&counts, reader, NULL, &visitor);
    if (!error)
        error = find_edges(&f);
    if (!error)
        error = find_stuck(&f);
    if (!error)
        error = find_cycles(&f);
    free(f.node_of);
    free(f.writes);
    free(f.edges);
    return error;
}

void tsm_hang_finish(struct tsm_hang *hang)
{
    free(hang->nodes);
    free(hang->cycles);
    free(hang->calls);
    *hang = (struct tsm_hang){0};
}
