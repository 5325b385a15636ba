/* SPDX-License-Identifier: Apache-2.0
 *
 * i915: a batch of MI_STORE_DWORD_IMM (of generation 8) up to MI_BATCH_BUFFER_END. Objects lie
 * where they are pinned, or else at an address of the device's own, which relocations are corrected
 * for.
 */
#include "tests/drm/fake_i915.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STORE_DWORD 0x10000002u
#define BATCH_END   0x0a000000u
#define OWN_BASE    0x10000000ull

static int relocate(struct fake_file *file, const struct drm_i915_gem_exec_object2 *objects,
                    uint32_t count, const struct drm_i915_gem_exec_object2 *object)
{
    struct drm_i915_gem_relocation_entry *r = (void *)(uintptr_t)object->relocs_ptr;

    for (uint32_t i = 0; i < object->relocation_count; i++, r++) {
        const struct fake_object *target = NULL;
        uint64_t address, *at;
        for (uint32_t k = 0; k < count; k++)
            if (objects[k].handle == r->target_handle)
                target = fake_object_of(file, r->target_handle);
        at = fake_in_object(file, fake_object_of(file, object->handle), r->offset, 8);
        if (!target || !at)
            return -ENOENT;
        address = target->address + r->delta;
        memcpy(at, &address, sizeof(address));
        r->presumed_offset = target->address;
    }
    return 0;
}

int fake_i915_run(struct fake_file *file, uint64_t address)
{
    for (;; address += 16) {
        const uint32_t *p = fake_at_address(file, address, 4);
        void *memory;
        if (!p)
            return -EINVAL;
        if (*p == BATCH_END)
            return 0;
        if (*p != STORE_DWORD || !fake_at_address(file, address, 16))
            return -EINVAL;
        memory = fake_at_address(file, p[1] | (uint64_t)p[2] << 32, 4);
        if (!memory)
            return -EFAULT;
        fake_store(memory, p + 3, 4);
    }
}

static bool is_fence(int fd)
{
    char path[48], target[64];
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    length = readlink(path, target, sizeof(target) - 1);
    target[length > 0 ? length : 0] = '\0';
    return strcmp(target, "anon_inode:[eventfd]") == 0;
}

static int submit(struct fake_file *file, struct drm_i915_gem_execbuffer2 *e)
{
    struct drm_i915_gem_exec_object2 *objects = (void *)(uintptr_t)e->buffers_ptr;
    int result = fake_i915_submit_chain(file, e);

    for (uint32_t i = 0; i < e->buffer_count; i++) {
        struct fake_object *object = fake_object_of(file, objects[i].handle);
        if (!object)
            return -ENOENT;
        object->address = objects[i].flags & EXEC_OBJECT_PINNED ? objects[i].offset
                          : object->address                     ? object->address
                                                                : OWN_BASE + object->offset;
        objects[i].offset = object->address;
    }
    for (uint32_t i = 0; i < e->buffer_count && !result; i++)
        result = relocate(file, objects, e->buffer_count, &objects[i]);
    if (!e->buffer_count || result)
        return result ? result : -EINVAL;
    if (e->flags & I915_EXEC_FENCE_IN && !is_fence((int)e->rsvd2))
        return -EINVAL;
    file->submit_count++;
    result = fake_i915_run(file, objects[e->buffer_count - 1].offset + e->batch_start_offset);
    if (!result && e->flags & I915_EXEC_FENCE_OUT)
        e->rsvd2 = (e->rsvd2 & UINT32_MAX) | (uint64_t)fake_fence_fd() << 32;
    return result;
}

static int create(struct fake_file *file, struct drm_i915_gem_create *c)
{
    c->handle = fake_object_make(file, c->size);
    return c->handle ? 0 : -ENOMEM;
}

static int map(struct fake_file *file, struct drm_i915_gem_mmap_offset *m)
{
    const struct fake_object *object = fake_object_of(file, m->handle);

    if (!object)
        return -ENOENT;
    m->offset = object->offset;
    return 0;
}

static int map_here(struct fake_file *file, int fd, struct drm_i915_gem_mmap *m)
{
    m->addr_ptr = fake_object_map(fd, fake_object_of(file, m->handle), m->offset, m->size);
    return m->addr_ptr ? 0 : -ENOENT;
}

static int read_object(struct fake_file *file, const struct drm_i915_gem_pread *p)
{
    const void *from;

    fake_finish();
    from = fake_in_object(file, fake_object_of(file, p->handle), p->offset, p->size);
    if (!from)
        return -ENOENT;
    memcpy((void *)(uintptr_t)p->data_ptr, from, p->size);
    return 0;
}

static int use_memory(struct fake_file *file, struct drm_i915_gem_userptr *u)
{
    u->handle = fake_object_user(file, u->user_ptr, u->user_size);
    return u->handle ? 0 : -EINVAL;
}

static int i915_ioctl(struct fake_file *file, int fd, uint32_t request, void *argument)
{
    switch (request) {
    case DRM_IOCTL_I915_GEM_EXECBUFFER2:
    case DRM_IOCTL_I915_GEM_EXECBUFFER2_WR:
        return submit(file, argument);
    case DRM_IOCTL_I915_GEM_MMAP:
        return map_here(file, fd, argument);
    case DRM_IOCTL_I915_GEM_PREAD:
        return read_object(file, argument);
    case DRM_IOCTL_I915_GEM_USERPTR:
        return use_memory(file, argument);
    case DRM_IOCTL_I915_GEM_CREATE:
        return create(file, argument);
    case DRM_IOCTL_I915_GEM_MMAP_OFFSET:
        return map(file, argument);
    case DRM_IOCTL_I915_GEM_CREATE_EXT:
        return fake_i915_object(file, argument);
    case DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT:
        return fake_i915_context(file, argument);
    case DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM:
        return fake_i915_set_param(file, argument);
    case DRM_IOCTL_I915_GEM_VM_CREATE:
        ((struct drm_i915_gem_vm_control *)argument)->vm_id =
            __atomic_add_fetch(&file->next_context, 1, __ATOMIC_RELAXED);
        return 0;
    case DRM_IOCTL_I915_GEM_CONTEXT_CREATE:
        ((struct drm_i915_gem_context_create *)argument)->ctx_id =
            __atomic_add_fetch(&file->next_context, 1, __ATOMIC_RELAXED);
        return 0;
    case DRM_IOCTL_I915_GETPARAM:
        *((struct drm_i915_getparam *)argument)->value = 8;
        return 0;
    case DRM_IOCTL_I915_GEM_CONTEXT_DESTROY:
        return 0;
    default:
        return -EINVAL;
    }
}

const struct fake_driver fake_i915 = {"i915", 1, 6, 0, i915_ioctl};
