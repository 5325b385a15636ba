/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/loose/calls.h"

#include "analysis/model/pass.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE      TSM_WORKLOAD_NONE
#define COUNT_MAX (UINT32_MAX - 1)

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the calls of the trace");
}

static uint64_t end_of(const struct sbt_record *record)
{
    return record->duration_ns > UINT64_MAX - record->time_ns
               ? UINT64_MAX
               : record->time_ns + record->duration_ns;
}

struct making {
    struct tsm_loose_host_calls *calls;
    const struct tsm_loose *l;
};

static int add_call(void *user, const struct tsm_call_node *node)
{
    const struct making *m = user;
    struct tsm_loose_host_calls *calls = m->calls;
    const struct sbt_record *record = node->record;

    if (!node->schema || !tsm_loose_has(m->l, record->type) ||
        node->schema->kind == SBT_KIND_INIT || node->schema->kind == SBT_KIND_META ||
        calls->count >= COUNT_MAX)
        return 0;
    return TSM_ARRAY_PUSH(
               calls->list, calls->count, calls->capacity,
               (struct tsm_loose_host_call){.seq = record->seq,
                                            .begin_ns = record->time_ns,
                                            .end_ns = end_of(record),
                                            .schema = node->schema,
                                            .thread = record->thread,
                                            .stack = record->stack,
                                            .is_wait = node->is_wait,
                                            .is_command = node->is_command,
                                            .is_unfinished = record->flags & SBT_RECORD_UNFINISHED})
               ? 0
               : no_memory();
}

struct key {
    uint64_t ns; /* begin, or end */
    uint32_t thread, call;
};

static int by_thread(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

static void sort_by_thread(struct tsm_loose_host_calls *calls, struct key *keys)
{
    for (uint32_t i = 0; i < calls->count; i++)
        keys[i] = (struct key){calls->list[i].begin_ns, calls->list[i].thread, i};
    qsort(keys, calls->count, sizeof(*keys), by_thread);
    for (uint32_t i = 0; i < calls->count; i++) {
        calls->sorted[i] = keys[i].call;
        calls->list[keys[i].call].order = i;
    }
}

/* Tests whether a call is the last one of its thread. */
static bool is_last(const struct tsm_loose_host_calls *calls, uint32_t call)
{
    const struct tsm_loose_host_call *c = &calls->list[call];

    return c->order + 1 == calls->count ||
           calls->list[calls->sorted[c->order + 1]].thread != c->thread;
}

static void sort_by_end(struct tsm_loose_host_calls *calls, struct key *keys)
{
    for (uint32_t i = 0; i < calls->count; i++)
        keys[i] = (struct key){calls->list[i].end_ns, 0, i};
    qsort(keys, calls->count, sizeof(*keys), by_thread);
    for (uint32_t i = 0; i < calls->count; i++) {
        calls->by_end[i] = keys[i].call;
        if (is_last(calls, keys[i].call) && !calls->list[keys[i].call].is_unfinished)
            calls->last[calls->last_count++] = keys[i].call;
    }
}

static int sort(struct tsm_loose_host_calls *calls)
{
    struct key *keys = malloc((calls->count + 1) * sizeof(*keys));

    calls->sorted = malloc((calls->count + 1) * sizeof(*calls->sorted));
    calls->by_end = malloc((calls->count + 1) * sizeof(*calls->by_end));
    calls->last = malloc((calls->count + 1) * sizeof(*calls->last));
    if (!keys || !calls->sorted || !calls->by_end || !calls->last) {
        free(keys);
        return no_memory();
    }
    sort_by_thread(calls, keys);
    sort_by_end(calls, keys);
    free(keys);
    return 0;
}

/* Gives calls that had not returned their end. */
static void end_calls(struct tsm_loose_host_calls *calls, int64_t last_ns)
{
    for (size_t i = 0; i < calls->count; i++) {
        struct tsm_loose_host_call *c = &calls->list[i];

        if (c->is_unfinished && last_ns > 0 && (uint64_t)last_ns > c->end_ns)
            c->end_ns = (uint64_t)last_ns;
    }
}

int tsm_loose_host_calls_make(struct tsm_loose_host_calls *out, const struct tsm_loose *l,
                              struct sbt_reader *reader)
{
    struct making m = {out, l};
    const struct tsm_model_visitor visitor = {.user = &m, .call = add_call};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_loose_host_calls){0};
    error = tsm_model_pass(&counts, reader, NULL, &visitor);
    if (error)
        return error;
    end_calls(out, counts.last_ns);
    return sort(out);
}

void tsm_loose_host_calls_finish(struct tsm_loose_host_calls *calls)
{
    free(calls->list);
    free(calls->sorted);
    free(calls->by_end);
    free(calls->last);
    *calls = (struct tsm_loose_host_calls){0};
}

uint32_t tsm_loose_host_calls_find(const struct tsm_loose_host_calls *calls, uint64_t seq)
{
    size_t at;

    TSM_BISECT(at, calls->count, calls->list[at].seq >= seq);
    return at < calls->count && calls->list[at].seq == seq ? (uint32_t)at : NONE;
}

static uint32_t call_of_thread(const struct tsm_loose_host_calls *calls, uint32_t order,
                               uint32_t thread)
{
    const uint32_t call = order < calls->count ? calls->sorted[order] : NONE;

    return call != NONE && calls->list[call].thread == thread ? call : NONE;
}

uint32_t tsm_loose_host_call_before(const struct tsm_loose_host_calls *calls, uint32_t call)
{
    const struct tsm_loose_host_call *c = &calls->list[call];

    return c->order ? call_of_thread(calls, c->order - 1, c->thread) : NONE;
}

uint32_t tsm_loose_host_call_at(const struct tsm_loose_host_calls *calls, uint32_t call,
                                uint64_t before_ns)
{
    const struct tsm_loose_host_call *c = &calls->list[call];
    const size_t count = (size_t)c->order + 1;
    size_t at;

    TSM_BISECT(at, count,
               calls->list[calls->sorted[at]].thread == c->thread &&
                   calls->list[calls->sorted[at]].begin_ns >= before_ns);
    return at ? call_of_thread(calls, (uint32_t)at - 1, c->thread) : NONE;
}

uint32_t tsm_loose_host_call_returned(const struct tsm_loose_host_calls *calls, uint32_t thread,
                                      bool is_last, uint64_t after_ns, uint64_t until_ns)
{
    const uint32_t *list = is_last ? calls->last : calls->by_end;
    const size_t count = is_last ? calls->last_count : calls->count;
    size_t at;

    TSM_BISECT(at, count, calls->list[list[at]].end_ns > until_ns);
    while (at && calls->list[list[at - 1]].thread == thread)
        at--;
    return at && (!is_last || calls->list[list[at - 1]].end_ns > after_ns) ? list[at - 1] : NONE;
}
