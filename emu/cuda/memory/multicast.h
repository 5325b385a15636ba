/* SPDX-License-Identifier: Apache-2.0
 *
 * Multicast objects, for those who map and release physical memory, and for launches.
 */
#ifndef EMU_CUDA_MEMORY_MULTICAST_H
#define EMU_CUDA_MEMORY_MULTICAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"

/* Rights to an address of such an object: flags of the memory (struct emu_memory). */
#define EMU_MULTICAST_READABLE 1u
#define EMU_MULTICAST_WRITABLE 2u

/* Gives a handle back. False: it is none of a multicast object. */
bool emu_multicast_release(CUmemGenericAllocationHandle handle);
/* Holds the object for a mapping of its first bytes; NULL: there is none, or not of that size, or
 * its team is not complete. Until emu_multicast_unmap(). */
void *emu_multicast_map(CUmemGenericAllocationHandle handle, uint64_t size);
void emu_multicast_unmap(void *object);

/* Implements struct ptx_launch's multicast(). */
unsigned emu_multicast_find(void *user, uint64_t address, uint64_t size, bool write, uint8_t **out);

/* A piece of physical memory (vmm.c) that is reached without an address of the program; NULL: the
 * handle is none, or the piece too small. Until emu_piece_leave(). */
void *emu_piece_enter(CUmemGenericAllocationHandle handle, uint64_t offset, uint64_t size,
                      uint8_t **memory, CUdevice *device);
void emu_piece_leave(void *piece, uint8_t *memory, uint64_t size);

#endif
