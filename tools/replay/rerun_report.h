/* SPDX-License-Identifier: Apache-2.0
 *
 * Reruns of a replay, as told to the user (replay/reruns.h).
 */
#ifndef TOOLS_REPLAY_RERUN_REPORT_H
#define TOOLS_REPLAY_RERUN_REPORT_H

#include "replay/rerun/reruns.h"
#include "tools/text/json_out.h"

/* The value of an option. */
#define TSM_RERUN_OPTION(VALUES, FIELD)                                                            \
    {                                                                                              \
        .name = "once", .type = TSM_OPTION_FLAG, .offset = TSM_FIELD(VALUES, FIELD),               \
        .help = "Run the trace once. Without this a CUDA trace whose results differ is run twice " \
                "more, waiting for each command and then one command at a time, to say why; and "  \
                "what a part of it with nothing to compare leaves in memory is compared with a "   \
                "full replay."                                                                     \
    }

/* Tests whether a replay with these options may be followed by reruns: one run of the trace, in an
 * order of its own choice. */
bool tsm_rerun_is_possible(struct sbt_reader *reader, const struct tsm_replay_options *options);

struct tsm_rerun_report {
    struct tsm_reruns reruns;
    bool has_difference, has_part;
    struct tsm_difference difference; /* the first of the replay */
    struct tsm_part_memory part;
};

/* The replay is over: replaces "nothing to compare" by what the memory of the part says. */
void tsm_rerun_compare_part(struct tsm_rerun_report *r, struct tsm_replay_result *result,
                            const struct tsm_replay_options *options);

/* Prints that in place of the counts of comparisons: behind what was sent. */
void tsm_rerun_print_part(const struct tsm_rerun_report *r);

/* Says why the replay differs, in a line or a member of the object `json`. */
void tsm_rerun_explain(struct tsm_rerun_report *r, const struct tsm_replay_result *result,
                       struct tsm_json *json);
void tsm_rerun_json_part(const struct tsm_rerun_report *r, struct tsm_json *json);

#endif
