/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompression of pieces of device memory: a batch becomes a record for each piece, as if the
 * program had sent as many batches.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

/* A call, and where it goes. */
struct pieces {
    uint32_t type;
    const CUmemDecompressParams *list;
    size_t count;
    unsigned flags;
    CUstream stream;
    bool per_thread;
    struct cuda_timed *timed;
};

/* The destination may be memory that the host reaches, too: how much of it is written is not known
 * before the command has run. */
static void writes(struct tsm_call *call, const CUmemDecompressParams *p)
{
    cuda_before_device_bytes(call, CUDA_SLOT(p->dst), p->dstNumBytes);
    cuda_before_device_bytes(call, CUDA_SLOT(p->dstActBytes), sizeof(*p->dstActBytes));
}

/* Reads the list with care: the driver has not checked it yet. */
static void foretell(struct tsm_call *call, const struct pieces *b)
{
    CUmemDecompressParams p;

    for (size_t i = 0; i < b->count && tsm_memory_read(&p, CUDA_SLOT(&b->list[i]), sizeof(p)); i++)
        writes(call, &p);
    tsm_device_foretold(call);
}

static bool begin(struct tsm_call *call, struct pieces *b)
{
    bool is_shared;

    if (!tsm_call_begin(call, b->type))
        return false;
    is_shared = tsm_hostmem_publish();
    cuda_on_stream(call, b->stream, b->per_thread, NULL, TSM_ENQUEUES);
    if (is_shared)
        foretell(call, b);
    b->timed = cuda_gpu_time_begin(call, b->stream, b->per_thread);
    return true;
}

static void append(struct tsm_call *call, const struct pieces *b, size_t at, bool ok)
{
    static const CUmemDecompressParams none;
    const CUmemDecompressParams *p = ok ? &b->list[at] : &none;

    tsm_call_slot(call, b->count);
    tsm_call_slot(call, b->flags);
    tsm_call_slot(call, at);
    tsm_call_slot(call, CUDA_SLOT(p->src));
    tsm_call_slot(call, p->srcNumBytes);
    tsm_call_slot(call, CUDA_SLOT(p->dst));
    tsm_call_slot(call, p->dstNumBytes);
    tsm_call_slot(call, CUDA_SLOT(p->dstActBytes));
    tsm_call_slot(call, (uint64_t)p->algo);
    if (ok)
        writes(call, p);
}

/* The first piece has the call's own record. */
static CUresult end(struct tsm_call *call, const struct pieces *b, CUresult returned)
{
    const bool ok = returned == CUDA_SUCCESS;

    if (b->timed)
        cuda_gpu_time_end(b->timed, ok, CUDA_HOST_GOES_ON);
    tsm_call_returned(call, returned, !ok);
    append(call, b, 0, ok && b->count);
    tsm_call_commit(call);
    for (size_t i = 1; ok && i < b->count && tsm_call_begin(call, b->type); i++) {
        cuda_on_stream(call, b->stream, b->per_thread, NULL, TSM_ENQUEUES);
        tsm_call_returned(call, CUDA_SUCCESS, false);
        append(call, b, i, true);
        tsm_call_commit(call);
    }
    if (ok)
        cuda_commanded(call);
    if (b->timed)
        cuda_gpu_time_collect_some();
    return returned;
}

CUresult hook_cuMemBatchDecompressAsync(CUmemDecompressParams *paramsArray, size_t count,
                                        unsigned int flags, size_t *errorIndex, CUstream stream)
{
    struct pieces b = {
        TYPE_cuMemBatchDecompressAsync, paramsArray, count, flags, stream, false, NULL};
    struct tsm_call call;

    if (!begin(&call, &b))
        return real.cuMemBatchDecompressAsync(paramsArray, count, flags, errorIndex, stream);
    return end(&call, &b,
               real.cuMemBatchDecompressAsync(paramsArray, count, flags, errorIndex, stream));
}

CUresult hook_cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams *paramsArray, size_t count,
                                             unsigned int flags, size_t *errorIndex,
                                             CUstream stream)
{
    struct pieces b = {
        TYPE_cuMemBatchDecompressAsync_ptsz, paramsArray, count, flags, stream, true, NULL};
    struct tsm_call call;

    if (!begin(&call, &b))
        return real.cuMemBatchDecompressAsync_ptsz(paramsArray, count, flags, errorIndex, stream);
    return end(&call, &b,
               real.cuMemBatchDecompressAsync_ptsz(paramsArray, count, flags, errorIndex, stream));
}
