/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's functions by name. Compiled twice: see PTSZ() in cudart.h.
 */
#include "emu/cudart/cudart.h"

#ifdef CUDART_PER_THREAD
#define DEFAULT_STREAM CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
#else
#define DEFAULT_STREAM CU_GET_PROC_ADDRESS_LEGACY_STREAM
#endif

cudaError_t PTSZ(cudaGetDriverEntryPointByVersion)(const char *symbol, void **funcPtr,
                                                   unsigned int cudaVersion,
                                                   unsigned long long flags,
                                                   cudaDriverEntryPointQueryResult *driverStatus)
{
    if (cudart_init())
        return cudart_last();
    return cudart_result(cuGetProcAddress_v2(symbol, funcPtr, (int)cudaVersion,
                                             flags ? flags : DEFAULT_STREAM, driverStatus));
}

cudaError_t PTSZ(cudaGetDriverEntryPoint)(const char *symbol, void **funcPtr,
                                          unsigned long long flags,
                                          cudaDriverEntryPointQueryResult *driverStatus)
{
    return PTSZ(cudaGetDriverEntryPointByVersion)(symbol, funcPtr, CUDART_MAJOR * 1000, flags,
                                                  driverStatus);
}
