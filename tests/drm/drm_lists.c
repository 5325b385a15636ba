/* SPDX-License-Identifier: Apache-2.0
 *
 * Small programs whose ioctls lead to lists and lists of lists, on a device that takes everything.
 */
#include "tests/drm/drm_small.h"

#include <linux/dma-buf.h>

#include <etnaviv_drm.h>
#include <lima_drm.h>
#include <msm_drm.h>
#include <panfrost_drm.h>
#include <radeon_drm.h>
#include <tegra_drm.h>
#include <v3d_drm.h>
#include <vc4_drm.h>

#define ADDRESS(what) ((uintptr_t)(what))

/* Two objects: a plane whose type was asked for, and one of which nothing is known. */
void run_commit(int fd)
{
    uint32_t objects[] = {31, 40}, counts[] = {2, 1}, properties[] = {8, 9, 10};
    uint64_t values[] = {1, 45, 7};
    struct drm_mode_get_property property = {.prop_id = 8};
    struct drm_mode_obj_get_properties plane = {.obj_id = 31, .obj_type = DRM_MODE_OBJECT_PLANE};
    struct drm_mode_create_blob blob = {.data = ADDRESS(values), .length = 4};
    struct drm_mode_create_lease lease = {.object_ids = ADDRESS(objects), .object_count = 2};
    struct drm_mode_atomic commit = {.flags = DRM_MODE_ATOMIC_NONBLOCK,
                                     .count_objs = 2,
                                     .objs_ptr = ADDRESS(objects),
                                     .count_props_ptr = ADDRESS(counts),
                                     .props_ptr = ADDRESS(properties),
                                     .prop_values_ptr = ADDRESS(values)};

    MUST(fd, DRM_IOCTL_MODE_GETPROPERTY, &property);
    MUST(fd, DRM_IOCTL_MODE_OBJ_GETPROPERTIES, &plane);
    MUST(fd, DRM_IOCTL_MODE_CREATEPROPBLOB, &blob);
    MUST(fd, DRM_IOCTL_MODE_ATOMIC, &commit);
    commit.count_props_ptr = 0; /* nothing says how many there are */
    MUST(fd, DRM_IOCTL_MODE_ATOMIC, &commit);
    MUST(fd, DRM_IOCTL_MODE_CREATE_LEASE, &lease);
}

/* The second name ends where memory does. */
void run_names(int fd)
{
    struct drm_mode_create_dumb dumb = {.width = 8, .height = 8, .bpp = 32};
    struct drm_prime_handle prime = {.flags = DRM_CLOEXEC};
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);
    prime.handle = dumb.handle;
    MUST(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
    munmap(pages + 4096, 4096);
    strcpy(pages + 4096 - 5, "edge");
    printf("%d\n", ioctl(prime.fd, DMA_BUF_SET_NAME, "a texture"));
    printf("%d\n", ioctl(prime.fd, DMA_BUF_SET_NAME_A, pages + 4096 - 5));
    printf("%d\n", ioctl(prime.fd, DMA_BUF_SET_NAME, NULL));
    close(prime.fd);
}

/* ---- submits: on which stream, and with which objects to wait for and to signal
 * ------------------
 */

static const uint32_t handles[] = {1, 2};

void run_radeon(int fd)
{
    uint32_t words[] = {0xc0001000, 7}, flags[] = {RADEON_CS_USE_VM, RADEON_CS_RING_COMPUTE};
    struct drm_radeon_cs_reloc reloc = {.handle = 1, .read_domains = RADEON_GEM_DOMAIN_VRAM};
    struct drm_radeon_cs_chunk chunks[] = {{RADEON_CHUNK_ID_IB, 2, ADDRESS(words)},
                                           {RADEON_CHUNK_ID_RELOCS, 4, ADDRESS(&reloc)},
                                           {RADEON_CHUNK_ID_FLAGS, 2, ADDRESS(flags)}};
    uint64_t list[] = {ADDRESS(&chunks[0]), ADDRESS(&chunks[1]), ADDRESS(&chunks[2])};
    struct drm_radeon_cs cs = {.num_chunks = 2, .chunks = ADDRESS(list)};

    MUST(fd, DRM_IOCTL_RADEON_CS, &cs);
    cs.num_chunks = 3;
    MUST(fd, DRM_IOCTL_RADEON_CS, &cs);
}

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

void run_vc4(int fd)
{
    uint8_t commands[3] = {1, 2, 3};
    struct drm_vc4_submit_cl cl = {.bin_cl = ADDRESS(commands),
                                   .bin_cl_size = 3,
                                   .bo_handles = ADDRESS(handles),
                                   .bo_handle_count = 2,
                                   .in_sync = 5,
                                   .out_sync = 6};
    struct drm_vc4_label_bo label = {.handle = 1, .len = 4, .name = ADDRESS("name")};

    MUST(fd, DRM_IOCTL_VC4_LABEL_BO, &label);
    MUST(fd, DRM_IOCTL_VC4_SUBMIT_CL, &cl);
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

void run_tegra(int fd)
{
    uint32_t words[] = {1, 2, 3};
    struct drm_tegra_submit_cmd command = {.type = DRM_TEGRA_SUBMIT_CMD_GATHER_UPTR};
    struct drm_tegra_submit_buf buffer = {.mapping = 4, .reloc = {.target_offset = 16}};
    struct drm_tegra_channel_submit submit = {.context = 2,
                                              .num_bufs = 1,
                                              .num_cmds = 1,
                                              .gather_data_words = 3,
                                              .bufs_ptr = ADDRESS(&buffer),
                                              .cmds_ptr = ADDRESS(&command),
                                              .gather_data_ptr = ADDRESS(words),
                                              .syncobj_in = 5};

    MUST(fd, DRM_IOCTL_TEGRA_CHANNEL_SUBMIT, &submit);
}
