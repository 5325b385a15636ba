/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory between processes. What another process writes is not in this trace, and when it does
 * cannot be seen: memory of others is recorded as it is when it is opened, and the trace says that
 * it may have changed since. Memory that is given to others taints nothing: most programs give what
 * the others only read.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"

#include <sys/mman.h>

#define CONTENT_MAX ((size_t)1 << 30)

void cuda_memory_exported(void)
{
    tsm_session_unmodelled("writes of other processes into memory that this one shared", false);
}

void cuda_memory_imported(void)
{
    tsm_session_unmodelled("writes of another process into its memory, which this one opened",
                           true);
}

/* A copy would end a capture. */
static bool read_content(void *to, CUdeviceptr address, size_t size)
{
    CUresult result;

    if (!cuda_asking_begin())
        return false;
    result = real.cuMemcpyDtoH_v2(to, address, size);
    cuda_asking_end();
    return result == CUDA_SUCCESS;
}

void cuda_append_content(struct tsm_call *call, CUdeviceptr address, size_t size)
{
    void *bytes = MAP_FAILED;
    bool is_read;

    if (size && size <= CONTENT_MAX)
        bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    is_read = bytes != MAP_FAILED && read_content(bytes, address, size);
    tsm_call_blob(call, is_read ? bytes : NULL, is_read ? size : 0);
    if (bytes != MAP_FAILED)
        munmap(bytes, size);
}

void cuda_after_opened(struct tsm_call *call, bool ok, const CUdeviceptr *address)
{
    CUdeviceptr base = 0;
    size_t size = 0;

    if (ok && real.cuMemGetAddressRange_v2(&base, &size, *address) == CUDA_SUCCESS)
        size -= *address - base;
    tsm_call_slot(call, size);
    if (!ok) {
        tsm_call_blob(call, NULL, 0);
        return;
    }
    cuda_append_content(call, *address, size);
    cuda_after_alloc(call, ok, *address, size);
    cuda_memory_imported();
}
