/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of virtual time: a machine of round figures, a kernel of a known length, and tickets.
 */
#ifndef TESTS_EMU_EMU_VIRTUAL_H
#define TESTS_EMU_EMU_VIRTUAL_H

#include <dlfcn.h>
#include <inttypes.h>

#include "api/cuda/abi_times.h"
#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

/* A byte takes 1 ns to the device, 2 ns to the host and 0.1 ns inside the device. */
#define MACHINE                                                                                    \
    "block_slots=4,instruction_ps=1000,kernel_ns=100,call_ns=10,launch_latency_ns=50,"             \
    "copy_latency_ns=20,host_to_device_mbps=1000,device_to_host_mbps=500,device_mbps=10000,"       \
    "host_function_ns=300"

/* spin(n): each warp executes 6 + 3 * n instructions: those of the text, and two of the engine's
 * own, where lanes meet after a branch. */
#define PTX_SPIN                                                                                   \
    ".visible .entry spin(.param .u32 n)\n{\n"                                                     \
    ".reg .b32 %r<3>; .reg .pred %p;\n"                                                            \
    "ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r2, 0;\n"                                     \
    "L: add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra L;\n"                               \
    "ret;\n}\n"

static const struct tsm_emu_times *times;
static CUfunction spin_function;

/* A context of a virtual device with `spin`. */
static inline CUcontext virtual_context(const char *text)
{
    tsm_emu_times_function function;
    CUcontext context;
    CUmodule module;

    setenv("TS_EMU_TIME", "virtual", 1);
    setenv("TS_EMU_MACHINE", MACHINE, 0);
    context = test_context();
    function = (tsm_emu_times_function)dlsym(RTLD_DEFAULT, TSM_EMU_TIMES_SYMBOL);
    CHECK(function && (times = function()) && times->is_virtual);
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&spin_function, module, "spin"));
    return context;
}

/* A launch of blocks of one warp whose instructions take `ns`, a multiple of 3, each. */
static inline CUresult spin(CUstream stream, unsigned blocks, unsigned ns)
{
    unsigned n = ns / 3 - 2;
    void *arguments[] = {&n};

    return cuLaunchKernel(spin_function, blocks, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
}

/* The ticket of a call that must succeed. */
#define SENT(ticket, call)                                                                         \
    do {                                                                                           \
        ticket = times->begin();                                                                   \
        OK(call);                                                                                  \
        times->end(ticket);                                                                        \
    } while (0)

#endif
