/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu/ftrace_text.h"

#include "analysis/cpu/ftrace_format.h"
#include "tracesmith/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_SIZE 1024

struct head {
    uint32_t tid;
    uint16_t cpu;
    uint64_t ts_ns;
    const char *name; /* of the tracepoint */
    size_t name_size;
    const char *fields;
};

/* "12.345678:" with 6 or 9 digits; false when it is no time. */
static bool parse_time(uint64_t *out, const char *text, const char **end)
{
    uint64_t whole = 0, part = 0, scale = 1000000000;
    const char *at = text;

    for (; isdigit((unsigned char)*at) && at - text < 10; at++)
        whole = whole * 10 + (uint64_t)(*at - '0');
    if (at == text || *at != '.')
        return false;
    for (at++; isdigit((unsigned char)*at) && scale > 1; at++) {
        scale /= 10;
        part += (uint64_t)(*at - '0') * scale;
    }
    *out = whole * 1000000000 + part;
    *end = at + 1;
    return *at == ':';
}

/* "[003]": the last such, since a thread's name may hold brackets. */
static const char *find_cpu(uint16_t *cpu, const char *line)
{
    const char *found = NULL;

    for (const char *at = line; (at = strchr(at, '[')) != NULL; at++) {
        char *end;
        unsigned long value = strtoul(at + 1, &end, 10);
        uint64_t ns;
        const char *time = end + 1, *behind;

        if (end == at + 1 || *end != ']' || value >= TSM_CPU_MAX)
            continue;
        time += strspn(time, " ");
        if (!isdigit((unsigned char)*time)) /* flags: "d..3." */
            time += strcspn(time, " ");
        time += strspn(time, " ");
        if (!parse_time(&ns, time, &behind) && !parse_time(&ns, time + strcspn(time, " "), &behind))
            continue;
        *cpu = (uint16_t)value;
        found = at;
        break;
    }
    return found;
}

/* "name-123 " (ftrace) or "name 123 " or "name 123/124 " (perf) in front of the CPU; after it
 * ftrace may have "(  122) ". */
static uint32_t find_tid(const char *line, const char *end)
{
    const char *at = end;

    while (at > line && at[-1] == ' ')
        at--;
    if (at > line && at[-1] == ')') {
        while (at > line && at[-1] != '(')
            at--;
        at -= at > line;
        while (at > line && at[-1] == ' ')
            at--;
    }
    while (at > line && isdigit((unsigned char)at[-1]))
        at--;
    return (uint32_t)strtoul(at, NULL, 10);
}

/* The tracepoint's name: the first word with a colon after it, without "sched:" in front. perf
 * puts a period and the like before it. */
static bool find_name(struct head *h, const char *at)
{
    for (;;) {
        const char *word = at + strspn(at, " \t");
        size_t size = strcspn(word, " \t");
        const char *colon;

        if (!size)
            return false;
        at = word + size;
        if (word[size - 1] != ':')
            continue;
        size--;
        while ((colon = memchr(word, ':', size)) != NULL) {
            size -= (size_t)(colon + 1 - word);
            word = colon + 1;
        }
        h->name = word;
        h->name_size = size;
        h->fields = at + strspn(at, " \t");
        return true;
    }
}

static bool parse_head(struct head *h, const char *line)
{
    const char *cpu = find_cpu(&h->cpu, line), *at;

    if (!cpu)
        return false;
    h->tid = find_tid(line, cpu);
    at = strchr(cpu, ']') + 1;
    for (int i = 0; i < 4; i++) { /* time, with flags or the like in front */
        at += strspn(at, " ");
        if (parse_time(&h->ts_ns, at, &at))
            return find_name(h, at);
        at += strcspn(at, " ");
    }
    return false;
}

/* "CPU:1 [LOST 123 EVENTS]": before the CPU's next event. */
static bool parse_lost(const char *line, uint64_t lost[TSM_CPU_MAX])
{
    const char *count = strstr(line, "[LOST "), *cpu = strstr(line, "CPU:");
    unsigned long place = cpu ? strtoul(cpu + strlen("CPU:"), NULL, 10) : TSM_CPU_MAX;

    if (!count || place >= TSM_CPU_MAX)
        return false;
    lost[place] += strtoull(count + strlen("[LOST "), NULL, 10);
    return true;
}

static int add_line(struct tsm_cpu_events *events, const char *line, uint64_t lost[TSM_CPU_MAX],
                    size_t *good)
{
    struct head h;
    int kind, error = 0;

    if (line[0] == '#' || line[strspn(line, " \t\r")] == 0 ||
        strncmp(line, "cpus=", strlen("cpus=")) == 0)
        return 0;
    if (parse_lost(line, lost)) {
        ++*good;
        return 0;
    }
    if (!parse_head(&h, line)) {
        events->unread_count++;
        return 0;
    }
    ++*good;
    kind = tsm_ftrace_kind(h.name, h.name_size);
    if (lost[h.cpu]) {
        const struct tsm_cpu_event event = {
            .ts_ns = h.ts_ns, .type = TSM_CPU_LOST, .cpu = h.cpu, .number = lost[h.cpu]};
        error = tsm_cpu_events_add(events, &event);
        lost[h.cpu] = 0;
    }
    if (error || kind < 0)
        return error;
    return tsm_ftrace_text_event(events, kind, h.cpu, h.tid, h.ts_ns, h.fields);
}

int tsm_ftrace_text(struct tsm_cpu_events *events, const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    uint64_t lost[TSM_CPU_MAX] = {0};
    char line[LINE_MAX_SIZE];
    size_t good = 0;
    int error = 0;

    while (at < end && !error) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t own = (size_t)((stop ? stop : end) - at);

        if (own < sizeof(line) && !memchr(at, 0, own)) {
            memcpy(line, at, own);
            line[own] = 0;
            error = add_line(events, line, lost, &good);
        } else {
            events->unread_count++;
        }
        at = stop ? stop + 1 : end;
    }
    for (uint16_t cpu = 0; cpu < TSM_CPU_MAX && !error; cpu++)
        events->lost_count += lost[cpu]; /* with no event after it */
    if (!error && !good)
        error = tsm_fail(TSM_E_FORMAT, "neither trace-cmd's file nor perf's, nor text of ftrace or "
                                       "'perf script'");
    return error;
}
