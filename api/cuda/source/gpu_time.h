/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_GPU_TIME: when the device ran each command, as GPU_TIME records (docs/FORMAT.md 10). An event
 * of ours is recorded before a command and one after it, in its stream, while the call holds the
 * stream.
 *
 * Nothing is timed while any stream is captured (an event would become part of the graph, a query
 * would end the capture), and nothing when CUDA_TIMED_MAX commands of a context are under way.
 *
 * With TS_GPU_TIME=cupti there are no events of ours either: cupti/cupti.h.
 *
 * The software GPU says itself when it ran what (api/cuda/abi_times.h); then there are no events of
 * ours, and what is sent beside a capture is timed, too. With TS_ACCESSES it also says which memory
 * that accessed, as ACCESSES records, whether or not times are asked for.
 */
#ifndef API_CUDA_SOURCE_GPU_TIME_H
#define API_CUDA_SOURCE_GPU_TIME_H

#include "api/cuda/abi.h"
#include "capture/capture.h"

struct cuda_timed; /* a command that is being timed */

/* Whether the real function waits for the device. */
enum cuda_host_wait {
    CUDA_HOST_GOES_ON,
    CUDA_HOST_MAY_WAIT, /* the second event may be later than the end of the command */
    CUDA_HOST_WAITS,    /* ... and the command is complete when the function returns */
};

/* Is TS_GPU_TIME set, or TS_ACCESSES, where the driver says what commands access? Set once, when
 * the session begins. */
extern bool cuda_gpu_time_wanted;

/* Records the first event. The call has its place on a stream; the real function is called next.
 * Returns NULL if the command is not timed. */
struct cuda_timed *cuda_gpu_time_start(const struct tsm_call *call, CUstream stream,
                                       bool per_thread);

/* Works like it, for a launch of a graph: its nodes may have times of their own. */
struct cuda_timed *cuda_gpu_time_start_graph(const struct tsm_call *call, CUstream stream,
                                             bool per_thread);
struct cuda_timed *cuda_gpu_time_start_order(const struct tsm_call *call, CUstream stream,
                                             bool per_thread);

static inline struct cuda_timed *cuda_gpu_time_begin(const struct tsm_call *call, CUstream stream,
                                                     bool per_thread)
{
    return __builtin_expect(cuda_gpu_time_wanted, 0) ? cuda_gpu_time_start(call, stream, per_thread)
                                                     : NULL;
}

/* The same for a command that only orders others, a wait or an event, and has no time: in virtual
 * time the software GPU says what it
 * waited for. */
static inline struct cuda_timed *cuda_gpu_time_begin_order(const struct tsm_call *call,
                                                           CUstream stream, bool per_thread)
{
    return __builtin_expect(cuda_gpu_time_wanted, 0)
               ? cuda_gpu_time_start_order(call, stream, per_thread)
               : NULL;
}

/* Records the second event. The real function has returned; the call still holds the stream. `ok`:
 * the command was sent. `timed` is not NULL. */
void cuda_gpu_time_end(struct cuda_timed *timed, bool ok, enum cuda_host_wait wait);

/* Writes the times that are known by now: all, or (cheaper) some of the oldest. Call outside of a
 * call. */
void cuda_gpu_time_collect(void);
void cuda_gpu_time_collect_some(void);

#endif
