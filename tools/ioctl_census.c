/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/ioctl_census.h"

#include "base/text.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DRM_TYPE 'd' /* of the request's second byte; nobody else uses it */

static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* The tracepoint's number. */
static bool find_tracepoint(uint64_t *id, struct tsm_ioctl_census *census)
{
    char path[128];
    unsigned long long number;

    for (int i = 0; i < 2; i++) {
        FILE *file;
        bool found;
        tsm_format(path, sizeof(path), "%s/events/syscalls/sys_enter_ioctl/id", places[i]);
        file = fopen(path, "r");
        if (!file)
            continue;
        found = fscanf(file, "%llu", &number) == 1;
        fclose(file);
        *id = number;
        if (found)
            return true;
    }
    tsm_format(census->why, sizeof(census->why), "%s/events/syscalls/sys_enter_ioctl: %s",
               places[0], strerror(errno));
    return false;
}

/* Filters compare no part of a number, but they test bits. */
static void make_filter(char *out, size_t size)
{
    size_t at = 0;

    for (unsigned bit = 0; bit < 8; bit++)
        at += tsm_format(out + at, size - at, "%s%s(cmd & 0x%x)", bit ? " && " : "",
                         DRM_TYPE >> bit & 1 ? "" : "!", 0x100u << bit);
}

void tsm_ioctl_census_begin(struct tsm_ioctl_census *census)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof(attr),
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
    };
    char filter[256];
    uint64_t id;

    *census = (struct tsm_ioctl_census){.fd = -1};
    if (!find_tracepoint(&id, census))
        return;
    attr.config = id;
    make_filter(filter, sizeof(filter));
    census->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (census->fd < 0 || ioctl(census->fd, PERF_EVENT_IOC_SET_FILTER, filter) != 0) {
        tsm_format(census->why, sizeof(census->why), "perf_event_open: %s", strerror(errno));
        if (census->fd >= 0)
            close(census->fd);
        census->fd = -1;
    }
}

bool tsm_ioctl_census_end(struct tsm_ioctl_census *census, uint64_t *count)
{
    bool known =
        census->fd >= 0 && read(census->fd, count, sizeof(*count)) == (ssize_t)sizeof(*count);

    if (census->fd >= 0)
        close(census->fd);
    if (census->fd >= 0 && !known)
        tsm_format(census->why, sizeof(census->why), "its count cannot be read");
    census->fd = -1;
    return known;
}
