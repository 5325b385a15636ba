/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns that say what the members of a group have in common.
 */
#ifndef TOOLS_STATS_KEYS_H
#define TOOLS_STATS_KEYS_H

#include "tools/stats/tables.h"

/* Adds the columns of `by` (enum tsm_time_by) and the name. `is_device`: of commands; calls have no
 * grid, stream or device. */
void tsm_key_columns(struct tsm_table *t, unsigned by, bool is_device);

/* Adds their cells for one group. */
void tsm_key_cells(struct tsm_table *t, const struct tsm_stats_source *source,
                   const struct tsm_time_key *key, bool is_device);

#endif
