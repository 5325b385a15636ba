/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tracesmith/error.h"
#include "tracesmith/reader.h"

#include <stdlib.h>
#include <string.h>

const struct tsm_option tsm_common_options[] = {
    {.name = "color",
     .type = TSM_OPTION_CHOICE,
     .offset = TSM_FIELD(tsm_common, color),
     .argument = "auto|always|never",
     .help = "Colour the output. auto: on a terminal, unless NO_COLOR is set."},
    {.name = "quiet",
     .letter = 'q',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(tsm_common, quiet),
     .help = "No notes and no progress on stderr; errors are still printed."},
    {.name = "patient",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(tsm_common, patient),
     .help = "Also read a trace that unpacks to more than 256 MiB and 4096 times its size."},
    {.name = "help",
     .letter = 'h',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(tsm_common, help),
     .help = "Show this text."},
    {0},
};

void tsm_command_options(struct tsm_option *out, const struct tsm_command *command)
{
    size_t count = 0;

    for (const struct tsm_option *o = command->options; o && o->name; o++) {
        if (count < TSM_OPTION_COUNT_MAX)
            out[count++] = *o;
    }
    if (command->more_options)
        count += command->more_options(out + count, TSM_OPTION_COUNT_MAX - count);
    out[count] = (struct tsm_option){0};
}

/* ---- the page ------------------------------------------------------------------------------ */

static const char *invocation(const struct tsm_command *command, char *out, size_t size)
{
    if (command->alias)
        return command->alias;
    tsm_format(out, size, "tracesmith %s", command->name);
    return out;
}

static void page_synopsis(struct tsm_help_page *page, const struct tsm_command *command)
{
    char name[64], line[256];
    const char *form = command->synopsis;

    invocation(command, name, sizeof(name));
    tsm_help_page_heading(page, page->roff ? "Synopsis" : "Usage");
    while (*form) {
        size_t size = strcspn(form, "\n");
        tsm_format(line, sizeof(line), "%s %.*s", command->alias ? command->alias : name, (int)size,
                   form);
        tsm_help_page_verbatim(page, line);
        form += size + (form[size] == '\n');
    }
}

static void page_options(struct tsm_help_page *page, const struct tsm_option *o)
{
    char title[128];

    for (; o && o->name; o++) {
        tsm_option_title(title, sizeof(title), o);
        tsm_help_page_item(page, title, o->help);
    }
}

/* Lines of "term|text". */
static void page_items(struct tsm_help_page *page, const char *lines)
{
    char term[64], text[512];

    while (*lines) {
        size_t size = strcspn(lines, "\n"), term_size = strcspn(lines, "|");
        tsm_format(term, sizeof(term), "%.*s", (int)term_size, lines);
        tsm_format(text, sizeof(text), "%.*s", (int)(size - term_size - 1), lines + term_size + 1);
        tsm_help_page_item(page, term, text);
        lines += size + (lines[size] == '\n');
    }
}

void tsm_command_page(struct tsm_help_page *page, const struct tsm_command *command)
{
    struct tsm_option options[TSM_OPTION_COUNT_MAX + 1];
    char name[64];

    tsm_format(name, sizeof(name), "tracesmith-%s", command->name);
    tsm_help_page_title(page, command->alias ? command->alias : name, command->summary);
    page_synopsis(page, command);
    if (page->roff)
        tsm_help_page_heading(page, "Description");
    else
        tsm_help_page_verbatim(page, "\n");
    tsm_help_page_text(page, command->description);
    tsm_help_page_heading(page, "Options");
    tsm_command_options(options, command);
    page_options(page, options);
    page_options(page, tsm_common_options);
    if (command->more_help)
        command->more_help(page);
    tsm_help_page_heading(page, "Examples");
    tsm_help_page_verbatim(page, command->examples);
    tsm_help_page_heading(page, "Exit status");
    page_items(page, command->exit_status);
    if (command->alias) {
        tsm_help_page_heading(page, "Other name");
        tsm_format(name, sizeof(name), "tracesmith %s", command->name);
        tsm_help_page_verbatim(page, name);
    }
}

/* ---- running ------------------------------------------------------------------------------- */

static int usage_error(const struct tsm_command *command)
{
    char name[64];

    tsm_complain("%s; see '%s --help'", tsm_error_message(),
                 invocation(command, name, sizeof(name)));
    return command->failure ? command->failure : TSM_EXIT_ERROR;
}

static int check_words(const struct tsm_command *command, const struct tsm_words *words)
{
    if (words->count < command->word_min)
        return tsm_fail(TSM_E_ARGUMENT, "%s is missing", command->operand);
    if (command->word_max >= 0 && words->count > command->word_max)
        return tsm_fail(TSM_E_ARGUMENT, "'%s' is one argument too many",
                        words->words[command->word_max]);
    return 0;
}

static int show_help(const struct tsm_command *command)
{
    unsigned width = tsm_terminal_width();
    struct tsm_help_page page = {.out = stdout, .width = width >= 60 && width < 100 ? width : 80};

    tsm_command_page(&page, command);
    return TSM_EXIT_OK;
}

/* Tests whether --json was given. `argv` is asked where the options were not read to their end. */
static bool wants_json(const struct tsm_option *o, const void *values, int argc, char **argv)
{
    while (o->name && strcmp(o->name, "json") != 0)
        o++;
    if (!o->name)
        return false;
    for (int i = 1; argv && i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0)
            return true;
    }
    return *(const bool *)((const char *)values + o->offset);
}

int tsm_command_run(const struct tsm_command *command, int argc, char **argv)
{
    static char name[64]; /* messages use it until the program ends */
    struct tsm_option options[TSM_OPTION_COUNT_MAX + 1];
    struct tsm_common common = {0};
    struct tsm_words words = {0};
    void *values = calloc(1, command->values_size + 1);
    int status;

    tsm_terminal_init(invocation(command, name, sizeof(name)), TSM_COLOR_AUTO, false);
    if (!values)
        return tsm_complain("out of memory");
    tsm_command_options(options, command);
    const struct tsm_option_set sets[] = {{options, values}, {tsm_common_options, &common}};
    const int parsed = tsm_options_parse(&words, sets, 2, argc, argv, command->runs_program);
    tsm_terminal_init(invocation(command, name, sizeof(name)), (enum tsm_color)common.color,
                      common.quiet);
    sbt_reader_be_patient(common.patient);
    if (parsed == 0 && common.help)
        status = show_help(command);
    else if (parsed < 0 || check_words(command, &words) < 0)
        status = usage_error(command);
    else
        status = command->run(command, values, &words);
    if (status && *tsm_complaint() && !tsm_json_is_printed() &&
        wants_json(options, values, argc, parsed < 0 ? argv : NULL))
        tsm_json_error(command->name, tsm_complaint(), status);
    free(values);
    return tsm_terminal_finish(status);
}
