/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that a replay cannot carry out, and whether that can change what the GPU computes.
 */
#ifndef REPLAY_LEFT_OUT_H
#define REPLAY_LEFT_OUT_H

#include "api/api.h"
#include "tracesmith/reader.h"

/* Treatment of a record by a replay. */
enum tsm_treatment {
    TSM_TREAT_REPLAY,
    TSM_TREAT_SKIP,       /* failed in the recording, or says nothing to a GPU */
    TSM_TREAT_UNMODELLED, /* no record of this build's backend */
    TSM_TREAT_OTHER,      /* of an API that another backend of this build replays by itself */
};
enum tsm_treatment tsm_plan_treatment(const struct tsm_api_description *api,
                                      const struct sbt_record *record,
                                      const struct sbt_schema *schema);

enum tsm_harm {
    TSM_HARM_NONE,
    TSM_HARM_POSSIBLE, /* does something, but nobody said that it matters: may explain a difference
                        */
    TSM_HARM_LATER,    /* the process ended inside it: may change what came after it */
    TSM_HARM_TAINTS,   /* may change what the GPU computes: nothing is the same for sure */
};

/* Tells what leaving this record out can do. */
enum tsm_harm tsm_left_out_harm(const struct tsm_api_description *api,
                                const struct sbt_record *record, const struct sbt_schema *schema,
                                enum tsm_treatment treatment);

/* Calls that were left out: how many, and the first few of their names. Zeroed: none. */
struct tsm_left_out {
    uint64_t count;
    uint64_t first_seq; /* where count is not 0 */
    unsigned name_count;
    struct tsm_left_out_name {
        uint64_t seq;     /* of the first call with that name */
        const char *text; /* lives as long as the reader */
    } names[6];
};

void tsm_left_out_add(struct tsm_left_out *list, struct sbt_reader *reader,
                      const struct sbt_record *record, const struct sbt_schema *schema);

/* Writes the names of the calls before record `before_seq` into `out`: "cuFoo, cuBar, ...". */
void tsm_left_out_names(const struct tsm_left_out *list, uint64_t before_seq, char *out,
                        size_t size);

#endif
