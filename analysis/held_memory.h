/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that commands name without an address: an array by its handle, anything at all by the
 * number of a texture or surface object in the arguments of a kernel.
 *
 * It is known by names in the trace: objects called array and mipmap hold memory; a record that
 * makes an object and has a field `value` tells the number that stands for it in arguments; objects
 * whose name ends in "ref" are bound by calls of their own and named by no launch.
 */
#ifndef ANALYSIS_HELD_MEMORY_H
#define ANALYSIS_HELD_MEMORY_H

#include "base/map.h"
#include "tracesmith/reader.h"

/* A zeroed struct is empty. */
struct tsm_held_memory {
    struct tsm_map numbers; /* number in arguments -> the memory that it leads to, below */
    struct tsm_map wholes;  /* array -> the mipmapped array that it is a level of */
    bool has_references;    /* something is bound to a reference: any launch may read it */
};

/* Memory that an argument leads to: an address or, with this bit, an object. 0: none known. */
#define TSM_HELD_OBJECT (1ull << 63)

/* Take a record into account, in the order of the trace. */
int tsm_held_memory_note(struct tsm_held_memory *held, const struct sbt_record *record,
                         const struct sbt_schema *schema);
void tsm_held_memory_finish(struct tsm_held_memory *held);

/* Returns the memory that a word of an argument block, or a field of a record, leads to. */
uint64_t tsm_held_memory_number(const struct tsm_held_memory *held, uint64_t word);
uint64_t tsm_held_memory_field(const struct tsm_held_memory *held, const struct sbt_record *record,
                               const struct sbt_schema *schema, uint32_t field);

#endif
