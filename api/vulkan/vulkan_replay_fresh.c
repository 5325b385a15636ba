/* SPDX-License-Identifier: Apache-2.0
 *
 * What nobody has written is the same in every replay. Pages that hold it already are left alone,
 * and those that were never touched are not even looked at: a page that is read first and written
 * later costs an interrupt of all processors then.
 */
#include "api/vulkan/vulkan_replay.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE          4096u
#define UNTOUCHED_MIN (1u << 20) /* bytes; fewer are looked at sooner than asked for */
#define PAGEMAP_THERE 62         /* swapped out; the bit above: present */
#define PAGEMAP_COUNT 512u       /* entries read at once */

/* Are all of [at, end) in mappings that begin with zeros and are nobody else's? */
static bool is_anonymous(uint64_t at, uint64_t end)
{
    FILE *f = fopen("/proc/self/maps", "re");
    uint64_t start, stop, inode;
    char access[5], line[4352];

    while (f && at < end && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64, &start, &stop, access,
                   &inode) != 4 ||
            stop <= at)
            continue;
        if (start > at || access[3] != 'p' || inode)
            break;
        at = stop;
    }
    if (f)
        fclose(f);
    return at >= end;
}

/* For each page of [at, end) whether it was never touched. False: not known. */
static bool find_untouched(uint64_t at, uint64_t end, bool *untouched)
{
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entries[PAGEMAP_COUNT], next = at / PAGE;

    while (fd >= 0 && next < end / PAGE) {
        uint64_t left = end / PAGE - next;
        size_t size = sizeof(entries[0]) * (left < PAGEMAP_COUNT ? left : PAGEMAP_COUNT);
        if (pread(fd, entries, size, (off_t)(next * sizeof(entries[0]))) != (ssize_t)size)
            break;
        for (size_t i = 0; i < size / sizeof(entries[0]); i++)
            *untouched++ = entries[i] >> PAGEMAP_THERE == 0;
        next += size / sizeof(entries[0]);
    }
    if (fd >= 0)
        close(fd);
    return fd >= 0 && next == end / PAGE;
}

/* Looking at them one after the other would fault on each of them. Where that cannot be, it does.
 */
static void populate(uint64_t from, uint64_t end)
{
#ifdef MADV_POPULATE_READ
    madvise((void *)(uintptr_t)from, end - from, MADV_POPULATE_READ);
#endif
}

static void fill_part(uint8_t *at, size_t size, uint8_t value)
{
    uint8_t pattern[PAGE];

    memset(pattern, value, sizeof(pattern));
    if (memcmp(at, pattern, size) != 0)
        memcpy(at, pattern, size);
}

void vkr_fill_fresh(uint8_t *out, uint64_t size, uint8_t value)
{
    uint64_t start = (uint64_t)(uintptr_t)out, end = start + size;
    uint64_t first = start & -(uint64_t)PAGE, behind = (end + PAGE - 1) & -(uint64_t)PAGE;
    bool *untouched = NULL;

    if (!value && size >= UNTOUCHED_MIN && sysconf(_SC_PAGESIZE) == PAGE &&
        is_anonymous(first, behind))
        untouched = malloc((behind - first) / PAGE);
    if (!untouched || !find_untouched(first, behind, untouched)) {
        free(untouched);
        untouched = NULL;
        populate(first, behind);
    }
    for (uint64_t page = first; page < behind; page += PAGE) {
        uint64_t from = page < start ? start : page;
        uint64_t to = page + PAGE < end ? page + PAGE : end;
        if (!untouched || !untouched[(page - first) / PAGE])
            fill_part(out + (from - start), (size_t)(to - from), value);
    }
    free(untouched);
}
