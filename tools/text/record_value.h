/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a record's line: private to tools/record_text*.c.
 */
#ifndef TOOLS_TEXT_RECORD_VALUE_H
#define TOOLS_TEXT_RECORD_VALUE_H

#include "tools/text/record.h"

/* A field or member that is no more than a number. */
void tsm_record_text_number(struct tsm_record_text *t, enum sbt_field_type type, const char *detail,
                            uint64_t value);

/* The first bytes, and how many there are. */
void tsm_record_text_bytes(struct tsm_record_text *t, const uint8_t *data, size_t size);

/* A field of type STRUCT. */
void tsm_record_text_struct(struct tsm_record_text *t, const struct sbt_record *record,
                            uint32_t index, const struct sbt_field *field);

/* Writes only those members of the whole value whose bit is set in `shown`. */
void tsm_record_text_members(struct tsm_record_text *t, const struct sbt_record *record,
                             uint32_t index, const struct sbt_field *field, uint64_t shown);

/* Which members of two values of one struct differ; those after the 64th count as the 64th. A list
 * that `b` has none of does not differ: it was not kept twice. */
uint64_t tsm_record_text_compare(struct sbt_reader *reader, const struct sbt_record *record,
                                 uint32_t a, uint32_t b, const struct sbt_field *field);

#endif
