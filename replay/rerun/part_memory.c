/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerun/part_memory.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/dependencies/command_accesses.h"
#include "base/array.h"
#include "base/bytes.h"
#include "replay/rerun/forked_run.h"
#include "tracesmith/analysis.h"

#define LIMIT_S 300u /* of one run */

/* Memory that lives at the end of the part. */
struct place {
    struct tsm_observation what;
    struct sbt_key hash; /* of the keys of its pieces */
    bool is_written;     /* by commands of the part, perhaps */
    bool is_shared;      /* ... and by commands that the part leaves out */
};

struct places {
    struct place *list; /* by address */
    size_t count, capacity;
};

/* ---- runs --------------------------------------------------------------------------------- */

static int read_places(struct places *out, const struct tsm_run_log *log)
{
    struct tsm_run_reader r;
    struct place place = {0};
    int error = tsm_run_reader_init(&r, log), got = 0;

    while (!error && (got = tsm_run_reader_next(&r, &place.what, &place.hash)) == 1)
        if (!TSM_ARRAY_PUSH(out->list, out->count, out->capacity, place))
            error = tsm_fail(TSM_E_MEMORY, "no memory to compare memory");
    tsm_run_reader_finish(&r);
    return error ? error : got;
}

static int run_part(struct places *out, struct sbt_reader *reader,
                    const struct tsm_replay_options *options)
{
    struct tsm_run_log log = {-1, -1};
    struct tsm_forked_result result;
    const struct tsm_forked_run run = {
        .options = options, .log = &log, .writes = true, .only_memory = true, .limit_s = LIMIT_S};
    int error = tsm_run_log_init(&log);

    if (!error)
        error = tsm_forked_run(&result, reader, &run);
    if (!error)
        error = read_places(out, &log);
    tsm_run_log_finish(&log);
    return error;
}

/* ---- which memory ------------------------------------------------------------------------- */

static void mark(struct places *p, uint64_t start, uint64_t size, bool is_left_out)
{
    for (size_t i = 0; i < p->count; i++) {
        struct place *place = &p->list[i];

        if (place->what.address >= start + size || start >= place->what.address + place->what.size)
            continue;
        place->is_written |= !is_left_out;
        place->is_shared |= is_left_out;
    }
}

/* Tests whether the part leaves a command out. */
static bool is_left_out(const struct tsm_dependency_slice *need, const struct tsm_accessing *c)
{
    return need->until_seq && c->stream < need->stream_count &&
           c->seq >= need->until_seq[c->stream];
}

static void mark_command(struct places *p, const struct tsm_command_accesses *a,
                         const struct tsm_accessing *c, bool is_out)
{
    if (c->is_unknown)
        mark(p, 0, UINT64_MAX, is_out);
    for (size_t i = c->first; i < c->first + c->count; i++) {
        const struct tsm_access *range = &a->ranges[i];

        if (range->writes && range->is_object)
            mark(p, 0, UINT64_MAX, is_out); /* of arrays the address is not known here */
        else if (range->writes)
            mark(p, range->start, range->size, is_out);
    }
}

/* Marks what the commands up to the part's end may have written. */
static int mark_all(struct places *p, struct sbt_reader *reader,
                    const struct tsm_replay_options *options)
{
    const struct sbt_filter *f = &options->filter;
    const uint64_t end = f->seq_end ? f->seq_end : UINT64_MAX;
    struct tsm_command_accesses accesses = {0};
    struct tsm_dependency_slice need = {0};
    int error = tsm_command_accesses_collect(&accesses, reader);

    if (!error && f->streams)
        error = tsm_dependency_slice_find(&need, reader, f);
    for (size_t i = 0; i < accesses.count && !error; i++) {
        const struct tsm_accessing *c = &accesses.list[i];
        const bool is_out = is_left_out(&need, c);

        if (c->position && c->seq < end && (is_out || c->seq >= f->seq_first))
            mark_command(p, &accesses, c, is_out);
    }
    tsm_dependency_slice_finish(&need);
    tsm_command_accesses_finish(&accesses);
    return error;
}

/* Programs free what they have in the end: the comparison is made when the last command of the part
 * is done. */
static int find_end(uint64_t *out, struct sbt_reader *reader, const struct sbt_filter *part)
{
    const struct sbt_filter filter = {.seq_end = part->seq_end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, &filter, 1);

    *out = part->seq_end;
    if (!error)
        error = sbt_cursor_seek(cursor, UINT64_MAX);
    while (error >= 0 && (error = sbt_cursor_previous(cursor, &record)) == 1)
        if (record->position && !(record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED))) {
            *out = record->seq + 1;
            break;
        }
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

/* ---- comparison --------------------------------------------------------------------------- */

/* Both lists are by address. */
static const struct place *find_same(const struct places *all, const struct place *one)
{
    size_t at;

    TSM_BISECT(at, all->count, all->list[at].what.address >= one->what.address);
    return at < all->count && all->list[at].what.address == one->what.address &&
                   all->list[at].what.size == one->what.size
               ? &all->list[at]
               : NULL;
}

static void compare(struct tsm_part_memory *out, const struct places *part,
                    const struct places *whole)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct place *one = &part->list[i], *other = find_same(whole, one);

        out->shared_count += one->is_written && one->is_shared;
        if (!one->is_written || one->is_shared || !other)
            continue;
        out->compared_count++;
        if (memcmp(&one->hash, &other->hash, sizeof(one->hash)) == 0)
            continue;
        if (!out->differing_count++) {
            out->address = one->what.address;
            out->size = one->what.size;
        }
    }
}

int tsm_part_memory_compare(struct tsm_part_memory *out, struct sbt_reader *reader,
                            const struct tsm_replay_options *options)
{
    struct tsm_replay_options chosen = *options, all = *options;
    struct places part = {0}, whole = {0};
    int error =
        sbt_reader_totals(reader)->record_count > TSM_SEARCHED_RECORDS_MAX
            ? tsm_fail(TSM_E_LIMIT, "the trace has more than %u records", TSM_SEARCHED_RECORDS_MAX)
            : find_end(&chosen.filter.seq_end, reader, &options->filter);

    *out = (struct tsm_part_memory){0};
    all.filter = (struct sbt_filter){.seq_end = chosen.filter.seq_end};
    all.no_checkpoint = true;
    if (!error)
        error = run_part(&part, reader, &chosen);
    if (!error)
        error = mark_all(&part, reader, &chosen);
    if (!error)
        error = run_part(&whole, reader, &all);
    if (!error)
        compare(out, &part, &whole);
    free(part.list);
    free(whole.list);
    return error;
}
