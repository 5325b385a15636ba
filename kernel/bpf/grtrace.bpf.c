// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * The records of grtrace.ko without a module: the same tracepoints, by programs that the kernel
 * verifies. A program for each tracepoint or function (tools/kernel/bpf/probes.c has the list);
 * what they do is what the functions of the same purpose in grtrace/probe_*.c do.
 */
#include <linux/ptrace.h>

#include "grtrace_nvidia.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define ETIME 62

/* A program for a tracepoint: its arguments are of the kernel's own types. Newer kernels hold that they
 * may be NULL where the tracepoint is a module's, and want to see that it was asked. */
#define ON(point, ...) SEC("tp_btf/" #point) int BPF_PROG(point, __VA_ARGS__)

/* ---- the DRM scheduler ------------------------------------------------------------------- */

static __always_inline struct grtrace_bpf_ring *ring_of_sched(struct drm_gpu_scheduler *sched)
{
	const void *device = NULL;

	if (bpf_core_field_exists(sched->dev))
		device = sched->dev;
	return ring_find(sched, sched->name, device);
}

static __always_inline int on_queue(struct drm_sched_job *job)
{
	struct drm_sched_fence *fence = job ? job->s_fence : NULL;

	if (!fence)
		return 0;
	return job_submit(ring_of_sched(job->sched), fence->finished.context,
			  fence->finished.seqno, job->s_priority);
}

static __always_inline int on_run(struct drm_sched_job *job)
{
	struct drm_sched_fence *fence = job ? job->s_fence : NULL;

	if (!fence)
		return 0;
	return job_start(ring_of_sched(job->sched), fence->finished.context,
			 fence->finished.seqno);
}

static __always_inline int on_done(struct drm_sched_fence *fence)
{
	struct dma_fence *hardware;
	__u64 ns = 0;

	if (!fence)
		return 0;
	hardware = fence->parent;
	if (hardware && (__u64)hardware < -4096ull && /* else it is an error's number */
	    hardware->flags >> DMA_FENCE_FLAG_TIMESTAMP_BIT & 1)
		ns = hardware->timestamp;
	return job_end(ring_of_sched(fence->sched), fence->finished.context,
		       fence->finished.seqno, ns);
}

static __always_inline int on_dependency(struct drm_sched_job *job, struct dma_fence *fence)
{
	struct drm_sched_fence *own = job ? job->s_fence : NULL;
	struct grtrace_dependency body;
	struct grtrace_record draft;

	if (!own || !fence)
		return 0;
	body.ctx = fence->context;
	body.seqno = fence->seqno;
	draft_begin(&draft, GRTRACE_FENCE, own->finished.context, own->finished.seqno,
		    GRTRACE_FENCE_DEPENDENCY);
	draft_ring(&draft, ring_of_sched(job->sched));
	return emit_body(&draft, &body, sizeof(body));
}

ON(drm_sched_job, struct drm_sched_job *job) { return on_queue(job); }
ON(drm_sched_job_queue, struct drm_sched_job *job) { return on_queue(job); }
ON(drm_run_job, struct drm_sched_job *job) { return on_run(job); }
ON(drm_sched_job_run, struct drm_sched_job *job) { return on_run(job); }
ON(drm_sched_process_job, struct drm_sched_fence *fence) { return on_done(fence); }
ON(drm_sched_job_done, struct drm_sched_fence *fence) { return on_done(fence); }
ON(drm_sched_job_wait_dep, struct drm_sched_job *job, struct dma_fence *fence)
{
	return on_dependency(job, fence);
}
ON(drm_sched_job_add_dep, struct drm_sched_job *job, struct dma_fence *fence)
{
	return on_dependency(job, fence);
}

/* No tracepoint tells of timeouts: this is the function that the scheduler's timer runs. */
SEC("kprobe/drm_sched_job_timedout")
int BPF_KPROBE(drm_sched_job_timedout, void *work)
{
	struct drm_gpu_scheduler *sched =
		work - bpf_core_field_offset(struct drm_gpu_scheduler, work_tdr);
	const void *name = BPF_CORE_READ(sched, name), *device = NULL;
	struct grtrace_bpf_ring *ring;
	struct grtrace_record draft;

	if (bpf_core_field_exists(sched->dev))
		device = BPF_CORE_READ(sched, dev);
	ring = ring_find(sched, name, device);
	draft_begin(&draft, GRTRACE_ERROR, ring ? ring->last_ctx : 0, 0,
		    (__u64)GRTRACE_ERROR_TIMEOUT << 32 | ETIME);
	draft_ring(&draft, ring);
	draft.pid = bpf_get_current_pid_tgid() >> 32;
	return emit(&draft);
}

/* ---- dma_fence --------------------------------------------------------------------------- */

/* nouveau has no tracepoints. Its fence's lock is the first thing of what has the ring's name. */
static __always_inline struct grtrace_bpf_ring *ring_of_fence(struct dma_fence *fence)
{
	const void *name = NULL;

	if (bpf_core_type_exists(struct nouveau_fence_chan))
		name = fence->lock - bpf_core_field_offset(struct nouveau_fence_chan, lock) +
		       bpf_core_field_offset(struct nouveau_fence_chan, name);
	return ring_find((const void *)fence->context, name, NULL);
}

ON(dma_fence_init, struct dma_fence *fence)
{
	__u32 class;

	if (!fence)
		return 0;
	class = class_of(fence);
	if (class == GRTRACE_CLASS_JOB)
		return job_note(GRTRACE_COMMIT, fence->context, fence->seqno, 0);
	if (class == GRTRACE_CLASS_ALONE)
		return job_submit(ring_of_fence(fence), fence->context, fence->seqno, 0);
	if (config.level >= 3)
		return job_note(GRTRACE_FENCE, fence->context, fence->seqno, GRTRACE_FENCE_INIT);
	return 0;
}

static __always_inline int on_fence(struct dma_fence *fence, __u32 type, __u64 value)
{
	return fence ? job_note(type, fence->context, fence->seqno, value) : 0;
}

ON(dma_fence_emit, struct dma_fence *fence)
{
	return on_fence(fence, GRTRACE_FENCE, GRTRACE_FENCE_EMIT);
}

ON(dma_fence_enable_signal, struct dma_fence *fence)
{
	return on_fence(fence, GRTRACE_FENCE, GRTRACE_FENCE_ENABLE);
}

ON(dma_fence_signaled, struct dma_fence *fence)
{
	__u32 class;

	if (!fence)
		return 0;
	class = class_of(fence);
	if (class == GRTRACE_CLASS_JOB || class == GRTRACE_CLASS_ALONE)
		return job_complete(NULL, fence->context, fence->seqno, fence->error);
	if (config.level >= 2)
		return job_note(GRTRACE_FENCE, fence->context, fence->seqno,
				GRTRACE_FENCE_SIGNALED);
	return 0;
}

ON(dma_fence_wait_start, struct dma_fence *fence)
{
	return on_fence(fence, GRTRACE_SYNC_WAIT_ENTER, 0);
}

ON(dma_fence_wait_end, struct dma_fence *fence)
{
	return on_fence(fence, GRTRACE_SYNC_WAIT_EXIT, 0);
}

/* ---- virtio-gpu -------------------------------------------------------------------------- */

#define COUNTED (1ull << 63)

static __always_inline struct grtrace_bpf_ring *ring_of_queue(struct virtqueue *queue)
{
	return ring_find(queue, queue->name,
			 (void *)queue->vdev + bpf_core_field_offset(struct virtio_device, dev));
}

/* The host repeats the context in answers to fenced commands only: that of others is kept. */
struct command {
	__u64 number;
	__u64 ring;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct command);
	__type(value, __u32); /* ctx */
} unfenced SEC(".maps");

static __always_inline int is_fenced(struct virtio_gpu_ctrl_hdr *head)
{
	return head->flags & VIRTIO_GPU_FLAG_FENCE;
}

static __always_inline __u64 number_of(struct virtio_gpu_ctrl_hdr *head, __u64 *counter, __u64 own)
{
	if (is_fenced(head))
		return head->fence_id;
	if (own)
		return COUNTED | own;
	return COUNTED | (counter ? ADD(*counter, 1) + 1 : 0);
}

static __always_inline int queued(struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *head,
				  __u64 own)
{
	struct grtrace_bpf_ring *ring;
	struct command command = { 0 };
	__u32 ctx;

	if (!queue || !head)
		return 0;
	ring = ring_of_queue(queue);
	command.number = number_of(head, ring ? &ring->submitted : NULL, own);
	command.ring = ring ? ring->id : 0;
	ctx = head->ctx_id;
	if (!is_fenced(head) && ctx)
		bpf_map_update_elem(&unfenced, &command, &ctx, BPF_ANY);
	return job_submit(ring, ctx, command.number, head->type | (__u64)head->flags << 32);
}

static __always_inline int answered(struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *head,
				    __u64 own)
{
	struct grtrace_bpf_ring *ring;
	struct command command = { 0 };
	__u32 ctx, *kept;

	if (!queue || !head)
		return 0;
	ring = ring_of_queue(queue);
	command.number = number_of(head, ring ? &ring->responded : NULL, own);
	command.ring = ring ? ring->id : 0;
	ctx = head->ctx_id;
	if (!is_fenced(head)) {
		kept = bpf_map_lookup_elem(&unfenced, &command);
		ctx = kept ? *kept : 0;
		bpf_map_delete_elem(&unfenced, &command);
	}
	job_end(ring, ctx, command.number, 0);
	return job_complete(ring, ctx, command.number,
			    head->type >= VIRTIO_GPU_RESP_ERR_UNSPEC ? 5 /* EIO */ : 0);
}

/* Two programs for each: kernels differ in whether the tracepoint has a number of its own. */
SEC("tp_btf/virtio_gpu_cmd_queue")
int BPF_PROG(virtio_queue, struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *head)
{
	return queued(queue, head, 0);
}

SEC("tp_btf/virtio_gpu_cmd_response")
int BPF_PROG(virtio_response, struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *head)
{
	return answered(queue, head, 0);
}

SEC("tp_btf/virtio_gpu_cmd_queue")
int BPF_PROG(virtio_queue_seq, struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *head, __u32 own)
{
	return queued(queue, head, own);
}

SEC("tp_btf/virtio_gpu_cmd_response")
int BPF_PROG(virtio_resp_seq, struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *head, __u32 own)
{
	return answered(queue, head, own);
}

/* ---- drivers ----------------------------------------------------------------------------- */

ON(amdgpu_cs_ioctl, struct amdgpu_job *job)
{
	struct drm_sched_fence *fence = job ? job->base.s_fence : NULL;

	return fence ? job_note(GRTRACE_COMMIT, fence->finished.context, fence->finished.seqno, 0)
		     : 0;
}

ON(amdgpu_iv, unsigned int ih)
{
	return job_note(GRTRACE_IRQ, 0, 0, ih);
}

/* i915: a ring is an engine here. The module, which knows nothing of engines, has one for each
 * context instead. */
static __always_inline struct grtrace_bpf_ring *ring_of_request(struct i915_request *request)
{
	struct intel_engine_cs *engine = request->engine;

	return ring_find(engine, engine->name, NULL);
}

ON(i915_request_add, struct i915_request *request)
{
	return request ? job_submit(ring_of_request(request), request->fence.context,
				    request->fence.seqno, 0)
		       : 0;
}

ON(i915_request_retire, struct i915_request *request)
{
	return request ? job_end(ring_of_request(request), request->fence.context,
				 request->fence.seqno, request->fence.timestamp)
		       : 0;
}

static __always_inline int on_wait(struct i915_request *request, __u32 type)
{
	return request ? job_note(type, request->fence.context, request->fence.seqno, 0) : 0;
}

ON(i915_request_wait_begin, struct i915_request *request)
{
	return on_wait(request, GRTRACE_SYNC_WAIT_ENTER);
}

ON(i915_request_wait_end, struct i915_request *request)
{
	return on_wait(request, GRTRACE_SYNC_WAIT_EXIT);
}

ON(xe_sched_job_timedout, struct xe_sched_job *job)
{
	struct drm_sched_fence *fence = job ? job->drm.s_fence : NULL;

	return fence ? job_note(GRTRACE_ERROR, fence->finished.context, fence->finished.seqno,
				(__u64)GRTRACE_ERROR_TIMEOUT << 32 | ETIME)
		     : 0;
}

ON(xe_exec_queue_reset, struct xe_exec_queue *queue)
{
	return job_note(GRTRACE_ERROR, 0, 0, (__u64)GRTRACE_ERROR_RESET << 32);
}

/* ---- modules ----------------------------------------------------------------------------- */

ON(module_free, void *module)
{
	ADD(state.unloads, 1);
	return 0;
}

/* ---- the tool's own records -------------------------------------------------------------- */

static long tell_one(__u32 number, void *user)
{
	struct grtrace_record *draft = user;

	emit(draft);
	draft->seqno++;
	return 0;
}

SEC("syscall")
int tell_record(struct grtrace_bpf_told *told)
{
	struct grtrace_record draft = { .type = told->type, .flags = told->flags,
					.device = told->device, .ring = told->ring,
					.engine = told->engine, .ctx = told->ctx,
					.seqno = told->seqno, .value = told->value };

	draft.pid = told->pid ?: bpf_get_current_pid_tgid() >> 32;
	draft.tid = bpf_get_current_pid_tgid();
	if (told->body_size) {
		char body[GRTRACE_BPF_BODY_MAX];

		__builtin_memcpy(body, told->body, sizeof(body));
		emit_body(&draft, body, sizeof(body));
	} else {
		bpf_loop(told->count, tell_one, &draft, 0);
	}
	return 0;
}
