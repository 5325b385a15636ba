/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocates the addresses of device memory. A device pointer is a host address; what the driver
 * allocates lies in windows of its own, far from the program's heap, and the lowest free place is
 * taken, so that the same calls give the same addresses in every run. A gap is left behind each
 * allocation, so that an access that runs over its end finds nothing there.
 *
 * Threads: any.
 */
#ifndef EMU_CUDA_MEMORY_VA_ALLOCATOR_H
#define EMU_CUDA_MEMORY_VA_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum emu_window {
    EMU_WINDOW_DEVICE,
    EMU_WINDOW_RESERVED, /* cuMemAddressReserve without a wish */
    EMU_WINDOW_HOST,
    EMU_WINDOW_MODULE, /* variables of modules: where they lie depends on no other memory */
    EMU_WINDOW_LOW,    /* below 4 GiB, for the calls whose pointers have 32 bits */
    EMU_WINDOW_COUNT,
};

#define EMU_GRANULARITY (2ull << 20) /* of reservations and physical memory */

/* Find the windows. False: this process's address space has no room for them. */
bool emu_va_allocator_init(void);

/* Readable and writable memory, every byte `fill`. 0: no place or no memory. size > 0. */
uint64_t emu_va_allocator_take(enum emu_window window, size_t size, uint8_t fill);
/* The same at an address, to which nothing but kept places may reach. 0: it is not free. */
uint64_t emu_va_allocator_take_at(uint64_t address, size_t size, uint8_t fill);
/* Keep what is free of a range for emu_va_allocator_take_at(). False: device memory is not at such
 * addresses in any process, or no memory. */
bool emu_va_allocator_keep(uint64_t start, uint64_t size);
bool emu_va_allocator_is_kept(uint64_t address);
/* address: from emu_va_allocator_take() or _take_at(). */
void emu_va_allocator_give(uint64_t address);

/* Let other processes map the pages of [address, address + size), which lies in one place: they
 * move into emu_page_file(), at offset `address`. Nothing may write there meanwhile. False: no
 * memory. */
bool emu_va_allocator_share(uint64_t address, size_t size);

/* Keep a range, inaccessible: at `wish` when that is free and not 0, else in the window of
 * reservations. size: a multiple of EMU_GRANULARITY; alignment: a power of two. 0: no place. */
uint64_t emu_va_allocator_reserve(uint64_t wish, size_t size, size_t alignment);
/* Returns false if there is no such reservation. */
bool emu_va_allocator_unreserve(uint64_t address, size_t size);
/* Does one reservation hold the whole range? */
bool emu_va_allocator_is_reserved(uint64_t address, size_t size);

#endif
