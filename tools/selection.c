/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/selection.h"

#include "tools/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool add_streams(struct tsm_selection_streams *out, uint64_t first, uint64_t last,
                        bool is_alone)
{
    if (last < first || last >= SBT_STREAM_NONE || last - first >= TSM_SELECTION_STREAMS_MAX)
        return false;
    for (uint64_t i = first; i <= last; i++) {
        if (out->count == TSM_SELECTION_STREAMS_MAX)
            return false;
        out->is_alone[out->count] = is_alone;
        out->numbers[out->count++] = (uint32_t)i;
    }
    return true;
}

bool tsm_selection_take_number(uint64_t *out, const char **text)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

bool tsm_selection_parse_streams(void *field, const char *text)
{
    struct tsm_selection_streams *out = field;
    uint64_t first, last;
    bool is_range;

    out->count = 0;
    do {
        if (strncmp(text, "none", 4) == 0) {
            if (out->count == TSM_SELECTION_STREAMS_MAX)
                return false;
            out->is_alone[out->count] = false; /* a trace without such records is no mistake */
            out->numbers[out->count++] = SBT_STREAM_NONE;
            text += 4;
            continue;
        }
        if (!tsm_selection_take_number(&first, &text))
            return false;
        last = first;
        is_range = *text == '-';
        if (is_range && (text++, !tsm_selection_take_number(&last, &text)))
            return false;
        if (!add_streams(out, first, last, !is_range))
            return false;
    } while (*text++ == ',');
    return text[-1] == '\0';
}

/* ---- ranges -------------------------------------------------------------------------------- */

struct bound {
    bool given, is_time;
    uint64_t value;
};

static const struct {
    const char *unit;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};

static bool take_time(uint64_t *out, const char *text)
{
    char *end;
    double time = strtod(text, &end);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && end != text; i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        double ns = time * units[i].ns + 0.5;
        *out = ns > 0 && ns < 1.8e19 ? (uint64_t)ns : 0;
        return ns < 1.8e19;
    }
    return false;
}

bool tsm_selection_parse_time(void *field, const char *text)
{
    return *text >= '0' && *text <= '9' && take_time(field, text);
}

static bool take_bound(struct bound *out, const char *text, size_t size)
{
    char copy[40];
    const char *at = copy;

    *out = (struct bound){.given = size > 0};
    if (size == 0)
        return true;
    if (size >= sizeof(copy))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (!tsm_selection_take_number(&out->value, &at))
        return false;
    if (!*at)
        return true;
    out->is_time = true;
    return take_time(&out->value, copy);
}

static void set_bound(const struct bound *b, uint64_t *seq, uint64_t *time_ns)
{
    if (b->given)
        *(b->is_time ? time_ns : seq) = b->value;
}

/* Numbers from 1 with a colon between them. */
static bool take_counts(struct tsm_range *out, const char *text)
{
    struct bound first, end;
    size_t size = strcspn(text, ":");

    if (text[size] != ':' || !take_bound(&first, text, size) ||
        !take_bound(&end, text + size + 1, strlen(text + size + 1)))
        return false;
    if (!first.given)
        first.value = 1;
    if (first.is_time || end.is_time || first.value == 0 || (end.given && end.value <= first.value))
        return false;
    out->first = first.value - 1;
    out->end = end.given ? end.value - 1 : 0;
    return true;
}

/* NAME, or NAME#2 */
static bool take_label(struct tsm_selection_range *out, const char *text)
{
    const char *mark = strrchr(text, '#'), *at = mark ? mark + 1 : text;
    uint64_t place = 1;
    size_t size = strlen(text);

    if (mark && tsm_selection_take_number(&place, &at) && !*at && place > 0)
        size = (size_t)(mark - text);
    else
        place = 1;
    if (size == 0 || size >= sizeof(out->label))
        return false;
    memcpy(out->label, text, size);
    out->label[size] = '\0';
    out->named = (struct tsm_range){.unit = TSM_RANGE_LABEL, .place = place};
    return true;
}

/* -1: the text does not begin with a unit's name. */
static int take_named(struct tsm_selection_range *out, const char *text)
{
    static const struct {
        const char *name;
        enum tsm_range_unit unit;
    } named[] = {{"frames:", TSM_RANGE_FRAMES}, {"submits:", TSM_RANGE_SUBMITS}};

    if (strncmp(text, "label:", 6) == 0)
        return take_label(out, text + 6);
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        size_t size = strlen(named[i].name);
        if (strncmp(text, named[i].name, size) != 0)
            continue;
        out->named.unit = named[i].unit;
        return take_counts(&out->named, text + size);
    }
    return -1;
}

bool tsm_selection_parse_range(void *field, const char *text)
{
    struct tsm_selection_range *out = field;
    size_t size = strcspn(text, ":");
    struct bound first, end;
    int named;

    *out = (struct tsm_selection_range){0};
    named = take_named(out, text);
    if (named >= 0)
        return named;
    if (text[size] != ':' || !take_bound(&first, text, size) ||
        !take_bound(&end, text + size + 1, strlen(text + size + 1)))
        return false;
    if (first.given && end.given && first.is_time == end.is_time && end.value <= first.value)
        return false; /* nothing lies in it */
    if (end.given && end.value == 0)
        return false;
    set_bound(&first, &out->seq_first, &out->time_first_ns);
    set_bound(&end, &out->seq_end, &out->time_end_ns);
    return true;
}

/* Finds which of the streams have records. */
static int find_streams(bool found[TSM_SELECTION_STREAMS_MAX], struct sbt_reader *reader,
                        const struct tsm_selection_streams *streams)
{
    const struct sbt_filter filter = {.streams = streams->numbers, .stream_count = streams->count};
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    size_t missing = streams->count;
    int error = sbt_cursor_create(&cursor, reader, &filter, 1);

    while (missing && error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        for (size_t i = 0; i < streams->count; i++)
            if (!found[i] && streams->numbers[i] == record->stream) {
                found[i] = true;
                missing--;
            }
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

static int check_streams(struct sbt_reader *reader, const struct tsm_selection_streams *streams)
{
    bool found[TSM_SELECTION_STREAMS_MAX] = {false}, any = false;
    int error = find_streams(found, reader, streams);

    for (size_t i = 0; i < streams->count && !error; i++) {
        any |= found[i] || streams->numbers[i] == SBT_STREAM_NONE;
        if (streams->is_alone[i] && !found[i])
            error = tsm_fail(TSM_E_NOT_FOUND,
                             "--streams: no record of the trace is on stream %u; tsview shows the "
                             "stream of each",
                             streams->numbers[i]);
    }
    if (!error && streams->count && !any)
        error = tsm_fail(TSM_E_NOT_FOUND,
                         "--streams: no record of the trace is on any of these streams; "
                         "tsview shows the stream of each");
    return error;
}

bool tsm_selection_is_part(const struct sbt_filter *f)
{
    return f->stream_count || f->seq_first || f->seq_end || f->time_first_ns || f->time_end_ns;
}

void tsm_selection_note_nothing(const struct sbt_reader *reader)
{
    uint64_t count = sbt_reader_totals(reader)->record_count;

    if (count)
        tsm_note("%s: none of its records, 0 to %" PRIu64 ", is what was asked for",
                 sbt_reader_name(reader), count - 1);
    else
        tsm_note("%s: has no records", sbt_reader_name(reader));
}

int tsm_selection_filter(struct sbt_filter *out, struct sbt_reader *reader,
                         const struct tsm_selection_streams *streams,
                         const struct tsm_selection_range *range)
{
    struct tsm_range named = range->named;

    *out = (struct sbt_filter){
        .streams = streams->count ? streams->numbers : NULL,
        .stream_count = streams->count,
        .seq_first = range->seq_first,
        .seq_end = range->seq_end,
        .time_first_ns = range->time_first_ns,
        .time_end_ns = range->time_end_ns,
    };
    named.label = range->label;
    int error = check_streams(reader, streams);
    if (!error && named.unit != TSM_RANGE_RECORDS)
        error = tsm_range_find(&named, reader, &out->seq_first, &out->seq_end);
    return error;
}

int tsm_selection_seqs(struct sbt_filter *filter, struct sbt_reader *reader)
{
    uint64_t *ends[2] = {&filter->seq_first, &filter->seq_end};
    const uint64_t times[2] = {filter->time_first_ns, filter->time_end_ns};

    for (int i = 0; i < 2; i++) {
        const struct sbt_filter from = {.time_first_ns = times[i]};
        const struct sbt_record *record;
        struct sbt_cursor *cursor = NULL;
        if (times[i] == 0)
            continue;
        int found = sbt_cursor_create(&cursor, reader, &from, 0);
        if (found == 0)
            found = sbt_cursor_next(cursor, &record);
        if (found > 0)
            *ends[i] = record->seq;
        sbt_cursor_destroy(cursor);
        if (found < 0)
            return found;
        if (found == 0 && i == 0)
            return tsm_fail(TSM_E_NOT_FOUND, "--range: the trace ends before that time");
    }
    filter->time_first_ns = filter->time_end_ns = 0;
    return 0;
}
