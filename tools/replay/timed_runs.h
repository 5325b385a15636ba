/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsreplay --time`: its options, and what is done before and after the runs.
 */
#ifndef TOOLS_REPLAY_TIMED_RUNS_H
#define TOOLS_REPLAY_TIMED_RUNS_H

#include "tools/named_output.h"
#include "tools/replay/run_times.h"
#include "tools/text/json_out.h"

struct tsm_timed_count {
    unsigned run_count, warmup_count; /* run_count 0: nothing is timed */
};

struct tsm_timed_values {
    struct tsm_timed_count count;
    const char *output; /* NULL: the times are not kept */
    bool force;
    bool commands; /* those inside of command buffers, too, also where the recording has none */
};

/* "COUNT[:WARMUP]" */
bool tsm_timed_parse_count(void *field, const char *text);

struct tsm_timed_runs {
    const struct tsm_timed_values *values;
    const char *library; /* that was asked for; NULL: none */
    bool is_lossy;
    struct sbt_reader *reader;
    struct tsm_run_times times;
    struct tsm_output output;
};

/* Tells whether commands inside of command buffers are to be timed. */
bool tsm_timed_commands(const struct tsm_timed_values *values, const struct sbt_reader *reader);

/* Refuses what cannot be done before any work: a trace of APIs without times, an output that cannot
 * be written. The fields up to `reader` are set, and there are no times. */
int tsm_timed_begin(struct tsm_timed_runs *t);

/* Prints what the runs gave, and writes the trace. Returns a negative error. */
int tsm_timed_end(struct tsm_timed_runs *t, const struct tsm_replay_result *result,
                  const struct sbt_filter *filter, struct tsm_json *json);
/* Rows for the table of options. */
#define TSM_TIMED_OPTIONS(values, field)                                                           \
    {.name = "time",                                                                               \
     .letter = 'T',                                                                                \
     .type = TSM_OPTION_PARSED,                                                                    \
     .offset = TSM_FIELD(values, field.count),                                                     \
     .argument = "COUNT[:WARMUP]",                                                                 \
     .parse = tsm_timed_parse_count,                                                               \
     .help = "How long does the device take? Send the commands COUNT times after WARMUP times "    \
             "(default 1), and show the times of each kernel and copy beside those of the "        \
             "recording. Results are compared in the first of all runs."},                         \
        {.name = "time-commands",                                                                  \
         .type = TSM_OPTION_FLAG,                                                                  \
         .offset = TSM_FIELD(values, field.commands),                                              \
         .help =                                                                                   \
             "With --time: time the commands inside of Vulkan's command buffers, too, each by "    \
             "itself. Default where the recording has times of them."},                            \
        {.name = "output",                                                                         \
         .letter = 'o',                                                                            \
         .type = TSM_OPTION_NEW,                                                                   \
         .offset = TSM_FIELD(values, field.output),                                                \
         .argument = "FILE",                                                                       \
         .help = "With --time: write the trace with the times of all runs, for 'tracesmith stats " \
                 "--compare'."},                                                                   \
        TSM_OUTPUT_FORCE(values, field.force)

#endif
