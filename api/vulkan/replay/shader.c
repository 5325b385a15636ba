/* SPDX-License-Identifier: Apache-2.0
 *
 * Shader modules: checked before a driver sees them, and those that are to be replaced.
 */
#include "api/vulkan/replay/shader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/tables/spirv.h"
#include "base/hash.h"
#include "base/log.h"
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

static bool has_entry(const struct spirv_module *m, const struct spirv_entry *like)
{
    for (uint32_t i = 0; i < m->entry_count; i++)
        if (m->entries[i].model == like->model && strcmp(m->entries[i].name, like->name) == 0)
            return true;
    return false;
}

static bool has_binding(const struct spirv_module *m, const struct spirv_binding *like)
{
    for (uint32_t i = 0; i < m->binding_count; i++)
        if (m->bindings[i].set == like->set && m->bindings[i].binding == like->binding &&
            strcmp(m->bindings[i].type, like->type) == 0)
            return true;
    return false;
}

static uint64_t push_end(const struct spirv_module *m)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < m->push_count; i++)
        end = m->pushes[i].size > end ? m->pushes[i].size : end;
    return end;
}

/* Drivers do not check what a pipeline's layout lacks: they crash. It may have more than the first
 * shader used, so that this is said, and not refused. */
static int compare(const struct spirv_module *was, const struct spirv_module *is, const char *path)
{
    bool has_any = was->entry_count == 0;

    for (uint32_t i = 0; i < was->entry_count; i++)
        has_any |= has_entry(is, &was->entries[i]);
    if (!has_any)
        return tsm_fail(TSM_E_ARGUMENT,
                        "%s: has no entry point \"%s\" (%s), which it is to replace", path,
                        was->entries[0].name, spirv_model_name(was->entries[0].model));
    for (uint32_t i = 0; i < is->binding_count; i++)
        if (!has_binding(was, &is->bindings[i]))
            tsm_log(TSM_LOG_WARN,
                    "%s: uses set %u, binding %u as %s, and the shader that it replaces does not: "
                    "unless pipelines' layouts have it, the driver may crash",
                    path, is->bindings[i].set, is->bindings[i].binding, is->bindings[i].type);
    if (push_end(is) > push_end(was))
        tsm_log(TSM_LOG_WARN,
                "%s: uses %llu bytes of push constants, and the shader that it replaces %llu: "
                "unless pipelines' layouts have them, the driver may crash",
                path, (unsigned long long)push_end(is), (unsigned long long)push_end(was));
    return 0;
}

static int compare_interfaces(const VkShaderModuleCreateInfo *was, const struct vkr_shader *is,
                              const char *path)
{
    struct spirv_module *modules = calloc(2, sizeof(*modules));
    int error = 0;

    if (modules && spirv_reflect(&modules[0], was->pCode, was->codeSize) &&
        spirv_reflect(&modules[1], is->words, is->size))
        error = compare(&modules[0], &modules[1], path);
    free(modules);
    return error;
}

static int replace(struct vkr *r, VkShaderModuleCreateInfo *info)
{
    struct sbt_key key = tsm_hash_key(info->pCode, info->codeSize);
    char hash[33];

    tsm_key_text(hash, &key);
    for (size_t i = 0; i < r->options->shader_count; i++) {
        const char *wanted = r->options->shaders[i].hash;
        struct vkr_shader *shader = &r->shaders[i];
        if (strncmp(hash, wanted, strlen(wanted)) != 0)
            continue;
        int error =
            shader->count++ ? 0 : compare_interfaces(info, shader, r->options->shaders[i].path);
        info->pCode = shader->words;
        info->codeSize = shader->size;
        return error;
    }
    return 0;
}

/* `info` lies in our arena. */
static int prepare(struct vkr *r, VkShaderModuleCreateInfo *info)
{
    if (!info->pCode || !spirv_is_module(info->pCode, info->codeSize))
        return tsm_fail(TSM_E_FORMAT, "its %zu bytes are no SPIR-V", info->codeSize);
    return r->shaders ? replace(r, info) : 0;
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
        vk_chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);

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
