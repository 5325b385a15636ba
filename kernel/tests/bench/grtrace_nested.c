// SPDX-License-Identifier: GPL-2.0
/*
 * Probes inside probes: dma_fence's tracepoint `emit`, from a thread and from a timer's interrupts of the
 * same CPU. Loading prints how often it was reached, which is what a backend has to account for.
 */
#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <trace/events/dma_fence.h>

#define ROUNDS	  20000
#define PERIOD_NS 50000

static const char *name(struct dma_fence *fence)
{
	return "grtrace_nested";
}

static const struct dma_fence_ops ops = {.get_driver_name = name, .get_timeline_name = name};
static DEFINE_SPINLOCK(lock);
static struct dma_fence fence;
static u64 interrupts; /* of the one CPU */

static enum hrtimer_restart expired(struct hrtimer *timer)
{
	interrupts++;
	trace_dma_fence_emit(&fence);
	hrtimer_forward_now(timer, ns_to_ktime(PERIOD_NS));
	return HRTIMER_RESTART;
}

static int __init nested_init(void)
{
	struct hrtimer timer;

	dma_fence_init(&fence, &ops, &lock, dma_fence_context_alloc(1), 1);
	hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
	timer.function = expired;
	hrtimer_start(&timer, ns_to_ktime(PERIOD_NS), HRTIMER_MODE_REL_PINNED);
	for (u64 i = 0; i < ROUNDS; i++)
		trace_dma_fence_emit(&fence);
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	pr_info("grtrace_nested: %llu\n", ROUNDS + interrupts);
	return 0;
}

static void __exit nested_exit(void)
{
}

module_init(nested_init);
module_exit(nested_exit);

MODULE_DESCRIPTION("Tracepoints reached inside tracepoints");
MODULE_AUTHOR("TraceSmith");
MODULE_LICENSE("GPL");
