/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that a program has given to its objects (vkSetDebugUtilsObjectNameEXT), and the hashes
 * of shaders in modules and pipelines, as far as the trace has been read.
 */
#ifndef TOOLS_TEXT_OBJECT_NAMES_H
#define TOOLS_TEXT_OBJECT_NAMES_H

#include "format/map.h"
#include "tracesmith/reader.h"

/* A zeroed struct has none. */
struct tsm_object_names {
    struct sbt_map names;   /* hash of type and id -> text, from malloc */
    struct sbt_map shaders; /* the same, of what lies in a VkShaderModule or VkPipeline */
};

void tsm_object_names_finish(struct tsm_object_names *n);

/* Take what a record says. 1: it gave a name, to the object *type *id. 0: no. */
int tsm_object_names_note(struct tsm_object_names *n, struct sbt_reader *reader,
                          const struct sbt_record *record, const struct sbt_schema *schema,
                          const char **type, uint64_t *id);

/* Of a handle whose field says `type` ("VkBuffer"). NULL: none. */
const char *tsm_object_name(const struct tsm_object_names *n, const char *type, uint64_t id);
/* "compute ae1a44eb", NULL: none. */
const char *tsm_object_shaders(const struct tsm_object_names *n, const char *type, uint64_t id);

#endif
