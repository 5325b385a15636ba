/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's record of written pages: userfaultfd in asynchronous write-protect mode, read with
 * PAGEMAP_SCAN (Linux 6.7). No signal, no fault seen by the program: a write to a protected page
 * makes the kernel drop the protection and remember it. Writes by system calls are seen too.
 *
 * Our descriptors lie in the program's table, at high numbers. When the program closes them the
 * calls fail and the caller falls back to hashing; an ioctl of ours does nothing to another file.
 */
#ifndef CAPTURE_MEMORY_PAGEMAP_H
#define CAPTURE_MEMORY_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_pagemap {
    int userfault_fd, pagemap_fd; /* -1: not to be had */
    uint64_t there;               /* bits of an entry of pagemap, one of which such a page has */
};

struct tsm_page_run {
    uint64_t start, end;
    uint64_t categories;
};

void tsm_pagemap_init(struct tsm_pagemap *p);

/* Watch [start, end), page-aligned. Everything counts as written at first. */
bool tsm_pagemap_watch(struct tsm_pagemap *p, uint64_t start, uint64_t end);
void tsm_pagemap_unwatch(struct tsm_pagemap *p, uint64_t start, uint64_t end);

/* Up to `count` runs of pages in [*start, end) that were written, and protect them again. *start
 * moves to where the next call goes on. Negative: the kernel refused. */
int tsm_pagemap_take(struct tsm_pagemap *p, uint64_t *start, uint64_t end,
                     struct tsm_page_run *runs, size_t count);

/* Tests whether all of [start, end) is memory of this process alone that came with no content, so
 * that a page which is not there is zero. Reads files of /proc through `space`. */
bool tsm_pagemap_is_sparse(struct tsm_pagemap *p, uint64_t start, uint64_t end, char *space,
                           size_t size);

/* Tests whether a page of [start, end), page-aligned, is there, in memory or swapped out; also true
 * when the kernel does not tell. At most TSM_PAGEMAP_STEP pages, after tsm_pagemap_is_sparse(). */
#define TSM_PAGEMAP_STEP 256u
bool tsm_pagemap_is_there(const struct tsm_pagemap *p, uint64_t start, uint64_t end);

/* Hash of a page's content; 0 for one of zeroes alone. */
#define TSM_PAGE_SIZE 4096u
uint64_t tsm_page_hash(const uint8_t page[TSM_PAGE_SIZE]);

#endif
