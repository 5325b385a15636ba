/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts. The replay's device is asked for its resources where the program asked, and they
 * are split as they were. A device that has fewer multiprocessors makes fewer parts: in place of
 * those that it lacks a green context gets the whole.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 1024u /* of one split: more than any device has */

/* ---- parts of resources ------------------------------------------------------------------- */

static int keep(struct cuda_replay *replay, uint64_t id, const CUdevResource *part)
{
    const uint64_t *place = id ? tsm_map_find(&replay->resources, id) : NULL;
    CUdevResource *kept = place ? (CUdevResource *)(uintptr_t)*place : NULL; /* NOLINT */

    if (!id)
        return 0;
    if (!kept) {
        kept = malloc(sizeof(*kept));
        if (!kept || !tsm_map_set(&replay->resources, id, (uint64_t)(uintptr_t)kept)) {
            free(kept);
            return tsm_fail(TSM_E_MEMORY, "no memory for resources");
        }
    }
    *kept = *part;
    return 0;
}

static const CUdevResource *find_part(const struct cuda_replay *replay, uint64_t id)
{
    const uint64_t *place = id ? tsm_map_find(&replay->resources, id) : NULL;

    return place ? (const CUdevResource *)(uintptr_t)*place : NULL; /* NOLINT */
}

/* Keeps what the replay gave in place of the record. */
static int asked(struct cuda_args *args, uint32_t slot, CUresult result, const CUdevResource *part)
{
    if (result == CUDA_SUCCESS)
        args->error = keep(args->replay, cuda_arg(args, slot), part);
    return cuda_args_end(args, result);
}

int replay_cuDeviceGetDevResource(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUdevResource part;

    cuda_args_begin(&args, replay, record, SLOT_cuDeviceGetDevResource_part + 1);
    CUdevice device = cuda_arg_device(&args, SLOT_cuDeviceGetDevResource_device);
    if (args.error)
        return args.error;
    return asked(
        &args, SLOT_cuDeviceGetDevResource_part,
        args.driver->cuDeviceGetDevResource(
            device, &part, (CUdevResourceType)cuda_arg(&args, SLOT_cuDeviceGetDevResource_type)),
        &part);
}

int replay_cuCtxGetDevResource(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUdevResource part;

    cuda_args_begin(&args, replay, record, SLOT_cuCtxGetDevResource_part + 1);
    CUcontext context = cuda_arg_handle(&args, SLOT_cuCtxGetDevResource_hCtx, CUDA_OBJECT_CONTEXT);
    if (args.error)
        return args.error;
    return asked(
        &args, SLOT_cuCtxGetDevResource_part,
        args.driver->cuCtxGetDevResource(
            context, &part, (CUdevResourceType)cuda_arg(&args, SLOT_cuCtxGetDevResource_type)),
        &part);
}

int replay_cuGreenCtxGetDevResource(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUdevResource part;

    cuda_args_begin(&args, replay, record, SLOT_cuGreenCtxGetDevResource_part + 1);
    CUgreenCtx green =
        cuda_arg_handle(&args, SLOT_cuGreenCtxGetDevResource_hCtx, CUDA_OBJECT_GREEN);
    if (args.error)
        return args.error;
    return asked(
        &args, SLOT_cuGreenCtxGetDevResource_part,
        args.driver->cuGreenCtxGetDevResource(
            green, &part, (CUdevResourceType)cuda_arg(&args, SLOT_cuGreenCtxGetDevResource_type)),
        &part);
}

/* Returns a record's list of parts. */
static const uint32_t *list_of(struct cuda_args *args, uint32_t slot, unsigned *count)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;

    if (!args->error && (!sbt_record_bytes(args->record, slot, &bytes, &size) ||
                         size > PARTS_MAX * sizeof(uint32_t)))
        args->error = tsm_fail(TSM_E_FORMAT, "has no list of parts");
    *count = args->error ? 0 : (unsigned)(size / sizeof(uint32_t));
    return (const uint32_t *)(const void *)bytes;
}

static uint32_t id_at(const uint32_t *list, unsigned at)
{
    uint32_t id;

    memcpy(&id, (const uint8_t *)list + at * sizeof(id), sizeof(id));
    return id;
}

/* Keeps what a split has made; in place of a part that it has not made the whole. */
static int split(struct cuda_args *args, const CUdevResource *whole, const uint32_t *ids,
                 unsigned wanted, CUdevResource *parts)
{
    const unsigned least = (unsigned)cuda_arg(args, SLOT_cuDevSmResourceSplitByCount_minCount);
    const unsigned flags = (unsigned)cuda_arg(args, SLOT_cuDevSmResourceSplitByCount_useFlags);
    const uint64_t rest_id = cuda_arg(args, SLOT_cuDevSmResourceSplitByCount_rest);
    CUdevResource rest = *whole;
    unsigned made = wanted;
    int error = 0;

    if (args->driver->cuDevSmResourceSplitByCount(parts, &made, whole, &rest, flags, least) !=
        CUDA_SUCCESS)
        made = 0;
    for (unsigned i = 0; i < wanted && !error; i++)
        error = keep(args->replay, id_at(ids, i), i < made ? &parts[i] : whole);
    if (!error && rest_id)
        error = keep(args->replay, rest_id,
                     made && rest.type == CU_DEV_RESOURCE_TYPE_SM ? &rest : whole);
    return error;
}

int replay_cuDevSmResourceSplitByCount(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    const CUdevResource *whole;
    CUdevResource copy, *parts;
    const uint32_t *ids;
    unsigned wanted;

    cuda_args_begin(&args, replay, record, SLOT_cuDevSmResourceSplitByCount_rest_sm_count + 1);
    ids = list_of(&args, SLOT_cuDevSmResourceSplitByCount_parts, &wanted);
    whole = find_part(replay, cuda_arg(&args, SLOT_cuDevSmResourceSplitByCount_whole));
    if (args.error || !whole || !wanted)
        return args.error;
    copy = *whole;
    parts = calloc(wanted, sizeof(*parts));
    if (!parts)
        return tsm_fail(TSM_E_MEMORY, "no memory for resources");
    args.error = split(&args, &copy, ids, wanted, parts);
    free(parts);
    return cuda_args_end(&args, CUDA_SUCCESS);
}

/* Parts that stand for others are not of one split: then one of them is taken, which has all. */
static CUresult describe(struct cuda_args *args, CUdevResourceDesc *out, CUdevResource *parts,
                         unsigned count)
{
    CUresult result = args->driver->cuDevResourceGenerateDesc(out, parts, count);
    unsigned most = 0;

    if (result == CUDA_SUCCESS)
        return result;
    for (unsigned i = 1; i < count; i++)
        if (parts[i].sm.smCount > parts[most].sm.smCount)
            most = i;
    return args->driver->cuDevResourceGenerateDesc(out, &parts[most], 1);
}

int replay_cuDevResourceGenerateDesc(struct cuda_replay *replay, const struct sbt_record *record)
{
    CUdevResourceDesc desc = NULL;
    CUdevResource *parts;
    struct cuda_args args;
    const uint32_t *ids;
    unsigned count;
    CUresult result;

    cuda_args_begin(&args, replay, record, SLOT_cuDevResourceGenerateDesc_parts + 1);
    ids = list_of(&args, SLOT_cuDevResourceGenerateDesc_parts, &count);
    parts = args.error || !count ? NULL : calloc(count, sizeof(*parts));
    if (!parts)
        return args.error ? args.error : tsm_fail(TSM_E_FORMAT, "names no resource");
    for (unsigned i = 0; i < count && !args.error; i++) {
        const CUdevResource *part = find_part(replay, id_at(ids, i));

        if (part)
            parts[i] = *part;
        else
            args.error = tsm_fail(TSM_E_NOT_FOUND, "names a resource that no record gave");
    }
    result = args.error ? CUDA_ERROR_INVALID_VALUE : describe(&args, &desc, parts, count);
    free(parts);
    if (result == CUDA_SUCCESS)
        cuda_arg_created(&args, SLOT_cuDevResourceGenerateDesc_phDesc, CUDA_OBJECT_PARTITION, desc);
    return args.error ? args.error : cuda_args_end(&args, result);
}

void cuda_resources_finish(struct cuda_replay *replay)
{
    struct tsm_map *map = &replay->resources;

    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].used)
            free((void *)(uintptr_t)map->slots[i].value); /* NOLINT */
    tsm_map_finish(map);
}

/* ---- green contexts ----------------------------------------------------------------------- */

int replay_cuCtxFromGreenCtx(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUcontext context = NULL;

    cuda_args_begin(&args, replay, record, SLOT_cuCtxFromGreenCtx_default_stream + 1);
    CUgreenCtx green = cuda_arg_handle(&args, SLOT_cuCtxFromGreenCtx_hCtx, CUDA_OBJECT_GREEN);
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuCtxFromGreenCtx(&context, green);
    return cuda_context_created(&args, SLOT_cuCtxFromGreenCtx_pContext, result, context);
}

int replay_cuGreenCtxStreamCreate(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUstream raw = NULL;

    cuda_args_begin(&args, replay, record, SLOT_cuGreenCtxStreamCreate_number + 1);
    CUgreenCtx green =
        cuda_arg_handle(&args, SLOT_cuGreenCtxStreamCreate_greenCtx, CUDA_OBJECT_GREEN);
    CUcontext context =
        cuda_arg_handle(&args, SLOT_cuGreenCtxStreamCreate_context, CUDA_OBJECT_CONTEXT);
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuGreenCtxStreamCreate(
        &raw, green, (unsigned)cuda_arg(&args, SLOT_cuGreenCtxStreamCreate_flags),
        (int)cuda_arg(&args, SLOT_cuGreenCtxStreamCreate_priority));
    int error = cuda_stream_created(&args, SLOT_cuGreenCtxStreamCreate_phStream,
                                    SLOT_cuGreenCtxStreamCreate_number, result, raw);
    struct cuda_stream_state *stream =
        error ? NULL
              : cuda_stream_find(replay,
                                 (uint32_t)cuda_arg(&args, SLOT_cuGreenCtxStreamCreate_number));
    if (stream) {
        stream->context = context;
        stream->green = green;
    }
    return error;
}

/* Its streams cannot even be waited for when it is gone. */
static CUresult finish_streams(struct cuda_replay *replay, CUgreenCtx green)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUresult result = CUDA_SUCCESS;

    for (uint32_t i = 0; i < replay->stream_capacity && result == CUDA_SUCCESS; i++) {
        struct cuda_stream_state *stream = replay->streams[i];
        if (!stream || !stream->is_made || stream->green != green)
            continue;
        if (!cuda_awaited_on(replay, stream->raw)) {
            result = driver->cuCtxSetCurrent(stream->context);
            if (result == CUDA_SUCCESS)
                result = driver->cuStreamSynchronize(stream->raw);
        }
        stream->is_made = false;
    }
    return result;
}

int replay_cuGreenCtxDestroy(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUcontext context = NULL;
    CUdevice device = -1;
    CUresult result;

    cuda_args_begin(&args, replay, record, SLOT_cuGreenCtxDestroy_hCtx + 1);
    CUgreenCtx green = cuda_arg_handle(&args, SLOT_cuGreenCtxDestroy_hCtx, CUDA_OBJECT_GREEN);
    if (args.error)
        return args.error;
    if (args.driver->cuCtxFromGreenCtx(&context, green) == CUDA_SUCCESS &&
        args.driver->cuCtxSetCurrent(context) == CUDA_SUCCESS)
        args.driver->cuCtxGetDevice(&device);
    result = finish_streams(replay, green);
    if (device >= 0)
        context = cuda_primary_leaves(replay, device);
    if (result == CUDA_SUCCESS)
        result = args.driver->cuGreenCtxDestroy(green);
    if (device >= 0 && result == CUDA_SUCCESS)
        cuda_primary_left(replay, device, context);
    cuda_arg_destroyed(&args, SLOT_cuGreenCtxDestroy_hCtx, CUDA_OBJECT_GREEN);
    return cuda_args_end(&args, result);
}

void cuda_greens_finish(struct cuda_replay *replay)
{
    const struct tsm_map *objects = &replay->objects;

    for (size_t i = 0; i < objects->capacity; i++) {
        const struct tsm_map_slot *slot = &objects->slots[i];
        if (slot->used && slot->value && slot->key >> 56 == CUDA_OBJECT_GREEN)
            replay->library.calls.cuGreenCtxDestroy((CUgreenCtx)(uintptr_t)slot->value);
    }
}
