// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler's timeouts. No tracepoint tells of them, so this is a kprobe on the function that
 * the scheduler's timer runs; where there is none, jobs' errors tell it later.
 */
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>

#include "core.h"

#define FUNCTION "drm_sched_job_timedout"

#if IS_ENABLED(CONFIG_KPROBES) && defined(CONFIG_X86_64)

static int on_timeout(struct kprobe *probe, struct pt_regs *regs)
{
	struct work_struct *work = (void *)regs->di;
	struct drm_gpu_scheduler *sched = container_of(work, struct drm_gpu_scheduler,
						       work_tdr.work);
	const struct grtrace_ring *ring = grtrace_sched_ring(sched);

	grtrace_emit(GRTRACE_HEAD(GRTRACE_RECORD_SIZE, GRTRACE_ERROR, 0, ring->device,
				  ring->engine),
		     GRTRACE_PLACE(ring->id, current->tgid), ring->last_ctx, 0, (u64)GRTRACE_ERROR_TIMEOUT << 32 | ETIME);
	return 0;
}

static struct kprobe probe;
static bool attached;

/* Also when it is there already, or has nothing to be on. */
void grtrace_timeout_attach(void)
{
	if (attached)
		return;
	memset(&probe, 0, sizeof(probe)); /* what was registered once cannot be again */
	probe.symbol_name = FUNCTION;
	probe.pre_handler = on_timeout;
	attached = register_kprobe(&probe) == 0;
}

void grtrace_timeout_detach(void)
{
	if (attached)
		unregister_kprobe(&probe);
	attached = false;
}

bool grtrace_timeout_attached(void)
{
	return attached;
}

#else

void grtrace_timeout_attach(void) {}
void grtrace_timeout_detach(void) {}
bool grtrace_timeout_attached(void)
{
	return false;
}

#endif
