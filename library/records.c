/* SPDX-License-Identifier: Apache-2.0 */
#include "tracesmith/columns.h"

#include "base/array.h"

#include <stdlib.h>

/* The table, and its columns as they grow. */
struct records {
    struct tsm_records table;
    uint64_t *seq, *time_ns, *duration_ns, *position;
    uint32_t *type, *thread, *stream, *stack, *flags;
    int64_t *result;
    size_t capacity;
};

static bool reserve(struct records *r, size_t count)
{
    size_t capacity = r->capacity < 1024 ? 1024 : r->capacity * 2;

    if (count <= r->capacity)
        return true;
    if (!TSM_ARRAY_RESIZE(r->seq, capacity) || !TSM_ARRAY_RESIZE(r->time_ns, capacity) ||
        !TSM_ARRAY_RESIZE(r->duration_ns, capacity) || !TSM_ARRAY_RESIZE(r->position, capacity) ||
        !TSM_ARRAY_RESIZE(r->type, capacity) || !TSM_ARRAY_RESIZE(r->thread, capacity) ||
        !TSM_ARRAY_RESIZE(r->stream, capacity) || !TSM_ARRAY_RESIZE(r->stack, capacity) ||
        !TSM_ARRAY_RESIZE(r->flags, capacity) || !TSM_ARRAY_RESIZE(r->result, capacity))
        return false;
    r->capacity = capacity;
    return true;
}

static int add(struct records *r, const struct sbt_record *record)
{
    const size_t i = r->table.count;

    if (!reserve(r, i + 1))
        return tsm_fail(TSM_E_MEMORY, "out of memory for a table of records");
    r->seq[i] = record->seq;
    r->time_ns[i] = record->time_ns;
    r->duration_ns[i] = record->duration_ns;
    r->position[i] = record->position;
    r->type[i] = record->type;
    r->thread[i] = record->thread;
    r->stream[i] = record->stream;
    r->stack[i] = record->stack;
    r->flags[i] = record->flags;
    r->result[i] = record->result;
    r->table.count++;
    return 0;
}

static void publish(struct records *r)
{
    r->table.seq = r->seq;
    r->table.time_ns = r->time_ns;
    r->table.duration_ns = r->duration_ns;
    r->table.position = r->position;
    r->table.type = r->type;
    r->table.thread = r->thread;
    r->table.stream = r->stream;
    r->table.stack = r->stack;
    r->table.flags = r->flags;
    r->table.result = r->result;
}

int tsm_records_read(struct tsm_records **out, struct sbt_reader *reader,
                     const struct sbt_filter *filter)
{
    struct records *r = calloc(1, sizeof(*r));
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int error = r && reserve(r, 1) ? 0 : tsm_fail(TSM_E_MEMORY, "out of memory");

    if (!error)
        error = sbt_cursor_create(&cursor, reader, filter, 1);
    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = add(r, record);
    sbt_cursor_destroy(cursor);
    if (error) {
        tsm_records_destroy(r ? &r->table : NULL);
        return error;
    }
    publish(r);
    *out = &r->table;
    return 0;
}

void tsm_records_destroy(struct tsm_records *table)
{
    struct records *r = (struct records *)(void *)table; /* its first member */

    if (!r)
        return;
    free(r->seq);
    free(r->time_ns);
    free(r->duration_ns);
    free(r->position);
    free(r->type);
    free(r->thread);
    free(r->stream);
    free(r->stack);
    free(r->flags);
    free(r->result);
    free(r);
}

const char *tsm_record_kernel(struct sbt_reader *reader, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    const uint64_t name = sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);
    const char *text;

    /* A query may name a function, too. */
    if (!name || name > UINT32_MAX || schema->kind != SBT_KIND_COMMAND)
        return NULL;
    text = sbt_reader_string(reader, (uint32_t)name);
    return text && *text ? text : NULL;
}
