/* SPDX-License-Identifier: Apache-2.0
 *
 * External memory: a file that another API calls memory. The bytes are those of the file from its
 * begin on, but for memory of Mesa's software driver (lavapipe): there a header says where they
 * are.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/memory/share.h"

struct CUextMemory_st {
    int file;      /* ours from the import on */
    uint64_t base; /* where the memory begins in it */
    unsigned long long size;
};

/* Two words at the file's begin: its size, and where the memory begins, whole pages later. */
#define MESA_NAME "/memfd:llvmpipe memory fd"

static bool is_mesa(int file)
{
    char path[64], name[sizeof(MESA_NAME)];

    tsm_format(path, sizeof(path), "/proc/self/fd/%d", file);
    return readlink(path, name, sizeof(name)) >= (ssize_t)sizeof(MESA_NAME) - 1 &&
           memcmp(name, MESA_NAME, sizeof(MESA_NAME) - 1) == 0;
}

/* Returns false where the file is too small, or says something else than it is. */
static bool find_bytes(struct CUextMemory_st *memory)
{
    uint64_t header[2] = {0}, end;
    struct stat st;

    if (fstat(memory->file, &st) || st.st_size < 0)
        return false;
    end = (uint64_t)st.st_size;
    if (is_mesa(memory->file)) {
        if (pread(memory->file, header, sizeof(header), 0) != sizeof(header) || header[0] != end ||
            header[1] < sizeof(header) || header[1] > end)
            return false;
        memory->base = header[1];
    }
    return memory->size <= end - memory->base;
}

CUresult cuImportExternalMemory(CUexternalMemory *extMem_out,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct CUextMemory_st memory = {0};
    CUexternalMemory made;

    if (!result && (!extMem_out || !memHandleDesc || !memHandleDesc->size ||
                    memHandleDesc->flags & ~(unsigned)CUDA_EXTERNAL_MEMORY_DEDICATED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result)
        return result;
    memory = (struct CUextMemory_st){.file = memHandleDesc->handle.fd, .size = memHandleDesc->size};
    if (!find_bytes(&memory))
        return CUDA_ERROR_INVALID_VALUE;
    made = calloc(1, sizeof(*made));
    if (!made || !emu_object_add(EMU_EXTERNAL, made)) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = memory;
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
        result = emu_share_import_file(&address, extMem->file, extMem->base + bufferDesc->offset,
                                       bufferDesc->size, context);
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
