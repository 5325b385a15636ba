// SPDX-License-Identifier: GPL-2.0
/*
 * Drivers' own tracepoints, for what the scheduler and dma_fence do not tell. Their structs are
 * not in the headers: what is used of them is what they begin with, which BTF must confirm.
 */
#include <drm/gpu_scheduler.h>

#include "core.h"

/* amdgpu: struct amdgpu_job begins with the scheduler's job. */
static void on_amdgpu_cs(void *data, struct drm_sched_job *job)
{
	if (job->s_fence)
		grtrace_job_note(GRTRACE_COMMIT, job->s_fence->finished.context,
				 job->s_fence->finished.seqno, 0);
}

static void on_amdgpu_iv(void *data, unsigned int ih, void *entry)
{
	grtrace_job_note(GRTRACE_IRQ, 0, 0, ih);
}

/* i915: struct i915_request begins with its fence. There is no tracepoint for "the ring took it"
 * in distributions' kernels, so these jobs have no START. */
static void on_i915_add(void *data, struct dma_fence *request)
{
	const char *name = request->ops->get_timeline_name(request);

	grtrace_job_submit(grtrace_ring_find((void *)(unsigned long)request->context, name, NULL),
			   request->context, request->seqno, 0);
}

static void on_i915_retire(void *data, struct dma_fence *request)
{
	const char *name = request->ops->get_timeline_name(request);

	grtrace_job_end(grtrace_ring_find((void *)(unsigned long)request->context, name, NULL),
			request->context, request->seqno, ktime_to_ns(request->timestamp));
}

static void on_i915_wait_begin(void *data, struct dma_fence *request, unsigned int flags)
{
	grtrace_job_note(GRTRACE_SYNC_WAIT_ENTER, request->context, request->seqno, 0);
}

static void on_i915_wait_end(void *data, struct dma_fence *request)
{
	grtrace_job_note(GRTRACE_SYNC_WAIT_EXIT, request->context, request->seqno, 0);
}

/* xe: struct xe_sched_job begins with the scheduler's job. */
static void on_xe_timeout(void *data, struct drm_sched_job *job)
{
	if (job->s_fence)
		grtrace_job_note(GRTRACE_ERROR, job->s_fence->finished.context,
				 job->s_fence->finished.seqno,
				 (u64)GRTRACE_ERROR_TIMEOUT << 32 | ETIME);
}

static void on_xe_reset(void *data, void *queue)
{
	grtrace_job_note(GRTRACE_ERROR, 0, 0, (u64)GRTRACE_ERROR_RESET << 32);
}

static const struct grtrace_member job_members[] = {
	GRTRACE_MEMBER(drm_sched_job, s_fence),
	GRTRACE_MEMBER(drm_sched_fence, finished),
	{}
};

#define I915 "struct i915_request *"
#define ROW(name_, function_, prototype_, level_, members_, outer_, first_)                       \
	{ .name = name_, .function = function_, .prototype = prototype_, .level = level_,         \
	  .members = members_, .outer = outer_, .first = first_ }

const struct grtrace_probe grtrace_driver_probes[] = {
	ROW("amdgpu_cs_ioctl", on_amdgpu_cs, "struct amdgpu_job *", 1, job_members, "amdgpu_job",
	    "drm_sched_job"),
	ROW("amdgpu_iv", on_amdgpu_iv, "unsigned int,struct amdgpu_iv_entry *", 3, NULL, NULL,
	    NULL),
	ROW("i915_request_add", on_i915_add, I915, 1, grtrace_fence_members, "i915_request",
	    "dma_fence"),
	ROW("i915_request_retire", on_i915_retire, I915, 1, grtrace_fence_members,
	    "i915_request", "dma_fence"),
	ROW("i915_request_wait_begin", on_i915_wait_begin, I915 ",unsigned int", 2,
	    grtrace_fence_members, "i915_request", "dma_fence"),
	ROW("i915_request_wait_end", on_i915_wait_end, I915, 2, grtrace_fence_members,
	    "i915_request", "dma_fence"),
	ROW("xe_sched_job_timedout", on_xe_timeout, "struct xe_sched_job *", 1, job_members,
	    "xe_sched_job", "drm_sched_job"),
	ROW("xe_exec_queue_reset", on_xe_reset, "struct xe_exec_queue *", 1, NULL, NULL, NULL),
	{}
};
