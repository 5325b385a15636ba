/* SPDX-License-Identifier: Apache-2.0
 *
 * Small programs that link extensions to the arguments of i915's ioctls.
 */
#include "tests/drm/drm_small.h"

#include <i915_drm.h>

#define SIZE 4096u

static uint32_t make_context(int fd)
{
    struct drm_i915_gem_vm_control vm = {0};
    I915_DEFINE_CONTEXT_ENGINES_LOAD_BALANCE(balance, 2) = {
        .base = {.name = I915_CONTEXT_ENGINES_EXT_LOAD_BALANCE},
        .num_siblings = 2,
        .engines = {{I915_ENGINE_CLASS_VIDEO, 0}, {I915_ENGINE_CLASS_VIDEO, 1}}};
    I915_DEFINE_CONTEXT_PARAM_ENGINES(engines, 3) = {.extensions = (uintptr_t)&balance,
                                                     .engines = {{I915_ENGINE_CLASS_RENDER, 0},
                                                                 {I915_ENGINE_CLASS_COPY, 0},
                                                                 {I915_ENGINE_CLASS_VIDEO, 0}}};
    struct drm_i915_gem_context_create_ext_setparam params[3] = {
        {.param = {.param = I915_CONTEXT_PARAM_PRIORITY, .value = (uint64_t)-5}},
        {.param = {.param = I915_CONTEXT_PARAM_VM}},
        {.param = {.param = I915_CONTEXT_PARAM_ENGINES,
                   .size = sizeof(engines),
                   .value = (uintptr_t)&engines}}};
    struct drm_i915_gem_context_create_ext create = {
        .flags = I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS, .extensions = (uintptr_t)&params[0]};

    MUST(fd, DRM_IOCTL_I915_GEM_VM_CREATE, &vm);
    params[0].base.next_extension = (uintptr_t)&params[1];
    params[1].base.next_extension = (uintptr_t)&params[2];
    params[1].param.value = vm.vm_id;
    MUST(fd, DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, &create);
    return create.ctx_id;
}

static uint32_t make_object(int fd, void **memory)
{
    struct drm_i915_gem_memory_class_instance regions[2] = {{I915_MEMORY_CLASS_DEVICE, 0},
                                                            {I915_MEMORY_CLASS_SYSTEM, 0}};
    struct drm_i915_gem_create_ext_memory_regions ext = {
        .base = {.name = I915_GEM_CREATE_EXT_MEMORY_REGIONS},
        .num_regions = 2,
        .regions = (uintptr_t)regions};
    struct drm_i915_gem_create_ext create = {.size = SIZE, .extensions = (uintptr_t)&ext};
    struct drm_i915_gem_mmap_offset map = {.flags = I915_MMAP_OFFSET_WB};

    MUST(fd, DRM_IOCTL_I915_GEM_CREATE_EXT, &create);
    map.handle = create.handle;
    MUST(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &map);
    *memory = map_at(fd, map.offset, SIZE);
    return create.handle;
}

static void submit(int fd, uint32_t context, uint32_t batch)
{
    struct drm_syncobj_create sync = {0};
    struct drm_i915_gem_exec_fence fences[2];
    uint64_t values[2] = {7, 0x100000008};
    struct drm_i915_gem_execbuffer_ext_timeline_fences ext = {
        .base = {.name = DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES},
        .fence_count = 2,
        .handles_ptr = (uintptr_t)fences,
        .values_ptr = (uintptr_t)values};
    struct drm_i915_gem_exec_object2 object = {
        .handle = batch, .offset = 0x800000, .flags = EXEC_OBJECT_PINNED};
    struct drm_i915_gem_execbuffer2 e = {.buffers_ptr = (uintptr_t)&object,
                                         .buffer_count = 1,
                                         .rsvd1 = context,
                                         .flags = I915_EXEC_USE_EXTENSIONS | I915_EXEC_NO_RELOC,
                                         .cliprects_ptr = (uintptr_t)&ext};

    MUST(fd, DRM_IOCTL_SYNCOBJ_CREATE, &sync);
    fences[0] = (struct drm_i915_gem_exec_fence){sync.handle, I915_EXEC_FENCE_WAIT};
    fences[1] = (struct drm_i915_gem_exec_fence){sync.handle, I915_EXEC_FENCE_SIGNAL};
    MUST(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &e);
}

/* The last object shows all that the device has seen. */
void run_chains(int fd)
{
    uint32_t context = make_context(fd), batch;
    void *memory, *last;

    batch = make_object(fd, &memory);
    *(uint32_t *)memory = 0x0a000000;
    submit(fd, context, batch);
    make_object(fd, &last);
    printf("chains %016llx\n", (unsigned long long)hash_of(last, SIZE));
    munmap(last, SIZE);
    munmap(memory, SIZE);
}

/* One that a newer driver may know, between two that are known. */
void run_chain_unknown(int fd)
{
    struct drm_i915_gem_context_create_ext_setparam params[2] = {
        {.param = {.param = I915_CONTEXT_PARAM_RECOVERABLE, .value = 1}},
        {.param = {.param = I915_CONTEXT_PARAM_BANNABLE, .value = 1}}};
    struct {
        struct i915_user_extension base;
        uint64_t more[4];
    } unknown = {.base = {.name = 99, .next_extension = (uintptr_t)&params[1]}};
    struct drm_i915_gem_context_create_ext create = {
        .flags = I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS, .extensions = (uintptr_t)&params[0]};

    params[0].base.next_extension = (uintptr_t)&unknown;
    MUST(fd, DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, &create);
}

/* One that leads to itself, one that leads nowhere, and one that nobody is to read. */
void run_chain_wrong(int fd)
{
    struct drm_i915_gem_context_create_ext_setparam param = {
        .base = {.next_extension = (uintptr_t)&param}};
    struct drm_i915_gem_context_create_ext create = {
        .flags = I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS, .extensions = (uintptr_t)&param};

    if (!ioctl(fd, DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, &create) || errno != E2BIG)
        exit(1);
    create.flags = 0;
    create.extensions = 0x1000;
    MUST(fd, DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, &create);
}
