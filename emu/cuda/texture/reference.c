/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references: variables of a module, whose state the program sets one property
 * at a time. What a kernel reads through is the state when it was launched.
 */
#include "emu/cuda/texture/texture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/texture/array.h"
#include "emu/cuda/texture/format.h"

/* The driver's two handle types are one struct here: a surface uses the resource alone. */
struct reference {
    struct reference *next;
    CUmodule module; /* NULL: made by cuTexRefCreate, named by no kernel */
    uint64_t handle; /* address of the variable */
    bool is_surface;
    bool is_bound;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUarray_format format; /* for memory that is no array */
    unsigned channel_count;
};

struct CUtexref_st {
    struct reference r;
};

struct CUsurfref_st {
    struct reference r;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reference *references;

/* ---- finding ---- */

static struct reference *reference_create(CUmodule module, uint64_t handle, bool is_surface)
{
    struct reference *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->module = module;
    r->handle = handle;
    r->is_surface = is_surface;
    r->format = CU_AD_FORMAT_FLOAT;
    r->channel_count = 1;
    r->texture.maxMipmapLevelClamp = 1000;
    for (unsigned k = 0; k < 3; k++)
        r->texture.addressMode[k] = CU_TR_ADDRESS_MODE_CLAMP;
    if (!emu_object_add(is_surface ? EMU_SURFREF : EMU_TEXREF, r)) {
        free(r);
        return NULL;
    }
    r->next = references;
    references = r;
    return r;
}

static const struct ptx_variable *find_variable(CUmodule module, const char *name,
                                                enum ptx_variable_kind kind)
{
    size_t count = ptx_module_variable_count(module->ptx);

    for (size_t i = 0; i < count; i++) {
        const struct ptx_variable *v = ptx_module_variable(module->ptx, i);
        if (v->kind == kind && !v->is_external && strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

/* The same handle for the same name. */
static CUresult reference_of(struct reference **out, CUmodule module, const char *name,
                             bool is_surface)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    const struct ptx_variable *v;
    struct reference *r;

    if (!result && !emu_object_is(EMU_MODULE, module))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && !name)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    v = find_variable(module, name, is_surface ? PTX_VARIABLE_SURFREF : PTX_VARIABLE_TEXREF);
    if (!v)
        return CUDA_ERROR_NOT_FOUND;
    pthread_mutex_lock(&lock);
    for (r = references; r && (r->module != module || r->handle != v->address); r = r->next)
        ;
    if (!r)
        r = reference_create(module, v->address, is_surface);
    pthread_mutex_unlock(&lock);
    *out = r;
    return r ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name)
{
    struct reference *r;
    CUresult result =
        pTexRef ? reference_of(&r, hmod, name, false) : emu_refuse(CUDA_ERROR_INVALID_VALUE);

    if (!result)
        *pTexRef = (CUtexref)(void *)r;
    return result;
}

CUresult cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name)
{
    struct reference *r;
    CUresult result =
        pSurfRef ? reference_of(&r, hmod, name, true) : emu_refuse(CUDA_ERROR_INVALID_VALUE);

    if (!result)
        *pSurfRef = (CUsurfref)(void *)r;
    return result;
}

CUresult cuTexRefCreate(CUtexref *pTexRef)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct reference *r;

    if (!result && !pTexRef)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    r = reference_create(NULL, 0, false);
    pthread_mutex_unlock(&lock);
    if (!r)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pTexRef = (CUtexref)(void *)r;
    return CUDA_SUCCESS;
}

/* Under the lock: take `r` out of the list. */
static void reference_destroy(struct reference **at)
{
    struct reference *r = *at;

    *at = r->next;
    emu_object_remove(r);
    free(r);
}

CUresult cuTexRefDestroy(CUtexref hTexRef)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct reference **at = &references;

    if (!result && !emu_object_is(EMU_TEXREF, hTexRef))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && hTexRef->r.module)
        result = CUDA_ERROR_INVALID_VALUE; /* it goes with its module */
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    while (*at && *at != &hTexRef->r)
        at = &(*at)->next;
    if (*at)
        reference_destroy(at);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

void emu_references_destroy(CUmodule module)
{
    pthread_mutex_lock(&lock);
    for (struct reference **at = &references; *at;) {
        if ((*at)->module == module)
            reference_destroy(at);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- launches ---- */

static CUresult image_of(struct ptx_image *out, const struct reference *r, CUdevice device)
{
    if (r->is_surface)
        return emu_surface_image(out, &r->resource);
    return emu_texture_image(out, &r->resource, &r->texture, NULL, device);
}

/* A reference to something that is gone is as good as unbound. */
size_t emu_references_bound(const struct CUmod_st *module, struct emu_binding *list, size_t room)
{
    size_t found = 0;

    pthread_mutex_lock(&lock);
    for (const struct reference *r = references; r; r = r->next) {
        struct ptx_image image;
        if (r->module != module || !r->is_bound || image_of(&image, r, module->context->device))
            continue;
        if (found < room) {
            list[found].handle = r->handle;
            list[found].is_surface = r->is_surface;
            list[found].image = image;
        }
        found++;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* The unit of a texture is known from the reference alone. */
CUresult cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && (!emu_object_is(EMU_TEXREF, hTexRef) || !emu_object_is(EMU_FUNCTION, hfunc)))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && texunit != CU_PARAM_TR_DEFAULT)
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

/* ---- binding ---- */

/* Check the handle and begin to change it; end with leave(). */
static CUresult enter(struct reference **out, const void *handle, bool is_surface)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !emu_object_is(is_surface ? EMU_SURFREF : EMU_TEXREF, handle))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result) {
        *out = (struct reference *)(uintptr_t)handle;
        pthread_mutex_lock(&lock);
    }
    return result;
}

static CUresult leave(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

/* Bind if an object could be made of it. */
static CUresult bind(struct reference *r, const CUDA_RESOURCE_DESC *resource)
{
    struct reference changed = *r;
    struct ptx_image image;
    CUresult result;

    changed.resource = *resource;
    result = image_of(&image, &changed, emu_context_current()->device);
    if (result)
        return result;
    r->resource = *resource;
    r->is_bound = true;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags)
{
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = hArray};
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    return leave(Flags != CU_TRSA_OVERRIDE_FORMAT ? CUDA_ERROR_INVALID_VALUE : bind(r, &d));
}

CUresult cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                   unsigned int Flags)
{
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                            .res.mipmap.hMipmappedArray = hMipmappedArray};
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    return leave(Flags != CU_TRSA_OVERRIDE_FORMAT ? CUDA_ERROR_INVALID_VALUE : bind(r, &d));
}

/* An address that is not aligned is rounded down and the rest given back; address 0 unbinds. */
CUresult cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes)
{
    size_t align = (size_t)emu_device_attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 0);
    size_t rest = dptr % align;
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (!dptr) {
        r->is_bound = false;
        return leave(CUDA_SUCCESS);
    }
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_LINEAR,
                            .res.linear = {.devPtr = dptr - rest,
                                           .format = r->format,
                                           .numChannels = r->channel_count,
                                           .sizeInBytes = bytes + rest}};
    result = rest && !ByteOffset ? CUDA_ERROR_INVALID_VALUE : bind(r, &d);
    if (!result && ByteOffset)
        *ByteOffset = rest;
    return leave(result);
}

CUresult cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                 CUdeviceptr dptr, size_t Pitch)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (!desc || desc->Format != r->format || desc->NumChannels != r->channel_count)
        return leave(CUDA_ERROR_INVALID_VALUE);
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_PITCH2D,
                            .res.pitch2D = {.devPtr = dptr,
                                            .format = desc->Format,
                                            .numChannels = desc->NumChannels,
                                            .width = desc->Width,
                                            .height = desc->Height,
                                            .pitchInBytes = Pitch}};
    return leave(bind(r, &d));
}

CUresult cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                 CUdeviceptr dptr, size_t Pitch)
{
    return cuTexRefSetAddress2D_v3(hTexRef, desc, dptr, Pitch);
}

CUresult cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags)
{
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = hArray};
    struct reference *r;
    CUresult result = enter(&r, hSurfRef, true);

    return result ? result : leave(Flags ? CUDA_ERROR_INVALID_VALUE : bind(r, &d));
}

CUresult cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef)
{
    struct reference *r;
    CUresult result = enter(&r, hSurfRef, true);

    if (result)
        return result;
    if (!phArray || !r->is_bound)
        return leave(CUDA_ERROR_INVALID_VALUE);
    *phArray = r->resource.res.array.hArray;
    return leave(CUDA_SUCCESS);
}

/* ---- properties ---- */

CUresult cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (!emu_format_find(fmt) ||
        (NumPackedComponents != 1 && NumPackedComponents != 2 && NumPackedComponents != 4))
        return leave(CUDA_ERROR_INVALID_VALUE);
    r->format = fmt;
    r->channel_count = (unsigned)NumPackedComponents;
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (pFormat)
        *pFormat = r->format;
    if (pNumChannels)
        *pNumChannels = (int)r->channel_count;
    return leave(CUDA_SUCCESS);
}

/* A setter and a getter of one field: `valid` says which values are. */
#define PROPERTY(set, get, type, parameter, field, valid)                                          \
    CUresult set(CUtexref hTexRef, type parameter)                                                 \
    {                                                                                              \
        struct reference *r;                                                                       \
        CUresult result = enter(&r, hTexRef, false);                                               \
        if (result)                                                                                \
            return result;                                                                         \
        if (!(valid))                                                                              \
            return leave(CUDA_ERROR_INVALID_VALUE);                                                \
        r->texture.field = parameter;                                                              \
        return leave(CUDA_SUCCESS);                                                                \
    }                                                                                              \
    GETTER(get, type, field)
#define GETTER(get, type, field)                                                                   \
    CUresult get(type *out, CUtexref hTexRef)                                                      \
    {                                                                                              \
        struct reference *r;                                                                       \
        CUresult result = enter(&r, hTexRef, false);                                               \
        if (result)                                                                                \
            return result;                                                                         \
        if (!out)                                                                                  \
            return leave(CUDA_ERROR_INVALID_VALUE);                                                \
        *out = (type)r->texture.field;                                                             \
        return leave(CUDA_SUCCESS);                                                                \
    }

#define FLAGS_KNOWN                                                                                \
    (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |                     \
     CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

PROPERTY(cuTexRefSetFilterMode, cuTexRefGetFilterMode, CUfilter_mode, mode, filterMode,
         (unsigned)mode <= CU_TR_FILTER_MODE_LINEAR)
PROPERTY(cuTexRefSetMipmapFilterMode, cuTexRefGetMipmapFilterMode, CUfilter_mode, mode,
         mipmapFilterMode, (unsigned)mode <= CU_TR_FILTER_MODE_LINEAR)
PROPERTY(cuTexRefSetMipmapLevelBias, cuTexRefGetMipmapLevelBias, float, bias, mipmapLevelBias,
         bias == bias)
PROPERTY(cuTexRefSetFlags, cuTexRefGetFlags, unsigned, flags, flags,
         !(flags & ~(unsigned)FLAGS_KNOWN))
GETTER(cuTexRefGetMaxAnisotropy, int, maxAnisotropy)

CUresult cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    r->texture.maxAnisotropy = maxAniso;
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (dim < 0 || dim > 2 || (unsigned)am > CU_TR_ADDRESS_MODE_BORDER)
        return leave(CUDA_ERROR_INVALID_VALUE);
    r->texture.addressMode[dim] = am;
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (!pam || dim < 0 || dim > 2)
        return leave(CUDA_ERROR_INVALID_VALUE);
    *pam = r->texture.addressMode[dim];
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp,
                                     float maxMipmapLevelClamp)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    r->texture.minMipmapLevelClamp = minMipmapLevelClamp;
    r->texture.maxMipmapLevelClamp = maxMipmapLevelClamp;
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp,
                                     CUtexref hTexRef)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (pminMipmapLevelClamp)
        *pminMipmapLevelClamp = r->texture.minMipmapLevelClamp;
    if (pmaxMipmapLevelClamp)
        *pmaxMipmapLevelClamp = r->texture.maxMipmapLevelClamp;
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (!pBorderColor)
        return leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(r->texture.borderColor, pBorderColor, sizeof(r->texture.borderColor));
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (!pBorderColor)
        return leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(pBorderColor, r->texture.borderColor, sizeof(r->texture.borderColor));
    return leave(CUDA_SUCCESS);
}

/* ---- what is bound ---- */

CUresult cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    bool is_linear = r->resource.resType == CU_RESOURCE_TYPE_LINEAR;
    if (!pdptr || !r->is_bound || (!is_linear && r->resource.resType != CU_RESOURCE_TYPE_PITCH2D))
        return leave(CUDA_ERROR_INVALID_VALUE);
    *pdptr = is_linear ? r->resource.res.linear.devPtr : r->resource.res.pitch2D.devPtr;
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (!phArray || !r->is_bound || r->resource.resType != CU_RESOURCE_TYPE_ARRAY)
        return leave(CUDA_ERROR_INVALID_VALUE);
    *phArray = r->resource.res.array.hArray;
    return leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef)
{
    struct reference *r;
    CUresult result = enter(&r, hTexRef, false);

    if (result)
        return result;
    if (!phMipmappedArray || !r->is_bound ||
        r->resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        return leave(CUDA_ERROR_INVALID_VALUE);
    *phMipmappedArray = r->resource.res.mipmap.hMipmappedArray;
    return leave(CUDA_SUCCESS);
}

/* ---- addresses of 32 bits ---- */

CUresult cuTexRefSetAddress(unsigned int *ByteOffset, CUtexref hTexRef, CUdeviceptr_v1 dptr,
                            unsigned int bytes)
{
    size_t offset = 0;
    CUresult result = cuTexRefSetAddress_v2(ByteOffset ? &offset : NULL, hTexRef, dptr, bytes);

    if (!result && ByteOffset)
        *ByteOffset = (unsigned)offset;
    return result;
}

CUresult cuTexRefSetAddress2D(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR_v1 *desc,
                              CUdeviceptr_v1 dptr, unsigned int Pitch)
{
    if (!desc)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUDA_ARRAY_DESCRIPTOR d = {.Width = desc->Width,
                               .Height = desc->Height,
                               .Format = desc->Format,
                               .NumChannels = desc->NumChannels};
    return cuTexRefSetAddress2D_v3(hTexRef, &d, dptr, Pitch);
}

CUresult cuTexRefGetAddress(CUdeviceptr_v1 *pdptr, CUtexref hTexRef)
{
    CUdeviceptr address;
    CUresult result = cuTexRefGetAddress_v2(pdptr ? &address : NULL, hTexRef);

    if (!result && address > UINT32_MAX)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pdptr = (CUdeviceptr_v1)address;
    return result;
}
