// SPDX-License-Identifier: GPL-2.0
/* Measures the cost of a whole probe, in instructions (see grtrace_bench.c): dma_fence's tracepoint
 * `emit`, with whatever is attached to it when this is loaded. Loading prints one line. */
#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <trace/events/dma_fence.h>

#define ROUNDS	    5000
#define NS_PER_INSN 2

static const char *name(struct dma_fence *fence)
{
	return "grtrace_probe_bench";
}

static const struct dma_fence_ops ops = {.get_driver_name = name, .get_timeline_name = name};
static DEFINE_SPINLOCK(lock);
static struct dma_fence fence;

static u64 measure(bool with)
{
	unsigned long flags;
	u64 begin;

	local_irq_save(flags);
	begin = ktime_get_ns();
	for (u64 i = 0; i < ROUNDS; i++) {
		if (with)
			trace_dma_fence_emit(&fence);
		barrier();
	}
	begin = ktime_get_ns() - begin;
	local_irq_restore(flags);
	return begin;
}

static int __init probe_bench_init(void)
{
	u64 hundredths;

	dma_fence_init(&fence, &ops, &lock, dma_fence_context_alloc(1), 1);
	hundredths = (measure(true) - measure(false)) * 100 / NS_PER_INSN / ROUNDS;
	pr_info("grtrace_probe_bench: %llu.%02llu\n", hundredths / 100, hundredths % 100);
	return 0;
}

static void __exit probe_bench_exit(void)
{
}

module_init(probe_bench_init);
module_exit(probe_bench_exit);

MODULE_DESCRIPTION("Instructions per probe");
MODULE_AUTHOR("TraceSmith");
MODULE_LICENSE("GPL");
