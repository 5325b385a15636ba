/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is passed to other processes as 64 bytes.
 */
#include "emu/cuda/core/emu.h"

#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/share.h"
#include "emu/cuda/stream/stream.h"

_Static_assert(sizeof(struct emu_share_handle) <= CU_IPC_HANDLE_SIZE, "it fits into the handles");

CUresult cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct emu_share_handle handle;
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !pHandle)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_share_export(&handle, dptr, 1u << EMU_MEMORY_DEVICE);
    if (!result) {
        memset(pHandle, 0, sizeof(*pHandle));
        memcpy(pHandle, &handle, sizeof(handle));
    }
    return result;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    struct emu_share_handle shared;
    CUcontext context;
    CUresult result = emu_enter(&context);
    uint64_t address;

    if (!result && (!pdptr || Flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    memcpy(&shared, &handle, sizeof(shared));
    result = emu_share_import(&address, &shared, context, NULL);
    if (!result)
        *pdptr = address;
    return result;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

/* Like a free, it waits for what may still use the memory. */
CUresult cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result)
        result = emu_context_synchronize(context);
    return result ? result : emu_share_close(dptr, 1u << EMU_SHARE_IPC);
}
