/* SPDX-License-Identifier: Apache-2.0
 *
 * Small programs on vmwgfx, habanalabs and drivers of the past, on a device that takes everything:
 * lists, streams, structs that are one before the call and another after it.
 */
#include "tests/drm/drm_small.h"

#include <misc/habanalabs.h>
#include <vmwgfx_drm.h>

#define ADDRESS(what) ((uintptr_t)(what))

void run_vmwgfx(int fd)
{
    uint32_t commands[] = {1040, 8, 5, 7};
    struct drm_vmw_fence_rep fence = {0};
    struct drm_vmw_execbuf_arg submit = {.commands = ADDRESS(commands),
                                         .command_size = sizeof(commands),
                                         .fence_rep = ADDRESS(&fence),
                                         .version = DRM_VMW_EXECBUF_VERSION,
                                         .context_handle = 3};
    union drm_vmw_alloc_dmabuf_arg alloc = {.req = {.size = 8192}};
    struct drm_vmw_rect rects[] = {{0, 0, 640, 480}};
    struct drm_vmw_update_layout_arg layout = {.num_outputs = 1, .rects = ADDRESS(rects)};

    MUST(fd, DRM_IOWR(DRM_COMMAND_BASE + DRM_VMW_ALLOC_DMABUF, union drm_vmw_alloc_dmabuf_arg),
         &alloc);
    MUST(fd, DRM_IOW(DRM_COMMAND_BASE + DRM_VMW_EXECBUF, struct drm_vmw_execbuf_arg), &submit);
    submit.context_handle = 4;
    MUST(fd, DRM_IOW(DRM_COMMAND_BASE + DRM_VMW_EXECBUF, struct drm_vmw_execbuf_arg), &submit);
    MUST(fd, DRM_IOW(DRM_COMMAND_BASE + DRM_VMW_UPDATE_LAYOUT, struct drm_vmw_update_layout_arg),
         &layout);
}

/* Before it was one of DRM's drivers. */
void run_habanalabs(int fd)
{
    int device = open("/dev/hl0", O_RDWR);
    struct hl_cs_chunk chunk = {.cb_handle = 0x10, .queue_index = 5, .cb_size = 64};
    union hl_cs_args submit = {.in = {.chunks_execute = ADDRESS(&chunk), .num_chunks_execute = 1}};
    union hl_mem_args memory = {
        .in = {.map_host = {.host_virt_addr = ADDRESS(&chunk), .mem_size = 4096},
               .op = HL_MEM_OP_MAP,
               .flags = HL_MEM_USERPTR}};

    MUST(device, HL_IOCTL_CS, &submit);
    MUST(device, HL_IOCTL_MEMORY, &memory);
    close(device);
}

#ifdef PAST_DRIVERS

#include <r128_drm.h>
#include <savage_drm.h>
#include <via_drm.h>

void run_savage(int fd)
{
    drm_savage_cmd_header_t commands[2] = {{.cmd = {.cmd = 1}}, {.clear1 = {7, 9}}};
    struct drm_clip_rect boxes[] = {{0, 0, 64, 64}};
    drm_savage_cmdbuf_t submit = {.cmd_addr = commands, .size = 2, .box_addr = boxes, .nbox = 1};

    MUST(fd, DRM_IOCTL_SAVAGE_BCI_CMDBUF, &submit);
}

void run_r128(int fd)
{
    unsigned colours[] = {1, 2, 3};
    drm_r128_depth_t depth = {.func = R128_WRITE_PIXELS, .n = 3, .buffer = colours};

    MUST(fd, DRM_IOCTL_R128_DEPTH, &depth);
}

/* The device reads the program's memory. */
void run_via(int fd)
{
    static unsigned char memory[8192];
    drm_via_dmablit_t blit = {
        .num_lines = 2, .line_length = 4096, .mem_addr = memory, .mem_stride = 4096};

    MUST(fd, DRM_IOCTL_VIA_DMA_BLIT, &blit);
}

#endif
