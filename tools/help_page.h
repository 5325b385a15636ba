/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of documentation, written once and shown in two styles: plain text for --help, roff for
 * man(1). A page consists of headings, paragraphs, items and verbatim text.
 */
#ifndef TOOLS_HELP_PAGE_H
#define TOOLS_HELP_PAGE_H

#include <stdbool.h>
#include <stdio.h>

struct tsm_help_page {
    FILE *out;
    bool roff;
    unsigned width; /* of plain text, in columns */
    bool begun;     /* the page's own */
};

void tsm_help_page_heading(struct tsm_help_page *page, const char *text);

/* Paragraphs separated by empty lines; other line ends are spaces. */
void tsm_help_page_text(struct tsm_help_page *page, const char *text);

/* A term and what it means. */
void tsm_help_page_item(struct tsm_help_page *page, const char *term, const char *text);

/* Lines as they are. */
void tsm_help_page_verbatim(struct tsm_help_page *page, const char *text);

/* roff's first lines: name, section 1, date left out so that builds are reproducible. */
void tsm_help_page_title(struct tsm_help_page *page, const char *name, const char *summary);

#endif
