/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of these test programs: each is a small GPU program on one driver's ioctls.
 */
#ifndef TESTS_DRM_DRM_SMALL_H
#define TESTS_DRM_DRM_SMALL_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm.h>
#include <drm_mode.h>

#define NODE "/dev/dri/renderD128"

/* Calls an ioctl like libdrm's drmIoctl(); ends the program when the call fails. */
static inline void must(int fd, unsigned long request, void *argument, const char *what)
{
    int result;

    do
        result = ioctl(fd, request, argument);
    while (result == -1 && (errno == EINTR || errno == EAGAIN));
    if (result < 0) {
        perror(what);
        exit(1);
    }
}
#define MUST(fd, request, argument) must(fd, request, argument, #request)

static inline int open_node(void)
{
    int fd = open(NODE, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        perror(NODE);
        exit(77);
    }
    return fd;
}

static inline void *map_at(int fd, uint64_t offset, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return memory;
}

/* FNV-1a, to show that two runs had the same bytes. */
static inline uint64_t hash_of(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

/* drm_submits.c: one program a driver. */
void run_amdgpu(int fd);
void run_i915(int fd);
void run_unfollowed(int fd);
void run_i915_memory(int fd);
void run_amdgpu_memory(int fd);
void run_amdgpu_lost(int fd);
void run_nouveau(int fd);
void run_vgem(int fd);
void run_virtgpu(int fd);
void run_results(int fd);

/* Commands on amdgpu: an object of a dma-buf, at the address where amdgpu_store() has the device
 * write. */
void amdgpu_begin(int fd);
uint32_t amdgpu_import(int fd, int dmabuf);
/* An object of 8192 bytes; *offset: where it can be mapped. amdgpu_begin_at(): the commands' object
 * is at 0x100000, and `ib` is a mapping of it; again when that has moved. */
uint32_t amdgpu_make(int fd, uint64_t address, uint64_t *offset);
void amdgpu_begin_at(int fd, void *ib);
void amdgpu_store(int fd, uint32_t round);

/* An object of 8192 bytes on i915, mapped. */
uint32_t i915_object(int fd, void **memory);

/* drm_udmabuf.c */
void run_udmabuf(int fd);
void run_heap(int fd);

/* drm_xe.c, where the headers know it */
void run_xe(int fd);
void run_xe_fences(int fd);

/* drm_lists.c */
void run_commit(int fd);
void run_names(int fd);
void run_radeon(int fd);
void run_v3d(int fd);
void run_vc4(int fd);
void run_panfrost(int fd);
void run_msm(int fd);
void run_etnaviv(int fd);
void run_lima(int fd);
void run_tegra(int fd);

/* drm_past.c; with PAST_DRIVERS where there are headers of those */
void run_vmwgfx(int fd);
void run_habanalabs(int fd);
void run_savage(int fd);
void run_r128(int fd);
void run_via(int fd);

/* drm_accel.c, where there are headers */
void run_pvr(int fd);
void run_ivpu(int fd);
void run_qaic(int fd);

/* drm_chains.c */
void run_chains(int fd);
void run_chain_unknown(int fd);
void run_chain_wrong(int fd);

#endif
