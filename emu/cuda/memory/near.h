/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that lies nearest to an address, in words: for messages about wild addresses.
 * emu_memory_near() finds it.
 */
#ifndef EMU_CUDA_MEMORY_NEAR_H
#define EMU_CUDA_MEMORY_NEAR_H

#include "emu/cuda/memory/memory.h"

/* Nearest memory to an address. */
struct emu_near {
    struct emu_memory memory;
    bool is_freed;
    enum { EMU_NEAR_INSIDE, EMU_NEAR_BEFORE, EMU_NEAR_AFTER } where; /* the address is ... it */
    uint64_t distance; /* bytes to its end or beginning; inside: 0 */
};

/* Fills in where and distance; near->memory is given. */
void emu_near_measure(struct emu_near *near, uint64_t address);

/* Writes "12 bytes after the end of 400 bytes of device memory at 0x...". */
void emu_near_text(char *out, size_t size, const struct emu_near *near, uint64_t address);

/* Returns "device memory" and the like. */
const char *emu_memory_kind_name(enum emu_memory_kind kind);

#endif
