/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/call_nesting.h"

#include "api/traits.h"
#include "base/array.h"
#include "base/buffer.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE     UINT32_MAX
#define LOOK_MAX 16384u /* records after one */

struct span {
    uint64_t begin_ns, end_ns, seq;
    uint32_t thread, type;
    uint32_t outer; /* index of the innermost one around it; NONE */
};

struct tsm_call_nesting {
    struct span *spans; /* by thread, then by end, the inner ones first */
    size_t count;
};

/* ---- making ------------------------------------------------------------------------------------
 */

static int compare(const void *left, const void *right)
{
    const struct span *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static bool is_parent(const struct sbt_record *record)
{
    return tsm_api_traits(record->type) & TSM_API_NESTS;
}

static bool has_parents(struct sbt_reader *reader)
{
    for (size_t i = 0; i < sbt_reader_schema_count(reader); i++)
        if (tsm_api_traits(sbt_reader_schema_at(reader, i)->type) & TSM_API_NESTS)
            return true;
    return false;
}

static int collect(struct tsm_buffer *out, struct sbt_reader *reader)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int more = sbt_cursor_create(&cursor, reader, NULL, 1);

    while (more >= 0 && (more = sbt_cursor_next(cursor, &record)) > 0) {
        struct span *span;

        if (!is_parent(record) || out->size / sizeof(*span) >= NONE)
            continue;
        span = (struct span *)(void *)tsm_buffer_reserve(out, sizeof(*span));
        if (!span) {
            more = tsm_fail(TSM_E_MEMORY, "out of memory for the calls of HIP");
            break;
        }
        *span = (struct span){record->time_ns, record->time_ns + record->duration_ns,
                              record->seq,     record->thread,
                              record->type,    NONE};
        out->size += sizeof(*span);
    }
    sbt_cursor_destroy(cursor);
    return more;
}

/* Moves the spans on the stack that began at `begin_ns` or later into `outer`. Returns its new
 * top. */
static uint32_t take_in(struct span *spans, uint32_t top, uint64_t begin_ns, uint32_t outer)
{
    while (top != NONE && spans[top].begin_ns >= begin_ns) {
        uint32_t below = spans[top].outer;

        spans[top].outer = outer;
        top = below;
    }
    return top;
}

/* Sets `outer` of each span to the span that encloses it. Spans that have no outer one yet form a
 * stack, linked by `outer`: below each lies the one that ended before it. */
static void find_outers(struct span *spans, uint32_t count)
{
    uint32_t top = NONE;

    for (uint32_t i = 0; i < count; i++) {
        if (i && spans[i].thread != spans[i - 1].thread)
            top = take_in(spans, top, 0, NONE);
        top = take_in(spans, top, spans[i].begin_ns, i);
        spans[i].outer = top;
        top = i;
    }
    take_in(spans, top, 0, NONE);
}

int tsm_call_nesting_create(struct tsm_call_nesting **out, struct sbt_reader *reader)
{
    struct tsm_buffer buffer = {0};
    int error;

    *out = NULL;
    if (!has_parents(reader))
        return 0;
    error = collect(&buffer, reader);
    *out = error < 0 ? NULL : calloc(1, sizeof(**out));
    if (!*out) {
        tsm_buffer_finish(&buffer);
        return error < 0 ? error : tsm_fail(TSM_E_MEMORY, "out of memory for the calls of HIP");
    }
    (*out)->spans = (struct span *)(void *)buffer.data;
    (*out)->count = buffer.size / sizeof(struct span);
    qsort((*out)->spans, (*out)->count, sizeof(struct span), compare);
    find_outers((*out)->spans, (uint32_t)(*out)->count);
    return 0;
}

void tsm_call_nesting_destroy(struct tsm_call_nesting *nest)
{
    if (!nest)
        return;
    free(nest->spans);
    free(nest);
}

/* ---- asking ------------------------------------------------------------------------------------
 */

/* The first of `thread` that did not end before `end_ns`, or what comes after the thread's. */
static size_t first_not_before(const struct tsm_call_nesting *nest, uint32_t thread,
                               uint64_t end_ns)
{
    size_t at;

    TSM_BISECT(at, nest->count,
               !(nest->spans[at].thread < thread ||
                 (nest->spans[at].thread == thread && nest->spans[at].end_ns < end_ns)));
    return at;
}

bool tsm_call_nesting_parent(const struct tsm_call_nesting *nest, const struct sbt_record *record,
                             uint64_t *seq, uint32_t *type)
{
    const struct span *span;
    size_t at;

    if (!nest)
        return false;
    at = first_not_before(nest, record->thread, record->time_ns + record->duration_ns);
    if (at == nest->count || nest->spans[at].thread != record->thread)
        return false;
    span = &nest->spans[at];
    while (span && (span->begin_ns > record->time_ns || span->seq <= record->seq))
        span = span->outer == NONE ? NULL : &nest->spans[span->outer];
    if (!span)
        return false;
    *seq = span->seq;
    *type = span->type;
    return true;
}

/* A call's record comes after those of what it made, an inner call's before an outer one's. */
static bool look_behind(struct sbt_cursor *cursor, uint64_t record_seq, uint64_t *seq,
                        uint32_t *type)
{
    const struct sbt_record *record;
    uint64_t begin_ns, end_ns;
    uint32_t thread;

    if (sbt_cursor_seek(cursor, record_seq) < 0 || sbt_cursor_next(cursor, &record) != 1 ||
        record->seq != record_seq)
        return false;
    begin_ns = record->time_ns;
    end_ns = record->time_ns + record->duration_ns;
    thread = record->thread;
    for (unsigned i = 0; i < LOOK_MAX && sbt_cursor_next(cursor, &record) == 1; i++) {
        if (!is_parent(record) || record->thread != thread || record->time_ns > begin_ns ||
            record->time_ns + record->duration_ns < end_ns)
            continue;
        *seq = record->seq;
        *type = record->type;
        return true;
    }
    return false;
}

bool tsm_call_nesting_find(struct sbt_reader *reader, uint64_t record_seq, uint64_t *seq,
                           uint32_t *type)
{
    struct sbt_cursor *cursor = NULL;
    bool found = has_parents(reader) && sbt_cursor_create(&cursor, reader, NULL, 0) == 0 &&
                 look_behind(cursor, record_seq, seq, type);

    sbt_cursor_destroy(cursor);
    return found;
}
