/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of what commands inside of command buffers run: pipelines, by number and by the name that
 * the program gave them.
 */
#ifndef ANALYSIS_MODEL_PROGRAMS_H
#define ANALYSIS_MODEL_PROGRAMS_H

#include "base/map.h"
#include "tracesmith/reader.h"

/* A zeroed struct knows none. */
struct tsm_programs {
    struct tsm_map given; /* id -> text, from malloc: names that the program gave */
    struct tsm_map texts; /* hash of call and id -> text, from malloc */
};

/* Takes a record that gives an object a name into account. Returns 0 or a negative tsm_error. */
int tsm_programs_note(struct tsm_programs *p, struct sbt_reader *reader,
                      const struct sbt_record *record, const struct sbt_schema *schema);

/* Returns what to call a command of this call that ran the object: the call's name, the object and
 * its name. Lives as long as `p`; NULL when out of memory. */
const char *tsm_programs_text(struct tsm_programs *p, const struct sbt_schema *schema, uint64_t id);

void tsm_programs_finish(struct tsm_programs *p);

#endif
