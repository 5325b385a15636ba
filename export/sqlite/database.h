/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of an SQLite file that is written front to back. A table is made when its first row comes,
 * so that a file has the tables that have rows. SQLite, of Debian's libsqlite3-0, does the writing.
 *
 * One thread. Errors are kept: the first one is what tsm_database_finish() returns, and after it
 * nothing is written.
 */
#ifndef EXPORT_SQLITE_DATABASE_H
#define EXPORT_SQLITE_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_database;

/* A table of constant text. `columns` is what stands in the parentheses of CREATE TABLE, a column
 * in each part between commas; none of them holds a comma of its own. */
struct tsm_table_form {
    const char *name;
    const char *columns;
};

/* Rows of one table. A zeroed struct with `form` is one that has none yet. */
struct tsm_rows {
    const struct tsm_table_form *form;
    void *insert; /* the prepared statement; the database's */
    int column;   /* bound so far, of the row that is being written */
};

/* Opens the empty or new file for writing. `shown` names it in messages. Negative: a tsm_error. */
int tsm_database_create(struct tsm_database **out, const char *path, const char *shown);

/* Runs statements, such as those that make views. */
void tsm_database_run(struct tsm_database *d, const char *sql);

/* Makes the table though it may never have a row. */
void tsm_rows_make(struct tsm_database *d, struct tsm_rows *rows);

/* Begins a row; then a value for each column from the first on, and the end. */
void tsm_row_begin(struct tsm_database *d, struct tsm_rows *rows);
void tsm_row_i64(struct tsm_rows *rows, int64_t value);
void tsm_row_f64(struct tsm_rows *rows, double value);
void tsm_row_text(struct tsm_rows *rows, const char *text); /* NULL: NULL; copied */
void tsm_row_null(struct tsm_rows *rows);
/* Passes over columns that are NULL in each row of the table. */
void tsm_row_skip(struct tsm_rows *rows, int count);
void tsm_row_end(struct tsm_database *d, struct tsm_rows *rows);

/* Returns the number of a text in a table of strings, from 1, which it is added to when it is new.
 * `strings` has the columns id and value. Texts are cut at 64 KiB. NULL is "". */
int64_t tsm_database_string(struct tsm_database *d, struct tsm_rows *strings, const char *text);

/* Closes the file. Returns 0 or the first error, described. NULL: nothing. */
int tsm_database_finish(struct tsm_database *d);

#endif
