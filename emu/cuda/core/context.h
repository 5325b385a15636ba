/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: the stack of each thread, primary contexts, and the error that a failed kernel leaves.
 */
#ifndef EMU_CONTEXT_H
#define EMU_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/cuda/core/abi.h"

#define EMU_LIMIT_COUNT       CU_LIMIT_MAX
#define EMU_PRIORITY_GREATEST -5

struct CUctx_st {
    CUdevice device;
    atomic_uint flags;
    unsigned api_version;
    unsigned long long id;
    bool is_primary;
    unsigned use_count;   /* cuCtxAttach */
    atomic_int error;     /* CUresult of the first asynchronous failure; stays */
    uint64_t failed_mark; /* of the command that failed first; under the scheduler's lock */
    _Atomic size_t limits[EMU_LIMIT_COUNT];
    atomic_int cache_config;
    atomic_int shared_config;
    atomic_uint peers; /* a bit per device whose memory it may use */
    CUstream legacy;
    /* Under the scheduler's lock: the last end of streams that are gone, and of the blocking ones.
     */
    uint64_t freed_ns, freed_blocking_ns;
    struct CUmod_st *modules; /* under the modules' lock */
};

/* The thread's current context, NULL when it has none. No check that it still exists. */
CUcontext emu_context_current(void);

/* Makes the context current. CUDA_ERROR_OUT_OF_MEMORY when the thread has too many. */
CUresult emu_context_push(CUcontext context);

/* Takes the current context off the thread's stack and returns it; NULL when there is none. */
CUcontext emu_context_pop(void);

/* Keeps the first error of an asynchronous command, and the mark of that command. The scheduler's
 * lock is held. */
void emu_context_fail(CUcontext context, CUresult error, uint64_t mark);

static inline CUresult emu_context_error(CUcontext context)
{
    return (CUresult)atomic_load(&context->error);
}

/* A handle from the program: NULL is the current context. */
CUresult emu_context_resolve(CUcontext *out, CUcontext handle);

/* CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED / _NOT_ENABLED when nothing would change. */
CUresult emu_peer_set(CUcontext context, CUdevice peer, bool is_enabled);

#endif
