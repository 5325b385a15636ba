// SPDX-License-Identifier: GPL-2.0
/*
 * The DRM scheduler, under the tracepoints' old names and the stable ones. A job's number is that
 * of its finished fence, which is what user space waits for.
 */
#include <drm/gpu_scheduler.h>

#include "core.h"

struct grtrace_ring *grtrace_sched_ring(const struct drm_gpu_scheduler *sched)
{
#ifdef HAVE_SCHED_DEV
	return grtrace_ring_find(sched, sched->name, sched->dev);
#else
	return grtrace_ring_find(sched, sched->name, NULL);
#endif
}

static void on_queue(void *data, struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	const struct dma_fence *fence = &job->s_fence->finished;

	grtrace_job_submit(grtrace_sched_ring(job->sched), fence->context, fence->seqno, job->s_priority);
}

static void on_run(void *data, struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	const struct dma_fence *fence = &job->s_fence->finished;

	grtrace_job_start(grtrace_sched_ring(job->sched), fence->context, fence->seqno);
}

static void on_done(void *data, struct drm_sched_fence *fence)
{
	const struct dma_fence *hardware = fence->parent;
	u64 ns = 0;

	if (!IS_ERR_OR_NULL(hardware) && test_bit(DMA_FENCE_FLAG_TIMESTAMP_BIT, &hardware->flags))
		ns = ktime_to_ns(hardware->timestamp);
	grtrace_job_end(grtrace_sched_ring(fence->sched), fence->finished.context, fence->finished.seqno, ns);
}

static void on_dependency(void *data, struct drm_sched_job *job, struct dma_fence *fence)
{
	struct grtrace_dependency body = { .ctx = fence->context, .seqno = fence->seqno };
	const struct grtrace_ring *ring = grtrace_sched_ring(job->sched);
	const struct dma_fence *own = &job->s_fence->finished;

	grtrace_emit_body(GRTRACE_HEAD(GRTRACE_RECORD_SIZE, GRTRACE_FENCE, 0, ring->device,
				       ring->engine),
			  GRTRACE_PLACE(ring->id, grtrace_owner_find(own->context).pid),
			  own->context, own->seqno, GRTRACE_FENCE_DEPENDENCY, &body,
			  sizeof(body));
}

static const struct grtrace_member members[] = {
	GRTRACE_MEMBER(drm_sched_job, sched),
	GRTRACE_MEMBER(drm_sched_job, s_fence),
	GRTRACE_MEMBER(drm_sched_job, s_priority),
	GRTRACE_MEMBER(drm_sched_fence, finished),
	GRTRACE_MEMBER(drm_sched_fence, parent),
	GRTRACE_MEMBER(drm_sched_fence, sched),
	GRTRACE_MEMBER(drm_gpu_scheduler, name),
	{}
};

#define JOB  "struct drm_sched_job *"
#define ROW(name_, function_, prototype_, level_)                                                 \
	{ .name = name_, .function = function_, .prototype = prototype_, .level = level_,         \
	  .members = members }

const struct grtrace_probe grtrace_sched_probes[] = {
	ROW("drm_sched_job", on_queue, JOB ",struct drm_sched_entity *", 1),
	ROW("drm_run_job", on_run, JOB ",struct drm_sched_entity *", 1),
	ROW("drm_sched_process_job", on_done, "struct drm_sched_fence *", 1),
	ROW("drm_sched_job_wait_dep", on_dependency, JOB ",struct dma_fence *", 2),
	ROW("drm_sched_job_queue", on_queue, JOB ",struct drm_sched_entity *", 1),
	ROW("drm_sched_job_run", on_run, JOB ",struct drm_sched_entity *", 1),
	ROW("drm_sched_job_done", on_done, "struct drm_sched_fence *", 1),
	ROW("drm_sched_job_add_dep", on_dependency, JOB ",struct dma_fence *", 2),
	{}
};
