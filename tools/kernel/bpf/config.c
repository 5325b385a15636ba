/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/bpf/config.h"

#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct key {
    const char *name;
    enum grtrace_key_kind kind;
    size_t offset;
    uint64_t min, max;
    bool at_rest; /* cannot change while a session runs */
} keys[] = {
#define KEY(field, kind_, min_, max_, at_rest_)                                                    \
    {#field, GRTRACE_KEY_##kind_, offsetof(struct grtrace_config, field), min_, max_, at_rest_},
    GRTRACE_KEYS(KEY)};
#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static const char *const modes[] = {GRTRACE_MODE_NAMES};

static bool parse_number(uint64_t *out, const struct key *key, const char *text)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 0);
    return end != text && !*end && !errno && *text != '-' && *out >= key->min && *out <= key->max;
}

static bool parse_list(struct grtrace_list *list, const struct key *key, char *text)
{
    char *word;

    list->count = 0;
    if (!*text)
        return true; /* nobody is listed */
    while ((word = strsep(&text, ",")) != NULL) {
        uint64_t value;

        if (list->count == GRTRACE_LIST_MAX || !parse_number(&value, key, word))
            return false;
        list->values[list->count++] = value;
    }
    return true;
}

static bool parse_value(struct grtrace_config *config, const struct key *key, char *text)
{
    uint64_t *field = (uint64_t *)((char *)config + key->offset);

    if (key->kind == GRTRACE_KEY_LIST)
        return parse_list((struct grtrace_list *)field, key, text);
    if (key->kind == GRTRACE_KEY_RING && strcmp(text, "-1") == 0) {
        *field = UINT64_MAX;
        return true;
    }
    if (key->kind != GRTRACE_KEY_MODE)
        return parse_number(field, key, text);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i], text) == 0) {
            *field = i;
            return true;
        }
    }
    return false;
}

static int parse_pair(struct grtrace_config *config, char *line, bool running, bool *reset)
{
    char *value = line + strcspn(line, " \t=");

    if (*value)
        *value++ = 0;
    value += strspn(value, " \t");
    if (strcmp(line, "reset_stats") == 0) {
        *reset = true;
        return !*value || strcmp(value, "1") == 0
                   ? 0
                   : tsm_fail(TSM_E_ARGUMENT, "eBPF refuses reset_stats=%s", value);
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(keys[i].name, line) != 0)
            continue;
        if (keys[i].at_rest && running)
            return tsm_fail(TSM_E_STATE, "%s cannot change while a session runs", line);
        if (!parse_value(config, &keys[i], value))
            return tsm_fail(TSM_E_ARGUMENT, "eBPF refuses '%s' for %s", value, line);
        return 0;
    }
    return tsm_fail(TSM_E_ARGUMENT, "eBPF refuses '%s': there is no such setting", line);
}

static int check(const struct grtrace_config *config)
{
    if (config->subbuf_size % (size_t)sysconf(_SC_PAGESIZE) ||
        config->subbuf_size * config->subbuf_count > GRTRACE_CPU_BUFFER_MAX)
        return tsm_fail(TSM_E_ARGUMENT, "eBPF refuses a buffer of %" PRIu64 " times %" PRIu64,
                        (uint64_t)config->subbuf_count, (uint64_t)config->subbuf_size);
    if (config->overwrite)
        return tsm_fail(TSM_E_UNSUPPORTED, "eBPF refuses overwrite=1: its buffer keeps the oldest "
                                           "records; the module can do it");
    return 0;
}

int tsm_bpf_config_parse(struct grtrace_config *config, const char *text, bool running, bool *reset)
{
    struct grtrace_config made = *config;
    char *copy = strdup(text), *rest = copy, *line;
    int error = copy ? 0 : tsm_fail(TSM_E_MEMORY, "out of memory");

    *reset = false;
    while (!error && (line = strsep(&rest, "\n")) != NULL) {
        line += strspn(line, " \t");
        if (*line)
            error = parse_pair(&made, line, running, reset);
    }
    if (!error)
        error = check(&made);
    if (!error)
        *config = made;
    free(copy);
    return error;
}

/* ---- text ---- */

static void value_text(char *out, size_t size, const struct grtrace_config *config,
                       const struct key *key)
{
    const uint64_t *field = (const uint64_t *)((const char *)config + key->offset);
    const struct grtrace_list *list = (const struct grtrace_list *)field;
    size_t used = 0;

    out[0] = 0;
    if (key->kind == GRTRACE_KEY_MODE)
        tsm_format(out, size, "%s", modes[*field]);
    else if (key->kind == GRTRACE_KEY_RING)
        tsm_format(out, size, "%" PRId64, (int64_t)*field);
    else if (key->kind == GRTRACE_KEY_NUMBER)
        tsm_format(out, size, key->max == UINT64_MAX ? "0x%" PRIx64 : "%" PRIu64, *field);
    else
        for (uint32_t i = 0; i < list->count && used < size; i++)
            used += tsm_format(out + used, size - used, "%s%" PRIu64, i ? "," : "",
                               (uint64_t)list->values[i]);
}

void tsm_bpf_config_show(FILE *out, const struct grtrace_config *config)
{
    char value[1024];

    for (size_t i = 0; i < KEY_COUNT; i++) {
        value_text(value, sizeof(value), config, &keys[i]);
        fprintf(out, "%s %s\n", keys[i].name, value);
    }
}

int tsm_bpf_config_changes(const struct grtrace_config *config, int (*tell)(const char *text))
{
    static const struct grtrace_config usual = GRTRACE_CONFIG_DEFAULT;
    char value[1024], other[1024], text[GRTRACE_TEXT_SIZE];
    int error = 0;

    for (size_t i = 0; i < KEY_COUNT && !error; i++) {
        value_text(value, sizeof(value), config, &keys[i]);
        value_text(other, sizeof(other), &usual, &keys[i]);
        tsm_format(text, sizeof(text), "%s %s", keys[i].name, value);
        if (strcmp(value, other) != 0)
            error = tell(text);
    }
    return error;
}
