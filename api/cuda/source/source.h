/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA source: what generated wrappers (cuda_wrappers.c) and hand-written hooks share. It runs
 * inside the traced program: the rules of capture/capture.h hold.
 *
 * The generator gives, in cuda_wrappers.c:
 *
 *   struct cuda_real real                 a pointer per exported function, at first a resolver that
 *                                         calls cuda_bind() and then the pointer again, or returns
 *                                         CUDA_ERROR_NOT_FOUND when the driver lacks the function
 *   const struct tsm_exports cuda_exports name, wrapper and &real.X of each, sorted by name
 *   CUresult cuX(...)                     for each export; of a call marked `hook` it is only
 *                                         `return hook_cuX(...)`, and the hook does all
 *
 * Helpers that cuda.api names are declared in cuda_hooks.h and defined in api/cuda/source/.
 */
#ifndef API_CUDA_SOURCE_SOURCE_H
#define API_CUDA_SOURCE_SOURCE_H

#include "capture/capture.h"
#include "interpose/interpose.h"

#include "api/cuda/abi.h"

extern const struct tsm_source cuda_source;

/* ---- the driver (binding.c) ---- */

/* Fill `real`. False: this process has no CUDA driver. */
bool cuda_bind(void);

/* Binds `real` to the functions of an opened driver. */
void cuda_bind_library(void *handle);

/* Tests whether a name can be the driver's: cuInit, but not cudnnCreate or cublasCreate. */
bool cuda_owns_name(const char *name);

/* The stream behind a handle, as capture knows it. NULL and CU_STREAM_LEGACY are the current
 * context's default stream; CU_STREAM_PER_THREAD is the calling thread's. */
struct tsm_stream *cuda_stream(CUstream stream);

/* The same for functions named _ptsz and _ptds, where NULL means the calling thread's stream. */
struct tsm_stream *cuda_stream_ptsz(CUstream stream);
/* A command that is sure to wait for what its stream was given before takes its place there. That
 * is waited for first, so that the call itself is short, and host memory is published then. */
void cuda_on_synchronized_stream(struct tsm_call *call, CUstream stream, bool per_thread);

/* For cuGetProcAddress: what to answer in place of `address`. */
void *cuda_wrapper_of(const char *symbol, void *address, bool per_thread);

/* Does the driver have the function? (Without, real.X only returns an error.) */
bool cuda_driver_has(const char *name);

/* Memory of the program that the driver does not know. An asynchronous copy to there is complete
 * when its call returns (CUDA driver API reference, "API synchronization behavior"). */
bool cuda_is_pageable(const void *address);

/* Memory of a device, which a call that speaks of host memory may be given as well: addresses are
 * of one space. The program's threads cannot read it. */
bool cuda_is_device(const void *address);

/* The field for what a command takes from there: tsm_call_payload(). What a device has is taken
 * when the command runs, as in replay. */
void cuda_payload(struct tsm_call *call, const void *data, uint64_t size, bool taken);

/* The argument block of a launch, or of a node that launches, as a BYTES field. */
void cuda_append_arguments(struct tsm_call *call, CUfunction function, void **params, void **extra);

/* The sides of a copy that are the program's: boxes, or data NULL. */
void cuda_copy_sides(const CUDA_MEMCPY3D *copy, struct tsm_box *src, struct tsm_box *dst);

/* The device writes what such a copy writes: tsm_device_writes(). */
void cuda_copy_writes(struct tsm_call *call, const CUDA_MEMCPY3D *copy);

/* Memory that lives as long as the process, zeroed; NULL when there is none. */
void *cuda_keep(size_t size);

/* ---- contexts (context.c, context.h) ---- */

/* A context of the program, in which things were made; they are gone when it is. A primary context
 * that was reset, or released by all, and is used again is another one. */
struct cuda_context;

/* The calling thread's; NULL: none. */
struct cuda_context *cuda_context_current(void);

/* Makes it current for a call of ours. False: it is gone. */
bool cuda_context_enter(const struct cuda_context *context);
void cuda_context_leave(void);

/* ---- streams (stream.c) ---- */

/* Returns the context that a stream belongs to; for a default stream the thread's current one.
 * NULL: none. */
struct cuda_context *cuda_stream_context(CUstream stream);

/* Implements is_complete() of struct tsm_source. Knows only streams of the thread's current
 * context. */
bool cuda_stream_is_complete(const struct tsm_stream *stream);

/* The stream is about to be destroyed: nobody asks how far it is from now on. Returns its id
 * (end.c). */
uint64_t cuda_stream_leaves(CUstream stream);

/* ---- stream capture (api/cuda/source/graph/capture.c) ---- */

/* A stream, or all of a context, is gone, and captures that began there with it. */
void cuda_capture_stream_destroyed(CUstream stream);
void cuda_capture_context_destroyed(const struct cuda_context *context);
/* ... and have threads ended while a stream of theirs was captured? Then those captures are over.
 */
void cuda_captures_check(void);

/* How many captures have begun, or are about to, and, as far as is known, not ended. */
extern uint32_t cuda_captures_begun;

static inline bool cuda_capture_runs(void)
{
    return __atomic_load_n(&cuda_captures_begun, __ATOMIC_RELAXED) != 0;
}

/* Between these a thread may ask the driver what would end any capture: how far a stream or an
 * event is. False: a capture runs, do not ask (and do not call the second one). A call that begins
 * a capture waits for those who ask. */
bool cuda_asking_begin(void);
void cuda_asking_end(void);

/* Does a call on that stream become part of a graph, or one that waits for `event` there? */
bool cuda_captures(CUstream stream, bool per_thread, CUevent event);

/* Has any command waited for a value in memory? (value.c) */
bool cuda_values_are_awaited(void);

/* Returns how many functions of the program the driver has been given, in streams and in graphs
 * that were launched, that have not returned: the GPU may wait for what the program is yet to do.
 */
unsigned cuda_functions_unfinished(void);
void cuda_function_expected(void);
void cuda_function_over(void);
void cuda_function_count_forked(void);

/* Metadata about driver and devices, once a session. */
void cuda_describe(void);
void cuda_describe_again(void);

/* TS_CHECKSUM: the program knows that the GPU is idle; a command was recorded. Outside of a call.
 */
void cuda_checksum_sync(struct tsm_stream *stream);
void cuda_checksum_command(struct tsm_stream *stream, uint64_t position);

/* Spot checks (spot_check.c): are they taken? The program has waited: takes them where the GPU is
 * idle. Outside of a call. */
bool cuda_spot_checks_wanted(void);
void cuda_spot_check(void);
void cuda_spot_checks_forked(void);

/* Each live allocation of device memory, as far as they are kept in mind (TS_CHECKSUM,
 * checkpoints). False when `visit` gave false, or when there were too many to keep. */
bool cuda_allocations_each(bool (*visit)(CUdeviceptr start, uint64_t size,
                                         const struct cuda_context *context));

/* A context is destroyed, and what was made in it. */
void cuda_allocations_destroyed(const struct cuda_context *context);

/* The kernel that `call` launches may write managed variables: any kernel can name them. */
void cuda_managed_may_write(struct tsm_call *call);
/* Stops tracking managed variables that the driver does not have any more. */
void cuda_managed_sweep(void);
void cuda_arrays_destroyed(const struct cuda_context *context);

/* Live allocations, one after another: at [0, count). False: not there any more. */
uint32_t cuda_allocation_count(void);
uint64_t cuda_allocation_bytes(void);
bool cuda_allocation_at(uint32_t index, CUdeviceptr *start, uint64_t *size);

/* For checkpoints: what tsm_source says of quiet() and save(). */
bool cuda_checkpoint_quiet(uint64_t until_ns);
/* The stream is about to be destroyed: remembers what tells when the work in it is over. */
void cuda_checkpoint_stream_leaves(CUstream stream);
bool cuda_checkpoint_save(void);
/* A module or library was loaded: keep in mind what variables its image has. */
void cuda_checkpoint_image(uint32_t object, uint64_t raw, const void *data, uint64_t size);

/* Arrays that TS_CHECKSUM hashes: at [0, count). False: none there, or not to be read now.
 * `buffer`: `room` bytes to read through. Inside tsm_inside_enter(). */
unsigned cuda_array_count(void);
bool cuda_array_hash(unsigned at, void *buffer, size_t room, uint64_t *place, uint64_t *size,
                     struct sbt_key *key);

/* Each live array, also a level of a mipmapped one, for checkpoints: as cuda_allocations_each(). */
bool cuda_arrays_each(bool (*visit)(CUarray raw, uint32_t id, const struct cuda_context *context));

/* Are there bytes of a tile pool that were mapped to a sparse array, and are to none now? An array
 * or mipmapped one, of the type CUDA_OBJECT_*, is destroyed. (sparse.c) */
bool cuda_tiles_are_left(void);
void cuda_tiles_destroyed(unsigned object, const void *raw);

/* The program's virtual memory goes into the checkpoint: false when it could not be kept. */
bool cuda_virtual_save(void);
/* Is something mapped there, from that address on? */
bool cuda_virtual_holds(CUdeviceptr start);

/* In the child of a fork. */
void cuda_checkpoint_forked(void);
void cuda_virtual_forked(void);
void cuda_arrays_forked(void);
void cuda_contexts_forked(void);
void cuda_streams_forked(void);
void cuda_functions_forked(void);
void cuda_checksum_forked(void);
void cuda_allocations_forked(void);
void cuda_values_forked(void);
void cuda_captures_forked(void);

/* Called before what can make the device read memory of the host: brings it what the program wrote,
 * also into memory that another API has given away. */
static inline bool cuda_publish(void)
{
    tsm_handed_send(SBT_API_CUDA);
    return tsm_hostmem_publish();
}

/* ---- memory of others (ipc.c) ---- */

/* Appends the bytes of device memory as a BLOB field; none where they cannot be read. */
void cuda_append_content(struct tsm_call *call, CUdeviceptr address, size_t size);

#endif
