/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses rare features: code objects and their symbols before they are loaded; and three ways to let
 * a kernel go that waits: from a function that is called when memory goes, from one that the
 * runtime is asked to call, and through the pointer to a signal's value.
 */
#include "api/hsa/hsa_prototypes.h"
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define COUNT 256u

struct count {
    unsigned kernels, variables;
};

static hsa_status_t count_symbol(hsa_code_object_t code, hsa_code_symbol_t symbol, void *data)
{
    struct count *count = data;
    hsa_symbol_kind_t kind;
    char name[1024] = "";
    uint32_t length = 0;

    HSA_CHECK(hsa_code_symbol_get_info(symbol, HSA_CODE_SYMBOL_INFO_NAME_LENGTH, &length));
    if (!length || length >= sizeof(name))
        return HSA_STATUS_ERROR;
    HSA_CHECK(hsa_code_symbol_get_info(symbol, HSA_CODE_SYMBOL_INFO_TYPE, &kind));
    HSA_CHECK(hsa_code_symbol_get_info(symbol, HSA_CODE_SYMBOL_INFO_NAME, name));
    count->kernels += kind == HSA_SYMBOL_KIND_KERNEL;
    count->variables += kind == HSA_SYMBOL_KIND_VARIABLE;
    return strlen(name) == length ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}

static hsa_status_t take_memory(size_t size, hsa_callback_data_t data, void **address)
{
    *address = malloc(size);
    return *address ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* Asks about the file at `path` and the executable that comes of it. */
static unsigned ask_of_code(struct hsa_machine *machine, const char *path)
{
    int file = open(path, O_RDONLY);
    struct count count = {0};
    hsa_code_object_t code;
    hsa_code_symbol_t add;
    uint32_t size = 0;
    struct stat about;
    void *bytes, *again = NULL;
    size_t again_size = 0;
    unsigned bad;

    if (file < 0 || fstat(file, &about) != 0)
        return 1;
    bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    HSA_CHECK(hsa_code_object_deserialize(bytes, (size_t)about.st_size, NULL, &code));
    HSA_CHECK(hsa_code_object_iterate_symbols(code, count_symbol, &count));
    HSA_CHECK(hsa_code_object_get_symbol(code, "add.kd", &add));
    HSA_CHECK(
        hsa_code_symbol_get_info(add, HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &size));
    HSA_CHECK(hsa_code_object_serialize(code, take_memory, (hsa_callback_data_t){0}, NULL, &again,
                                        &again_size));
    bad = again_size != (size_t)about.st_size || memcmp(again, bytes, again_size) != 0;
    bad |= size != sizeof(struct add_arguments) || count.kernels < 5;
    bad |= hsa_code_object_get_symbol_from_name(code, NULL, "none", &add) !=
           HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    HSA_CHECK(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL,
                                    &machine->executable));
    HSA_CHECK(hsa_executable_load_code_object(machine->executable, machine->gpu, code, NULL));
    HSA_CHECK(hsa_executable_freeze(machine->executable, NULL));
    free(again);
    return bad;
}

static unsigned ask_of_machine(const struct hsa_machine *machine, void *memory)
{
    hsa_amd_coherency_type_t type;
    uint64_t ticks = 0;
    uint32_t engines = 0;

    HSA_CHECK(hsa_amd_coherency_set_type(machine->gpu, HSA_AMD_COHERENCY_TYPE_NONCOHERENT));
    HSA_CHECK(hsa_amd_coherency_get_type(machine->gpu, &type));
    HSA_CHECK(hsa_amd_memory_migrate(memory, machine->device, 0));
    HSA_CHECK(hsa_amd_pointer_info_set_userdata(memory, &ticks));
    HSA_CHECK(hsa_amd_memory_copy_engine_status(machine->gpu, machine->cpu, &engines));
    HSA_CHECK(hsa_amd_profiling_convert_tick_to_system_domain(machine->gpu, 7, &ticks));
    return type != HSA_AMD_COHERENCY_TYPE_NONCOHERENT || !engines;
}

static void let_go(void *signal)
{
    hsa_signal_store_screlease(*(hsa_signal_t *)signal, 0);
}

static void memory_gone(void *memory, void *signal)
{
    let_go(signal);
}

/* Far more than this machine has; nobody looks at it. Memory that is not the program's is not
 * freed. */
static unsigned ask_of_memory(const struct hsa_machine *machine)
{
    void *huge = hsa_pool_take(machine->device, (size_t)60 << 30);

    HSA_CHECK(hsa_amd_memory_unlock(huge));
    HSA_CHECK(hsa_amd_memory_pool_free(huge));
    return hsa_amd_memory_pool_free(huge) != HSA_STATUS_ERROR_INVALID_ALLOCATION ||
           hsa_amd_memory_pool_allocate(machine->device, (size_t)65 << 30, 0, &huge) !=
               HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

static void free_something(const struct hsa_machine *machine, hsa_signal_t *gate)
{
    void *scratch = hsa_pool_take(machine->device, 4096);

    HSA_CHECK(hsa_amd_register_deallocation_callback(scratch, memory_gone, gate));
    HSA_CHECK(hsa_amd_register_deallocation_callback(scratch, memory_gone, NULL));
    HSA_CHECK(hsa_amd_deregister_deallocation_callback(scratch, memory_gone));
    HSA_CHECK(hsa_amd_memory_pool_free(scratch));
}

static hsa_signal_value_pointer_t value_of(hsa_signal_t gate)
{
    hsa_signal_value_pointer_t value;

    HSA_CHECK(hsa_amd_signal_value_pointer(gate, &value));
    return value;
}

int main(int argc, char **argv)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_found_kernel add;
    struct add_arguments *arguments;
    struct hsa_machine machine;
    float ones[COUNT], back[COUNT];
    unsigned bad;

    hsa_machine_find(&machine);
    HSA_CHECK(hsa_amd_register_system_event_handler(NULL, NULL));
    bad = ask_of_code(&machine, argv[1]);
    add = hsa_kernel_find(&machine, "add.kd");
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    arguments->out = hsa_pool_take(machine.device, sizeof(ones));
    bad |= ask_of_machine(&machine, arguments->out);
    bad |= ask_of_memory(&machine);
    for (unsigned i = 0; i < COUNT; i++)
        ones[i] = 1;
    HSA_CHECK(hsa_memory_copy(arguments->out, ones, sizeof(ones)));
    arguments->left = arguments->right = arguments->out;
    for (unsigned how = 0; how < 3; how++) {
        hsa_queue_t *queue = hsa_queue_take(&machine, 64);
        hsa_signal_t gate = hsa_signal_take(1), done = hsa_signal_take(1);
        hsa_signal_value_pointer_t value = how == 2 ? value_of(gate) : NULL;
        hsa_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, (hsa_signal_t){0});
        hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
        if (how == 0)
            free_something(&machine, &gate);
        else if (how == 1)
            HSA_CHECK(hsa_amd_async_function(let_go, &gate));
        else
            __atomic_store_n(value, 0, __ATOMIC_RELEASE);
        hsa_await(done);
        HSA_CHECK(hsa_memory_copy(back, arguments->out, sizeof(back)));
        HSA_CHECK(hsa_queue_destroy(queue));
    }
    bad |= back[0] != 8 || back[COUNT - 1] != 8;
    HSA_CHECK(hsa_shut_down());
    printf(bad ? "wrong\n" : "right\n");
    return bad != 0;
}
