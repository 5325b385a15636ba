/* SPDX-License-Identifier: Apache-2.0
 *
 * Code: the bytes of a reader's file, and, when an executable is frozen, what kernels and variables
 * it has, whether or not the program asks for them.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "base/own_stack.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NAME_MAX_SIZE 4096u

void hsa_after_file(struct tsm_call *call, bool ok, hsa_file_t file)
{
    int saved_errno = errno;
    struct stat about;
    void *data = MAP_FAILED;

    if (ok && fstat(file, &about) == 0 && about.st_size > 0)
        data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data != MAP_FAILED) {
        tsm_call_blob(call, data, (uint64_t)about.st_size);
        munmap(data, (size_t)about.st_size);
    } else {
        tsm_call_blob(call, NULL, 0);
        if (ok)
            tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    }
    errno = saved_errno;
}

/* ---- what was finalized ------------------------------------------------------------------------
 */

struct taken {
    void *memory;
    size_t size;
};

static hsa_status_t take_memory(size_t size, hsa_callback_data_t data, void **address)
{
    struct taken *taken = (void *)(uintptr_t)data.handle;

    taken->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken->memory == MAP_FAILED)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    taken->size = size;
    *address = taken->memory;
    return HSA_STATUS_SUCCESS;
}

void hsa_after_finalized(struct tsm_call *call, bool ok, hsa_code_object_t *code_object)
{
    struct taken taken = {MAP_FAILED, 0};
    int saved_errno = errno;
    size_t size = 0;
    void *bytes;

    if (ok && hsa_runtime.hsa_code_object_serialize(*code_object, take_memory,
                                                    (hsa_callback_data_t){HSA_SLOT(&taken)}, NULL,
                                                    &bytes, &size) == HSA_STATUS_SUCCESS) {
        tsm_call_blob(call, bytes, size);
    } else {
        tsm_call_blob(call, NULL, 0);
        if (ok)
            tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    }
    if (taken.memory != MAP_FAILED)
        munmap(taken.memory, taken.size);
    errno = saved_errno;
}

/* ---- symbols -----------------------------------------------------------------------------------
 */

static void record_kernel(hsa_executable_t executable, hsa_agent_t agent,
                          hsa_executable_symbol_t symbol, const char *name)
{
    uint64_t object = 0;
    uint32_t arguments = 0, group = 0, private = 0;
    struct tsm_handle *handle;
    struct tsm_call call;

    hsa_runtime.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                               &object);
    hsa_runtime.hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &arguments);
    hsa_runtime.hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &group);
    hsa_runtime.hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &private);
    if (!tsm_call_begin(&call, TYPE_hsa_kernel))
        return;
    handle = tsm_handle_add(SBT_API_HSA, HSA_OBJECT_KERNEL, object);
    handle->name = tsm_intern(name, strlen(name));
    handle->user = (void *)(uintptr_t)arguments;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, handle->id);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_EXECUTABLE, executable.handle));
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, agent.handle));
    tsm_call_slot(&call, handle->name);
    tsm_call_slot(&call, arguments);
    tsm_call_slot(&call, group);
    tsm_call_slot(&call, private);
    tsm_call_commit(&call);
}

static void record_variable(hsa_executable_t executable, hsa_agent_t agent,
                            hsa_executable_symbol_t symbol, const char *name)
{
    uint64_t address = 0;
    uint32_t size = 0;
    bool is_const = false;
    struct tsm_call call;

    hsa_runtime.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS,
                                               &address);
    hsa_runtime.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE,
                                               &size);
    hsa_runtime.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST,
                                               &is_const);
    if (address && size)
        hsa_memory_variable(address, size, executable, is_const);
    if (!tsm_call_begin(&call, TYPE_hsa_variable))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_EXECUTABLE, executable.handle));
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, agent.handle));
    tsm_call_string(&call, name);
    tsm_call_slot(&call, address);
    tsm_call_slot(&call, size);
    tsm_call_commit(&call);
}

static hsa_status_t record_symbol(hsa_executable_t executable, hsa_agent_t agent,
                                  hsa_executable_symbol_t symbol, void *data)
{
    hsa_symbol_kind_t kind = HSA_SYMBOL_KIND_INDIRECT_FUNCTION;
    char name[NAME_MAX_SIZE];
    uint32_t length = 0;

    hsa_runtime.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
    hsa_runtime.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH,
                                               &length);
    if (length >= sizeof(name)) {
        tsm_session_unmodelled("a symbol's name of more than 4095 bytes", true);
        return HSA_STATUS_SUCCESS;
    }
    hsa_runtime.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name);
    name[length] = '\0';
    if (kind == HSA_SYMBOL_KIND_KERNEL)
        record_kernel(executable, agent, symbol, name);
    else if (kind == HSA_SYMBOL_KIND_VARIABLE)
        record_variable(executable, agent, symbol, name);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t record_symbols(hsa_agent_t agent, void *data)
{
    const hsa_executable_t *executable = data;

    return hsa_runtime.hsa_executable_iterate_agent_symbols(*executable, agent, record_symbol,
                                                            NULL);
}

static void record_agents(void *executable)
{
    hsa_runtime.hsa_iterate_agents(record_symbols, executable);
}

void hsa_then_freeze(hsa_executable_t executable)
{
    tsm_own_stack_run(record_agents, &executable);
}
