/* SPDX-License-Identifier: Apache-2.0
 *
 * Which records: the options --streams and --range, for every command that reads a trace.
 */
#ifndef TOOLS_SELECTION_H
#define TOOLS_SELECTION_H

#include "tools/option.h"
#include "tracesmith/reader.h"

#define TSM_SELECTION_STREAMS_MAX 256

struct tsm_selection_streams {
    uint32_t numbers[TSM_SELECTION_STREAMS_MAX];
    size_t count; /* 0: all */
};

struct tsm_selection_range {
    uint64_t seq_first, seq_end;
    uint64_t time_first_ns, time_end_ns;
};

/* "0,2", "0-3,none" */
bool tsm_selection_parse_streams(void *field, const char *text);

/* "A:B", half open, either side may be empty: sequence numbers, or times such as 1.5s, 20ms, 7us.
 */
bool tsm_selection_parse_range(void *field, const char *text);

/* The filter points into `streams`. */
struct sbt_filter tsm_selection_filter(const struct tsm_selection_streams *streams,
                                       const struct tsm_selection_range *range);

/* The two rows, for a table of options. */
#define TSM_SELECTION_OPTIONS(values, streams_field, range_field)                                  \
    {.name = "streams",                                                                            \
     .type = TSM_OPTION_PARSED,                                                                    \
     .offset = TSM_FIELD(values, streams_field),                                                   \
     .argument = "LIST",                                                                           \
     .parse = tsm_selection_parse_streams,                                                         \
     .help = "Only these streams: 0,2 or 0-3 or none (records of no stream)."},                    \
    {                                                                                              \
        .name = "range", .letter = 'r', .type = TSM_OPTION_PARSED,                                 \
        .offset = TSM_FIELD(values, range_field), .argument = "A:B",                               \
        .parse = tsm_selection_parse_range,                                                        \
        .help = "Only from A up to, not including, B: sequence numbers (100:200) or times since "  \
                "the start (1.5s:2s; ns, us, ms, s, m). Either side may be left out."              \
    }

#endif
