/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/stream_commands.h"

#include "analysis/model/pass.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define PARENTS_MAX 8u /* from a function to the code that it is in */

struct collecting {
    struct tsm_stream_commands *out;
    struct sbt_reader *reader;
    uint32_t stream;
    struct tsm_accesses accesses;
    struct tsm_map parents; /* object -> the one that it comes from */
    struct tsm_map codes;   /* object -> place + 1 */
    struct tsm_map places;  /* seq -> place + 1 in the list */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for commands of a stream");
}

/* ---- code ------------------------------------------------------------------------------------ */

static int add_code(struct collecting *c, const struct sbt_record *record,
                    const struct sbt_schema *schema, const struct sbt_blob *blob, uint64_t key)
{
    const size_t size = blob->bytes ? (size_t)blob->size : (size_t)blob->piece_count * 16;
    struct tsm_stream_code code = {.seq = record->seq, .blob = *blob, .bytes = malloc(size + 1)};
    const int slot = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    if (!code.bytes)
        return no_memory();
    memcpy(code.bytes, blob->bytes ? blob->bytes : blob->keys, size);
    if (blob->bytes)
        code.blob.bytes = code.bytes;
    else
        code.blob.keys = code.bytes;
    code.type = schema->fields[slot].detail;
    code.id = record->slots[slot];
    if (!TSM_ARRAY_PUSH(c->out->codes, c->out->code_count, c->out->code_capacity, code)) {
        free(code.bytes);
        return no_memory();
    }
    return tsm_map_set(&c->codes, key, c->out->code_count) ? 0 : no_memory();
}

static int note_object(struct collecting *c, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    const uint64_t key = tsm_accesses_object(record, schema, SBT_ROLE_OBJECT),
                   parent = tsm_accesses_object(record, schema, SBT_ROLE_PARENT);
    const int slot = sbt_schema_role(schema, SBT_ROLE_CODE);
    struct sbt_blob blob;

    if (!key || schema->kind != SBT_KIND_CREATE)
        return 0;
    if (parent && !tsm_map_set(&c->parents, key, parent))
        return no_memory();
    if (slot < 0 || !sbt_record_blob(record, (uint32_t)slot, &blob) || !blob.size)
        return 0;
    return add_code(c, record, schema, &blob, key);
}

static size_t code_of(const struct collecting *c, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    uint64_t key = tsm_accesses_object(record, schema, SBT_ROLE_FUNCTION), code = 0;

    for (unsigned i = 0; key && !code && i < PARENTS_MAX; i++) {
        code = tsm_map_get(&c->codes, key, 0);
        key = tsm_map_get(&c->parents, key, 0);
    }
    return (size_t)code;
}

/* ---- commands -------------------------------------------------------------------------------- */

static int add_ranges(struct collecting *c, const struct tsm_memory *memory)
{
    struct tsm_stream_commands *out = c->out;

    for (size_t i = 0; i < c->accesses.count; i++) {
        struct tsm_stream_range range = {.access = c->accesses.list[i]};
        const struct tsm_allocation *in =
            range.access.is_object ? NULL : tsm_memory_find(memory, range.access.start);

        if (in && in->start <= range.access.start) {
            range.allocation = in->start;
            range.allocation_size = in->size;
        }
        if (!TSM_ARRAY_PUSH(out->ranges, out->range_count, out->range_capacity, range))
            return no_memory();
    }
    return 0;
}

static int add_command(struct collecting *c, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    const struct sbt_schema *schema = call->schema;
    const uint64_t name = sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);
    struct tsm_stream_command command = {
        .seq = record->seq,
        .position = record->position,
        .schema = schema,
        .kernel = name ? sbt_reader_string(c->reader, (uint32_t)name) : NULL,
        .thread = record->thread,
        .first_access = c->out->range_count,
        .access_count = c->accesses.count,
        .is_unknown = c->accesses.is_unknown,
        .code = code_of(c, record, schema),
    };

    if (schema->kind == SBT_KIND_SIGNAL || schema->kind == SBT_KIND_WAIT)
        command.event = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);
    if (command.code)
        c->out->codes[command.code - 1].is_used = true;
    if (!TSM_ARRAY_PUSH(c->out->list, c->out->count, c->out->capacity, command) ||
        !tsm_map_set(&c->places, record->seq, c->out->count))
        return no_memory();
    return add_ranges(c, call->memory);
}

static int note_call(void *user, const struct tsm_call_node *call)
{
    struct collecting *c = user;
    int error = tsm_accesses_note(&c->accesses, c->reader, call);

    if (error || !call->schema || call->record->flags & SBT_RECORD_FAILED)
        return error;
    if (!call->is_command)
        return note_object(c, call->record, call->schema);
    return call->record->stream == c->stream ? add_command(c, call) : 0;
}

static int note_change(void *user, const struct tsm_memory_node *change)
{
    struct collecting *c = user;

    tsm_accesses_free(&c->accesses, change);
    return 0;
}

/* A command of several parts has the time from the first begin to the last end. */
static int note_time(void *user, const struct tsm_command_node *node)
{
    struct collecting *c = user;
    const uint64_t place = tsm_map_get(&c->places, node->seq, 0);
    struct tsm_span *gpu = place ? &c->out->list[place - 1].gpu : NULL;

    if (!gpu || node->run || node->gpu.kind == TSM_TIME_UNKNOWN)
        return 0;
    if (gpu->kind == TSM_TIME_UNKNOWN) {
        *gpu = node->gpu;
        return 0;
    }
    if (node->gpu.start_ns < gpu->start_ns)
        gpu->start_ns = node->gpu.start_ns;
    if (node->gpu.end_ns > gpu->end_ns)
        gpu->end_ns = node->gpu.end_ns;
    return 0;
}

static int by_position(const void *a, const void *b)
{
    const struct tsm_stream_command *x = a, *y = b;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int tsm_stream_commands_collect(struct tsm_stream_commands *out, struct sbt_reader *reader,
                                uint32_t stream)
{
    struct collecting c = {.out = out, .reader = reader, .stream = stream};
    const struct tsm_model_visitor visitor = {
        .user = &c, .call = note_call, .command = note_time, .memory = note_change};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_stream_commands){0};
    error = tsm_accesses_begin(&c.accesses, reader);
    if (!error)
        error = tsm_model_pass(&counts, reader, NULL, &visitor);
    if (out->count)
        qsort(out->list, out->count, sizeof(*out->list), by_position);
    tsm_accesses_finish(&c.accesses);
    tsm_map_finish(&c.parents);
    tsm_map_finish(&c.codes);
    tsm_map_finish(&c.places);
    return error;
}

void tsm_stream_commands_finish(struct tsm_stream_commands *c)
{
    for (size_t i = 0; i < c->code_count; i++)
        free(c->codes[i].bytes);
    free(c->list);
    free(c->ranges);
    free(c->codes);
    *c = (struct tsm_stream_commands){0};
}
