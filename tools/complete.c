/* SPDX-License-Identifier: Apache-2.0
 *
 * Shell completion from the tables of commands and options.
 */
#include "tools/command.h"

#include <string.h>

typedef void (*option_visitor)(const struct tsm_command *command, const struct tsm_option *option);

static void visit_options(const struct tsm_command *command, option_visitor visit)
{
    struct tsm_option own[TSM_OPTION_COUNT_MAX + 1];

    tsm_command_options(own, command);
    for (const struct tsm_option *o = own; o->name; o++)
        visit(command, o);
    for (const struct tsm_option *o = tsm_common_options; o->name; o++)
        visit(command, o);
}

static void put_choices(const char *choices)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

static void put_commands(void)
{
    for (size_t i = 0; tsm_commands[i]; i++)
        printf("%s%s", i ? " " : "", tsm_commands[i]->name);
}

static bool is_choice(const char *argument)
{
    return argument && strchr(argument, '|');
}

/* ---- bash ---------------------------------------------------------------------------------- */

static void bash_word(const struct tsm_command *c, const struct tsm_option *o)
{
    printf(" --%s%s", o->name, o->type == TSM_OPTION_FLAG ? "" : "=");
}

/* Prints the completion of an operand or an option's value. */
static void bash_values(const char *what)
{
    if (!what)
        return;
    if (is_choice(what)) {
        fputs("COMPREPLY=($(compgen -W '", stdout);
        put_choices(what);
        fputs("' -- \"$cur\"))", stdout);
    } else if (strcmp(what, "TRACE") == 0) {
        fputs("COMPREPLY=($(compgen -f -X '!*.sbt' -- \"$cur\") $(compgen -d -- \"$cur\"))",
              stdout);
    } else if (strcmp(what, "FILE") == 0) {
        fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", stdout);
    } else if (strcmp(what, "PROGRAM") == 0) {
        fputs("COMPREPLY=($(compgen -c -f -- \"$cur\"))", stdout);
    } else if (strcmp(what, "COMMAND") == 0) {
        fputs("COMPREPLY=($(compgen -W '", stdout);
        put_commands();
        fputs("' -- \"$cur\"))", stdout);
    } else {
        fputs(":", stdout);
    }
}

static void bash_option_value(const struct tsm_command *c, const struct tsm_option *o)
{
    if (o->type == TSM_OPTION_FLAG)
        return;
    printf("    %s:--%s", c->name, o->name);
    if (o->letter)
        printf("|%s:-%c", c->name, o->letter);
    fputs(") ", stdout);
    bash_values(o->argument);
    fputs("; return ;;\n", stdout);
}

static void bash_function(void)
{
    /* Bash hands over "--name=value" as three words. */
    fputs(
        "_tracesmith() {\n"
        "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" command\n"
        "    COMPREPLY=()\n"
        "    [[ $cur == = ]] && cur=\n"
        "    [[ $prev == = ]] && prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
        "    case \"${COMP_WORDS[0]##*/}\" in\n",
        stdout);
    for (size_t i = 0; tsm_commands[i]; i++) {
        if (tsm_commands[i]->alias)
            printf("    %s) command=%s ;;\n", tsm_commands[i]->alias, tsm_commands[i]->name);
    }
    fputs("    *) command=\"${COMP_WORDS[1]}\"\n"
          "       if [[ $COMP_CWORD == 1 ]]; then\n"
          "           COMPREPLY=($(compgen -W '",
          stdout);
    put_commands();
    fputs("' -- \"$cur\")); return\n"
          "       fi ;;\n"
          "    esac\n"
          "    case \"$command:$prev\" in\n",
          stdout);
}

void tsm_complete_bash(void)
{
    bash_function();
    for (size_t i = 0; tsm_commands[i]; i++)
        visit_options(tsm_commands[i], bash_option_value);
    fputs("    esac\n    case \"$command\" in\n", stdout);
    for (size_t i = 0; tsm_commands[i]; i++) {
        const struct tsm_command *c = tsm_commands[i];
        printf("    %s) if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '", c->name);
        visit_options(c, bash_word);
        fputs("' -- \"$cur\")); else ", stdout);
        bash_values(c->operand ? c->operand : "");
        fputs("; fi ;;\n", stdout);
    }
    fputs("    esac\n    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n    return 0\n}\n"
          "complete -o filenames -F _tracesmith tracesmith",
          stdout);
    for (size_t i = 0; tsm_commands[i]; i++) {
        if (tsm_commands[i]->alias)
            printf(" %s", tsm_commands[i]->alias);
    }
    putchar('\n');
}

/* ---- zsh ----------------------------------------------------------------------------------- */

/* The first sentence of `help`, without what a zsh specification or its quotes give meaning to. */
static void put_brief(const char *help)
{
    for (; *help && !(help[0] == '.' && (help[1] == ' ' || !help[1])); help++) {
        if (!strchr("[]'\\:\"", *help))
            putchar(*help);
    }
}

static void zsh_values(const char *what)
{
    if (is_choice(what)) {
        fputs("(", stdout);
        put_choices(what);
        fputs(")", stdout);
    } else if (strcmp(what, "TRACE") == 0) {
        fputs("_files -g \"*.sbt\"", stdout);
    } else if (strcmp(what, "FILE") == 0) {
        fputs("_files", stdout);
    } else if (strcmp(what, "PROGRAM") == 0) {
        fputs("_normal", stdout);
    } else if (strcmp(what, "COMMAND") == 0) {
        fputs("(", stdout);
        put_commands();
        fputs(")", stdout);
    }
}

static void zsh_option(const struct tsm_command *c, const struct tsm_option *o)
{
    bool flag = o->type == TSM_OPTION_FLAG;

    for (int letter = o->letter != 0; letter >= 0; letter--) {
        if (letter)
            printf("        '-%c%s[", o->letter, flag ? "" : "+");
        else
            printf("        '--%s%s[", o->name, flag ? "" : "=");
        put_brief(o->help);
        putchar(']');
        if (!flag) {
            printf("%s:value:", o->absent ? ":" : "");
            zsh_values(o->argument);
        }
        fputs("' \\\n", stdout);
    }
}

void tsm_complete_zsh(void)
{
    fputs("#compdef tracesmith", stdout);
    for (size_t i = 0; tsm_commands[i]; i++) {
        if (tsm_commands[i]->alias)
            printf(" %s", tsm_commands[i]->alias);
    }
    fputs("\nlocal command=${service#ts}\n"
          "if [[ $service == tracesmith ]]; then\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _values command \\\n",
          stdout);
    for (size_t i = 0; tsm_commands[i]; i++) {
        printf("            '%s[", tsm_commands[i]->name);
        put_brief(tsm_commands[i]->summary);
        fputs("]' \\\n", stdout);
    }
    fputs("            && return\n    fi\n"
          "    command=$words[2]\n    shift words\n    (( CURRENT-- ))\nfi\n"
          "case $command in\n",
          stdout);
    for (size_t i = 0; tsm_commands[i]; i++) {
        const struct tsm_command *c = tsm_commands[i];
        printf("%s) _arguments -s \\\n", c->name);
        visit_options(c, zsh_option);
        fputs("        '*::operand:", stdout);
        zsh_values(c->operand ? c->operand : "");
        fputs("' ;;\n", stdout);
    }
    fputs("esac\n", stdout);
}

/* ---- fish ---------------------------------------------------------------------------------- */

static void fish_condition(const struct tsm_command *c, bool alias)
{
    if (alias)
        printf("complete -c %s", c->alias);
    else
        printf("complete -c tracesmith -n '__fish_seen_subcommand_from %s'", c->name);
}

static void fish_values(const char *what)
{
    if (is_choice(what)) {
        fputs(" -xa '", stdout);
        put_choices(what);
        fputs("'", stdout);
    } else if (strcmp(what, "TRACE") == 0) {
        fputs(" -xa '(__fish_complete_suffix .sbt)'", stdout);
    } else if (strcmp(what, "FILE") == 0) {
        fputs(" -rF", stdout);
    } else if (strcmp(what, "PROGRAM") == 0) {
        fputs(" -xa '(__fish_complete_subcommand)'", stdout);
    } else if (strcmp(what, "COMMAND") == 0) {
        fputs(" -xa '", stdout);
        put_commands();
        fputs("'", stdout);
    } else if (*what) {
        fputs(" -x", stdout);
    }
}

static void fish_option(const struct tsm_command *c, const struct tsm_option *o)
{
    for (int alias = 0; alias <= (c->alias != NULL); alias++) {
        fish_condition(c, alias);
        if (o->letter)
            printf(" -s %c", o->letter);
        printf(" -l %s -d '", o->name);
        put_brief(o->help);
        putchar('\'');
        if (o->type != TSM_OPTION_FLAG)
            fish_values(o->argument);
        putchar('\n');
    }
}

void tsm_complete_fish(void)
{
    for (size_t i = 0; tsm_commands[i]; i++) {
        const struct tsm_command *c = tsm_commands[i];
        printf("complete -c tracesmith -f -n __fish_use_subcommand -a %s -d '", c->name);
        put_brief(c->summary);
        fputs("'\n", stdout);
        visit_options(c, fish_option);
        for (int alias = 0; c->operand && alias <= (c->alias != NULL); alias++) {
            fish_condition(c, alias);
            fish_values(c->operand);
            putchar('\n');
        }
    }
}
