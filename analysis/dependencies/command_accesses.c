/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/command_accesses.h"

#include "analysis/model/pass.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for accesses of commands");
}

/* ---- records ----------------------------------------------------------------------------------
 */

/* Adds what the accesses of the last record are, if there are any. */
static int add(struct tsm_command_accesses *a, struct tsm_accessing *one)
{
    const struct tsm_accesses *from = &a->accesses;

    one->is_unknown = from->is_unknown;
    one->first = a->range_count;
    one->count = from->is_unknown ? 0 : from->count;
    if (!one->count && !one->is_unknown)
        return 0;
    for (size_t i = 0; i < one->count; i++)
        if (!TSM_ARRAY_PUSH(a->ranges, a->range_count, a->range_capacity, from->list[i]))
            return no_memory();
    if (!TSM_ARRAY_PUSH(a->list, a->count, a->capacity, *one))
        return no_memory();
    return !one->position ||
                   tsm_map_set(&a->places, tsm_position_key(one->stream, one->position), a->count)
               ? 0
               : no_memory();
}

static bool carries_bytes(const struct sbt_record *record, const struct sbt_schema *schema)
{
    const int slot = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    return slot >= 0 && sbt_record_blob(record, (uint32_t)slot, &blob) && blob.size;
}

/* A call that frees in the order of a stream frees nothing that another stream is sure to be done
 * with. */
static int note_freed(struct tsm_command_accesses *a, const struct sbt_record *record)
{
    const struct tsm_freed_range change = a->change;

    a->change = (struct tsm_freed_range){0};
    if (change.start == change.end || change.seq != record->seq ||
        record->stream != SBT_STREAM_NONE)
        return 0;
    return TSM_ARRAY_PUSH(a->freed, a->freed_count, a->freed_capacity, change) ? 0 : no_memory();
}

int tsm_command_accesses_note(struct tsm_command_accesses *a, struct sbt_reader *reader,
                              const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    struct tsm_accessing one = {.seq = record->seq,
                                .position = record->position,
                                .owner = call->owner,
                                .stream = record->stream,
                                .thread = record->thread};
    int error = note_freed(a, record);

    if (!error)
        error = tsm_accesses_note(&a->accesses, reader, call);
    if (error || !call->schema || !call->is_command || !record->position)
        return error;
    one.is_upload = carries_bytes(record, call->schema);
    return add(a, &one);
}

int tsm_command_accesses_note_core(struct tsm_command_accesses *a, const struct sbt_record *record)
{
    struct tsm_accessing one = {
        .seq = record->seq, .stream = SBT_STREAM_NONE, .thread = record->thread};
    const int error = tsm_accesses_note_core(&a->accesses, record);

    return error ? error : add(a, &one);
}

void tsm_command_accesses_change(struct tsm_command_accesses *a,
                                 const struct tsm_memory_node *change)
{
    tsm_accesses_free(&a->accesses, change);
    a->change = (struct tsm_freed_range){0};
    if (change->is_free && change->size)
        a->change =
            (struct tsm_freed_range){change->seq, change->address, change->address + change->size};
}

struct collecting {
    struct tsm_command_accesses *out;
    struct sbt_reader *reader;
};

static int collect_call(void *user, const struct tsm_call_node *call)
{
    const struct collecting *c = user;

    return tsm_command_accesses_note(c->out, c->reader, call);
}

static int collect_core(void *user, const struct sbt_record *record)
{
    const struct collecting *c = user;

    return tsm_command_accesses_note_core(c->out, record);
}

static int collect_change(void *user, const struct tsm_memory_node *change)
{
    const struct collecting *c = user;

    tsm_command_accesses_change(c->out, change);
    return 0;
}

int tsm_command_accesses_collect(struct tsm_command_accesses *out, struct sbt_reader *reader)
{
    struct collecting c = {out, reader};
    const struct tsm_model_visitor visitor = {
        .user = &c, .call = collect_call, .core = collect_core, .memory = collect_change};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_command_accesses){0};
    error = tsm_accesses_begin(&out->accesses, reader);
    return error ? error : tsm_model_pass(&counts, reader, NULL, &visitor);
}

void tsm_command_accesses_finish(struct tsm_command_accesses *a)
{
    tsm_accesses_finish(&a->accesses);
    tsm_map_finish(&a->places);
    free(a->list);
    free(a->ranges);
    free(a->freed);
    *a = (struct tsm_command_accesses){0};
}

const struct tsm_accessing *tsm_command_accesses_find(const struct tsm_command_accesses *a,
                                                      uint64_t seq)
{
    size_t at;

    TSM_BISECT(at, a->count, a->list[at].seq >= seq);
    return at < a->count && a->list[at].seq == seq ? &a->list[at] : NULL;
}

const struct tsm_accessing *tsm_command_accesses_at(const struct tsm_command_accesses *a,
                                                    uint32_t stream, uint64_t position)
{
    const uint64_t place = tsm_map_get(&a->places, tsm_position_key(stream, position), 0);

    return place ? &a->list[place - 1] : NULL;
}

/* ---- conflicts --------------------------------------------------------------------------------
 */

static uint64_t end_of(const struct tsm_access *access)
{
    const uint64_t room = UINT64_MAX - access->start;

    return access->start + (access->size < room ? access->size : room);
}

/* Finds the bytes that both access. Objects are told from addresses. */
static bool overlap(const struct tsm_access *x, const struct tsm_access *y, uint64_t *start,
                    uint64_t *size)
{
    const uint64_t first = x->start > y->start ? x->start : y->start;
    const uint64_t end = end_of(x) < end_of(y) ? end_of(x) : end_of(y);

    *start = first;
    *size = end > first ? end - first : 0;
    return x->is_object == y->is_object && end > first;
}

static bool is_freed_between(const struct tsm_command_accesses *a, uint64_t from_seq,
                             uint64_t to_seq, uint64_t start)
{
    size_t at;

    TSM_BISECT(at, a->freed_count, a->freed[at].seq > from_seq);
    for (; at < a->freed_count && a->freed[at].seq < to_seq; at++)
        if (a->freed[at].start <= start && start < a->freed[at].end)
            return true;
    return false;
}

/* Memory of the host alone: bytes that a call has taken, or got from one that had returned. */
static bool is_apart(const struct tsm_access *from, const struct tsm_access *to)
{
    return from->is_in_call || (to->is_in_call && to->reads);
}

static enum tsm_dependency_reason reason_of(const struct tsm_access *from,
                                            const struct tsm_access *to)
{
    return from->writes && to->reads ? TSM_DEPENDS_READ_AFTER_WRITE
           : from->writes            ? TSM_DEPENDS_WRITE_AFTER_WRITE
                                     : TSM_DEPENDS_WRITE_AFTER_READ;
}

/* The host's writes are in no context. */
static bool may_conflict(const struct tsm_accessing *from, const struct tsm_accessing *to)
{
    return from->position && to->position && from->owner == to->owner;
}

bool tsm_command_accesses_conflict(struct tsm_access_conflict *out,
                                   const struct tsm_command_accesses *a,
                                   const struct tsm_accessing *from, const struct tsm_accessing *to)
{
    bool is_found = false;

    if (from->is_unknown || to->is_unknown) {
        *out = (struct tsm_access_conflict){TSM_ACCESS_UNKNOWN, TSM_DEPENDS_READ_AFTER_WRITE, 0, 0};
        return may_conflict(from, to);
    }
    for (size_t i = from->first; i < from->first + from->count; i++)
        for (size_t k = to->first; k < to->first + to->count; k++) {
            const struct tsm_access *x = &a->ranges[i], *y = &a->ranges[k];
            struct tsm_access_conflict found = {x->kind > y->kind ? x->kind : y->kind,
                                                reason_of(x, y), 0, 0};

            if ((!x->writes && !y->writes) || is_apart(x, y) ||
                !overlap(x, y, &found.start, &found.size) ||
                (!x->is_object && is_freed_between(a, from->seq, to->seq, found.start)) ||
                (is_found && found.access >= out->access))
                continue;
            *out = found;
            is_found = true;
        }
    return is_found;
}

bool tsm_command_accesses_share_source(const struct tsm_command_accesses *a,
                                       const struct tsm_accessing *x, const struct tsm_accessing *y)
{
    uint64_t start, size;

    if (!x->is_upload || !y->is_upload)
        return false;
    for (size_t i = x->first; i < x->first + x->count; i++)
        for (size_t k = y->first; k < y->first + y->count; k++)
            if (a->ranges[i].reads && a->ranges[k].reads &&
                overlap(&a->ranges[i], &a->ranges[k], &start, &size))
                return true;
    return false;
}
