/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define RULE_COUNT_MAX 16

struct rule {
    char domain[32]; /* empty: every domain */
    enum tsm_log_level level;
};

static struct rule rules[RULE_COUNT_MAX] = {{"", TSM_LOG_WARN}};
static unsigned rule_count = 1;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static bool parse_level(enum tsm_log_level *out, const char *text, size_t size)
{
    for (unsigned i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (strlen(level_names[i]) == size && memcmp(level_names[i], text, size) == 0) {
            *out = (enum tsm_log_level)i;
            return true;
        }
    }
    return false;
}

static bool parse_rule(struct rule *out, const char *text, size_t size)
{
    const char *colon = memchr(text, ':', size);
    size_t domain_size = colon ? (size_t)(colon - text) : 0;
    const char *level = colon ? colon + 1 : text;

    if (domain_size >= sizeof(out->domain) ||
        !parse_level(&out->level, level, size - (size_t)(level - text)))
        return false;
    memcpy(out->domain, text, domain_size);
    out->domain[domain_size] = '\0';
    return true;
}

bool tsm_log_accepts(const char *setting)
{
    struct rule rule;
    unsigned count = 1;

    while (*setting) {
        size_t size = strcspn(setting, ",");
        if (!parse_rule(&rule, setting, size) || count++ == RULE_COUNT_MAX)
            return false;
        setting += size + (setting[size] == ',');
    }
    return true;
}

void tsm_log_configure(const char *setting)
{
    rules[0] = (struct rule){"", TSM_LOG_WARN};
    rule_count = 1;
    while (setting && *setting) {
        size_t size = strcspn(setting, ",");
        if (rule_count < RULE_COUNT_MAX && parse_rule(&rules[rule_count], setting, size))
            rule_count++;
        setting += size + (setting[size] == ',');
    }
}

/* "capture/lane/lane.c" -> "lane", size 4 */
static const char *domain_of(const char *file, size_t *size)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;

    *size = strcspn(name, ".");
    return name;
}

/* Tests whether `want` consists of names that follow each other in the path `file`: "emu",
 * "module/cache" of "../emu/cuda/module/cache.c". */
static bool is_part(const char *want, const char *file)
{
    const size_t size = strlen(want);

    for (const char *at = file; (at = strstr(at, want)) != NULL; at++)
        if ((at == file || at[-1] == '/') && (at[size] == '/' || at[size] == '.'))
            return true;
    return false;
}

bool tsm_log_wants(enum tsm_log_level level, const char *file)
{
    bool wants = false;

    /* The last rule that fits decides, so that TS_LOG=warn,lane:debug reads naturally. */
    for (unsigned i = 0; i < rule_count; i++)
        if (!rules[i].domain[0] || is_part(rules[i].domain, file))
            wants = level <= rules[i].level;
    return wants;
}

void tsm_log_write(enum tsm_log_level level, const char *file, const char *format, ...)
{
    char line[1280];
    size_t used, domain_size;
    int saved_errno = errno;
    const char *domain = domain_of(file, &domain_size);
    va_list ap;

    if (!tsm_log_wants(level, file))
        return;
    used = tsm_format(line, sizeof(line), "tracesmith: %s: %.*s: ", level_names[level],
                      (int)domain_size, domain);
    va_start(ap, format);
    domain_size = used;
    used += tsm_vformat(line + used, sizeof(line) - used - 1, format, ap);
    va_end(ap);
    tsm_text_disarm(line + domain_size);
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        used = 0; /* nowhere left to say it */
    errno = saved_errno;
}
