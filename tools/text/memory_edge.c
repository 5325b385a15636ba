/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/memory_edge.h"

#include "analysis/dependencies/accesses.h"

#include <inttypes.h>

const char *tsm_address_text(char out[TSM_ADDRESS_TEXT_MAX], uint64_t address)
{
    snprintf(out, TSM_ADDRESS_TEXT_MAX, "0x%" PRIx64, address);
    return out;
}

void tsm_memory_edge_columns(struct tsm_table *t)
{
    tsm_table_column(t, "access", "access", TSM_CELL_TEXT);
    tsm_table_column(t, "start", "from address", TSM_CELL_TEXT);
    tsm_table_column(t, "size", "size", TSM_CELL_BYTES);
    tsm_table_column(t, "array", "array", TSM_CELL_COUNT);
}

void tsm_memory_edge_cells(struct tsm_table *t, const struct tsm_dependency *edge)
{
    const bool is_memory = edge && tsm_dependency_is_memory(edge);
    char space[TSM_ADDRESS_TEXT_MAX];

    tsm_table_text(t, is_memory ? tsm_access_kind_name((enum tsm_access_kind)edge->access) : NULL);
    tsm_table_text(t, is_memory && edge->size ? tsm_address_text(space, edge->start) : NULL);
    tsm_table_number_or_unknown(t, is_memory && edge->size, edge ? edge->size : 0);
    tsm_table_number_or_unknown(t, is_memory && edge->object, edge ? edge->object : 0);
}

static void put_number(struct tsm_json *j, const char *name, bool is_known, uint64_t value)
{
    tsm_json_name(j, name);
    if (is_known)
        tsm_json_u64(j, value);
    else
        tsm_json_string(j, NULL);
}

void tsm_memory_edge_json(struct tsm_json *j, const struct tsm_dependency *edge)
{
    char space[TSM_ADDRESS_TEXT_MAX];

    tsm_json_put_string(j, "access", tsm_access_kind_name((enum tsm_access_kind)edge->access));
    tsm_json_put_string(j, "start", edge->size ? tsm_address_text(space, edge->start) : NULL);
    put_number(j, "size", edge->size != 0, edge->size);
    put_number(j, "array", edge->object != 0, edge->object);
    tsm_json_put_bool(j, "unordered", edge->is_unordered);
    tsm_json_put_bool(j, "partial", edge->is_partial);
}
