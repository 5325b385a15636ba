/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts that sbt_check() collects on its way.
 */
#ifndef FORMAT_CHECK_COUNTS_H
#define FORMAT_CHECK_COUNTS_H

#include "tracesmith/reader.h"

struct sbt_check_counts {
    uint64_t records;      /* that could be read */
    uint64_t lost_chunks;  /* as a repair has noted: they are no violation */
    uint64_t lost_records; /* of these, as far as their numbers are missing */
};

/* Checks like sbt_check(); `counts` is filled in any case. `report` may be NULL, and so may
 * `progress`, which is called for each chunk with bytes. */
int sbt_check_and_count(const char *path,
                        void (*report)(void *user, uint64_t offset, const char *text), void *user,
                        struct sbt_check_counts *counts,
                        void (*progress)(uint64_t done, uint64_t total));

#endif
