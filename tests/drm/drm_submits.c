/* SPDX-License-Identifier: Apache-2.0
 *
 * Small programs on the ioctls of each driver: memory, commands that write numbers there, a wait,
 * and a look at what came.
 */
#include "tests/drm/drm_small.h"
#include "tests/drm/vgem_file.h"

#include <amdgpu_drm.h>
#include <i915_drm.h>
#include <nouveau_drm.h>
#include <virtgpu_drm.h>

#define SIZE  8192u
#define WORDS 64u

static void show(const char *name, void *memory)
{
    printf("%s %016llx\n", name, (unsigned long long)hash_of(memory, SIZE));
}

/* ---- amdgpu
 * ---------------------------------------------------------------------------------------
 */

uint32_t amdgpu_make(int fd, uint64_t address, uint64_t *offset)
{
    union drm_amdgpu_gem_create create = {
        .in = {.bo_size = SIZE, .alignment = 4096, .domains = AMDGPU_GEM_DOMAIN_GTT}};
    union drm_amdgpu_gem_mmap map = {0};
    struct drm_amdgpu_gem_va va = {.operation = AMDGPU_VA_OP_MAP,
                                   .flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE,
                                   .va_address = address,
                                   .map_size = SIZE};

    MUST(fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &create);
    va.handle = map.in.handle = create.out.handle;
    MUST(fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map);
    MUST(fd, DRM_IOCTL_AMDGPU_GEM_VA, &va);
    *offset = map.out.addr_ptr;
    return va.handle;
}

static uint32_t amdgpu_object(int fd, uint64_t address, void **memory)
{
    uint64_t offset;
    uint32_t handle = amdgpu_make(fd, address, &offset);

    *memory = map_at(fd, offset, SIZE);
    return handle;
}

static void amdgpu_submit(int fd, uint32_t context, uint32_t *ib, uint64_t target, uint32_t round)
{
    struct drm_amdgpu_cs_chunk_ib info = {
        .va_start = 0x100000, .ip_type = AMDGPU_HW_IP_COMPUTE, .ring = round & 1};
    struct drm_amdgpu_cs_chunk chunk = {AMDGPU_CHUNK_ID_IB, sizeof(info) / 4, (uintptr_t)&info};
    uint64_t chunks[1] = {(uintptr_t)&chunk};
    union drm_amdgpu_cs cs = {
        .in = {.ctx_id = context, .num_chunks = 1, .chunks = (uintptr_t)chunks}};
    union drm_amdgpu_wait_cs wait = {.in = {.timeout = ~0ull,
                                            .ip_type = AMDGPU_HW_IP_COMPUTE,
                                            .ring = round & 1,
                                            .ctx_id = context}};
    uint64_t address = target + 4ull * WORDS * round;

    ib[0] = 3u << 30 | (2 + WORDS) << 16 | 0x37 << 8;
    ib[1] = 0;
    ib[2] = (uint32_t)address;
    ib[3] = (uint32_t)(address >> 32);
    for (uint32_t i = 0; i < WORDS; i++)
        ib[4 + i] = round * 1000 + i;
    info.ib_bytes = 4 * (4 + WORDS);
    MUST(fd, DRM_IOCTL_AMDGPU_CS, &cs);
    wait.in.handle = cs.out.handle;
    MUST(fd, DRM_IOCTL_AMDGPU_WAIT_CS, &wait);
}

/* One after the other, until the device is reset. */
void run_amdgpu_lost(int fd)
{
    union drm_amdgpu_ctx context = {.in = {.op = AMDGPU_CTX_OP_ALLOC_CTX}};
    union drm_amdgpu_cs cs;
    uint32_t round = 0;

    MUST(fd, DRM_IOCTL_AMDGPU_CTX, &context);
    do
        cs = (union drm_amdgpu_cs){.in = {.ctx_id = context.out.alloc.ctx_id}};
    while (ioctl(fd, DRM_IOCTL_AMDGPU_CS, &cs) == 0 && ++round < 10);
    perror("amdgpu_lost");
    printf("%u\n", round);
}

/* The target is memory of the program. */
void run_amdgpu_memory(int fd)
{
    union drm_amdgpu_ctx context = {.in = {.op = AMDGPU_CTX_OP_ALLOC_CTX}};
    char *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct drm_amdgpu_gem_userptr user = {.addr = (uintptr_t)own, .size = SIZE};
    struct drm_amdgpu_gem_va va = {.operation = AMDGPU_VA_OP_MAP,
                                   .flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE,
                                   .va_address = 0x7f0000200000,
                                   .map_size = SIZE};
    void *ib;

    amdgpu_object(fd, 0x100000, &ib);
    MUST(fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &user);
    va.handle = user.handle;
    MUST(fd, DRM_IOCTL_AMDGPU_GEM_VA, &va);
    MUST(fd, DRM_IOCTL_AMDGPU_CTX, &context);
    strcpy(own + 4096, "what the program writes");
    for (uint32_t round = 0; round < 4; round++)
        amdgpu_submit(fd, context.out.alloc.ctx_id, ib, 0x7f0000200000, round);
    show("amdgpu_memory", own);
    munmap(ib, SIZE);
    munmap(own, SIZE); /* before the object goes */
}

/* ---- for drm_udmabuf.c and drm_maps.c */

static uint32_t amdgpu_context;
static void *amdgpu_ib;

void amdgpu_begin(int fd)
{
    amdgpu_object(fd, 0x100000, &amdgpu_ib);
    amdgpu_begin_at(fd, amdgpu_ib);
}

void amdgpu_begin_at(int fd, void *ib)
{
    union drm_amdgpu_ctx context = {.in = {.op = AMDGPU_CTX_OP_ALLOC_CTX}};

    amdgpu_ib = ib;
    MUST(fd, DRM_IOCTL_AMDGPU_CTX, &context);
    amdgpu_context = context.out.alloc.ctx_id;
}

uint32_t amdgpu_import(int fd, int dmabuf)
{
    struct drm_prime_handle prime = {.fd = dmabuf};
    struct drm_amdgpu_gem_va va = {.operation = AMDGPU_VA_OP_MAP,
                                   .flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE,
                                   .va_address = 0x7f0000200000,
                                   .map_size = SIZE};

    MUST(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);
    va.handle = prime.handle;
    MUST(fd, DRM_IOCTL_AMDGPU_GEM_VA, &va);
    return prime.handle;
}

void amdgpu_store(int fd, uint32_t round)
{
    amdgpu_submit(fd, amdgpu_context, amdgpu_ib, 0x7f0000200000, round);
}

void run_amdgpu(int fd)
{
    union drm_amdgpu_ctx context = {.in = {.op = AMDGPU_CTX_OP_ALLOC_CTX}};
    void *ib, *target;
    uint32_t ib_handle = amdgpu_object(fd, 0x100000, &ib);
    uint32_t target_handle = amdgpu_object(fd, 0x7f0000200000, &target);
    struct drm_gem_close close = {0};

    MUST(fd, DRM_IOCTL_AMDGPU_CTX, &context);
    for (uint32_t round = 0; round < 4; round++)
        amdgpu_submit(fd, context.out.alloc.ctx_id, ib, 0x7f0000200000, round);
    show("amdgpu", target);
    munmap(ib, SIZE);
    munmap(target, SIZE);
    close.handle = ib_handle;
    MUST(fd, DRM_IOCTL_GEM_CLOSE, &close);
    close.handle = target_handle;
    MUST(fd, DRM_IOCTL_GEM_CLOSE, &close);
}

/* ---- i915
 * -----------------------------------------------------------------------------------------
 */

uint32_t i915_object(int fd, void **memory)
{
    struct drm_i915_gem_create create = {.size = SIZE};
    struct drm_i915_gem_mmap_offset map = {.flags = I915_MMAP_OFFSET_WB};

    MUST(fd, DRM_IOCTL_I915_GEM_CREATE, &create);
    map.handle = create.handle;
    MUST(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &map);
    *memory = map_at(fd, map.offset, SIZE);
    return create.handle;
}

/* All of the program's memory is the device's from now on. */
void run_unfollowed(int fd)
{
    struct drm_nouveau_svm_init init = {.unmanaged_addr = 0x100000000, .unmanaged_size = SIZE};

    MUST(fd, DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_SVM_INIT, struct drm_nouveau_svm_init), &init);
}

static void i915_batch(uint32_t *batch, uint64_t target, uint32_t value)
{
    for (uint32_t i = 0; i < WORDS; i++, batch += 4) {
        uint64_t address = target + 4 * i;
        batch[0] = 0x10000002;
        memcpy(batch + 1, &address, sizeof(address));
        batch[3] = value + i;
    }
    batch[0] = 0x0a000000;
}

/* Once with addresses of the program's choice, once with relocations. */
void run_i915(int fd)
{
    void *target, *batch;
    uint32_t target_handle = i915_object(fd, &target), batch_handle = i915_object(fd, &batch);
    struct drm_i915_gem_relocation_entry relocs[WORDS];
    struct drm_i915_gem_exec_object2 objects[2] = {
        {.handle = target_handle,
         .offset = 0x400000,
         .flags = EXEC_OBJECT_PINNED | EXEC_OBJECT_WRITE},
        {.handle = batch_handle, .offset = 0x800000, .flags = EXEC_OBJECT_PINNED}};
    struct drm_i915_gem_execbuffer2 e = {.buffers_ptr = (uintptr_t)objects,
                                         .buffer_count = 2,
                                         .flags = I915_EXEC_RENDER | I915_EXEC_NO_RELOC};
    struct drm_i915_gem_wait wait = {.bo_handle = target_handle, .timeout_ns = -1};
    struct drm_i915_getparam param = {.param = I915_PARAM_CHIPSET_ID, .value = &(int){0}};

    MUST(fd, DRM_IOCTL_I915_GETPARAM, &param);
    i915_batch(batch, 0x400000, 5000);
    MUST(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &e);
    MUST(fd, DRM_IOCTL_I915_GEM_WAIT, &wait);
    show("i915", target);
    i915_batch(batch, 0, 7000);
    memset(relocs, 0, sizeof(relocs));
    for (uint32_t i = 0; i < WORDS; i++) {
        relocs[i].target_handle = target_handle;
        relocs[i].delta = 1024 + 4 * i;
        relocs[i].offset = 16 * i + 4;
    }
    objects[0].flags = objects[1].flags = 0;
    objects[1].relocs_ptr = (uintptr_t)relocs;
    objects[1].relocation_count = WORDS;
    e.flags = I915_EXEC_BLT;
    MUST(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &e);
    MUST(fd, DRM_IOCTL_I915_GEM_WAIT, &wait);
    show("i915", target);
    munmap(batch, SIZE);
    munmap(target, SIZE);
}

/* The batch mapped by an ioctl, the target of the program's own memory: once submitted with an
 * object, then again after the program has written over what the device wrote. */
void run_i915_memory(int fd)
{
    struct drm_i915_gem_create create = {.size = SIZE};
    struct drm_i915_gem_mmap map = {.size = SIZE};
    char *own = mmap(NULL, 4 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct drm_i915_gem_userptr user = {.user_ptr = (uintptr_t)own + SIZE, .user_size = SIZE};
    struct drm_i915_gem_exec_object2 objects[2] = {
        {.offset = 0x400000, .flags = EXEC_OBJECT_PINNED | EXEC_OBJECT_WRITE},
        {.offset = 0x800000, .flags = EXEC_OBJECT_PINNED}};
    struct drm_i915_gem_execbuffer2 e = {
        .buffers_ptr = (uintptr_t)objects, .buffer_count = 2, .flags = I915_EXEC_RENDER};
    struct drm_i915_gem_wait wait = {.timeout_ns = -1};
    struct drm_gem_close close = {0};

    MUST(fd, DRM_IOCTL_I915_GEM_CREATE, &create);
    map.handle = objects[1].handle = create.handle;
    MUST(fd, DRM_IOCTL_I915_GEM_MMAP, &map);
    memset(own + SIZE, 0x11, SIZE);
    MUST(fd, DRM_IOCTL_I915_GEM_USERPTR, &user);
    wait.bo_handle = objects[0].handle = close.handle = user.handle;
    for (uint32_t round = 0; round < 2; round++) {
        i915_batch((void *)(uintptr_t)map.addr_ptr, 0x400000, 5000 + 100 * round);
        own[SIZE + 64 + round] = (char)round;
        MUST(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &e);
        MUST(fd, DRM_IOCTL_I915_GEM_WAIT, &wait);
        show("i915_memory", own + SIZE);
    }
    MUST(fd, DRM_IOCTL_GEM_CLOSE, &close);
    munmap((void *)(uintptr_t)map.addr_ptr, SIZE);
    munmap(own, 4 * SIZE);
}

/* ---- nouveau
 * --------------------------------------------------------------------------------------
 */

static struct drm_nouveau_gem_new nouveau_object(int fd, void **memory)
{
    struct drm_nouveau_gem_new object = {.info = {.domain = NOUVEAU_GEM_DOMAIN_GART, .size = SIZE}};

    MUST(fd, DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_NEW, struct drm_nouveau_gem_new), &object);
    *memory = map_at(fd, object.info.map_handle, SIZE);
    return object;
}

void run_nouveau(int fd)
{
    void *target, *words;
    struct drm_nouveau_gem_new t = nouveau_object(fd, &target), w = nouveau_object(fd, &words);
    struct drm_nouveau_gem_pushbuf_bo buffers[2] = {{.handle = t.info.handle,
                                                     .write_domains = NOUVEAU_GEM_DOMAIN_GART,
                                                     .valid_domains = NOUVEAU_GEM_DOMAIN_GART},
                                                    {.handle = w.info.handle,
                                                     .read_domains = NOUVEAU_GEM_DOMAIN_GART,
                                                     .valid_domains = NOUVEAU_GEM_DOMAIN_GART}};
    struct drm_nouveau_gem_pushbuf_push push = {.bo_index = 1, .length = 8 * WORDS};
    struct drm_nouveau_gem_pushbuf p = {.channel = 1,
                                        .nr_buffers = 2,
                                        .buffers = (uintptr_t)buffers,
                                        .nr_push = 1,
                                        .push = (uintptr_t)&push};
    struct drm_nouveau_gem_cpu_prep prep = {.handle = t.info.handle,
                                            .flags = NOUVEAU_GEM_CPU_PREP_WRITE};
    uint32_t *pairs = words;

    for (uint32_t i = 0; i < WORDS; i++) {
        pairs[2 * i] = 8 * i;
        pairs[2 * i + 1] = 3000 + i;
    }
    MUST(fd, DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_PUSHBUF, struct drm_nouveau_gem_pushbuf),
         &p);
    MUST(fd, DRM_IOW(DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_CPU_PREP, struct drm_nouveau_gem_cpu_prep),
         &prep);
    show("nouveau", target);
    munmap(target, SIZE);
    munmap(words, SIZE);
}

/* ---- vgem
 * -----------------------------------------------------------------------------------------
 */

void run_vgem(int fd)
{
    struct drm_mode_create_dumb create = {.width = 64, .height = 32, .bpp = 32};
    struct drm_mode_map_dumb map = {0};
    struct drm_vgem_fence_attach attach = {.flags = VGEM_FENCE_WRITE};
    struct drm_vgem_fence_signal signal = {0};
    struct drm_prime_handle prime = {.flags = DRM_CLOEXEC | DRM_RDWR};
    struct drm_mode_destroy_dumb destroy = {0};
    unsigned char *memory;

    MUST(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create);
    attach.handle = map.handle = prime.handle = destroy.handle = create.handle;
    MUST(fd, DRM_IOCTL_MODE_MAP_DUMB, &map);
    memory = map_at(fd, map.offset, SIZE);
    for (unsigned i = 0; i < SIZE; i++)
        memory[i] = (unsigned char)(i * 7);
    MUST(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach);
    signal.fence = attach.out_fence;
    MUST(fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal);
    MUST(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
    MUST(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);
    close(prime.fd);
    show("vgem", memory);
    munmap(memory, SIZE);
    MUST(fd, DRM_IOCTL_MODE_DESTROY_DUMB, &destroy);
}

/* ---- virtio-gpu
 * -----------------------------------------------------------------------------------
 */

static void virtgpu(int fd, uint32_t bind)
{
    struct drm_virtgpu_resource_create create = {.target = 0,
                                                 .format = 64,
                                                 .bind = bind,
                                                 .width = SIZE,
                                                 .height = 1,
                                                 .depth = 1,
                                                 .array_size = 1,
                                                 .size = SIZE};
    struct drm_virtgpu_map map = {0};
    uint32_t command[1 + 11 + WORDS] = {9 | (11 + WORDS) << 16};
    struct drm_virtgpu_execbuffer e = {.size = sizeof(command),
                                       .command = (uintptr_t)command,
                                       .flags = VIRTGPU_EXECBUF_FENCE_FD_OUT};
    struct drm_virtgpu_3d_wait wait = {.flags = VIRTGPU_WAIT_NOWAIT};
    void *memory;

    MUST(fd, DRM_IOCTL_VIRTGPU_RESOURCE_CREATE, &create);
    map.handle = wait.handle = create.bo_handle;
    MUST(fd, DRM_IOCTL_VIRTGPU_MAP, &map);
    memory = map_at(fd, map.offset, SIZE);
    memset(memory, 3, SIZE / 2);
    command[1] = create.res_handle;
    command[6] = 256;
    command[9] = 4 * WORDS;
    for (uint32_t i = 0; i < WORDS; i++)
        command[12 + i] = 90000 + i;
    e.bo_handles = (uintptr_t)&create.bo_handle;
    e.num_bo_handles = 1;
    MUST(fd, DRM_IOCTL_VIRTGPU_EXECBUFFER, &e);
    close(e.fence_fd);
    MUST(fd, DRM_IOCTL_VIRTGPU_WAIT, &wait);
    show("virtgpu", memory);
    munmap(memory, SIZE);
}

void run_virtgpu(int fd)
{
    virtgpu(fd, 1 << 4);
}

/* Plays the device that writes the results of queries. */
void run_results(int fd)
{
    virtgpu(fd, 1 << 17);
}
