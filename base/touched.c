/* SPDX-License-Identifier: Apache-2.0
 *
 * /proc/self/maps tells whose pages are, /proc/self/pagemap which are there: Linux'
 * Documentation/admin-guide/mm/pagemap.rst.
 */
#include "base/own_stack.h"
#include "base/touched.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE    4096u
#define MINIMUM (8u << 20) /* less is looked at sooner than asked about */
#define HEAD    128u       /* of a line of maps: all but the file's name */
#define ENTRIES 512u
#define THERE   ((uint64_t)3 << 62) /* in memory, or swapped out */

/* ---- whose pages ---------------------------------------------------------------------------- */

/* One line: START-END PERMISSIONS OFFSET DEVICE INODE. */
struct mapping {
    uint64_t start, end;
    bool alone;
};

static struct mapping read_line(const char *line)
{
    struct mapping m = {0};
    char *at;

    m.start = strtoull(line, &at, 16);
    if (*at != '-')
        return (struct mapping){0};
    m.end = strtoull(at + 1, &at, 16);
    m.alone = strlen(at) > 5 && at[4] == 'p';
    for (int field = 0; field < 3 && m.alone; field++) {
        at = strchr(at + (*at == ' '), ' ');
        m.alone = at != NULL;
    }
    m.alone = m.alone && strtoull(at, NULL, 10) == 0;
    return m;
}

/* [*from, end) from *from on: true as long as no line has contradicted. */
static bool still_alone(const char *line, uint64_t *from, uint64_t end)
{
    struct mapping m = read_line(line);

    if (m.end <= *from || *from >= end)
        return true;
    if (m.start > *from || !m.alone)
        return false;
    *from = m.end;
    return true;
}

static bool alone_in(int maps, uint64_t from, uint64_t end)
{
    char bytes[PAGE], line[HEAD];
    size_t length = 0;
    ssize_t got;

    while (from < end && (got = read(maps, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] != '\n') {
                if (length < HEAD - 1)
                    line[length++] = bytes[i];
                continue;
            }
            line[length] = 0;
            length = 0;
            if (!still_alone(line, &from, end))
                return false;
        }
    }
    return from >= end;
}

static bool alone(uint64_t from, uint64_t end)
{
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    bool result = maps >= 0 && alone_in(maps, from, end);

    if (maps >= 0)
        close(maps);
    return result;
}

/* ---- which are there ------------------------------------------------------------------------ */

struct parts {
    uint64_t start, size; /* of the memory */
    uint64_t from, to;    /* the part that has been found, not told yet; none where equal */
    void (*each)(void *user, uint64_t offset, uint64_t size);
    void *user;
};

static void tell(struct parts *p)
{
    uint64_t from = p->from < p->start ? p->start : p->from;
    uint64_t end = p->start + p->size, to = p->to > end ? end : p->to;

    if (p->from != p->to)
        p->each(p->user, from - p->start, to - from);
    p->from = p->to;
}

static void found(struct parts *p, uint64_t from, uint64_t to)
{
    if (p->to != from)
        tell(p);
    if (p->from == p->to)
        p->from = from;
    p->to = to;
}

/* Returns how far it came: what is behind that is not known. */
static uint64_t look(struct parts *p, int pagemap, uint64_t at, uint64_t end)
{
    uint64_t entries[ENTRIES];

    while (at < end) {
        uint64_t pages = (end - at) / PAGE < ENTRIES ? (end - at) / PAGE : ENTRIES;
        ssize_t want = (ssize_t)(pages * sizeof(*entries));

        if (pread(pagemap, entries, (size_t)want, (off_t)(at / PAGE * sizeof(*entries))) != want)
            break;
        for (uint64_t i = 0; i < pages; i++)
            if (entries[i] & THERE)
                found(p, at + i * PAGE, at + (i + 1) * PAGE);
        at += pages * PAGE;
    }
    return at;
}

static void look_on_own_stack(void *argument)
{
    struct parts *p = argument;
    uint64_t from = p->start & ~(uint64_t)(PAGE - 1),
             end = (p->start + p->size + PAGE - 1) & -(uint64_t)PAGE;
    int pagemap = -1;

    if (p->size >= MINIMUM && alone(from, end))
        pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap >= 0) {
        from = look(p, pagemap, from, end);
        close(pagemap);
    }
    if (from < end)
        found(p, from, end);
    tell(p);
}

void tsm_touched(const void *memory, uint64_t size,
                 void (*each)(void *user, uint64_t offset, uint64_t size), void *user)
{
    struct parts p = {
        .start = (uint64_t)(uintptr_t)memory, .size = size, .each = each, .user = user};
    int saved_errno = errno;

    tsm_own_stack_run(look_on_own_stack, &p);
    errno = saved_errno;
}
