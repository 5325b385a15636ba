/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/text.h"

#include <string.h>

static bool is_on_stdout;

static void put(struct tsm_json *j, const void *text, size_t size)
{
    if (j->out)
        fwrite(text, 1, size, j->out);
    else
        tsm_buffer_add(j->buffer, text, size);
}

static void put_char(struct tsm_json *j, char c)
{
    put(j, &c, 1);
}

/* Writes the comma that is due, and expects another one after the next value. */
static void separate(struct tsm_json *j)
{
    is_on_stdout |= j->out == stdout;
    if (j->comma)
        put(j, ",\n", j->style & TSM_JSON_LINES ? 2 : 1);
    j->comma = true;
}

bool tsm_json_is_on_stdout(void)
{
    return is_on_stdout;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Returns the letter that stands for `c` after a backslash, 0 if there is none. */
static char letter_of(unsigned style, char c)
{
    static const char named[] = "\bb\ff\nn\rr\tt";

    if (c == '"' || c == '\\')
        return c;
    for (const char *p = named; style & TSM_JSON_LETTERS && *p; p += 2)
        if (c == *p)
            return p[1];
    return 0;
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Writes one character of `size` bytes, 0 for a byte that begins none. */
static void put_character(struct tsm_json *j, const char *p, size_t size)
{
    const char escape[2] = {'\\', letter_of(j->style, *p)};
    const bool as_it_is = j->style & TSM_JSON_UTF8;
    const unsigned char *u = (const unsigned char *)p;
    char code[8];

    if (size == 0)
        put(j, as_it_is ? "\xef\xbf\xbd" : "\\ufffd", as_it_is ? 3 : 6);
    else if (size == 1 && escape[1])
        put(j, escape, 2);
    else if (u[0] < 0x20 || (!as_it_is && u[0] == 0x7f))
        put(j, code, tsm_format(code, sizeof(code), "\\u%04x", (unsigned)u[0]));
    else if (!as_it_is && u[0] == 0xc2 && u[1] < 0xa0) /* U+0080 to U+009F */
        put(j, code, tsm_format(code, sizeof(code), "\\u%04x", (unsigned)u[1]));
    else
        put(j, p, size);
}

static void put_text(struct tsm_json *j, const char *text, size_t size)
{
    while (size) {
        size_t plain = 0;
        while (plain < size && is_plain(text[plain]))
            plain++;
        put(j, text, plain);
        text += plain;
        size -= plain;
        if (!size)
            break;
        size_t length = tsm_text_character_within(text, size);
        put_character(j, text, length);
        length += length == 0;
        text += length;
        size -= length;
    }
}

void tsm_json_text_begin(struct tsm_json *j)
{
    separate(j);
    put_char(j, '"');
}

void tsm_json_text_add(struct tsm_json *j, const char *text)
{
    put_text(j, text, strlen(text));
}

void tsm_json_text_end(struct tsm_json *j)
{
    put_char(j, '"');
}

void tsm_json_text(struct tsm_json *j, const void *text, size_t size)
{
    tsm_json_text_begin(j);
    put_text(j, text, size);
    tsm_json_text_end(j);
}

void tsm_json_string(struct tsm_json *j, const char *text)
{
    if (text)
        tsm_json_text(j, text, strlen(text));
    else
        tsm_json_raw(j, "null", 4);
}

/* ---- other values ---------------------------------------------------------------------------- */

void tsm_json_raw(struct tsm_json *j, const void *text, size_t size)
{
    separate(j);
    put(j, text, size);
}

static char *decimal(char *end, uint64_t value)
{
    do
        *--end = (char)('0' + value % 10);
    while (value /= 10);
    return end;
}

void tsm_json_u64(struct tsm_json *j, uint64_t value)
{
    char text[20], *begin = decimal(text + 20, value);

    tsm_json_raw(j, begin, (size_t)(text + 20 - begin));
}

void tsm_json_i64(struct tsm_json *j, int64_t value)
{
    char text[21], *begin = decimal(text + 21, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);

    if (value < 0)
        *--begin = '-';
    tsm_json_raw(j, begin, (size_t)(text + 21 - begin));
}

void tsm_json_hex(struct tsm_json *j, uint64_t value)
{
    char text[24];

    tsm_json_raw(j, text, tsm_format(text, sizeof(text), "\"0x%llx\"", (unsigned long long)value));
}

void tsm_json_bool(struct tsm_json *j, bool value)
{
    tsm_json_raw(j, value ? "true" : "false", value ? 4 : 5);
}

void tsm_json_bytes(struct tsm_json *j, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    tsm_json_text_begin(j);
    for (size_t i = 0; i < size; i++) {
        const char pair[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        put(j, pair, 2);
    }
    tsm_json_text_end(j);
}

/* ---- objects and arrays ---------------------------------------------------------------------- */

void tsm_json_open(struct tsm_json *j, char bracket)
{
    separate(j);
    put_char(j, bracket);
    j->comma = false;
}

void tsm_json_close(struct tsm_json *j, char bracket)
{
    put_char(j, bracket);
    j->comma = true;
}

void tsm_json_name(struct tsm_json *j, const char *name)
{
    tsm_json_string(j, name);
    put_char(j, ':');
    j->comma = false;
}

static void name_if_any(struct tsm_json *j, const char *name)
{
    if (name)
        tsm_json_name(j, name);
}

void tsm_json_put_open(struct tsm_json *j, const char *name, char bracket)
{
    name_if_any(j, name);
    tsm_json_open(j, bracket);
}

void tsm_json_put_string(struct tsm_json *j, const char *name, const char *text)
{
    name_if_any(j, name);
    tsm_json_string(j, text);
}

void tsm_json_put_u64(struct tsm_json *j, const char *name, uint64_t value)
{
    name_if_any(j, name);
    tsm_json_u64(j, value);
}

void tsm_json_put_bool(struct tsm_json *j, const char *name, bool value)
{
    name_if_any(j, name);
    tsm_json_bool(j, value);
}

void tsm_json_put_hex(struct tsm_json *j, const char *name, uint64_t value)
{
    name_if_any(j, name);
    tsm_json_hex(j, value);
}

void tsm_json_put_bytes(struct tsm_json *j, const char *name, const uint8_t *bytes, size_t size)
{
    name_if_any(j, name);
    tsm_json_bytes(j, bytes, size);
}
