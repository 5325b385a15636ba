/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/keys.h"

#include "base/text.h"

#include <inttypes.h>

#define SITE_MAX 256u

void tsm_key_columns(struct tsm_table *t, unsigned by, bool is_device)
{
    if (is_device && by & TSM_TIME_BY_GRID) {
        tsm_table_column(t, "grid", "grid", TSM_CELL_TEXT);
        tsm_table_column(t, "block", "block", TSM_CELL_TEXT);
    }
    if (is_device && by & TSM_TIME_BY_STREAM)
        tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    if (is_device && by & TSM_TIME_BY_DEVICE)
        tsm_table_column(t, "device", "device", TSM_CELL_TEXT);
    if (by & TSM_TIME_BY_THREAD)
        tsm_table_column(t, "thread", "thread", TSM_CELL_COUNT);
    if (by & TSM_TIME_BY_LABEL)
        tsm_table_column(t, "label", "label", TSM_CELL_TEXT);
    if (by & TSM_TIME_BY_SITE)
        tsm_table_column(t, "site", "site", TSM_CELL_TEXT);
    tsm_table_column(t, "name", "name", TSM_CELL_NAME);
}

static void dim_cell(struct tsm_table *t, const uint32_t dim[3])
{
    char text[48];

    if (!dim[0]) {
        tsm_table_unknown(t);
        return;
    }
    tsm_format(text, sizeof(text), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, dim[0], dim[1], dim[2]);
    tsm_table_text(t, text);
}

static void site_cell(struct tsm_table *t, const struct tsm_stats_source *source, uint32_t stack)
{
    const uint64_t *frames = NULL;
    char text[SITE_MAX];

    if (!stack || sbt_reader_stack(source->reader, stack, &frames) <= 0) {
        tsm_table_unknown(t);
        return;
    }
    if (source->symbols)
        tsm_symbol_text(text, sizeof(text), tsm_symbols_find(source->symbols, frames[0]),
                        frames[0]);
    else
        tsm_format(text, sizeof(text), "0x%" PRIx64, frames[0]);
    tsm_table_text(t, text);
}

void tsm_key_cells(struct tsm_table *t, const struct tsm_stats_source *source,
                   const struct tsm_time_key *key, bool is_device)
{
    const unsigned by = source->by;
    char device[TSM_DEVICE_NAME_MAX];

    if (is_device && by & TSM_TIME_BY_GRID) {
        dim_cell(t, key->grid);
        dim_cell(t, key->block);
    }
    if (is_device && by & TSM_TIME_BY_STREAM)
        tsm_table_number(t, key->stream);
    if (is_device && by & TSM_TIME_BY_DEVICE)
        tsm_table_text(t, tsm_device_name(device, &key->device));
    if (by & TSM_TIME_BY_THREAD)
        tsm_table_number(t, key->thread);
    if (by & TSM_TIME_BY_LABEL)
        tsm_table_text(t, key->label);
    if (by & TSM_TIME_BY_SITE)
        site_cell(t, source, key->stack);
    tsm_table_text(t, key->name);
}
