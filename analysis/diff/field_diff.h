/* SPDX-License-Identifier: Apache-2.0
 *
 * Two records, field by field.
 */
#ifndef ANALYSIS_DIFF_FIELD_DIFF_H
#define ANALYSIS_DIFF_FIELD_DIFF_H

#include "analysis/diff/counterparts.h"
#include "analysis/diff/pairing.h"
#include "tracesmith/replay.h"

struct tsm_field_diff_input {
    struct sbt_reader *readers[2];
    const struct sbt_record *records[2];
    const struct sbt_schema *schemas[2];
    struct tsm_pairing *pairing;
    const struct tsm_counterparts *counterparts;
    uint64_t strand; /* of the command that core records speak of */
    bool ignore_addresses;
    bool ignore_positions; /* of the commands that came before */
};

/* Results of a comparison, beside errors. */
enum tsm_field_verdict {
    TSM_FIELDS_AGREE = 0,
    TSM_FIELDS_DIFFER = 1,
    TSM_FIELDS_UNKNOWN = 2, /* what could be compared agrees, but not all could */
};

/* The first field that differs, or else the first that could not be compared. */
struct tsm_field_diff {
    const char *field; /* "call" and "result" stand for those; may point to `path` */
    char path[128];    /* within a structured value: "submits[0].masks[1]" */
    char value_a[128], value_b[128];
    bool may_name_object;             /* or a place in memory, or a stream */
    struct tsm_difference difference; /* of bytes: offset and what is shown; else zeroed */
};

/* The parts of a comparison: as tsm_field_diff(). `field` must live as long as *out. */
int tsm_field_diff_unknown(struct tsm_field_diff *out, const char *field, const char *why);
int tsm_field_diff_number(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                          const char *field, enum sbt_field_type type, const char *detail,
                          uint64_t a, uint64_t b);
int tsm_field_diff_texts(struct tsm_field_diff *out, const char *field, const char *a,
                         const char *b);
int tsm_field_diff_bytes(struct tsm_field_diff *out, const char *field, const uint8_t *a,
                         size_t size_a, const uint8_t *b, size_t size_b);

/* The structured values of field `index` (analysis/diff/value_diff.c). */
int tsm_value_diff(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                   uint32_t index);

/* An enum tsm_field_verdict, or an error. */
int tsm_field_diff(struct tsm_field_diff *out, const struct tsm_field_diff_input *in);

/* Tests whether it says what the program wrote. */
static inline bool tsm_field_diff_is_write(const struct sbt_record *record)
{
    return record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE) ||
           record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_RUNS);
}

#endif
