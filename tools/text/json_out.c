/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/json_out.h"

#include "base/text.h"
#include "tools/text/line.h"

#include <inttypes.h>
#include <stddef.h>

static bool printed;

static void separate(struct tsm_json *j)
{
    if (j->comma)
        putc(',', j->out);
    j->comma = true;
}

void tsm_json_open(struct tsm_json *j, char bracket)
{
    printed |= j->out == stdout;
    separate(j);
    putc(bracket, j->out);
    j->comma = false;
}

void tsm_json_close(struct tsm_json *j, char bracket)
{
    putc(bracket, j->out);
    j->comma = true;
}

static void put_text(FILE *out, const char *text)
{
    putc('"', out);
    for (const char *p = text; *p;) {
        size_t size = tsm_text_character(p);
        if (size == 0)
            fputs("\\ufffd", out);
        else if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if ((unsigned char)*p < 0x20 || *p == 0x7f)
            fprintf(out, "\\u%04x", (unsigned)*p);
        else if ((unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0) /* U+0080 to U+009F */
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)p[1]);
        else
            fwrite(p, 1, size, out);
        p += size ? size : 1;
    }
    putc('"', out);
}

void tsm_json_name(struct tsm_json *j, const char *name)
{
    separate(j);
    put_text(j->out, name);
    putc(':', j->out);
    j->comma = false;
}

void tsm_json_string(struct tsm_json *j, const char *text)
{
    separate(j);
    if (text)
        put_text(j->out, text);
    else
        fputs("null", j->out);
}

void tsm_json_u64(struct tsm_json *j, uint64_t value)
{
    separate(j);
    fprintf(j->out, "%" PRIu64, value);
}

void tsm_json_raw(struct tsm_json *j, const void *text, size_t size)
{
    separate(j);
    fwrite(text, 1, size, j->out);
}

void tsm_json_bool(struct tsm_json *j, bool value)
{
    separate(j);
    fputs(value ? "true" : "false", j->out);
}

void tsm_json_put_string(struct tsm_json *j, const char *name, const char *text)
{
    tsm_json_name(j, name);
    tsm_json_string(j, text);
}

void tsm_json_put_u64(struct tsm_json *j, const char *name, uint64_t value)
{
    tsm_json_name(j, name);
    tsm_json_u64(j, value);
}

void tsm_json_put_bool(struct tsm_json *j, const char *name, bool value)
{
    tsm_json_name(j, name);
    tsm_json_bool(j, value);
}

void tsm_json_put_hex(struct tsm_json *j, const char *name, uint64_t value)
{
    tsm_json_name(j, name);
    separate(j);
    fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}

void tsm_json_begin(struct tsm_json *j, const char *schema)
{
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "schema", schema);
}

void tsm_json_put_lines(const struct tsm_buffer *lines, FILE *out)
{
    printed |= out == stdout;
    tsm_text_line_put_buffer(lines, out);
}

bool tsm_json_is_printed(void)
{
    return printed;
}

void tsm_json_error(const char *command, const char *error, int status)
{
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tserror/1");
    tsm_json_put_string(&j, "command", command);
    tsm_json_put_string(&j, "error", error);
    tsm_json_put_u64(&j, "status", (uint64_t)status);
    tsm_json_end(&j);
}

void tsm_json_end(struct tsm_json *j)
{
    tsm_json_close(j, '}');
    putc('\n', j->out);
    j->comma = false;
}
