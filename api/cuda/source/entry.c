/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's own ways to its functions. cuGetProcAddress is called as the program calls it, so
 * that version, flags and the driver's own rules decide; then the address that it gave, which is
 * that of an exported function, is replaced by our wrapper of that function. cuGetExportTable is
 * generated: the tables are the driver's and stay as they are (the CUDA runtime checks them).
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"

static void replace(const char *symbol, void **pfn, CUresult result, cuuint64_t flags)
{
    bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;

    if (result == CUDA_SUCCESS && symbol && pfn && *pfn)
        *pfn = cuda_wrapper_of(symbol, *pfn, per_thread);
}

CUresult hook_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    struct tsm_call call;
    CUresult result;
    bool inside = tsm_inside();

    if (!tsm_call_begin(&call, TYPE_cuGetProcAddress)) {
        result = real.cuGetProcAddress(symbol, pfn, cudaVersion, flags);
        if (!inside)
            replace(symbol, pfn, result, flags);
        return result;
    }
    result = real.cuGetProcAddress(symbol, pfn, cudaVersion, flags);
    tsm_call_returned(&call, result, result != CUDA_SUCCESS);
    replace(symbol, pfn, result, flags);
    tsm_call_string(&call, symbol);
    tsm_call_slot(&call, CUDA_SLOT(pfn));
    tsm_call_slot(&call, (uint64_t)(int64_t)cudaVersion);
    tsm_call_slot(&call, flags);
    tsm_call_commit(&call);
    return result;
}

CUresult hook_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *symbolStatus)
{
    struct tsm_call call;
    CUresult result;
    bool inside = tsm_inside();

    if (!tsm_call_begin(&call, TYPE_cuGetProcAddress_v2)) {
        result = real.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
        if (!inside)
            replace(symbol, pfn, result, flags);
        return result;
    }
    result = real.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
    tsm_call_returned(&call, result, result != CUDA_SUCCESS);
    replace(symbol, pfn, result, flags);
    tsm_call_string(&call, symbol);
    tsm_call_slot(&call, CUDA_SLOT(pfn));
    tsm_call_slot(&call, (uint64_t)(int64_t)cudaVersion);
    tsm_call_slot(&call, flags);
    tsm_call_slot(&call, symbolStatus ? (uint64_t)*symbolStatus : 0);
    tsm_call_commit(&call);
    return result;
}
