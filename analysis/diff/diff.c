/* SPDX-License-Identifier: Apache-2.0
 *
 * Two traces are compared as pairs of sequences that must agree: what was done on each stream, what
 * each stream's commands gave back, and the host's calls thread by thread. Between sequences no
 * order is compared. Both traces are read side by side, each once; a record whose counterpart was
 * not read yet waits in memory (analysis/diff/sequences.h). Of all first differences the earliest
 * in the first trace is reported, so a pass ends where the earliest found so far lies.
 *
 * What cannot be compared, or is a matter of chance, never makes two traces different; but while
 * there is such a thing they are not the same, either.
 */
#include "tracesmith/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/diff/difference.h"
#include "analysis/diff/field_diff.h"
#include "analysis/diff/sequences.h"
#include "analysis/diff/survey.h"
#include "base/text.h"

#define WAITING_BYTES_MAX ((size_t)64 << 20) /* of records that wait for their counterpart */
#define PASS_MAX          64
#define STEPS_MAX         ((uint64_t)16 << 20)

#define SEQ_NONE UINT64_MAX

struct side {
    struct sbt_reader *reader;
    struct tsm_survey survey;
    struct sbt_cursor *cursor;
    bool in_start; /* within a checkpoint that comes before all commands */
    bool at_end;
};

/* One record of a pair, wherever it lies. */
struct half {
    const struct sbt_record *record; /* NULL: there is none */
    const struct sbt_schema *schema;
};

struct diff {
    struct side sides[2];
    struct tsm_pairing pairing;
    struct tsm_counterparts counterparts;
    struct tsm_sequences sequences;
    struct tsm_map found_streams; /* of those that --streams names */
    const struct tsm_diff_options *options;
    struct tsm_diff_result *out;
    bool has_functions;   /* one of the traces */
    bool skips_checksums; /* one of the traces has none */
    bool is_readback;     /* the first difference is in what came back */
    uint64_t steps;       /* records that may still be read to see what overwrote results */
    int error;            /* memory for sequences ran out */
    char lacking[128]; /* the first difference that records which are missing may explain; "": none
                        */
    char doubt[256];   /* first reason for which equality proves nothing; "": none */
};

/* ---- which records ------------------------------------------------------------------------ */

static bool is_core(const struct sbt_record *record, enum sbt_core_record call)
{
    return record->type == SBT_TYPE(SBT_API_CORE, call);
}

static uint64_t stream_of(const struct sbt_record *record, const struct sbt_schema *schema)
{
    return sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
}

static int trace_of(const struct diff *d, const struct side *side)
{
    return side == &d->sides[1];
}

static uint64_t strand_of_result(const struct diff *d, int trace, const struct half *h)
{
    return tsm_counterparts_strand_at(
        &d->counterparts, trace, stream_of(h->record, h->schema),
        sbt_record_role(h->schema, h->record, SBT_ROLE_OF_POSITION, 0));
}

/* When spot checks are taken is chance where threads wait, so they are not compared. */
static bool is_readback(const struct sbt_record *record)
{
    return is_core(record, SBT_CORE_READBACK) ||
           (is_core(record, SBT_CORE_CHECKSUM) && !(record->flags & SBT_RECORD_SPOT));
}

static bool wants_stream(const struct tsm_diff_options *options, uint64_t stream)
{
    for (size_t i = 0; i < options->stream_count; i++)
        if (options->streams[i] == stream)
            return true;
    return !options->streams;
}

static struct tsm_sequence *find(struct diff *d, enum tsm_sequence_kind kind, uint64_t number)
{
    struct tsm_sequence *sequence = tsm_sequences_find(&d->sequences, kind, number);

    if (!sequence || (kind <= TSM_SEQUENCE_CHECKSUMS && d->options->streams &&
                      !tsm_map_set(&d->found_streams, tsm_strand_stream(number), 1)))
        d->error = tsm_fail(TSM_E_MEMORY, "no memory for what is compared");
    return sequence;
}

static struct tsm_sequence *find_thread(struct diff *d, struct side *side, uint32_t id,
                                        enum tsm_sequence_kind kind)
{
    uint64_t number = tsm_counterparts_thread(&d->counterparts, trace_of(d, side), id);

    if (number == SEQ_NONE)
        d->error = tsm_fail(TSM_E_MEMORY, "no memory for threads");
    return find(d, kind, number);
}

static struct tsm_sequence *core_sequence(struct diff *d, struct side *side, const struct half *h)
{
    const struct sbt_record *record = h->record;
    const uint64_t strand = strand_of_result(d, trace_of(d, side), h);
    bool sent = !d->options->readbacks_only;

    if (is_core(record, SBT_CORE_CHECKPOINT_BEGIN))
        side->in_start = record->seq < side->survey.start_end_seq ||
                         (record->slot_count > 1 && (record->slots[1] & SBT_CHECKPOINT_START));
    if (tsm_field_diff_is_write(record) && sent && wants_stream(d->options, SBT_STREAM_NONE))
        return d->has_functions ? find(d, TSM_SEQUENCE_WRITES, 0)
                                : find_thread(d, side, record->thread, TSM_SEQUENCE_HELD);
    if (is_readback(record) && wants_stream(d->options, tsm_strand_stream(strand)))
        return find(
            d, is_core(record, SBT_CORE_READBACK) ? TSM_SEQUENCE_READBACKS : TSM_SEQUENCE_CHECKSUMS,
            strand);
    if (side->in_start && sent &&
        (is_core(record, SBT_CORE_MEMORY) || is_core(record, SBT_CORE_STATE)))
        return find(d, TSM_SEQUENCE_START, 0);
    return NULL;
}

/* The sequence that a call is part of, or NULL: it is not compared. Who sent a command is noted in
 * any case, for the sake of its results. */
static struct tsm_sequence *call_sequence(struct diff *d, struct side *side, const struct half *h)
{
    const bool is_command = h->record->stream != SBT_STREAM_NONE;
    uint64_t strand = SBT_STREAM_NONE;

    if (tsm_survey_is_wait(h->schema))
        return NULL;
    if (is_command)
        strand = tsm_counterparts_strand(&d->counterparts, trace_of(d, side), h->record, h->schema);
    if (strand == UINT64_MAX) {
        d->error = tsm_fail(TSM_E_MEMORY, "no memory for who sent what");
        return NULL;
    }
    if (d->options->readbacks_only || !wants_stream(d->options, tsm_strand_stream(strand)))
        return NULL;
    return is_command ? find(d, TSM_SEQUENCE_COMMANDS, strand)
                      : find_thread(d, side, h->record->thread, TSM_SEQUENCE_HOST);
}

static struct tsm_sequence *sequence_of(struct diff *d, struct side *side, const struct half *h)
{
    if (!h->schema)
        return NULL;
    return SBT_TYPE_API(h->record->type) == SBT_API_CORE ? core_sequence(d, side, h)
                                                         : call_sequence(d, side, h);
}

/* ---- doubts ------------------------------------------------------------------------------- */

static const char *const sequence_names[TSM_SEQUENCE_KINDS] = {
    "commands",
    "results",
    "checksums",
    "calls",
    "writes to host memory",
    "host memory that commands may have written",
    "memory at the start",
};

/* Whether scattered writes are recorded one by one depends on what the device does meanwhile. */
static bool is_held(const struct half *h)
{
    return h->record &&
           ((h->record->flags & SBT_RECORD_HELD) != 0 || is_core(h->record, SBT_CORE_HOST_RUNS));
}

static bool has_writers(const struct diff *d)
{
    return d->sides[0].survey.has_writers || d->sides[1].survey.has_writers;
}

/* Tests whether more has written to the memory of one of two results before it was taken: when that
 * is depends on when the program asks. */
static bool is_overwritten_once(struct diff *d, const struct half *a, const struct half *b)
{
    return tsm_difference_overwrites(d->sides[0].reader, a->record, a->schema, &d->steps) !=
               tsm_difference_overwrites(d->sides[1].reader, b->record, b->schema, &d->steps) ||
           !d->steps;
}

/* Tests whether a difference in the sequence may be chance, or come of settings of the recorder. */
static bool may_vary(struct diff *d, const struct tsm_sequence *sequence, const struct half *a,
                     const struct half *b, const struct tsm_field_diff *f)
{
    switch (sequence->kind) {
    case TSM_SEQUENCE_WRITES:
        return true;
    case TSM_SEQUENCE_HELD: /* what follows one that chance put there is not of the same commands */
        return has_writers(d) || d->sides[0].survey.held_count != d->sides[1].survey.held_count ||
               (sequence->has_held && (!f || strcmp(f->field, "bytes") != 0));
    case TSM_SEQUENCE_READBACKS: /* which results of one command there are, also */
        return f && (is_held(a) != is_held(b) || strcmp(f->field, "bytes") != 0);
    case TSM_SEQUENCE_CHECKSUMS: /* how many there are may depend on when the program asks */
        return d->skips_checksums ||
               d->sides[0].survey.checksum_count != d->sides[1].survey.checksum_count ||
               (f && (strcmp(f->field, "xxh3_128") != 0 || is_overwritten_once(d, a, b)));
    case TSM_SEQUENCE_START: /* the order of memory is chance, its content is not */
        return !f || (strcmp(f->field, "bytes") != 0 && strcmp(f->field, "value") != 0);
    default:
        return false;
    }
}

/* Tests whether the difference may come of records that one of the traces lacks: those of a
 * sequence then have others for counterparts. */
static bool may_lack(const struct diff *d, const struct half *a, const struct half *b)
{
    const uint64_t whole[] = {d->sides[0].survey.whole_seq, d->sides[1].survey.whole_seq};

    return (a->record ? a->record->seq >= whole[0] : whole[0] != SEQ_NONE) ||
           (b->record ? b->record->seq >= whole[1] : whole[1] != SEQ_NONE);
}

static void note_lacking(struct diff *d, const struct half *a, const struct half *b)
{
    const struct half *h = a->record ? a : b;

    if (!*d->lacking)
        tsm_format(d->lacking, sizeof(d->lacking), "record %llu, %s, %s",
                   (unsigned long long)h->record->seq, h->schema->name,
                   a->record && b->record ? "is not the same in both" : "is in one of them only");
}

static void doubt_pair(struct diff *d, const struct tsm_sequence *sequence, const struct half *a,
                       const struct half *b, const struct tsm_field_diff *f)
{
    const struct half *h = a->record ? a : b;

    if (*d->doubt)
        return;
    if (sequence->kind == TSM_SEQUENCE_WRITES)
        tsm_format(d->doubt, sizeof(d->doubt),
                   "writes to host memory differ from record %llu on: functions that the GPU calls "
                   "write there, too, and in which order is chance",
                   (unsigned long long)h->record->seq);
    else if (sequence->kind == TSM_SEQUENCE_HELD && has_writers(d))
        tsm_format(d->doubt, sizeof(d->doubt),
                   "record %llu of %s (%s) holds what several threads had written by then, and how "
                   "much that was is chance",
                   (unsigned long long)h->record->seq, sbt_reader_name(d->sides[!a->record].reader),
                   h->schema->name);
    else if (sequence->kind == TSM_SEQUENCE_HELD || (f && is_held(a) != is_held(b)))
        tsm_format(d->doubt, sizeof(d->doubt),
                   "record %llu of %s (%s) holds what commands had written by then, and how many "
                   "had is chance",
                   (unsigned long long)h->record->seq, sbt_reader_name(d->sides[!a->record].reader),
                   h->schema->name);
    else if (f && sequence->kind == TSM_SEQUENCE_CHECKSUMS && !strcmp(f->field, "xxh3_128"))
        tsm_format(d->doubt, sizeof(d->doubt),
                   "record %llu of %s (%s) is of memory that other commands had written by then, "
                   "and how many had is chance",
                   (unsigned long long)h->record->seq, sbt_reader_name(d->sides[!a->record].reader),
                   h->schema->name);
    else if (f)
        tsm_format(d->doubt, sizeof(d->doubt),
                   "%s of record %llu, %s, cannot be compared: %s and %s", f->field,
                   (unsigned long long)h->record->seq, h->schema->name, f->value_a, f->value_b);
    else
        tsm_format(d->doubt, sizeof(d->doubt), "%s has no counterpart of record %llu (%s)",
                   sbt_reader_name(d->sides[a->record ? 1 : 0].reader),
                   (unsigned long long)h->record->seq, sequence_names[sequence->kind]);
}

/* ---- a difference ------------------------------------------------------------------------- */

static uint64_t buffer_of(const struct half *h)
{
    const enum sbt_role roles[] = {SBT_ROLE_DST, SBT_ROLE_HOST_DST, SBT_ROLE_ADDRESS, SBT_ROLE_SRC,
                                   SBT_ROLE_HOST_SRC};
    uint64_t address = 0;

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]) && !address; i++)
        address = sbt_record_role(h->schema, h->record, roles[i], 0);
    return address;
}

/* Describes the difference as far as the record alone tells; name_difference() adds names. */
static void place_difference(struct diff *d, const struct half *h)
{
    struct tsm_difference *first = &d->out->first;
    const struct sbt_record *record = h->record;

    d->is_readback = is_readback(record);
    first->seq = record->seq;
    first->stream = d->is_readback ? (uint32_t)stream_of(record, h->schema) : record->stream;
    first->position = d->is_readback ? sbt_record_role(h->schema, record, SBT_ROLE_OF_POSITION, 0)
                                     : record->position;
    first->stack = record->stack;
    tsm_format(d->out->why, sizeof(d->out->why), "%s", h->schema->name);
}

static void tell_missing(struct diff *d, const struct half *h)
{
    struct tsm_diff_result *out = d->out;

    memset(&out->first, 0, sizeof(out->first));
    place_difference(d, h);
    out->field[0] = out->value_a[0] = out->value_b[0] = '\0';
}

static void tell_field(struct diff *d, const struct half *a, const struct tsm_field_diff *f)
{
    struct tsm_diff_result *out = d->out;

    out->first = f->difference;
    place_difference(d, a);
    if (!out->first.buffer)
        out->first.buffer = buffer_of(a);
    out->first.buffer_size = sbt_record_role(a->schema, a->record, SBT_ROLE_SIZE, 0);
    tsm_format(out->field, sizeof(out->field), "%s", f->field);
    tsm_format(out->value_a, sizeof(out->value_a), "%s", f->value_a);
    tsm_format(out->value_b, sizeof(out->value_b), "%s", f->value_b);
}

/* Tests whether the difference may come of threads, or their streams, that were taken for one
 * another. */
static bool is_guessed(const struct diff *d, const struct tsm_sequence *sequence,
                       const struct tsm_field_diff *f)
{
    if (f && f->may_name_object && tsm_counterparts_has_guess(&d->counterparts))
        return true;
    if (sequence->kind == TSM_SEQUENCE_HOST || sequence->kind == TSM_SEQUENCE_HELD)
        return tsm_map_find(&d->counterparts.guessed_threads, sequence->number);
    return tsm_counterparts_is_guess(&d->counterparts, sequence->number);
}

static void doubt_guess(struct diff *d, const struct half *a, const struct half *b)
{
    const int trace = !a->record;
    const struct half *h = trace ? b : a;

    if (!*d->doubt)
        tsm_format(
            d->doubt, sizeof(d->doubt),
            "record %llu of %s (%s) has another counterpart, or none: several threads do the "
            "same, and which of them stand for each other is not known",
            (unsigned long long)h->record->seq, sbt_reader_name(d->sides[trace].reader),
            h->schema->name);
}

/* A difference is kept when it is the earliest so far. `f`: NULL when one of the records is
 * missing. */
static void tell(struct diff *d, const struct tsm_sequence *sequence, const struct half *a,
                 const struct half *b, const struct tsm_field_diff *f)
{
    struct tsm_diff_result *out = d->out;
    uint64_t place = a->record ? a->record->seq : SEQ_NONE - 1;
    uint64_t other = b->record ? b->record->seq : SEQ_NONE - 1;

    if (is_guessed(d, sequence, f)) {
        doubt_guess(d, a, b);
        return;
    }
    if (out->verdict == TSM_DIFFERENT &&
        (place > out->seq_a || (place == out->seq_a && other >= out->seq_b)))
        return;
    out->verdict = TSM_DIFFERENT;
    out->seq_a = place;
    out->seq_b = other;
    if (f)
        tell_field(d, a, f);
    else
        tell_missing(d, a->record ? a : b);
}

/* Names and the sentence, when the first difference is settled. */
static void name_difference(struct diff *d)
{
    struct tsm_diff_result *out = d->out;
    bool missing_in_a = out->seq_a == SEQ_NONE - 1;
    struct sbt_reader *reader = d->sides[missing_in_a].reader;
    uint64_t seq = out->first.seq;
    char call[128];

    tsm_format(call, sizeof(call), "%s", out->why);
    if (d->is_readback)
        tsm_difference_locate(&out->first, reader, seq);
    else
        tsm_difference_name(&out->first, reader);
    if (!*out->field)
        tsm_format(out->why, sizeof(out->why), "record %llu, %s, is missing in %s",
                   (unsigned long long)seq, call, sbt_reader_name(d->sides[!missing_in_a].reader));
    else
        tsm_format(out->why, sizeof(out->why), "record %llu, %s%s%s: %s differs%s",
                   (unsigned long long)out->first.seq, *out->first.call ? out->first.call : call,
                   *out->first.function ? " of " : "", out->first.function, out->field,
                   d->is_readback ? " in what came back" : "");
}

/* ---- pairs -------------------------------------------------------------------------------- */

static void end_sequence(struct diff *d, struct tsm_sequence *sequence)
{
    tsm_sequences_clear(&d->sequences, sequence);
    sequence->is_done = true;
}

static int note_pair(struct diff *d, struct tsm_sequence *sequence, const struct half *a,
                     const struct half *b)
{
    sequence->compared++;
    if (sequence->kind != TSM_SEQUENCE_COMMANDS)
        return 0;
    return tsm_pairing_note_position(&d->pairing, sequence->number, a->record->position,
                                     b->record->position);
}

static bool is_result(const struct tsm_sequence *sequence)
{
    return sequence->kind == TSM_SEQUENCE_READBACKS || sequence->kind == TSM_SEQUENCE_CHECKSUMS;
}

/* Which of two results comes first, as of commands that are not the same one: -1, 1; 0: of the
 * same. */
static int order_results(const struct diff *d, const struct tsm_sequence *sequence,
                         const struct half *a, const struct half *b)
{
    uint64_t x, y;

    if (!is_result(sequence) || d->options->readbacks_only)
        return 0;
    x = sbt_record_role(a->schema, a->record, SBT_ROLE_OF_POSITION, 0);
    y = sbt_record_role(b->schema, b->record, SBT_ROLE_OF_POSITION, 0);
    if (tsm_pairing_position(&d->pairing, sequence->number, x, y))
        return 0;
    return tsm_pairing_counterpart(&d->pairing, sequence->number, x) < y ? -1 : 1;
}

/* A result that only one trace has. Its command is compared with the others; whether the recorder
 * sees the bytes before another command overwrites them is chance of when the program asks. */
static void doubt_lone_result(struct diff *d, int trace, const struct half *h)
{
    if (!*d->doubt)
        tsm_format(
            d->doubt, sizeof(d->doubt),
            "record %llu of %s is a result of which the other one has none, or one of another "
            "command: it may have been overwritten before the program asked for it",
            (unsigned long long)h->record->seq, sbt_reader_name(d->sides[trace].reader));
}

static int compare_pair(struct diff *d, struct tsm_sequence *sequence, const struct half *a,
                        const struct half *b)
{
    const struct tsm_field_diff_input input = {
        .readers = {d->sides[0].reader, d->sides[1].reader},
        .records = {a->record, b->record},
        .schemas = {a->schema, b->schema},
        .pairing = &d->pairing,
        .counterparts = &d->counterparts,
        .strand = strand_of_result(d, 0, a),
        .ignore_addresses = d->options->ignore_addresses,
        .ignore_positions = d->options->readbacks_only,
    };
    struct tsm_field_diff f;
    int error, result;
    bool varies;

    /* A guess makes pairs, too: it must be without contradiction, or equality proves nothing. */
    d->pairing.is_by_chance = may_vary(d, sequence, a, b, NULL);
    result = tsm_field_diff(&f, &input);
    if (result < 0)
        return result;
    varies = result == TSM_FIELDS_DIFFER && may_vary(d, sequence, a, b, &f);
    if (result == TSM_FIELDS_AGREE)
        d->out->compared_count++;
    else if (result == TSM_FIELDS_UNKNOWN || varies)
        doubt_pair(d, sequence, a, b, &f);
    else if (may_lack(d, a, b))
        note_lacking(d, a, b);
    else
        tell(d, sequence, a, b, &f);
    error = note_pair(d, sequence, a, b);
    if (result == TSM_FIELDS_DIFFER && !(varies && sequence->kind == TSM_SEQUENCE_READBACKS))
        end_sequence(d, sequence);
    return error;
}

static void miss(struct diff *d, struct tsm_sequence *sequence, int trace, const struct half *h)
{
    const struct half none = {NULL, NULL};
    const struct half *a = trace ? &none : h, *b = trace ? h : &none;

    if (may_lack(d, a, b))
        note_lacking(d, a, b);
    else if (is_result(sequence) && !d->options->readbacks_only)
        doubt_lone_result(d, trace, h);
    else if (may_vary(d, sequence, a, b, NULL))
        doubt_pair(d, sequence, a, b, NULL);
    else
        tell(d, sequence, a, b, NULL);
    end_sequence(d, sequence);
}

/* Passes over results that only one trace has, until *h and the one that waits are of the same
 * command. Returns what waits then, or NULL; *is_lone: *h itself is passed over. */
static struct tsm_waiting *pass_over(struct diff *d, struct tsm_sequence *sequence, int trace,
                                     const struct half *h, bool *is_lone)
{
    struct tsm_waiting *w;

    *is_lone = false;
    while ((w = sequence->first[!trace])) {
        const struct half other = {&w->record, w->schema};
        int order = order_results(d, sequence, trace ? &other : h, trace ? h : &other);
        int lone = order < 0 ? 0 : 1;
        if (!order)
            return w;
        sequence->lone[lone]++;
        doubt_lone_result(d, lone, lone == trace ? h : &other);
        *is_lone = lone == trace;
        if (*is_lone)
            return w;
        tsm_sequences_drop(&d->sequences, sequence, !trace);
    }
    return NULL;
}

/* A record of `trace`, in its turn. */
static int take(struct diff *d, struct tsm_sequence *sequence, int trace, const struct half *h)
{
    struct tsm_waiting *w;
    bool is_lone;
    int error;

    if (sequence->skip[trace]) {
        sequence->skip[trace]--;
        return 0;
    }
    sequence->has_held |= is_held(h);
    w = pass_over(d, sequence, trace, h, &is_lone);
    if (is_lone)
        return 0;
    if (!w && d->sides[!trace].at_end) {
        miss(d, sequence, trace, h);
        return 0;
    }
    if (!w)
        return tsm_sequences_wait(&d->sequences, sequence, trace, h->record, h->schema);
    const struct half other = {&w->record, w->schema};
    error = compare_pair(d, sequence, trace ? &other : h, trace ? h : &other);
    if (!error && sequence->first[!trace] == w)
        tsm_sequences_drop(&d->sequences, sequence, !trace);
    return error;
}

/* ---- passes ------------------------------------------------------------------------------- */

/* Takes the next record of a trace. */
static int step(struct diff *d, int trace)
{
    struct side *side = &d->sides[trace];
    struct tsm_sequence *sequence;
    struct half h;
    int more = sbt_cursor_next(side->cursor, &h.record);

    if (more != 1) {
        side->at_end = true;
        return more;
    }
    h.schema = tsm_survey_schema(side->reader, h.record);
    if (!trace && d->out->verdict == TSM_DIFFERENT && h.record->seq >= d->out->seq_a) {
        side->at_end = true;
        return 0;
    }
    sequence = sequence_of(d, side, &h);
    if (d->error || !sequence || sequence->is_done || sequence->is_put_off)
        return d->error;
    int error = take(d, sequence, trace, &h);
    if (!error && d->sequences.bytes > WAITING_BYTES_MAX)
        tsm_sequences_put_off(&d->sequences, WAITING_BYTES_MAX / 2);
    return error;
}

/* Reads both traces, always the one of which less waits for a counterpart. After a difference reads
 * the second one only while records of the first wait. */
static int read_both(struct diff *d)
{
    int error = 0;

    while (!error) {
        const uint64_t *waiting = d->sequences.waiting;
        bool a = !d->sides[0].at_end;
        bool b = !d->sides[1].at_end;
        if (d->out->verdict == TSM_DIFFERENT && !a)
            b = b && waiting[0] > 0;
        if (!a && !b)
            break;
        error = step(d, a && (!b || waiting[0] <= waiting[1]) ? 0 : 1);
    }
    return error;
}

/* Reports the first record that has no counterpart when both traces were read. */
static void miss_rest(struct diff *d)
{
    for (size_t i = 0; i < d->sequences.count; i++) {
        struct tsm_sequence *sequence = &d->sequences.list[i];
        for (int trace = 0; trace < 2; trace++) {
            struct tsm_waiting *w = sequence->first[trace];
            const struct half h = {w ? &w->record : NULL, w ? w->schema : NULL};
            if (w)
                miss(d, sequence, trace, &h);
        }
    }
}

static int pass(struct diff *d)
{
    int error = 0;

    for (int i = 0; i < 2; i++) {
        d->sides[i].cursor = NULL;
        d->sides[i].at_end = d->sides[i].in_start = false;
    }
    for (int i = 0; i < 2 && !error; i++)
        error = sbt_cursor_create(&d->sides[i].cursor, d->sides[i].reader, NULL, 1);
    if (!error)
        error = read_both(d);
    if (!error)
        miss_rest(d);
    sbt_cursor_destroy(d->sides[0].cursor);
    sbt_cursor_destroy(d->sides[1].cursor);
    return error;
}

static int walk_all(struct diff *d)
{
    int error = pass(d);

    for (int i = 1; !error && tsm_sequences_again(&d->sequences); i++) {
        if (i == PASS_MAX) {
            tsm_format(d->doubt, sizeof(d->doubt),
                       "the traces have their streams in too different an order to compare all");
            break;
        }
        error = pass(d);
    }
    return error;
}

/* ---- verdict ------------------------------------------------------------------------------ */

static void doubt_streams(struct diff *d)
{
    const struct tsm_diff_options *options = d->options;

    for (size_t i = 0; i < options->stream_count && !*d->doubt; i++) {
        uint64_t stream = options->streams[i];
        if (stream != SBT_STREAM_NONE && !tsm_map_find(&d->found_streams, stream))
            tsm_format(d->doubt, sizeof(d->doubt), "%sstream %llu is in neither trace",
                       options->readbacks_only ? "a result of " : "", (unsigned long long)stream);
    }
}

static void doubt_traces(struct diff *d)
{
    for (int i = 0; i < 2 && !*d->doubt; i++)
        tsm_survey_doubt(&d->sides[i].survey, d->sides[i].reader, d->doubt, sizeof(d->doubt));
    for (int i = 0; i < 2 && !d->options->readbacks_only && !*d->doubt; i++)
        tsm_survey_doubt_failures(&d->sides[i].survey, &d->sides[!i].survey, d->sides[i].reader,
                                  d->doubt, sizeof(d->doubt));
    doubt_streams(d);
}

/* Both may lack the same: equality of what is left proves nothing. */
static int doubt_gaps(struct diff *d)
{
    int error = 0;

    for (int i = 0; i < 2 && !error && !*d->doubt; i++)
        error = tsm_survey_doubt_gaps(d->sides[i].reader, d->doubt, sizeof(d->doubt));
    return error;
}

static int judge(struct diff *d)
{
    struct tsm_diff_result *out = d->out;
    const struct side *s = d->sides;
    int error;

    if (out->verdict == TSM_DIFFERENT) {
        name_difference(d);
        return 0;
    }
    doubt_traces(d);
    error = out->compared_count ? doubt_gaps(d) : 0;
    if (error)
        return error;
    if (*d->lacking && *d->doubt) {
        out->verdict = TSM_CANNOT_TELL;
        tsm_format(out->why, sizeof(out->why), "%s, which may come of what is missing: %s",
                   d->lacking, d->doubt);
        return 0;
    }
    if (!out->compared_count || *d->doubt)
        out->verdict = TSM_CANNOT_TELL;
    if (*d->doubt)
        tsm_format(out->why, sizeof(out->why), "%s%s",
                   out->compared_count ? "what was compared is equal, but " : "", d->doubt);
    else if (!out->compared_count)
        tsm_format(out->why, sizeof(out->why), "there is nothing to compare");
    else if (s[0].survey.uncompared_count != s[1].survey.uncompared_count)
        tsm_format(out->why, sizeof(out->why),
                   "queries and waits were not compared: %llu and %llu of them",
                   (unsigned long long)s[0].survey.uncompared_count,
                   (unsigned long long)s[1].survey.uncompared_count);
    return 0;
}

static int pair_threads(struct diff *d)
{
    struct sbt_reader *const readers[] = {d->sides[0].reader, d->sides[1].reader};
    const size_t counts[] = {d->sides[0].survey.threads.count, d->sides[1].survey.threads.count};

    if (counts[0] <= 1 && counts[1] <= 1)
        return 0;
    return tsm_counterparts_find(&d->counterparts, readers, d->pairing.extents, counts);
}

static int survey(struct diff *d)
{
    struct sbt_reader *const readers[] = {d->sides[0].reader, d->sides[1].reader};
    int error = tsm_survey_check_redacted(readers);

    for (int i = 0; i < 2 && !error; i++) {
        error = sbt_reader_examine(d->sides[i].reader);
        if (!error)
            error = tsm_survey_make(&d->sides[i].survey, d->sides[i].reader);
        if (!error)
            error = tsm_extents_collect(&d->pairing.extents[i], d->sides[i].reader);
    }
    tsm_survey_compare(&d->sides[0].survey, &d->sides[1].survey);
    d->has_functions = d->sides[0].survey.has_functions || d->sides[1].survey.has_functions;
    d->skips_checksums = !d->sides[0].survey.checksum_count != !d->sides[1].survey.checksum_count;
    return error ? error : pair_threads(d);
}

int tsm_diff(struct tsm_diff_result *out, struct sbt_reader *a, struct sbt_reader *b,
             const struct tsm_diff_options *options)
{
    struct tsm_diff_options none = {0};
    struct tsm_diff_result result = {.first = {.call = "", .function = ""}};
    struct diff d = {.sides = {{.reader = a}, {.reader = b}},
                     .steps = STEPS_MAX,
                     .options = options ? options : &none,
                     .out = &result};
    int error = survey(&d);

    if (!error)
        error = walk_all(&d);
    if (!error)
        error = judge(&d);
    tsm_sequences_finish(&d.sequences);
    tsm_pairing_finish(&d.pairing);
    tsm_counterparts_finish(&d.counterparts);
    tsm_map_finish(&d.found_streams);
    for (int i = 0; i < 2; i++)
        tsm_survey_finish(&d.sides[i].survey);
    if (error)
        return error;
    *out = result;
    return 0;
}
