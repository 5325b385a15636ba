/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the program that the driver calls in a stream's order: it is given one of ours,
 * which calls the program's and records what that wrote.
 */
#include "api/cuda/source/graph/node.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "api/cuda/source/gpu_time.h"
#include "capture/lock.h"

/* One function that was sent. The memory is used again, never freed. */
struct sent {
    struct sent *next; /* when it is free */
    CUhostFn function;
    CUstreamCallback callback;
    void *user;
    uint32_t stream;
    uint64_t position;
};

static struct {
    struct tsm_lock lock;
    struct sent *free;
} pool;

static struct sent *take(struct sent what)
{
    struct sent *sent;

    tsm_lock_take(&pool.lock);
    sent = pool.free;
    if (sent)
        pool.free = sent->next;
    tsm_lock_give(&pool.lock);
    if (!sent)
        sent = cuda_keep(sizeof(*sent));
    if (sent)
        *sent = what;
    return sent;
}

static void give(struct sent *sent)
{
    tsm_lock_take(&pool.lock);
    sent->next = pool.free;
    pool.free = sent;
    tsm_lock_give(&pool.lock);
}

void cuda_functions_forked(void)
{
    pool.lock = (struct tsm_lock){0}; /* another thread of the parent may have held it */
    cuda_function_count_forked();
}

static void run_function(void *user)
{
    const struct sent sent = *(struct sent *)user;

    give(user);
    tsm_function_enter(sent.stream, sent.position, sent.position - 1);
    sent.function(sent.user);
    tsm_function_left(sent.stream, sent.position);
    cuda_function_over();
}

static void run_callback(CUstream stream, CUresult status, void *user)
{
    const struct sent sent = *(struct sent *)user;

    give(user);
    tsm_function_enter(sent.stream, sent.position, sent.position - 1);
    sent.callback(stream, status, sent.user);
    tsm_function_left(sent.stream, sent.position);
    cuda_function_over();
}

/* ---- wrappers -----------------------------------------------------------------------------------
 */

/* The call's place, and what the driver is given in place of the program's function. NULL: nothing,
 * also where it becomes a node of a graph. */
static struct sent *begin(struct tsm_call *call, CUstream stream, bool per_thread, struct sent what)
{
    struct sent *sent;

    cuda_publish();
    cuda_on_stream(call, stream, per_thread, NULL, TSM_ENQUEUES);
    if (cuda_is_captured(call))
        return NULL;
    what.stream = tsm_stream_number(call->stream);
    what.position = call->position;
    if (!what.function && !what.callback)
        return NULL; /* the driver has an answer to that */
    sent = take(what);
    if (sent)
        cuda_function_expected();
    return sent;
}

static void end(struct tsm_call *call, CUresult result, struct sent *sent)
{
    tsm_call_returned(call, result, result != CUDA_SUCCESS);
    if (result == CUDA_SUCCESS) {
        tsm_function_sent(call);
    } else if (sent) {
        give(sent);
        cuda_function_over();
    }
}

typedef CUresult (*launch_host)(CUstream stream, CUhostFn fn, void *user);

static CUresult launch(uint32_t type, launch_host real_launch, bool per_thread, CUstream stream,
                       CUhostFn fn, void *user)
{
    struct cuda_graph_function *node = NULL;
    struct cuda_timed *timed;
    struct tsm_call call;
    struct sent *sent;
    CUresult result;

    if (!tsm_call_begin(&call, type))
        return real_launch(stream, fn, user);
    sent = begin(&call, stream, per_thread, (struct sent){.function = fn, .user = user});
    if (fn && cuda_is_captured(&call))
        node = cuda_graph_function_make(fn, user);
    timed = cuda_gpu_time_begin_order(&call, stream, per_thread);
    if (node)
        result = real_launch(stream, cuda_graph_function_run, node);
    else
        result = sent ? real_launch(stream, run_function, sent) : real_launch(stream, fn, user);
    if (timed)
        cuda_gpu_time_end(timed, result == CUDA_SUCCESS, CUDA_HOST_GOES_ON);
    end(&call, result, sent);
    tsm_call_slot(&call, CUDA_SLOT(fn));
    tsm_call_slot(&call, CUDA_SLOT(user));
    tsm_call_commit(&call);
    if (result == CUDA_SUCCESS)
        cuda_commanded(&call);
    return result;
}

CUresult hook_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    return launch(TYPE_cuLaunchHostFunc, real.cuLaunchHostFunc, false, hStream, fn, userData);
}

CUresult hook_cuLaunchHostFunc_ptsz(CUstream hStream, CUhostFn fn, void *userData)
{
    return launch(TYPE_cuLaunchHostFunc_ptsz, real.cuLaunchHostFunc_ptsz, true, hStream, fn,
                  userData);
}

typedef CUresult (*add_callback)(CUstream stream, CUstreamCallback callback, void *user,
                                 unsigned int flags);

static CUresult add(uint32_t type, add_callback real_add, bool per_thread, CUstream stream,
                    CUstreamCallback callback, void *user, unsigned int flags)
{
    struct cuda_timed *timed;
    struct tsm_call call;
    struct sent *sent;
    CUresult result;

    if (!tsm_call_begin(&call, type))
        return real_add(stream, callback, user, flags);
    sent = begin(&call, stream, per_thread, (struct sent){.callback = callback, .user = user});
    timed = cuda_gpu_time_begin_order(&call, stream, per_thread);
    result = sent ? real_add(stream, run_callback, sent, flags)
                  : real_add(stream, callback, user, flags);
    if (timed)
        cuda_gpu_time_end(timed, result == CUDA_SUCCESS, CUDA_HOST_GOES_ON);
    end(&call, result, sent);
    tsm_call_slot(&call, CUDA_SLOT(callback));
    tsm_call_slot(&call, CUDA_SLOT(user));
    tsm_call_slot(&call, flags);
    tsm_call_commit(&call);
    if (result == CUDA_SUCCESS)
        cuda_commanded(&call);
    return result;
}

CUresult hook_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                  unsigned int flags)
{
    return add(TYPE_cuStreamAddCallback, real.cuStreamAddCallback, false, hStream, callback,
               userData, flags);
}

CUresult hook_cuStreamAddCallback_ptsz(CUstream hStream, CUstreamCallback callback, void *userData,
                                       unsigned int flags)
{
    return add(TYPE_cuStreamAddCallback_ptsz, real.cuStreamAddCallback_ptsz, true, hStream,
               callback, userData, flags);
}
