/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs whose GPU writes into their own memfds (udmabuf), and into memory of a DMA heap.
 */
#include "tests/drm/drm_small.h"

#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <stdbool.h>

#define SIZE (2u << 20)

static int open_or_skip(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd >= 0)
        return fd;
    perror(path);
    exit(77);
}

static int make_memfd(void)
{
    int memfd = memfd_create("target", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (memfd < 0 || ftruncate(memfd, SIZE) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK)) {
        perror("memfd_create");
        exit(1);
    }
    return memfd;
}

/* The dma-buf of a memfd: by itself, or as a list of one. */
static int make_dmabuf(int memfd, bool by_list)
{
    struct udmabuf_create one = {(uint32_t)memfd, UDMABUF_FLAGS_CLOEXEC, 0, SIZE};
    union {
        struct udmabuf_create_list head;
        uint64_t room[4];
    } list = {{UDMABUF_FLAGS_CLOEXEC, 1}};
    int device = open_or_skip("/dev/udmabuf"), dmabuf;

    list.head.list[0] = (struct udmabuf_create_item){(uint32_t)memfd, 0, 0, SIZE};
    dmabuf = by_list ? ioctl(device, UDMABUF_CREATE_LIST, &list.head)
                     : ioctl(device, UDMABUF_CREATE, &one);
    if (dmabuf < 0)
        perror("udmabuf");
    close(device);
    return dmabuf;
}

/* Written by write(), by a mapping of the memfd, and by the device; the dma-buf's descriptor is
 * closed before its object is. */
static void use_memfd(int fd, bool by_list)
{
    int memfd = make_memfd(), dmabuf;
    char *own = map_at(memfd, 0, SIZE);
    uint32_t object;

    if (pwrite(memfd, "written", 7, 8192) != 7)
        exit(1);
    dmabuf = make_dmabuf(memfd, by_list);
    object = amdgpu_import(fd, dmabuf);
    close(dmabuf);
    close(memfd);
    for (uint32_t round = 0; round < 3; round++) {
        memset(own + 12288, (int)round, 64);
        amdgpu_store(fd, round);
    }
    printf("%016llx\n", (unsigned long long)hash_of(own, SIZE));
    must(fd, DRM_IOCTL_GEM_CLOSE, &(struct drm_gem_close){.handle = object}, "close");
    munmap(own, SIZE);
}

void run_udmabuf(int fd)
{
    amdgpu_begin(fd);
    use_memfd(fd, false);
    use_memfd(fd, true);
}

void run_heap(int fd)
{
    struct dma_heap_allocation_data allocation = {.len = SIZE, .fd_flags = O_RDWR | O_CLOEXEC};
    int heap = open_or_skip("/dev/dma_heap/system");
    char *memory;

    amdgpu_begin(fd);
    MUST(heap, DMA_HEAP_IOCTL_ALLOC, &allocation);
    memory = map_at((int)allocation.fd, 0, SIZE);
    amdgpu_import(fd, (int)allocation.fd);
    strcpy(memory + 8192, "written");
    amdgpu_store(fd, 5);
    printf("%016llx\n", (unsigned long long)hash_of(memory, SIZE));
    munmap(memory, SIZE);
}
