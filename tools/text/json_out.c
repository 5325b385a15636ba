/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/json_out.h"

#include "tools/terminal.h"
#include "tools/text/line.h"

static bool has_lines, is_begun; /* on the standard output */

void tsm_json_begin(struct tsm_json *j, const char *schema)
{
    is_begun |= j->out == tsm_terminal_output();
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "schema", schema);
}

void tsm_json_put_lines(const struct tsm_buffer *lines, FILE *out)
{
    has_lines |= out == stdout;
    tsm_text_line_put_buffer(lines, out);
}

bool tsm_json_is_printed(void)
{
    return has_lines || is_begun || tsm_json_is_on_stdout();
}

void tsm_json_error(const char *command, const char *error, int status)
{
    struct tsm_json j = {.out = tsm_terminal_output()};

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
