/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports an error of the program for people on stderr and for programs in TS_EMU_REPORT: one JSON
 * object a line, schema "tsemu-report/1", described in docs/emu.md.
 *
 * Threads: any; a finding is written in one piece.
 */
#ifndef EMU_CUDA_CHECK_REPORT_H
#define EMU_CUDA_CHECK_REPORT_H

#include "emu/cuda/memory/near.h"
#include "emu/ptx/ptx.h"

/* Fields that do not apply are 0 or NULL. */
struct emu_report {
    const char *check;   /* "fault", "uninit", "race", "blocks", "leak", "memory" */
    CUresult error;      /* what the context is left with */
    const char *message; /* one line */
    const struct ptx_module *module;
    const char *kernel;
    const struct ptx_place *place; /* who did it */
    enum ptx_access access;
    const char *space;
    uint64_t address;
    uint32_t size;
    const struct emu_near *near;   /* of the address */
    const char *variable;          /* that the address lies in, with offset */
    const struct ptx_place *other; /* of a race: who else */
    enum ptx_access other_access;
    const struct ptx_fault *fault; /* for those that stand around */
    uint32_t launch_stack;
};

void emu_report_write(const struct emu_report *finding);

/* Reports that the launch of `kernel` ended with a fault. near: of the address, NULL: not known.
 * Returns the result that the context keeps. */
CUresult emu_report_fault(const struct ptx_fault *fault, const struct ptx_module *module,
                          const char *kernel, uint32_t launch_stack, const struct emu_near *near);

/* Memory that the context did not free, TS_EMU_CHECK=leak. */
void emu_report_leak(const struct emu_memory *memory);

/* An allocation that the device has no room for; told only when something is looked for. */
void emu_report_memory(size_t wanted, size_t used);

#endif
