/* SPDX-License-Identifier: Apache-2.0
 *
 * xe: one address space, in which objects and memory of the program lie where they are bound, each
 * as a whole; batches are i915's.
 */
#include "tests/drm/fake_drm.h"

#include <errno.h>
#include <string.h>

#include <xe_drm.h>

static struct fake_object *object_at(struct fake_file *file, uint64_t address)
{
    for (uint32_t i = 1; address && i < FAKE_OBJECT_MAX; i++)
        if (file->objects[i].used && file->objects[i].address == address)
            return &file->objects[i];
    return NULL;
}

static int bind_one(struct fake_file *file, const struct drm_xe_vm_bind_op *op)
{
    struct fake_object *object;

    switch (op->op) {
    case DRM_XE_VM_BIND_OP_MAP:
        object = fake_object_of(file, op->obj);
        break;
    case DRM_XE_VM_BIND_OP_MAP_USERPTR:
        object = fake_object_of(file, fake_object_user(file, op->userptr, op->range));
        break;
    case DRM_XE_VM_BIND_OP_UNMAP:
        object = object_at(file, op->addr);
        if (object)
            object->address = 0;
        return object ? 0 : -ENOENT;
    default:
        return -EINVAL;
    }
    if (!object || op->range > object->size)
        return -EINVAL;
    object->address = op->addr;
    return 0;
}

/* Everything is done at once: fences that are to be signalled get their values. */
static int signal_fences(struct fake_file *file, uint64_t list, uint32_t count, bool by_device)
{
    const struct drm_xe_sync *syncs = (const void *)(uintptr_t)list;

    for (uint32_t i = 0; i < count; i++) {
        void *at = NULL;
        if (syncs[i].type != DRM_XE_SYNC_TYPE_USER_FENCE ||
            !(syncs[i].flags & DRM_XE_SYNC_FLAG_SIGNAL))
            continue;
        at = by_device ? fake_at_address(file, syncs[i].addr, 8) : (void *)(uintptr_t)syncs[i].addr;
        if (!at)
            return -EFAULT;
        fake_store_fence(at, &syncs[i].timeline_value, 8);
    }
    return 0;
}

static int wait_for_fence(const struct drm_xe_wait_user_fence *w)
{
    uint64_t value;

    memcpy(&value, (const void *)(uintptr_t)w->addr, sizeof(value));
    return w->op == DRM_XE_UFENCE_WAIT_OP_EQ && (value & w->mask) == (w->value & w->mask) ? 0
                                                                                          : -ETIME;
}

static int bind(struct fake_file *file, const struct drm_xe_vm_bind *b)
{
    const struct drm_xe_vm_bind_op *ops =
        b->num_binds == 1 ? &b->bind : (const void *)(uintptr_t)b->vector_of_binds;
    int result = 0;

    for (uint32_t i = 0; i < b->num_binds && !result; i++)
        result = bind_one(file, &ops[i]);
    return result ? result : signal_fences(file, b->syncs, b->num_syncs, false);
}

static int execute(struct fake_file *file, const struct drm_xe_exec *e)
{
    int result;

    if (e->num_batch_buffer != 1 || !e->exec_queue_id || e->exec_queue_id > file->next_context)
        return -EINVAL;
    file->submit_count++;
    result = fake_i915_run(file, e->address);
    return result ? result : signal_fences(file, e->syncs, e->num_syncs, true);
}

static int map(struct fake_file *file, struct drm_xe_gem_mmap_offset *m)
{
    const struct fake_object *object = fake_object_of(file, m->handle);

    if (!object)
        return -ENOENT;
    m->offset = object->offset;
    return 0;
}

static uint32_t next(struct fake_file *file)
{
    return __atomic_add_fetch(&file->next_context, 1, __ATOMIC_RELAXED);
}

static int xe_ioctl(struct fake_file *file, int fd, uint32_t request, void *argument)
{
    struct drm_xe_gem_create *create = argument;

    switch (request) {
    case DRM_IOCTL_XE_VM_CREATE:
        ((struct drm_xe_vm_create *)argument)->vm_id = next(file);
        return 0;
    case DRM_IOCTL_XE_EXEC_QUEUE_CREATE:
        ((struct drm_xe_exec_queue_create *)argument)->exec_queue_id = next(file);
        return 0;
    case DRM_IOCTL_XE_GEM_CREATE:
        create->handle = fake_object_make(file, create->size);
        return create->handle ? 0 : -ENOMEM;
    case DRM_IOCTL_XE_GEM_MMAP_OFFSET:
        return map(file, argument);
    case DRM_IOCTL_XE_VM_BIND:
        return bind(file, argument);
    case DRM_IOCTL_XE_EXEC:
        return execute(file, argument);
    case DRM_IOCTL_XE_WAIT_USER_FENCE:
        return wait_for_fence(argument);
    case DRM_IOCTL_XE_VM_DESTROY:
    case DRM_IOCTL_XE_EXEC_QUEUE_DESTROY:
        return 0;
    default:
        return -EINVAL;
    }
}

const struct fake_driver fake_xe = {"xe", 1, 1, 0, xe_ioctl};
