/* SPDX-License-Identifier: Apache-2.0
 *
 * How many blocks of a kernel fit on a multiprocessor. Nothing here runs side by side, so these are
 * the figures of a GPU of the capability that the device says it has: its limits, and the units in
 * which it gives out shared memory and registers.
 */
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/module/function.h"

#define REGISTER_UNIT 8u /* a thread's registers; a warp's are then a multiple of 256 */

/* Returns the shared memory that a block takes of its multiprocessor. */
static size_t shared_of_block(size_t shared)
{
    size_t unit = emu_settings.capability >= 80 ? 128 : 256;

    return (shared + unit - 1) / unit * unit + (size_t)emu_device_shared_reserved();
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int emu_function_blocks_per_multiprocessor(const struct CUfunc_st *f, unsigned threads,
                                           size_t dynamic_shared)
{
    size_t warps = (threads + 31) / 32;
    size_t shared = f->ptx->shared_size + dynamic_shared;
    size_t registers =
        (f->ptx->register_count + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT * warps * 32;
    size_t blocks = (size_t)emu_device_blocks_per_multiprocessor();

    if (!threads || threads > emu_function_threads_max(f->ptx) ||
        shared > (size_t)emu_device_shared_per_block())
        return 0;
    blocks = least(blocks, (size_t)emu_device_threads_per_multiprocessor() / 32 / warps);
    if (shared)
        blocks =
            least(blocks, (size_t)emu_device_shared_per_multiprocessor() / shared_of_block(shared));
    /* The register count is an estimate that a compiler would beat: it never forbids a block. */
    if (registers)
        blocks = least(blocks, registers > EMU_REGISTERS ? 1 : EMU_REGISTERS / registers);
    return (int)blocks;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, func);

    if (!result && (!numBlocks || blockSize <= 0 || flags > 1))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *numBlocks =
            emu_function_blocks_per_multiprocessor(f, (unsigned)blockSize, dynamicSMemSize);
    return result;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                dynamicSMemSize, 0);
}

/* The block size with the most threads on a multiprocessor; of equals the largest block. */
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                   CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, func);
    int best = 0, best_blocks = 0, limit;

    if (!result && (!minGridSize || !blockSize || blockSizeLimit < 0 || flags > 1))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    limit = (int)emu_function_threads_max(f->ptx);
    if (blockSizeLimit && blockSizeLimit < limit)
        limit = blockSizeLimit;
    for (int size = limit; size > 0; size = (size - 1) / 32 * 32) {
        size_t shared =
            blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(size) : dynamicSMemSize;
        int blocks = emu_function_blocks_per_multiprocessor(f, (unsigned)size, shared);
        if (blocks * size > best * best_blocks) {
            best = size;
            best_blocks = blocks;
        }
    }
    *blockSize = best;
    *minGridSize = best_blocks * EMU_MULTIPROCESSORS;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                     blockSizeToDynamicSMemSize, dynamicSMemSize,
                                                     blockSizeLimit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                 int numBlocks, int blockSize)
{
    CUfunction f;
    CUresult result = emu_function_enter(&f, func);
    size_t per_block;

    if (!result && (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    /* In whole units, without what the system keeps. */
    per_block = (size_t)emu_device_shared_per_multiprocessor() / (unsigned)numBlocks / 256 * 256;
    per_block -= least(per_block, (size_t)emu_device_shared_reserved());
    per_block = least(per_block, (size_t)emu_device_shared_per_block());
    *dynamicSmemSize = per_block > f->ptx->shared_size ? per_block - f->ptx->shared_size : 0;
    return CUDA_SUCCESS;
}
