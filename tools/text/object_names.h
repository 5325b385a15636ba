/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that a program has given to its objects, and the hashes of shaders in them, as far as the
 * trace has been read. `type`: a handle's detail, or its value in the API's table of object types.
 */
#ifndef TOOLS_TEXT_OBJECT_NAMES_H
#define TOOLS_TEXT_OBJECT_NAMES_H

#include "base/map.h"
#include <stdint.h>

/* A zeroed struct has none. */
struct tsm_object_names {
    struct tsm_map names;   /* hash of type and id -> text, from malloc */
    struct tsm_map shaders; /* the same, of what lies in a module or pipeline */
};

void tsm_object_names_finish(struct tsm_object_names *n);

/* Replace what is known; "" for nothing. */
void tsm_object_names_put(struct tsm_object_names *n, const char *type, uint64_t id,
                          const char *name);
void tsm_object_shaders_put(struct tsm_object_names *n, const char *type, uint64_t id,
                            const char *hashes);

/* Returns NULL if there is none. */
const char *tsm_object_name(const struct tsm_object_names *n, const char *type, uint64_t id);
/* "compute ae1a44eb", NULL: none. */
const char *tsm_object_shaders(const struct tsm_object_names *n, const char *type, uint64_t id);

#endif
