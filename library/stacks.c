/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/symbol.h"

#include "base/text.h"

#include <string.h>

#define FRAME_SIZE 512u /* bytes of a frame's text */

/* Replaces what a terminal may obey, and what would end the line: names and paths are a trace's. */
static void clean(char *text)
{
    tsm_text_disarm(text);
    for (; *text; text++)
        if (*text == '\n' || *text == '\t')
            *text = '?';
}

static void append(char *out, size_t size, size_t at, const char *text, size_t length)
{
    if (at >= size)
        return;
    if (length > size - 1 - at)
        length = size - 1 - at;
    memcpy(out + at, text, length);
    out[at + length] = '\0';
}

int64_t tsm_symbols_stack(struct tsm_symbols *s, uint32_t stack, char *out, size_t size)
{
    const uint64_t *frames = NULL;
    char text[FRAME_SIZE + 1];
    size_t at = 0, length;
    int count = stack ? sbt_reader_stack(tsm_symbols_reader(s), stack, &frames) : 0;

    if (count < 0)
        return tsm_fail(count, "the trace has no stack %u", stack);
    append(out, size, 0, "", 0);
    for (int i = 0; i < count; i++) {
        tsm_symbol_text(text, FRAME_SIZE, tsm_symbols_find(s, frames[i]), frames[i]);
        clean(text);
        length = strlen(text);
        text[length++] = '\n';
        append(out, size, at, text, length);
        at += length;
    }
    return (int64_t)at;
}
