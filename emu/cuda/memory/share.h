/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of one process in another. What is shared lies in files without names; a process names one
 * of its own by its number and a file descriptor, and another one opens it under /proc. So both run
 * as the same user and see each other's process numbers.
 *
 * Threads: any.
 */
#ifndef EMU_SHARE_H
#define EMU_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"

struct emu_memory;

/* A file of a process. */
struct emu_share_file {
    uint32_t process;
    int32_t file;
    uint64_t born; /* when the process began: its number may be given again */
};

/* Content of the handles that programs pass on. */
struct emu_share_handle {
    uint64_t magic;
    struct emu_share_file file;
    uint64_t address; /* the exporter's, and where it lies in the file */
    uint64_t size;
    uint64_t id; /* of the allocation */
    uint32_t slot;
    int32_t device;
};

struct emu_share_file emu_share_own(int file);
bool emu_share_is_own(const struct emu_share_file *file);

/* Has the process not ended? */
bool emu_share_is_alive(uint32_t process);

/* A new descriptor, -1 when the process is gone or may not be looked into. */
int emu_share_open(const struct emu_share_file *file);

/* Let other processes open the allocation that holds `address`; it is of one of `kinds` (a bit 1 <<
 * kind each). May wait for what runs on the device. CUDA_ERROR_INVALID_VALUE: there is none. */
CUresult emu_share_export(struct emu_share_handle *out, uint64_t address, unsigned kinds);

/* Origin of imported memory, which says who may free it. */
enum emu_share_origin {
    EMU_SHARE_IPC,      /* cuIpcCloseMemHandle() */
    EMU_SHARE_POOL,     /* cuMemFree() */
    EMU_SHARE_EXTERNAL, /* cuMemFree() */
};

/* Map what the handle says, and register it as memory of the context, kind EMU_MEMORY_IMPORTED. The
 * same handle again for the same context and pool (NULL: of cuIpcOpenMemHandle()) gives the same
 * address, to be closed once more. CUDA_ERROR_INVALID_HANDLE: not a handle, or freed;
 * CUDA_ERROR_INVALID_CONTEXT: of this process. */
CUresult emu_share_import(uint64_t *address_out, const struct emu_share_handle *handle,
                          CUcontext context, CUmemoryPool pool);

/* The same with a part of any file, whose descriptor remains the caller's. */
CUresult emu_share_import_file(uint64_t *address_out, int file, uint64_t offset, uint64_t size,
                               CUcontext context);

/* Once less; the memory is freed when this was the last one. CUDA_ERROR_INVALID_VALUE: no imported
 * memory of `origins` (a bit 1 << origin each) begins there. */
CUresult emu_share_close(uint64_t address, unsigned origins);

/* The pool that imported memory came from, or NULL. */
CUmemoryPool emu_share_pool(const struct emu_memory *memory);

#endif
