/* SPDX-License-Identifier: Apache-2.0
 *
 * Which records: the options --streams and --range, for every command that reads a trace.
 */
#ifndef TOOLS_SELECTION_H
#define TOOLS_SELECTION_H

#include "analysis/range.h"
#include "tools/option.h"
#include "tracesmith/reader.h"

#define TSM_SELECTION_STREAMS_MAX 256

struct tsm_selection_streams {
    uint32_t numbers[TSM_SELECTION_STREAMS_MAX];
    bool is_alone[TSM_SELECTION_STREAMS_MAX]; /* named by itself, not by a range of numbers */
    size_t count;                             /* 0: all */
};

struct tsm_selection_range {
    uint64_t seq_first, seq_end;
    uint64_t time_first_ns, time_end_ns;
    struct tsm_range named; /* frames, submits, a label; unit RECORDS: none */
    char label[256];
};

/* Reads the decimal digits at *text, and moves *text after them. Returns false if there are none,
 * or if the number takes more than 64 bits. */
bool tsm_selection_take_number(uint64_t *out, const char **text);

/* "0,2", "0-3,none" */
bool tsm_selection_parse_streams(void *field, const char *text);

/* "A:B", half open, either side may be empty: sequence numbers, or times such as 1.5s, 20ms, 7us;
 * "frames:A:B", "submits:A:B", counted from 1; "label:NAME", "label:NAME#2". */
bool tsm_selection_parse_range(void *field, const char *text);

/* uint64_t in ns: a time such as 1.5s, 20ms, 7us. */
bool tsm_selection_parse_time(void *field, const char *text);

/* *out points into `streams`. Streams, frames, submits and labels are looked for in the trace:
 * negative when one that was named is not there, or none of a range of streams. */
int tsm_selection_filter(struct sbt_filter *out, struct sbt_reader *reader,
                         const struct tsm_selection_streams *streams,
                         const struct tsm_selection_range *range);

/* Tests whether an option leaves anything out. */
bool tsm_selection_is_part(const struct sbt_filter *filter);

/* Notes that no record of `reader` is what the options ask for. */
void tsm_selection_note_nothing(const struct sbt_reader *reader);

/* Times become the numbers of the records there. */
int tsm_selection_seqs(struct sbt_filter *filter, struct sbt_reader *reader);

/* Rows for a table of options. */
#define TSM_SELECTION_RANGE(values, range_field)                                                   \
    {                                                                                              \
        .name = "range", .letter = 'r', .type = TSM_OPTION_PARSED,                                 \
        .offset = TSM_FIELD(values, range_field), .argument = "A:B",                               \
        .parse = tsm_selection_parse_range,                                                        \
        .help = "Only from A up to, not including, B: sequence numbers (100:200) or times since "  \
                "the start (1.5s:2s; ns, us, ms, s, m). Either side may be left out. "             \
                "frames:100:110 and submits:40:60 count from 1; label:NAME is what the first "     \
                "label of that name goes around, label:NAME#2 the second."                         \
    }

#define TSM_SELECTION_OPTIONS(values, streams_field, range_field)                                  \
    {.name = "streams",                                                                            \
     .type = TSM_OPTION_PARSED,                                                                    \
     .offset = TSM_FIELD(values, streams_field),                                                   \
     .argument = "LIST",                                                                           \
     .parse = tsm_selection_parse_streams,                                                         \
     .help = "Only these streams: 0,2 or 0-3 or none (records of no stream)."},                    \
        TSM_SELECTION_RANGE(values, range_field)

#endif
