/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of a summary: the sections of `tracesmith stats`.
 */
#ifndef TOOLS_STATS_TABLES_H
#define TOOLS_STATS_TABLES_H

#include "analysis/time/summary.h"
#include "tools/text/symbol.h"
#include "tools/text/table.h"

enum tsm_stats_section {
    TSM_STATS_KERNELS,
    TSM_STATS_COMMANDS, /* inside of submits */
    TSM_STATS_COPIES,
    TSM_STATS_CALLS,
    TSM_STATS_WAITS,
    TSM_STATS_MEMORY,
    TSM_STATS_STREAMS,
    TSM_STATS_ENGINES,
    TSM_STATS_RINGS,
    TSM_STATS_DEVICES,
    TSM_STATS_SITES, /* of a summary by TSM_TIME_BY_SITE */
    TSM_STATS_COUNT
};

/* "kernels" etc. */
const char *tsm_stats_section_name(enum tsm_stats_section section);

struct tsm_stats_source {
    struct tsm_summary *summary;
    unsigned by; /* enum tsm_time_by, as it was collected */
    struct sbt_reader *reader;
    bool is_part;                /* of the trace's records some are left out */
    struct tsm_symbols *symbols; /* names launch sites; NULL: addresses */
};

/* Tenths of percent, rounded; 0 of nothing. */
uint64_t tsm_permille(uint64_t part, uint64_t whole);

/* Fills a zeroed table. Durations are sorted on the way. Returns 0 or a negative tsm_error. */
int tsm_stats_table(struct tsm_table *out, const struct tsm_stats_source *source,
                    enum tsm_stats_section section);

#endif
