/* SPDX-License-Identifier: Apache-2.0
 *
 * A small program on xe: two objects and memory of its own at addresses of its choice, a batch on
 * each of two queues.
 */
#include "tests/drm/drm_small.h"

#include <xe_drm.h>

#define SIZE        8192u
#define BATCH       0x100000u
#define TARGET      0x200000u
#define OWN         0x300000u
#define STORE_DWORD 0x10000002u
#define BATCH_END   0x0a000000u

static uint32_t make_object(int fd, void **memory)
{
    struct drm_xe_gem_create create = {
        .size = SIZE, .placement = 1, .cpu_caching = DRM_XE_GEM_CPU_CACHING_WB};
    struct drm_xe_gem_mmap_offset map = {0};

    MUST(fd, DRM_IOCTL_XE_GEM_CREATE, &create);
    map.handle = create.handle;
    MUST(fd, DRM_IOCTL_XE_GEM_MMAP_OFFSET, &map);
    *memory = map_at(fd, map.offset, SIZE);
    return create.handle;
}

static uint32_t make_queue(int fd, uint32_t vm, uint16_t engine)
{
    struct drm_xe_engine_class_instance instance = {.engine_class = engine};
    struct drm_xe_exec_queue_create create = {
        .width = 1, .num_placements = 1, .vm_id = vm, .instances = (uintptr_t)&instance};

    MUST(fd, DRM_IOCTL_XE_EXEC_QUEUE_CREATE, &create);
    return create.exec_queue_id;
}

static void bind_object(int fd, uint32_t vm, uint32_t object, uint64_t address)
{
    struct drm_xe_vm_bind bind = {
        .vm_id = vm,
        .num_binds = 1,
        .bind = {.obj = object, .range = SIZE, .addr = address, .op = DRM_XE_VM_BIND_OP_MAP}};

    MUST(fd, DRM_IOCTL_XE_VM_BIND, &bind);
}

/* Memory of the program, in place of the second object: a list of binds. */
static void bind_own(int fd, uint32_t vm, const void *own, struct drm_xe_sync *done)
{
    struct drm_xe_vm_bind_op ops[] = {
        {.userptr = (uintptr_t)own,
         .range = SIZE,
         .addr = OWN,
         .op = DRM_XE_VM_BIND_OP_MAP_USERPTR},
        {.range = SIZE, .addr = TARGET, .op = DRM_XE_VM_BIND_OP_UNMAP}};
    struct drm_xe_vm_bind bind = {.vm_id = vm,
                                  .num_binds = 2,
                                  .vector_of_binds = (uintptr_t)ops,
                                  .num_syncs = 1,
                                  .syncs = (uintptr_t)done};

    MUST(fd, DRM_IOCTL_XE_VM_BIND, &bind);
}

static void fill_batch(uint32_t *batch, uint64_t target)
{
    for (uint32_t i = 0; i < 64; i++, batch += 4) {
        batch[0] = STORE_DWORD;
        batch[1] = (uint32_t)target + 4 * i;
        batch[2] = 0;
        batch[3] = 7000 + i;
    }
    *batch = BATCH_END;
}

static void submit(int fd, uint32_t queue, uint32_t *batch, uint64_t target,
                   struct drm_xe_sync *done)
{
    struct drm_xe_exec exec = {.exec_queue_id = queue,
                               .num_syncs = 1,
                               .syncs = (uintptr_t)done,
                               .address = BATCH,
                               .num_batch_buffer = 1};
    struct drm_syncobj_wait wait = {
        .handles = (uintptr_t)&done->handle, .count_handles = 1, .timeout_nsec = INT64_MAX};

    fill_batch(batch, target);
    MUST(fd, DRM_IOCTL_XE_EXEC, &exec);
    MUST(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

static void wait_for(int fd, uint32_t queue, const uint64_t *fence, uint64_t value)
{
    struct drm_xe_wait_user_fence wait = {.addr = (uintptr_t)fence,
                                          .op = DRM_XE_UFENCE_WAIT_OP_EQ,
                                          .value = value,
                                          .mask = UINT64_MAX,
                                          .timeout = -1,
                                          .exec_queue_id = queue};

    MUST(fd, DRM_IOCTL_XE_WAIT_USER_FENCE, &wait);
}

/* Fences are numbers in memory: for a bind a variable of the program, for a submit in an object. */
void run_xe_fences(int fd)
{
    static uint64_t bound;
    struct drm_xe_vm_create vm = {0};
    struct drm_xe_sync done = {
        .type = DRM_XE_SYNC_TYPE_USER_FENCE, .flags = DRM_XE_SYNC_FLAG_SIGNAL, .timeline_value = 9};
    struct drm_xe_exec exec = {
        .num_syncs = 1, .syncs = (uintptr_t)&done, .address = BATCH, .num_batch_buffer = 1};
    void *batch, *target;
    char *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST(fd, DRM_IOCTL_XE_VM_CREATE, &vm);
    exec.exec_queue_id = make_queue(fd, vm.vm_id, DRM_XE_ENGINE_CLASS_RENDER);
    bind_object(fd, vm.vm_id, make_object(fd, &batch), BATCH);
    bind_object(fd, vm.vm_id, make_object(fd, &target), TARGET);
    done.addr = (uintptr_t)&bound;
    bind_own(fd, vm.vm_id, own, &done);
    wait_for(fd, 0, &bound, 9);
    bind_object(fd, vm.vm_id, make_object(fd, &target), TARGET);
    for (uint64_t round = 1; round < 4; round++) {
        fill_batch(batch, TARGET);
        done.addr = TARGET + 4096;
        done.timeline_value = round;
        MUST(fd, DRM_IOCTL_XE_EXEC, &exec);
        wait_for(fd, exec.exec_queue_id, (uint64_t *)target + 512, round);
    }
    printf("xe fences %016llx\n", (unsigned long long)hash_of(target, SIZE));
    munmap(target, SIZE);
    munmap(batch, SIZE);
}

void run_xe(int fd)
{
    struct drm_xe_vm_create vm = {0};
    struct drm_xe_vm_destroy gone = {0};
    struct drm_syncobj_create syncobj = {0};
    struct drm_xe_sync done = {.type = DRM_XE_SYNC_TYPE_SYNCOBJ, .flags = DRM_XE_SYNC_FLAG_SIGNAL};
    uint32_t object;
    void *batch, *target;
    char *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST(fd, DRM_IOCTL_XE_VM_CREATE, &vm);
    MUST(fd, DRM_IOCTL_SYNCOBJ_CREATE, &syncobj);
    done.handle = syncobj.handle;
    bind_object(fd, vm.vm_id, make_object(fd, &batch), BATCH);
    object = make_object(fd, &target);
    bind_object(fd, vm.vm_id, object, TARGET);
    memset(own, 0x22, SIZE);
    bind_own(fd, vm.vm_id, own, &done);
    bind_object(fd, vm.vm_id, object, TARGET);
    submit(fd, make_queue(fd, vm.vm_id, DRM_XE_ENGINE_CLASS_RENDER), batch, TARGET, &done);
    submit(fd, make_queue(fd, vm.vm_id, DRM_XE_ENGINE_CLASS_COPY), batch, OWN + 256, &done);
    printf("xe %016llx %016llx\n", (unsigned long long)hash_of(target, SIZE),
           (unsigned long long)hash_of(own, SIZE));
    gone.vm_id = vm.vm_id;
    MUST(fd, DRM_IOCTL_XE_VM_DESTROY, &gone);
    munmap(target, SIZE);
    munmap(batch, SIZE);
    munmap(own, SIZE);
}
