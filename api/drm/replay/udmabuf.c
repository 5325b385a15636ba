/* SPDX-License-Identifier: Apache-2.0
 *
 * Dma-bufs of the program's memory. Its memfds are no GPU files, and what is in them the trace
 * tells when it comes to the dma-buf: so new ones take their place, each as long as the part that
 * is needed.
 */
#include "api/drm/replay/replay.h"

#include "api/drm/replay/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMFD_SIZE_MAX (1ull << 36)

/* Part of a udmabuf: struct udmabuf_create, or an item of a list. */
struct part {
    uint32_t memfd, flags;
    uint64_t offset, size;
};
struct list {
    uint32_t flags, count;
    struct part parts[];
};

static int make_memfd(uint64_t size)
{
    int fd =
        size <= MEMFD_SIZE_MAX ? memfd_create("tracesmith", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;

    if (fd >= 0 &&
        (ftruncate(fd, (off_t)size) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd < 0 ? tsm_fail(TSM_E_IO, "a memfd of %llu bytes in place of the program's: %s",
                             (unsigned long long)size,
                             size <= MEMFD_SIZE_MAX ? strerror(errno) : "too large")
                  : fd;
}

/* The parts that an argument has; NULL: none, or not as many as it says. */
static struct part *parts_of(const struct drm_ioctl *row, uint8_t *argument, uint32_t *count)
{
    const struct drm_block *block = drm_block_of(argument);
    struct list *list = (void *)argument;

    if (!strcmp(drm_text + row->name, "UDMABUF_CREATE")) {
        *count = 1;
        return block->size >= sizeof(struct part) ? (void *)argument : NULL;
    }
    *count = list->count;
    return block->size >= sizeof(*list) &&
                   *count <= (block->size - sizeof(*list)) / sizeof(struct part)
               ? list->parts
               : NULL;
}

bool drm_is_udmabuf(const struct drm_ioctl *row)
{
    return !strncmp(drm_text + row->name, "UDMABUF_CREATE", strlen("UDMABUF_CREATE"));
}

void drm_udmabuf_finish(const struct drm_ioctl *row, uint8_t *argument)
{
    uint32_t count = 0;
    struct part *parts = argument ? parts_of(row, argument, &count) : NULL;

    for (uint32_t i = 0; parts && i < count; i++)
        if ((int)parts[i].memfd >= 0)
            close((int)parts[i].memfd);
}

int drm_udmabuf_prepare(const struct drm_ioctl *row, uint8_t *argument)
{
    uint32_t count = 0;
    struct part *parts = argument ? parts_of(row, argument, &count) : NULL;
    int fd = 0;

    if (!parts)
        return tsm_fail(TSM_E_FORMAT, "%s without its memory", drm_text + row->name);
    for (uint32_t i = 0; i < count; i++)
        parts[i].memfd = (uint32_t)-1;
    for (uint32_t i = 0; i < count && fd >= 0; i++) {
        fd = make_memfd(parts[i].size);
        parts[i].memfd = (uint32_t)fd;
        parts[i].offset = 0;
    }
    return fd < 0 ? fd : 0;
}
