/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is allocated and freed in the order of a stream.
 *
 * An address is chosen at the call, so that it does not depend on how far a stream has come: a
 * block freed earlier in the same stream, of the same size, or a new one. Kernels may use it from
 * the allocation's place in the stream to that of its free. Freed blocks are kept until the program
 * waits for the stream.
 */
#ifndef EMU_POOL_H
#define EMU_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"

#define EMU_POOL_ATTRIBUTES (CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1)

struct CUmemPoolHandle_st {
    CUdevice device;
    bool is_default;
    bool is_shareable;
    bool is_imported; /* nothing is allocated from it, only pointers are imported */
    uint32_t process; /* imported: whose it is */
    size_t size_max;  /* 0: no limit but the device's */
    uint64_t settings[EMU_POOL_ATTRIBUTES]; /* kept and given back; they steer nothing here */
    /* The blocks' business (emu/cuda/memory/pool.c), under their lock. */
    bool is_destroyed; /* goes with its last block */
    size_t block_count;
    size_t used;
    size_t used_high;
};

/* The handle is destroyed; free the pool when its last block is. */
void emu_pool_retire(CUmemoryPool pool);
/* Bytes that are in use, and the most that were since the last `reset`. */
void emu_pool_measure(CUmemoryPool pool, size_t *used, size_t *high, bool reset);

/* Give back the blocks that were freed in `stream` (NULL: in any of the context), which has just
 * been waited for. */
void emu_pool_release(CUcontext context, CUstream stream);

/* Frees the memory that begins at `address` like any other; no effect when it is of no pool.
 * *stays: it belongs to a node of a graph, whose next launch has it at the same address. */
CUresult emu_pool_free(uint64_t address, bool *stays);

/* The blocks of a context that is going. */
void emu_context_forget_blocks(CUcontext context);

#endif
