/* SPDX-License-Identifier: Apache-2.0
 *
 * nouveau: a push buffer of pairs, an offset in the first buffer and the number that is stored
 * there.
 */
#include "tests/drm/fake_drm.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <drm.h>
#include <nouveau_drm.h>

static int push(struct fake_file *file, const struct drm_nouveau_gem_pushbuf *p)
{
    const struct drm_nouveau_gem_pushbuf_bo *buffers = (const void *)(uintptr_t)p->buffers;
    const struct drm_nouveau_gem_pushbuf_push *push = (const void *)(uintptr_t)p->push;

    for (uint32_t i = 0; i < p->nr_push; i++) {
        const struct fake_object *from;
        const uint32_t *words;
        if (push[i].bo_index >= p->nr_buffers)
            return -EINVAL;
        from = fake_object_of(file, buffers[push[i].bo_index].handle);
        words = fake_in_object(file, from, push[i].offset, push[i].length);
        for (uint32_t k = 0; words && k + 1 < push[i].length / 4; k += 2) {
            void *at = fake_in_object(file, fake_object_of(file, buffers[0].handle), words[k], 4);
            if (!at)
                return -EFAULT;
            fake_store(at, &words[k + 1], 4);
        }
        if (!words)
            return -ENOENT;
    }
    file->submit_count++;
    return 0;
}

static int create(struct fake_file *file, struct drm_nouveau_gem_new *n)
{
    n->info.handle = fake_object_make(file, n->info.size);
    if (!n->info.handle)
        return -ENOMEM;
    n->info.map_handle = fake_object_of(file, n->info.handle)->offset;
    return 0;
}

static int nouveau_ioctl(struct fake_file *file, int fd, uint32_t request, void *argument)
{
    switch (request & 0xff) {
    case DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_NEW:
        return create(file, argument);
    case DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_PUSHBUF:
        return push(file, argument);
    case DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_CPU_FINI:
    case DRM_COMMAND_BASE + DRM_NOUVEAU_SVM_INIT:
        return 0;
    default:
        return -EINVAL;
    }
}

const struct fake_driver fake_nouveau = {"nouveau", 1, 3, 1, nouveau_ioctl};
