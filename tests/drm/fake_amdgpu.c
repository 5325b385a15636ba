/* SPDX-License-Identifier: Apache-2.0
 *
 * amdgpu: a command processor that knows WRITE_DATA to memory and NOP, packets of type 3. What it
 * reads and writes it finds by the addresses of GEM_VA.
 */
#include "tests/drm/fake_drm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <amdgpu_drm.h>

#define IS_TYPE3(dw) ((dw) >> 30 == 3)
#define OPCODE(dw)   ((dw) >> 8 & 0xff)
#define COUNT(dw)    (((dw) >> 16 & 0x3fff) + 1) /* of what follows */
#define WRITE_DATA   0x37u

static int run_ib(struct fake_file *file, const struct drm_amdgpu_cs_chunk_ib *ib)
{
    const uint32_t *p = fake_at_address(file, ib->va_start, ib->ib_bytes), *end;

    if (!p)
        return -EINVAL;
    for (end = p + ib->ib_bytes / 4; p < end && IS_TYPE3(*p); p += 1 + COUNT(*p)) {
        uint32_t words = COUNT(*p) - 3;
        void *at;
        if (COUNT(*p) >= (size_t)(end - p))
            return -EINVAL;
        if (OPCODE(*p) != WRITE_DATA || COUNT(*p) < 4)
            continue;
        at = fake_at_address(file, p[2] | (uint64_t)p[3] << 32, 4ull * words);
        if (!at)
            return -EFAULT;
        fake_store(at, p + 4, 4ull * words);
    }
    return 0;
}

/* FAKE_DRM_LOST: from this submit on the context is lost. */
static bool is_lost(uint64_t number)
{
    const char *from = getenv("FAKE_DRM_LOST");

    return from && number >= strtoull(from, NULL, 10);
}

static int submit(struct fake_file *file, union drm_amdgpu_cs *cs)
{
    const uint64_t *chunks = (const void *)(uintptr_t)cs->in.chunks;
    uint64_t number = __atomic_add_fetch(&file->submit_count, 1, __ATOMIC_RELAXED);

    if (!cs->in.ctx_id || cs->in.ctx_id > file->next_context)
        return -EINVAL;
    if (is_lost(number))
        return -ECANCELED;
    fake_submit(number);
    for (uint32_t i = 0; i < cs->in.num_chunks; i++) {
        const struct drm_amdgpu_cs_chunk *chunk = (const void *)(uintptr_t)chunks[i];
        int result = 0;
        if (chunk->chunk_id == AMDGPU_CHUNK_ID_IB)
            result = run_ib(file, (const void *)(uintptr_t)chunk->chunk_data);
        if (result)
            return result;
    }
    cs->out.handle = number;
    return 0;
}

static int create(struct fake_file *file, union drm_amdgpu_gem_create *c)
{
    uint32_t handle = fake_object_make(file, c->in.bo_size);

    memset(&c->out, 0, sizeof(c->out));
    c->out.handle = handle;
    return handle ? 0 : -ENOMEM;
}

static int map(struct fake_file *file, union drm_amdgpu_gem_mmap *m)
{
    const struct fake_object *object = fake_object_of(file, m->in.handle);

    if (!object)
        return -ENOENT;
    m->out.addr_ptr = object->offset;
    return 0;
}

static int use_memory(struct fake_file *file, struct drm_amdgpu_gem_userptr *u)
{
    u->handle = fake_object_user(file, u->addr, u->size);
    return u->handle ? 0 : -EINVAL;
}

static int place(struct fake_file *file, const struct drm_amdgpu_gem_va *va)
{
    struct fake_object *object = fake_object_of(file, va->handle);

    if (!object || va->offset_in_bo || !va->va_address)
        return -EINVAL;
    if (va->operation == AMDGPU_VA_OP_MAP && fake_at_address(file, va->va_address, 1))
        return -EINVAL;
    object->address = va->operation == AMDGPU_VA_OP_MAP ? va->va_address : 0;
    return 0;
}

static int context(struct fake_file *file, union drm_amdgpu_ctx *c)
{
    uint32_t op = c->in.op;

    memset(&c->out, 0, op == AMDGPU_CTX_OP_ALLOC_CTX ? sizeof(c->out) : 0);
    if (op == AMDGPU_CTX_OP_ALLOC_CTX)
        c->out.alloc.ctx_id = __atomic_add_fetch(&file->next_context, 1, __ATOMIC_RELAXED);
    return 0;
}

static int amdgpu_ioctl(struct fake_file *file, int fd, uint32_t request, void *argument)
{
    struct drm_amdgpu_info *info = argument;

    switch (request) {
    case DRM_IOCTL_AMDGPU_CS:
        return submit(file, argument);
    case DRM_IOCTL_AMDGPU_GEM_CREATE:
        return create(file, argument);
    case DRM_IOCTL_AMDGPU_GEM_USERPTR:
        return use_memory(file, argument);
    case DRM_IOCTL_AMDGPU_GEM_MMAP:
        return map(file, argument);
    case DRM_IOCTL_AMDGPU_GEM_VA:
        return place(file, argument);
    case DRM_IOCTL_AMDGPU_CTX:
        return context(file, argument);
    case DRM_IOCTL_AMDGPU_INFO:
        memset((void *)(uintptr_t)info->return_pointer, 0x5a, info->return_size);
        return 0;
    default:
        return -EINVAL;
    }
}

const struct fake_driver fake_amdgpu = {"amdgpu", 3, 49, 0, amdgpu_ioctl};
