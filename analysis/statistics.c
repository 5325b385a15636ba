/* SPDX-License-Identifier: Apache-2.0 */
#include "tracesmith/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"

struct count {
    struct tsm_statistics *out;
    struct sbt_reader *reader;
    struct tsm_map index; /* type -> index + 1 in out->calls */
    size_t capacity;
    struct tsm_map streams, threads;
};

static struct tsm_call_count *find_call(struct count *c, uint32_t type)
{
    struct tsm_statistics *s = c->out;
    bool added;
    uint64_t *index = tsm_map_insert(&c->index, type, &added);

    if (!index)
        return NULL;
    if (*index)
        return &s->calls[*index - 1];
    if (!TSM_ARRAY_RESERVE(s->calls, c->capacity, s->call_count + 1))
        return NULL;
    *index = s->call_count + 1;
    s->calls[s->call_count] = (struct tsm_call_count){.type = type};
    return &s->calls[s->call_count++];
}

static int count_distinct(struct tsm_map *map, uint64_t value, uint32_t *count)
{
    bool added = false;

    if (!tsm_map_insert(map, value, &added))
        return tsm_fail(TSM_E_MEMORY, "no memory to count with");
    *count += added;
    return 0;
}

static void count_span(struct tsm_statistics *s, const struct sbt_record *record)
{
    uint64_t last = record->time_ns + record->duration_ns;

    if (!s->record_count || record->time_ns < s->first_ns)
        s->first_ns = record->time_ns;
    if (last > s->last_ns)
        s->last_ns = last;
}

static void count_bytes(struct tsm_statistics *s, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, &blob))
        return;
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK))
        s->bytes_read_back += blob.size;
    else
        s->bytes_sent += blob.size;
}

static int count_record(struct count *c, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(c->reader, record->type);
    struct tsm_call_count *call = find_call(c, record->type);
    struct tsm_statistics *s = c->out;
    int error = call ? 0 : tsm_fail(TSM_E_MEMORY, "no memory to count with");

    if (!error && record->stream != SBT_STREAM_NONE)
        error = count_distinct(&c->streams, record->stream, &s->stream_count);
    if (!error)
        error = count_distinct(&c->threads, record->thread, &s->thread_count);
    if (error)
        return error;
    count_span(s, record);
    s->record_count++;
    s->tainted_count += (record->flags & SBT_RECORD_TAINTS) != 0;
    s->unmodelled_count += record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_UNMODELLED);
    call->count++;
    call->failed_count += (record->flags & SBT_RECORD_FAILED) != 0;
    call->duration_ns += record->duration_ns;
    if (schema && !(record->flags & SBT_RECORD_CAPTURED)) {
        s->command_count += schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
                            schema->kind == SBT_KIND_WAIT;
        count_bytes(s, record, schema);
    }
    return 0;
}

static int compare_counts(const void *a, const void *b)
{
    const struct tsm_call_count *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->type < y->type ? -1 : x->type > y->type;
}

int tsm_statistics_collect(struct tsm_statistics *out, struct sbt_reader *reader,
                           const struct sbt_filter *filter)
{
    struct tsm_statistics s = {0};
    struct count c = {.out = &s, .reader = reader};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, filter, 1);

    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = count_record(&c, record);
    sbt_cursor_destroy(cursor);
    tsm_map_finish(&c.index);
    tsm_map_finish(&c.streams);
    tsm_map_finish(&c.threads);
    if (error) {
        tsm_statistics_finish(&s);
        return error;
    }
    if (s.call_count)
        qsort(s.calls, s.call_count, sizeof(*s.calls), compare_counts);
    s.lost_count = sbt_reader_totals(reader)->lost_count;
    *out = s;
    return 0;
}

void tsm_statistics_finish(struct tsm_statistics *s)
{
    free(s->calls);
    memset(s, 0, sizeof(*s));
}
