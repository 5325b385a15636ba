/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a program has allocated, by its address.
 */
#ifndef ANALYSIS_MODEL_MEMORY_H
#define ANALYSIS_MODEL_MEMORY_H

#include "analysis/model/node.h"

struct tsm_allocation {
    uint64_t start, size;
    enum tsm_place place;
    bool is_host; /* made with a host pointer; such a pointer ends no other */
};

/* A zeroed struct is empty. */
struct tsm_memory {
    struct tsm_allocation *list; /* by start, apart from each other */
    size_t count, capacity;
};

/* Takes the record into account. Returns 1 and *out for one that allocates or frees memory, else 0.
 */
int tsm_memory_note(struct tsm_memory *m, const struct sbt_record *record,
                    const struct sbt_schema *schema, struct tsm_memory_node *out);

/* Returns the first allocation that ends behind the address, which may begin behind it, too; NULL:
 * there is none. Valid until the next record is noted. */
const struct tsm_allocation *tsm_memory_find(const struct tsm_memory *m, uint64_t address);

/* Returns the place of an address; `absent` where no allocation is. */
enum tsm_place tsm_memory_place(const struct tsm_memory *m, uint64_t address,
                                enum tsm_place absent);

void tsm_memory_finish(struct tsm_memory *m);

#endif
