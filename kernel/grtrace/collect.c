// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the relay buffers: records0, records1, ...
 *
 * relay's own read() looks at `offset` and `subbufs_produced` while a writer switches between
 * sub-buffers, and now and then passes over one, or gives one that was read before. This one reads
 * sub-buffers that are complete, and only whole records of them; where there is none it asks the CPU
 * to complete the one that it writes. So each record that was written is read once, or counted as
 * overwritten.
 */
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/relay.h>
#include <linux/uaccess.h>

#include "core.h"

struct file_operations grtrace_records_operations; /* relay's, but for read */

static DEFINE_MUTEX(mutex); /* of readers, and of whoever switches a buffer from another CPU */
static u64 *starts; /* for each CPU and sub-buffer: records that the CPU had written before it */
static size_t starts_per_cpu;

/* ---- counting --------------------------------------------------------------------------- */

int grtrace_reader_begin(size_t subbuf_count)
{
	starts = kvcalloc((size_t)nr_cpu_ids * subbuf_count, sizeof(*starts), GFP_KERNEL);
	starts_per_cpu = subbuf_count;
	return starts ? 0 : -ENOMEM;
}

void grtrace_reader_end(void)
{
	kvfree(starts);
	starts = NULL;
}

static u64 *start_of(const struct rchan_buf *buf, size_t subbuf)
{
	return &starts[buf->cpu * starts_per_cpu + subbuf % starts_per_cpu];
}

static u64 written_ever(const struct grtrace_cpu *cpu)
{
	u64 sum = cpu->written_before;

	for (unsigned int i = 0; i < GRTRACE_TYPE_END; i++)
		sum += READ_ONCE(cpu->by_type[i]);
	return sum;
}

void grtrace_reader_subbuf(const struct rchan_buf *buf, const void *subbuf)
{
	*start_of(buf, (subbuf - buf->start) / buf->chan->subbuf_size) =
		written_ever(per_cpu_ptr(&grtrace_cpus, buf->cpu));
}

void grtrace_reader_reset(struct grtrace_cpu *cpu)
{
	cpu->written_before = written_ever(cpu);
}

/* Number of the sub-buffer to be read next. Those before it that were not read are overwritten. */
static size_t oldest(const struct rchan_buf *buf)
{
	size_t produced = smp_load_acquire(&buf->subbufs_produced);
	size_t count = buf->chan->n_subbufs;

	return produced - buf->subbufs_consumed >= count ? produced - count + 1
							 : buf->subbufs_consumed;
}

static u64 overwritten(const struct rchan_buf *buf, const struct grtrace_cpu *cpu)
{
	size_t next = oldest(buf);

	return next == buf->subbufs_consumed ? cpu->overwritten
					     : *start_of(buf, next) - cpu->collected;
}

void grtrace_reader_totals(struct rchan *chan, u64 *collected, u64 *lost)
{
	unsigned int number;

	*collected = *lost = 0;
	mutex_lock(&mutex);
	for_each_possible_cpu(number) {
		struct rchan_buf *buf = chan ? *per_cpu_ptr(chan->buf, number) : NULL;
		struct grtrace_cpu *cpu = per_cpu_ptr(&grtrace_cpus, number);

		*collected += cpu->collected;
		*lost += buf ? overwritten(buf, cpu) : 0;
	}
	mutex_unlock(&mutex);
}

/* ---- completing sub-buffers ------------------------------------------------------------- */

bool grtrace_may_switch(const struct rchan_buf *buf, bool overwrite)
{
	size_t waiting = READ_ONCE(buf->subbufs_produced) - smp_load_acquire(&buf->subbufs_consumed);

	return overwrite || waiting + 1 < buf->chan->n_subbufs;
}

/* Interrupts off, on the buffer's CPU; or the CPU is offline and stays so. */
static void complete_here(void *data)
{
	struct rchan_buf *buf = data;

	if (buf->offset && grtrace_may_switch(buf, false))
		relay_switch_subbuf(buf, 0);
}

static void complete_locked(struct rchan_buf *buf)
{
	cpus_read_lock();
	if (smp_call_function_single(buf->cpu, complete_here, buf, 1))
		complete_here(buf);
	cpus_read_unlock();
}

void grtrace_complete(struct rchan_buf *buf)
{
	mutex_lock(&mutex);
	complete_locked(buf);
	mutex_unlock(&mutex);
}

/* ---- read() ----------------------------------------------------------------------------- */

/* Bytes of the records from `at` on that fit into `room`, and how many records these are. */
static size_t whole_records(const u8 *at, size_t size, size_t room, u64 *count)
{
	size_t used = 0;

	*count = 0;
	while (size - used >= sizeof(struct grtrace_record)) {
		size_t own = READ_ONCE(((const struct grtrace_record *)(at + used))->size);

		if (own < sizeof(struct grtrace_record) || own > size - used || own > room - used)
			break;
		used += own;
		++*count;
	}
	return used;
}

static void consume(struct rchan_buf *buf, size_t next, size_t size, size_t end)
{
	if (buf->bytes_consumed + size < end) {
		buf->bytes_consumed += size;
		return;
	}
	buf->bytes_consumed = 0;
	smp_store_release(&buf->subbufs_consumed, next + 1); /* the writer may have it */
}

/* Copies the part of sub-buffer `next` that fits into `room`. -EAGAIN: it was overwritten
 * meanwhile. */
static ssize_t copy(struct rchan_buf *buf, size_t next, char __user *out, size_t room)
{
	struct grtrace_cpu *cpu = per_cpu_ptr(&grtrace_cpus, buf->cpu);
	size_t number = next % buf->chan->n_subbufs;
	size_t end = buf->chan->subbuf_size - buf->padding[number], size;
	const u8 *from = buf->start + number * buf->chan->subbuf_size + buf->bytes_consumed;
	bool failed;
	u64 count;

	size = whole_records(from, end - buf->bytes_consumed, room, &count);
	failed = copy_to_user(out, from, size);
	smp_rmb();
	if (READ_ONCE(buf->subbufs_produced) - next >= buf->chan->n_subbufs)
		return -EAGAIN;
	if (failed || !size)
		return failed ? -EFAULT : -EINVAL; /* not one record fits */
	cpu->collected += count;
	consume(buf, next, size, end);
	return size;
}

static ssize_t read_locked(struct rchan_buf *buf, char __user *out, size_t room)
{
	struct grtrace_cpu *cpu = per_cpu_ptr(&grtrace_cpus, buf->cpu);
	ssize_t got = -EAGAIN;

	if (READ_ONCE(buf->subbufs_produced) == buf->subbufs_consumed)
		complete_locked(buf);
	while (got == -EAGAIN) {
		size_t next = oldest(buf);

		if (READ_ONCE(buf->subbufs_produced) == next)
			return 0;
		if (next != buf->subbufs_consumed) {
			cpu->overwritten = overwritten(buf, cpu);
			consume(buf, next - 1, 0, 0);
		}
		got = copy(buf, next, out, room);
	}
	return got;
}

/* Whole records, as many as fit; 0 when there are no more for now. */
static ssize_t read(struct file *file, char __user *out, size_t room, loff_t *at)
{
	ssize_t got;

	mutex_lock(&mutex);
	got = read_locked(file->private_data, out, room);
	mutex_unlock(&mutex);
	if (got > 0)
		*at += got;
	return got;
}

/* While a file is open the module stays. */
void grtrace_reader_init(void)
{
	grtrace_records_operations = relay_file_operations;
	grtrace_records_operations.owner = THIS_MODULE;
	grtrace_records_operations.read = read;
	grtrace_records_operations.splice_read = NULL;
}
