/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: a name, a version and flags -> the export that they mean.
 */
#include "emu/cuda/core/emu.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

struct proc {
    const char *name;
    int version;
    void *address;
    int per_thread_version;
    void *per_thread; /* NULL: there is none */
};

/* clang-format off */
static const struct proc procs[] = {
#define PROC(name, version, symbol) {#name, version, (void *)symbol, 0, NULL},
#define PROC_PER_THREAD(name, version, symbol, per_thread_version, per_thread) \
    {#name, version, (void *)symbol, per_thread_version, (void *)per_thread},
#include "emu/cuda/core/proc.inc"
};
/* clang-format on */

#define FLAGS_ALL                                                                                  \
    (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* The youngest that is not younger than `version`. */
static CUdriverProcAddressQueryResult find(void **out, const char *name, int version,
                                           bool per_thread)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

    for (size_t i = 0; i < sizeof(procs) / sizeof(*procs); i++) {
        const struct proc *p = &procs[i];
        if (strcmp(p->name, name) != 0)
            continue;
        if (p->version > version) {
            if (status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
                status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
            continue;
        }
        *out = per_thread && p->per_thread && p->per_thread_version <= version ? p->per_thread
                                                                               : p->address;
        status = CU_GET_PROC_ADDRESS_SUCCESS;
    }
    return status;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    CUdriverProcAddressQueryResult status;

    if (!symbol || !pfn || cudaVersion < 0 || cudaVersion > EMU_DRIVER_VERSION ||
        flags & ~(cuuint64_t)FLAGS_ALL)
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = NULL;
    status = find(pfn, symbol, cudaVersion, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    if (symbolStatus)
        *symbolStatus = status;
    return CUDA_SUCCESS;
}

/* The first form had no status to tell it with. */
CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult result = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);

    return !result && !*pfn ? CUDA_ERROR_NOT_FOUND : result;
}

/* Who asks for a table and goes on without one is told nothing. */
static bool is_nvrtc(const void *caller)
{
    Dl_info info;
    const char *slash;

    if (!dladdr(caller, &info) || !info.dli_fname)
        return false;
    slash = strrchr(info.dli_fname, '/');
    return strncmp(slash ? slash + 1 : info.dli_fname, "libnvrtc", 8) == 0;
}

/* Private tables of another driver. NVRTC asks for one and works without: a made-up one would be
 * worse than none. The CUDA runtime does not: its user reads here why it will give up. */
CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    static atomic_bool is_told;

    if (!ppExportTable || !pExportTableId)
        return CUDA_ERROR_INVALID_VALUE;
    *ppExportTable = NULL;
    if (!is_nvrtc(__builtin_return_address(0)) && !atomic_exchange(&is_told, true))
        emu_warn("the program asks for NVIDIA's private driver tables, as NVIDIA's CUDA runtime "
                 "library (cudart) does; the software GPU has none. Build the program with 'nvcc "
                 "-cudart shared', so that it uses the software GPU's own cudart (docs/emu.md)");
    return CUDA_ERROR_NOT_FOUND;
}
