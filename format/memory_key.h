/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that calls make and end, in a map by its address. What is allocated at an address may be
 * registered (locked) there as well, and ends apart from that.
 */
#ifndef FORMAT_MEMORY_KEY_H
#define FORMAT_MEMORY_KEY_H

#include "base/map.h"
#include "tracesmith/trace.h"

#define TSM_MEMORY_KEY_HOST (1ull << 63) /* set in the key of what a host pointer names */

/* The key of the memory that a record makes or ends: of its field with the role address. 0: it
 * names none. */
uint64_t tsm_memory_key(const struct sbt_schema *schema, const struct sbt_record *record);

/* Finds in a map by such keys what a record ends; NULL: nothing that the map has. Registered memory
 * has its key, other memory may have been made with a host pointer and be freed with one of the
 * device (CUDA's managed memory). The value is the map's. */
uint64_t *tsm_memory_ended(const struct tsm_map *map, const struct sbt_schema *schema,
                           const struct sbt_record *record);

#endif
