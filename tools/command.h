/* SPDX-License-Identifier: Apache-2.0
 *
 * A command of `tracesmith` is a row: a file tools/cmd/NAME.c that defines
 *
 *     const struct tsm_command tsm_command_NAME = { ... };
 *
 * and its line in tools/commands.c. Dispatch, help, man page and completion come from the row.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include "tools/help_page.h"
#include "tools/option.h"

struct tsm_command {
    const char *name;        /* "view": `tracesmith view` */
    const char *alias;       /* "tsview": the program's other name for it; NULL none */
    const char *summary;     /* half a line, lower case, no full stop */
    const char *synopsis;    /* "[OPTION]... TRACE"; one line per form */
    const char *description; /* paragraphs, separated by an empty line */
    const char *examples;    /* "command\n  what it does" lines, verbatim */
    const char *exit_status; /* "0|the trace is whole\n1|..." */

    const struct tsm_option *options; /* NULL none */
    size_t values_size;               /* of the struct that options' offsets lie in */
    const char *operand; /* completes to: TRACE, FILE, PROGRAM, COMMAND, or "a|b|c"; NULL: none */
    int word_min, word_max; /* operands; word_max -1: any number */
    bool runs_program;      /* the first operand ends the options */
    int failure;            /* exit status of usage errors; 0 means 2 */

    /* Rows that are known only at run time (they come from another table): fill `out`, at most
     * `max`, and return how many. Optional. */
    size_t (*more_options)(struct tsm_option *out, size_t max);
    /* Further sections of the page. Optional. */
    void (*more_help)(struct tsm_help_page *page);

    /* Returns the exit status. `values` is zeroed, then filled by the options. */
    int (*run)(const struct tsm_command *command, void *values, const struct tsm_words *words);
};

/* NULL-terminated, in the order in which help lists them. */
extern const struct tsm_command *const tsm_commands[];

/* Finds a command by name or alias; NULL when there is none. */
const struct tsm_command *tsm_command_find(const char *name);

/* Complains that `name` is no command, with the one that may have been meant. Returns the exit
 * status. */
int tsm_command_unknown(const char *name);

#define TSM_OPTION_COUNT_MAX 64

/* The command's own rows and those of more_options, into out[TSM_OPTION_COUNT_MAX + 1], terminated.
 */
void tsm_command_options(struct tsm_option *out, const struct tsm_command *command);

/* Options that every command has. */
struct tsm_common {
    bool help;
    bool quiet;
    bool patient;
    int color; /* enum tsm_color */
};
extern const struct tsm_option tsm_common_options[];

/* Run `command` with its arguments (argv[0] is ignored). Returns the exit status. */
int tsm_command_run(const struct tsm_command *command, int argc, char **argv);

/* The command's help as a page, for --help and the man page. */
void tsm_command_page(struct tsm_help_page *page, const struct tsm_command *command);

/* Shell completion for all commands and aliases, to stdout. */
void tsm_complete_bash(void);
void tsm_complete_zsh(void);
void tsm_complete_fish(void);

#endif
