/* SPDX-License-Identifier: Apache-2.0
 *
 * All objects that a record names, in its slots and inside its structured values.
 */
#ifndef ANALYSIS_HANDLES_H
#define ANALYSIS_HANDLES_H

#include "tracesmith/reader.h"

struct tsm_handle_name {
    const char *type;   /* a field's detail, e.g. "module"; lives as long as the reader */
    uint64_t id;        /* not 0 */
    uint32_t field;     /* of the record */
    const char *member; /* name of the struct's member it is; NULL: the field itself */
    uint32_t depth;     /* structs around it */
};

/* Calls `visit` for each, in order, until it gives something else than 0, which is returned. What
 * cannot be read is passed over. */
int tsm_handles_each(struct sbt_reader *reader, const struct sbt_record *record,
                     const struct sbt_schema *schema,
                     int (*visit)(void *user, const struct tsm_handle_name *name), void *user);

/* The first text in the record's structured values; `out` is terminated, "" when there is none. */
void tsm_handles_text(struct sbt_reader *reader, const struct sbt_record *record,
                      const struct sbt_schema *schema, char *out, size_t size);

#endif
