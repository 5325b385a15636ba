/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"

#include <string.h>

struct help_values {
    bool man;
    bool list, json;
};

static const struct tsm_option options[] = {
    {.name = "man",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(help_values, man),
     .help = "Print the manual page as roff, for man(1)."},
    {.name = "list",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(help_values, list),
     .help = "Print only the names of the commands, one a line, each with its other name."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(help_values, json),
     .help = "List the commands as one JSON object, schema \"tshelp/1\"."},
    {0},
};

static const char overview[] =
    "TraceSmith records everything that a program sends to the GPU into one file, a trace, and "
    "sends it to a GPU again later, without the program.";

static const char first_steps[] = "tracesmith doctor            what works on this machine\n"
                                  "tsrecord ./app               writes trace.sbt\n"
                                  "tsview trace.sbt             what the program sent\n"
                                  "tsreplay trace.sbt           does the GPU compute the same?\n";

static void page_overview(struct tsm_help_page *page)
{
    char term[64];

    tsm_help_page_title(page, "tracesmith", "record and replay what programs send to the GPU");
    tsm_help_page_heading(page, page->roff ? "Synopsis" : "Usage");
    tsm_help_page_verbatim(page, "tracesmith COMMAND [OPTION]... [ARGUMENT]...");
    if (page->roff)
        tsm_help_page_heading(page, "Description");
    else
        tsm_help_page_verbatim(page, "\n");
    tsm_help_page_text(page, overview);
    tsm_help_page_heading(page, "Commands");
    for (size_t i = 0; tsm_commands[i]; i++) {
        const struct tsm_command *c = tsm_commands[i];
        bool other = c->alias && strcmp(c->alias, c->name) != 0;
        tsm_format(term, sizeof(term), other ? "%s, %s" : "%s", c->name, c->alias);
        tsm_help_page_item(page, term, c->summary);
    }
    tsm_help_page_heading(page, "First steps");
    tsm_help_page_verbatim(page, first_steps);
    tsm_help_page_heading(page, "More");
    tsm_help_page_text(page, "'tracesmith help COMMAND' or 'tracesmith COMMAND --help' says what a "
                             "command does, with its options and examples.");
}

static void list(void)
{
    for (size_t i = 0; tsm_commands[i]; i++) {
        const struct tsm_command *c = tsm_commands[i];
        printf(c->alias ? "%s %s\n" : "%s\n", c->name, c->alias);
    }
}

static void list_json(void)
{
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tshelp/1");
    tsm_json_name(&j, "commands");
    tsm_json_open(&j, '[');
    for (size_t i = 0; tsm_commands[i]; i++) {
        tsm_json_open(&j, '{');
        tsm_json_put_string(&j, "name", tsm_commands[i]->name);
        tsm_json_put_string(&j, "alias", tsm_commands[i]->alias);
        tsm_json_put_string(&j, "summary", tsm_commands[i]->summary);
        tsm_json_close(&j, '}');
    }
    tsm_json_close(&j, ']');
    tsm_json_end(&j);
}

static int run(const struct tsm_command *self, void *values, const struct tsm_words *words)
{
    const struct help_values *v = values;
    struct tsm_help_page page = {.out = stdout, .roff = v->man, .width = 80};

    if (v->list) {
        if (v->json)
            list_json();
        else
            list();
        return TSM_EXIT_OK;
    }
    if (words->count == 0 && v->json) {
        list_json();
        return TSM_EXIT_OK;
    }
    if (words->count == 0) {
        page_overview(&page);
        return TSM_EXIT_OK;
    }
    const struct tsm_command *command = tsm_command_find(words->words[0]);
    if (!command)
        return tsm_command_unknown(words->words[0]);
    tsm_command_page(&page, command);
    return TSM_EXIT_OK;
}

const struct tsm_command tsm_command_help = {
    .name = "help",
    .summary = "list the commands, or explain one",
    .synopsis = "[COMMAND]",
    .description = "Without an argument, lists what TraceSmith can do. With the name of a command, "
                   "shows its help; with --man, its manual page.",
    .examples = "tracesmith help view\n"
                "tracesmith help --man view | man -l -\n",
    .exit_status = "0|shown\n2|there is no such command",
    .options = options,
    .values_size = sizeof(struct help_values),
    .operand = "COMMAND",
    .word_max = 1,
    .run = run,
};
