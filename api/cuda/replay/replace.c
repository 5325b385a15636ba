/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of files that take the place of recorded ones. A file is loaded as a module of its own,
 * and the program's handle of the kernel stands for the other one: launches, graphs and attributes
 * follow. Where the file names variables or functions of the recorded module, that is not enough:
 * then the kernel is put into the module's PTX (api/cuda/ptx_splice.h).
 *
 * Files are the user's, code of the trace may be anybody's.
 */
#include "api/cuda/replay/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda/image.h"
#include "api/cuda/ptx_splice.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"

#define FILE_SIZE_MAX (256u << 20)

struct signature {
    struct cuda_param *params;
    uint32_t count;
};

/* A file, and the kernel in it. */
struct cuda_replacement {
    const struct tsm_kernel_replacement *wanted;
    uint8_t *image; /* with a 0 behind it */
    size_t size;
    char *from; /* name in the file; NULL: not found yet */
    struct signature signature;
    struct tsm_map variables; /* hashes of the names of those that the file defines */
    bool is_chosen;           /* `from` has the wanted name */
    bool is_many;             /* the file has kernels of other names than `from` */
    bool is_ptx;
    bool is_spliced; /* put into the recorded modules */
    bool is_found;   /* in code of the trace */
    bool is_taken;   /* by the program, as it ran */
};

/* Code of the trace with other kernels in it. */
struct cuda_spliced {
    bool is_library;
    uint64_t id;
    char *text;
};

/* A file that was loaded for an object of the trace. */
struct cuda_stand_in {
    enum cuda_object object;
    uint64_t id;
    size_t index; /* of the replacement */
    CUmodule module;
    CUlibrary library;
    const void *function;
};

/* ---- files ------------------------------------------------------------------------------------
 */

static int read_file(struct cuda_replacement *r)
{
    const char *path = r->wanted->path;
    FILE *file = fopen(path, "rb");
    uint8_t *fitting;

    if (!file)
        return tsm_fail(TSM_E_IO, "%s: cannot be opened: %s", path, tsm_errno_text(errno));
    r->image = malloc(FILE_SIZE_MAX + 1);
    r->size = r->image ? fread(r->image, 1, FILE_SIZE_MAX, file) : 0;
    fclose(file);
    fitting = r->size ? realloc(r->image, r->size + 1) : NULL; /* gives back what is not needed */
    if (!fitting)
        return tsm_fail(TSM_E_FORMAT, "%s: is empty, or there is no memory for it", path);
    r->image = fitting;
    r->image[r->size] = 0;
    return 0;
}

static const char *wanted_name(const struct cuda_replacement *r)
{
    return r->wanted->from ? r->wanted->from : r->wanted->name;
}

static bool is_named(const struct cuda_signature *signature, const char *name)
{
    return signature->name_size == strlen(name) &&
           !memcmp(signature->name, name, signature->name_size);
}

static void keep(struct cuda_replacement *r, const struct cuda_signature *signature)
{
    const size_t bytes = signature->count * sizeof(*signature->params);

    free(r->from);
    free(r->signature.params);
    r->from = strndup(signature->name, signature->name_size);
    r->signature.params = malloc(bytes + 1);
    r->signature.count = r->signature.params ? signature->count : 0;
    if (r->signature.params && bytes)
        memcpy(r->signature.params, signature->params, bytes);
}

/* Keeps the kernel of the wanted name, or the first one until it comes. */
static void choose(void *context, const struct cuda_signature *signature)
{
    struct cuda_replacement *r = context;
    const bool is_wanted = is_named(signature, wanted_name(r));

    r->is_many |= r->from && !is_named(signature, r->from);
    if (r->is_chosen || (r->from && !is_wanted))
        return;
    keep(r, signature);
    r->is_chosen = is_wanted;
}

static void note_variable(void *context, const char *name, size_t size)
{
    tsm_map_set(context, tsm_hash64(name, size), 1);
}

static void note_kind(void *context, const struct cuda_member *member)
{
    *(bool *)context &= member->is_ptx;
}

static int open_file(struct cuda_replay *replay, struct cuda_replacement *r)
{
    const char *path = r->wanted->path;
    const bool is_emu = replay->library.is_emu;
    int error = read_file(r);

    if (error)
        return error;
    if (!cuda_image_is_whole(r->image, r->size))
        return tsm_fail(TSM_E_FORMAT, "%s: is cut short, or no code for a GPU", path);
    cuda_image_functions(r->image, r->size, choose, r);
    if (!r->from || (!r->is_chosen && (r->wanted->from || r->is_many)))
        return tsm_fail(
            TSM_E_NOT_FOUND, "%s: has no kernel \"%s\" whose parameters are understood%s", path,
            wanted_name(r), r->is_many ? "; FILE:KERNEL names another one of its kernels" : "");
    cuda_image_variables(r->image, r->size, note_variable, &r->variables);
    r->is_ptx = true;
    cuda_image_members(r->image, r->size, note_kind, &r->is_ptx);
    if (!r->is_ptx && is_emu && !cuda_image_is_fatbin(r->image, r->size))
        return tsm_fail(TSM_E_UNSUPPORTED, "%s: is machine code; the software GPU runs PTX alone",
                        path);
    r->is_ptx &= !cuda_image_is_fatbin(r->image, r->size);
    return 0;
}

/* ---- the recorded kernels ---------------------------------------------------------------------
 */

struct code_check {
    struct cuda_replay *replay;
    bool *has; /* of each replacement: the code has the kernel */
    bool has_any;
    int capability;         /* of the device: 75 for 7.5 */
    struct cuda_member ptx; /* that the driver would take; size 0: none */
    char *text;             /* ... a copy of it */
    int error;
};

/* Fails if launches with the recorded arguments would not be right for the other kernel. */
static int compare(const struct cuda_replacement *r, const struct cuda_signature *was)
{
    const struct signature *is = &r->signature;

    if (is->count != was->count)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: %s has %u parameters, and the recorded kernel %s has %u",
                        r->wanted->path, r->from, is->count, r->wanted->name, was->count);
    for (uint32_t i = 0; i < is->count; i++)
        if (is->params[i].size != was->params[i].size ||
            is->params[i].offset != was->params[i].offset)
            return tsm_fail(TSM_E_UNSUPPORTED,
                            "%s: parameter %u of %s has %u bytes at offset %u, and that of the "
                            "recorded kernel %s %u bytes at offset %u",
                            r->wanted->path, i, r->from, is->params[i].size, is->params[i].offset,
                            r->wanted->name, was->params[i].size, was->params[i].offset);
    return 0;
}

static void look_at_function(void *context, const struct cuda_signature *signature)
{
    struct code_check *check = context;
    struct cuda_replacements *all = &check->replay->replacements;

    for (size_t i = 0; i < all->count && !check->error; i++) {
        if (!is_named(signature, all->list[i].wanted->name))
            continue;
        check->has[i] = check->has_any = all->list[i].is_found = true;
        check->error = compare(&all->list[i], signature);
    }
}

/* Keeps the PTX that the driver would take: the newest one that the device can run. */
static void look_at_member(void *context, const struct cuda_member *member)
{
    struct code_check *check = context;
    char *copy;

    if (!member->is_ptx || member->size == 0 || (int)member->architecture > check->capability ||
        (check->text && member->architecture <= check->ptx.architecture))
        return;
    copy = malloc(member->size);
    if (!copy) {
        check->error = tsm_fail(TSM_E_MEMORY, "no memory for the PTX of a module");
        return;
    }
    memcpy(copy, member->data, member->size);
    free(check->text);
    check->text = copy;
    check->ptx = *member;
}

static struct cuda_splice splice_of(const struct cuda_replacement *r)
{
    return (struct cuda_splice){.name = r->wanted->name,
                                .from = r->from,
                                .path = r->wanted->path,
                                .text = (const char *)r->image,
                                .size = r->size};
}

struct clash {
    const struct tsm_map *variables;
    bool is_there;
};

static void look_for_clash(void *context, const char *name, size_t size)
{
    struct clash *clash = context;

    clash->is_there |= tsm_map_find(clash->variables, tsm_hash64(name, size)) != NULL;
}

/* Fails where one of both is machine code, and they have to do with each other. */
static int check_apart(const struct cuda_replacement *r, const uint8_t *image, uint64_t size)
{
    const struct cuda_splice splice = splice_of(r);
    struct clash clash = {&r->variables, false};
    int needs = r->is_ptx ? cuda_ptx_needs_module(&splice, "", 0) : 0;

    cuda_image_variables(image, size, look_for_clash, &clash);
    if (needs < 0)
        return needs;
    return needs || clash.is_there
               ? tsm_fail(TSM_E_UNSUPPORTED,
                          "%s: has variables or functions in common with the recorded module, "
                          "which is possible in PTX alone, and the %s machine code",
                          r->wanted->path, r->is_ptx ? "module is" : "file is no PTX but")
               : 0;
}

/* Decides for each replacement that the code has whether it must be put into the code. */
static int judge(struct code_check *check, const uint8_t *image, uint64_t size)
{
    struct cuda_replacements *all = &check->replay->replacements;
    int error = 0;

    for (size_t i = 0; i < all->count && error >= 0; i++) {
        struct cuda_replacement *r = &all->list[i];
        const struct cuda_splice splice = splice_of(r);

        if (!check->has[i])
            continue;
        if (!r->is_ptx || !check->text) {
            error = check_apart(r, image, size);
            continue;
        }
        error = cuda_ptx_needs_module(&splice, check->text, check->ptx.size);
        r->is_spliced |= error > 0;
    }
    return error < 0 ? error : 0;
}

/* Looks for the kernels in code of the trace. Finish in any case. */
static int begin_check(struct code_check *check, struct cuda_replay *replay, const uint8_t *image,
                       uint64_t size)
{
    *check = (struct code_check){.replay = replay, .capability = cuda_code_capability(replay)};
    check->has = calloc(replay->replacements.count, sizeof(*check->has));
    if (!check->has)
        return tsm_fail(TSM_E_MEMORY, "no memory for kernels");
    cuda_image_functions(image, size, look_at_function, check);
    if (!check->error && check->has_any)
        cuda_image_members(image, size, look_at_member, check);
    return check->error;
}

static void finish_check(struct code_check *check)
{
    free(check->text);
    free(check->has);
}

/* The first pass over all code: does each kernel fit, and where is it put? */
static int check_code(void *user, bool is_library, uint64_t id, const uint8_t *image, uint64_t size)
{
    struct code_check check;
    int error = begin_check(&check, user, image, size);

    (void)is_library, (void)id;
    if (!error && check.has_any)
        error = judge(&check, image, size);
    finish_check(&check);
    return error;
}

static int splice(struct code_check *check, struct cuda_spliced *out)
{
    const struct cuda_replacements *all = &check->replay->replacements;
    struct cuda_splice *list = calloc(all->count, sizeof(*list));
    size_t count = 0;
    int error;

    if (!list)
        return tsm_fail(TSM_E_MEMORY, "no memory for kernels");
    for (size_t i = 0; i < all->count; i++)
        if (check->has[i] && all->list[i].is_spliced)
            list[count++] = splice_of(&all->list[i]);
    error = !count ? 0
            : check->text
                ? cuda_ptx_splice(&out->text, check->text, check->ptx.size, list, count)
                : tsm_fail(TSM_E_UNSUPPORTED, "%s: no PTX to put the kernel into", list[0].path);
    free(list);
    return error;
}

/* The second pass: makes the code with other kernels in it. */
static int splice_code(void *user, bool is_library, uint64_t id, const uint8_t *image,
                       uint64_t size)
{
    struct cuda_replacements *all = &((struct cuda_replay *)user)->replacements;
    struct cuda_spliced spliced = {is_library, id, NULL};
    struct code_check check;
    int error = begin_check(&check, user, image, size);

    if (!error && check.has_any)
        error = splice(&check, &spliced);
    finish_check(&check);
    if (spliced.text &&
        !TSM_ARRAY_PUSH(all->spliced, all->spliced_count, all->spliced_capacity, spliced)) {
        free(spliced.text);
        return tsm_fail(TSM_E_MEMORY, "no memory for kernels");
    }
    return error;
}

int cuda_replace_open(struct cuda_replay *replay)
{
    struct cuda_replacements *all = &replay->replacements;
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
    if (!error)
        error = cuda_code_each(replay, check_code, replay);
    for (size_t i = 0; i < count && !error; i++)
        if (!all->list[i].is_found)
            error = tsm_fail(TSM_E_NOT_FOUND,
                             "%s: no code of it has a kernel \"%s\"; `tracesmith code` lists them",
                             sbt_reader_name(replay->reader), all->list[i].wanted->name);
    return error ? error : cuda_code_each(replay, splice_code, replay);
}

/* ---- while the trace runs ---------------------------------------------------------------------
 */

const void *cuda_replace_image(const struct cuda_replay *replay, const struct sbt_record *record,
                               const void *image)
{
    const struct cuda_replacements *all = &replay->replacements;
    const struct sbt_schema *schema = all->spliced_count ? cuda_schema(record->type) : NULL;
    const int object = schema ? sbt_schema_role(schema, SBT_ROLE_OBJECT) : -1;
    bool is_library;

    if (object < 0 || (uint32_t)object >= record->slot_count)
        return image;
    is_library = !strcmp(schema->fields[object].detail, "library");
    for (size_t i = 0; i < all->spliced_count; i++)
        if (all->spliced[i].is_library == is_library && all->spliced[i].id == record->slots[object])
            return all->spliced[i].text;
    return image;
}

#define LOG_SIZE 256u

/* Loads a file as what the program has the recorded kernel from. *log gets what the driver says. */
static CUresult load(const struct cuda_real *driver, const struct cuda_replacement *r,
                     struct cuda_stand_in *out, char log[LOG_SIZE])
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)LOG_SIZE};
    CUfunction function = NULL;
    CUkernel kernel = NULL;
    CUresult result;

    log[0] = '\0';
    if (out->object == CUDA_OBJECT_LIBRARY) {
        result =
            driver->cuLibraryLoadData(&out->library, r->image, options, values, 2, NULL, NULL, 0);
        if (result == CUDA_SUCCESS)
            result = driver->cuLibraryGetKernel(&kernel, out->library, r->from);
        out->function = kernel;
        return result;
    }
    result = driver->cuModuleLoadDataEx(&out->module, r->image, 2, options, values);
    if (result == CUDA_SUCCESS)
        result = driver->cuModuleGetFunction(&function, out->module, r->from);
    out->function = function;
    return result;
}

static int refuse(const struct cuda_real *driver, const char *path, CUresult result, char *log)
{
    const char *name = NULL;

    if (driver->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "an error without a name";
    log[LOG_SIZE - 1] = '\0';
    log[strcspn(log, "\n")] = '\0';
    tsm_text_disarm(log);
    return tsm_fail(TSM_E_DEVICE, "%s: the driver does not load it: %s%s%s", path, name,
                    *log ? ": " : "", log);
}

static int stand_in(struct cuda_replay *replay, enum cuda_object object, uint64_t id, size_t index,
                    const void **function)
{
    struct cuda_replacements *all = &replay->replacements;
    struct cuda_stand_in made = {.object = object, .id = id, .index = index};
    char log[LOG_SIZE];
    CUresult result;

    for (size_t i = 0; i < all->stand_in_count; i++)
        if (all->stand_ins[i].object == object && all->stand_ins[i].id == id &&
            all->stand_ins[i].index == index) {
            *function = all->stand_ins[i].function;
            return 0;
        }
    result = load(&replay->library.calls, &all->list[index], &made, log);
    if (result != CUDA_SUCCESS)
        return refuse(&replay->library.calls, all->list[index].wanted->path, result, log);
    if (!TSM_ARRAY_PUSH(all->stand_ins, all->stand_in_count, all->stand_in_capacity, made))
        return tsm_fail(TSM_E_MEMORY, "no memory for kernels");
    *function = made.function;
    return 0;
}

/* The record took the kernel of that replacement from a module or library. */
static int take(struct cuda_replay *replay, const struct sbt_record *record, size_t index,
                const void **function)
{
    struct cuda_replacements *all = &replay->replacements;
    struct cuda_replacement *r = &all->list[index];
    const bool is_library = record->type == TYPE_cuLibraryGetKernel;
    const uint64_t id = sbt_record_role(cuda_schema(record->type), record, SBT_ROLE_PARENT, 0);

    if (!r->is_taken)
        tsm_log(TSM_LOG_INFO, "%s: replaced by %s of %s", r->wanted->name, r->from,
                r->wanted->path);
    all->taken_count += !r->is_taken;
    r->is_taken = true;
    return r->is_spliced ? 0
                         : stand_in(replay, is_library ? CUDA_OBJECT_LIBRARY : CUDA_OBJECT_MODULE,
                                    id, index, function);
}

int cuda_replace_function(struct cuda_replay *replay, const struct sbt_record *record,
                          const void **function)
{
    const struct cuda_replacements *all = &replay->replacements;
    uint64_t id;
    const char *name;

    if (!all->count ||
        (record->type != TYPE_cuModuleGetFunction && record->type != TYPE_cuLibraryGetKernel))
        return 0;
    id = sbt_record_role(cuda_schema(record->type), record, SBT_ROLE_NAME, 0);
    name = sbt_reader_string(replay->reader, (uint32_t)id);
    for (size_t i = 0; name && i < all->count; i++)
        if (strcmp(all->list[i].wanted->name, name) == 0)
            return take(replay, record, i, function);
    return 0;
}

void cuda_replace_leave(struct cuda_replay *replay, enum cuda_object object, uint64_t id,
                        bool unloads)
{
    struct cuda_replacements *all = &replay->replacements;
    const struct cuda_real *driver = &replay->library.calls;

    for (size_t i = all->stand_in_count; i-- > 0;) {
        const struct cuda_stand_in left = all->stand_ins[i];
        if (left.object != object || left.id != id)
            continue;
        TSM_ARRAY_REMOVE(all->stand_ins, all->stand_in_count, i);
        if (unloads && left.module)
            driver->cuModuleUnload(left.module);
        if (unloads && left.library)
            driver->cuLibraryUnload(left.library);
    }
}

void cuda_replace_finish(struct cuda_replay *replay)
{
    struct cuda_replacements *all = &replay->replacements;

    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].image);
        free(all->list[i].from);
        free(all->list[i].signature.params);
        tsm_map_finish(&all->list[i].variables);
    }
    for (size_t i = 0; i < all->spliced_count; i++)
        free(all->spliced[i].text);
    free(all->list);
    free(all->spliced);
    free(all->stand_ins);
    *all = (struct cuda_replacements){0};
}
