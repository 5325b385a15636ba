/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads from a Vulkan trace the names that the program gave to its objects and the hashes of
 * shaders.
 */
#ifndef API_VULKAN_VIEW_OBJECT_NAMES_H
#define API_VULKAN_VIEW_OBJECT_NAMES_H

#include "tools/text/object_names.h"
#include "tracesmith/reader.h"

/* Takes from a record what it says of names and shaders. Returns 1 if it gave a name to the object
 * *type *id, else 0. */
int tsm_vulkan_names_note(struct tsm_object_names *n, struct sbt_reader *reader,
                          const struct sbt_record *record, const struct sbt_schema *schema,
                          const char **type, uint64_t *id);

#endif
