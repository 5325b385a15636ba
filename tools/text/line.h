/* SPDX-License-Identifier: Apache-2.0
 *
 * One line of text, put together fast and written whole: printf would take most of the time of a
 * listing. Columns are counted while it grows (escape sequences have none, a UTF-8 character has
 * one), so that it can be padded, and cut to a terminal's width.
 *
 * A zeroed struct is an empty line. Out of memory cuts the line short.
 */
#ifndef TOOLS_TEXT_LINE_H
#define TOOLS_TEXT_LINE_H

#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

struct tsm_text_line {
    struct tsm_buffer text;
    unsigned columns;
    unsigned width; /* columns at most; 0: any number */
    bool full;      /* something did not fit: the line ends in an ellipsis */
};

void tsm_text_line_finish(struct tsm_text_line *line);

/* Text is taken as it is up to `width`. It should hold no control characters: see quoted. */
void tsm_text_line_add(struct tsm_text_line *line, const char *text, size_t size);
static inline void tsm_text_line_text(struct tsm_text_line *line, const char *text)
{
    tsm_text_line_add(line, text, strlen(text));
}
/* Text from a trace: "..." with control characters escaped. */
void tsm_text_line_quoted(struct tsm_text_line *line, const char *text);
/* The same without quotes. */
void tsm_text_line_clean(struct tsm_text_line *line, const char *text);
void tsm_text_line_u64(struct tsm_text_line *line, uint64_t value);
void tsm_text_line_i64(struct tsm_text_line *line, int64_t value);
void tsm_text_line_hex(struct tsm_text_line *line, uint64_t value); /* 0x1f */
void tsm_text_line_bytes(struct tsm_text_line *line, const uint8_t *data, size_t size);
/* The number right-aligned in `columns`. */
void tsm_text_line_right(struct tsm_text_line *line, uint64_t value, unsigned columns);
/* Spaces up to `column`, at least one unless the line is empty. */
void tsm_text_line_pad(struct tsm_text_line *line, unsigned column);
/* Seconds with nanoseconds, right-aligned: "   1.234567890". */
void tsm_text_line_time(struct tsm_text_line *line, uint64_t ns, unsigned columns);
/* A size for people, exact below 10,000: "512 B", "4.0 KiB". */
void tsm_text_line_size(struct tsm_text_line *line, uint64_t bytes);
/* An escape sequence: no columns, and never cut. */
void tsm_text_line_escape(struct tsm_text_line *line, const char *sequence);

/* Write it with a line end and make it empty. */
void tsm_text_line_write(struct tsm_text_line *line, FILE *out);

/* Memory ran out for a part of what is shown: tsm_terminal_finish() makes that an error. */
void tsm_text_line_lost(void);
bool tsm_text_line_is_lacking(void);

/* Writes a buffer of whole lines, or nothing of it if memory ran out for it. */
void tsm_text_line_put_buffer(const struct tsm_buffer *lines, FILE *out);

#endif
