/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON, written front to back into a buffer or to a file. Commas are put where one is due. Numbers
 * are written exactly, also above 2^53. Text is escaped; bytes that are not UTF-8 become U+FFFD.
 *
 * Out of memory marks the buffer as failed; errors of a file are the file's. One thread at a time
 * for each writer. Writing to a file uses stdio, and so is nothing for a traced program's call
 * path.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Variants of the form, for outputs whose bytes are fixed. */
#define TSM_JSON_LETTERS 1u /* line ends, tabs and the like are escaped by their letter: \n, \t */
#define TSM_JSON_UTF8    2u /* U+FFFD, U+007F and U+0080 to U+009F are written as themselves */
#define TSM_JSON_LINES   4u /* a line end follows each comma */

/* Zeroed but for a target: begins a document. */
struct tsm_json {
    FILE *out;                 /* the target, or */
    struct tsm_buffer *buffer; /* ... this one */
    unsigned style;            /* TSM_JSON_... */
    bool comma;                /* the next value needs one before it */
};

/* Opens and closes an object with '{' and '}', or an array with '[' and ']'. */
void tsm_json_open(struct tsm_json *j, char bracket);
void tsm_json_close(struct tsm_json *j, char bracket);

/* Writes the name of the member whose value comes next. */
void tsm_json_name(struct tsm_json *j, const char *name);

/* Writes a value. */
void tsm_json_string(struct tsm_json *j, const char *text); /* NULL: null */
void tsm_json_text(struct tsm_json *j, const void *text, size_t size);
void tsm_json_u64(struct tsm_json *j, uint64_t value);
void tsm_json_i64(struct tsm_json *j, int64_t value);
void tsm_json_hex(struct tsm_json *j, uint64_t value); /* "0x1f" */
void tsm_json_bool(struct tsm_json *j, bool value);
void tsm_json_bytes(struct tsm_json *j, const uint8_t *bytes, size_t size); /* "00ff" */

/* Writes a value that is JSON already. */
void tsm_json_raw(struct tsm_json *j, const void *text, size_t size);

/* Writes a string in parts. None of them ends within a character. */
void tsm_json_text_begin(struct tsm_json *j);
void tsm_json_text_add(struct tsm_json *j, const char *text);
void tsm_json_text_end(struct tsm_json *j);

/* The same as a member of an object; as an element of an array if `name` is NULL. */
void tsm_json_put_open(struct tsm_json *j, const char *name, char bracket);
void tsm_json_put_string(struct tsm_json *j, const char *name, const char *text);
void tsm_json_put_u64(struct tsm_json *j, const char *name, uint64_t value);
void tsm_json_put_bool(struct tsm_json *j, const char *name, bool value);
void tsm_json_put_hex(struct tsm_json *j, const char *name, uint64_t value);
void tsm_json_put_bytes(struct tsm_json *j, const char *name, const uint8_t *bytes, size_t size);

/* Tests whether any writer of this process has written to stdout. */
bool tsm_json_is_on_stdout(void);

#endif
