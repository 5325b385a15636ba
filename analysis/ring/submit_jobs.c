/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ring/submit_jobs.h"

#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

static struct tsm_submit_job *at(const struct tsm_submit_jobs *submits, size_t index)
{
    return (struct tsm_submit_job *)(void *)submits->list.data + index;
}

size_t tsm_submit_jobs_count(const struct tsm_submit_jobs *submits)
{
    return submits->list.size / sizeof(struct tsm_submit_job);
}

void tsm_submit_jobs_finish(struct tsm_submit_jobs *submits)
{
    tsm_buffer_finish(&submits->list);
    submits->joined_count = 0;
}

/* ---- a submit ----------------------------------------------------------------------------- */

/* The number of the fence that the call returned, where its struct has one; 0: none. It counts in
 * the program's context, which the kernel's jobs do not name. */
static uint64_t fence_of(struct sbt_reader *reader, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < schema->field_count && !number; i++) {
        struct sbt_value value;
        struct sbt_walk walk;
        struct sbt_step step;
        const struct sbt_field *f = &schema->fields[i];
        if (f->type != SBT_FIELD_STRUCT || strcmp(f->name, "out") != 0)
            continue;
        if (sbt_reader_value(reader, record, i, &value) == 1 &&
            sbt_walk_begin(&walk, reader, f->detail, value.data, value.size) >= 0)
            while (!number && sbt_walk_next(&walk, &step) == 1)
                if (step.kind == SBT_STEP_VALUE && step.member &&
                    step.member->type == SBT_FIELD_HANDLE && !strcmp(step.member->detail, "fence"))
                    number = step.number;
        sbt_value_finish(&value);
    }
    return number;
}

static bool is_of_kernel(const struct sbt_record *record)
{
    return tsm_api_traits(record->type) & TSM_API_KERNEL;
}

void tsm_submit_ask(struct tsm_ring_submit *ask, struct sbt_reader *reader,
                    const struct sbt_record *record, const struct sbt_schema *schema)
{
    const char *pid = sbt_reader_metadata_find(reader, "process.pid");

    memset(ask, 0, sizeof(*ask));
    ask->pid = pid ? (uint32_t)strtoul(pid, NULL, 10) : 0;
    ask->begin_ns = sbt_reader_session(reader)->start_monotonic_ns + record->time_ns;
    ask->end_ns = ask->begin_ns + record->duration_ns;
    if (is_of_kernel(record)) {
        ask->tid = record->thread;
        ask->seqno = fence_of(reader, record, schema);
    }
}

static int collect(struct tsm_submit_jobs *submits, struct tsm_buffer *asked,
                   struct sbt_reader *reader)
{
    const struct sbt_filter all = {0};
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int more = sbt_cursor_create(&cursor, reader, &all, 1);

    while (more >= 0 && (more = sbt_cursor_next(cursor, &record)) > 0) {
        const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
        struct tsm_submit_job submit = {.seq = record->seq};
        struct tsm_ring_submit ask;
        if (!is_of_kernel(record) || !schema || schema->kind != SBT_KIND_COMMAND ||
            record->flags & SBT_RECORD_FAILED)
            continue;
        tsm_submit_ask(&ask, reader, record, schema);
        submit.call_ns = ask.begin_ns;
        submit.return_ns = ask.end_ns;
        tsm_buffer_add(&submits->list, &submit, sizeof(submit));
        tsm_buffer_add(asked, &ask, sizeof(ask));
    }
    sbt_cursor_destroy(cursor);
    if (submits->list.failed || asked->failed)
        return tsm_fail(TSM_E_MEMORY, "out of memory for submits");
    return more < 0 ? more : 0;
}

int tsm_submit_jobs_find(struct tsm_submit_jobs *submits, struct sbt_reader *reader,
                         const struct tsm_ring_jobs *jobs)
{
    struct tsm_buffer asked = {0};
    size_t *places = NULL;
    int error = collect(submits, &asked, reader);
    size_t count = tsm_submit_jobs_count(submits);

    if (error)
        goto out;
    places = calloc(count + 1, sizeof(*places));
    error = places ? tsm_ring_join(places, jobs, (const void *)asked.data, count)
                   : tsm_fail(TSM_E_MEMORY, "out of memory for submits");
    for (size_t i = 0; i < count && !error; i++) {
        if (places[i] == TSM_RING_JOIN_NONE)
            continue;
        at(submits, i)->job = tsm_ring_jobs_at(jobs, places[i]);
        submits->joined_count++;
    }
out:
    free(places);
    tsm_buffer_finish(&asked);
    return error;
}

const struct tsm_submit_job *tsm_submit_jobs_of(const struct tsm_submit_jobs *submits, uint64_t seq)
{
    size_t count = tsm_submit_jobs_count(submits), i;

    TSM_BISECT(i, count, at(submits, i)->seq >= seq);
    return i < count && at(submits, i)->seq == seq ? at(submits, i) : NULL;
}
