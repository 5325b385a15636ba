// SPDX-License-Identifier: GPL-2.0
/* Measures the cost of a record, in instructions: run with `-icount shift=1`, where each
 * instruction of the guest takes 2 ns of its time, the same on every host. Loading prints a line
 * for each way to record 64 bytes; unloading does nothing. For tests only: it uses
 * trace_printk(). */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/relay.h>
#include <linux/ring_buffer.h>

#include "../../include/grtrace.h"

#define ROUNDS     20000
#define NS_PER_INSN 2

void grtrace_emit(u64 head, u64 place, u64 ctx, u64 seqno, u64 value);

static struct rchan *channel;
static struct trace_buffer *ring;
static struct dentry *folder;

static void way_nothing(u64 i)
{
	barrier();
}

static void way_clock(u64 i)
{
	ktime_get_mono_fast_ns();
}

static noinline void empty(u64 head, u64 place, u64 ctx, u64 seqno, u64 value)
{
	barrier();
}

/* The call that a probe makes, without what is called. */
static void way_call(u64 i)
{
	empty(GRTRACE_RECORD_SIZE | GRTRACE_FENCE << 16, 1, 7, i, 1);
}

static void way_grtrace(u64 i)
{
	grtrace_emit(GRTRACE_RECORD_SIZE | GRTRACE_FENCE << 16, 1, 7, i, 1);
}

static void way_relay_write(u64 i)
{
	u64 record[8] = { i, ktime_get_mono_fast_ns(), 1, 2, 3, 4, 5, 6 };

	relay_write(channel, record, sizeof(record));
}

static void way_ring_buffer(u64 i)
{
	struct ring_buffer_event *event = ring_buffer_lock_reserve(ring, 64);

	if (!event)
		return;
	memset(ring_buffer_event_data(event), (int)i, 64);
#ifdef HAVE_COMMIT_EVENT
	ring_buffer_unlock_commit(ring, event);
#else
	ring_buffer_unlock_commit(ring);
#endif
}

static void way_trace_printk(u64 i)
{
	trace_printk("%llu %llu %llu\n", i, i, i);
}

static __always_inline u64 measure(void (*way)(u64))
{
	unsigned long flags;
	u64 begin;

	local_irq_save(flags);
	begin = ktime_get_ns();
	for (u64 i = 0; i < ROUNDS; i++)
		way(i);
	begin = ktime_get_ns() - begin;
	local_irq_restore(flags);
	return begin;
}

/* Instructions, less what `without` takes. */
static void tell(const char *name, void (*way)(u64), void (*without)(u64))
{
	u64 ns = measure(way) - measure(without);
	u64 hundredths = ns * 100 / NS_PER_INSN / ROUNDS;

	pr_info("grtrace_bench: %s %llu.%02llu\n", name, hundredths / 100, hundredths % 100);
}

static int keep_newest(struct rchan_buf *buf, void *subbuf, void *prev, size_t padding)
{
	return 1;
}

static struct dentry *make_file(const char *name, struct dentry *parent, umode_t mode,
				struct rchan_buf *buf, int *is_global)
{
	return debugfs_create_file(name, mode, parent, buf, &relay_file_operations);
}

static int remove_file(struct dentry *file)
{
	debugfs_remove(file);
	return 0;
}

static const struct rchan_callbacks callbacks = {
	.subbuf_start = keep_newest,
	.create_buf_file = make_file,
	.remove_buf_file = remove_file,
};

static int __init bench_init(void)
{
	folder = debugfs_create_dir("grtrace_bench", NULL);
	channel = relay_open("relay", folder, 65536, 16, &callbacks, NULL);
	ring = ring_buffer_alloc(1 << 20, RB_FL_OVERWRITE);
	if (!channel || !ring)
		return -ENOMEM;
	tell("clock", way_clock, way_nothing);
	tell("grtrace", way_grtrace, way_call);
	tell("relay_write", way_relay_write, way_nothing);
	tell("ring_buffer", way_ring_buffer, way_nothing);
	tell("trace_printk", way_trace_printk, way_nothing);
	relay_close(channel);
	ring_buffer_free(ring);
	debugfs_remove(folder);
	return 0;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Instructions per record");
MODULE_AUTHOR("TraceSmith");
MODULE_LICENSE("GPL");
