/* SPDX-License-Identifier: Apache-2.0
 *
 * i915: linked extensions. What the device reads of them goes into file->digest; an object that is
 * made with extensions has that in its first bytes, so that a replay which passes other ones shows.
 */
#include "tests/drm/fake_i915.h"

#include <errno.h>
#include <string.h>

#define CHAIN_MAX 512

static int digest(struct fake_file *file, uint64_t value)
{
    file->digest = (file->digest ^ value) * 0x100000001b3u;
    return 0;
}

/* For each: 0 or a negative errno. Names from `known` on are passed over, as a newer driver would
 * know them. */
static int each(struct fake_file *file, uint64_t first, uint32_t known,
                int (*take)(struct fake_file *file, const struct i915_user_extension *e))
{
    uint32_t count = 0;

    for (uint64_t at = first; at;) {
        const struct i915_user_extension *e = (const void *)(uintptr_t)at;
        int result = e->name < known ? take(file, e) : 0;
        if (++count == CHAIN_MAX)
            return -E2BIG;
        if (result)
            return result;
        at = e->next_extension;
    }
    return 0;
}

/* ---- contexts -----------------------------------------------------------------------------------
 */

static int take_engines(struct fake_file *file, const struct i915_user_extension *e)
{
    const struct i915_context_engines_load_balance *b = (const void *)e;

    digest(file, b->num_siblings);
    for (uint32_t i = 0; i < b->num_siblings; i++)
        digest(file, b->engines[i].engine_instance);
    return 0;
}

int fake_i915_set_param(struct fake_file *file, const struct drm_i915_gem_context_param *p)
{
    const struct i915_context_param_engines *engines = (const void *)(uintptr_t)p->value;

    digest(file, p->param);
    if (p->param == I915_CONTEXT_PARAM_VM)
        return p->value && p->value <= file->next_context ? 0 : -ENOENT;
    if (p->param != I915_CONTEXT_PARAM_ENGINES)
        return digest(file, p->value);
    if (p->size < sizeof(*engines))
        return -EINVAL;
    for (uint32_t i = 0; i < (p->size - sizeof(*engines)) / sizeof(engines->engines[0]); i++)
        digest(file, engines->engines[i].engine_class);
    return each(file, engines->extensions, 1, take_engines);
}

static int take_context(struct fake_file *file, const struct i915_user_extension *e)
{
    return fake_i915_set_param(
        file, &((const struct drm_i915_gem_context_create_ext_setparam *)e)->param);
}

int fake_i915_context(struct fake_file *file, struct drm_i915_gem_context_create_ext *c)
{
    int result = c->flags & I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS
                     ? each(file, c->extensions, 1, take_context)
                     : 0;

    c->ctx_id = __atomic_add_fetch(&file->next_context, 1, __ATOMIC_RELAXED);
    return result;
}

/* ---- objects ------------------------------------------------------------------------------------
 */

static int take_object(struct fake_file *file, const struct i915_user_extension *e)
{
    const struct drm_i915_gem_create_ext_memory_regions *r = (const void *)e;
    const struct drm_i915_gem_memory_class_instance *regions = (const void *)(uintptr_t)r->regions;

    for (uint32_t i = 0; i < r->num_regions; i++)
        digest(file, (uint64_t)regions[i].memory_class << 16 | regions[i].memory_instance);
    return 0;
}

int fake_i915_object(struct fake_file *file, struct drm_i915_gem_create_ext *c)
{
    int result = each(file, c->extensions, 1, take_object);

    if (result)
        return result;
    c->handle = fake_object_make(file, c->size);
    if (!c->handle)
        return -ENOMEM;
    memcpy(fake_in_object(file, fake_object_of(file, c->handle), 0, 8), &file->digest, 8);
    return 0;
}

/* ---- submits ------------------------------------------------------------------------------------
 */

static int take_submit(struct fake_file *file, const struct i915_user_extension *e)
{
    const struct drm_i915_gem_execbuffer_ext_timeline_fences *f = (const void *)e;
    const struct drm_i915_gem_exec_fence *fences = (const void *)(uintptr_t)f->handles_ptr;
    const uint64_t *values = (const void *)(uintptr_t)f->values_ptr;

    for (uint64_t i = 0; i < f->fence_count; i++) {
        if (!fences[i].handle || fences[i].handle > file->next_syncobj)
            return -ENOENT;
        digest(file, fences[i].flags);
        digest(file, values[i]);
    }
    return 0;
}

int fake_i915_submit_chain(struct fake_file *file, const struct drm_i915_gem_execbuffer2 *e)
{
    return e->flags & I915_EXEC_USE_EXTENSIONS ? each(file, e->cliprects_ptr, 1, take_submit) : 0;
}
