/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is passed to other processes as 64 bytes, and memory of other APIs.
 */
#include "emu/cuda/core/emu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/object.h"
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

/* ---- external memory: a file that another API calls memory ---- */

struct CUextMemory_st {
    int file; /* ours from the import on */
    unsigned long long size;
};

CUresult cuImportExternalMemory(CUexternalMemory *extMem_out,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    CUexternalMemory made;
    struct stat st;

    if (!result && (!extMem_out || !memHandleDesc || !memHandleDesc->size ||
                    memHandleDesc->flags & ~(unsigned)CUDA_EXTERNAL_MEMORY_DEDICATED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (!result && (fstat(memHandleDesc->handle.fd, &st) ||
                    (unsigned long long)st.st_size < memHandleDesc->size))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    made = calloc(1, sizeof(*made));
    if (!made || !emu_object_add(EMU_EXTERNAL, made)) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct CUextMemory_st){memHandleDesc->handle.fd, memHandleDesc->size};
    *extMem_out = made;
    return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *devPtr, CUexternalMemory extMem,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    uint64_t address;

    if (!result && !emu_object_is(EMU_EXTERNAL, extMem))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result &&
        (!devPtr || !bufferDesc || !bufferDesc->size || bufferDesc->flags ||
         bufferDesc->offset > extMem->size || bufferDesc->size > extMem->size - bufferDesc->offset))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_share_import_file(&address, extMem->file, bufferDesc->offset, bufferDesc->size,
                                       context);
    if (!result)
        *devPtr = address;
    return result;
}

/* Mapped memory stays until it is freed. */
CUresult cuDestroyExternalMemory(CUexternalMemory extMem)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !emu_object_is(EMU_EXTERNAL, extMem))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result)
        return result;
    emu_object_remove(extMem);
    close(extMem->file);
    free(extMem);
    return CUDA_SUCCESS;
}
