/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/table.h"

#include "base/array.h"
#include "base/text.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/demangle.h"
#include "tools/text/line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 32u

/* ---- contents ------------------------------------------------------------------------------ */

void tsm_table_column(struct tsm_table *t, const char *key, const char *title,
                      enum tsm_cell_kind kind)
{
    if (t->column_count < TSM_TABLE_COLUMN_MAX)
        t->columns[t->column_count++] = (struct tsm_table_column){key, title, kind};
}

static void add(struct tsm_table *t, struct tsm_cell cell)
{
    if (!TSM_ARRAY_PUSH(t->cells, t->cell_count, t->cell_capacity, cell)) {
        free(cell.text);
        t->failed = true;
        tsm_text_line_lost();
        return;
    }
    t->row_count = t->cell_count / t->column_count;
}

void tsm_table_number(struct tsm_table *t, uint64_t value)
{
    add(t, (struct tsm_cell){.is_known = true, .value = value});
}

void tsm_table_real(struct tsm_table *t, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    tsm_table_number(t, bits);
}

void tsm_table_text(struct tsm_table *t, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        tsm_text_line_lost();
    add(t, (struct tsm_cell){.is_known = copy, .text = copy});
}

void tsm_table_unknown(struct tsm_table *t)
{
    add(t, (struct tsm_cell){0});
}

void tsm_table_number_or_unknown(struct tsm_table *t, bool is_known, uint64_t value)
{
    add(t, (struct tsm_cell){.is_known = is_known, .value = is_known ? value : 0});
}

void tsm_table_finish(struct tsm_table *t)
{
    for (size_t i = 0; i < t->cell_count; i++)
        free(t->cells[i].text);
    free(t->cells);
    *t = (struct tsm_table){0};
}

static size_t rows_shown(const struct tsm_table *t, size_t top)
{
    return top && top < t->row_count ? top : t->row_count;
}

/* ---- numbers for people -------------------------------------------------------------------- */

/* "1.235" with as many decimals as make four digits. */
static void scaled_text(char *out, size_t size, double value, const char *unit)
{
    const int decimals = value >= 999.95 ? 0 : value >= 99.995 ? 1 : value >= 9.9995 ? 2 : 3;

    tsm_format(out, size, "%.*f %s", decimals, value, unit);
}

void tsm_duration_text(char *out, size_t size, uint64_t ns)
{
    if (ns < 1000)
        tsm_format(out, size, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        scaled_text(out, size, (double)ns / 1e3, "us");
    else if (ns < 1000000000)
        scaled_text(out, size, (double)ns / 1e6, "ms");
    else
        scaled_text(out, size, (double)ns / 1e9, "s");
}

static void bytes_text(char *out, size_t size, uint64_t bytes, const char *per)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    unsigned i = 0;

    if (bytes < 10000) {
        tsm_format(out, size, "%" PRIu64 " B%s", bytes, per);
        return;
    }
    for (; value >= 1000 && i < 5; i++)
        value /= 1024;
    tsm_format(out, size, "%.*f %s%s", value < 99.95 ? 1 : 0, value, units[i], per);
}

static double real_of(const struct tsm_cell *cell)
{
    double value;

    memcpy(&value, &cell->value, sizeof(value));
    return value;
}

/* Tenths of percent, as programs want them. */
static void offset_text(char *out, size_t size, int64_t ns)
{
    char text[32];

    tsm_duration_text(text, sizeof(text), ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns);
    tsm_format(out, size, "%s%s", ns < 0 ? "-" : "+", text);
}

static void change_text(char *out, size_t size, const struct tsm_cell *cell, const char *plus)
{
    const int64_t change = (int64_t)cell->value;
    const uint64_t size_of = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;

    tsm_format(out, size, "%s%" PRIu64 ".%" PRIu64, change < 0 ? "-" : plus, size_of / 10,
               size_of % 10);
}

static void ppm_text(char *out, size_t size, const struct tsm_cell *cell, const char *plus)
{
    const int64_t ppb = (int64_t)cell->value;
    const uint64_t size_of = ppb < 0 ? 0 - (uint64_t)ppb : (uint64_t)ppb;

    tsm_format(out, size, "%s%" PRIu64 ".%03" PRIu64, ppb < 0 ? "-" : plus, size_of / 1000,
               size_of % 1000);
}

static void number_text(char *out, size_t size, const struct tsm_cell *cell,
                        enum tsm_cell_kind kind)
{
    char change[NUMBER_MAX];

    if (!cell->is_known) {
        tsm_format(out, size, "-");
    } else if (kind == TSM_CELL_CHANGE) {
        change_text(change, sizeof(change), cell, "+");
        tsm_format(out, size, "%s %%", change);
    } else if (kind == TSM_CELL_PPM)
        ppm_text(out, size, cell, "+");
    else if (kind == TSM_CELL_REAL)
        tsm_format(out, size, "%.2g", real_of(cell));
    else if (kind == TSM_CELL_NS)
        tsm_duration_text(out, size, cell->value);
    else if (kind == TSM_CELL_OFFSET)
        offset_text(out, size, (int64_t)cell->value);
    else if (kind == TSM_CELL_BYTES || kind == TSM_CELL_RATE)
        bytes_text(out, size, cell->value, kind == TSM_CELL_RATE ? "/s" : "");
    else if (kind == TSM_CELL_PERMILLE)
        tsm_format(out, size, "%" PRIu64 ".%" PRIu64 " %%", cell->value / 10, cell->value % 10);
    else
        tsm_format(out, size, "%" PRIu64, cell->value);
}

/* ---- for people ---------------------------------------------------------------------------- */

static bool is_text_kind(enum tsm_cell_kind kind)
{
    return kind == TSM_CELL_TEXT || kind == TSM_CELL_NAME;
}

static bool is_text(const struct tsm_table *t, unsigned column)
{
    return is_text_kind(t->columns[column].kind);
}

static void make_names_readable(const struct tsm_table *t, size_t rows)
{
    for (size_t at = 0; at < rows * t->column_count; at++) {
        struct tsm_cell *cell = &t->cells[at];
        char *plain = t->columns[at % t->column_count].kind == TSM_CELL_NAME && cell->text
                          ? tsm_demangle(cell->text)
                          : NULL;

        if (!plain)
            continue;
        free(cell->text);
        cell->text = plain;
    }
}

static unsigned cell_width(const struct tsm_table *t, size_t row, unsigned column)
{
    const struct tsm_cell *cell = &t->cells[row * t->column_count + column];
    char text[NUMBER_MAX];

    if (is_text(t, column))
        return cell->text ? (unsigned)strlen(tsm_clean(cell->text)) : 1;
    number_text(text, sizeof(text), cell, t->columns[column].kind);
    return (unsigned)strlen(text);
}

static void put_cell(struct tsm_text_line *line, const struct tsm_table *t, unsigned column,
                     const char *text, unsigned width)
{
    const bool is_left = is_text(t, column);
    const unsigned length = (unsigned)strlen(text), begin = line->columns;

    tsm_text_line_text(line, "  ");
    if (!is_left && length < width)
        tsm_text_line_pad(line, begin + 2 + width - length);
    tsm_text_line_text(line, text);
    if (is_left && length < width && column + 1 < t->column_count)
        tsm_text_line_pad(line, begin + 2 + width);
}

static void print_row(struct tsm_text_line *line, const struct tsm_table *t, size_t row,
                      const unsigned *widths)
{
    char text[NUMBER_MAX];

    for (unsigned i = 0; i < t->column_count; i++) {
        const struct tsm_cell *cell = &t->cells[row * t->column_count + i];

        if (is_text(t, i)) {
            put_cell(line, t, i, cell->text ? tsm_clean(cell->text) : "-", widths[i]);
            continue;
        }
        number_text(text, sizeof(text), cell, t->columns[i].kind);
        put_cell(line, t, i, text, widths[i]);
    }
    tsm_text_line_write(line, stdout);
}

void tsm_table_print(const struct tsm_table *t, size_t top)
{
    const size_t rows = rows_shown(t, top);
    struct tsm_text_line line = {.width = tsm_terminal_width()};
    unsigned widths[TSM_TABLE_COLUMN_MAX];

    make_names_readable(t, rows);
    for (unsigned i = 0; i < t->column_count; i++) {
        widths[i] = (unsigned)strlen(t->columns[i].title);
        for (size_t row = 0; row < rows; row++)
            if (cell_width(t, row, i) > widths[i])
                widths[i] = cell_width(t, row, i);
    }
    printf("%s%s%s\n", tsm_paint(TSM_PAINT_BOLD), t->title, tsm_paint(TSM_PAINT_NONE));
    for (unsigned i = 0; i < t->column_count; i++)
        put_cell(&line, t, i, t->columns[i].title, widths[i]);
    tsm_text_line_write(&line, stdout);
    for (size_t row = 0; row < rows; row++)
        print_row(&line, t, row, widths);
    if (rows < t->row_count)
        printf("  ... %zu more; --top=0 shows all\n", t->row_count - rows);
    tsm_text_line_finish(&line);
}

/* ---- for programs -------------------------------------------------------------------------- */

/* A text that a spreadsheet would take for a formula gets an apostrophe. */
static void put_csv_text(const char *text)
{
    const char *clean = tsm_clean(text);
    const bool is_formula = *clean && strchr("=+-@", *clean);

    if (!is_formula && !strpbrk(clean, "\",\r\n")) {
        fputs(clean, stdout);
        return;
    }
    fputs(is_formula ? "\"'" : "\"", stdout);
    for (const char *p = clean; *p; p++)
        fputs(*p == '"' ? "\"\"" : (const char[]){*p, 0}, stdout);
    putchar('"');
}

/* A number as JSON and CSV have it. */
static void plain_text(char *out, size_t size, const struct tsm_cell *cell, enum tsm_cell_kind kind)
{
    if (kind == TSM_CELL_PERMILLE)
        tsm_format(out, size, "%" PRIu64 ".%" PRIu64, cell->value / 10, cell->value % 10);
    else if (kind == TSM_CELL_CHANGE)
        change_text(out, size, cell, "");
    else if (kind == TSM_CELL_PPM)
        ppm_text(out, size, cell, "");
    else if (kind == TSM_CELL_REAL)
        tsm_format(out, size, "%.6g", real_of(cell));
    else if (kind == TSM_CELL_OFFSET)
        tsm_format(out, size, "%" PRId64, (int64_t)cell->value);
    else
        tsm_format(out, size, "%" PRIu64, cell->value);
}

void tsm_table_print_csv(const struct tsm_table *t, size_t top)
{
    const size_t rows = rows_shown(t, top);
    char number[NUMBER_MAX];

    for (unsigned i = 0; i < t->column_count; i++)
        printf("%s%s", i ? "," : "", t->columns[i].key);
    putchar('\n');
    for (size_t at = 0; at < rows * t->column_count; at++) {
        const unsigned column = (unsigned)(at % t->column_count);

        if (column)
            putchar(',');
        if (t->cells[at].is_known && is_text(t, column))
            put_csv_text(t->cells[at].text);
        if (t->cells[at].is_known && !is_text(t, column)) {
            plain_text(number, sizeof(number), &t->cells[at], t->columns[column].kind);
            fputs(number, stdout);
        }
        if (column + 1 == t->column_count)
            putchar('\n');
    }
}

static void put_markdown_text(const char *text)
{
    for (const char *p = tsm_clean(text); *p; p++)
        fputs(strchr("|\\`*_<>[]", *p) ? (const char[]){'\\', *p, 0} : (const char[]){*p, 0},
              stdout);
}

void tsm_table_print_markdown(const struct tsm_table *t, size_t top)
{
    const size_t rows = rows_shown(t, top);
    char number[NUMBER_MAX];

    make_names_readable(t, rows);
    printf("**%s**\n\n", t->title);
    for (unsigned i = 0; i < t->column_count; i++)
        printf("| %s ", t->columns[i].title);
    fputs("|\n", stdout);
    for (unsigned i = 0; i < t->column_count; i++)
        fputs(is_text(t, i) ? "|---" : "|--:", stdout);
    fputs("|\n", stdout);
    for (size_t at = 0; at < rows * t->column_count; at++) {
        const unsigned column = (unsigned)(at % t->column_count);

        fputs("| ", stdout);
        if (is_text(t, column)) {
            put_markdown_text(t->cells[at].text ? t->cells[at].text : "-");
        } else {
            number_text(number, sizeof(number), &t->cells[at], t->columns[column].kind);
            fputs(number, stdout);
        }
        fputs(column + 1 == t->column_count ? " |\n" : " ", stdout);
    }
    if (rows < t->row_count)
        printf("\n%zu more\n", t->row_count - rows);
    putchar('\n');
}

static void json_cell(struct tsm_json *json, const struct tsm_cell *cell, enum tsm_cell_kind kind)
{
    char text[NUMBER_MAX];

    if (is_text_kind(kind)) {
        tsm_json_string(json, cell->text);
    } else if (!cell->is_known) {
        tsm_json_string(json, NULL);
    } else {
        plain_text(text, sizeof(text), cell, kind);
        tsm_json_raw(json, text, strlen(text));
    }
}

void tsm_table_print_json(const struct tsm_table *t, struct tsm_json *json, size_t top)
{
    const size_t rows = rows_shown(t, top);

    tsm_json_name(json, t->name);
    tsm_json_open(json, '[');
    for (size_t row = 0; row < rows; row++) {
        tsm_json_open(json, '{');
        for (unsigned i = 0; i < t->column_count; i++) {
            tsm_json_name(json, t->columns[i].key);
            json_cell(json, &t->cells[row * t->column_count + i], t->columns[i].kind);
        }
        tsm_json_close(json, '}');
    }
    tsm_json_close(json, ']');
}

bool tsm_table_top_parse(void *field, const char *text)
{
    struct tsm_table_top *top = field;

    top->is_given = true;
    return tsm_selection_take_number(&top->count, &text) && !*text;
}

size_t tsm_table_top_rows(const struct tsm_table_top *top, size_t rows)
{
    return top->is_given ? (size_t)top->count : rows;
}
