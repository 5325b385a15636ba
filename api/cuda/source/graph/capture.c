/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture: while a stream is captured, calls on it make a graph and nothing runs. They are
 * recorded as such (SBT_RECORD_CAPTURED) and replayed as calls on a stream that is captured.
 *
 * Whether a stream is captured only the driver knows: an event that was recorded in a capture draws
 * other streams into it. It is asked while any capture is known to run, and not otherwise.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "base/clock.h"
#include "capture/lock.h"

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t cuda_captures_begun;

static CUstreamCaptureStatus status_of(CUstream stream, bool per_thread)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    if (!stream && per_thread)
        stream = CU_STREAM_PER_THREAD;
    /* The legacy stream cannot be captured, and asking about it can fail. */
    if (!stream || stream == CU_STREAM_LEGACY ||
        real.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return status;
}

bool cuda_captures(CUstream stream, bool per_thread, CUevent event)
{
    const struct tsm_handle *handle =
        event ? tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_EVENT, CUDA_SLOT(event)) : NULL;

    return (handle && handle->user) ||
           status_of(stream, per_thread) != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- which captures run -------------------------------------------------------------------- */

#define CAPTURE_MAX 256u

/* One that has begun. Only its thread can name a thread's own stream. */
struct capture {
    CUstream stream;
    const struct cuda_context *context;
    pid_t thread;
};

static struct {
    struct tsm_lock lock;
    uint32_t count;
    struct capture list[CAPTURE_MAX];
    uint32_t untold;    /* more than the list has room for */
    uint32_t beginning; /* calls that begin one are under way */
} captures;

static uint32_t asking; /* threads */

static pid_t own_thread(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* The lock is held. */
static void set_begun(void)
{
    __atomic_store_n(&cuda_captures_begun, captures.count + captures.untold + captures.beginning,
                     __ATOMIC_SEQ_CST);
}

static void drop(uint32_t at)
{
    captures.list[at] = captures.list[--captures.count];
    set_begun();
}

void cuda_captures_forked(void)
{
    captures.lock = (struct tsm_lock){0};
    captures.count = captures.untold = captures.beginning = 0;
    cuda_captures_begun = asking = 0;
}

/* ---- questions ----------------------------------------------------------------------------- */

#define ASKING_WAIT_NS 100000000u /* a question takes less; its thread may have been cancelled */

bool cuda_asking_begin(void)
{
    __atomic_add_fetch(&asking, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&cuda_captures_begun, __ATOMIC_SEQ_CST))
        return true;
    cuda_asking_end();
    return false;
}

void cuda_asking_end(void)
{
    if (__atomic_sub_fetch(&asking, 1, __ATOMIC_SEQ_CST) == 0 &&
        __atomic_load_n(&cuda_captures_begun, __ATOMIC_SEQ_CST))
        tsm_futex_wake(&asking, INT_MAX);
}

static void await_asking(void)
{
    const uint64_t until_ns = tsm_monotonic_ns() + ASKING_WAIT_NS;
    uint32_t count;

    while ((count = __atomic_load_n(&asking, __ATOMIC_SEQ_CST)) != 0) {
        const uint64_t now = tsm_monotonic_ns();
        if (now >= until_ns)
            return;
        tsm_futex_wait(&asking, count, until_ns - now);
    }
}

/* ---- the beginning ------------------------------------------------------------------------- */

void cuda_before_capture_begun(struct tsm_call *call, CUstream stream)
{
    tsm_lock_take(&captures.lock);
    captures.beginning++;
    set_begun();
    tsm_lock_give(&captures.lock);
    await_asking();
}

/* The legacy stream cannot be captured: no stream is the thread's own. */
void cuda_after_capture_begun(struct tsm_call *call, bool ok, CUstream stream)
{
    struct capture capture = {stream ? stream : CU_STREAM_PER_THREAD, NULL, own_thread()};

    capture.context = ok ? cuda_context_current() : NULL;
    tsm_lock_take(&captures.lock);
    captures.beginning -= captures.beginning > 0; /* none: the process has forked since */
    if (ok && captures.count < CAPTURE_MAX)
        captures.list[captures.count++] = capture;
    else if (ok)
        captures.untold++;
    set_begun();
    tsm_lock_give(&captures.lock);
}

static bool is_of(const struct capture *capture, CUstream stream,
                  const struct cuda_context *context)
{
    if (capture->stream != stream)
        return false;
    return stream != CU_STREAM_PER_THREAD ||
           (capture->thread == own_thread() && capture->context == context);
}

static void ended(CUstream stream)
{
    const struct cuda_context *context =
        stream == CU_STREAM_PER_THREAD ? cuda_context_current() : NULL;
    bool found = false;

    tsm_lock_take(&captures.lock);
    for (uint32_t i = captures.count; i-- > 0 && !found;) {
        found = is_of(&captures.list[i], stream, context);
        if (found)
            drop(i);
    }
    if (!found && captures.untold && stream)
        captures.untold--;
    set_begun();
    tsm_lock_give(&captures.lock);
}

void cuda_capture_stream_destroyed(CUstream stream)
{
    if (!cuda_capture_runs())
        return;
    tsm_lock_take(&captures.lock);
    for (uint32_t i = captures.count; i-- > 0;)
        if (captures.list[i].stream == stream && stream != CU_STREAM_PER_THREAD)
            drop(i);
    tsm_lock_give(&captures.lock);
}

void cuda_capture_context_destroyed(const struct cuda_context *context)
{
    if (!cuda_capture_runs())
        return;
    tsm_lock_take(&captures.lock);
    for (uint32_t i = captures.count; i-- > 0;)
        if (captures.list[i].context == context)
            drop(i);
    tsm_lock_give(&captures.lock);
}

void cuda_captures_check(void)
{
    int saved_errno = errno;
    pid_t process = (pid_t)syscall(SYS_getpid);

    if (!cuda_capture_runs())
        return;
    tsm_lock_take(&captures.lock);
    for (uint32_t i = captures.count; i-- > 0;)
        if (captures.list[i].stream == CU_STREAM_PER_THREAD &&
            syscall(SYS_tgkill, process, captures.list[i].thread, 0) != 0 && errno == ESRCH)
            drop(i);
    tsm_lock_give(&captures.lock);
    errno = saved_errno;
}

/* ---- the end ------------------------------------------------------------------------------ */

/* The graph that a stream captures into. */
static CUgraph graph_of(CUstream stream, bool per_thread)
{
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;

    if (!status_of(stream, per_thread) ||
        real.cuStreamGetCaptureInfo_v2(!stream && per_thread ? CU_STREAM_PER_THREAD : stream,
                                       &status, NULL, &graph, NULL, NULL) != CUDA_SUCCESS)
        return NULL;
    return graph;
}

/* A capture that went wrong ends, too, with an error and without a graph. A program that gave the
 * graph need not ask for it. */
static CUresult end(uint32_t type, CUresult (*real_end)(CUstream, CUgraph *), CUstream stream,
                    bool per_thread, CUgraph *graph)
{
    bool was = cuda_capture_runs() && status_of(stream, per_thread);
    struct tsm_call call;
    CUresult result;
    bool begun = tsm_call_begin(&call, type), is_over;
    CUgraph given = graph ? NULL : graph_of(stream, per_thread);

    result = real_end(stream, graph);
    is_over = result == CUDA_SUCCESS || (was && !status_of(stream, per_thread));
    if (is_over && cuda_capture_runs())
        ended(!stream && per_thread ? CU_STREAM_PER_THREAD : stream);
    if (!begun)
        return result;
    tsm_call_returned(&call, result, !is_over);
    tsm_call_slot(&call,
                  cuda_stream_slot(per_thread ? cuda_stream_ptsz(stream) : cuda_stream(stream)));
    given = graph ? *graph : given;
    tsm_call_slot(&call, result == CUDA_SUCCESS && given
                             ? cuda_id_shared(CUDA_OBJECT_GRAPH, CUDA_SLOT(given), 0, NULL)
                             : 0);
    tsm_call_commit(&call);
    return result;
}

CUresult hook_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    return end(TYPE_cuStreamEndCapture, real.cuStreamEndCapture, hStream, false, phGraph);
}

CUresult hook_cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
    return end(TYPE_cuStreamEndCapture_ptsz, real.cuStreamEndCapture_ptsz, hStream, true, phGraph);
}

/* ---- what a capture is -------------------------------------------------------------------- */

/* Tests whether the stream is captured: otherwise it has no graph, and nothing was written
 * there. */
static bool is_active(const CUstreamCaptureStatus *status)
{
    return status && *status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

void cuda_after_capture_queried(struct tsm_call *call, bool ok, const CUstreamCaptureStatus *status,
                                const CUgraph *graph)
{
    bool told = ok && is_active(status) && graph;

    tsm_call_slot(call, told ? cuda_id_shared(CUDA_OBJECT_GRAPH, CUDA_SLOT(*graph), 0, NULL) : 0);
}

void cuda_capture_queried(const CUstreamCaptureStatus *status, const CUgraph *graph,
                          const CUgraphNode **nodes, const size_t *count)
{
    if (is_active(status) && graph && nodes && count)
        cuda_nodes_queried(*graph, NULL, *nodes, *count);
}

/* ---- memory in a stream's order ----------------------------------------------------------- */

static bool flag_if_captured(struct tsm_call *call, bool ok, CUstream stream)
{
    if (!ok || !cuda_capture_runs())
        return false;
    /* The number of the stream is a field of the record. */
    if (status_of(stream, true) == CU_STREAM_CAPTURE_STATUS_NONE)
        return false;
    tsm_call_captured(call, cuda_stream_ptsz(stream));
    return true;
}

void cuda_after_alloc_async(struct tsm_call *call, bool ok, CUstream stream, CUdeviceptr start,
                            uint64_t size)
{
    if (!flag_if_captured(call, ok, stream))
        cuda_after_alloc(call, ok, start, size);
}

void cuda_after_free_async(struct tsm_call *call, bool ok, CUstream stream, CUdeviceptr start)
{
    if (!flag_if_captured(call, ok, stream))
        cuda_after_free(call, ok, start);
}
