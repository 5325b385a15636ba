/* SPDX-License-Identifier: Apache-2.0
 *
 * Two traces are walked as pairs of sequences that must agree: the commands of each stream, what
 * each stream's commands gave back, and the host's calls thread by thread. Between sequences no
 * order is compared. Of all first differences the earliest in the first trace is reported, so later
 * sequences are only walked up to the earliest found so far.
 */
#include "tracesmith/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/difference.h"
#include "analysis/field_diff.h"
#include "base/text.h"

enum sequence_kind {
    SEQUENCE_COMMANDS,  /* of stream `number` */
    SEQUENCE_READBACKS, /* of stream `number` */
    SEQUENCE_HOST,      /* of thread `number`, in order of first appearance */
};

struct side {
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;
    const struct sbt_record *record; /* NULL at the end */
    const struct sbt_schema *schema;
    uint32_t thread; /* the thread of a HOST sequence */
    struct thread {
        uint32_t id;
        bool calls; /* not only writes host memory */
    } * threads;    /* in order of first appearance */
    size_t thread_count, thread_capacity;
    uint32_t stream_count;
    bool has_functions; /* of the program, which the GPU called, and which wrote host memory */
};

struct diff {
    struct side sides[2];
    struct tsm_pairing pairing;
    const struct tsm_diff_options *options;
    struct tsm_diff_result *out;
    enum sequence_kind kind;
    uint32_t number;
    bool has_functions; /* one of the traces */
};

/* ---- which records ------------------------------------------------------------------------ */

static bool is_command(const struct sbt_schema *schema)
{
    return schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
           schema->kind == SBT_KIND_WAIT;
}

static uint64_t stream_of(const struct sbt_record *record, const struct sbt_schema *schema)
{
    return sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
}

static bool is_host_write(const struct sbt_record *record)
{
    return record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE);
}

/* Queries and synchronisations are left out: how often a program polls is chance. */
static bool is_host_call(const struct sbt_record *record, const struct sbt_schema *schema)
{
    if (SBT_TYPE_API(record->type) == SBT_API_CORE)
        return is_host_write(record);
    return schema->kind != SBT_KIND_QUERY && schema->kind != SBT_KIND_SYNC &&
           schema->kind != SBT_KIND_META;
}

static bool is_readback(const struct sbt_record *record)
{
    return record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK) ||
           record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM);
}

static bool belongs(const struct diff *d, const struct side *side)
{
    const struct sbt_record *record = side->record;

    switch (d->kind) {
    case SEQUENCE_COMMANDS:
        return is_command(side->schema);
    case SEQUENCE_READBACKS:
        return is_readback(record) && stream_of(record, side->schema) == d->number;
    case SEQUENCE_HOST:
        /* Which of several functions and threads a write is put down to is chance. */
        return record->thread == side->thread && is_host_call(record, side->schema) &&
               !(d->has_functions && is_host_write(record));
    }
    return false;
}

static const struct sbt_schema *schema_of(struct sbt_reader *reader,
                                          const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);

    if (!schema && SBT_TYPE_API(record->type) == SBT_API_CORE)
        schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    return schema;
}

static int step(struct diff *d, struct side *side)
{
    int more;

    while ((more = sbt_cursor_next(side->cursor, &side->record)) == 1) {
        side->schema = schema_of(side->reader, side->record);
        if (side->schema && belongs(d, side))
            return 0;
    }
    side->record = NULL;
    return more;
}

/* ---- a difference ------------------------------------------------------------------------- */

static void name_command(struct tsm_difference *d, struct side *side)
{
    const struct sbt_record *record = side->record;

    d->seq = record->seq;
    d->stream = record->stream;
    d->position = record->position;
    d->stack = record->stack;
    if (!is_readback(record)) {
        tsm_difference_name(d, side->reader);
        return;
    }
    d->stream = (uint32_t)stream_of(record, side->schema);
    d->position = sbt_record_role(side->schema, record, SBT_ROLE_OF_POSITION, 0);
    tsm_difference_locate(d, side->reader, record->seq);
}

static uint64_t buffer_of(const struct side *side)
{
    const enum sbt_role roles[] = {SBT_ROLE_DST, SBT_ROLE_HOST_DST, SBT_ROLE_ADDRESS, SBT_ROLE_SRC,
                                   SBT_ROLE_HOST_SRC};
    uint64_t address = 0;

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]) && !address; i++)
        address = sbt_record_role(side->schema, side->record, roles[i], 0);
    return address;
}

static void tell_missing(struct diff *d)
{
    struct tsm_diff_result *out = d->out;
    bool missing_in_a = !d->sides[0].record;
    struct side *side = &d->sides[missing_in_a];

    memset(&out->first, 0, sizeof(out->first));
    name_command(&out->first, side);
    out->field[0] = out->value_a[0] = out->value_b[0] = '\0';
    tsm_format(out->why, sizeof(out->why), "record %llu, %s, is missing in %s",
               (unsigned long long)side->record->seq, side->schema->name,
               sbt_reader_name(d->sides[!missing_in_a].reader));
}

static void tell_field(struct diff *d, const struct tsm_field_diff *f)
{
    struct tsm_diff_result *out = d->out;
    struct side *a = &d->sides[0];

    out->first = f->difference;
    name_command(&out->first, a);
    if (!out->first.buffer)
        out->first.buffer = buffer_of(a);
    out->first.buffer_size = sbt_record_role(a->schema, a->record, SBT_ROLE_SIZE, 0);
    tsm_format(out->field, sizeof(out->field), "%s", f->field);
    tsm_format(out->value_a, sizeof(out->value_a), "%s", f->value_a);
    tsm_format(out->value_b, sizeof(out->value_b), "%s", f->value_b);
    tsm_format(out->why, sizeof(out->why), "record %llu, %s%s%s: %s differs%s",
               (unsigned long long)out->first.seq, out->first.call,
               *out->first.function ? " of " : "", out->first.function, f->field,
               d->kind == SEQUENCE_READBACKS ? " in what came back" : "");
}

static uint64_t place_of(const struct diff *d)
{
    const struct sbt_record *record = d->sides[0].record;

    return record ? record->seq : UINT64_MAX - 1;
}

/* Kept when it is the earliest so far. */
static void tell(struct diff *d, const struct tsm_field_diff *f)
{
    struct tsm_diff_result *out = d->out;

    if (out->verdict == TSM_DIFFERENT && place_of(d) >= out->seq_a)
        return;
    out->verdict = TSM_DIFFERENT;
    out->seq_a = place_of(d);
    out->seq_b = d->sides[1].record ? d->sides[1].record->seq : UINT64_MAX - 1;
    if (f)
        tell_field(d, f);
    else
        tell_missing(d);
}

/* ---- one pair of sequences ---------------------------------------------------------------- */

static int compare_pair(struct diff *d, bool *differs)
{
    const struct tsm_field_diff_input input = {
        .readers = {d->sides[0].reader, d->sides[1].reader},
        .records = {d->sides[0].record, d->sides[1].record},
        .schemas = {d->sides[0].schema, d->sides[1].schema},
        .pairing = &d->pairing,
        .ignore_addresses = d->options->ignore_addresses,
    };
    struct tsm_field_diff f;
    int result = tsm_field_diff(&f, &input);

    if (result < 0)
        return result;
    *differs = result;
    if (result)
        tell(d, &f);
    return 0;
}

static int walk_pairs(struct diff *d)
{
    bool differs = false;
    int error = step(d, &d->sides[0]);

    if (!error)
        error = step(d, &d->sides[1]);
    while (!error && d->sides[0].record && d->sides[1].record) {
        error = compare_pair(d, &differs);
        if (error || differs)
            return error;
        d->out->compared_count++;
        error = step(d, &d->sides[0]);
        if (!error)
            error = step(d, &d->sides[1]);
    }
    if (!error && (d->sides[0].record || d->sides[1].record))
        tell(d, NULL);
    return error;
}

static int walk_sequence(struct diff *d, enum sequence_kind kind, uint32_t number)
{
    uint32_t stream = kind == SEQUENCE_COMMANDS ? number : SBT_STREAM_NONE;
    struct sbt_filter filter = {.streams = &stream, .stream_count = 1};
    int error = 0;

    d->kind = kind;
    d->number = number;
    for (int i = 0; i < 2; i++) {
        d->sides[i].record = NULL;
        d->sides[i].cursor = NULL;
        if (kind == SEQUENCE_HOST)
            d->sides[i].thread =
                number < d->sides[i].thread_count ? d->sides[i].threads[number].id : 0;
    }
    for (int i = 0; i < 2 && !error; i++)
        error = sbt_cursor_create(&d->sides[i].cursor, d->sides[i].reader, &filter, 1);
    if (!error)
        error = walk_pairs(d);
    sbt_cursor_destroy(d->sides[0].cursor);
    sbt_cursor_destroy(d->sides[1].cursor);
    return error;
}

/* ---- what there is ------------------------------------------------------------------------ */

static int note_thread(struct side *side, uint32_t id, bool calls)
{
    for (size_t i = side->thread_count; i-- > 0;) {
        if (side->threads[i].id == id) {
            side->threads[i].calls |= calls;
            return 0;
        }
    }
    if (side->thread_count == side->thread_capacity) {
        size_t more = side->thread_capacity ? side->thread_capacity * 2 : 16;
        struct thread *grown = realloc(side->threads, more * sizeof(*grown));
        if (!grown)
            return tsm_fail(TSM_E_MEMORY, "no memory for %zu threads", more);
        side->threads = grown;
        side->thread_capacity = more;
    }
    side->threads[side->thread_count++] = (struct thread){id, calls};
    return 0;
}

static void forget_writers(struct side *side)
{
    size_t kept = 0;

    for (size_t i = 0; i < side->thread_count; i++)
        if (side->threads[i].calls)
            side->threads[kept++] = side->threads[i];
    side->thread_count = kept;
}

/* Streams and threads of one trace, in one pass. */
static int look_at(struct side *side)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, side->reader, NULL, 1);

    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1) {
        const struct sbt_schema *schema = schema_of(side->reader, record);
        error = 0;
        if (record->stream != SBT_STREAM_NONE) {
            if (record->stream >= side->stream_count && record->stream < 65536)
                side->stream_count = record->stream + 1;
        } else if (schema && is_host_call(record, schema)) {
            error = note_thread(side, record->thread, !is_host_write(record));
            side->has_functions |= stream_of(record, schema) != SBT_STREAM_NONE;
        }
    }
    sbt_cursor_destroy(cursor);
    return error;
}

static bool wants_stream(const struct tsm_diff_options *options, uint32_t stream)
{
    for (size_t i = 0; i < options->stream_count; i++)
        if (options->streams[i] == stream)
            return true;
    return !options->streams;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int walk_all(struct diff *d)
{
    size_t streams = larger(d->sides[0].stream_count, d->sides[1].stream_count);
    size_t threads = larger(d->sides[0].thread_count, d->sides[1].thread_count);
    bool commands = !d->options->readbacks_only;
    int error = 0;

    for (uint32_t i = 0; i < threads && commands && !d->options->streams && !error; i++)
        error = walk_sequence(d, SEQUENCE_HOST, i);
    for (uint32_t i = 0; i < streams && !error; i++) {
        if (!wants_stream(d->options, i))
            continue;
        if (commands)
            error = walk_sequence(d, SEQUENCE_COMMANDS, i);
        if (!error)
            error = walk_sequence(d, SEQUENCE_READBACKS, i);
    }
    return error;
}

/* What is not there cannot be the same. */
static void judge_whole(struct diff *d, struct sbt_reader *reader)
{
    uint64_t lost = sbt_reader_totals(reader)->lost_count;
    const char *name = sbt_reader_name(reader);
    struct tsm_diff_result *out = d->out;
    struct sbt_missing missing;

    sbt_reader_missing(reader, 0, &missing);
    lost += missing.record_count;
    if (!lost && !missing.chunk_count && !missing.end)
        return;
    out->verdict = TSM_CANNOT_TELL;
    if (lost)
        tsm_format(out->why, sizeof(out->why), "what is there is equal, but %s lost %llu records",
                   name, (unsigned long long)lost);
    else if (missing.chunk_count)
        tsm_format(out->why, sizeof(out->why),
                   "what is there is equal, but %s is damaged: %llu chunks cannot be read", name,
                   (unsigned long long)missing.chunk_count);
    else
        tsm_format(
            out->why, sizeof(out->why),
            "what is there is equal, but %s has no end: what was recorded last may be missing",
            name);
}

static void judge(struct diff *d)
{
    struct tsm_diff_result *out = d->out;

    if (out->verdict == TSM_DIFFERENT)
        return;
    if (!out->compared_count) {
        out->verdict = TSM_CANNOT_TELL;
        tsm_format(out->why, sizeof(out->why), "there is nothing to compare");
        return;
    }
    for (int i = 0; i < 2; i++) {
        judge_whole(d, d->sides[i].reader);
    }
}

int tsm_diff(struct tsm_diff_result *out, struct sbt_reader *a, struct sbt_reader *b,
             const struct tsm_diff_options *options)
{
    struct tsm_diff_options none = {0};
    struct tsm_diff_result result = {.first = {.call = "", .function = ""}};
    struct diff d = {.sides = {{.reader = a}, {.reader = b}},
                     .options = options ? options : &none,
                     .out = &result};
    int error = 0;

    for (int i = 0; i < 2 && !error; i++) {
        error = sbt_reader_examine(d.sides[i].reader);
        if (!error)
            error = look_at(&d.sides[i]);
        if (!error)
            error = tsm_extents_collect(&d.pairing.extents[i], d.sides[i].reader);
    }
    d.has_functions = d.sides[0].has_functions || d.sides[1].has_functions;
    for (int i = 0; i < 2 && d.has_functions; i++)
        forget_writers(&d.sides[i]);
    if (!error)
        error = walk_all(&d);
    tsm_pairing_finish(&d.pairing);
    free(d.sides[0].threads);
    free(d.sides[1].threads);
    if (error)
        return error;
    judge(&d);
    *out = result;
    return 0;
}
