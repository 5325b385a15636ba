/* SPDX-License-Identifier: Apache-2.0
 *
 * A window onto physical memory (cuMemCreate): mapped for a moment at addresses that nothing else
 * uses, to read or write what it holds whether the program has it mapped or not, and with whatever
 * rights.
 *
 * Used in the traced program and in the replay alike: no memory of its own, no lock.
 */
#ifndef API_CUDA_PHYSICAL_WINDOW_H
#define API_CUDA_PHYSICAL_WINDOW_H

#include "api/cuda/cuda_real.h"

struct cuda_window {
    CUdeviceptr start;
    size_t size; /* bytes, from the memory's first one on */
};

/* Readable and writable for the current context's device. On failure nothing is left behind. */
CUresult cuda_window_open(struct cuda_window *out, const struct cuda_real *driver,
                          CUmemGenericAllocationHandle handle, size_t size);
void cuda_window_close(const struct cuda_window *window, const struct cuda_real *driver);

#endif
