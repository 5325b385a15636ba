/* SPDX-License-Identifier: Apache-2.0
 *
 * Every way in which a program learns that the device is done. It then writes over what the device
 * has read, and over what it has written. drm_learns DRIVER WAY
 */
#include "tests/drm/drm_small.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include <amdgpu_drm.h>
#include <i915_drm.h>
#include <linux/io_uring.h>
#include <linux/sync_file.h>
#include <nouveau_drm.h>
#include <virtgpu_drm.h>
#ifdef FAKE_XE
#include <xe_drm.h>
#endif

#define SIZE    8192u
#define WORDS   64u
#define ROUNDS  4u
#define BATCH   0x100000u
#define TARGET  0x200000u
#define FOREVER INT64_MAX
/* Wait until an ioctl that may fail has succeeded. */
#define UNTIL(fd, request, argument)                                                               \
    while (ioctl(fd, request, argument) != 0)                                                      \
        if (errno != ETIME && errno != EBUSY)                                                      \
    exit((perror(#request), 1))

static int gpu;
static uint32_t *batch, *target;
static uint32_t batch_handle, target_handle, context, syncobj;
static uint64_t submitted; /* what the submit gave, or its number */
static int fence = -1;     /* that the submit gave */
static uint32_t place;     /* which half of the batch, and which target */

/* ---- amdgpu --------------------------------------------------------------------------------- */

static void amdgpu_setup(void)
{
    union drm_amdgpu_ctx c = {.in = {.op = AMDGPU_CTX_OP_ALLOC_CTX}};
    uint64_t offset;

    batch_handle = amdgpu_make(gpu, BATCH, &offset);
    batch = map_at(gpu, (off_t)offset, SIZE);
    target_handle = amdgpu_make(gpu, TARGET, &offset);
    target = map_at(gpu, (off_t)offset, SIZE);
    MUST(gpu, DRM_IOCTL_AMDGPU_CTX, &c);
    context = c.out.alloc.ctx_id;
}

static void amdgpu_submit(uint32_t value)
{
    struct drm_amdgpu_cs_chunk_ib info = {.va_start = BATCH + place * SIZE / 2,
                                          .ip_type = AMDGPU_HW_IP_COMPUTE,
                                          .ib_bytes = 4 * (4 + WORDS)};
    struct drm_amdgpu_cs_chunk_sem out = {syncobj};
    struct drm_amdgpu_cs_chunk list[2] = {
        {AMDGPU_CHUNK_ID_IB, sizeof(info) / 4, (uintptr_t)&info},
        {AMDGPU_CHUNK_ID_SYNCOBJ_OUT, sizeof(out) / 4, (uintptr_t)&out}};
    uint64_t chunks[2] = {(uintptr_t)&list[0], (uintptr_t)&list[1]};
    union drm_amdgpu_cs cs = {
        .in = {.ctx_id = context, .num_chunks = 2, .chunks = (uintptr_t)chunks}};
    uint32_t *p = batch + place * SIZE / 2 / sizeof(*p);

    p[0] = 3u << 30 | (2 + WORDS) << 16 | 0x37 << 8;
    p[1] = p[3] = 0;
    p[2] = TARGET + place * SIZE;
    for (uint32_t i = 0; i < WORDS; i++)
        p[4 + i] = value + i;
    MUST(gpu, DRM_IOCTL_AMDGPU_CS, &cs);
    submitted = cs.out.handle;
}

static void amdgpu_wait_cs(uint64_t timeout)
{
    union drm_amdgpu_wait_cs wait;

    do {
        wait = (union drm_amdgpu_wait_cs){.in = {.handle = submitted,
                                                 .timeout = timeout,
                                                 .ip_type = AMDGPU_HW_IP_COMPUTE,
                                                 .ctx_id = context}};
        MUST(gpu, DRM_IOCTL_AMDGPU_WAIT_CS, &wait);
    } while (wait.out.status);
}

static void amdgpu_wait_idle(uint64_t timeout)
{
    union drm_amdgpu_gem_wait_idle wait;

    do {
        wait =
            (union drm_amdgpu_gem_wait_idle){.in = {.handle = target_handle, .timeout = timeout}};
        MUST(gpu, DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, &wait);
    } while (wait.out.status);
}

static void amdgpu_wait_fences(uint64_t timeout)
{
    struct drm_amdgpu_fence one = {
        .ctx_id = context, .ip_type = AMDGPU_HW_IP_COMPUTE, .seq_no = submitted};
    union drm_amdgpu_wait_fences wait;

    do {
        wait = (union drm_amdgpu_wait_fences){
            .in = {
                .fences = (uintptr_t)&one, .fence_count = 1, .wait_all = 1, .timeout_ns = timeout}};
        MUST(gpu, DRM_IOCTL_AMDGPU_WAIT_FENCES, &wait);
    } while (!wait.out.status);
}

/* One submit is always under way, to the other target: what that holds is chance. The last one is
 * when its target is unmapped. */
static void run_pipelined(void)
{
    uint32_t *targets[2] = {target, NULL};
    uint64_t offset, last = 0;

    amdgpu_make(gpu, TARGET + SIZE, &offset);
    targets[1] = map_at(gpu, (off_t)offset, SIZE);
    for (uint32_t round = 0; round < 8; round++) {
        place = round % 2;
        amdgpu_submit(1000 * (round + 1));
        if (round) {
            uint64_t now = submitted;
            submitted = last;
            amdgpu_wait_cs(FOREVER);
            submitted = now;
            printf("%016llx\n", (unsigned long long)hash_of(targets[!place], SIZE));
            targets[!place][5] = round;
        }
        last = submitted;
    }
    munmap(targets[1], SIZE);
    amdgpu_wait_cs(FOREVER);
}

/* ---- i915 ----------------------------------------------------------------------------------- */

static void i915_setup(void)
{
    target_handle = i915_object(gpu, (void **)&target);
    batch_handle = i915_object(gpu, (void **)&batch);
}

/* Also xe's. */
static void fill_intel(uint32_t value)
{
    uint32_t *p = batch;

    for (uint32_t i = 0; i < WORDS; i++, p += 4) {
        p[0] = 0x10000002;
        p[1] = TARGET + 4 * i;
        p[2] = 0;
        p[3] = value + i;
    }
    p[0] = 0x0a000000;
}

static void i915_submit(uint32_t value)
{
    struct drm_i915_gem_exec_fence out = {syncobj, I915_EXEC_FENCE_SIGNAL};
    struct drm_i915_gem_exec_object2 objects[2] = {
        {.handle = target_handle,
         .offset = TARGET,
         .flags = EXEC_OBJECT_PINNED | EXEC_OBJECT_WRITE},
        {.handle = batch_handle, .offset = BATCH, .flags = EXEC_OBJECT_PINNED}};
    struct drm_i915_gem_execbuffer2 e = {.buffers_ptr = (uintptr_t)objects,
                                         .buffer_count = 2,
                                         .num_cliprects = 1,
                                         .cliprects_ptr = (uintptr_t)&out,
                                         .flags = I915_EXEC_RENDER | I915_EXEC_NO_RELOC |
                                                  I915_EXEC_FENCE_ARRAY | I915_EXEC_FENCE_OUT};
    static int previous = -1; /* what the submit before this one gave */

    if (previous >= 0) {
        e.flags |= I915_EXEC_FENCE_IN;
        e.rsvd2 = (uint32_t)previous;
    }
    fill_intel(value);
    MUST(gpu, DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, &e);
    fence = (int)(e.rsvd2 >> 32);
    if (previous >= 0)
        close(previous);
    previous = dup(fence);
}

static void i915_wait(uint64_t timeout)
{
    struct drm_i915_gem_wait wait = {.bo_handle = target_handle, .timeout_ns = (int64_t)timeout};

    UNTIL(gpu, DRM_IOCTL_I915_GEM_WAIT, &wait);
}

static void i915_busy(uint64_t timeout)
{
    struct drm_i915_gem_busy busy = {.handle = target_handle};

    do
        MUST(gpu, DRM_IOCTL_I915_GEM_BUSY, &busy);
    while (busy.busy);
}

static void i915_set_domain(uint64_t timeout)
{
    struct drm_i915_gem_set_domain set = {target_handle, I915_GEM_DOMAIN_CPU, I915_GEM_DOMAIN_CPU};

    MUST(gpu, DRM_IOCTL_I915_GEM_SET_DOMAIN, &set);
}

static void i915_pread(uint64_t timeout)
{
    uint32_t words[WORDS];
    struct drm_i915_gem_pread read = {
        .handle = target_handle, .size = sizeof(words), .data_ptr = (uintptr_t)words};

    MUST(gpu, DRM_IOCTL_I915_GEM_PREAD, &read);
    printf("%016llx\n", (unsigned long long)hash_of(words, sizeof(words)));
}

/* ---- nouveau -------------------------------------------------------------------------------- */

#define NOUVEAU(name, type) DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_##name, struct type)

static uint32_t nouveau_object(uint32_t **memory)
{
    struct drm_nouveau_gem_new object = {.info = {.domain = NOUVEAU_GEM_DOMAIN_GART, .size = SIZE}};

    MUST(gpu, NOUVEAU(GEM_NEW, drm_nouveau_gem_new), &object);
    *memory = map_at(gpu, (off_t)object.info.map_handle, SIZE);
    return object.info.handle;
}

static void nouveau_setup(void)
{
    target_handle = nouveau_object(&target);
    batch_handle = nouveau_object(&batch);
}

static void nouveau_submit(uint32_t value)
{
    struct drm_nouveau_gem_pushbuf_bo buffers[2] = {{.handle = target_handle,
                                                     .write_domains = NOUVEAU_GEM_DOMAIN_GART,
                                                     .valid_domains = NOUVEAU_GEM_DOMAIN_GART},
                                                    {.handle = batch_handle,
                                                     .read_domains = NOUVEAU_GEM_DOMAIN_GART,
                                                     .valid_domains = NOUVEAU_GEM_DOMAIN_GART}};
    struct drm_nouveau_gem_pushbuf_push push = {.bo_index = 1, .length = 8 * WORDS};
    struct drm_nouveau_gem_pushbuf p = {.channel = 1,
                                        .nr_buffers = 2,
                                        .buffers = (uintptr_t)buffers,
                                        .nr_push = 1,
                                        .push = (uintptr_t)&push};

    for (uint32_t i = 0; i < WORDS; i++) {
        batch[2 * i] = 4 * i;
        batch[2 * i + 1] = value + i;
    }
    MUST(gpu, NOUVEAU(GEM_PUSHBUF, drm_nouveau_gem_pushbuf), &p);
}

static void nouveau_prepare(uint64_t timeout)
{
    struct drm_nouveau_gem_cpu_prep prep = {.handle = target_handle,
                                            .flags = NOUVEAU_GEM_CPU_PREP_WRITE |
                                                     (timeout ? 0 : NOUVEAU_GEM_CPU_PREP_NOWAIT)};

    UNTIL(gpu,
          DRM_IOW(DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_CPU_PREP, struct drm_nouveau_gem_cpu_prep),
          &prep);
}

/* ---- virtio-gpu ----------------------------------------------------------------------------- */

static uint32_t resource;

static void virtgpu_setup(void)
{
    struct drm_virtgpu_resource_create create = {.format = 64,
                                                 .bind = 1 << 4,
                                                 .width = SIZE,
                                                 .height = 1,
                                                 .depth = 1,
                                                 .array_size = 1,
                                                 .size = SIZE};
    struct drm_virtgpu_map map = {0};

    MUST(gpu, DRM_IOCTL_VIRTGPU_RESOURCE_CREATE, &create);
    map.handle = target_handle = create.bo_handle;
    resource = create.res_handle;
    MUST(gpu, DRM_IOCTL_VIRTGPU_MAP, &map);
    target = map_at(gpu, (off_t)map.offset, SIZE);
}

static void virtgpu_submit(uint32_t value)
{
    uint32_t command[1 + 11 + WORDS] = {9 | (11 + WORDS) << 16, resource};
    struct drm_virtgpu_execbuffer e = {.size = sizeof(command),
                                       .command = (uintptr_t)command,
                                       .flags = VIRTGPU_EXECBUF_FENCE_FD_OUT,
                                       .bo_handles = (uintptr_t)&target_handle,
                                       .num_bo_handles = 1};

    command[9] = 4 * WORDS;
    for (uint32_t i = 0; i < WORDS; i++)
        command[12 + i] = value + i;
    MUST(gpu, DRM_IOCTL_VIRTGPU_EXECBUFFER, &e);
    fence = e.fence_fd;
}

static void virtgpu_wait(uint64_t timeout)
{
    struct drm_virtgpu_3d_wait wait = {.handle = target_handle,
                                       .flags = timeout ? 0 : VIRTGPU_WAIT_NOWAIT};

    UNTIL(gpu, DRM_IOCTL_VIRTGPU_WAIT, &wait);
}

/* ---- xe ------------------------------------------------------------------------------------- */

#ifdef FAKE_XE
static uint64_t round_number;

static uint32_t xe_object(uint32_t vm, uint64_t address, uint32_t **memory)
{
    struct drm_xe_gem_create create = {
        .size = SIZE, .placement = 1, .cpu_caching = DRM_XE_GEM_CPU_CACHING_WB};
    struct drm_xe_gem_mmap_offset map = {0};
    struct drm_xe_vm_bind bind = {.vm_id = vm, .num_binds = 1};

    MUST(gpu, DRM_IOCTL_XE_GEM_CREATE, &create);
    bind.bind = (struct drm_xe_vm_bind_op){
        .obj = create.handle, .range = SIZE, .addr = address, .op = DRM_XE_VM_BIND_OP_MAP};
    map.handle = create.handle;
    MUST(gpu, DRM_IOCTL_XE_GEM_MMAP_OFFSET, &map);
    *memory = map_at(gpu, (off_t)map.offset, SIZE);
    MUST(gpu, DRM_IOCTL_XE_VM_BIND, &bind);
    return create.handle;
}

static void xe_setup(void)
{
    struct drm_xe_vm_create vm = {0};
    struct drm_xe_engine_class_instance instance = {.engine_class = DRM_XE_ENGINE_CLASS_RENDER};
    struct drm_xe_exec_queue_create create = {
        .width = 1, .num_placements = 1, .instances = (uintptr_t)&instance};

    MUST(gpu, DRM_IOCTL_XE_VM_CREATE, &vm);
    create.vm_id = vm.vm_id;
    MUST(gpu, DRM_IOCTL_XE_EXEC_QUEUE_CREATE, &create);
    context = create.exec_queue_id;
    batch_handle = xe_object(vm.vm_id, BATCH, &batch);
    target_handle = xe_object(vm.vm_id, TARGET, &target);
}

static void xe_submit(uint32_t value)
{
    struct drm_xe_sync done[2] = {
        {.type = DRM_XE_SYNC_TYPE_SYNCOBJ, .flags = DRM_XE_SYNC_FLAG_SIGNAL, .handle = syncobj},
        {.type = DRM_XE_SYNC_TYPE_USER_FENCE,
         .flags = DRM_XE_SYNC_FLAG_SIGNAL,
         .addr = TARGET + 4096,
         .timeline_value = ++round_number}};
    struct drm_xe_exec exec = {.exec_queue_id = context,
                               .num_syncs = 2,
                               .syncs = (uintptr_t)done,
                               .address = BATCH,
                               .num_batch_buffer = 1};

    fill_intel(value);
    MUST(gpu, DRM_IOCTL_XE_EXEC, &exec);
}

static void xe_user_fence(uint64_t timeout)
{
    struct drm_xe_wait_user_fence wait = {.addr = (uintptr_t)target + 4096,
                                          .op = DRM_XE_UFENCE_WAIT_OP_EQ,
                                          .value = round_number,
                                          .mask = UINT64_MAX,
                                          .timeout = timeout ? -1 : 0,
                                          .exec_queue_id = context};

    UNTIL(gpu, DRM_IOCTL_XE_WAIT_USER_FENCE, &wait);
}
#endif

/* ---- syncobjs ------------------------------------------------------------------------------- */

static void syncobj_wait(uint64_t timeout)
{
    struct drm_syncobj_wait wait = {
        .handles = (uintptr_t)&syncobj, .count_handles = 1, .timeout_nsec = (int64_t)timeout};

    UNTIL(gpu, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

static uint64_t submits; /* so far */

static void timeline_wait(uint64_t timeout)
{
    struct drm_syncobj_timeline_wait wait = {.handles = (uintptr_t)&syncobj,
                                             .points = (uintptr_t)&submits,
                                             .count_handles = 1,
                                             .timeout_nsec = (int64_t)timeout};

    UNTIL(gpu, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
}

static void query(uint64_t timeout)
{
    uint64_t point = 0;
    struct drm_syncobj_timeline_array array = {
        .handles = (uintptr_t)&syncobj, .points = (uintptr_t)&point, .count_handles = 1};

    do
        MUST(gpu, DRM_IOCTL_SYNCOBJ_QUERY, &array);
    while (point < submits);
}

/* ---- sync files ----------------------------------------------------------------------------- */

static int sync_file(void)
{
    struct drm_syncobj_handle h = {.handle = syncobj,
                                   .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE};

    if (fence >= 0)
        return fence;
    MUST(gpu, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h);
    return h.fd;
}

static void file_info(uint64_t timeout)
{
    int fd = sync_file();
    struct sync_file_info info;

    do {
        info = (struct sync_file_info){0};
        MUST(fd, SYNC_IOC_FILE_INFO, &info);
    } while (info.status != 1);
    close(fd);
}

static void by_poll(uint64_t timeout)
{
    struct pollfd p = {sync_file(), POLLIN, 0};

    while (poll(&p, 1, timeout ? -1 : 0) != 1)
        ;
    close(p.fd);
}

static void by_ppoll(uint64_t timeout)
{
    struct pollfd p[2] = {{-1, POLLIN, 0}, {sync_file(), POLLIN, 0}};
    struct timespec none = {0, 0};

    while (ppoll(p, 2, timeout ? NULL : &none, NULL) != 1)
        ;
    close(p[1].fd);
}

static void by_select(uint64_t timeout)
{
    int fd = sync_file();
    struct timeval none;
    fd_set set;

    do {
        none = (struct timeval){0, 0};
        FD_ZERO(&set);
        FD_SET(fd, &set);
    } while (select(fd + 1, &set, NULL, NULL, timeout ? NULL : &none) != 1);
    close(fd);
}

static void by_pselect(uint64_t timeout)
{
    int fd = sync_file();
    struct timespec none = {0, 0};
    fd_set set;

    do {
        FD_ZERO(&set);
        FD_SET(fd, &set);
    } while (pselect(fd + 1, &set, NULL, NULL, timeout ? NULL : &none, NULL) != 1);
    close(fd);
}

/* A duplicate is what is looked after; another file has the same number of the program's. */
static void by_epoll(uint64_t timeout)
{
    int fd = sync_file(), other = dup(fd), epoll = epoll_create1(EPOLL_CLOEXEC), pair[2];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 5}, got[4];

    if (pipe(pair) || epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, other, &event))
        exit(1);
    close(fd);
    while ((timeout ? epoll_wait(epoll, got, 4, -1) : epoll_pwait(epoll, got, 4, 0, NULL)) != 1)
        ;
    if (epoll_ctl(epoll, EPOLL_CTL_DEL, other, NULL))
        exit(1);
    close(pair[0]);
    close(pair[1]);
    close(other);
    close(epoll);
}

/* Past the functions of libc, and the device that stands after them: not with a late one. */
static void by_number(uint64_t timeout)
{
    struct pollfd p = {sync_file(), POLLIN, 0};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN}, got;

    if (timeout)
        syscall(SYS_poll, &p, 1, -1);
    else if (syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, p.fd, &event) ||
             syscall(SYS_epoll_wait, epoll, &got, 1, -1) != 1)
        exit(1);
    close(p.fd);
    close(epoll);
}

static struct io_uring_params ring;
static int ring_fd = -1;
static uint8_t *ring_memory;
static struct io_uring_sqe *entry;

static void make_ring(void)
{
    ring_fd = (int)syscall(SYS_io_uring_setup, 1, &ring);
    if (ring_fd < 0)
        exit(77); /* the machine has none */
    ring_memory = map_at(ring_fd, IORING_OFF_SQ_RING, 4096);
    entry = map_at(ring_fd, IORING_OFF_SQES, sizeof(*entry));
}

/* Not with a late device, which does not see it. */
static void by_ring(uint64_t timeout)
{
    int fd = sync_file();

    if (ring_fd < 0)
        make_ring();
    *entry = (struct io_uring_sqe){.opcode = IORING_OP_POLL_ADD, .fd = fd, .poll32_events = POLLIN};
    *(uint32_t *)(ring_memory + ring.sq_off.array) = 0;
    __atomic_fetch_add((uint32_t *)(ring_memory + ring.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring_fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        exit(1);
    __atomic_fetch_add((uint32_t *)(ring_memory + ring.cq_off.head), 1, __ATOMIC_RELEASE);
    close(fd);
}

/* ---- all ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*setup)(void);
    void (*submit)(uint32_t value);
} drivers[] = {{"amdgpu", amdgpu_setup, amdgpu_submit},
               {"i915", i915_setup, i915_submit},
               {"nouveau", nouveau_setup, nouveau_submit},
               {"virtio_gpu", virtgpu_setup, virtgpu_submit},
#ifdef FAKE_XE
               {"xe", xe_setup, xe_submit}
#endif
};

/* Each with patience, and by asking again and again. */
static const struct {
    const char *name;
    void (*learn)(uint64_t timeout);
} ways[] = {{"wait_cs", amdgpu_wait_cs},
            {"wait_idle", amdgpu_wait_idle},
            {"wait_fences", amdgpu_wait_fences},
            {"gem_wait", i915_wait},
            {"busy", i915_busy},
            {"set_domain", i915_set_domain},
            {"pread", i915_pread},
            {"cpu_prep", nouveau_prepare},
            {"wait", virtgpu_wait},
#ifdef FAKE_XE
            {"user_fence", xe_user_fence},
#endif
            {"syncobj", syncobj_wait},
            {"timeline", timeline_wait},
            {"query", query},
            {"file_info", file_info},
            {"poll", by_poll},
            {"ppoll", by_ppoll},
            {"select", by_select},
            {"pselect", by_pselect},
            {"epoll", by_epoll},
            {"ring", by_ring},
            {"number", by_number}};

static void run(void (*submit)(uint32_t), void (*learn)(uint64_t), uint64_t timeout)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        submit(1000 * (round + 1));
        submits++;
        learn(timeout);
        printf("%016llx\n", (unsigned long long)hash_of(target, SIZE));
        if (batch)
            memset(batch, 0xee, SIZE);
        for (uint32_t i = 0; i < 8; i++)
            target[3 * i] = 0xabc0 + round;
        if (fence >= 0)
            close(fence); /* where the way has not */
        fence = -1;
    }
    printf("%016llx\n", (unsigned long long)hash_of(target, SIZE));
}

int main(int argc, char **argv)
{
    struct drm_syncobj_create create = {0};
    size_t driver = 0, way = 0;
    const char *plain;
    bool is_asking;

    if (argc < 3)
        return 2;
    plain = argv[2];
    is_asking = !strncmp(plain, "ask_", 4);
    while (driver < sizeof(drivers) / sizeof(drivers[0]) && strcmp(drivers[driver].name, argv[1]))
        driver++;
    while (way < sizeof(ways) / sizeof(ways[0]) && strcmp(ways[way].name, plain + 4 * is_asking))
        way++;
    if (driver == sizeof(drivers) / sizeof(drivers[0]) ||
        (way == sizeof(ways) / sizeof(ways[0]) && strcmp(plain, "pipelined")))
        return 2;
    gpu = open_node();
    MUST(gpu, DRM_IOCTL_SYNCOBJ_CREATE, &create);
    syncobj = create.handle;
    drivers[driver].setup();
    if (!strcmp(plain, "pipelined"))
        run_pipelined();
    else
        run(drivers[driver].submit, ways[way].learn, is_asking ? 0 : FOREVER);
    if (batch)
        munmap(batch, SIZE);
    munmap(target, SIZE);
    close(gpu);
    return 0;
}
