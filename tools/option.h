/* SPDX-License-Identifier: Apache-2.0
 *
 * An option is a row of a table. The row binds the option to a field, documents it, and gives help,
 * man page and shell completion; nothing about an option is written anywhere else.
 *
 * Parsing is GNU's: options and operands mix, `--` ends the options, `--name VALUE`,
 * `--name=VALUE`,
 * `-nVALUE`, `-n VALUE`, `-abc`. A flag `--name` is taken back by `--no-name`. Names are exact:
 * abbreviations are refused, because an option added later would change what they mean.
 */
#ifndef TOOLS_OPTION_H
#define TOOLS_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Type of an option's field, which says how its text becomes a value. */
enum tsm_option_type {
    TSM_OPTION_FLAG, /* bool */
    TSM_OPTION_TEXT, /* const char *, points into argv */
    TSM_OPTION_NEW, /* the same: a file or folder to write, which standard output, "-", cannot be */
    TSM_OPTION_NUMBER,  /* uint64_t, decimal or 0x..., below 2^64 */
    TSM_OPTION_SECONDS, /* the same, at most TSM_OPTION_SECONDS_MAX */
    TSM_OPTION_CHOICE,  /* int: place in `argument`, which reads "auto|always|never" */
    TSM_OPTION_PARSED,  /* whatever `parse` makes of it */
};

/* Largest number of seconds: in nanoseconds, added to a clock, it still fits into 64 bits. */
#define TSM_OPTION_SECONDS_MAX 1000000000u

struct tsm_option {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* short form, 0 none */
    enum tsm_option_type type;
    size_t offset;        /* of the field in the command's struct of values */
    const char *argument; /* as help shows it; TRACE, FILE and PROGRAM complete to such files */
    const char *help;     /* sentences; the first one stands alone */
    const char *absent;   /* not NULL: the argument may be left out, and then this is its text */
    /* PARSED: fill the field. False: the text is no such value; tsm_fail() may say more. */
    bool (*parse)(void *field, const char *text);
};

/* Field of struct `values` for an option's `offset`. */
#define TSM_FIELD(values, field) offsetof(struct values, field)

/* Two tables are searched: the command's and that of the options that every command has. */
struct tsm_option_set {
    const struct tsm_option *options;
    void *values;
};

/* Operands that parsing leaves. */
struct tsm_words {
    char **words; /* into argv; NULL-terminated as argv is */
    int count;
};

/* Parse argv[1..]. `stop_at_word`: the first operand ends the options, as for commands that run a
 * program. argv is reordered: operands come first. Returns 0, or TSM_E_ARGUMENT with a message. */
int tsm_options_parse(struct tsm_words *out, const struct tsm_option_set *sets, size_t set_count,
                      int argc, char **argv, bool stop_at_word);

/* "-o, --output=FILE" into out, for help and man page. */
void tsm_option_title(char *out, size_t size, const struct tsm_option *option);

/* Choice `index` of "auto|always|never" into out; false past the last. */
bool tsm_choice_name(char *out, size_t size, const char *choices, unsigned index);

#endif
