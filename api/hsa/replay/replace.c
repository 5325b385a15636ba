/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of files that take the place of recorded ones: a code object is loaded into an executable
 * of its own for each agent, and packets with the recorded kernel get the other one. Arguments stay
 * the recorded ones, and so do the sizes of memory in the packets: a kernel that wants others is
 * refused, and so is one whose file has a variable that the recorded code has.
 */
#include "api/hsa/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "replay/replacement.h"

/* The file as it was loaded for an agent. */
struct loaded {
    hsa_agent_t agent;
    hsa_executable_t executable;
    uint64_t object;
};

struct hsa_replacement {
    const struct tsm_kernel_replacement *wanted;
    uint8_t *data;
    size_t size;
    struct hsa_code code;
    struct hsa_code_kernels kernels;
    const struct hsa_code_kernel *kernel; /* one of them */
    hsa_code_object_reader_t reader;
    struct loaded *loaded;
    size_t loaded_count, loaded_capacity;
    struct tsm_map variables; /* hashes of the names of those that the file has */
    bool is_taken;
};

/* ---- files ------------------------------------------------------------------------------------
 */

/* Finds the wanted kernel, or the only one; ".kd" may be left out. */
static const struct hsa_code_kernel *choose(const struct hsa_replacement *r)
{
    const char *name = r->wanted->from ? r->wanted->from : r->wanted->name;
    const struct hsa_code_kernel *found = hsa_code_kernels_find(&r->kernels, name, strlen(name));
    char symbol[512];

    if (!found) {
        tsm_format(symbol, sizeof(symbol), "%s.kd", name);
        found = hsa_code_kernels_find(&r->kernels, symbol, strlen(symbol));
    }
    return found || r->wanted->from || r->kernels.count != 1 ? found : r->kernels.all;
}

static bool note_variable(void *user, const struct hsa_code_symbol *symbol)
{
    return symbol->kernel || tsm_map_set(user, tsm_hash64(symbol->name, strlen(symbol->name)), 1);
}

static int open_file(struct hsa_replay *replay, struct hsa_replacement *r)
{
    const char *path = r->wanted->path;
    int error = tsm_replacement_read(&r->data, &r->size, path);
    hsa_status_t status;

    if (error)
        return error;
    if (!hsa_code_open(&r->code, r->data, r->size))
        return tsm_fail(TSM_E_FORMAT, "%s: is no code object of HSA", path);
    if (!hsa_code_kernels_init(&r->kernels, &r->code) ||
        !hsa_code_each(&r->code, note_variable, &r->variables))
        return tsm_fail(TSM_E_MEMORY, "no memory for what code says");
    r->kernel = choose(r);
    if (!r->kernel || !r->kernel->has_arguments)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: has no kernel \"%s\" whose parameters are understood",
                        path, r->wanted->from ? r->wanted->from : r->wanted->name);
    status = replay->calls.hsa_code_object_reader_create_from_memory(r->data, r->size, &r->reader);
    return status == HSA_STATUS_SUCCESS
               ? 0
               : hsa_fail(replay, "hsa_code_object_reader_create_from_memory", status);
}

int hsa_replace_open(struct hsa_replay *replay)
{
    struct hsa_replacements *all = &replay->replacements;
    const size_t count = replay->options->kernel_count;
    int error = 0;

    if (!count)
        return 0;
    all->list = calloc(count, sizeof(*all->list));
    if (!all->list)
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu kernels", count);
    all->count = count;
    for (size_t i = 0; i < count && !error; i++) {
        all->list[i].wanted = &replay->options->kernels[i];
        error = open_file(replay, &all->list[i]);
    }
    return error;
}

/* ---- the recorded kernels ---------------------------------------------------------------------
 */

struct hsa_replacement *hsa_replace_find(const struct hsa_replay *replay, const char *name)
{
    for (size_t i = 0; i < replay->replacements.count; i++)
        if (strcmp(replay->replacements.list[i].wanted->name, name) == 0)
            return &replay->replacements.list[i];
    return NULL;
}

/* Recorded code whose variables are compared with a file's. */
struct comparison {
    const struct hsa_replacement *replacement;
    const char *clash;
};

static bool look_at_symbol(void *user, const struct hsa_code_symbol *symbol)
{
    struct comparison *c = user;
    const uint64_t hash = tsm_hash64(symbol->name, strlen(symbol->name));

    if (!symbol->kernel && tsm_map_find(&c->replacement->variables, hash))
        c->clash = symbol->name;
    return !c->clash;
}

int hsa_replace_check(const struct hsa_replacement *r, const uint8_t *data, uint64_t size)
{
    struct comparison c = {.replacement = r};
    struct hsa_code code;

    if (hsa_code_open(&code, data, size))
        hsa_code_each(&code, look_at_symbol, &c);
    return c.clash ? tsm_fail(TSM_E_UNSUPPORTED,
                              "%s: has a variable \"%.64s\", and so has the recorded code: they "
                              "would be two; leave it out, or give it another name",
                              r->wanted->path, c.clash)
                   : 0;
}

static int compare_arguments(const struct hsa_replacement *r, const struct hsa_code_kernel *was)
{
    const struct hsa_code_kernel *is = r->kernel;

    if (is->argument_count != was->argument_count || is->arguments_size != was->arguments_size)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: %s has %u parameters in %u bytes, and the recorded kernel has %u in "
                        "%u",
                        r->wanted->path, is->name, is->argument_count, is->arguments_size,
                        was->argument_count, was->arguments_size);
    for (uint32_t i = 0; i < is->argument_count; i++)
        if (is->arguments[i].offset != was->arguments[i].offset ||
            is->arguments[i].size != was->arguments[i].size ||
            is->arguments[i].kind != was->arguments[i].kind)
            return tsm_fail(TSM_E_UNSUPPORTED,
                            "%s: parameter %u of %s has %u bytes at offset %u (%s), and that of "
                            "the recorded kernel %u at %u (%s)",
                            r->wanted->path, i, is->name, is->arguments[i].size,
                            is->arguments[i].offset, is->arguments[i].value_kind,
                            was->arguments[i].size, was->arguments[i].offset,
                            was->arguments[i].value_kind);
    return 0;
}

static int compare(const struct hsa_replacement *r, const struct hsa_kernel_state *was)
{
    if (!was->has_info || !was->info.has_arguments)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: the parameters of the recorded kernel %s are not known",
                        r->wanted->path, r->wanted->name);
    if (r->kernel->group_size > was->info.group_size ||
        r->kernel->private_size > was->info.private_size)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: %s needs %u bytes of group memory and %u of private memory; packets "
                        "of the recorded kernel ask for %u and %u",
                        r->wanted->path, r->kernel->name, r->kernel->group_size,
                        r->kernel->private_size, was->info.group_size, was->info.private_size);
    return compare_arguments(r, &was->info);
}

static hsa_status_t load(const struct hsa_replay *replay, const struct hsa_replacement *r,
                         struct loaded *out)
{
    const struct hsa_real *calls = &replay->calls;
    hsa_executable_symbol_t symbol;
    hsa_status_t status = calls->hsa_executable_create_alt(
        HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &out->executable);

    if (status == HSA_STATUS_SUCCESS)
        status = calls->hsa_executable_load_agent_code_object(out->executable, out->agent,
                                                              r->reader, NULL, NULL);
    if (status == HSA_STATUS_SUCCESS)
        status = calls->hsa_executable_freeze(out->executable, NULL);
    if (status == HSA_STATUS_SUCCESS)
        status = calls->hsa_executable_get_symbol_by_name(out->executable, r->kernel->name,
                                                          &out->agent, &symbol);
    if (status == HSA_STATUS_SUCCESS)
        status = calls->hsa_executable_symbol_get_info(
            symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &out->object);
    return status;
}

/* Gives the kernel of the file, loaded for the agent. */
static int find_object(const struct hsa_replay *replay, struct hsa_replacement *r,
                       hsa_agent_t agent, uint64_t *object)
{
    struct loaded loaded = {.agent = agent};
    hsa_status_t status;

    for (size_t i = 0; i < r->loaded_count; i++)
        if (r->loaded[i].agent.handle == agent.handle) {
            *object = r->loaded[i].object;
            return 0;
        }
    status = load(replay, r, &loaded);
    if (!TSM_ARRAY_PUSH(r->loaded, r->loaded_count, r->loaded_capacity, loaded))
        return tsm_fail(TSM_E_MEMORY, "no memory for kernels");
    *object = loaded.object;
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, r->wanted->path, status);
}

int hsa_replace_take(struct hsa_replay *replay, struct hsa_replacement *r, hsa_agent_t agent,
                     struct hsa_kernel_state *kernel)
{
    int error = compare(r, kernel);

    if (!error)
        error = find_object(replay, r, agent, &kernel->object);
    if (error)
        return error;
    if (!r->is_taken)
        tsm_log(TSM_LOG_INFO, "%s: replaced by %s of %s", r->wanted->name, r->kernel->name,
                r->wanted->path);
    replay->replacements.taken_count += !r->is_taken;
    r->is_taken = true;
    kernel->info = *r->kernel;
    return 0;
}

void hsa_replace_finish(struct hsa_replay *replay)
{
    struct hsa_replacements *all = &replay->replacements;

    for (size_t i = 0; i < all->count; i++) {
        struct hsa_replacement *r = &all->list[i];
        for (size_t k = 0; k < r->loaded_count; k++)
            if (r->loaded[k].executable.handle)
                replay->calls.hsa_executable_destroy(r->loaded[k].executable);
        if (r->reader.handle)
            replay->calls.hsa_code_object_reader_destroy(r->reader);
        hsa_code_kernels_finish(&r->kernels);
        tsm_map_finish(&r->variables);
        free(r->loaded);
        free(r->data);
    }
    free(all->list);
    *all = (struct hsa_replacements){0};
}
