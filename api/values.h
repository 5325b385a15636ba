/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in memory: what a command's record says of the value that its stream waits for, or that it
 * writes for others to wait for, for those who know no API. Each API tells in a file of its own
 * (api/X/values.c), by the names of calls and members in the trace; so it is in every build.
 */
#ifndef API_VALUES_H
#define API_VALUES_H

#include "tracesmith/reader.h"

struct tsm_value_access {
    enum sbt_value_access kind;
    uint64_t address, value;
    uint32_t size; /* 4 or 8 */
};

/* Returns whether the record is such a command, and says what it accesses. One that accesses
 * several is none. */
bool tsm_value_access_of(struct tsm_value_access *out, const struct sbt_record *record,
                         const struct sbt_schema *schema);

/* Tests whether a wait is over when `value` is written where it looks. */
bool tsm_value_ends(const struct tsm_value_access *wait, uint64_t value);

/* "v >= 0x1", ...: the condition of a wait, or "v = 0x1" of a write. */
#define TSM_VALUE_TEXT_MAX 48u
const char *tsm_value_text(char out[TSM_VALUE_TEXT_MAX], const struct tsm_value_access *access);

#endif
