/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sqlite/database.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define STRING_MAX    65536u
#define STATEMENT_MAX 8192u

struct tsm_database {
    sqlite3 *handle;
    const char *shown;
    struct tsm_map strings; /* hash -> number */
    int64_t string_count;
    int error;
};

static void fail(struct tsm_database *d)
{
    if (!d->error)
        d->error = tsm_fail(TSM_E_IO, "%s: SQLite: %s", d->shown, sqlite3_errmsg(d->handle));
}

/* The file is new, and is thrown away if anything fails: no journal, no wait for the disk. */
static const char settings[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                               "PRAGMA page_size = 16384; PRAGMA cache_size = -16384;"
                               "PRAGMA locking_mode = EXCLUSIVE; BEGIN;";

int tsm_database_create(struct tsm_database **out, const char *path, const char *shown)
{
    struct tsm_database *d = calloc(1, sizeof(*d));

    *out = NULL;
    if (!d)
        return tsm_fail(TSM_E_MEMORY, "out of memory for a database");
    d->shown = shown;
    if (sqlite3_open_v2(path, &d->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        fail(d);
        return tsm_database_finish(d);
    }
    tsm_database_run(d, settings);
    *out = d;
    return 0;
}

void tsm_database_run(struct tsm_database *d, const char *sql)
{
    if (!d->error && sqlite3_exec(d->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(d);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int column_count(const char *columns)
{
    int count = 1;

    for (const char *at = columns; (at = strchr(at, ',')) != NULL; at++)
        count++;
    return count;
}

static void make_table(struct tsm_database *d, struct tsm_rows *rows)
{
    char sql[STATEMENT_MAX];
    sqlite3_stmt *insert = NULL;
    size_t at;

    tsm_format(sql, sizeof(sql), "CREATE TABLE \"%s\" (%s);", rows->form->name,
               rows->form->columns);
    tsm_database_run(d, sql);
    tsm_format(sql, sizeof(sql), "INSERT INTO \"%s\" VALUES (?", rows->form->name);
    at = strlen(sql);
    for (int i = column_count(rows->form->columns); i > 1 && at + 4 < sizeof(sql); i--, at += 2)
        memcpy(sql + at, ",?", 3);
    memcpy(sql + at, ")", 2);
    if (!d->error && sqlite3_prepare_v3(d->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &insert,
                                        NULL) != SQLITE_OK)
        fail(d);
    rows->insert = insert;
}

void tsm_rows_make(struct tsm_database *d, struct tsm_rows *rows)
{
    if (!rows->insert && !d->error)
        make_table(d, rows);
}

void tsm_row_begin(struct tsm_database *d, struct tsm_rows *rows)
{
    tsm_rows_make(d, rows);
    rows->column = 0;
}

void tsm_row_i64(struct tsm_rows *rows, int64_t value)
{
    sqlite3_bind_int64(rows->insert, ++rows->column, value);
}

void tsm_row_f64(struct tsm_rows *rows, double value)
{
    sqlite3_bind_double(rows->insert, ++rows->column, value);
}

void tsm_row_text(struct tsm_rows *rows, const char *text)
{
    sqlite3_bind_text(rows->insert, ++rows->column, text, -1, SQLITE_TRANSIENT);
}

void tsm_row_null(struct tsm_rows *rows)
{
    sqlite3_bind_null(rows->insert, ++rows->column);
}

void tsm_row_skip(struct tsm_rows *rows, int count)
{
    rows->column += count;
}

void tsm_row_end(struct tsm_database *d, struct tsm_rows *rows)
{
    if (d->error || !rows->insert)
        return;
    if (sqlite3_step(rows->insert) != SQLITE_DONE)
        fail(d);
    sqlite3_reset(rows->insert);
}

int64_t tsm_database_string(struct tsm_database *d, struct tsm_rows *strings, const char *text)
{
    const size_t length = text ? strnlen(text, STRING_MAX) : 0;
    bool added = false;
    uint64_t *place;

    place = tsm_map_insert(&d->strings, tsm_hash64(text ? text : "", length), &added);
    if (!place) {
        if (!d->error)
            d->error = tsm_fail(TSM_E_MEMORY, "out of memory for texts of %s", d->shown);
        return 0;
    }
    if (added) {
        *place = (uint64_t)++d->string_count;
        tsm_row_begin(d, strings);
        tsm_row_i64(strings, d->string_count);
        sqlite3_bind_text(strings->insert, ++strings->column, text ? text : "", (int)length,
                          SQLITE_TRANSIENT);
        tsm_row_end(d, strings);
    }
    return (int64_t)*place;
}

int tsm_database_finish(struct tsm_database *d)
{
    sqlite3_stmt *statement;
    int error;

    if (!d)
        return 0;
    tsm_database_run(d, "COMMIT;");
    while ((statement = sqlite3_next_stmt(d->handle, NULL)) != NULL)
        sqlite3_finalize(statement);
    if (sqlite3_close(d->handle) != SQLITE_OK)
        fail(d);
    error = d->error;
    tsm_map_finish(&d->strings);
    free(d);
    return error;
}
