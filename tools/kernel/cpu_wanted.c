/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/cpu_collect.h"

#include "tools/kernel/cgroup.h"
#include "tracesmith/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_MIN (1ul << 16)
#define BUFFER_MAX (1ul << 30)

static bool take_number(unsigned *out, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    *out = (unsigned)value;
    return end != text && !*end && value > 0 && value < 1ul << 31;
}

static bool take_device(unsigned *out, const char *text)
{
    unsigned major, minor;
    int used = 0;

    if (sscanf(text, "%u:%u%n", &major, &minor, &used) != 2 || text[used] || major >= 4096 ||
        minor >= 1u << 20)
        return false;
    *out = major << 20 | minor;
    return true;
}

/* "16M", rounded up to a power of two, as the kernel wants it. */
static bool take_size(unsigned long *out, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10), size = BUFFER_MIN;

    if (end == text || value > BUFFER_MAX)
        return false;
    if (*end == 'K' || *end == 'M')
        value <<= *end++ == 'K' ? 10 : 20;
    while (size < value)
        size *= 2;
    *out = size;
    return !*end && size <= BUFFER_MAX;
}

static bool take_part(struct tsm_cpu_wanted *w, const char *name, const char *value)
{
    uint64_t cgroup;

    if (strcmp(name, "pid") == 0)
        return take_number(&w->filter.pid, value);
    if (strcmp(name, "tid") == 0)
        return take_number(&w->filter.tid, value);
    if (strcmp(name, "device") == 0)
        return take_device(&w->filter.device, value);
    if (strcmp(name, "buffer") == 0)
        return take_size(&w->buffer_size, value);
    if (strcmp(name, "cgroup") != 0 || tsm_cgroup_find(&cgroup, value) < 0)
        return false;
    w->filter.cgroup = cgroup;
    return true;
}

bool tsm_cpu_wanted_parse(void *field, const char *text)
{
    struct tsm_cpu_wanted *w = field;
    char copy[512], *rest = copy, *part;

    w->on = true;
    if (strcmp(text, "all") == 0)
        return true;
    if (strlen(text) >= sizeof(copy))
        return false;
    memcpy(copy, text, strlen(text) + 1);
    while ((part = strsep(&rest, ",")) != NULL) {
        char *value = strchr(part, '=');

        if (!value)
            return false;
        *value++ = 0;
        if (!take_part(w, part, value))
            return false;
    }
    return true;
}
