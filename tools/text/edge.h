/* SPDX-License-Identifier: Apache-2.0
 *
 * Edges of the dependency graph, for people and programs.
 */
#ifndef TOOLS_TEXT_EDGE_H
#define TOOLS_TEXT_EDGE_H

#include "analysis/dependencies/edges.h"
#include "tools/text/json_out.h"

#define TSM_EDGE_OBJECT_MAX 48u

/* "event 7", "signal#3": the object of an edge that is no conflict in memory. NULL: it has none.
 */
const char *tsm_edge_object(char out[TSM_EDGE_OBJECT_MAX], const struct tsm_dependency *edge);

/* Returns the id of an edge's event; 0: it has none. */
uint64_t tsm_edge_event(const struct tsm_dependency *edge);

/* Writes the members of a JSON object: where it comes from, and why. */
void tsm_edge_json(struct tsm_json *j, const struct tsm_dependency *edge);

#endif
