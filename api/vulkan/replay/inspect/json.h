/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a trace in the JSON of a dump. `name` is that of a member. Records are written as
 * docs/FORMAT.md 14 says.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_JSON_H
#define API_VULKAN_REPLAY_INSPECT_JSON_H

#include "base/json.h"
#include "tracesmith/reader.h"

/* "VkBuffer#3", null for 0. */
void vkr_json_id(struct tsm_json *j, const char *name, uint32_t type, uint64_t id);
/* The value's name in a table of the trace, or the number. */
void vkr_json_enum(struct tsm_json *j, const char *name, struct sbt_reader *reader,
                   const char *table, int64_t value);
void vkr_json_record(struct tsm_json *j, const char *name, struct sbt_reader *reader,
                     const struct sbt_record *record); /* NULL: null */

#endif
