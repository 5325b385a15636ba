/* SPDX-License-Identifier: Apache-2.0
 *
 * Nothing to compare: the recorded result that is nearest to the part, and the option with which a
 * replay reaches it.
 */
#include "replay/player.h"

#include <string.h>

#include "analysis/diff/difference.h"
#include "base/text.h"

typedef unsigned long long ull; /* for formats */

/* A recorded result; `stream` and `position` are its command's, or none. */
struct near_result {
    bool is_there;
    uint64_t seq, position;
    uint32_t stream;
};

/* Results next to the part. `inside`: of no command that was replayed. */
struct nearby {
    struct near_result before, inside, after;
};

static bool is_result(const struct sbt_record *record)
{
    return record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK) ||
           record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM);
}

static struct near_result make(struct tsm_replay *p, const struct sbt_record *record)
{
    const struct sbt_schema *schema = tsm_plan_schema(p->reader, record);

    return (struct near_result){
        .is_there = true,
        .seq = record->seq,
        .position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0),
        .stream = (uint32_t)sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE)};
}

/* Keeps the record where it is the nearest so far. Those of other streams count inside alone: no
 * other range has them. */
static void note(struct nearby *out, struct tsm_replay *p, const struct sbt_record *record)
{
    const struct sbt_filter *f = &p->options.filter;
    const struct near_result result = make(p, record);
    const bool is_wanted =
        result.stream == SBT_STREAM_NONE || tsm_is_wanted_stream(p, result.stream);

    if (record->seq < f->seq_first || record->time_ns < f->time_first_ns) {
        if (is_wanted)
            out->before = result;
    } else if ((f->seq_end && record->seq >= f->seq_end) ||
               (f->time_end_ns && record->time_ns >= f->time_end_ns)) {
        if (is_wanted)
            out->after = result;
    } else if (!out->inside.is_there || !is_wanted) {
        out->inside = result;
    }
}

static int find_nearby(struct nearby *out, struct tsm_replay *p)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, p->reader, NULL, 1);

    while (!out->after.is_there && error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        if (is_result(record))
            note(out, p, record);
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

/* Writes number and command of a result. Returns the record with which a part that has both must
 * begin. */
static uint64_t name(struct tsm_replay *p, const struct near_result *r, char *out, size_t size)
{
    struct tsm_difference d = {.seq = r->seq, .stream = r->stream, .position = r->position};

    if (r->position)
        tsm_difference_locate(&d, p->reader, r->seq);
    if (r->position && *d.call)
        tsm_format(out, size, "record %llu, of %s (record %llu)", (ull)r->seq, d.call, (ull)d.seq);
    else
        tsm_format(out, size, "record %llu, a checksum of memory", (ull)r->seq);
    return d.seq < r->seq ? d.seq : r->seq;
}

static void say_before(struct tsm_replay *p, const struct near_result *r, char *out, size_t size)
{
    const uint64_t end = p->options.filter.seq_end;
    char text[128], last[24] = "";
    uint64_t first = name(p, r, text, sizeof(text));

    if (end)
        tsm_format(last, sizeof(last), "%llu", (ull)end);
    tsm_format(out, size,
               "the nearest result, %s, comes before the part that was replayed: --range=%llu:%s "
               "has it, or record with tsrecord --checksum=sync",
               text, (ull)first, last);
}

static void say_after(struct tsm_replay *p, const struct near_result *r, char *out, size_t size)
{
    char text[128];
    uint64_t first = name(p, r, text, sizeof(text));

    if (first > p->options.filter.seq_first)
        first = p->options.filter.seq_first;
    tsm_format(out, size,
               "the nearest result, %s, comes after the part that was replayed: --range=%llu:%llu "
               "has it, or record with tsrecord --checksum=sync",
               text, (ull)first, (ull)r->seq + 1);
}

static void say_inside(struct tsm_replay *p, const struct near_result *r, char *out, size_t size)
{
    char text[128], stream[40] = "";

    name(p, r, text, sizeof(text));
    if (r->stream != SBT_STREAM_NONE && !tsm_is_wanted_stream(p, r->stream))
        tsm_format(stream, sizeof(stream), ": add stream %u to --streams", r->stream);
    tsm_format(out, size,
               "the nearest result, %s, is of no command of the part and the streams that were "
               "replayed%s, or record with tsrecord --checksum=sync",
               text, stream);
}

/* Returns how many records lie between the part and a result outside of it. */
static uint64_t distance(const struct tsm_replay *p, const struct near_result *r)
{
    const struct sbt_filter *f = &p->options.filter;

    return !r->is_there            ? UINT64_MAX
           : r->seq < f->seq_first ? f->seq_first - r->seq
           : r->seq >= f->seq_end  ? r->seq - f->seq_end
                                   : 0;
}

int tsm_nearest_result(struct tsm_replay *p, char *out, size_t size)
{
    struct nearby near = {0};
    int error = find_nearby(&near, p);

    if (near.inside.is_there)
        say_inside(p, &near.inside, out, size);
    else if (near.after.is_there && distance(p, &near.after) <= distance(p, &near.before))
        say_after(p, &near.after, out, size);
    else if (near.before.is_there)
        say_before(p, &near.before, out, size);
    else
        tsm_format(out, size,
                   "the trace has no results: the program read nothing back; record with tsrecord "
                   "--checksum=sync (Vulkan: submit)");
    return error;
}
