/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of texture and surface objects, and of their handles in arguments of kernels.
 *
 * A handle is a number that the driver chooses, and a kernel gets it as an argument like any other.
 * When the replay's driver chooses another number, arguments are translated by this rule: a
 * parameter of exactly 8 bytes, which holds the recorded handle of an object that lives at that
 * time, gets the replay's. Where the driver cannot tell the parameters of a function, each 8 bytes
 * at a multiple of 8 count as one. Handles inside larger parameters or in memory are left alone.
 */
#include "api/cuda/replay/state.h"

#include <string.h>

/* ---- recorded handle -> handle ------------------------------------------------------------ */

static struct tsm_map *handles_of(struct cuda_replay *replay, enum cuda_object object)
{
    return object == CUDA_OBJECT_TEXTURE ? &replay->textures.textures : &replay->textures.surfaces;
}

static int object_made(struct cuda_args *args, enum cuda_object object, uint64_t recorded,
                       uint64_t actual)
{
    struct tsm_map *handles = handles_of(args->replay, object);
    bool added;
    uint64_t *value = recorded ? tsm_map_insert(handles, recorded, &added) : NULL;

    if (!recorded)
        return tsm_fail(TSM_E_FORMAT, "has no handle");
    if (!value)
        return tsm_fail(TSM_E_MEMORY, "no memory for objects");
    *value = actual;
    if (recorded != actual)
        args->replay->textures.differs = true;
    return 0;
}

/* 0: no live object has this recorded handle. */
static uint64_t find(const struct tsm_map *handles, uint64_t recorded)
{
    const uint64_t *value = recorded ? tsm_map_find(handles, recorded) : NULL;

    return value ? *value : 0;
}

static int translate_word(const struct cuda_textures *t, uint8_t *at)
{
    uint64_t word, texture, surface;

    memcpy(&word, at, 8);
    texture = find(&t->textures, word);
    surface = find(&t->surfaces, word);
    if (texture && surface && texture != surface)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "argument 0x%llx is the handle of a texture and of a surface, which are "
                        "two numbers here",
                        (unsigned long long)word);
    if (texture || surface)
        word = texture ? texture : surface;
    memcpy(at, &word, 8);
    return 0;
}

int cuda_textures_translate(struct cuda_replay *replay, CUfunction function, uint8_t *block,
                            size_t size)
{
    const struct cuda_real *driver = &replay->library.calls;
    size_t offset, bytes, count = 0;
    int error = 0;

    if (!replay->textures.differs)
        return 0;
    while (!error && driver->cuFuncGetParamInfo(function, count, &offset, &bytes) == CUDA_SUCCESS) {
        count++;
        if (bytes == 8 && size >= 8 && offset <= size - 8)
            error = translate_word(&replay->textures, block + offset);
    }
    for (offset = 0; !error && !count && offset + 8 <= size; offset += 8)
        error = translate_word(&replay->textures, block + offset);
    return error;
}

void cuda_textures_finish(struct cuda_replay *replay)
{
    tsm_map_finish(&replay->textures.textures);
    tsm_map_finish(&replay->textures.surfaces);
    tsm_map_finish(&replay->textures.recorded);
}

/* The handle as an object's value; its recorded number is kept for when it goes. */
static int keep_object(struct cuda_args *args, uint32_t slot, enum cuda_object object,
                       uint64_t recorded, uint64_t actual)
{
    bool added;
    uint64_t id = cuda_arg(args, slot);
    uint64_t *value =
        tsm_map_insert(&args->replay->textures.recorded, (uint64_t)object << 56 | id, &added);

    if (!value)
        return tsm_fail(TSM_E_MEMORY, "no memory for objects");
    *value = recorded;
    cuda_arg_created(args, slot, object, (void *)(uintptr_t)actual);
    return object_made(args, object, recorded, actual);
}

static void drop_object(struct cuda_args *args, uint32_t slot, enum cuda_object object)
{
    uint64_t id = cuda_arg(args, slot);
    const uint64_t *recorded =
        tsm_map_find(&args->replay->textures.recorded, (uint64_t)object << 56 | id);
    uint64_t *handle = recorded ? tsm_map_find(handles_of(args->replay, object), *recorded) : NULL;

    if (handle)
        *handle = 0;
    cuda_arg_destroyed(args, slot, object);
}

/* ---- descriptors -------------------------------------------------------------------------- */

#define AT(name) SLOT_cuTexObjectCreate_##name

static CUDA_RESOURCE_DESC read_resource(struct cuda_args *args)
{
    CUDA_RESOURCE_DESC r = {.resType = (CUresourcetype)cuda_arg(args, AT(resource)),
                            .flags = (unsigned)cuda_arg(args, AT(resource_flags))};

    switch ((int)r.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        r.res.array.hArray = cuda_arg_handle(args, AT(array), CUDA_OBJECT_ARRAY);
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        r.res.mipmap.hMipmappedArray = cuda_arg_handle(args, AT(mipmap), CUDA_OBJECT_MIPMAP);
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        r.res.linear.devPtr = cuda_arg_address(args, AT(address));
        r.res.linear.format = (CUarray_format)cuda_arg(args, AT(format));
        r.res.linear.numChannels = (unsigned)cuda_arg(args, AT(channels));
        r.res.linear.sizeInBytes = cuda_arg(args, AT(size));
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        r.res.pitch2D.devPtr = cuda_arg_address(args, AT(address));
        r.res.pitch2D.format = (CUarray_format)cuda_arg(args, AT(format));
        r.res.pitch2D.numChannels = (unsigned)cuda_arg(args, AT(channels));
        r.res.pitch2D.width = cuda_arg(args, AT(width));
        r.res.pitch2D.height = cuda_arg(args, AT(height));
        r.res.pitch2D.pitchInBytes = cuda_arg(args, AT(pitch));
        break;
    }
    return r;
}

static CUDA_TEXTURE_DESC read_texture(struct cuda_args *args)
{
    CUDA_TEXTURE_DESC t = {
        .addressMode = {(CUaddress_mode)cuda_arg(args, AT(address_x)),
                        (CUaddress_mode)cuda_arg(args, AT(address_y)),
                        (CUaddress_mode)cuda_arg(args, AT(address_z))},
        .filterMode = (CUfilter_mode)cuda_arg(args, AT(filter)),
        .flags = (unsigned)cuda_arg(args, AT(flags)),
        .maxAnisotropy = (unsigned)cuda_arg(args, AT(anisotropy)),
        .mipmapFilterMode = (CUfilter_mode)cuda_arg(args, AT(mip_filter)),
        .mipmapLevelBias = cuda_arg_f32(args, AT(mip_bias)),
        .minMipmapLevelClamp = cuda_arg_f32(args, AT(mip_least)),
        .maxMipmapLevelClamp = cuda_arg_f32(args, AT(mip_most)),
    };
    const void *border = cuda_arg_bytes(args, AT(border), sizeof(t.borderColor));

    if (border)
        memcpy(t.borderColor, border, sizeof(t.borderColor));
    return t;
}

static CUDA_RESOURCE_VIEW_DESC read_view(struct cuda_args *args)
{
    return (CUDA_RESOURCE_VIEW_DESC){
        .format = (CUresourceViewFormat)cuda_arg(args, AT(view_format)),
        .width = cuda_arg(args, AT(view_width)),
        .height = cuda_arg(args, AT(view_height)),
        .depth = cuda_arg(args, AT(view_depth)),
        .firstMipmapLevel = (unsigned)cuda_arg(args, AT(view_first_level)),
        .lastMipmapLevel = (unsigned)cuda_arg(args, AT(view_last_level)),
        .firstLayer = (unsigned)cuda_arg(args, AT(view_first_layer)),
        .lastLayer = (unsigned)cuda_arg(args, AT(view_last_layer)),
    };
}

/* ---- objects ------------------------------------------------------------------------------ */

int replay_cuTexObjectCreate(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUtexObject object = 0;

    cuda_args_begin(&args, replay, record, AT(view_last_layer) + 1);
    CUDA_RESOURCE_DESC resource = read_resource(&args);
    CUDA_TEXTURE_DESC texture = read_texture(&args);
    CUDA_RESOURCE_VIEW_DESC view = read_view(&args);
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuTexObjectCreate(&object, &resource, &texture,
                                                     cuda_arg(&args, AT(has_view)) ? &view : NULL);
    if (result == CUDA_SUCCESS)
        args.error = keep_object(&args, AT(pTexObject), CUDA_OBJECT_TEXTURE,
                                 cuda_arg(&args, AT(value)), object);
    return cuda_args_end(&args, result);
}

#undef AT

int replay_cuTexObjectDestroy(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    const uint32_t slot = SLOT_cuTexObjectDestroy_texObject;

    cuda_args_begin(&args, replay, record, slot + 1);
    CUtexObject object = (uintptr_t)cuda_arg_handle(&args, slot, CUDA_OBJECT_TEXTURE);
    if (args.error)
        return args.error;
    drop_object(&args, slot, CUDA_OBJECT_TEXTURE);
    return cuda_args_end(&args, args.driver->cuTexObjectDestroy(object));
}

#define AT(name) SLOT_cuSurfObjectCreate_##name

int replay_cuSurfObjectCreate(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUsurfObject object = 0;

    cuda_args_begin(&args, replay, record, AT(resource_flags) + 1);
    CUDA_RESOURCE_DESC resource = {
        .resType = (CUresourcetype)cuda_arg(&args, AT(resource)),
        .res.array.hArray = cuda_arg_handle(&args, AT(array), CUDA_OBJECT_ARRAY),
        .flags = (unsigned)cuda_arg(&args, AT(resource_flags)),
    };
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuSurfObjectCreate(&object, &resource);
    if (result == CUDA_SUCCESS)
        args.error = keep_object(&args, AT(pSurfObject), CUDA_OBJECT_SURFACE,
                                 cuda_arg(&args, AT(value)), object);
    return cuda_args_end(&args, result);
}

#undef AT

int replay_cuSurfObjectDestroy(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    const uint32_t slot = SLOT_cuSurfObjectDestroy_surfObject;

    cuda_args_begin(&args, replay, record, slot + 1);
    CUsurfObject object = (uintptr_t)cuda_arg_handle(&args, slot, CUDA_OBJECT_SURFACE);
    if (args.error)
        return args.error;
    drop_object(&args, slot, CUDA_OBJECT_SURFACE);
    return cuda_args_end(&args, args.driver->cuSurfObjectDestroy(object));
}
