/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of tensor maps: each is made again, of the same tensor where its memory is now. What is in
 * a map's 128 bytes is the driver's business, and kernels get them by value; where they are not the
 * recorded ones, recorded maps in argument blocks give way to the replay's. A map lies at a
 * multiple of 64 there, alone or in a struct. Maps that kernels find in memory are left alone.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

enum { RANK_MAX = 5, ALIGNMENT = 64 };

/* ---- recorded map -> map ------------------------------------------------------------------ */

static struct cuda_tensor_map *find(const struct cuda_tensor_maps *maps, const uint8_t *recorded)
{
    const uint64_t *place = tsm_map_find(&maps->places, tsm_hash64(recorded, CUDA_TENSOR_MAP_SIZE));
    struct cuda_tensor_map *map = place ? &maps->list[*place] : NULL;

    return map && memcmp(map->recorded, recorded, CUDA_TENSOR_MAP_SIZE) == 0 ? map : NULL;
}

static struct cuda_tensor_map *add(struct cuda_tensor_maps *maps, const uint8_t *recorded)
{
    if (!TSM_ARRAY_RESERVE(maps->list, maps->capacity, maps->count + 1) ||
        !tsm_map_set(&maps->places, tsm_hash64(recorded, CUDA_TENSOR_MAP_SIZE), maps->count))
        return NULL;
    memcpy(maps->list[maps->count].recorded, recorded, CUDA_TENSOR_MAP_SIZE);
    return &maps->list[maps->count++];
}

/* A map that is the recorded one needs no entry, unless the same bytes stood for another before. */
static int note(struct cuda_tensor_maps *maps, const uint8_t *recorded, const CUtensorMap *actual)
{
    struct cuda_tensor_map *map = find(maps, recorded);

    if (!map && memcmp(recorded, actual, CUDA_TENSOR_MAP_SIZE) == 0)
        return 0;
    if (!map)
        map = add(maps, recorded);
    if (!map)
        return tsm_fail(TSM_E_MEMORY, "no memory for tensor maps");
    memcpy(map->actual, actual, CUDA_TENSOR_MAP_SIZE);
    return 0;
}

void cuda_tensor_maps_translate(const struct cuda_replay *replay, const uint8_t *recorded,
                                uint8_t *block, size_t size)
{
    for (size_t at = 0; replay->tensor_maps.count && at + CUDA_TENSOR_MAP_SIZE <= size;
         at += ALIGNMENT) {
        const struct cuda_tensor_map *map = find(&replay->tensor_maps, recorded + at);
        if (map)
            memcpy(block + at, map->actual, CUDA_TENSOR_MAP_SIZE);
    }
}

void cuda_tensor_maps_finish(struct cuda_replay *replay)
{
    tsm_map_finish(&replay->tensor_maps.places);
    free(replay->tensor_maps.list);
}

/* ---- what a map is made of ---------------------------------------------------------------- */

/* NULL: the trace is of a time when such a call's map was not kept. */
static const uint8_t *recorded_map(const struct sbt_record *record, uint32_t slot)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;

    return slot < record->slot_count && sbt_record_bytes(record, slot, &bytes, &size) &&
                   size == CUDA_TENSOR_MAP_SIZE
               ? bytes
               : NULL;
}

struct tensor {
    cuuint32_t rank;
    void *address;
    cuuint64_t sizes[RANK_MAX], strides[RANK_MAX];
    cuuint32_t box[RANK_MAX], steps[RANK_MAX];
    int lower[RANK_MAX], upper[RANK_MAX];
};

static void read_list(struct cuda_args *args, uint32_t slot, void *out, size_t size)
{
    const void *bytes = cuda_arg_bytes(args, slot, size);

    if (bytes && size)
        memcpy(out, bytes, size);
}

/* Fields of a call's record that all calls have. */
struct slots {
    uint32_t rank, address, sizes, strides, steps, count;
};
#define SLOTS                                                                                      \
    (struct slots)                                                                                 \
    {                                                                                              \
        AT(tensorRank), AT(globalAddress), AT(globalDim), AT(globalStrides), AT(elementStrides),   \
            AT(oobFill) + 1                                                                        \
    }

/* Reads them. Returns args->error. */
static int begin(struct cuda_args *args, struct cuda_replay *replay,
                 const struct sbt_record *record, struct slots at, struct tensor *out)
{
    cuda_args_begin(args, replay, record, at.count);
    *out = (struct tensor){.rank = (cuuint32_t)cuda_arg(args, at.rank),
                           .address = (void *)(uintptr_t)cuda_arg_address(args, at.address)};
    if (!args->error && (out->rank == 0 || out->rank > RANK_MAX))
        args->error = tsm_fail(TSM_E_FORMAT, "has a tensor of %u dimensions", out->rank);
    if (args->error)
        return args->error;
    read_list(args, at.sizes, out->sizes, out->rank * sizeof(*out->sizes));
    read_list(args, at.strides, out->strides, (out->rank - 1) * sizeof(*out->strides));
    read_list(args, at.steps, out->steps, out->rank * sizeof(*out->steps));
    return args->error;
}

static int made(struct cuda_args *args, const uint8_t *recorded, CUresult result,
                const CUtensorMap *map)
{
    if (result == CUDA_SUCCESS && !args->error)
        args->error = note(&args->replay->tensor_maps, recorded, map);
    return cuda_args_end(args, result);
}

/* ---- calls -------------------------------------------------------------------------------- */

#define AT(name) SLOT_cuTensorMapEncodeTiled_##name

int replay_cuTensorMapEncodeTiled(struct cuda_replay *replay, const struct sbt_record *record)
{
    const uint8_t *recorded = recorded_map(record, AT(tensorMap));
    CUtensorMap map = {0};
    struct cuda_args args;
    struct tensor t;

    if (!recorded)
        return 0;
    if (begin(&args, replay, record, SLOTS, &t))
        return args.error;
    read_list(&args, AT(boxDim), t.box, t.rank * sizeof(*t.box));
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuTensorMapEncodeTiled(
        &map, (CUtensorMapDataType)cuda_arg(&args, AT(tensorDataType)), t.rank, t.address, t.sizes,
        t.strides, t.box, t.steps, (CUtensorMapInterleave)cuda_arg(&args, AT(interleave)),
        (CUtensorMapSwizzle)cuda_arg(&args, AT(swizzle)),
        (CUtensorMapL2promotion)cuda_arg(&args, AT(l2Promotion)),
        (CUtensorMapFloatOOBfill)cuda_arg(&args, AT(oobFill)));
    return made(&args, recorded, result, &map);
}

#undef AT
#define AT(name) SLOT_cuTensorMapEncodeIm2col_##name

int replay_cuTensorMapEncodeIm2col(struct cuda_replay *replay, const struct sbt_record *record)
{
    const uint8_t *recorded = recorded_map(record, AT(tensorMap));
    CUtensorMap map = {0};
    struct cuda_args args;
    struct tensor t;

    if (!recorded)
        return 0;
    if (begin(&args, replay, record, SLOTS, &t))
        return args.error;
    size_t corner = t.rank > 2 ? (t.rank - 2) * sizeof(*t.lower) : 0;
    read_list(&args, AT(pixelBoxLowerCorner), t.lower, corner);
    read_list(&args, AT(pixelBoxUpperCorner), t.upper, corner);
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuTensorMapEncodeIm2col(
        &map, (CUtensorMapDataType)cuda_arg(&args, AT(tensorDataType)), t.rank, t.address, t.sizes,
        t.strides, t.lower, t.upper, (cuuint32_t)cuda_arg(&args, AT(channelsPerPixel)),
        (cuuint32_t)cuda_arg(&args, AT(pixelsPerColumn)), t.steps,
        (CUtensorMapInterleave)cuda_arg(&args, AT(interleave)),
        (CUtensorMapSwizzle)cuda_arg(&args, AT(swizzle)),
        (CUtensorMapL2promotion)cuda_arg(&args, AT(l2Promotion)),
        (CUtensorMapFloatOOBfill)cuda_arg(&args, AT(oobFill)));
    return made(&args, recorded, result, &map);
}

#undef AT
#define AT(name) SLOT_cuTensorMapEncodeIm2colWide_##name

int replay_cuTensorMapEncodeIm2colWide(struct cuda_replay *replay, const struct sbt_record *record)
{
    const uint8_t *recorded = recorded_map(record, AT(tensorMap));
    CUtensorMap map = {0};
    struct cuda_args args;
    struct tensor t;

    if (!recorded)
        return 0;
    if (begin(&args, replay, record, SLOTS, &t))
        return args.error;
    CUresult result = args.driver->cuTensorMapEncodeIm2colWide(
        &map, (CUtensorMapDataType)cuda_arg(&args, AT(tensorDataType)), t.rank, t.address, t.sizes,
        t.strides, (int)cuda_arg(&args, AT(pixelBoxLowerCornerWidth)),
        (int)cuda_arg(&args, AT(pixelBoxUpperCornerWidth)),
        (cuuint32_t)cuda_arg(&args, AT(channelsPerPixel)),
        (cuuint32_t)cuda_arg(&args, AT(pixelsPerColumn)), t.steps,
        (CUtensorMapInterleave)cuda_arg(&args, AT(interleave)),
        (CUtensorMapIm2ColWideMode)cuda_arg(&args, AT(mode)),
        (CUtensorMapSwizzle)cuda_arg(&args, AT(swizzle)),
        (CUtensorMapL2promotion)cuda_arg(&args, AT(l2Promotion)),
        (CUtensorMapFloatOOBfill)cuda_arg(&args, AT(oobFill)));
    return made(&args, recorded, result, &map);
}

#undef AT
#define AT(name) SLOT_cuTensorMapReplaceAddress_##name

int replay_cuTensorMapReplaceAddress(struct cuda_replay *replay, const struct sbt_record *record)
{
    const uint8_t *recorded = recorded_map(record, AT(tensorMap));
    const struct cuda_tensor_map *known;
    const uint8_t *before;
    struct cuda_args args;
    CUtensorMap map;

    if (!recorded)
        return 0;
    cuda_args_begin(&args, replay, record, AT(before) + 1);
    void *address = (void *)(uintptr_t)cuda_arg_address(&args, AT(globalAddress));
    before = cuda_arg_bytes(&args, AT(before), sizeof(map));
    if (args.error)
        return args.error;
    known = find(&replay->tensor_maps, before);
    memcpy(&map, known ? known->actual : before, sizeof(map));
    return made(&args, recorded, args.driver->cuTensorMapReplaceAddress(&map, address), &map);
}
