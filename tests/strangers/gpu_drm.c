/* SPDX-License-Identifier: Apache-2.0
 *
 * vgem of fake_drm.c: its file may be lost, so each round opens one of its own. */
#include "tests/strangers/gpu.h"

#include "tests/drm/drm_small.h"

#include <vgem_drm.h>

#define SIZE 4096u

static int file = -1;

void gpu_begin(void)
{
    file = open_node();
}

static unsigned char fill_once(int fd, unsigned char value, int at)
{
    struct drm_mode_create_dumb create = {.width = 64, .height = 16, .bpp = 32};
    struct drm_mode_map_dumb map = {0};
    struct drm_vgem_fence_attach attach = {.flags = VGEM_FENCE_WRITE};
    struct drm_vgem_fence_signal signal = {0};
    struct drm_mode_destroy_dumb destroy = {0};
    unsigned char *memory, result;

    MUST(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create);
    attach.handle = map.handle = destroy.handle = create.handle;
    MUST(fd, DRM_IOCTL_MODE_MAP_DUMB, &map);
    memory = map_at(fd, map.offset, SIZE);
    memset(memory, value, SIZE);
    MUST(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach);
    signal.fence = attach.out_fence;
    MUST(fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal);
    result = memory[at];
    munmap(memory, SIZE);
    MUST(fd, DRM_IOCTL_MODE_DESTROY_DUMB, &destroy);
    return result;
}

unsigned gpu_fill(unsigned char first, int count)
{
    int fd = open_node();
    unsigned sum = 0;

    for (int i = 0; i < count; i++)
        sum += fill_once(fd, (unsigned char)(first + i), i);
    close(fd);
    return sum;
}

void gpu_attach(void) {}

void gpu_call(void)
{
    struct drm_get_cap cap = {.capability = DRM_CAP_PRIME};

    ioctl(file, DRM_IOCTL_GET_CAP, &cap);
}

int gpu_call_back(void (*function)(void))
{
    return 0;
}

const char *const gpu_library;

void gpu_call_in(void *library) {}
