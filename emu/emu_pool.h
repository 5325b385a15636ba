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

#include <stdint.h>

#include "emu/emu_abi.h"

/* Give back the blocks that were freed in `stream` (NULL: in any of the context), which has just
 * been waited for. */
void emu_pool_release(CUcontext context, CUstream stream);

/* The memory that begins at `address` is freed like any other: no effect when it is of no pool. */
void emu_pool_forget(uint64_t address);

/* The blocks of a context that is going. */
void emu_context_forget_blocks(CUcontext context);

#endif
