/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses: which bytes of memory commands have read and written, for api/cuda/abi_times.h.
 */
#ifndef EMU_CUDA_STREAM_ACCESSES_H
#define EMU_CUDA_STREAM_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda/abi_times.h"
#include "tracesmith/trace.h"

struct emu_command;

/* A zeroed struct is empty. */
struct emu_accesses {
    uint64_t (*list)[3]; /* address, size, SBT_ACCESS_* */
    size_t count, capacity;
};

void emu_accesses_finish(struct emu_accesses *accesses);

/* Adds bytes; flags: SBT_ACCESS_*. False: out of memory. */
bool emu_accesses_add(struct emu_accesses *accesses, uint64_t address, uint64_t size,
                      uint64_t flags);
bool emu_accesses_add_all(struct emu_accesses *accesses, const struct emu_accesses *others);

/* Returns SBT_ACCESS_ARRAY if the address is an array's, else 0. Call it without a lock. */
uint64_t emu_accesses_of_array(uint64_t address);

/* Puts them in order of their addresses and joins those that touch. As long as they are more than
 * TSM_EMU_ACCESSES_MAX, those near each other are joined, too, with what lies between; then the
 * flags say so. Ranges may overlap. */
void emu_accesses_settle(struct emu_accesses *accesses);

/* Adds nothing: for commands that access nothing. */
bool emu_accesses_none(const struct emu_command *command, struct emu_accesses *out);

#endif
