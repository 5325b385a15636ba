/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the program in a stream that are told whether it failed. Compiled twice: see PTSZ()
 * in cudart.h.
 */
#include "emu/cudart/cudart.h"

/* A result of the driver is that of the runtime (error.c), so that the driver may call the
 * program's function itself. */
cudaError_t PTSZ(cudaStreamAddCallback)(cudaStream_t stream, cudaStreamCallback_t callback,
                                        void *userData, unsigned int flags)
{
    return CUDART_DRIVER(
        PTSZ(cuStreamAddCallback)(stream, (CUstreamCallback)(void *)callback, userData, flags));
}
