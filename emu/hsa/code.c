/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects and executables. A code object of our own instruction set is a shared object: the
 * dynamic linker loads it, from memory; one of a trace runs in the sandbox
 * (emu/hsa/sandbox/sandbox.h), and here only its bytes are read. AMD's are looked into and refused.
 */
#include "emu/hsa/runtime.h"
#include "emu/hsa/sandbox/sandbox.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hsa/code.h"
#include "base/log.h"
#include "base/text.h"
#include "tracesmith/hsa_kernel.h"

/* A kernel or a variable; its address is the handle. */
struct symbol {
    struct symbol *next;
    struct executable *executable;
    void *address; /* of a kernel its descriptor */
    void *owned;   /* the same, of another instruction set */
    uint64_t size;
    bool is_kernel, is_constant;
    char name[];
};

struct library {
    struct library *next;
    void *handle;        /* of the dynamic linker; NULL: it is in the sandbox */
    uint64_t base, size; /* of its image there */
};

struct executable {
    struct symbol *symbols;
    struct library *libraries;
    bool is_frozen;
};

/* ---- readers -----------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_code_object_reader_create_from_memory(
    const void *code_object, size_t size, hsa_code_object_reader_t *code_object_reader)
{
    struct emu_hsa_reader *reader;

    if (!code_object || !size || !code_object_reader)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    reader = malloc(sizeof(*reader));
    if (reader)
        *reader = (struct emu_hsa_reader){.data = malloc(size), .size = size};
    if (!reader || !reader->data) {
        free(reader);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    memcpy(reader->data, code_object, size);
    code_object_reader->handle = (uint64_t)(uintptr_t)reader;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_code_object_reader_create_from_file(
    hsa_file_t file, hsa_code_object_reader_t *code_object_reader)
{
    hsa_status_t status = HSA_STATUS_ERROR_INVALID_FILE;
    struct stat about;
    void *data;

    if (fstat(file, &about) < 0 || about.st_size <= 0)
        return status;
    data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
        return status;
    status =
        hsa_code_object_reader_create_from_memory(data, (size_t)about.st_size, code_object_reader);
    munmap(data, (size_t)about.st_size);
    return status;
}

EMU_HSA_EXPORT hsa_status_t
hsa_code_object_reader_destroy(hsa_code_object_reader_t code_object_reader)
{
    struct emu_hsa_reader *reader = (void *)(uintptr_t)code_object_reader.handle;

    if (!reader)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER;
    emu_hsa_code_symbols_finish(reader);
    free(reader->data);
    free(reader);
    return HSA_STATUS_SUCCESS;
}

/* ---- executables -------------------------------------------------------------------------------
 */

static struct executable *executable_of(hsa_executable_t executable)
{
    return (struct executable *)(uintptr_t)executable.handle;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_create_alt(
    hsa_profile_t profile, hsa_default_float_rounding_mode_t default_float_rounding_mode,
    const char *options, hsa_executable_t *executable)
{
    struct executable *made;

    if (!executable)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    made = calloc(1, sizeof(*made));
    executable->handle = (uint64_t)(uintptr_t)made;
    return made ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_create(hsa_profile_t profile,
                                                  hsa_executable_state_t executable_state,
                                                  const char *options, hsa_executable_t *executable)
{
    return hsa_executable_create_alt(profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, options,
                                     executable);
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_destroy(hsa_executable_t executable)
{
    struct executable *gone = executable_of(executable);

    if (!gone)
        return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    while (gone->symbols) {
        struct symbol *symbol = gone->symbols;
        gone->symbols = symbol->next;
        free(symbol->owned);
        free(symbol);
    }
    while (gone->libraries) {
        struct library *library = gone->libraries;
        gone->libraries = library->next;
        if (library->handle)
            dlclose(library->handle);
        else
            emu_hsa_sandbox_unload(library->base, library->size);
        free(library);
    }
    free(gone);
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_freeze(hsa_executable_t executable, const char *options)
{
    struct executable *found = executable_of(executable);

    if (!found)
        return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (found->is_frozen)
        return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    found->is_frozen = true;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_validate(hsa_executable_t executable, uint32_t *result)
{
    if (!result)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = 0;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_validate_alt(hsa_executable_t executable,
                                                        const char *options, uint32_t *result)
{
    return hsa_executable_validate(executable, result);
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_get_info(hsa_executable_t executable,
                                                    hsa_executable_info_t attribute, void *value)
{
    const struct executable *found = executable_of(executable);
    hsa_executable_state_t state;

    if (!found || !value || attribute != HSA_EXECUTABLE_INFO_STATE)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    state = found->is_frozen ? HSA_EXECUTABLE_STATE_FROZEN : HSA_EXECUTABLE_STATE_UNFROZEN;
    memcpy(value, &state, sizeof(state));
    return HSA_STATUS_SUCCESS;
}

/* ---- loading -----------------------------------------------------------------------------------
 */

/* Writes the path of an open file, spelled in another way for each of 65536 calls. The linker takes
 * a library for loaded if one was opened by the same name, and numbers of files come again. */
static void spell_path(char out[96], int file)
{
    static unsigned calls;
    const unsigned call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    size_t at = tsm_format(out, 96, "/proc/self/fd");

    for (unsigned bit = 0; bit < 16; bit++)
        at += tsm_format(out + at, 96 - at, "%s", call >> bit & 1 ? "/." : "//");
    tsm_format(out + at, 96 - at, "/%d", file);
}

/* A library of its own, even when the same bytes are loaded twice: the linker knows files apart by
 * their inode. */
static void *load_bytes(const struct emu_hsa_reader *reader)
{
    int file = memfd_create("code object", MFD_CLOEXEC);
    void *handle = NULL;
    char path[96];

    if (file >= 0 && write(file, reader->data, reader->size) == (ssize_t)reader->size) {
        spell_path(path, file);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            tsm_log(TSM_LOG_ERROR, "a code object does not load: %s", dlerror());
    }
    if (file >= 0)
        close(file);
    return handle;
}

struct listing {
    struct executable *executable;
    const struct library *library; /* NULL: it is for another instruction set */
    bool ok;
};

/* A descriptor of a kernel that is in the sandbox. What it says comes from the file's bytes: the
 * image's may be changed by its code at any time. */
static void *remote_kernel(const struct library *library, const struct hsa_code_symbol *found)
{
    size_t length = strlen(found->name) + 1;
    struct emu_hsa_remote_kernel *kernel = calloc(1, sizeof(*kernel) + length);

    if (!kernel)
        return NULL;
    kernel->magic = EMU_HSA_KERNEL_REMOTE;
    kernel->arguments_size = found->kernel->arguments_size;
    kernel->group_size = found->kernel->group_size;
    kernel->private_size = found->kernel->private_size;
    kernel->descriptor = library->base + found->address;
    memcpy(kernel->name, found->name, length);
    return kernel;
}

/* Creates the replacement of a symbol that is not loaded: memory of the variable's size, or a
 * descriptor of the kernel that has its needs and runs nothing. */
static void *stand_in(const struct hsa_code_symbol *found)
{
    struct tracesmith_hsa_kernel *kernel;

    if (!found->kernel)
        return found->size < (1u << 30) ? calloc(1, (size_t)found->size + 1) : NULL;
    kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        return NULL;
    kernel->magic = EMU_HSA_KERNEL_FOREIGN;
    kernel->arguments_size = found->kernel->arguments_size;
    kernel->group_size = found->kernel->group_size;
    kernel->private_size = found->kernel->private_size;
    return kernel;
}

/* NULL: no memory, or it is outside of what is loaded. */
static void *address_of(const struct library *library, const struct hsa_code_symbol *found,
                        void **owned)
{
    if (library && library->handle)
        return dlsym(library->handle, found->name);
    if (!library)
        return *owned = stand_in(found);
    if (found->kernel)
        return *owned = remote_kernel(library, found);
    if (found->address <= library->size && found->size <= library->size - found->address)
        return (void *)(uintptr_t)(library->base + found->address);
    emu_hsa_sandbox_fail("a code object is damaged: its variable %.100s ends behind its memory",
                         found->name);
    return NULL;
}

static bool list_symbol(void *user, const struct hsa_code_symbol *found)
{
    struct listing *listing = user;
    size_t length = strlen(found->name) + 1;
    struct symbol *symbol = calloc(1, sizeof(*symbol) + length);

    if (symbol)
        symbol->address = address_of(listing->library, found, &symbol->owned);
    listing->ok = symbol && symbol->address;
    if (!listing->ok) {
        free(symbol);
        return false;
    }
    memcpy(symbol->name, found->name, length);
    symbol->size = found->size;
    symbol->is_kernel = found->kernel != NULL;
    symbol->is_constant = found->is_constant && listing->library;
    symbol->executable = listing->executable;
    symbol->next = listing->executable->symbols;
    listing->executable->symbols = symbol;
    return true;
}

/* Lists symbols of the set that TS_EMU_HSA_ISA names: its kernels can be looked up. */
static hsa_status_t list_foreign(struct executable *executable, const struct hsa_code *code)
{
    struct listing listing = {executable, NULL, true};

    hsa_code_each(code, list_symbol, &listing);
    return listing.ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t refuse(const struct hsa_code *code)
{
    tsm_log(TSM_LOG_ERROR,
            "a code object for an AMD GPU (processor 0x%x in its ELF header) does not run on the "
            "software GPU, whose instruction set is " TRACESMITH_HSA_ISA,
            code->flags & 0xffu);
    return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
}

static bool load(struct library *library, const struct emu_hsa_reader *reader,
                 const struct hsa_code *code)
{
    if (!emu_hsa_sandbox_is_used()) {
        library->handle = load_bytes(reader);
        return library->handle != NULL;
    }
    library->size = hsa_code_image_size(code);
    return emu_hsa_sandbox_load(reader->data, reader->size, &library->base, &library->size);
}

static hsa_status_t load_own(struct executable *executable, const struct emu_hsa_reader *reader,
                             const struct hsa_code *code)
{
    struct library *library = calloc(1, sizeof(*library));
    struct listing listing = {executable, library, true};

    if (!library)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    if (!load(library, reader, code)) {
        free(library);
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    }
    library->next = executable->libraries;
    executable->libraries = library;
    hsa_code_each(code, list_symbol, &listing);
    return listing.ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_load_agent_code_object(
    hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t code_object_reader,
    const char *options, hsa_loaded_code_object_t *loaded_code_object)
{
    const struct emu_hsa_reader *reader = (const void *)(uintptr_t)code_object_reader.handle;
    struct executable *found = executable_of(executable);
    struct hsa_code code;
    hsa_status_t status;

    if (!found)
        return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (found->is_frozen)
        return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    if (agent.handle != emu_hsa_gpu().handle)
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!reader)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER;
    if (!hsa_code_open(&code, reader->data, reader->size))
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (code.is_amdgpu && strcmp(emu_hsa_isa(), TRACESMITH_HSA_ISA) == 0)
        return refuse(&code);
    status = code.is_amdgpu ? list_foreign(found, &code) : load_own(found, reader, &code);
    if (status == HSA_STATUS_SUCCESS && loaded_code_object)
        loaded_code_object->handle =
            (uint64_t)(uintptr_t)(code.is_amdgpu ? (void *)found : (void *)found->libraries);
    return status;
}

/* ---- the same as HSA 1.0 has it ----------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_code_object_deserialize(void *serialized_code_object,
                                                        size_t serialized_code_object_size,
                                                        const char *options,
                                                        hsa_code_object_t *code_object)
{
    hsa_code_object_reader_t reader = {0};
    hsa_status_t status;

    if (!code_object)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = hsa_code_object_reader_create_from_memory(serialized_code_object,
                                                       serialized_code_object_size, &reader);
    code_object->handle = reader.handle;
    return status;
}

EMU_HSA_EXPORT hsa_status_t hsa_code_object_destroy(hsa_code_object_t code_object)
{
    return code_object.handle
               ? hsa_code_object_reader_destroy((hsa_code_object_reader_t){code_object.handle})
               : HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_load_code_object(hsa_executable_t executable,
                                                            hsa_agent_t agent,
                                                            hsa_code_object_t code_object,
                                                            const char *options)
{
    return hsa_executable_load_agent_code_object(
        executable, agent, (hsa_code_object_reader_t){code_object.handle}, options, NULL);
}

/* ---- symbols -----------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t executable,
                                                              const char *symbol_name,
                                                              const hsa_agent_t *agent,
                                                              hsa_executable_symbol_t *symbol)
{
    const struct executable *found = executable_of(executable);

    if (!found)
        return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!symbol_name || !symbol)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (struct symbol *s = found->symbols; s; s = s->next) {
        if (strcmp(s->name, symbol_name) == 0) {
            symbol->handle = (uint64_t)(uintptr_t)s;
            return HSA_STATUS_SUCCESS;
        }
    }
    return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_get_symbol(hsa_executable_t executable,
                                                      const char *module_name,
                                                      const char *symbol_name, hsa_agent_t agent,
                                                      int32_t call_convention,
                                                      hsa_executable_symbol_t *symbol)
{
    return hsa_executable_get_symbol_by_name(executable, symbol_name, &agent, symbol);
}

EMU_HSA_EXPORT hsa_status_t
hsa_executable_iterate_agent_symbols(hsa_executable_t executable, hsa_agent_t agent,
                                     hsa_agent_symbol_callback_t callback, void *data)
{
    const struct executable *found = executable_of(executable);
    hsa_status_t status = HSA_STATUS_SUCCESS;

    if (!found)
        return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!callback)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (agent.handle != emu_hsa_gpu().handle)
        return status;
    for (struct symbol *s = found->symbols; s && status == HSA_STATUS_SUCCESS; s = s->next)
        status =
            callback(executable, agent, (hsa_executable_symbol_t){(uint64_t)(uintptr_t)s}, data);
    return status;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_iterate_program_symbols(hsa_executable_t executable,
                                                                   hsa_symbol_callback_t callback,
                                                                   void *data)
{
    return executable.handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_EXECUTABLE;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_iterate_symbols(hsa_executable_t executable,
                                                           hsa_symbol_callback_t callback,
                                                           void *data)
{
    const struct executable *found = executable_of(executable);
    hsa_status_t status = HSA_STATUS_SUCCESS;

    if (!found || !callback)
        return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    for (struct symbol *s = found->symbols; s && status == HSA_STATUS_SUCCESS; s = s->next)
        status = callback(executable, (hsa_executable_symbol_t){(uint64_t)(uintptr_t)s}, data);
    return status;
}

static bool give_of_kernel(const struct symbol *symbol, hsa_executable_symbol_info_t attribute,
                           void *out)
{
    const struct tracesmith_hsa_kernel *kernel = symbol->address;

    switch ((int)attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
        EMU_HSA_GIVE(uint64_t, (uint64_t)(uintptr_t)kernel);
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
        EMU_HSA_GIVE(uint32_t, kernel->arguments_size);
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
        EMU_HSA_GIVE(uint32_t, 16);
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
        EMU_HSA_GIVE(uint32_t, kernel->group_size);
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
        EMU_HSA_GIVE(uint32_t, kernel->private_size);
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
        EMU_HSA_GIVE(bool, false);
        break;
    default:
        return false;
    }
    return true;
}

EMU_HSA_EXPORT hsa_status_t hsa_executable_symbol_get_info(
    hsa_executable_symbol_t executable_symbol, hsa_executable_symbol_info_t attribute, void *out)
{
    const struct symbol *symbol = (const void *)(uintptr_t)executable_symbol.handle;

    if (!symbol || !out)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch ((int)attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
        EMU_HSA_GIVE(hsa_symbol_kind_t,
                     symbol->is_kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
        EMU_HSA_GIVE(uint32_t, (uint32_t)strlen(symbol->name));
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
        memcpy(out, symbol->name, strlen(symbol->name));
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_AGENT:
        EMU_HSA_GIVE(hsa_agent_t, emu_hsa_gpu());
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION:
        EMU_HSA_GIVE(bool, true);
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
        EMU_HSA_GIVE(uint64_t, (uint64_t)(uintptr_t)symbol->address);
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
        EMU_HSA_GIVE(uint32_t, (uint32_t)symbol->size);
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST:
        EMU_HSA_GIVE(bool, symbol->is_constant);
        return HSA_STATUS_SUCCESS;
    default:
        return symbol->is_kernel && give_of_kernel(symbol, attribute, out)
                   ? HSA_STATUS_SUCCESS
                   : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}
