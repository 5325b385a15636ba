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

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tsm_json {
    FILE *out;
    bool comma; /* the next value needs one before it */
};

/* '{' and '}', or '[' and ']'. */
void tsm_json_open(struct tsm_json *j, char bracket);
void tsm_json_close(struct tsm_json *j, char bracket);

void tsm_json_name(struct tsm_json *j, const char *name);
void tsm_json_string(struct tsm_json *j, const char *text); /* NULL: null */
void tsm_json_u64(struct tsm_json *j, uint64_t value);
void tsm_json_bool(struct tsm_json *j, bool value);

/* A value that is JSON already. */
void tsm_json_raw(struct tsm_json *j, const void *text, size_t size);

/* A member of an object. */
void tsm_json_put_string(struct tsm_json *j, const char *name, const char *text);
void tsm_json_put_u64(struct tsm_json *j, const char *name, uint64_t value);
void tsm_json_put_bool(struct tsm_json *j, const char *name, bool value);
/* "0x..." */
void tsm_json_put_hex(struct tsm_json *j, const char *name, uint64_t value);

/* '{' and the schema's name. */
void tsm_json_begin(struct tsm_json *j, const char *schema);
/* '}' and a line end. */
void tsm_json_end(struct tsm_json *j);

/* Writes lines that are JSON already. */
void tsm_json_put_lines(const struct tsm_buffer *lines, FILE *out);

/* Tests whether any JSON was written to stdout. */
bool tsm_json_is_printed(void);

/* Prints the object of a command that failed before it printed its own, schema "tserror/1". */
void tsm_json_error(const char *command, const char *error, int status);

#endif
