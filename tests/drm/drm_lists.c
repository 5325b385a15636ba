/* SPDX-License-Identifier: Apache-2.0
 *
 * Small programs whose ioctls lead to lists and lists of lists, on a device that takes everything.
 */
#include "tests/drm/drm_small.h"

#include <linux/dma-buf.h>

#include <radeon_drm.h>
#include <tegra_drm.h>
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
