/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/loose/loose.h"

#include "analysis/model/pass.h"
#include "analysis/model/work.h"
#include "analysis/schedule/loose/outcomes.h"
#include "analysis/schedule/loose/ready.h"
#include "analysis/schedule/loose/rings.h"
#include "analysis/time/host_waits.h"
#include "api/traits.h"
#include "api/waits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE        TSM_WORKLOAD_NONE
#define COUNT_MAX   (UINT32_MAX / 8) /* commands have several steps (hang.c) */
#define DEVICES_MAX 256u

struct making {
    struct tsm_loose *l;
    struct sbt_reader *reader;
    const struct tsm_ring_jobs *jobs; /* NULL: none */
    struct tsm_host_waits waits;
    struct tsm_map stream_places; /* number -> place + 1 */
    size_t command_capacity, call_capacity, stream_capacity, device_capacity;
    size_t ended_count; /* commands that had ended at the last checkpoint */
    uint64_t last_ns;   /* end of the last call */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the commands of the trace");
}

bool tsm_loose_has(const struct tsm_loose *l, uint32_t record_type)
{
    const uint32_t others = TSM_API_IN_ORDER | (l->leaves_kernel ? TSM_API_KERNEL : 0);

    return !(tsm_api_traits(record_type) & others) && tsm_wait_has_calls(SBT_TYPE_API(record_type));
}

/* ---- calls ------------------------------------------------------------------------------------
 */

/* Returns the place, or NONE without memory. */
static uint32_t stream_of(struct making *m, uint32_t number)
{
    bool added;
    uint64_t *place = tsm_map_insert(&m->stream_places, number, &added);

    if (!place)
        return NONE;
    if (!*place) {
        if (!TSM_ARRAY_PUSH(m->l->streams, m->l->stream_count, m->stream_capacity,
                            (struct tsm_loose_stream){.number = number}))
            return NONE;
        *place = m->l->stream_count;
    }
    return (uint32_t)(*place - 1);
}

static int add_command(struct making *m, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    const uint64_t name = sbt_record_role(call->schema, record, SBT_ROLE_FUNCTION_NAME, 0),
                   traits = tsm_call_traits(call->schema).traits;
    const struct tsm_loose_command command = {
        .seq = record->seq,
        .position = record->position,
        .owner = call->owner,
        .schema = call->schema,
        .kernel = name ? sbt_reader_string(m->reader, (uint32_t)name) : NULL,
        .call_ns = record->time_ns,
        .returned_ns = record->time_ns + record->duration_ns,
        .stream = stream_of(m, record->stream),
        .thread = record->thread,
        .stack = record->stack,
        .is_mark =
            traits & TSM_TRAIT_ONLY_WAITS || tsm_work_of_type(call->schema).work == TSM_WORK_ORDER,
        .is_present = traits & TSM_TRAIT_PRESENTS,
        .is_found = traits & TSM_TRAIT_FROM_QUEUE,
        .is_unreturned = !call->is_wait && record->flags & SBT_RECORD_UNFINISHED,
        .over_ns = UINT64_MAX,
        .outcome = {.by = NONE}};

    if (command.stream == NONE || m->l->command_count >= COUNT_MAX)
        return no_memory();
    return TSM_ARRAY_PUSH(m->l->commands, m->l->command_count, m->command_capacity, command)
               ? 0
               : no_memory();
}

static int add_host_call(struct making *m, const struct sbt_record *record, bool is_over)
{
    if (!tsm_dependency_graph_find(&m->l->graph, record->seq) || m->l->call_count >= COUNT_MAX)
        return 0;
    return TSM_ARRAY_PUSH(m->l->calls, m->l->call_count, m->call_capacity,
                          (struct tsm_loose_call){record->seq, record->time_ns, is_over})
               ? 0
               : no_memory();
}

/* Tests whether a call may say that commands have ended which have not: their device is lost. */
static bool is_lost(const struct making *m, const struct tsm_call_node *call)
{
    return m->l->failures.count && !call->is_command &&
           (!call->owner || tsm_failures_find(&m->l->failures, call->owner));
}

static int add_call(void *user, const struct tsm_call_node *call)
{
    struct making *m = user;
    const struct sbt_record *record = call->record;
    const uint32_t flags = record->flags;
    int error = 0;

    if (!call->schema)
        return 0;
    if (!tsm_loose_has(m->l, record->type)) {
        m->l->passed_count += call->is_command && !(flags & SBT_RECORD_FAILED) &&
                              !(tsm_api_traits(record->type) & TSM_API_IN_ORDER);
        return 0;
    }
    m->l->is_waiting |= call->is_wait && flags & SBT_RECORD_UNFINISHED;
    if (flags & SBT_RECORD_FAILED)
        return tsm_failures_note(&m->l->failures, m->reader, call);
    if (!is_lost(m, call))
        error = tsm_host_waits_note(&m->waits, call);
    if (error || flags & SBT_RECORD_CAPTURED)
        return error;
    return call->is_command && record->position
               ? add_command(m, call)
               : add_host_call(m, record, !(flags & SBT_RECORD_UNFINISHED) && !is_lost(m, call));
}

/* Notes the begin of a checkpoint: the device does nothing, so commands that were sent have ended.
 */
static void end_all(struct making *m, uint64_t at_ns)
{
    for (; m->ended_count < m->l->command_count; m->ended_count++) {
        struct tsm_loose_command *c = &m->l->commands[m->ended_count];

        c->over_ns = at_ns < c->over_ns ? at_ns : c->over_ns;
    }
}

static int add_core(void *user, const struct sbt_record *record)
{
    struct making *m = user;
    const uint32_t call = SBT_TYPE_CALL(record->type);
    const int error = tsm_host_waits_note_core(&m->waits, record);

    if (error)
        return error;
    if (call == SBT_CORE_CHECKPOINT_BEGIN)
        end_all(m, record->time_ns);
    m->l->is_unseen |= tsm_loose_is_unseen(record);
    return add_host_call(m, record, call == SBT_CORE_COMPLETE && !m->l->failures.count);
}

/* ---- times ------------------------------------------------------------------------------------
 */

static uint32_t device_of(struct making *m, const struct tsm_device *device)
{
    for (size_t i = 0; i < m->l->device_count; i++)
        if (tsm_device_is_same(&m->l->devices[i], device))
            return (uint32_t)i;
    if (m->l->device_count >= DEVICES_MAX)
        return DEVICES_MAX - 1;
    if (!TSM_ARRAY_PUSH(m->l->devices, m->l->device_count, m->device_capacity, *device))
        return NONE;
    return (uint32_t)m->l->device_count - 1;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t not_negative(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

/* A submit has a time for each part that has one. Calls that block return when their commands have
 * ended. */
static void add_span(struct tsm_loose_command *c, const struct tsm_span *span)
{
    const uint64_t start_ns = not_negative(span->start_ns), end_ns = not_negative(span->end_ns);

    c->has_ended |= span->kind == TSM_TIME_MEASURED;
    if (span->kind == TSM_TIME_DERIVED)
        c->over_ns = earlier(c->over_ns, end_ns);
    if (span->kind != TSM_TIME_MEASURED || span->axis != TSM_AXIS_HOST)
        return;
    c->start_ns = c->has_time ? earlier(c->start_ns, start_ns) : start_ns;
    c->end_ns = c->has_time ? later(c->end_ns, end_ns) : end_ns;
    c->error_ns = later(c->error_ns, span->error_ns);
    c->is_at_most |= span->is_at_most;
    c->has_time = true;
}

static int add_time(void *user, const struct tsm_command_node *node)
{
    struct making *m = user;
    const uint32_t place = tsm_loose_find_command(m->l, node->seq);
    struct tsm_loose_command *c;

    if (place == NONE || node->run)
        return 0;
    c = &m->l->commands[place];
    c->device = device_of(m, &node->device);
    if (c->device == NONE)
        return no_memory();
    m->l->streams[c->stream].device = c->device;
    add_span(c, &node->gpu);
    return 0;
}

/* ---- order ------------------------------------------------------------------------------------
 */

struct position {
    uint64_t position;
    uint32_t stream, command;
};

static int by_position(const void *a, const void *b)
{
    const struct position *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

static int sort_commands(struct tsm_loose *l)
{
    struct position *list = malloc((l->command_count + 1) * sizeof(*list));

    l->sorted = malloc((l->command_count + 1) * sizeof(*l->sorted));
    if (!list || !l->sorted) {
        free(list);
        return no_memory();
    }
    for (size_t i = 0; i < l->command_count; i++)
        list[i] = (struct position){l->commands[i].position, l->commands[i].stream, (uint32_t)i};
    qsort(list, l->command_count, sizeof(*list), by_position);
    for (uint32_t i = 0; i < l->command_count; i++) {
        struct tsm_loose_stream *s = &l->streams[list[i].stream];

        l->sorted[i] = list[i].command;
        l->commands[list[i].command].order = i;
        s->first = s->count ? s->first : i;
        s->count++;
    }
    free(list);
    return 0;
}

void tsm_loose_edges_to(const struct tsm_loose *l, uint32_t command,
                        const struct tsm_dependency **first, const struct tsm_dependency **last)
{
    const struct tsm_dependency_node *node =
        tsm_dependency_graph_find(&l->graph, l->commands[command].seq);

    *first = node ? l->graph.edges + node[0].first_edge : NULL;
    *last = node ? l->graph.edges + node[1].first_edge : NULL;
}

void tsm_loose_over_with(const struct tsm_loose *l, const struct tsm_dependency *edge,
                         uint32_t *first, uint32_t *last)
{
    const uint32_t from = edge->reason == TSM_DEPENDS_UNKNOWN || tsm_dependency_is_memory(edge)
                              ? NONE
                              : tsm_loose_find_command(l, edge->from);
    const struct tsm_loose_command *c = from == NONE ? NULL : &l->commands[from];

    *first = *last = 0;
    if (!c || (edge->is_alone && edge->is_begin))
        return;
    *first = edge->is_alone ? c->order : l->streams[c->stream].first;
    *last = c->order + !edge->is_begin;
}

/* ---- all --------------------------------------------------------------------------------------
 */

uint32_t tsm_loose_find_command(const struct tsm_loose *l, uint64_t seq)
{
    size_t at;

    TSM_BISECT(at, l->command_count, l->commands[at].seq >= seq);
    return at < l->command_count && l->commands[at].seq == seq ? (uint32_t)at : NONE;
}

uint32_t tsm_loose_find_call(const struct tsm_loose *l, uint64_t seq)
{
    size_t at;

    TSM_BISECT(at, l->call_count, l->calls[at].seq >= seq);
    return at < l->call_count && l->calls[at].seq == seq ? (uint32_t)at : NONE;
}

/* Notes until when commands must have ended that the host waited for. */
static void note_waits(struct making *m)
{
    for (size_t i = 0; i < m->l->command_count; i++) {
        struct tsm_loose_command *c = &m->l->commands[i];
        const struct tsm_command_node node = {
            .stream = m->l->streams[c->stream].number, .position = c->position, .part = UINT32_MAX};
        const struct tsm_host_wait *wait = tsm_host_waits_find(&m->waits, &node);

        if (wait)
            c->over_ns = earlier(c->over_ns, not_negative(wait->known_ns));
    }
}

static bool is_of_kernel(const struct tsm_loose_command *c)
{
    return tsm_api_traits(c->schema->type) & TSM_API_KERNEL;
}

/* Finds the time that all states cover. */
static void find_range(struct making *m)
{
    struct tsm_loose *l = m->l;

    l->begin_ns = l->command_count ? UINT64_MAX : 0;
    for (size_t i = 0; i < l->command_count; i++) {
        const struct tsm_loose_command *c = &l->commands[i];

        l->kernel_count += is_of_kernel(c);
        l->begin_ns =
            earlier(l->begin_ns, c->has_time ? earlier(c->start_ns, c->call_ns) : c->call_ns);
        l->end_ns = later(l->end_ns, c->has_time ? c->end_ns : c->returned_ns);
        if (c->outcome.outcome != TSM_OUTCOME_FINISHED)
            l->end_ns = later(l->end_ns, m->last_ns);
        else if (!c->has_time) {
            l->end_ns = later(l->end_ns, c->over_ns == UINT64_MAX ? m->last_ns : c->over_ns);
            l->untimed_count += !c->is_mark && !c->is_present;
            l->untimed_kernel_count += is_of_kernel(c) && !c->is_mark && !c->is_present;
        }
    }
}

static int make(struct making *m)
{
    const struct tsm_model_visitor visitor = {
        .user = m, .call = add_call, .core = add_core, .command = add_time};
    struct tsm_model_counts counts;
    int error = tsm_dependency_graph_make(&m->l->graph, m->reader, false);

    if (!error)
        error = tsm_model_pass(&counts, m->reader, NULL, &visitor);
    if (!error)
        error = sort_commands(m->l);
    if (!error && m->jobs)
        error = tsm_loose_rings_note(m->l, m->reader, m->jobs);
    if (error)
        return error;
    m->last_ns = not_negative(counts.last_ns);
    note_waits(m);
    error = tsm_loose_outcomes_find(m->l, m->reader);
    if (!error && m->jobs)
        error = tsm_loose_settle_taken(m->l);
    if (!error)
        find_range(m);
    return error;
}

int tsm_loose_make(struct tsm_loose *out, struct sbt_reader *reader,
                   const struct tsm_ring_jobs *jobs, bool leaves_kernel)
{
    struct making m = {.l = out, .reader = reader, .jobs = jobs, .waits = {.reader = reader}};
    int error;

    *out = (struct tsm_loose){.leaves_kernel = leaves_kernel};
    error = make(&m);
    tsm_host_waits_finish(&m.waits);
    tsm_map_finish(&m.stream_places);
    return error;
}

void tsm_loose_finish(struct tsm_loose *l)
{
    tsm_dependency_graph_finish(&l->graph);
    tsm_failures_finish(&l->failures);
    free(l->commands);
    free(l->calls);
    free(l->streams);
    free(l->devices);
    free(l->sorted);
    free(l->waits);
    free(l->bringers);
    free(l->nodes);
    free(l->cycles);
    *l = (struct tsm_loose){0};
}
