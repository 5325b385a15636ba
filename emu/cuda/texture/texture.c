/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects.
 */
#include "emu/cuda/texture/texture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"

/* The sign bit is clear and no address or count is this large: an argument that looks like a handle
 * is one. */
#define HANDLE_FIRST 0x7e00000000000000ull

struct object {
    bool is_surface;
    bool has_view;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
    struct ptx_image image;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object **objects; /* by handle; NULL: destroyed */
static size_t count;
static size_t capacity;

/* ---- by handle, under the lock ---- */

static struct object *find(uint64_t handle, bool is_surface)
{
    uint64_t at = handle - HANDLE_FIRST;
    struct object *o = handle >= HANDLE_FIRST && at < count ? objects[at] : NULL;

    return o && o->is_surface == is_surface ? o : NULL;
}

/* 0: out of memory. */
static uint64_t add(struct object *object)
{
    if (!TSM_ARRAY_RESERVE(objects, capacity, count + 1))
        return 0;
    objects[count] = object;
    return HANDLE_FIRST + count++;
}

/* ---- making and destroying ---- */

static CUresult object_create(unsigned long long *out, const struct object *model)
{
    struct object *object = malloc(sizeof(*object));
    uint64_t handle = 0;

    if (object) {
        *object = *model;
        pthread_mutex_lock(&lock);
        handle = add(object);
        pthread_mutex_unlock(&lock);
    }
    if (!handle) {
        free(object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = handle;
    return CUDA_SUCCESS;
}

static CUresult object_destroy(uint64_t handle, bool is_surface)
{
    struct object *object;

    pthread_mutex_lock(&lock);
    object = find(handle, is_surface);
    if (object)
        objects[handle - HANDLE_FIRST] = NULL;
    pthread_mutex_unlock(&lock);
    free(object);
    return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A copy of it: another thread may destroy it. */
static CUresult object_get(struct object *out, uint64_t handle, bool is_surface)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    const struct object *object;

    if (result)
        return result;
    pthread_mutex_lock(&lock);
    object = find(handle, is_surface);
    if (object)
        *out = *object;
    pthread_mutex_unlock(&lock);
    return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                           const CUDA_TEXTURE_DESC *pTexDesc,
                           const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct object object = {.has_view = pResViewDesc != NULL};
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && (!pTexObject || !pResDesc || !pTexDesc))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result =
            emu_texture_image(&object.image, pResDesc, pTexDesc, pResViewDesc, context->device);
    if (result)
        return result;
    object.resource = *pResDesc;
    object.texture = *pTexDesc;
    if (pResViewDesc)
        object.view = *pResViewDesc;
    return object_create(pTexObject, &object);
}

CUresult cuTexObjectDestroy(CUtexObject texObject)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    return result ? result : object_destroy(texObject, false);
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    struct object object;
    CUresult result = object_get(&object, texObject, false);

    if (!result && !pResDesc)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pResDesc = object.resource;
    return result;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    struct object object;
    CUresult result = object_get(&object, texObject, false);

    if (!result && !pTexDesc)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pTexDesc = object.texture;
    return result;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                        CUtexObject texObject)
{
    struct object object;
    CUresult result = object_get(&object, texObject, false);

    if (!result && (!pResViewDesc || !object.has_view))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pResViewDesc = object.view;
    return result;
}

CUresult cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct object object = {.is_surface = true};
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && (!pSurfObject || !pResDesc))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_surface_image(&object.image, pResDesc);
    if (result)
        return result;
    object.resource = *pResDesc;
    return object_create(pSurfObject, &object);
}

CUresult cuSurfObjectDestroy(CUsurfObject surfObject)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    return result ? result : object_destroy(surfObject, true);
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    struct object object;
    CUresult result = object_get(&object, surfObject, true);

    if (!result && !pResDesc)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pResDesc = object.resource;
    return result;
}

/* ---- launches ---- */

/* The objects named in a block of arguments, as many as fit. Returns how many there are. */
static size_t objects_named(const uint8_t *params, size_t size, struct emu_binding *list,
                            size_t room)
{
    size_t found = 0;

    pthread_mutex_lock(&lock);
    for (size_t at = 0; count && at + 8 <= size; at += 8) {
        uint64_t handle;
        memcpy(&handle, params + at, 8);
        for (unsigned surface = 0; surface < 2; surface++) {
            const struct object *o = find(handle, surface);
            if (!o)
                continue;
            if (found < room) {
                list[found].handle = handle;
                list[found].is_surface = surface;
                list[found].image = o->image;
            }
            found++;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult emu_bindings_create(struct emu_bindings **out, const void *params, size_t size,
                             const struct CUmod_st *module)
{
    size_t named = objects_named(params, size, NULL, 0);
    size_t bound = emu_references_bound(module, NULL, 0);
    struct emu_bindings *bindings;

    *out = NULL;
    if (!named && !bound)
        return CUDA_SUCCESS;
    bindings = calloc(1, sizeof(*bindings) + (named + bound) * sizeof(bindings->list[0]));
    if (!bindings)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t have = objects_named(params, size, bindings->list, named);
    bindings->count = have < named ? have : named;
    have = emu_references_bound(module, bindings->list + bindings->count, bound);
    bindings->count += have < bound ? have : bound;
    bindings->references = 1;
    *out = bindings;
    return CUDA_SUCCESS;
}

void emu_bindings_ref(struct emu_bindings *bindings)
{
    if (bindings)
        __atomic_add_fetch(&bindings->references, 1, __ATOMIC_RELAXED);
}

void emu_bindings_unref(struct emu_bindings *bindings)
{
    if (bindings && !__atomic_sub_fetch(&bindings->references, 1, __ATOMIC_ACQ_REL))
        free(bindings);
}

bool emu_binding_find(void *user, uint64_t handle, bool is_surface, struct ptx_image *out)
{
    const struct emu_bindings *bindings = user;
    const struct object *object;

    for (size_t i = 0; bindings && i < bindings->count; i++) {
        const struct emu_binding *b = &bindings->list[i];
        if (b->handle == handle && b->is_surface == is_surface) {
            *out = b->image;
            return true;
        }
    }
    pthread_mutex_lock(&lock);
    object = find(handle, is_surface);
    if (object)
        *out = object->image;
    pthread_mutex_unlock(&lock);
    return object != NULL;
}
