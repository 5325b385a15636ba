// SPDX-License-Identifier: GPL-2.0
/*
 * Sums over the CPUs' counters. Counting is not stopped meanwhile: each number is right, their
 * relation to each other is of about the same moment.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "core.h"

const char *const grtrace_drop_names[GRTRACE_DROP_COUNT] = { GRTRACE_DROP_NAMES };

void grtrace_hist_add(struct grtrace_hist *hist, u64 value)
{
	unsigned int bucket = value ? ilog2(value) + 1 : 0;

	hist->count[min_t(unsigned int, bucket, GRTRACE_HIST_BUCKETS - 1)]++;
	hist->sum += value;
}

u64 grtrace_counter(size_t offset)
{
	unsigned int cpu;
	u64 sum = 0;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(u64 *)((char *)per_cpu_ptr(&grtrace_cpus, cpu) + offset));
	return sum;
}

void grtrace_hist_total(struct grtrace_hist *out, size_t offset)
{
	for (unsigned int i = 0; i < GRTRACE_HIST_BUCKETS; i++)
		out->count[i] = grtrace_counter(offset + i * sizeof(u64));
	out->sum = grtrace_counter(offset + offsetof(struct grtrace_hist, sum));
}

static void reset(struct grtrace_cpu *cpu)
{
	size_t kept = offsetof(struct grtrace_cpu, by_type); /* what is the session's comes first */

	grtrace_reader_reset(cpu);
	memset((void *)cpu + kept, 0, sizeof(*cpu) - kept);
}

static u64 since_ns;

u64 grtrace_stats_since_ns(void)
{
	return since_ns;
}

static void reset_here(void *unused)
{
	reset(this_cpu_ptr(&grtrace_cpus));
}

void grtrace_stats_reset(void)
{
	unsigned int cpu;

	since_ns = ktime_get_ns();
	cpus_read_lock();
	on_each_cpu(reset_here, NULL, 1);
	for_each_possible_cpu(cpu) {
		if (!cpu_online(cpu))
			reset(per_cpu_ptr(&grtrace_cpus, cpu));
	}
	cpus_read_unlock();
	grtrace_rules_reset();
}
