/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "tools/locate.h"
#include "tools/child.h"
#include "tools/terminal.h"

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    if (tsm_environment_emu() < 0) {
        tsm_complain_error();
        return TSM_EXIT_OURS;
    }
    return tsm_program_exec(words->words);
}

const struct tsm_command tsm_command_emu = {
    .name = "emu",
    .summary = "run a program on the software GPU",
    .synopsis = "[--] PROGRAM [ARGUMENT]...",
    .description =
        "Runs PROGRAM so that it finds TraceSmith's software GPU as its CUDA driver "
        "(libcuda.so.1) and HSA runtime (libhsa-runtime64.so.1), by LD_LIBRARY_PATH. "
        "Nothing is recorded; for that, see "
        "'tsrecord --emu'.\n\n"
        "Programs that use the CUDA driver API run, and those built with 'nvcc -cudart shared', "
        "with a CUDA runtime library (libcudart.so.12, libcudart.so.13) of TraceSmith's own: "
        "NVIDIA's accepts NVIDIA's driver only. HSA code objects run that are made for its own "
        "instruction set, tracesmith-x86_64-- (docs/hsa.md); TS_EMU_HSA_ISA=NAME makes it claim "
        "another one, so that HIP's library starts.\n\n"
        "TS_EMU_CHECK=all looks for uninitialised reads, races, uses of freed memory and "
        "leaks; TS_EMU_REPORT=FILE gets the findings as JSON lines; TS_EMU_EXIT=STATUS "
        "is the exit status of a program that had any, so that a script can act on it; "
        "TS_EMU_TIMEOUT=SECONDS "
        "ends endless launches; TS_EMU_SCHEDULE=random:SEED runs blocks, warps and "
        "streams in another order; TS_EMU_TIME=virtual gives commands times that are the same in "
        "every run, by the machine that TS_EMU_MACHINE=KEY=VALUE,... describes; "
        "TS_EMU_PROFILE=FILE writes a profile for 'tracesmith "
        "profile'. docs/emu.md has them all.",
    .examples = "tracesmith emu ./vector_add\n"
                "TS_EMU_CHECK=all TS_EMU_EXIT=99 tracesmith emu ./vector_add\n"
                "tracesmith emu -- ffmpeg -init_hw_device cuda=cu:0 ...\n",
    .exit_status = "PROGRAM's|its own status, or TS_EMU_EXIT when there were findings\n"
                   "125|the software GPU is not installed\n"
                   "126|PROGRAM cannot be run\n"
                   "127|PROGRAM was not found",
    .operand = "PROGRAM",
    .word_min = 1,
    .word_max = -1,
    .runs_program = true,
    .failure = 125,
    .run = run,
};
