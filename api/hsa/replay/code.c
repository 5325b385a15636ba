/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects, executables, and what is in them.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>
#include <string.h>

/* A reader keeps its bytes: the runtime reads them when they are loaded. */
struct reader_state {
    hsa_code_object_reader_t raw;
    uint8_t *data;
    uint64_t size;
    struct hsa_code_kernels kernels; /* what its bytes say of them, if they are understood */
};

#define LOADED_MAX 16u

struct executable_state {
    hsa_executable_t raw;
    const struct reader_state *loaded[LOADED_MAX]; /* the newest ones */
    uint32_t loaded_count;
};

static struct reader_state *reader_find(const struct hsa_replay *replay, uint64_t id)
{
    return (void *)(uintptr_t)hsa_object_find(replay, HSA_OBJECT_READER, id);
}

static struct executable_state *executable_find(const struct hsa_replay *replay, uint64_t id)
{
    return (void *)(uintptr_t)hsa_object_find(replay, HSA_OBJECT_EXECUTABLE, id);
}

struct hsa_kernel_state *hsa_kernel_find(const struct hsa_replay *replay, uint64_t id)
{
    return (void *)(uintptr_t)hsa_object_find(replay, HSA_OBJECT_KERNEL, id);
}

static const char *text(struct hsa_replay *replay, const struct sbt_record *record, uint32_t slot)
{
    uint64_t id = hsa_slot(record, slot);

    return id ? sbt_reader_string(replay->reader, (uint32_t)id) : NULL;
}

/* ---- readers -----------------------------------------------------------------------------------
 */

static void free_reader(struct reader_state *reader)
{
    if (!reader)
        return;
    hsa_code_kernels_finish(&reader->kernels);
    free(reader->data);
    free(reader);
}

static int make_reader(struct hsa_replay *replay, const struct sbt_record *record,
                       enum hsa_object object, uint64_t id, uint32_t code_slot)
{
    struct reader_state *reader = calloc(1, sizeof(*reader));
    struct hsa_code code;
    hsa_status_t status = HSA_STATUS_SUCCESS;
    int error = reader ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for code");

    if (!error)
        error = hsa_blob_read(replay, record, code_slot, &reader->data, &reader->size);
    if (!error) {
        status = replay->calls.hsa_code_object_reader_create_from_memory(reader->data, reader->size,
                                                                         &reader->raw);
        if (status != HSA_STATUS_SUCCESS)
            error = hsa_fail(replay, "hsa_code_object_reader_create_from_memory", status);
    }
    if (!error && hsa_code_open(&code, reader->data, reader->size) &&
        !hsa_code_kernels_init(&reader->kernels, &code))
        error = tsm_fail(TSM_E_MEMORY, "no memory for what code says");
    if (!error)
        error = hsa_object_add(replay, object, id, (uint64_t)(uintptr_t)reader);
    if (error && reader && reader->raw.handle)
        replay->calls.hsa_code_object_reader_destroy(reader->raw);
    if (error)
        free_reader(reader);
    return error;
}

int replay_hsa_code_object_reader_create_from_memory(struct hsa_replay *replay,
                                                     const struct sbt_record *record)
{
    return make_reader(
        replay, record, HSA_OBJECT_READER,
        hsa_slot(record, SLOT_hsa_code_object_reader_create_from_memory_code_object_reader),
        SLOT_hsa_code_object_reader_create_from_memory_code_object);
}

int replay_hsa_code_object_reader_create_from_file(struct hsa_replay *replay,
                                                   const struct sbt_record *record)
{
    return make_reader(
        replay, record, HSA_OBJECT_READER,
        hsa_slot(record, SLOT_hsa_code_object_reader_create_from_file_code_object_reader),
        SLOT_hsa_code_object_reader_create_from_file_code);
}

int replay_hsa_code_object_reader_destroy(struct hsa_replay *replay,
                                          const struct sbt_record *record)
{
    return 0; /* at the end */
}

/* HSA 1.0's code objects are readers here: runtimes have that way, too. */
int replay_hsa_code_object_deserialize(struct hsa_replay *replay, const struct sbt_record *record)
{
    return make_reader(replay, record, HSA_OBJECT_CODE,
                       hsa_slot(record, SLOT_hsa_code_object_deserialize_code_object),
                       SLOT_hsa_code_object_deserialize_serialized_code_object);
}

int replay_hsa_ext_program_finalize(struct hsa_replay *replay, const struct sbt_record *record)
{
    return make_reader(replay, record, HSA_OBJECT_CODE,
                       hsa_slot(record, SLOT_hsa_ext_program_finalize_code_object),
                       SLOT_hsa_ext_program_finalize_code);
}

int replay_hsa_code_object_destroy(struct hsa_replay *replay, const struct sbt_record *record)
{
    return 0; /* at the end */
}

/* ---- executables -------------------------------------------------------------------------------
 */

static int made_executable(struct hsa_replay *replay, uint64_t id, uint64_t profile,
                           uint64_t rounding)
{
    struct executable_state *executable = calloc(1, sizeof(*executable));
    hsa_status_t status;
    int error;

    if (!executable)
        return tsm_fail(TSM_E_MEMORY, "no memory for an executable");
    status = replay->calls.hsa_executable_create_alt((hsa_profile_t)profile,
                                                     (hsa_default_float_rounding_mode_t)rounding,
                                                     NULL, &executable->raw);
    error = status == HSA_STATUS_SUCCESS
                ? hsa_object_add(replay, HSA_OBJECT_EXECUTABLE, id, (uint64_t)(uintptr_t)executable)
                : hsa_fail(replay, "hsa_executable_create_alt", status);
    if (error && status == HSA_STATUS_SUCCESS)
        replay->calls.hsa_executable_destroy(executable->raw);
    if (error)
        free(executable);
    return error;
}

int replay_hsa_executable_create(struct hsa_replay *replay, const struct sbt_record *record)
{
    return made_executable(replay, hsa_slot(record, SLOT_hsa_executable_create_executable),
                           hsa_slot(record, SLOT_hsa_executable_create_profile),
                           HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT);
}

int replay_hsa_executable_create_alt(struct hsa_replay *replay, const struct sbt_record *record)
{
    return made_executable(
        replay, hsa_slot(record, SLOT_hsa_executable_create_alt_executable),
        hsa_slot(record, SLOT_hsa_executable_create_alt_profile),
        hsa_slot(record, SLOT_hsa_executable_create_alt_default_float_rounding_mode));
}

int replay_hsa_executable_destroy(struct hsa_replay *replay, const struct sbt_record *record)
{
    return 0; /* at the end: kernels of it may still run */
}

static int loaded(const struct hsa_replay *replay, struct executable_state *executable,
                  const struct reader_state *reader, hsa_status_t status)
{
    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "loading a code object", status);
    executable->loaded[executable->loaded_count++ % LOADED_MAX] = reader;
    return 0;
}

static int load(struct hsa_replay *replay, struct executable_state *executable,
                const struct reader_state *reader, uint64_t agent, const char *options)
{
    if (!executable || !reader)
        return tsm_fail(TSM_E_FORMAT, "loads code that was never made");
    return loaded(
        replay, executable, reader,
        replay->calls.hsa_executable_load_agent_code_object(
            executable->raw, hsa_agents_agent(replay, agent), reader->raw, options, NULL));
}

int replay_hsa_executable_load_agent_code_object(struct hsa_replay *replay,
                                                 const struct sbt_record *record)
{
    return load(
        replay,
        executable_find(replay,
                        hsa_slot(record, SLOT_hsa_executable_load_agent_code_object_executable)),
        reader_find(
            replay,
            hsa_slot(record, SLOT_hsa_executable_load_agent_code_object_code_object_reader)),
        hsa_slot(record, SLOT_hsa_executable_load_agent_code_object_agent),
        text(replay, record, SLOT_hsa_executable_load_agent_code_object_options));
}

int replay_hsa_executable_load_code_object(struct hsa_replay *replay,
                                           const struct sbt_record *record)
{
    return load(
        replay,
        executable_find(replay, hsa_slot(record, SLOT_hsa_executable_load_code_object_executable)),
        (void *)(uintptr_t)hsa_object_find(
            replay, HSA_OBJECT_CODE,
            hsa_slot(record, SLOT_hsa_executable_load_code_object_code_object)),
        hsa_slot(record, SLOT_hsa_executable_load_code_object_agent),
        text(replay, record, SLOT_hsa_executable_load_code_object_options));
}

int replay_hsa_executable_load_program_code_object(struct hsa_replay *replay,
                                                   const struct sbt_record *record)
{
    struct executable_state *executable = executable_find(
        replay, hsa_slot(record, SLOT_hsa_executable_load_program_code_object_executable));
    const struct reader_state *reader = reader_find(
        replay, hsa_slot(record, SLOT_hsa_executable_load_program_code_object_code_object_reader));

    if (!executable || !reader)
        return tsm_fail(TSM_E_FORMAT, "loads code that was never made");
    return loaded(replay, executable, reader,
                  replay->calls.hsa_executable_load_program_code_object(executable->raw,
                                                                        reader->raw, NULL, NULL));
}

int replay_hsa_executable_freeze(struct hsa_replay *replay, const struct sbt_record *record)
{
    const struct executable_state *executable =
        executable_find(replay, hsa_slot(record, SLOT_hsa_executable_freeze_executable));
    hsa_status_t status;

    if (!executable)
        return tsm_fail(TSM_E_FORMAT, "freezes an executable that was never made");
    status = replay->calls.hsa_executable_freeze(
        executable->raw, text(replay, record, SLOT_hsa_executable_freeze_options));
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, "hsa_executable_freeze", status);
}

/* ---- variables that the program has given to an executable -------------------------------------
 */

static int defined(const struct hsa_replay *replay, hsa_status_t status)
{
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, "defining a variable", status);
}

int replay_hsa_executable_global_variable_define(struct hsa_replay *replay,
                                                 const struct sbt_record *record)
{
    const struct executable_state *executable = executable_find(
        replay, hsa_slot(record, SLOT_hsa_executable_global_variable_define_executable));
    uint64_t address = hsa_slot(record, SLOT_hsa_executable_global_variable_define_address);

    if (!executable)
        return tsm_fail(TSM_E_FORMAT, "a variable of an executable that was never made");
    return defined(
        replay, replay->calls.hsa_executable_global_variable_define(
                    executable->raw,
                    text(replay, record, SLOT_hsa_executable_global_variable_define_variable_name),
                    (void *)(uintptr_t)hsa_memory_translate(&replay->memory, address)));
}

typedef hsa_status_t (*define_function)(hsa_executable_t executable, hsa_agent_t agent,
                                        const char *variable_name, void *address);

/* The slots of both are the same. */
static int define(struct hsa_replay *replay, const struct sbt_record *record,
                  define_function function)
{
    const struct executable_state *executable = executable_find(
        replay, hsa_slot(record, SLOT_hsa_executable_agent_global_variable_define_executable));
    uint64_t address = hsa_slot(record, SLOT_hsa_executable_agent_global_variable_define_address);

    if (!executable)
        return tsm_fail(TSM_E_FORMAT, "a variable of an executable that was never made");
    return defined(
        replay,
        function(
            executable->raw,
            hsa_agents_agent(
                replay, hsa_slot(record, SLOT_hsa_executable_agent_global_variable_define_agent)),
            text(replay, record, SLOT_hsa_executable_agent_global_variable_define_variable_name),
            (void *)(uintptr_t)hsa_memory_translate(&replay->memory, address)));
}

int replay_hsa_executable_agent_global_variable_define(struct hsa_replay *replay,
                                                       const struct sbt_record *record)
{
    return define(replay, record, replay->calls.hsa_executable_agent_global_variable_define);
}

int replay_hsa_executable_readonly_variable_define(struct hsa_replay *replay,
                                                   const struct sbt_record *record)
{
    return define(replay, record, replay->calls.hsa_executable_readonly_variable_define);
}

/* ---- what is in them ---------------------------------------------------------------------------
 */

static int find_symbol(struct hsa_replay *replay, uint64_t executable_id, uint64_t agent_id,
                       const char *name, hsa_executable_symbol_t *out)
{
    const struct executable_state *executable = executable_find(replay, executable_id);
    hsa_agent_t agent = hsa_agents_agent(replay, agent_id);

    if (!executable || !name ||
        replay->calls.hsa_executable_get_symbol_by_name(executable->raw, name, &agent, out) !=
            HSA_STATUS_SUCCESS)
        return tsm_fail(TSM_E_NOT_FOUND, "no symbol \"%s\" in its executable", name ? name : "");
    return 0;
}

/* Finds the meaning of the kernel's arguments in one of the loaded files. */
static void find_info(const struct executable_state *executable, const char *name,
                      struct hsa_kernel_state *kernel)
{
    for (uint32_t i = 0; i < LOADED_MAX && i < executable->loaded_count && !kernel->has_info; i++) {
        const struct hsa_code_kernel *found =
            hsa_code_kernels_find(&executable->loaded[i]->kernels, name, strlen(name));
        kernel->has_info = found != NULL;
        if (found)
            kernel->info = *found;
    }
}

/* Puts the kernel of a file in the place of a recorded one, if one is wanted. */
static int replace(struct hsa_replay *replay, const struct executable_state *executable,
                   uint64_t agent, const char *name, struct hsa_kernel_state *kernel)
{
    struct hsa_replacement *r = hsa_replace_find(replay, name);
    int error = 0;

    for (uint32_t i = 0; r && i < LOADED_MAX && i < executable->loaded_count && !error; i++)
        error = hsa_replace_check(r, executable->loaded[i]->data, executable->loaded[i]->size);
    return r && !error ? hsa_replace_take(replay, r, hsa_agents_agent(replay, agent), kernel)
                       : error;
}

int replay_hsa_kernel(struct hsa_replay *replay, const struct sbt_record *record)
{
    uint64_t executable = hsa_slot(record, SLOT_hsa_kernel_executable);
    const char *name = text(replay, record, SLOT_hsa_kernel_name);
    struct hsa_kernel_state *kernel;
    hsa_executable_symbol_t symbol;
    int error =
        find_symbol(replay, executable, hsa_slot(record, SLOT_hsa_kernel_agent), name, &symbol);

    if (error)
        return error;
    kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        return tsm_fail(TSM_E_MEMORY, "no memory for a kernel");
    replay->calls.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                                 &kernel->object);
    find_info(executable_find(replay, executable), name, kernel);
    error = replace(replay, executable_find(replay, executable),
                    hsa_slot(record, SLOT_hsa_kernel_agent), name, kernel);
    if (!error)
        error = hsa_object_add(replay, HSA_OBJECT_KERNEL, hsa_slot(record, SLOT_hsa_kernel_kernel),
                               (uint64_t)(uintptr_t)kernel);
    if (error)
        free(kernel);
    return error;
}

int replay_hsa_variable(struct hsa_replay *replay, const struct sbt_record *record)
{
    hsa_executable_symbol_t symbol;
    uint64_t address = 0, size = hsa_slot(record, SLOT_hsa_variable_size);
    uint32_t size_here = 0;
    bool is_const = false;
    int error = find_symbol(replay, hsa_slot(record, SLOT_hsa_variable_executable),
                            hsa_slot(record, SLOT_hsa_variable_agent),
                            text(replay, record, SLOT_hsa_variable_name), &symbol);

    if (error)
        return error;
    replay->calls.hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address);
    replay->calls.hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST, &is_const);
    replay->calls.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE,
                                                 &size_here);
    if (size > size_here)
        return tsm_fail(TSM_E_FORMAT, "a variable of %llu bytes, which has %u in its code object",
                        (unsigned long long)size, size_here);
    return hsa_memory_variable(replay, hsa_slot(record, SLOT_hsa_variable_address), address, size,
                               is_const, record->seq);
}

void hsa_code_finish(struct hsa_replay *replay)
{
    for (size_t i = 0; i < replay->objects.capacity; i++) {
        const struct tsm_map_slot *slot = &replay->objects.slots[i];
        void *state = (void *)(uintptr_t)slot->value;
        if (!slot->used || !state)
            continue;
        if (slot->key >> 32 == HSA_OBJECT_EXECUTABLE) {
            replay->calls.hsa_executable_destroy(((struct executable_state *)state)->raw);
            free(state);
        } else if (slot->key >> 32 == HSA_OBJECT_READER || slot->key >> 32 == HSA_OBJECT_CODE) {
            replay->calls.hsa_code_object_reader_destroy(((struct reader_state *)state)->raw);
            free_reader(state);
        } else if (slot->key >> 32 == HSA_OBJECT_KERNEL) {
            free(state);
        }
    }
}
