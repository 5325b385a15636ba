/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
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
    p->pagemap_fd = -1;
    if (p->userfault_fd >= 0)
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
