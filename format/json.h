/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON form of a trace, "tsview/1": docs/FORMAT.md section 14. One object a line, keys in a
 * fixed order, so that lines can be compared as text. tests/decoder/sbt.py prints the same bytes.
 */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "base/buffer.h"
#include "base/json.h"
#include "tracesmith/reader.h"

/* Append the header's line, or a record's, each with its line end. 0, or TSM_E_MEMORY. */
int sbt_json_header(struct tsm_buffer *out, struct sbt_reader *r);
int sbt_json_record(struct tsm_buffer *out, struct sbt_reader *r, const struct sbt_record *record);

/* Writes a number of a field or member, by its type; STRING, BYTES and the like are none. */
void sbt_json_number(struct tsm_json *j, const struct sbt_reader *r, enum sbt_field_type type,
                     const char *detail, uint64_t value);

/* Writes slot `i`, a structured value of struct `name`. The writer's target is a buffer. */
void sbt_json_value(struct tsm_json *j, struct sbt_reader *r, const char *name,
                    const struct sbt_record *record, uint32_t i);

/* "core", "cuda", ...; "apiN" for others goes into `space`. */
const char *sbt_api_name(uint32_t api, char space[16]);

/* "command", ...; NULL for a kind of a later version. */
const char *sbt_kind_name(uint32_t kind);

#endif
