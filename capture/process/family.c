/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/process/family.h"

#include "base/clock.h"
#include "base/text.h"
#include "capture/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRONMENT_SIZE (1u << 20)
#define DEPTH_MAX        64
#define TICK_NS          10000000u /* of times in /proc: USER_HZ is 100 */

static size_t read_file(int pid, const char *name, char *out, size_t size)
{
    char path[64];
    size_t used = 0;
    ssize_t got;

    tsm_format(path, sizeof(path), "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while (used + 1 < size && (got = read(fd, out + used, size - used - 1)) > 0)
        used += (size_t)got;
    close(fd);
    out[used] = '\0';
    return used;
}

/* Fields of /proc/PID/stat, see proc(5): 4 is the parent, 22 the start in ticks after boot. */
static bool read_stat(int pid, int *parent, uint64_t *start_ticks)
{
    char text[1024], *at;

    if (!read_file(pid, "stat", text, sizeof(text)) || !(at = strrchr(text, ')')))
        return false;
    for (int field = 2; field < 22 && at; field++) {
        at = strchr(at + 1, ' ');
        if (at && field == 3)
            *parent = atoi(at + 1);
    }
    *start_ticks = at ? strtoull(at + 1, NULL, 10) : 0;
    return at != NULL;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool runs_with_us(int pid, char *space)
{
    size_t size = read_file(pid, "environ", space, ENVIRONMENT_SIZE);

    for (size_t at = 0; at < size; at += strlen(space + at) + 1) {
        const char *variable = space + at;
        if ((starts_with(variable, "LD_PRELOAD=") && strstr(variable, "libts_capture")) ||
            (starts_with(variable, "LD_AUDIT=") && strstr(variable, "libts_audit")))
            return true;
    }
    return false;
}

/* Retried when something else ran between the two clocks' being read. */
static uint64_t boot_ns(void)
{
    uint64_t before, now, after;
    int attempts = 0;

    do {
        before = tsm_clock_ns(CLOCK_BOOTTIME);
        now = tsm_clock_ns(CLOCK_REALTIME);
        after = tsm_clock_ns(CLOCK_BOOTTIME);
    } while (after - before > TICK_NS / 100 && ++attempts < 10);
    return now - before;
}

/* Rounded up: what was written in the tick before a process began is not the family's. */
static uint64_t start_of(uint64_t ticks)
{
    return boot_ns() + (ticks + 1) * TICK_NS;
}

void tsm_family_find(struct tsm_family *out)
{
    int saved_errno = errno, pid = getpid(), parent = 0;
    char *space = tsm_memory_map(ENVIRONMENT_SIZE);
    uint64_t ticks;

    *out = (struct tsm_family){0};
    for (int depth = 0; space && depth < DEPTH_MAX && read_stat(pid, &parent, &ticks); depth++) {
        out->start_ns = start_of(ticks);
        out->is_child = depth > 0;
        if (parent <= 1 || !runs_with_us(parent, space))
            break;
        pid = parent;
    }
    tsm_memory_unmap(space, ENVIRONMENT_SIZE);
    errno = saved_errno;
}
