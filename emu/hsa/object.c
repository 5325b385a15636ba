/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects as HSA 1.0 has them: what is in one, before it is loaded. They are the same things
 * as readers (code.c).
 */
#include "emu/hsa/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/hsa/code.h"
#include "tracesmith/hsa_kernel.h"

/* Its address is the handle. */
struct emu_hsa_code_symbol {
    struct emu_hsa_code_symbol *next;
    uint32_t size;
    bool is_kernel, is_constant;
    uint32_t arguments_size, group_size, private_size; /* of a kernel */
    char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct emu_hsa_reader *reader_of(hsa_code_object_t code_object)
{
    return (void *)(uintptr_t)code_object.handle;
}

/* ---- symbols -----------------------------------------------------------------------------------
 */

static bool list_symbol(void *user, const struct hsa_code_symbol *found)
{
    struct emu_hsa_reader *reader = user;
    size_t length = strlen(found->name) + 1;
    struct emu_hsa_code_symbol *symbol = calloc(1, sizeof(*symbol) + length);

    if (!symbol)
        return false;
    memcpy(symbol->name, found->name, length);
    symbol->size = (uint32_t)found->size;
    symbol->is_constant = found->is_constant;
    symbol->is_kernel = found->kernel != NULL;
    if (found->kernel) {
        symbol->arguments_size = found->kernel->arguments_size;
        symbol->group_size = found->kernel->group_size;
        symbol->private_size = found->kernel->private_size;
    }
    symbol->next = reader->symbols;
    reader->symbols = symbol;
    return true;
}

static struct emu_hsa_code_symbol *symbols_of(struct emu_hsa_reader *reader)
{
    struct hsa_code code;

    pthread_mutex_lock(&lock);
    if (!reader->is_listed && hsa_code_open(&code, reader->data, reader->size))
        reader->is_listed = hsa_code_each(&code, list_symbol, reader);
    pthread_mutex_unlock(&lock);
    return reader->symbols;
}

void emu_hsa_code_symbols_finish(struct emu_hsa_reader *reader)
{
    while (reader->symbols) {
        struct emu_hsa_code_symbol *gone = reader->symbols;
        reader->symbols = gone->next;
        free(gone);
    }
}

static hsa_code_symbol_t handle_of(const struct emu_hsa_code_symbol *symbol)
{
    return (hsa_code_symbol_t){(uint64_t)(uintptr_t)symbol};
}

EMU_HSA_EXPORT hsa_status_t hsa_code_object_get_symbol(hsa_code_object_t code_object,
                                                       const char *symbol_name,
                                                       hsa_code_symbol_t *symbol)
{
    if (!code_object.handle)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (!symbol_name || !symbol)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const struct emu_hsa_code_symbol *s = symbols_of(reader_of(code_object)); s; s = s->next) {
        if (strcmp(s->name, symbol_name) != 0)
            continue;
        *symbol = handle_of(s);
        return HSA_STATUS_SUCCESS;
    }
    symbol->handle = 0;
    return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
}

/* No symbol belongs to a module. */
EMU_HSA_EXPORT hsa_status_t hsa_code_object_get_symbol_from_name(hsa_code_object_t code_object,
                                                                 const char *module_name,
                                                                 const char *symbol_name,
                                                                 hsa_code_symbol_t *symbol)
{
    if (module_name && *module_name)
        return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    return hsa_code_object_get_symbol(code_object, symbol_name, symbol);
}

EMU_HSA_EXPORT hsa_status_t hsa_code_object_iterate_symbols(hsa_code_object_t code_object,
                                                            hsa_code_symbol_callback_t callback,
                                                            void *data)
{
    hsa_status_t status = HSA_STATUS_SUCCESS;

    if (!code_object.handle)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (!callback)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const struct emu_hsa_code_symbol *s = symbols_of(reader_of(code_object));
         s && status == HSA_STATUS_SUCCESS; s = s->next)
        status = callback(code_object, handle_of(s), data);
    return status;
}

static bool give_of_kernel(const struct emu_hsa_code_symbol *symbol,
                           hsa_code_symbol_info_t attribute, void *out)
{
    switch ((int)attribute) {
    case HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
        EMU_HSA_GIVE(uint32_t, symbol->arguments_size);
        break;
    case HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
        EMU_HSA_GIVE(uint32_t, 16);
        break;
    case HSA_CODE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
        EMU_HSA_GIVE(uint32_t, symbol->group_size);
        break;
    case HSA_CODE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
        EMU_HSA_GIVE(uint32_t, symbol->private_size);
        break;
    case HSA_CODE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
        EMU_HSA_GIVE(bool, false);
        break;
    case HSA_CODE_SYMBOL_INFO_KERNEL_CALL_CONVENTION:
        EMU_HSA_GIVE(uint32_t, 0);
        break;
    default:
        return false;
    }
    return true;
}

static bool give_of_variable(const struct emu_hsa_code_symbol *symbol,
                             hsa_code_symbol_info_t attribute, void *out)
{
    switch ((int)attribute) {
    case HSA_CODE_SYMBOL_INFO_VARIABLE_ALLOCATION:
        EMU_HSA_GIVE(hsa_variable_allocation_t, HSA_VARIABLE_ALLOCATION_AGENT);
        break;
    case HSA_CODE_SYMBOL_INFO_VARIABLE_SEGMENT:
        EMU_HSA_GIVE(hsa_variable_segment_t, symbol->is_constant ? HSA_VARIABLE_SEGMENT_READONLY
                                                                 : HSA_VARIABLE_SEGMENT_GLOBAL);
        break;
    case HSA_CODE_SYMBOL_INFO_VARIABLE_ALIGNMENT:
        EMU_HSA_GIVE(uint32_t, 0); /* the file does not say */
        break;
    case HSA_CODE_SYMBOL_INFO_VARIABLE_SIZE:
        EMU_HSA_GIVE(uint32_t, symbol->size);
        break;
    case HSA_CODE_SYMBOL_INFO_VARIABLE_IS_CONST:
        EMU_HSA_GIVE(bool, symbol->is_constant);
        break;
    default:
        return false;
    }
    return true;
}

EMU_HSA_EXPORT hsa_status_t hsa_code_symbol_get_info(hsa_code_symbol_t code_symbol,
                                                     hsa_code_symbol_info_t attribute, void *out)
{
    const struct emu_hsa_code_symbol *symbol = (const void *)(uintptr_t)code_symbol.handle;

    if (!symbol)
        return HSA_STATUS_ERROR_INVALID_CODE_SYMBOL;
    if (!out)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch ((int)attribute) {
    case HSA_CODE_SYMBOL_INFO_TYPE:
        EMU_HSA_GIVE(hsa_symbol_kind_t,
                     symbol->is_kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
        return HSA_STATUS_SUCCESS;
    case HSA_CODE_SYMBOL_INFO_NAME_LENGTH:
        EMU_HSA_GIVE(uint32_t, (uint32_t)strlen(symbol->name));
        return HSA_STATUS_SUCCESS;
    case HSA_CODE_SYMBOL_INFO_NAME:
        memcpy(out, symbol->name, strlen(symbol->name));
        return HSA_STATUS_SUCCESS;
    case HSA_CODE_SYMBOL_INFO_MODULE_NAME_LENGTH:
        EMU_HSA_GIVE(uint32_t, 0);
        return HSA_STATUS_SUCCESS;
    case HSA_CODE_SYMBOL_INFO_MODULE_NAME:
        return HSA_STATUS_SUCCESS;
    case HSA_CODE_SYMBOL_INFO_LINKAGE:
        EMU_HSA_GIVE(hsa_symbol_linkage_t, HSA_SYMBOL_LINKAGE_PROGRAM);
        return HSA_STATUS_SUCCESS;
    case HSA_CODE_SYMBOL_INFO_IS_DEFINITION:
        EMU_HSA_GIVE(bool, true);
        return HSA_STATUS_SUCCESS;
    default:
        return (symbol->is_kernel ? give_of_kernel : give_of_variable)(symbol, attribute, out)
                   ? HSA_STATUS_SUCCESS
                   : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_code_object_get_info(hsa_code_object_t code_object,
                                                     hsa_code_object_info_t attribute, void *out)
{
    static const char version[64] = "1.0";
    hsa_isa_t isa = {0};

    if (!code_object.handle)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (!out)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch ((int)attribute) {
    case HSA_CODE_OBJECT_INFO_VERSION:
        memcpy(out, version, sizeof(version));
        break;
    case HSA_CODE_OBJECT_INFO_TYPE:
        EMU_HSA_GIVE(hsa_code_object_type_t, HSA_CODE_OBJECT_TYPE_PROGRAM);
        break;
    case HSA_CODE_OBJECT_INFO_ISA:
        hsa_isa_from_name(emu_hsa_isa(), &isa);
        EMU_HSA_GIVE(hsa_isa_t, isa);
        break;
    case HSA_CODE_OBJECT_INFO_MACHINE_MODEL:
        EMU_HSA_GIVE(hsa_machine_model_t, HSA_MACHINE_MODEL_LARGE);
        break;
    case HSA_CODE_OBJECT_INFO_PROFILE:
        EMU_HSA_GIVE(hsa_profile_t, HSA_PROFILE_BASE);
        break;
    case HSA_CODE_OBJECT_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
        EMU_HSA_GIVE(hsa_default_float_rounding_mode_t, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
        break;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_code_object_serialize(hsa_code_object_t code_object,
                                                      hsa_serialize_callback_t alloc_callback,
                                                      hsa_callback_data_t callback_data,
                                                      const char *options,
                                                      void **serialized_code_object,
                                                      size_t *serialized_code_object_size)
{
    const struct emu_hsa_reader *reader = reader_of(code_object);
    hsa_status_t status;
    void *to = NULL;

    if (!reader)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (!alloc_callback || !serialized_code_object || !serialized_code_object_size)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = alloc_callback(reader->size, callback_data, &to);
    if (status != HSA_STATUS_SUCCESS || !to)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    memcpy(to, reader->data, reader->size);
    *serialized_code_object = to;
    *serialized_code_object_size = reader->size;
    return HSA_STATUS_SUCCESS;
}
