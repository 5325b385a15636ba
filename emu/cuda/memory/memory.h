/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the GPU can reach: one sorted register of all of it, whoever placed it. It answers
 * what a kernel may touch, what a pointer is, and what lies near a wild one.
 *
 * Threads: any. One lock for the register; the running kernel asks it once per allocation that it
 * touches, not once per access (struct ptx_launch).
 */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"
#include "emu/cuda/memory/va_allocator.h"

enum emu_memory_kind {
    EMU_MEMORY_DEVICE, /* cuMemAlloc */
    EMU_MEMORY_MANAGED,
    EMU_MEMORY_POOL,   /* cuMemAllocAsync */
    EMU_MEMORY_MODULE, /* a module's variables */
    EMU_MEMORY_ARRAY,
    EMU_MEMORY_HOST,       /* cuMemHostAlloc */
    EMU_MEMORY_REGISTERED, /* the program's own, cuMemHostRegister */
    EMU_MEMORY_MAPPED,     /* cuMemMap into a reservation */
    EMU_MEMORY_IMPORTED,   /* another process's, or of an external file */
    EMU_MEMORY_MULTICAST,  /* an address of memory of several devices (multicast.h) */
};

/* Advice of a program about managed memory: it is kept and returned; it steers nothing here. It
 * holds for the whole allocation, whichever part was named last. */
struct emu_hints {
    bool is_read_mostly;
    CUmemLocation preferred; /* type CU_MEM_LOCATION_TYPE_INVALID: none */
    CUmemLocation prefetched;
    unsigned accessed_by; /* a bit per device, bit 31 the host */
};

struct emu_near;

/* One allocation. A copy: what is known of it at the time of asking. */
struct emu_memory {
    uint64_t address;
    uint64_t size;
    uint64_t managed_size; /* bytes at its end that are managed variables of the module */
    enum emu_memory_kind kind;
    CUcontext context; /* NULL: belongs to the device alone */
    CUdevice device;
    unsigned flags;   /* as given to the call that made it */
    uint64_t id;      /* never reused */
    bool is_readable; /* by kernels */
    bool is_writable;
    bool is_sync; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
    struct emu_hints hints;
    void *owner; /* the pool, the physical memory: by kind */
    /* Undoes what others did to it or for it, when the register lets go of it; NULL: nothing. Must
     * not call the register. */
    void (*release)(const struct emu_memory *memory);
    uint32_t shared; /* other processes may open it (emu/cuda/memory/share.h); 0: they may not */
    uint32_t
        stack; /* host stack (emu/cuda/check/host_stack.h) of the call that made it; filled in */
    uint32_t free_stack; /* of the call that freed it, as far as it is known */
};

/* Allocate in a window and register: filled with the setting's byte, aligned to 512. `what` says
 * kind, context, device and flags; address and size are filled in. CUDA_ERROR_OUT_OF_MEMORY over
 * the device's limit. */
CUresult emu_memory_allocate(uint64_t *address_out, enum emu_window window, size_t size,
                             const struct emu_memory *what);

/* Has the calling thread's next memory in the window of device memory be at the address, if that is
 * free; 0: anywhere. */
void emu_memory_wish(uint64_t address);
/* Returns the calling thread's wish, which is over then; 0: none. */
uint64_t emu_memory_take_wish(void);

/* Register memory that is there already. CUDA_ERROR_ALREADY_MAPPED when a part of it is known. */
CUresult emu_memory_add(const struct emu_memory *what);

/* Forget the allocation that begins at `address`, and release it when the driver placed it.
 * `kinds`: a bit (1 << kind) for each kind that may be meant. CUDA_ERROR_INVALID_VALUE: none. */
CUresult emu_memory_remove(uint64_t address, unsigned kinds);

/* All that belongs to the context. */
void emu_context_free_memory(CUcontext context);

/* The allocation that holds `address`. */
bool emu_memory_find(struct emu_memory *out, uint64_t address);

/* Tests whether the byte there, which the allocation holds, is managed memory. */
static inline bool emu_memory_is_managed(const struct emu_memory *memory, uint64_t address)
{
    return memory->kind == EMU_MEMORY_MANAGED ||
           memory->address + memory->size - address <= memory->managed_size;
}

/* Change rights or flags of the allocation that holds `address`. False: there is none. */
bool emu_memory_change(uint64_t address, void (*change)(struct emu_memory *memory, void *user),
                       void *user);

/* Is [address, address + size) known without a hole? Rights are the kernels' business. */
bool emu_memory_covers(uint64_t address, uint64_t size);

/* struct ptx_launch's is_accessible. */
bool emu_memory_is_accessible(void *user, uint64_t address, uint64_t size, bool write,
                              uint64_t *run_start, uint64_t *run_size);

/* Finds the memory that holds `address` or lies next to it; live memory wins among equals. Returns
 * false if nothing was ever allocated. */
bool emu_memory_near(struct emu_near *out, uint64_t address);
/* Call `leak` for every allocation of the context that the program made and did not free. */
void emu_context_each_leak(CUcontext context, void (*leak)(const struct emu_memory *memory));

/* Bytes allocated on the device. */
size_t emu_memory_used(CUdevice device);

/* Physical memory of cuMemCreate counts against the same limit. */
bool emu_memory_charge(CUdevice device, size_t size);
void emu_memory_discharge(CUdevice device, size_t size);

/* Tile pools: physical memory for sparse arrays alone (vmm.c). hold() gives the pool behind a
 * handle, NULL: it is none of the device, or too small; it stays until release(), also when the
 * handle is gone. */
void *emu_tile_pool_hold(CUmemGenericAllocationHandle handle, uint64_t offset, uint64_t size,
                         CUdevice device);
void emu_tile_pool_release(void *pool);
void emu_tile_pool_read(const void *pool, uint64_t offset, void *out, size_t size);
void emu_tile_pool_write(const void *pool, uint64_t offset, const void *bytes, size_t size);

#endif
