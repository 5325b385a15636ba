/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict: docs/verdict.md is its table. "Different" is said only when nothing that came before
 * can be the reason, "same" only when nothing is missing, left out or not compared.
 */
#include "replay/player.h"

#include <stdarg.h>
#include <string.h>

#include "analysis/diff/difference.h"
#include "base/text.h"
#include "replay/schedule_run.h"

typedef unsigned long long ull; /* for formats */

static void answer(struct tsm_replay_result *r, enum tsm_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void answer(struct tsm_replay_result *r, enum tsm_verdict verdict, const char *format, ...)
{
    va_list ap;

    r->verdict = verdict;
    va_start(ap, format);
    tsm_vformat(r->why, sizeof(r->why), format, ap);
    va_end(ap);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- a difference ------------------------------------------------------------------------- */

/* Writes number and name of a command's record, and its kernel. */
static void name_command(struct tsm_replay *p, uint64_t seq, char *out, size_t size)
{
    struct tsm_difference d = {.seq = seq, .call = "", .function = ""};

    tsm_difference_name(&d, p->reader);
    tsm_format(out, size, "record %llu, %s%s%s", (ull)seq, *d.call ? d.call : "unknown",
               *d.function ? " of " : "", d.function);
}

/* Writes which commands can have failed in the recording. */
static void name_candidates(struct tsm_replay *p, const struct tsm_recorded_failure *e, char *out,
                            size_t size)
{
    if (e->command_count == 1)
        name_command(p, e->commands[0], out, size);
    else if (e->command_count)
        tsm_format(out, size, "one of %zu commands, records %llu to %llu", e->command_count,
                   (ull)e->commands[0], (ull)e->commands[e->command_count - 1]);
    else
        tsm_format(out, size, "a command that is not known");
}

/* Writes how the commands of a context ended in the recording, and where that was said. */
static void name_recorded(struct tsm_replay *p, const struct tsm_recorded_failure *e, char *out,
                          size_t size)
{
    char commands[128];

    name_candidates(p, e, commands, sizeof(commands));
    tsm_format(out, size, "%s of %s, which record %llu, %s, said", e->name, commands, (ull)e->seq,
               e->schema->name);
}

static void answer_other_failure(struct tsm_replay *p)
{
    const struct tsm_recorded_failure *e = p->failed;
    char recorded[256], command[128];

    name_recorded(p, e, recorded, sizeof(recorded));
    if (e->end == TSM_FAILURE_NONE) {
        answer(&p->result, TSM_DIFFERENT, "no command failed; recorded: %s", recorded);
        return;
    }
    tsm_format(command, sizeof(command), "a command");
    if (e->found.has_command)
        name_command(p, e->found.seq, command, sizeof(command));
    answer(&p->result, TSM_DIFFERENT, "%s gave %s; recorded: %s", command, e->found.name, recorded);
}

static void answer_different(struct tsm_replay *p)
{
    const struct tsm_difference *d = &p->verify.first;

    if (!p->verify.difference_count) {
        answer_other_failure(p);
        return;
    }

    if (d->place[0]) {
        answer(&p->result, TSM_DIFFERENT,
               "record %llu, %s on stream %u (position %llu) gave other bytes than recorded, in "
               "%llu bytes from %s on",
               (ull)d->seq, *d->call ? d->call : "unknown", d->stream, (ull)d->position,
               (ull)d->buffer_size, d->place);
        return;
    }
    answer(&p->result, TSM_DIFFERENT,
           "record %llu, %s%s%s on stream %u (position %llu) gave other bytes than recorded, from "
           "offset %llu of 0x%llx on",
           (ull)d->seq, *d->call ? d->call : "unknown", *d->function ? " of " : "", d->function,
           d->stream, (ull)d->position, (ull)d->offset, (ull)d->buffer);
}

static bool is_wait_for_all(const struct tsm_replay *p, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(p->reader, record->type);

    return schema && schema->kind == SBT_KIND_SYNC && record->stream == SBT_STREAM_NONE &&
           !(record->flags & SBT_RECORD_FAILED);
}

/* Tests whether a record behind the difference says that commands before it may have used what was
 * recorded only then: before the first command after the next wait for all of them. */
static bool is_recorded_late(struct tsm_replay *p, uint64_t at)
{
    const struct sbt_filter filter = {.seq_first = at + 1, .seq_end = UINT64_MAX};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    bool is_late = false, is_over = false, has_waited = false;

    if (sbt_cursor_create(&cursor, p->reader, &filter, 1) < 0)
        return false;
    while (!is_late && !is_over && sbt_cursor_next(cursor, &record) == 1) {
        is_late = SBT_TYPE_API(record->type) == SBT_API_CORE && record->flags & SBT_RECORD_LATE;
        is_over = has_waited && record->position;
        has_waited |= is_wait_for_all(p, record);
    }
    sbt_cursor_destroy(cursor);
    return is_late;
}

/* Returns the record behind the first difference. */
static uint64_t first_seq(const struct tsm_replay *p)
{
    if (!p->verify.difference_count)
        return p->failed->seq;
    return p->verify.first_result_seq;
}

/* Returns how many addresses could not be had until the first difference. */
static uint64_t translated_count(const struct tsm_replay *p)
{
    return p->verify.difference_count ? p->verify.first_translated : p->result.translated_count;
}

/* Answers "cannot tell" if something that came before the difference can be its reason. Returns
 * whether it did. */
static bool is_explained(struct tsm_replay *p)
{
    struct tsm_replay_result *r = &p->result;
    const struct tsm_plan *plan = &p->plan;
    const uint64_t at = first_seq(p);
    const uint64_t before = p->scheduled ? UINT64_MAX : at; /* what a schedule has before it */
    char names[160];

    if (translated_count(p)) {
        answer(r, TSM_CANNOT_TELL,
               "%llu of %llu results differ, but %llu recorded addresses could not be had, which "
               "may be why",
               (ull)r->difference_count, (ull)r->checksum_count, (ull)translated_count(p));
        return true;
    }
    if (plan->harmful.count && plan->harmful.first_seq < before) {
        tsm_left_out_names(&plan->harmful, before, names, sizeof(names));
        answer(r, TSM_CANNOT_TELL,
               "%llu of %llu results differ, but calls that are not modelled come before, which "
               "may be why: %s",
               (ull)r->difference_count, (ull)r->checksum_count, names);
        return true;
    }
    if (plan->missing_seq < before) {
        answer(r, TSM_CANNOT_TELL,
               "%llu of %llu results differ, but records before them are missing from the trace, "
               "which may be why",
               (ull)r->difference_count, (ull)r->checksum_count);
        return true;
    }
    if (p->stall.count && p->stall.first_at <= before) {
        answer(r, TSM_CANNOT_TELL,
               "%llu of %llu results differ, but what the program wrote while record %llu or what "
               "it waits for ran was given to it when it did not come to its end, which may be why",
               (ull)r->difference_count, (ull)r->checksum_count, (ull)p->stall.first_at);
        return true;
    }
    if (p->verify.first_mixed || is_recorded_late(p, at)) {
        answer(r, TSM_CANNOT_TELL,
               "%llu of %llu results differ, but mapped memory was written before that while the "
               "device was at work, by the program or the device, which may be why",
               (ull)r->difference_count, (ull)r->checksum_count);
        return true;
    }
    if (p->has_need && p->need.unheard_seq < at) {
        answer(r, TSM_CANNOT_TELL,
               "%llu of %llu results differ, but commands of other streams were left out that the "
               "program had waited for (record %llu) in a thread that may have told another one, "
               "which may be why; replay without --streams",
               (ull)r->difference_count, (ull)r->checksum_count, (ull)p->need.unheard_seq);
        return true;
    }
    if (plan->gap_count) {
        answer(
            r, TSM_CANNOT_TELL,
            "%llu of %llu results differ, but %llu command%s missing from stream %u, which may be "
            "why: places on it have no record",
            (ull)r->difference_count, (ull)r->checksum_count, (ull)plan->gap_count,
            plan->gap_count == 1 ? " is" : "s are", plan->gap_stream);
        return true;
    }
    return false;
}

/* ---- what is missing ---------------------------------------------------------------------- */

/* Tests whether the replayed part goes beyond the records that the trace still has. */
static bool reaches_end(const struct tsm_replay *p)
{
    uint64_t end = p->options.filter.seq_end;

    return !end || end > p->plan.next_seq || p->options.filter.time_end_ns;
}

static bool is_incomplete(struct tsm_replay *p)
{
    struct tsm_replay_result *r = &p->result;
    const struct tsm_plan *plan = &p->plan;
    struct sbt_missing missing;

    sbt_reader_missing(p->reader, p->options.filter.seq_end, &missing);
    if (plan->lost_count || plan->filtered_count)
        answer(r, TSM_CANNOT_TELL, "%llu records are missing from the trace",
               (ull)(plan->lost_count + plan->filtered_count));
    else if (plan->stopped)
        answer(r, TSM_CANNOT_TELL, "recording could not go on: %s", plan->stopped);
    else if (missing.chunk_count)
        answer(r, TSM_CANNOT_TELL, "the trace is damaged: %llu chunks of it cannot be read",
               (ull)missing.chunk_count);
    else if (missing.end && reaches_end(p))
        answer(r, TSM_CANNOT_TELL, "the trace has no end: what was recorded last may be missing");
    else if (sbt_reader_end(p->reader) != SBT_END_NONE && sbt_reader_damage_count(p->reader))
        answer(r, TSM_CANNOT_TELL, "the trace is damaged: %s", sbt_reader_damage(p->reader, 0));
    else if (plan->gap_count)
        answer(r, TSM_CANNOT_TELL,
               "%llu command%s missing from stream %u: places on it have no record",
               (ull)plan->gap_count, plan->gap_count == 1 ? " is" : "s are", plan->gap_stream);
    else
        return false;
    return true;
}

/* ---- what was left out, or not compared --------------------------------------------------- */

static bool is_tainted(struct tsm_replay *p)
{
    char names[160];

    if (!p->plan.tainting.count)
        return false;
    tsm_left_out_names(&p->plan.tainting, UINT64_MAX, names, sizeof(names));
    answer(&p->result, TSM_CANNOT_TELL,
           "%llu call%s that may change what the GPU computes %s not modelled: %s",
           (ull)p->plan.tainting.count, plural(p->plan.tainting.count),
           p->plan.tainting.count == 1 ? "is" : "are", names);
    return true;
}

/* Answers "cannot tell" if commands waited for signals that nothing in the trace sets. Returns
 * whether it did. */
static bool is_released(struct tsm_replay *p)
{
    if (!p->stall.released_count)
        return false;
    answer(&p->result, TSM_CANNOT_TELL,
           "commands waited for %llu signal%s that nothing in the trace sets (record %llu did not "
           "come to its end): they were let go on",
           (ull)p->stall.released_count, plural(p->stall.released_count),
           (ull)p->stall.released_at);
    return true;
}

static bool is_cut_short(struct tsm_replay *p)
{
    char names[160];

    if (!p->plan.unfinished.count)
        return false;
    if (p->result.checksum_count && p->plan.unfinished.first_seq > p->verify.last_seq)
        return false;
    tsm_left_out_names(&p->plan.unfinished, UINT64_MAX, names, sizeof(names));
    answer(&p->result, TSM_CANNOT_TELL,
           "the process ended in calls, of which it is not known what they did: %s", names);
    return true;
}

static bool is_uncompared(struct tsm_replay *p)
{
    static const char *const reasons[TSM_UNCOMPARED_COUNT] = {
        "their commands were not carried out",
        "the replay has no counterpart of them",
        "the trace does not hold all of their bytes",
        "the memory holds timestamps of the GPU, which are others in each run",
        "bytes of mapped memory that the program may have written, or the device, are only as "
        "recorded "
        "because the replay wrote them",
        "others may have written the same bytes by then: another command, or the program, which "
        "could "
        "see in its memory that they were there",
        "commands failed in the replay before they were there, as they had in the recording",
        "of the commands that can have failed not all were sent, or others may have failed",
        "by the schedule other commands were carried out by then",
    };
    const struct tsm_verify *v = &p->verify;
    int worst = 0;

    if (v->left_count) {
        answer(&p->result, TSM_CANNOT_TELL,
               "memory of the host that %llu kernels had changed when recorded, or the program "
               "while they ran, they did not change in the replay",
               (ull)v->left_count);
        return true;
    }
    if (!p->result.uncompared_count)
        return false;
    for (int i = 1; i < TSM_UNCOMPARED_COUNT; i++)
        if (v->uncompared_counts[i] > v->uncompared_counts[worst])
            worst = i;
    answer(&p->result, TSM_CANNOT_TELL, "%llu recorded result%s not compared: %s",
           (ull)p->result.uncompared_count, p->result.uncompared_count == 1 ? " was" : "s were",
           reasons[worst]);
    return true;
}

/* ---- a schedule --------------------------------------------------------------------------- */

/* Answers "cannot tell" if the program may have made what it sent of a result that is there only
 * later by the schedule: the replay sends what was recorded in any case. Returns whether it did. */
static bool is_ahead(struct tsm_replay *p)
{
    const struct tsm_schedule_run *s = p->scheduled;

    if (!s || !s->ahead_count)
        return false;
    answer(&p->result, TSM_CANNOT_TELL,
           s->ahead_of_source
               ? "all %llu results are equal, but record %llu%s came before record %llu was "
                 "complete, which read other bytes in the same memory of the program: the replay "
                 "has them apart, the program could not have had both"
               : "all %llu results are equal, but record %llu%s came before result %llu was there, "
                 "which the program had read by then: whether it needed that for the bytes it sent "
                 "or wrote, no record shows",
           (ull)p->result.checksum_count, (ull)s->ahead_seq,
           s->ahead_count > 1 ? " and others" : "", (ull)s->ahead_of);
    return true;
}

/* ---- the verdict -------------------------------------------------------------------------- */

/* Describes the first failure that came as recorded. */
static void name_failure(struct tsm_replay *p)
{
    const struct tsm_recorded_failure *e = p->failures.list;

    while (e->end != TSM_FAILURE_AS_RECORDED)
        e++;
    name_recorded(p, e, p->result.failure, sizeof(p->result.failure));
}

static void count(struct tsm_replay *p)
{
    struct tsm_replay_result *r = &p->result;

    tsm_verify_end(&p->verify);
    r->failure_count = p->failure_count + (p->failed != NULL);
    r->spot_count = p->verify.spots.count;
    r->spot_difference_count = p->verify.spots.difference_count;
    if (!p->verify.comparison_count && !r->failure_count)
        tsm_verify_adopt_spots(&p->verify);
    r->checksum_count = p->verify.comparison_count + r->failure_count;
    r->fails_otherwise = p->failed != NULL;
    r->difference_count = p->verify.difference_count + r->fails_otherwise;
    if (p->failure_count)
        name_failure(p);
    r->uncompared_count = tsm_verify_uncompared(&p->verify);
    r->timed_count = p->verify.timed_count + p->verify.uncompared_counts[TSM_UNCOMPARED_TIMES];
}

int tsm_verdict(struct tsm_replay *p)
{
    struct tsm_replay_result *r = &p->result;

    count(p);
    r->early_count = p->stall.count;
    r->ahead_count = p->scheduled ? p->scheduled->ahead_count : 0;
    if (p->options.dry_run)
        answer(r, TSM_CANNOT_TELL, "nothing was run: this was a dry run");
    else if (r->untranslated_count)
        answer(r, TSM_CANNOT_TELL,
               "%llu results differ; %llu values in arguments of kernels look like addresses that "
               "could not be had, and were left as recorded: %s",
               (ull)r->difference_count, (ull)r->untranslated_count, p->untranslated);
    else if (is_released(p))
        return 0;
    else if (r->difference_count && !is_explained(p))
        answer_different(p);
    else if (r->difference_count || is_tainted(p) || is_cut_short(p) || is_incomplete(p) ||
             is_uncompared(p) || is_ahead(p))
        return 0;
    else if (!r->checksum_count) {
        r->verdict = TSM_NOTHING_TO_COMPARE;
        return tsm_nearest_result(p, r->why, sizeof(r->why));
    } else
        r->verdict = TSM_SAME;
    return 0;
}
