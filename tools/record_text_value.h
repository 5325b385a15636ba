/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a record's line: private to tools/record_text*.c.
 */
#ifndef TOOLS_RECORD_TEXT_VALUE_H
#define TOOLS_RECORD_TEXT_VALUE_H

#include "tools/record_text.h"

/* A field or member that is no more than a number. */
void tsm_record_text_number(struct tsm_record_text *t, enum sbt_field_type type, const char *detail,
                            uint64_t value);

/* The first bytes, and how many there are. */
void tsm_record_text_bytes(struct tsm_record_text *t, const uint8_t *data, size_t size);

/* A field of type STRUCT. */
void tsm_record_text_struct(struct tsm_record_text *t, const struct sbt_record *record,
                            uint32_t index, const struct sbt_field *field);

#endif
