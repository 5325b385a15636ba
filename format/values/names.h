/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding things by name. Names come from a trace, so two may be made to have one hash: they are
 * compared in full, and the hash is one that nobody can know beforehand.
 */
#ifndef FORMAT_NAMES_H
#define FORMAT_NAMES_H

#include "base/map.h"

/* The name of what is at `place` of a list. */
typedef const char *sbt_name_at(const void *list, uint64_t place);

/* A hash that differs from process to process. */
uint64_t sbt_name_hash(const char *name);

/* Place of `name`, as it was put into the map; NULL: it is not there. */
const uint64_t *sbt_names_find(const struct tsm_map *map, const char *name, sbt_name_at *at,
                               const void *list);

/* The place's place, 0 and *added when the name is new: the caller puts it there. NULL: out of
 * memory. */
uint64_t *sbt_names_insert(struct tsm_map *map, const char *name, sbt_name_at *at, const void *list,
                           bool *added);

#endif
