/* SPDX-License-Identifier: Apache-2.0
 *
 * The structs that a trace describes, found by name and by id. A reader has a set, and so has
 * sbt_check(), which fills it while it goes through the file.
 */
#ifndef FORMAT_STRUCTS_H
#define FORMAT_STRUCTS_H

#include "base/map.h"
#include "tracesmith/reader.h"

/* A zeroed struct is an empty set. What descriptions point to is the caller's. */
struct sbt_structs {
    struct sbt_struct *list; /* in the order in which they were added */
    size_t count, capacity;
    struct tsm_map by_name; /* hash64 of the name -> place in the list */
    struct tsm_map by_id;
};

enum sbt_structs_added {
    SBT_STRUCTS_ADDED,
    SBT_STRUCTS_SAME_NAME, /* the first one counts */
    SBT_STRUCTS_SAME_ID,
    SBT_STRUCTS_NO_MEMORY,
};

void sbt_structs_finish(struct sbt_structs *s);
enum sbt_structs_added sbt_structs_add(struct sbt_structs *s, const struct sbt_struct *structure);

/* NULL when there is none; valid until the next one is added. */
const struct sbt_struct *sbt_structs_find(const struct sbt_structs *s, const char *name);
const struct sbt_struct *sbt_structs_by_id(const struct sbt_structs *s, uint64_t id);

/* sbt_walk_begin() with a set of one's own, which must not grow until the walk is over. */
int sbt_walk_init(struct sbt_walk *walk, const struct sbt_structs *structs, const char *name,
                  const void *data, size_t size);

#endif
