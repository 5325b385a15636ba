/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"

#define CHUNK (64ull << 20) /* moved at a time: so much memory is needed twice */

struct range {
    uint64_t start;
    uint64_t end;
};

static int file = -1;
static uint64_t file_size;
static struct range *shared; /* in no order; they do not overlap */
static size_t count;
static size_t capacity;

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* ---- which pages are in the file ---- */

static bool add_range(struct range range)
{
    return TSM_ARRAY_PUSH(shared, count, capacity, range);
}

/* The first shared range that reaches into [start, end), NULL when there is none. */
static struct range *find(uint64_t start, uint64_t end)
{
    struct range *best = NULL;

    for (size_t i = 0; i < count; i++)
        if (shared[i].start < end && shared[i].end > start &&
            (!best || shared[i].start < best->start))
            best = &shared[i];
    return best;
}

bool emu_page_is_shared(uint64_t start, uint64_t end)
{
    const struct range *r = NULL;

    while (start < end && (r = find(start, end)) && r->start <= start)
        start = r->end;
    return start >= end;
}

/* Its pages become zeros for whoever still maps them, and cost nothing. What is left of a range is
 * kept; where there is no memory for its second half, that is only not given back. */
static void withdraw(uint64_t start, uint64_t end)
{
    struct range *r;

    while ((r = find(start, end))) {
        struct range was = *r,
                     part = {r->start > start ? r->start : start, r->end < end ? r->end : end};
        *r = shared[--count];
        if (was.start < part.start)
            add_range((struct range){was.start, part.start});
        if (part.end < was.end)
            add_range((struct range){part.end, was.end});
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)part.start,
                  (off_t)(part.end - part.start));
    }
}

/* ---- mapping ---- */

int emu_page_map(uint64_t start, uint64_t end, int protection)
{
    void *wish = pointer(start);

    if (start >= end)
        return 0;
    void *p = mmap(wish, end - start, protection,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED)
        return errno;
    if (p != wish) {
        munmap(p, end - start);
        return EEXIST;
    }
    return 0;
}

void emu_page_unmap(uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    munmap(pointer(start), end - start);
    withdraw(start, end);
}

/* ---- moving into the file ---- */

static bool is_zero(const uint8_t *page)
{
    return page[0] == 0 && memcmp(page, page + 1, EMU_PAGE - 1) == 0;
}

/* More than the process may write to a file would be a signal. */
static bool grow(uint64_t size)
{
    struct rlimit limit;

    if (size <= file_size)
        return true;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < size || ftruncate(file, (off_t)size))
        return false;
    file_size = size;
    return true;
}

/* Pages of zeros are left out: they may never have been touched. The new mapping takes the place of
 * the old one in one step. Children of fork() do not get it: they would write into our memory. */
static bool move(uint64_t start, uint64_t end)
{
    size_t size = end - start;
    uint8_t *copy =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, (off_t)start);

    if (copy == MAP_FAILED)
        return false;
    for (size_t at = 0; at < size; at += EMU_PAGE)
        if (!is_zero((const uint8_t *)pointer(start) + at))
            memcpy(copy + at, (const uint8_t *)pointer(start) + at, EMU_PAGE);
    madvise(copy, size, MADV_DONTFORK);
    if (add_range((struct range){start, end})) {
        if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pointer(start)) != MAP_FAILED)
            return true;
        count--;
    }
    munmap(copy, size);
    return false;
}

bool emu_page_share(uint64_t start, uint64_t end)
{
    if (file < 0)
        file = memfd_create("tracesmith-emu", MFD_CLOEXEC);
    if (file < 0 || !grow(end))
        return false;
    while (start < end) {
        const struct range *r = find(start, end);
        uint64_t stop = r ? r->start : end;
        if (r && r->start <= start) {
            start = r->end;
            continue;
        }
        if (stop - start > CHUNK)
            stop = start + CHUNK;
        if (!move(start, stop))
            return false;
        start = stop;
    }
    return true;
}

int emu_page_file(void)
{
    return file;
}

void emu_page_forget(void)
{
    if (file >= 0)
        close(file);
    file = -1;
}
