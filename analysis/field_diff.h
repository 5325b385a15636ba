/* SPDX-License-Identifier: Apache-2.0
 *
 * Two records, field by field.
 */
#ifndef ANALYSIS_FIELD_DIFF_H
#define ANALYSIS_FIELD_DIFF_H

#include "analysis/pairing.h"
#include "tracesmith/replay.h"

struct tsm_field_diff_input {
    struct sbt_reader *readers[2];
    const struct sbt_record *records[2];
    const struct sbt_schema *schemas[2];
    struct tsm_pairing *pairing;
    bool ignore_addresses;
};

/* The first field that differs. */
struct tsm_field_diff {
    const char *field; /* "call" and "result" stand for those */
    char value_a[128], value_b[128];
    struct tsm_difference difference; /* of bytes: offset and what is shown; else zeroed */
};

/* 1: they differ, and *out says where; 0: they agree. */
int tsm_field_diff(struct tsm_field_diff *out, const struct tsm_field_diff_input *in);

#endif
