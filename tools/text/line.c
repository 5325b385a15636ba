/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/line.h"

#include "base/text.h"

static const char digits[] = "0123456789abcdef";

void tsm_text_line_finish(struct tsm_text_line *line)
{
    tsm_buffer_finish(&line->text);
}

static unsigned count_columns(const char *text, size_t size)
{
    unsigned columns = 0;

    for (size_t i = 0; i < size; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Bytes of `text` that take `columns` columns. */
static size_t fit(const char *text, size_t size, unsigned columns)
{
    size_t i = 0;

    for (; i < size; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80 && columns-- == 0)
            break;
    }
    return i;
}

void tsm_text_line_add(struct tsm_text_line *line, const char *text, size_t size)
{
    if (line->full)
        return;
    unsigned columns = count_columns(text, size);
    if (line->width && line->columns + columns > line->width) {
        /* the last column is the ellipsis's */
        if (line->columns < line->width) {
            size = fit(text, size, line->width - line->columns - 1);
            tsm_buffer_add(&line->text, text, size);
        } else {
            while (line->text.size > 0 && (line->text.data[--line->text.size] & 0xc0) == 0x80)
                ;
        }
        tsm_buffer_add(&line->text, "\u2026", strlen("\u2026"));
        line->columns = line->width;
        line->full = true;
        return;
    }
    tsm_buffer_add(&line->text, text, size);
    line->columns += columns;
}

/* Bytes of the character at `p` when a terminal shows it as it is. */
static size_t harmless(const char *p)
{
    if (*p >= 0x20 && *p < 0x7f)
        return *p != '\\';
    return tsm_text_harmless(p);
}

void tsm_text_line_clean(struct tsm_text_line *line, const char *text)
{
    while (*text && !line->full) {
        size_t size = 0, next;
        while ((next = harmless(text + size)) > 0)
            size += next;
        tsm_text_line_add(line, text, size);
        text += size;
        if (!*text)
            break;
        char escape[4] = {'\\', 'x', digits[(unsigned char)*text >> 4], digits[*text & 15]};
        if (*text == '\\' || *text == '\n') {
            escape[1] = *text == '\n' ? 'n' : '\\';
            tsm_text_line_add(line, escape, 2);
        } else {
            tsm_text_line_add(line, escape, 4);
        }
        text++;
    }
}

void tsm_text_line_quoted(struct tsm_text_line *line, const char *text)
{
    tsm_text_line_add(line, "\"", 1);
    tsm_text_line_clean(line, text);
    tsm_text_line_add(line, "\"", 1);
}

static char *decimal(char *end, uint64_t value)
{
    do
        *--end = digits[value % 10];
    while (value /= 10);
    return end;
}

void tsm_text_line_u64(struct tsm_text_line *line, uint64_t value)
{
    char text[20], *begin = decimal(text + 20, value);

    tsm_text_line_add(line, begin, (size_t)(text + 20 - begin));
}

void tsm_text_line_i64(struct tsm_text_line *line, int64_t value)
{
    if (value < 0)
        tsm_text_line_add(line, "-", 1);
    tsm_text_line_u64(line, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void tsm_text_line_hex(struct tsm_text_line *line, uint64_t value)
{
    char text[18], *at = text + 18;

    do
        *--at = digits[value & 15];
    while (value >>= 4);
    *--at = 'x';
    *--at = '0';
    tsm_text_line_add(line, at, (size_t)(text + 18 - at));
}

void tsm_text_line_bytes(struct tsm_text_line *line, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size && !line->full; i++) {
        char pair[2] = {digits[data[i] >> 4], digits[data[i] & 15]};
        tsm_text_line_add(line, pair, 2);
    }
}

static void spaces(struct tsm_text_line *line, unsigned count)
{
    static const char blank[] = "                                ";

    for (; count > 32; count -= 32)
        tsm_text_line_add(line, blank, 32);
    tsm_text_line_add(line, blank, count);
}

void tsm_text_line_right(struct tsm_text_line *line, uint64_t value, unsigned columns)
{
    char text[20], *begin = decimal(text + 20, value);
    unsigned size = (unsigned)(text + 20 - begin);

    if (size < columns)
        spaces(line, columns - size);
    tsm_text_line_add(line, begin, size);
}

void tsm_text_line_pad(struct tsm_text_line *line, unsigned column)
{
    if (line->columns < column)
        spaces(line, column - line->columns);
    else if (line->columns > 0)
        spaces(line, 1);
}

void tsm_text_line_time(struct tsm_text_line *line, uint64_t ns, unsigned columns)
{
    char text[32], *begin = text + 32;
    uint64_t rest = ns % 1000000000u;

    for (int i = 0; i < 9; i++, rest /= 10)
        *--begin = digits[rest % 10];
    *--begin = '.';
    begin = decimal(begin, ns / 1000000000u);
    unsigned size = (unsigned)(text + 32 - begin);
    if (size < columns)
        spaces(line, columns - size);
    tsm_text_line_add(line, begin, size);
}

void tsm_text_line_size(struct tsm_text_line *line, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    char text[32];
    size_t unit = 0;

    if (bytes < 10000) {
        tsm_text_line_u64(line, bytes);
        tsm_text_line_add(line, " B", 2);
        return;
    }
    for (; value >= 999.95 && unit < 5; unit++)
        value /= 1024;
    tsm_text_line_add(line, text, tsm_format(text, sizeof(text), "%.1f %s", value, units[unit]));
}

void tsm_text_line_escape(struct tsm_text_line *line, const char *sequence)
{
    tsm_buffer_add(&line->text, sequence, strlen(sequence));
}

static bool is_lacking;

void tsm_text_line_lost(void)
{
    is_lacking = true;
}

bool tsm_text_line_is_lacking(void)
{
    return is_lacking;
}

void tsm_text_line_put_buffer(const struct tsm_buffer *lines, FILE *out)
{
    if (lines->failed)
        tsm_text_line_lost();
    else
        fwrite(lines->data, 1, lines->size, out);
}

void tsm_text_line_write(struct tsm_text_line *line, FILE *out)
{
    tsm_buffer_add_u8(&line->text, '\n');
    if (line->text.failed)
        tsm_text_line_lost();
    fwrite(line->text.data, 1, line->text.size, out);
    tsm_buffer_clear(&line->text);
    line->columns = 0;
    line->full = false;
}
