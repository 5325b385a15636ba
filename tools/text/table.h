/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of numbers and texts, printed for people, as CSV (RFC 4180, but for line ends), as
 * Markdown or as a list of JSON objects.
 */
#ifndef TOOLS_TEXT_TABLE_H
#define TOOLS_TEXT_TABLE_H

#include "tools/text/json_out.h"

#define TSM_TABLE_COLUMN_MAX 24u

enum tsm_cell_kind {
    TSM_CELL_COUNT,
    TSM_CELL_NS,       /* people see "12.35 us" */
    TSM_CELL_OFFSET,   /* the same with a sign, as an int64_t: "-12.35 us" */
    TSM_CELL_BYTES,    /* people see "4.0 KiB" */
    TSM_CELL_RATE,     /* bytes a second */
    TSM_CELL_PERMILLE, /* people see "12.3 %"; programs the percentage: 12.3 */
    TSM_CELL_CHANGE,   /* the same with a sign, as an int64_t: "+12.3 %" */
    TSM_CELL_PPM,      /* of parts per billion, as an int64_t: parts per million, "+12.345" */
    TSM_CELL_REAL,     /* see tsm_table_real() */
    TSM_CELL_TEXT,
    TSM_CELL_NAME, /* text: of a function of C++ people see what tsm_demangle() makes of it */
};

struct tsm_table_column {
    const char *key;   /* of JSON and CSV: "total_ns" */
    const char *title; /* for people */
    enum tsm_cell_kind kind;
};

struct tsm_cell {
    bool is_known; /* else it is empty, null, or "-" */
    uint64_t value;
    char *text; /* from malloc */
};

/* A zeroed struct with `name` and `title` is empty. Columns are set before rows are added. */
struct tsm_table {
    const char *name;  /* of JSON: "kernels" */
    const char *title; /* for people: a line above */
    struct tsm_table_column columns[TSM_TABLE_COLUMN_MAX];
    unsigned column_count;
    struct tsm_cell *cells; /* row after row */
    size_t row_count, cell_capacity, cell_count;
    bool failed; /* out of memory: rows are missing */
};

void tsm_table_column(struct tsm_table *t, const char *key, const char *title,
                      enum tsm_cell_kind kind);

/* Add the cells of a row, one after the other; the last one ends the row. */
void tsm_table_number(struct tsm_table *t, uint64_t value);
void tsm_table_real(struct tsm_table *t, double value);
void tsm_table_text(struct tsm_table *t, const char *text); /* is copied; NULL: not known */
void tsm_table_unknown(struct tsm_table *t);
void tsm_table_number_or_unknown(struct tsm_table *t, bool is_known, uint64_t value);

/* Rows that an option "--top=N" asks for. Zeroed: it was not given. */
struct tsm_table_top {
    bool is_given;
    uint64_t count; /* 0: all */
};

/* Reads the option's number; for TSM_OPTION_PARSED. */
bool tsm_table_top_parse(void *top, const char *text);
/* Returns how many rows to print, 0: all; without the option `rows`. */
size_t tsm_table_top_rows(const struct tsm_table_top *top, size_t rows);

/* Prints the first `top` rows (0: all) to stdout. Text is cut to the terminal's width. */
void tsm_table_print(const struct tsm_table *t, size_t top);
void tsm_table_print_csv(const struct tsm_table *t, size_t top);
/* A table of GitHub's Markdown, for a pull request. */
void tsm_table_print_markdown(const struct tsm_table *t, size_t top);
/* A member of the open object. */
void tsm_table_print_json(const struct tsm_table *t, struct tsm_json *json, size_t top);

void tsm_table_finish(struct tsm_table *t);

/* "1.235 us": five digits at most, one unit. */
void tsm_duration_text(char *out, size_t size, uint64_t ns);

#endif
