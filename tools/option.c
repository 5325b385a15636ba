/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/option.h"

#include "base/text.h"
#include "tools/nearest.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool tsm_choice_name(char *out, size_t size, const char *choices, unsigned index)
{
    for (; index > 0; index--) {
        choices = strchr(choices, '|');
        if (!choices)
            return false;
        choices++;
    }
    tsm_format(out, size, "%.*s", (int)strcspn(choices, "|"), choices);
    return true;
}

static bool parse_choice(int *out, const char *choices, const char *text)
{
    char name[64];

    for (unsigned i = 0; tsm_choice_name(name, sizeof(name), choices, i); i++) {
        if (strcmp(name, text) == 0) {
            *out = (int)i;
            return true;
        }
    }
    return false;
}

static bool parse_number(uint64_t *out, const char *text)
{
    char *end;

    /* strtoull accepts signs and spaces, which make no number here. */
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno || *end)
        return false;
    *out = value;
    return true;
}

static bool store(const struct tsm_option *o, void *field, const char *text)
{
    switch (o->type) {
    case TSM_OPTION_FLAG:
        *(bool *)field = text != NULL;
        return true;
    case TSM_OPTION_TEXT:
        *(const char **)field = text;
        return true;
    case TSM_OPTION_NEW:
        *(const char **)field = text;
        return strcmp(text, "-") != 0;
    case TSM_OPTION_NUMBER:
        return parse_number(field, text);
    case TSM_OPTION_SECONDS:
        return parse_number(field, text) && *(uint64_t *)field <= TSM_OPTION_SECONDS_MAX;
    case TSM_OPTION_CHOICE:
        return parse_choice(field, o->argument, text);
    case TSM_OPTION_PARSED:
        return o->parse(field, text);
    }
    return false;
}

/* ---- finding ------------------------------------------------------------------------------- */

struct match {
    const struct tsm_option *option;
    void *field;
    bool negated;
};

static bool same_name(const char *name, const char *text, size_t size)
{
    return strlen(name) == size && memcmp(name, text, size) == 0;
}

static bool find_in(struct match *out, const struct tsm_option_set *set, const char *name,
                    size_t size, char letter)
{
    bool no = size > 3 && memcmp(name, "no-", 3) == 0;

    for (const struct tsm_option *o = set->options; o && o->name; o++) {
        bool yes = letter ? o->letter == letter : same_name(o->name, name, size);
        bool negated =
            !yes && no && o->type == TSM_OPTION_FLAG && same_name(o->name, name + 3, size - 3);
        if (!yes && !negated)
            continue;
        *out = (struct match){o, (char *)set->values + o->offset, negated};
        return true;
    }
    return false;
}

struct parser {
    const struct tsm_option_set *sets;
    size_t set_count;
    int argc;
    char **argv;
    int at; /* next argument */
};

static bool find(struct match *out, const struct parser *p, const char *name, size_t size,
                 char letter)
{
    for (size_t i = 0; i < p->set_count; i++) {
        if (find_in(out, &p->sets[i], name, size, letter))
            return true;
    }
    return false;
}

/* ---- suggestions for misspelt options ------------------------------------------------------ */

static const char *nearest(const struct parser *p, const char *name, size_t size)
{
    struct tsm_nearest n;

    tsm_nearest_begin(&n, name, size);
    for (size_t i = 0; i < p->set_count; i++)
        for (const struct tsm_option *o = p->sets[i].options; o && o->name; o++)
            tsm_nearest_try(&n, o->name);
    return n.best;
}

static int unknown(const struct parser *p, const char *name, size_t size)
{
    const char *best = nearest(p, name, size);

    if (best)
        return tsm_fail(TSM_E_ARGUMENT, "unknown option '--%.*s' (did you mean '--%s'?)", (int)size,
                        name, best);
    return tsm_fail(TSM_E_ARGUMENT, "unknown option '--%.*s'", (int)size, name);
}

/* ---- parsing ------------------------------------------------------------------------------- */

static int bad_value(const struct tsm_option *o, const char *text)
{
    if (strchr(o->argument, '|'))
        return tsm_fail(TSM_E_ARGUMENT, "--%s: '%s' is none of %s", o->name, text, o->argument);
    if (o->type == TSM_OPTION_NUMBER)
        return tsm_fail(TSM_E_ARGUMENT, "--%s: '%s' is no number", o->name, text);
    if (o->type == TSM_OPTION_SECONDS)
        return tsm_fail(TSM_E_ARGUMENT, "--%s: '%s' is no number of seconds up to %u", o->name,
                        text, TSM_OPTION_SECONDS_MAX);
    if (o->type == TSM_OPTION_NEW)
        return tsm_fail(TSM_E_ARGUMENT,
                        "--%s: %s cannot be written to standard output; name a %s, './-' if it is "
                        "called that",
                        o->name, strcmp(o->argument, "DIR") == 0 ? "a folder" : "a trace",
                        strcmp(o->argument, "DIR") == 0 ? "folder" : "file");
    return tsm_fail(TSM_E_ARGUMENT, "--%s: '%s' is no %s", o->name, text, o->argument);
}

/* `value` is what follows in the same argument, NULL if nothing does. */
static int take(struct parser *p, const struct match *m, const char *value)
{
    const struct tsm_option *o = m->option;

    if (o->type == TSM_OPTION_FLAG) {
        if (value)
            return tsm_fail(TSM_E_ARGUMENT, "--%s takes no value", o->name);
        store(o, m->field, m->negated ? NULL : "");
        return 0;
    }
    if (!value)
        value = o->absent;
    if (!value) {
        if (p->at >= p->argc)
            return tsm_fail(TSM_E_ARGUMENT, "--%s needs a value: %s", o->name, o->argument);
        value = p->argv[p->at++];
    }
    return store(o, m->field, value) ? 0 : bad_value(o, value);
}

static int parse_long(struct parser *p, const char *text)
{
    struct match m;
    size_t size = strcspn(text, "=");

    if (!find(&m, p, text, size, 0))
        return unknown(p, text, size);
    return take(p, &m, text[size] ? text + size + 1 : NULL);
}

static int parse_letters(struct parser *p, const char *text)
{
    struct match m;

    for (; *text; text++) {
        if (!find(&m, p, "", 0, *text))
            return tsm_fail(TSM_E_ARGUMENT, "unknown option '-%c'", *text);
        if (m.option->type != TSM_OPTION_FLAG)
            return take(p, &m, text[1] ? text + 1 : NULL);
        store(m.option, m.field, "");
    }
    return 0;
}

int tsm_options_parse(struct tsm_words *out, const struct tsm_option_set *sets, size_t set_count,
                      int argc, char **argv, bool stop_at_word)
{
    struct parser p = {sets, set_count, argc, argv, 1};
    int count = 0;
    bool stopped = false;

    while (p.at < argc) {
        char *word = argv[p.at++];
        int error = 0;
        if (!stopped && strcmp(word, "--") == 0) {
            stopped = true;
            continue;
        }
        if (stopped || word[0] != '-' || !word[1]) {
            argv[1 + count++] = word; /* never overtakes p.at */
            stopped |= stop_at_word;
            continue;
        }
        error = word[1] == '-' ? parse_long(&p, word + 2) : parse_letters(&p, word + 1);
        if (error)
            return error;
    }
    argv[1 + count] = NULL;
    *out = (struct tsm_words){argv + 1, count};
    return 0;
}

void tsm_option_title(char *out, size_t size, const struct tsm_option *o)
{
    size_t at = 0;

    if (o->letter)
        at = tsm_format(out, size, "-%c, ", o->letter);
    at += tsm_format(out + at, size - at, "--%s", o->name);
    if (o->type == TSM_OPTION_FLAG)
        return;
    tsm_format(out + at, size - at, o->absent ? "[=%s]" : "=%s", o->argument);
}
