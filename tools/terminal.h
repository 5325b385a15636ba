/* SPDX-License-Identifier: Apache-2.0
 *
 * Output for people: messages, colours, progress. Data goes to stdout by stdio; everything here but
 * the colours goes to stderr.
 *
 * One thread. Set up once by tsm_terminal_init().
 */
#ifndef TOOLS_TERMINAL_H
#define TOOLS_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum tsm_color {
    TSM_COLOR_AUTO, /* when stdout is a terminal, and NO_COLOR is not set, and TERM is not "dumb" */
    TSM_COLOR_ALWAYS,
    TSM_COLOR_NEVER,
};

/* Exit status of every command that says no other. */
enum tsm_exit {
    TSM_EXIT_OK = 0,
    TSM_EXIT_NO = 1,    /* the answer is no: differs, damaged, missing */
    TSM_EXIT_ERROR = 2, /* no answer */
};

/* `name` is how messages begin: "tsview", "tracesmith info". Both must live on. */
void tsm_terminal_init(const char *name, enum tsm_color color, bool quiet);

bool tsm_terminal_quiet(void);

/* Columns of the terminal that stdout is; 0 when it is none: then lines are never cut. */
unsigned tsm_terminal_width(void);

enum tsm_paint {
    TSM_PAINT_NONE,
    TSM_PAINT_DIM,
    TSM_PAINT_BOLD,
    TSM_PAINT_GOOD,
    TSM_PAINT_WARN,
    TSM_PAINT_BAD,
    TSM_PAINT_NAME,
    TSM_PAINT_COUNT,
};

/* The escape sequence that begins `paint` on stdout (NONE ends any); "" when colours are off. */
const char *tsm_paint(enum tsm_paint paint);

/* Text of a trace, or of anybody else, as it can be shown: control characters are escaped, so that it
 * cannot move the cursor, set a title or begin another line. Lives until 16 more were asked for. Whatever
 * is printed with a format goes through this; lines have tsm_text_line_clean(), JSON escapes by itself. */
const char *tsm_clean(const char *text);

/* Writes a text of several lines, each cleaned. */
void tsm_put_lines(FILE *out, const char *text);

/* "NAME: message". Control characters but line ends are escaped. complain() always, note() unless --quiet. complain returns TSM_EXIT_ERROR. */
int tsm_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tsm_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the text of the first complaint, without the program's name; "" before any. */
const char *tsm_complaint(void);

/* complain() with this thread's last error message. */
int tsm_complain_error(void);

/* A progress bar on a terminal's stderr, nothing elsewhere. Call as often as you like; it is drawn
 * ten times a second, from half a second on. Any message or progress_end() removes it. */
void tsm_progress(const char *what, uint64_t done, uint64_t total);
void tsm_progress_end(void);

/* Flush stdout; TSM_EXIT_ERROR, with a message, if anything written to it was lost. Else `status`.
 */
int tsm_terminal_finish(int status);

/* Takes the standard output for the caller alone: what anything else in the process writes there,
 * a driver what kernels print, goes to the standard error from now on. Returns NULL,
 * after complaining, if that is impossible. The stream lives until the process ends;
 * tsm_terminal_finish() takes care of it. */
FILE *tsm_terminal_take_output(void);

/* Returns that stream, or stdout. */
FILE *tsm_terminal_output(void);

#endif
