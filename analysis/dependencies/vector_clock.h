/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks: sets of commands that are known to have ended, of each stream all up to a
 * position. Functions that may grow one return false, and change nothing, when out of memory.
 *
 * A trace could make of a few records clocks that take gigabytes: all of a budget have so many
 * entries at most, and each has 1024. What finds no room is left out, so that a clock knows less
 * than it could.
 */
#ifndef ANALYSIS_DEPENDENCIES_VECTOR_CLOCK_H
#define ANALYSIS_DEPENDENCIES_VECTOR_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_vector_clock_entry {
    uint32_t stream;
    uint64_t position;
};

/* Counts the entries of clocks. A zeroed struct counts none. */
struct tsm_vector_budget {
    size_t used;
};

/* A zeroed struct knows of none. */
struct tsm_vector_clock {
    struct tsm_vector_clock_entry *list; /* by stream */
    size_t count, capacity;
};

/* Tests whether the command at this position is known to have ended. */
bool tsm_vector_clock_has(const struct tsm_vector_clock *c, uint32_t stream, uint64_t position);

/* Returns the position up to which the stream's commands are known to have ended; 0: none. */
uint64_t tsm_vector_clock_until(const struct tsm_vector_clock *c, uint32_t stream);

/* Adds all commands of the stream up to `position`. */
bool tsm_vector_clock_add(struct tsm_vector_clock *c, struct tsm_vector_budget *budget,
                          uint32_t stream, uint64_t position);

/* Adds all that `with` knows. */
bool tsm_vector_clock_join(struct tsm_vector_clock *c, struct tsm_vector_budget *budget,
                           const struct tsm_vector_clock *with);

/* Becomes a copy of `from`; an empty one without room. */
bool tsm_vector_clock_copy(struct tsm_vector_clock *c, struct tsm_vector_budget *budget,
                           const struct tsm_vector_clock *from);

/* Empties the clock, whose entries go back to the budget. */
void tsm_vector_clock_empty(struct tsm_vector_clock *c, struct tsm_vector_budget *budget);

void tsm_vector_clock_finish(struct tsm_vector_clock *c);

#endif
