/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/recorded_failures.h"

#include <stdlib.h>

#include "analysis/schedule/outcomes.h"
#include "api/traits.h"
#include "base/array.h"
#include "base/map.h"

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for recorded failures");
}

/* ---- what was recorded ------------------------------------------------------------------------
 */

static bool can_have_failed(enum tsm_outcome outcome)
{
    return outcome == TSM_OUTCOME_FAILED || outcome == TSM_OUTCOME_MAY_HAVE_FAILED;
}

/* Adds the streams that something was sent to by then: a context that is made again, when it was
 * reset, has others. `places` gets the place + 1 of each of the workload's streams. */
static int add_streams(struct tsm_recorded_failure *e, const struct tsm_workload *w,
                       const struct tsm_outcomes *outcomes, uint64_t owner, uint32_t *places)
{
    for (size_t i = 0; i < w->command_count; i++) {
        const struct tsm_workload_stream *s = &w->streams[w->commands[i].stream];

        if (s->owner != owner || places[w->commands[i].stream] ||
            (w->commands[i].seq > e->seq && !can_have_failed(outcomes->list[i].outcome)))
            continue;
        if (!TSM_ARRAY_PUSH(e->streams, e->stream_count, e->stream_capacity,
                            (struct tsm_failure_stream){s->number, 0}))
            return no_memory();
        places[w->commands[i].stream] = (uint32_t)e->stream_count;
    }
    return 0;
}

/* Commands of which a result was recorded before a call, which therefore are complete. */
struct results {
    struct tsm_map positions; /* stream -> the last one */
    uint64_t all_seq;         /* all that were sent before this record */
};

static int note_result(struct results *r, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    const uint64_t stream = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const uint64_t position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);

    if (stream == SBT_STREAM_NONE || !position) {
        r->all_seq = record->seq;
        return 0;
    }
    return tsm_map_get(&r->positions, stream, 0) >= position ||
                   tsm_map_set(&r->positions, stream, position)
               ? 0
               : no_memory();
}

static int find_results(struct results *r, struct sbt_reader *reader, uint64_t end_seq)
{
    const struct sbt_filter filter = {.seq_end = end_seq};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, &filter, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM) ||
            record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK))
            if ((error = note_result(r, record)) < 0)
                break;
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

static bool has_result(const struct results *r, const struct tsm_workload_command *c,
                       uint32_t stream)
{
    return c->seq < r->all_seq || c->position <= tsm_map_get(&r->positions, stream, 0);
}

static int add_commands(struct tsm_recorded_failure *e, const struct tsm_workload *w,
                        const struct tsm_outcomes *outcomes, const struct results *results,
                        const uint32_t *places)
{
    for (size_t i = 0; i < w->command_count; i++) {
        const struct tsm_workload_command *c = &w->commands[i];
        const bool may = can_have_failed(outcomes->list[i].outcome);
        struct tsm_failure_stream *s =
            places[c->stream] ? &e->streams[places[c->stream] - 1] : NULL;

        /* The record of a call under way in another thread comes behind. */
        if (!s || (c->seq > e->seq && !may))
            continue;
        if (outcomes->list[i].outcome == TSM_OUTCOME_FINISHED || has_result(results, c, s->number))
            s->known_position = c->position > s->known_position ? c->position : s->known_position;
        else if (may && !TSM_ARRAY_PUSH(e->commands, e->command_count, e->command_capacity, c->seq))
            return no_memory();
    }
    return 0;
}

static int fill(struct tsm_recorded_failure *e, struct sbt_reader *reader,
                const struct tsm_workload *w, const struct tsm_outcomes *outcomes, uint64_t owner)
{
    uint32_t *places = calloc(w->stream_count + 1, sizeof(*places));
    struct results results = {.all_seq = 0};
    int error = places ? find_results(&results, reader, e->seq) : no_memory();

    if (!error)
        error = add_streams(e, w, outcomes, owner, places);
    if (!error)
        error = add_commands(e, w, outcomes, &results, places);
    tsm_map_finish(&results.positions);
    free(places);
    return error;
}

static int add_failure(struct tsm_recorded_failures *f, struct sbt_reader *reader,
                       const struct tsm_workload *w, const struct tsm_outcomes *outcomes,
                       const struct tsm_failure *failure)
{
    const struct tsm_recorded_failure e = {.seq = failure->seq,
                                           .result = failure->number,
                                           .name = failure->result,
                                           .schema = failure->schema};

    if (!TSM_ARRAY_PUSH(f->list, f->count, f->capacity, e))
        return no_memory();
    return fill(&f->list[f->count - 1], reader, w, outcomes, failure->owner);
}

int tsm_recorded_failures_init(struct tsm_recorded_failures *f, struct sbt_reader *reader)
{
    struct tsm_workload w = {0};
    struct tsm_outcomes outcomes = {0};
    int error = tsm_workload_make(&w, reader);

    if (!error)
        error = tsm_outcomes_make(&outcomes, &w, reader);
    for (size_t i = 0; i < outcomes.failures.count && !error; i++)
        error = add_failure(f, reader, &w, &outcomes, &outcomes.failures.list[i]);
    tsm_outcomes_finish(&outcomes);
    tsm_workload_finish(&w);
    pthread_mutex_init(&f->lock, NULL);
    return error;
}

void tsm_recorded_failures_finish(struct tsm_recorded_failures *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->list[i].commands);
        free(f->list[i].streams);
    }
    if (f->list)
        pthread_mutex_destroy(&f->lock);
    free(f->list);
    *f = (struct tsm_recorded_failures){0};
}

struct tsm_recorded_failure *tsm_recorded_failures_of(const struct tsm_recorded_failures *f,
                                                      uint64_t seq)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].seq == seq)
            return &f->list[i];
    return NULL;
}

/* ---- a run ------------------------------------------------------------------------------------
 */

void tsm_recorded_failures_begin(struct tsm_recorded_failures *f, const struct tsm_backend *backend,
                                 struct tsm_backend_state *state)
{
    f->backend = backend;
    f->state = state;
    atomic_store(&f->any, false);
    for (size_t i = 0; i < f->count; i++) {
        f->list[i].sent_count = 0;
        f->list[i].has_failed = false;
        f->list[i].end = TSM_FAILURE_OPEN;
    }
}

static int compare_seq(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

void tsm_recorded_failures_sent(struct tsm_recorded_failures *f, uint64_t seq)
{
    for (size_t i = 0; i < f->count; i++)
        f->list[i].sent_count +=
            f->list[i].command_count && bsearch(&seq, f->list[i].commands, f->list[i].command_count,
                                                sizeof(seq), compare_seq) != NULL;
}

/* The lock is held. */
static bool note(struct tsm_recorded_failures *f, struct tsm_recorded_failure *e)
{
    for (size_t i = 0; i < e->stream_count && !e->has_failed; i++)
        e->has_failed = f->backend->failures->find(f->state, e->streams[i].number, &e->found) &&
                        tsm_result_says_failure(e->schema->type, e->found.name);
    if (e->has_failed)
        atomic_store(&f->any, true);
    return e->has_failed;
}

static bool is_here(const struct tsm_recorded_failures *f, const struct tsm_recorded_failure *e)
{
    for (size_t i = 0; i < e->stream_count; i++)
        if (f->backend->failures->is_here(f->state, e->streams[i].number))
            return true;
    return false;
}

bool tsm_recorded_failures_take(struct tsm_recorded_failures *f)
{
    bool is_taken = false;

    if (!f->count)
        return false;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->count && !is_taken; i++)
        is_taken = note(f, &f->list[i]) && is_here(f, &f->list[i]);
    pthread_mutex_unlock(&f->lock);
    return is_taken;
}

bool tsm_recorded_failures_has_failed(struct tsm_recorded_failures *f, uint32_t stream)
{
    bool has = false;

    if (!f->count || !atomic_load(&f->any))
        return false;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; k < f->list[i].stream_count && f->list[i].has_failed; k++)
            has |= stream == SBT_STREAM_NONE || f->list[i].streams[k].number == stream;
    pthread_mutex_unlock(&f->lock);
    return has;
}
