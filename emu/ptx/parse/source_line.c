/* SPDX-License-Identifier: Apache-2.0
 *
 * The text after an instruction, and the source line that the text names for it. Looked up when a
 * message is written: what never fails pays nothing.
 */
#include "emu/ptx/parse/module.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

const char *ptx_module_text(const struct ptx_module *m, size_t *size)
{
    *size = m->text_size;
    return m->text;
}

struct line {
    const char *start;
    const char *end;
};

/* From the line at `at` to the next; NULL past the last. */
static const char *next_line(const struct ptx_module *m, const char *at)
{
    const char *end = m->text + m->text_size;
    const char *newline = memchr(at, '\n', (size_t)(end - at));

    return newline && newline + 1 < end ? newline + 1 : NULL;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0;
}

static struct line line_at(const struct ptx_module *m, const char *at)
{
    const char *end = m->text + m->text_size;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    struct line line = {at, newline ? newline : end};

    while (line.start < line.end && is_space(*line.start))
        line.start++;
    while (line.end > line.start && is_space(line.end[-1]))
        line.end--;
    return line;
}

static void copy(char *out, size_t size, const char *from, size_t length)
{
    if (length >= size)
        length = size - 1;
    memcpy(out, from, length);
    out[length] = 0;
}

bool ptx_module_line(const struct ptx_module *m, uint32_t number, char *out, size_t size)
{
    const char *at = m->text_size ? m->text : NULL;

    out[0] = 0;
    for (uint32_t n = 1; at && n < number; n++)
        at = next_line(m, at);
    if (!at || !number)
        return false;
    struct line line = line_at(m, at);
    copy(out, size, line.start, (size_t)(line.end - line.start));
    return true;
}

static bool begins(struct line line, const char *word)
{
    size_t size = strlen(word);

    return (size_t)(line.end - line.start) > size && memcmp(line.start, word, size) == 0 &&
           is_space(line.start[size]);
}

/* Up to two numbers after the line's first word. */
static bool numbers(struct line line, unsigned *first, unsigned *second)
{
    char text[64];

    copy(text, sizeof(text), line.start, (size_t)(line.end - line.start));
    return sscanf(text, "%*s %u %u", first, second) >= (second ? 2 : 1);
}

/* .file NUMBER "NAME", anywhere in the unit that begins at `unit`: files may come after the code.
 */
static bool find_file(const struct ptx_module *m, const char *unit, unsigned number, char *out,
                      size_t size)
{
    unsigned seen;

    for (const char *at = unit; at; at = next_line(m, at)) {
        struct line line = line_at(m, at);
        if (at != unit && begins(line, ".version"))
            return false;
        if (!begins(line, ".file") || !numbers(line, &seen, NULL) || seen != number)
            continue;
        const char *name = memchr(line.start, '"', (size_t)(line.end - line.start));
        if (!name)
            return false;
        name++;
        const char *quote = memchr(name, '"', (size_t)(line.end - name));
        copy(out, size, name, (size_t)((quote ? quote : line.end) - name));
        return true;
    }
    return false;
}

static bool begins_function(struct line line)
{
    char text[128];

    copy(text, sizeof(text), line.start, (size_t)(line.end - line.start));
    return text[0] == '.' && (strstr(text, ".entry") || strstr(text, ".func"));
}

bool ptx_module_source(const struct ptx_module *m, uint32_t number, char *file, size_t size,
                       uint32_t *source_line)
{
    const char *at = m->text_size ? m->text : NULL;
    const char *unit = at;
    unsigned loc[2];
    bool has_loc = false;

    for (uint32_t n = 1; at && n <= number; n++, at = next_line(m, at)) {
        struct line line = line_at(m, at);
        if (begins(line, ".version"))
            unit = at;
        if (begins_function(line))
            has_loc = false;
        if (begins(line, ".loc"))
            has_loc = numbers(line, &loc[0], &loc[1]);
    }
    *source_line = has_loc ? loc[1] : 0;
    return has_loc && loc[1] && find_file(m, unit, loc[0], file, size);
}

bool ptx_module_variable_at(const struct ptx_module *m, const char *space, uint64_t address,
                            char *out, size_t size)
{
    enum ptx_space wanted = space[0] == 's' ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL;

    for (size_t k = 0; (space[0] == 's' || space[0] == 'g') && k < m->vars.count; k++) {
        const struct ptx_var *v = ptx_var_at(m, k);
        bool is_shared = v->space == PTX_SPACE_SHARED;
        if (is_shared != (wanted == PTX_SPACE_SHARED) || v->is_dynamic)
            continue;
        if (is_shared)
            address &= (1u << PTX_RANK_SHIFT) - 1;
        if (address >= v->info.address && address - v->info.address < v->info.size) {
            tsm_format(out, size, "byte %llu of %s",
                       (unsigned long long)(address - v->info.address), v->info.name);
            return true;
        }
    }
    return false;
}
