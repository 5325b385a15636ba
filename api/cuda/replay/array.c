/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays as regions: what they hold is filled when they are made and compared like device
 * memory, under the places of api/cuda/array_bytes.h.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

#include "api/cuda/array_bytes.h"
#include "base/array.h"

#define FILL_SIZE ((size_t)64 << 10)

/* One live array. */
struct cuda_array {
    uint64_t id;
    uint64_t mipmap; /* id of what it is a level of, 0: none */
    uint64_t whole;  /* of the array that it is a plane of */
    uint64_t made_seq;
    CUarray raw;
    CUcontext context;
    struct cuda_array_shape shape;
};

static struct cuda_array *find(const struct cuda_arrays *a, uint64_t id)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->list[i].id == id)
            return &a->list[i];
    return NULL;
}

/* In the order of ids, as regions go in the order of places. */
static int add(struct cuda_arrays *a, const struct cuda_array *array)
{
    size_t at = a->count;

    while (at && a->list[at - 1].id > array->id)
        at--;
    if (!TSM_ARRAY_INSERT(a->list, a->count, a->capacity, at, *array))
        return tsm_fail(TSM_E_MEMORY, "no memory for arrays");
    return 0;
}

static void remove_at(struct cuda_arrays *a, size_t at)
{
    memmove(&a->list[at], &a->list[at + 1], (--a->count - at) * sizeof(a->list[0]));
}

static CUresult fill(const struct cuda_replay *replay, const struct cuda_array *array)
{
    const struct cuda_real *driver = &replay->library.calls;
    uint64_t size = cuda_array_size(&array->shape);
    uint8_t bytes[FILL_SIZE];
    CUresult result = CUDA_SUCCESS;

    memset(bytes, replay->options->fresh_memory, sizeof(bytes));
    for (uint64_t at = 0; at < size && result == CUDA_SUCCESS; at += FILL_SIZE)
        result = cuda_array_bytes(driver->cuMemcpy3D_v2, array->raw, &array->shape, at, bytes,
                                  size - at < FILL_SIZE ? size - at : FILL_SIZE, true);
    return result;
}

/* The same array may be met again: a level is asked for by number. What cannot be read is left
 * alone. */
int cuda_array_created(struct cuda_args *args, uint64_t id, CUarray raw)
{
    const struct sbt_schema *schema = cuda_schema(args->record->type);
    uint64_t parent = schema ? sbt_record_role(schema, args->record, SBT_ROLE_PARENT, 0) : 0;
    bool is_plane = args->record->type == TYPE_cuArrayGetPlane;
    struct cuda_array array = {.id = id,
                               .mipmap = is_plane ? 0 : parent,
                               .whole = is_plane ? parent : 0,
                               .made_seq = args->record->seq,
                               .raw = raw};
    CUDA_ARRAY3D_DESCRIPTOR description;

    if (find(&args->replay->arrays, id) ||
        args->driver->cuArray3DGetDescriptor_v2(&description, raw) != CUDA_SUCCESS ||
        !cuda_array_shape(&array.shape, &description))
        return 0;
    args->driver->cuCtxGetCurrent(&array.context);
    /* A sparse array has no memory yet, or what was mapped to another one before. */
    CUresult result =
        description.Flags & CUDA_ARRAY3D_SPARSE ? CUDA_SUCCESS : fill(args->replay, &array);
    if (result != CUDA_SUCCESS)
        return cuda_fail(args->driver, "filling a fresh array", result);
    return add(&args->replay->arrays, &array);
}

void cuda_array_destroyed(struct cuda_replay *replay, uint64_t id)
{
    for (size_t i = replay->arrays.count; i-- > 0;)
        if (replay->arrays.list[i].id == id || replay->arrays.list[i].whole == id)
            remove_at(&replay->arrays, i);
}

void cuda_mipmap_destroyed(struct cuda_replay *replay, uint64_t id)
{
    for (size_t i = replay->arrays.count; i-- > 0;)
        if (replay->arrays.list[i].mipmap == id)
            remove_at(&replay->arrays, i);
}

void cuda_arrays_forget(struct cuda_replay *replay, CUcontext context)
{
    for (size_t i = replay->arrays.count; i-- > 0;)
        if (replay->arrays.list[i].context == context)
            remove_at(&replay->arrays, i);
}

void cuda_arrays_finish(struct cuda_replay *replay)
{
    free(replay->arrays.list);
    free(replay->arrays.regions);
    memset(&replay->arrays, 0, sizeof(replay->arrays));
}

/* ---- for the engine ----------------------------------------------------------------------- */

int cuda_arrays_regions(struct cuda_replay *replay, const struct tsm_region **regions,
                        size_t *count)
{
    const struct cuda_memory *memory = &replay->memory;
    struct cuda_arrays *a = &replay->arrays;
    size_t all = memory->region_count + a->count;

    *regions = memory->regions;
    *count = memory->region_count;
    if (!a->count)
        return 0;
    if (!TSM_ARRAY_RESIZE(a->regions, all))
        return tsm_fail(TSM_E_MEMORY, "no memory for regions");
    struct tsm_region *list = a->regions;
    if (memory->region_count)
        memcpy(list, memory->regions, memory->region_count * sizeof(*list));
    for (size_t i = 0; i < a->count; i++) {
        uint64_t place = CUDA_ARRAY_PLACE(a->list[i].id);
        list[memory->region_count + i] = (struct tsm_region){
            place, place, cuda_array_size(&a->list[i].shape), a->list[i].made_seq, false};
    }
    *regions = list;
    *count = all;
    return 0;
}

static int move(struct cuda_replay *replay, uint64_t id, uint64_t offset, void *bytes,
                uint64_t size, bool is_write)
{
    const struct cuda_real *driver = &replay->library.calls;
    const struct cuda_array *array = find(&replay->arrays, id);
    uint64_t whole = array ? cuda_array_size(&array->shape) : 0;

    if (!array || offset > whole || size > whole - offset)
        return tsm_fail(TSM_E_NOT_FOUND, "no array %llu, or a smaller one", (unsigned long long)id);
    CUresult result = driver->cuCtxSetCurrent(array->context);
    if (result == CUDA_SUCCESS)
        result = cuda_array_bytes(driver->cuMemcpy3D_v2, array->raw, &array->shape, offset, bytes,
                                  size, is_write);
    return result == CUDA_SUCCESS
               ? 0
               : cuda_fail(driver, is_write ? "filling an array" : "reading an array", result);
}

int cuda_array_read(struct cuda_replay *replay, uint64_t place, void *out, uint64_t size)
{
    return move(replay, CUDA_ARRAY_ID(place), place & ((1ull << CUDA_ARRAY_PLACE_BITS) - 1), out,
                size, false);
}

int cuda_array_write(struct cuda_replay *replay, uint64_t id, uint64_t offset, void *bytes,
                     uint64_t size)
{
    return move(replay, id, offset, bytes, size, true);
}
