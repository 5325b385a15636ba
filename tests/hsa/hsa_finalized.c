/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that a finalizer makes: the runtime is asked for its table, as programs of HSA 1.0 do.
 * Without one the program says so.
 */
#include "api/hsa/hsa_prototypes.h"
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>

#define COUNT 256u

static hsa_status_t finalize(const struct hsa_machine *machine, hsa_code_object_t *code)
{
    static char module[16] = "a module";
    hsa_ext_finalizer_1_00_pfn_t finalizer = {0};
    hsa_ext_control_directives_t directives = {0};
    hsa_ext_program_t program;
    hsa_status_t status;
    hsa_isa_t isa;

    status = hsa_system_get_major_extension_table(HSA_EXTENSION_FINALIZER, 1, sizeof(finalizer),
                                                  &finalizer);
    if (status != HSA_STATUS_SUCCESS)
        return status;
    HSA_CHECK(hsa_agent_get_info(machine->gpu, HSA_AGENT_INFO_ISA, &isa));
    HSA_CHECK(finalizer.hsa_ext_program_create(HSA_MACHINE_MODEL_LARGE, HSA_PROFILE_FULL,
                                               HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, NULL,
                                               &program));
    HSA_CHECK(finalizer.hsa_ext_program_add_module(program, (hsa_ext_module_t)(void *)module));
    HSA_CHECK(finalizer.hsa_ext_program_finalize(program, isa, 0, directives, "",
                                                 HSA_CODE_OBJECT_TYPE_PROGRAM, code));
    return finalizer.hsa_ext_program_destroy(program);
}

int main(void)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct scale_arguments *arguments;
    struct hsa_found_kernel scale;
    struct hsa_machine machine;
    hsa_code_object_t code;
    hsa_signal_t done;
    hsa_queue_t *queue;
    float numbers[COUNT];

    hsa_machine_find(&machine);
    if (finalize(&machine, &code) != HSA_STATUS_SUCCESS) {
        printf("no finalizer\n");
        return 0;
    }
    HSA_CHECK(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL,
                                    &machine.executable));
    HSA_CHECK(hsa_executable_load_code_object(machine.executable, machine.gpu, code, NULL));
    HSA_CHECK(hsa_executable_freeze(machine.executable, NULL));
    HSA_CHECK(hsa_code_object_destroy(code));
    scale = hsa_kernel_find(&machine, "scale.kd");
    for (unsigned i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    *arguments = (struct scale_arguments){hsa_pool_take(machine.device, sizeof(numbers)), 3};
    HSA_CHECK(hsa_memory_copy(arguments->data, numbers, sizeof(numbers)));
    queue = hsa_queue_take(&machine, 64);
    done = hsa_signal_take(1);
    hsa_ring(queue, hsa_dispatch(queue, &scale, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(numbers, arguments->data, sizeof(numbers)));
    HSA_CHECK(hsa_queue_destroy(queue));
    HSA_CHECK(hsa_shut_down());
    printf(numbers[5] == 15 ? "right\n" : "wrong\n");
    return numbers[5] != 15;
}
