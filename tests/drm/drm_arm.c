/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends lists like drm_lists.c, on drivers that libdrm's headers lack, or know an old version of.
 */
#include "tests/drm/drm_small.h"

#include <etnaviv_drm.h>
#include <lima_drm.h>
#include <msm_drm.h>
#include <panfrost_drm.h>
#include <v3d_drm.h>

#define ADDRESS(what) ((uintptr_t)(what))

static const uint32_t handles[] = {1, 2};

void run_v3d(int fd)
{
    struct drm_v3d_sem in = {.handle = 5}, out = {.handle = 6};
    struct drm_v3d_multi_sync sync = {.base = {.id = DRM_V3D_EXT_ID_MULTI_SYNC},
                                      .in_syncs = ADDRESS(&in),
                                      .out_syncs = ADDRESS(&out),
                                      .in_sync_count = 1,
                                      .out_sync_count = 1};
    struct drm_v3d_submit_cl cl = {.bo_handles = ADDRESS(handles),
                                   .bo_handle_count = 2,
                                   .flags = DRM_V3D_SUBMIT_EXTENSION,
                                   .extensions = ADDRESS(&sync)};
    struct drm_v3d_submit_csd csd = {
        .bo_handles = ADDRESS(handles), .bo_handle_count = 1, .in_sync = 5};
    struct drm_v3d_submit_tfu tfu = {.in_sync = 5, .out_sync = 6};

    MUST(fd, DRM_IOCTL_V3D_SUBMIT_CL, &cl);
    MUST(fd, DRM_IOCTL_V3D_SUBMIT_CSD, &csd);
    MUST(fd, DRM_IOCTL_V3D_SUBMIT_TFU, &tfu);
}

void run_panfrost(int fd)
{
    struct drm_panfrost_submit submit = {.jc = 0x2000,
                                         .in_syncs = ADDRESS(handles),
                                         .in_sync_count = 2,
                                         .out_sync = 6,
                                         .bo_handles = ADDRESS(handles),
                                         .bo_handle_count = 1};

    MUST(fd, DRM_IOCTL_PANFROST_SUBMIT, &submit);
    submit.requirements = PANFROST_JD_REQ_FS;
    MUST(fd, DRM_IOCTL_PANFROST_SUBMIT, &submit);
}

void run_etnaviv(int fd)
{
    uint32_t stream[] = {0x08010e03, 7};
    struct drm_etnaviv_gem_submit_bo bo = {.handle = 1};
    struct drm_etnaviv_gem_submit submit = {.pipe = ETNA_PIPE_3D,
                                            .nr_bos = 1,
                                            .bos = ADDRESS(&bo),
                                            .stream = ADDRESS(stream),
                                            .stream_size = sizeof(stream)};

    MUST(fd, DRM_IOCTL_ETNAVIV_GEM_SUBMIT, &submit);
    submit.pipe = ETNA_PIPE_2D;
    MUST(fd, DRM_IOCTL_ETNAVIV_GEM_SUBMIT, &submit);
}

void run_lima(int fd)
{
    struct drm_lima_gem_submit_bo bo = {.handle = 1, .flags = LIMA_SUBMIT_BO_WRITE};
    struct drm_lima_gp_frame frame = {{1, 2, 3}};
    struct drm_lima_gem_submit submit = {.ctx = 3,
                                         .pipe = LIMA_PIPE_GP,
                                         .nr_bos = 1,
                                         .frame_size = sizeof(frame),
                                         .bos = ADDRESS(&bo),
                                         .frame = ADDRESS(&frame),
                                         .out_sync = 6,
                                         .in_sync = {5}};

    MUST(fd, DRM_IOCTL_LIMA_GEM_SUBMIT, &submit);
    submit.pipe = LIMA_PIPE_PP;
    MUST(fd, DRM_IOCTL_LIMA_GEM_SUBMIT, &submit);
}

void run_msm(int fd)
{
    struct drm_msm_gem_submit_bo bo = {.handle = 1};
    struct drm_msm_gem_submit_reloc reloc = {.submit_offset = 8, .reloc_offset = 64};
    struct drm_msm_gem_submit_cmd command = {.size = 64, .nr_relocs = 1, .relocs = ADDRESS(&reloc)};
    struct drm_msm_gem_submit_syncobj sync = {.handle = 5, .point = 3};
    struct drm_msm_gem_submit submit = {.flags = MSM_PIPE_3D0,
                                        .nr_bos = 1,
                                        .bos = ADDRESS(&bo),
                                        .nr_cmds = 1,
                                        .cmds = ADDRESS(&command),
                                        .in_syncobjs = ADDRESS(&sync),
                                        .nr_in_syncobjs = 1,
                                        .syncobj_stride = sizeof(sync)};
    struct drm_msm_gem_info name = {
        .handle = 1, .info = MSM_INFO_SET_NAME, .value = ADDRESS("name"), .len = 4};
    struct drm_msm_gem_info offset = {.handle = 1, .info = MSM_INFO_GET_OFFSET};

    MUST(fd, DRM_IOCTL_MSM_GEM_INFO, &name);
    MUST(fd, DRM_IOCTL_MSM_GEM_INFO, &offset);
    MUST(fd, DRM_IOCTL_MSM_GEM_SUBMIT, &submit);
    submit.queueid = 2;
    MUST(fd, DRM_IOCTL_MSM_GEM_SUBMIT, &submit);
}
