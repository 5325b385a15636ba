/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool add_streams(struct tsm_selection_streams *out, uint64_t first, uint64_t last)
{
    if (last < first || last >= SBT_STREAM_NONE || last - first >= TSM_SELECTION_STREAMS_MAX)
        return false;
    for (uint64_t i = first; i <= last; i++) {
        if (out->count == TSM_SELECTION_STREAMS_MAX)
            return false;
        out->numbers[out->count++] = (uint32_t)i;
    }
    return true;
}

static bool take_number(uint64_t *out, const char **text)
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

    out->count = 0;
    do {
        if (strncmp(text, "none", 4) == 0) {
            if (out->count == TSM_SELECTION_STREAMS_MAX)
                return false;
            out->numbers[out->count++] = SBT_STREAM_NONE;
            text += 4;
            continue;
        }
        if (!take_number(&first, &text))
            return false;
        last = first;
        if (*text == '-' && (text++, !take_number(&last, &text)))
            return false;
        if (!add_streams(out, first, last))
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

static bool take_bound(struct bound *out, const char *text, size_t size)
{
    char copy[40], *end;
    const char *at = copy;

    *out = (struct bound){.given = size > 0};
    if (size == 0)
        return true;
    if (size >= sizeof(copy))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (!take_number(&out->value, &at))
        return false;
    if (!*at)
        return true;
    double time = strtod(copy, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        double ns = time * units[i].ns + 0.5;
        out->is_time = true;
        out->value = ns < 1.8e19 ? (uint64_t)ns : 0;
        return ns < 1.8e19;
    }
    return false;
}

static void set_bound(const struct bound *b, uint64_t *seq, uint64_t *time_ns)
{
    if (b->given)
        *(b->is_time ? time_ns : seq) = b->value;
}

bool tsm_selection_parse_range(void *field, const char *text)
{
    struct tsm_selection_range *out = field;
    size_t size = strcspn(text, ":");
    struct bound first, end;

    if (text[size] != ':' || !take_bound(&first, text, size) ||
        !take_bound(&end, text + size + 1, strlen(text + size + 1)))
        return false;
    if (first.given && end.given && first.is_time == end.is_time && end.value <= first.value)
        return false; /* nothing lies in it */
    if (end.given && end.value == 0)
        return false;
    *out = (struct tsm_selection_range){0};
    set_bound(&first, &out->seq_first, &out->time_first_ns);
    set_bound(&end, &out->seq_end, &out->time_end_ns);
    return true;
}

struct sbt_filter tsm_selection_filter(const struct tsm_selection_streams *streams,
                                       const struct tsm_selection_range *range)
{
    return (struct sbt_filter){
        .streams = streams->count ? streams->numbers : NULL,
        .stream_count = streams->count,
        .seq_first = range->seq_first,
        .seq_end = range->seq_end,
        .time_first_ns = range->time_first_ns,
        .time_end_ns = range->time_end_ns,
    };
}
