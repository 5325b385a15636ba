/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/memory/pagemap.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From <linux/userfaultfd.h> and <linux/fs.h> of Linux 6.7; older headers lack them. */
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

struct scan_argument {
    uint64_t size;
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end;
    uint64_t vec;
    uint64_t vec_len;
    uint64_t max_pages;
    uint64_t category_inverted;
    uint64_t category_mask;
    uint64_t category_anyof_mask;
    uint64_t return_mask;
};

#define SCAN_IOCTL         _IOWR('f', 16, struct scan_argument)
#define SCAN_WP_MATCHING   1u
#define SCAN_CHECK_WPASYNC 2u
#define PAGE_WRITTEN       2u

static int move_high(int fd)
{
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 1000);

    if (high < 0)
        return fd;
    close(fd);
    return high;
}

static int open_userfault(void)
{
    struct uffdio_api api = {
        .api = UFFD_API,
        .features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED,
    };
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

    if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) != 0) {
        close(fd);
        return -1;
    }
    return move_high(fd);
}

void tsm_pagemap_init(struct tsm_pagemap *p)
{
    p->userfault_fd = open_userfault();
    p->pagemap_fd = move_high(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
}

bool tsm_pagemap_watch(struct tsm_pagemap *p, uint64_t start, uint64_t end)
{
    struct uffdio_register r = {.range = {start, end - start}, .mode = UFFDIO_REGISTER_MODE_WP};

    return p->userfault_fd >= 0 && p->pagemap_fd >= 0 &&
           ioctl(p->userfault_fd, UFFDIO_REGISTER, &r) == 0;
}

void tsm_pagemap_unwatch(struct tsm_pagemap *p, uint64_t start, uint64_t end)
{
    struct uffdio_range r = {start, end - start};

    ioctl(p->userfault_fd, UFFDIO_UNREGISTER, &r);
}

int tsm_pagemap_take(struct tsm_pagemap *p, uint64_t *start, uint64_t end,
                     struct tsm_page_run *runs, size_t count)
{
    struct scan_argument a = {
        .size = sizeof(a),
        .flags = SCAN_WP_MATCHING | SCAN_CHECK_WPASYNC,
        .start = *start,
        .end = end,
        .vec = (uint64_t)(uintptr_t)runs,
        .vec_len = count,
        .category_mask = PAGE_WRITTEN,
        .return_mask = PAGE_WRITTEN,
    };
    int found = ioctl(p->pagemap_fd, SCAN_IOCTL, &a);

    if (found < 0)
        return -errno;
    *start = a.walk_end;
    return found;
}

/* ---- memory that was never written ------------------------------------------------------------
 */

#define IS_PRESENT (1ull << 63) /* of an entry of /proc/PID/pagemap */
#define IS_SWAPPED (1ull << 62)

static uint64_t number(const char **at, unsigned base)
{
    uint64_t value = 0;

    for (;; ++*at) {
        unsigned digit = (unsigned)(**at | 0x20);
        digit = digit >= 'a' ? digit - 'a' + 10 : (unsigned)**at - '0';
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE PATH" of /proc/PID/maps: private, and of no file. */
static bool is_anonymous(const char *line, uint64_t *start, uint64_t *end)
{
    const char *at = line, *flags;

    *start = number(&at, 16);
    at++;
    *end = number(&at, 16);
    flags = at + 1;
    at = flags + 5;
    number(&at, 16);
    while (*at == ' ')
        at++;
    number(&at, 16);
    at++;
    number(&at, 16);
    at++;
    return flags[3] == 'p' && number(&at, 10) == 0;
}

static bool read_file(const char *path, char *space, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 1;

    while (fd >= 0 && used + 1 < size && (got = read(fd, space + used, size - used - 1)) > 0)
        used += (size_t)got;
    if (fd >= 0)
        close(fd);
    space[used] = '\0';
    return fd >= 0 && got == 0;
}

static bool is_private(uint64_t start, uint64_t end, const char *line)
{
    uint64_t from, to;

    while (line && *line && start < end) {
        bool anonymous = is_anonymous(line, &from, &to);
        if (to > start && (from > start || !anonymous))
            return false;
        if (to > start)
            start = to;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return start >= end;
}

/* Tests whether the process has no page that is swapped out. */
static bool has_no_swap(const char *status)
{
    const char *at = strstr(status, "VmSwap:");

    if (!at)
        return false;
    at += strlen("VmSwap:");
    while (*at == ' ' || *at == '\t')
        at++;
    return number(&at, 10) == 0;
}

bool tsm_pagemap_is_sparse(struct tsm_pagemap *p, uint64_t start, uint64_t end, char *space,
                           size_t size)
{
    if (p->pagemap_fd < 0 || !read_file("/proc/self/maps", space, size) ||
        !is_private(start, end, space) || !read_file("/proc/self/status", space, size))
        return false;
    /* A page that is watched and was never there looks as if it were swapped out. */
    p->there = IS_PRESENT | (has_no_swap(space) ? 0 : IS_SWAPPED);
    return true;
}

bool tsm_pagemap_is_there(const struct tsm_pagemap *p, uint64_t start, uint64_t end)
{
    uint64_t entries[TSM_PAGEMAP_STEP];
    size_t count = (end - start) / TSM_PAGE_SIZE;

    if (count > TSM_PAGEMAP_STEP || pread(p->pagemap_fd, entries, count * 8,
                                          (off_t)(start / TSM_PAGE_SIZE * 8)) != (ssize_t)count * 8)
        return true;
    for (size_t i = 0; i < count; i++)
        if (entries[i] & p->there)
            return true;
    return false;
}

uint64_t tsm_page_hash(const uint8_t page[TSM_PAGE_SIZE])
{
    static const uint8_t zero[TSM_PAGE_SIZE];

    if (page[0] == 0 && memcmp(page, zero, TSM_PAGE_SIZE) == 0)
        return 0;
    return tsm_hash64(page, TSM_PAGE_SIZE) | 1;
}
