/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of launches: the argument block goes back whole and with its exact size (the driver
 * refuses one with padding after the last argument). Where addresses could not be had, words of
 * the block that point into memory that is elsewhere are translated; so are handles of textures and
 * surfaces (texture.c), and tensor maps (tensor_map.c).
 */
#include "api/cuda/replay/state.h"

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
