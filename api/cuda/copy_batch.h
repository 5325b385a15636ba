/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of copies (cuMemcpyBatchAsync), as recording and replay share them: what the program gets
 * back from copies whose destinations follow each other is one piece of bytes.
 */
#ifndef API_CUDA_COPY_BATCH_H
#define API_CUDA_COPY_BATCH_H

#include "api/cuda/abi.h"

/* Returns the number of the next copy, behind number `first` of `count`, whose destination does not
 * follow that of the one before it; `count` if there is none. *size: bytes of those before it. */
static inline size_t cuda_copy_batch_next(const CUdeviceptr *dsts, const size_t *sizes,
                                          size_t count, size_t first, size_t *size)
{
    size_t i = first;

    *size = 0;
    do
        *size += sizes[i++];
    while (i < count && dsts[i] == dsts[first] + *size && sizes[i] <= SIZE_MAX - *size);
    return i;
}

#endif
