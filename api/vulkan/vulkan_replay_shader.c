/* SPDX-License-Identifier: Apache-2.0
 *
 * Shader modules: checked before a driver sees them, and those that are to be replaced.
 */
#include "api/vulkan/vulkan_replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/vulkan/spirv.h"
#include "base/hash.h"
#include "base/text.h"

#define SHADER_SIZE_MAX (64u << 20)

struct vkr_shader {
    uint32_t *words;
    size_t size;    /* bytes */
    uint64_t count; /* modules whose place it took */
};

/* ---- files ------------------------------------------------------------------------------- */

static int read_shader(struct vkr_shader *out, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file)
        return tsm_fail(TSM_E_IO, "%s: cannot be opened: %s", path, tsm_errno_text(errno));
    out->words = malloc(SHADER_SIZE_MAX);
    size = out->words ? fread(out->words, 1, SHADER_SIZE_MAX, file) : 0;
    fclose(file);
    out->size = size;
    if (size) /* give back what it did not need */
        out->words = realloc(out->words, size);
    if (!out->words || !spirv_is_module(out->words, size))
        return tsm_fail(TSM_E_FORMAT, "%s: its %zu bytes are no SPIR-V", path, size);
    return 0;
}

int vkr_shaders_open(struct vkr *r)
{
    size_t count = r->options->shader_count;
    int error = 0;

    if (!count)
        return 0;
    r->shaders = calloc(count, sizeof(*r->shaders));
    if (!r->shaders)
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu shaders", count);
    for (size_t i = 0; i < count && !error; i++) {
        const char *hash = r->options->shaders[i].hash;
        size_t digits = strspn(hash, "0123456789abcdef");
        error = digits < 8 || digits > 32 || hash[digits]
                    ? tsm_fail(TSM_E_ARGUMENT,
                               "\"%s\" is no hash of a shader: 8 to 32 digits, as `tracesmith "
                               "shaders` shows them",
                               hash)
                    : read_shader(&r->shaders[i], r->options->shaders[i].path);
    }
    return error;
}

void vkr_shaders_finish(struct vkr *r)
{
    for (size_t i = 0; r->shaders && i < r->options->shader_count; i++)
        free(r->shaders[i].words);
    free(r->shaders);
    r->shaders = NULL;
}

int vkr_shaders_check(const struct vkr *r)
{
    for (size_t i = 0; r->shaders && i < r->options->shader_count; i++)
        if (!r->shaders[i].count)
            return tsm_fail(TSM_E_NOT_FOUND,
                            "%s: no shader with hash %s was made; `tracesmith shaders` lists them",
                            sbt_reader_name(r->reader), r->options->shaders[i].hash);
    return 0;
}

/* ---- modules ----------------------------------------------------------------------------- */

static void replace(struct vkr *r, VkShaderModuleCreateInfo *info)
{
    struct sbt_key key = tsm_hash_key(info->pCode, info->codeSize);
    char hash[33];

    tsm_key_text(hash, &key);
    for (size_t i = 0; i < r->options->shader_count; i++) {
        const char *wanted = r->options->shaders[i].hash;
        if (strncmp(hash, wanted, strlen(wanted)) != 0)
            continue;
        info->pCode = r->shaders[i].words;
        info->codeSize = r->shaders[i].size;
        r->shaders[i].count++;
        return;
    }
}

/* `info` lies in our arena. */
static int prepare(struct vkr *r, VkShaderModuleCreateInfo *info)
{
    if (!info->pCode || !spirv_is_module(info->pCode, info->codeSize))
        return tsm_fail(TSM_E_FORMAT, "its %zu bytes are no SPIR-V", info->codeSize);
    if (r->shaders)
        replace(r, info);
    return 0;
}

int vkr_create_shader_module(struct vkr_call *c)
{
    const struct vk_args_vkCreateShaderModule *a = (const void *)c->args;
    int error = prepare(c->r, (void *)(uintptr_t)a->pCreateInfo);

    return error ? error : vkr_call_driver(c);
}

static int prepare_stage(struct vkr *r, const VkPipelineShaderStageCreateInfo *stage)
{
    VkShaderModuleCreateInfo *info =
        vkr_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);

    return info ? prepare(r, info) : 0;
}

int vkr_create_graphics_pipelines(struct vkr_call *c)
{
    const struct vk_args_vkCreateGraphicsPipelines *a = (const void *)c->args;
    int error = 0;

    for (uint32_t i = 0; i < a->createInfoCount && !error; i++)
        for (uint32_t k = 0;
             a->pCreateInfos[i].pStages && k < a->pCreateInfos[i].stageCount && !error; k++)
            error = prepare_stage(c->r, &a->pCreateInfos[i].pStages[k]);
    return error ? error : vkr_call_driver(c);
}

int vkr_create_compute_pipelines(struct vkr_call *c)
{
    const struct vk_args_vkCreateComputePipelines *a = (const void *)c->args;
    int error = 0;

    for (uint32_t i = 0; i < a->createInfoCount && !error; i++)
        error = prepare_stage(c->r, &a->pCreateInfos[i].stage);
    return error ? error : vkr_call_driver(c);
}
