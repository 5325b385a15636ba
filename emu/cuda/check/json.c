/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/check/json.h"

#include <string.h>

#include "base/text.h"

static void add(struct tsm_buffer *b, const char *text)
{
    tsm_buffer_add(b, text, strlen(text));
}

static void add_string(struct tsm_buffer *b, const char *text)
{
    char code[8];

    add(b, "\"");
    for (size_t n; *text; text += n) {
        uint8_t c = (uint8_t)*text;
        n = tsm_text_character(text);
        if (n == 0) {
            add(b, "\xef\xbf\xbd");
            n = 1;
        } else if (c == '"' || c == '\\') {
            tsm_buffer_add(b, c == '"' ? "\\\"" : "\\\\", 2);
        } else if (c < 0x20) {
            tsm_format(code, sizeof(code), "\\u%04x", c);
            add(b, code);
        } else {
            tsm_buffer_add(b, text, n);
        }
    }
    add(b, "\"");
}

static void begin(struct tsm_buffer *b, const char *name)
{
    if (b->size && !strchr("{[\n", b->data[b->size - 1]))
        add(b, ",");
    if (name) {
        add_string(b, name);
        add(b, ":");
    }
}

void emu_json_open(struct tsm_buffer *b, const char *name, char bracket)
{
    begin(b, name);
    tsm_buffer_add(b, &bracket, 1);
}

void emu_json_close(struct tsm_buffer *b, char bracket)
{
    tsm_buffer_add(b, &bracket, 1);
}

void emu_json_text(struct tsm_buffer *b, const char *name, const char *text)
{
    begin(b, name);
    if (text)
        add_string(b, text);
    else
        add(b, "null");
}

void emu_json_number(struct tsm_buffer *b, const char *name, uint64_t value)
{
    char text[24];

    tsm_format(text, sizeof(text), "%llu", (unsigned long long)value);
    begin(b, name);
    add(b, text);
}

void emu_json_hex(struct tsm_buffer *b, const char *name, uint64_t value)
{
    char text[24];

    tsm_format(text, sizeof(text), "0x%llx", (unsigned long long)value);
    emu_json_text(b, name, text);
}

void emu_json_three(struct tsm_buffer *b, const char *name, const uint32_t v[3])
{
    emu_json_open(b, name, '[');
    for (unsigned k = 0; k < 3; k++)
        emu_json_number(b, NULL, v[k]);
    emu_json_close(b, ']');
}
