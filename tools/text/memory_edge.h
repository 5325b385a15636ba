/* SPDX-License-Identifier: Apache-2.0
 *
 * Edges that memory makes, for people and programs.
 */
#ifndef TOOLS_TEXT_MEMORY_EDGE_H
#define TOOLS_TEXT_MEMORY_EDGE_H

#include "analysis/dependencies/edges.h"
#include "tools/text/table.h"

#define TSM_ADDRESS_TEXT_MAX 24u

/* Returns "0x200000000400". */
const char *tsm_address_text(char out[TSM_ADDRESS_TEXT_MAX], uint64_t address);

/* Columns access, start, size and array, and their cells (NULL: of an edge that is not
 * memory's). */
void tsm_memory_edge_columns(struct tsm_table *t);
void tsm_memory_edge_cells(struct tsm_table *t, const struct tsm_dependency *edge);

/* The same as members of the open object. */
void tsm_memory_edge_json(struct tsm_json *j, const struct tsm_dependency *edge);

#endif
