/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of launches: the argument block goes back whole and with its exact size (the driver
 * refuses one with padding after the last argument). Where addresses could not be had, words of
 * the block that point into memory that is elsewhere are translated; so are handles of textures and
 * surfaces (texture.c), and tensor maps (tensor_map.c).
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

static void translate(const struct cuda_memory *memory, struct cuda_node_block *block)
{
    for (size_t at = 0; memory->moved_count && at + 8 <= block->size; at += 8) {
        uint64_t word;
        memcpy(&word, block->bytes + at, 8);
        word = cuda_memory_translate_word(memory, word);
        memcpy(block->bytes + at, &word, 8);
    }
}

void cuda_read_block(struct cuda_args *args, uint32_t slot, CUfunction function,
                     struct cuda_node_block *out)
{
    const uint8_t *bytes = NULL;

    out->size = 0;
    if (args->error)
        return;
    if (!sbt_record_bytes(args->record, slot, &bytes, &out->size) ||
        out->size > sizeof(out->bytes)) {
        args->error = tsm_fail(TSM_E_FORMAT, "has no argument block");
        return;
    }
    if (out->size)
        memcpy(out->bytes, bytes, out->size);
    translate(&args->replay->memory, out);
    cuda_tensor_maps_translate(args->replay, bytes, out->bytes, out->size);
    args->error = cuda_textures_translate(args->replay, function, out->bytes, out->size);
}

/* `extra` for a block; without arguments there is nothing to pass. */
#define EXTRA(block)                                                                               \
    {                                                                                              \
        CU_LAUNCH_PARAM_BUFFER_POINTER, (block).bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &(block).size, \
            CU_LAUNCH_PARAM_END                                                                    \
    }

#define AT(name) SLOT_cuLaunchKernel_##name

static CUlaunchConfig read_config(struct cuda_args *args)
{
    return (CUlaunchConfig){
        .gridDimX = (unsigned)cuda_arg(args, AT(gridDimX)),
        .gridDimY = (unsigned)cuda_arg(args, AT(gridDimY)),
        .gridDimZ = (unsigned)cuda_arg(args, AT(gridDimZ)),
        .blockDimX = (unsigned)cuda_arg(args, AT(blockDimX)),
        .blockDimY = (unsigned)cuda_arg(args, AT(blockDimY)),
        .blockDimZ = (unsigned)cuda_arg(args, AT(blockDimZ)),
        .sharedMemBytes = (unsigned)cuda_arg(args, AT(sharedMemBytes)),
        .hStream = cuda_arg_stream(args),
    };
}

static bool is_cooperative(const struct sbt_record *record)
{
    return record->type == TYPE_cuLaunchCooperativeKernel ||
           record->type == TYPE_cuLaunchCooperativeKernel_ptsz;
}

/* Through a configuration: cooperative launches take no `extra` otherwise. */
static CUresult launch_cooperative(const struct cuda_real *driver, CUlaunchConfig *config,
                                   CUfunction function, void **extra)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};

    attribute.value.cooperative = 1;
    config->attrs = &attribute;
    config->numAttrs = 1;
    return driver->cuLaunchKernelEx(config, function, NULL, extra);
}

int replay_cuLaunchKernel(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    struct cuda_node_block block;
    void *extra[] = EXTRA(block);
    CUresult result;

    cuda_args_begin(&args, replay, record, AT(arguments) + 1);
    CUfunction function = cuda_arg_handle(&args, AT(f), CUDA_OBJECT_FUNCTION);
    CUlaunchConfig c = read_config(&args);
    cuda_read_block(&args, AT(arguments), function, &block);
    if (args.error)
        return args.error;
    void **passed = block.size ? extra : NULL;
    cuda_args_send(&args);
    if (is_cooperative(record))
        result = launch_cooperative(args.driver, &c, function, passed);
    else
        result = args.driver->cuLaunchKernel(function, c.gridDimX, c.gridDimY, c.gridDimZ,
                                             c.blockDimX, c.blockDimY, c.blockDimZ,
                                             c.sharedMemBytes, c.hStream, NULL, passed);
    return cuda_args_end(&args, result);
}

#undef AT
#define AT(name)      SLOT_cuLaunchKernelEx_##name
#define ATTRIBUTE_MAX 64u

bool cuda_attribute_is_plain(CUlaunchAttributeID id)
{
    return id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT &&
           id != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT &&
           id != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE &&
           id != CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
}

static unsigned read_attributes(struct cuda_args *args, CUlaunchAttribute out[ATTRIBUTE_MAX])
{
    unsigned count = (unsigned)cuda_arg(args, AT(config_numAttrs)), kept = 0;
    const uint8_t *bytes =
        cuda_arg_bytes(args, AT(config_attrs), (size_t)count * sizeof(CUlaunchAttribute));

    for (unsigned i = 0; bytes && i < count && kept < ATTRIBUTE_MAX; i++) {
        memcpy(&out[kept], bytes + i * sizeof(out[0]), sizeof(out[0]));
        kept += cuda_attribute_is_plain(out[kept].id);
    }
    return kept;
}

int replay_cuLaunchKernelEx(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    struct cuda_node_block block;
    CUlaunchAttribute attributes[ATTRIBUTE_MAX];
    void *extra[] = EXTRA(block);

    cuda_args_begin(&args, replay, record, AT(arguments) + 1);
    CUfunction function = cuda_arg_handle(&args, AT(f), CUDA_OBJECT_FUNCTION);
    CUlaunchConfig config = {
        .gridDimX = (unsigned)cuda_arg(&args, AT(config_gridDimX)),
        .gridDimY = (unsigned)cuda_arg(&args, AT(config_gridDimY)),
        .gridDimZ = (unsigned)cuda_arg(&args, AT(config_gridDimZ)),
        .blockDimX = (unsigned)cuda_arg(&args, AT(config_blockDimX)),
        .blockDimY = (unsigned)cuda_arg(&args, AT(config_blockDimY)),
        .blockDimZ = (unsigned)cuda_arg(&args, AT(config_blockDimZ)),
        .sharedMemBytes = (unsigned)cuda_arg(&args, AT(config_sharedMemBytes)),
        .hStream = cuda_arg_stream(&args),
        .attrs = attributes,
    };
    config.numAttrs = read_attributes(&args, attributes);
    cuda_read_block(&args, AT(arguments), function, &block);
    if (args.error)
        return args.error;
    cuda_args_send(&args);
    return cuda_args_end(
        &args, args.driver->cuLaunchKernelEx(&config, function, NULL, block.size ? extra : NULL));
}

/* ---- on several devices ------------------------------------------------------------------- */

#undef AT
#define AT(name)         SLOT_cuLaunchCooperativeKernelMultiDevice_##name
#define MULTI_PARAMS_MAX 1024u

/* Launches of a call whose records have been met: they are sent together, as they wait for each
 * other. */
struct cuda_multi_launch {
    struct cuda_node_block block;
    void *params[MULTI_PARAMS_MAX];
    CUDA_LAUNCH_PARAMS launch;
    CUcontext context;
};

void cuda_multi_launch_finish(struct cuda_replay *replay)
{
    for (unsigned i = 0; i < replay->multi_count; i++)
        free(replay->multi[i]);
    replay->multi_count = 0;
}

/* Arguments are told by addresses here, where each begins only the driver knows. */
static int point_at_params(struct cuda_args *args, struct cuda_multi_launch *m)
{
    size_t offset, size;
    unsigned count = 0;

    while (count < MULTI_PARAMS_MAX &&
           args->driver->cuFuncGetParamInfo(m->launch.function, count, &offset, &size) ==
               CUDA_SUCCESS) {
        if (offset > m->block.size || size > m->block.size - offset)
            return tsm_fail(TSM_E_FORMAT, "has too few arguments for its kernel");
        m->params[count++] = m->block.bytes + offset;
    }
    if (m->block.size && !count)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "launches on several devices: this driver does not tell where arguments "
                        "begin (CUDA 12.4 does)");
    m->launch.kernelParams = m->params;
    return 0;
}

static int add_multi(struct cuda_args *args)
{
    struct cuda_replay *replay = args->replay;
    struct cuda_multi_launch *m = calloc(1, sizeof(*m));

    if (!m)
        return tsm_fail(TSM_E_MEMORY, "no memory for a launch");
    replay->multi[replay->multi_count++] = m;
    m->launch = (CUDA_LAUNCH_PARAMS){
        .function = cuda_arg_handle(args, AT(f), CUDA_OBJECT_FUNCTION),
        .gridDimX = (unsigned)cuda_arg(args, AT(gridDimX)),
        .gridDimY = (unsigned)cuda_arg(args, AT(gridDimY)),
        .gridDimZ = (unsigned)cuda_arg(args, AT(gridDimZ)),
        .blockDimX = (unsigned)cuda_arg(args, AT(blockDimX)),
        .blockDimY = (unsigned)cuda_arg(args, AT(blockDimY)),
        .blockDimZ = (unsigned)cuda_arg(args, AT(blockDimZ)),
        .sharedMemBytes = (unsigned)cuda_arg(args, AT(sharedMemBytes)),
        .hStream = cuda_arg_stream(args),
    };
    const struct cuda_stream_state *stream = cuda_stream_find(replay, args->record->stream);
    m->context = stream ? stream->context : NULL;
    if (!args->error)
        args->driver->cuCtxSetCurrent(m->context); /* it speaks of a function's arguments there */
    cuda_read_block(args, AT(arguments), m->launch.function, &m->block);
    return args->error ? args->error : point_at_params(args, m);
}

/* Waits for the streams of all of them. What follows on other streams than the last record's would
 * else come before the end. */
static CUresult await_multi(const struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < replay->multi_count && result == CUDA_SUCCESS; i++) {
        result = driver->cuCtxSetCurrent(replay->multi[i]->context);
        if (result == CUDA_SUCCESS)
            result = driver->cuStreamSynchronize(replay->multi[i]->launch.hStream);
    }
    return result;
}

static CUresult launch_multi(struct cuda_args *args, unsigned flags)
{
    const struct cuda_replay *replay = args->replay;
    CUDA_LAUNCH_PARAMS list[CUDA_MULTI_MAX];
    CUresult result = await_multi(replay);

    for (unsigned i = 0; i < replay->multi_count; i++)
        list[i] = replay->multi[i]->launch;
    if (result == CUDA_SUCCESS) {
        cuda_args_send(args);
        result =
            args->driver->cuLaunchCooperativeKernelMultiDevice(list, replay->multi_count, flags);
        cuda_args_sent(args);
    }
    return result == CUDA_SUCCESS ? await_multi(replay) : result;
}

int replay_cuLaunchCooperativeKernelMultiDevice(struct cuda_replay *replay,
                                                const struct sbt_record *record)
{
    struct cuda_args args;
    CUresult result = CUDA_SUCCESS;

    cuda_args_begin(&args, replay, record, AT(arguments) + 1);
    const uint64_t count = cuda_arg(&args, AT(numDevices)), index = cuda_arg(&args, AT(index));
    if (args.error)
        return args.error;
    if (!index)
        cuda_multi_launch_finish(replay);
    if (count > CUDA_MULTI_MAX || index != replay->multi_count || index >= count)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "is a part of a launch on %llu devices, of which the "
                        "replay has not the parts before it",
                        (unsigned long long)count);
    args.error = add_multi(&args);
    if (args.error || index + 1 < count)
        return args.error;
    result = launch_multi(&args, (unsigned)cuda_arg(&args, AT(flags)));
    cuda_multi_launch_finish(replay);
    return cuda_args_end(&args, result);
}
