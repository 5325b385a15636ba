/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/help_page.h"

#include "tracesmith/version.h"

#include <ctype.h>
#include <string.h>

#define INDENT     2
#define TERM_WIDTH 26 /* items' texts begin after this column, or on the next line */

static void spaces(FILE *out, unsigned count)
{
    while (count-- > 0)
        putc(' ', out);
}

/* Words from `text` in lines of at most `width`, each indented; the first one begins at `column`.
 * Stops at an empty line and returns what follows it. */
static const char *wrap(struct tsm_help_page *page, const char *text, unsigned indent,
                        unsigned column)
{
    bool first = true;

    while (*text) {
        size_t size = strcspn(text, " \n");
        if (!first && column + 1 + size > page->width) {
            putc('\n', page->out);
            spaces(page->out, indent);
            column = indent;
            first = true;
        }
        if (size > 0) {
            fprintf(page->out, first ? "%.*s" : " %.*s", (int)size, text);
            column += (unsigned)size + !first;
            first = false;
        }
        text += size;
        if (strncmp(text, "\n\n", 2) == 0)
            break;
        text += *text != 0;
    }
    putc('\n', page->out);
    return text + strspn(text, "\n");
}

/* roff gives meaning to backslashes, to leading dots and quotes, and to hyphens. */
static void roff_text(FILE *out, const char *text, size_t size)
{
    bool start = true;

    for (size_t i = 0; i < size; i++) {
        if (start && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            putc(text[i], out);
        start = text[i] == '\n';
    }
}

void tsm_help_page_title(struct tsm_help_page *page, const char *name, const char *summary)
{
    if (!page->roff)
        return;
    fputs(".TH ", page->out);
    for (const char *p = name; *p; p++)
        putc(toupper((unsigned char)*p), page->out);
    fprintf(page->out, " 1 \"\" \"TraceSmith %s\" \"TraceSmith\"\n", TSM_VERSION_STRING);
    fputs(".SH NAME\n", page->out);
    roff_text(page->out, name, strlen(name));
    fputs(" \\- ", page->out);
    roff_text(page->out, summary, strlen(summary));
    putc('\n', page->out);
}

void tsm_help_page_heading(struct tsm_help_page *page, const char *text)
{
    if (!page->roff) {
        fprintf(page->out, page->begun ? "\n%s:\n" : "%s:\n", text);
        page->begun = true;
        return;
    }
    fputs(".SH ", page->out);
    for (const char *p = text; *p; p++)
        putc(toupper((unsigned char)*p), page->out);
    putc('\n', page->out);
}

void tsm_help_page_text(struct tsm_help_page *page, const char *text)
{
    bool first = true;

    while (*text) {
        if (page->roff) {
            const char *end = strstr(text, "\n\n");
            size_t size = end ? (size_t)(end - text) : strlen(text);
            fputs(".PP\n", page->out);
            roff_text(page->out, text, size);
            putc('\n', page->out);
            text += size + strspn(text + size, "\n");
            continue;
        }
        if (!first)
            putc('\n', page->out);
        text = wrap(page, text, 0, 0);
        first = false;
    }
}

void tsm_help_page_item(struct tsm_help_page *page, const char *term, const char *text)
{
    unsigned column = INDENT + (unsigned)strlen(term);

    if (page->roff) {
        fputs(".TP\n.B ", page->out);
        roff_text(page->out, term, strlen(term));
        putc('\n', page->out);
        roff_text(page->out, text, strlen(text));
        putc('\n', page->out);
        return;
    }
    spaces(page->out, INDENT);
    fputs(term, page->out);
    if (column + 2 > TERM_WIDTH) {
        putc('\n', page->out);
        column = 0;
    }
    spaces(page->out, TERM_WIDTH - column);
    wrap(page, text, TERM_WIDTH, TERM_WIDTH);
}

void tsm_help_page_verbatim(struct tsm_help_page *page, const char *text)
{
    if (page->roff)
        fputs(".nf\n", page->out);
    while (*text) {
        size_t size = strcspn(text, "\n");
        if (page->roff) {
            roff_text(page->out, text, size);
        } else {
            spaces(page->out, size ? INDENT : 0);
            fwrite(text, 1, size, page->out);
        }
        putc('\n', page->out);
        text += size + (text[size] == '\n');
    }
    if (page->roff)
        fputs(".fi\n", page->out);
}
