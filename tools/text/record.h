/* SPDX-License-Identifier: Apache-2.0
 *
 * A record as a line for people:
 *
 *     seq  seconds  stream  bytes  call(argument=value, ...) = result
 *
 * and a launch as call name<<<grid, block>>>(...). Everything comes from the trace's own schemas.
 */
#ifndef TOOLS_TEXT_RECORD_H
#define TOOLS_TEXT_RECORD_H

#include "tools/text/line.h"
#include "tracesmith/reader.h"

struct tsm_kernel_arguments; /* tools/text/kernel_arguments.h */
struct tsm_object_names;     /* tools/text/object_names.h */

struct tsm_record_text {
    struct sbt_reader *reader;
    const struct tsm_object_names *names;   /* shown after handles; NULL: none */
    struct tsm_kernel_arguments *arguments; /* decodes argument blocks of launches; NULL: bytes */
    struct tsm_text_line line;
};

void tsm_record_text_init(struct tsm_record_text *t, struct sbt_reader *reader);
void tsm_record_text_finish(struct tsm_record_text *t);

/* Put the record into t->line. */
void tsm_record_text_put(struct tsm_record_text *t, const struct sbt_record *record);

/* Append the call and its result alone, without its first `from` arguments. */
void tsm_record_text_call(struct tsm_record_text *t, const struct sbt_record *record,
                          uint32_t from);

#endif
