/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON to stdout. Every command's --json begins with {"schema":"NAME/VERSION", ...}: the version
 * changes when a member changes its meaning or goes away; new members may come at any time.
 *
 * Numbers are written exactly, also above 2^53. Text that is not UTF-8 has its bad bytes replaced
 * by U+FFFD.
 */
#ifndef TOOLS_TEXT_JSON_OUT_H
#define TOOLS_TEXT_JSON_OUT_H

#include "base/json.h"

/* Begins an object with its schema's name. */
void tsm_json_begin(struct tsm_json *j, const char *schema);
/* Ends the object and the line. */
void tsm_json_end(struct tsm_json *j);

/* Writes lines that are JSON already. */
void tsm_json_put_lines(const struct tsm_buffer *lines, FILE *out);

/* Tests whether any JSON was written to stdout. */
bool tsm_json_is_printed(void);

/* Prints the object of a command that failed before it printed its own, schema "tserror/1". */
void tsm_json_error(const char *command, const char *error, int status);

#endif
