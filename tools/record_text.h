/* SPDX-License-Identifier: Apache-2.0
 *
 * A record as a line for people:
 *
 *     seq  seconds  stream  bytes  call(argument=value, ...) = result
 *
 * and a launch as call name<<<grid, block>>>(...). Everything comes from the trace's own schemas.
 */
#ifndef TOOLS_RECORD_TEXT_H
#define TOOLS_RECORD_TEXT_H

#include "tools/line.h"
#include "tracesmith/reader.h"

struct tsm_record_text {
    struct sbt_reader *reader;
    struct tsm_line line;
    /* Names of GPU functions by the handle that made them; a ring of the last ones would forget
     * the oldest first, so it is a plain table with a limit. */
    struct tsm_function_name {
        uint64_t handle;
        uint32_t name; /* string id */
    } * functions;
    size_t function_count, function_capacity;
};

void tsm_record_text_init(struct tsm_record_text *t, struct sbt_reader *reader);
void tsm_record_text_finish(struct tsm_record_text *t);

/* Look at a record that will not be shown, for names of functions that it makes. */
void tsm_record_text_learn(struct tsm_record_text *t, const struct sbt_record *record);

/* Put the record into t->line. */
void tsm_record_text_put(struct tsm_record_text *t, const struct sbt_record *record);

/* The name of a launch's function, NULL when the record has none or it is unknown. */
const char *tsm_record_text_function(struct tsm_record_text *t, const struct sbt_record *record,
                                     const struct sbt_schema *schema);

#endif
