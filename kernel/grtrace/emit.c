// SPDX-License-Identifier: GPL-2.0
/*
 * Writing records, and the session that they belong to.
 *
 * One relay channel per session: opened by start, kept for readers after stop, closed by the next
 * start or by unloading. Writers look at their CPU's buffer with interrupts off, so that
 * synchronize_rcu() waits for them.
 */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/utsname.h>
#include <linux/uuid.h>

#include "core.h"

DEFINE_PER_CPU(struct grtrace_cpu, grtrace_cpus);
DEFINE_MUTEX(grtrace_mutex);

static struct rchan *channel; /* that records go to; NULL: none */
static struct rchan *stopped_channel; /* that only readers use */
static atomic64_t gseq;
static bool overwrite;
static bool unloading;

/* Zero-capacity buffer installed while no session runs, so the fast path needs no extra check. */
static struct rchan_buf full_buf = { .offset = SIZE_MAX };
static u64 session_start_ns, session_stop_ns; /* the latter 0 while it runs */

/* ---- the way of each record -------------------------------------------------------------- */

static void *reserve(struct rchan_buf *buf, size_t size)
{
	void *place;

	if (buf->offset + size > buf->chan->subbuf_size &&
	    (!grtrace_may_switch(buf, overwrite) || !relay_switch_subbuf(buf, size)))
		return NULL;
	place = buf->data + buf->offset;
	buf->offset += size;
	return place;
}

/* One write in 256 is timed: the clock costs as much as the rest. */
static noinline void time_write(u64 begin_ns)
{
	grtrace_hist_add(this_cpu_ptr(&grtrace_cpus.write_ns), ktime_get_mono_fast_ns() - begin_ns);
}

static bool passes(struct grtrace_cpu *cpu, u64 head, u64 place, u64 ctx, u64 seqno)
{
	enum grtrace_drop drop = grtrace_gate(cpu, head, place, ctx, seqno);

	if (drop == GRTRACE_DROP_COUNT)
		return true;
	cpu->dropped[drop]++;
	cpu->cseq += drop >= GRTRACE_LOST_FIRST;
	return false;
}

/* Interrupts off. Any record, through the gate, into a new sub-buffer if need be. */
static bool write(u64 head, u64 place, u64 ctx, u64 seqno, u64 value, const void *body, size_t size)
{
	struct grtrace_cpu *cpu = this_cpu_ptr(&grtrace_cpus);
	struct grtrace_record *record;
	u8 type = GRTRACE_HEAD_TYPE(head);
	u32 cseq;

	if (cpu->buf == &full_buf) {
		cpu->dropped[GRTRACE_DROP_DISABLED]++;
		return false;
	}
	if (static_branch_unlikely(&grtrace_gated) && type > GRTRACE_METADATA &&
	    !passes(cpu, head, place, ctx, seqno))
		return false;
	cseq = cpu->cseq++;
	record = reserve(cpu->buf, sizeof(*record) + size);
	if (!record) {
		cpu->dropped[GRTRACE_DROP_SHORT_WRITE]++;
		return false;
	}
	*(u64 *)record = head | cpu->head;
	*(u64 *)&record->ring = place;
	record->cseq = cseq;
	record->tid = current->pid;
	record->ctx = ctx;
	record->seqno = seqno;
	record->value = value;
	memcpy(record + 1, body, size);
	cpu->by_type[type]++;
	record->ts_ns = ktime_get_mono_fast_ns();
	record->gseq = atomic64_fetch_inc_relaxed(&gseq);
	if (!(cseq & 0xff))
		time_write(record->ts_ns);
	return true;
}

static noinline void emit_slowly(u64 head, u64 place, u64 ctx, u64 seqno, u64 value)
{
	unsigned long flags;

	local_irq_save(flags);
	write(head, place, ctx, seqno, value, NULL, 0);
	local_irq_restore(flags);
}

/*
 * The way of nearly all records: write() for a record without body, where nothing is gated and the
 * sub-buffer has room. What is not so is tried again by emit_slowly(), so that few registers are in
 * use across the call of the clock. tests/bench counts the instructions.
 */
void grtrace_emit(u64 head, u64 place, u64 ctx, u64 seqno, u64 value)
{
	struct grtrace_record *record;
	struct rchan_buf *buf;
	unsigned long flags;
	size_t offset;

	if (static_branch_unlikely(&grtrace_gated))
		return emit_slowly(head, place, ctx, seqno, value);
	local_irq_save(flags);
	buf = this_cpu_read(grtrace_cpus.buf);
	offset = buf->offset;
	if (unlikely(offset > this_cpu_read(grtrace_cpus.last_offset)))
		goto slowly;
	record = buf->data + offset;
	*(u64 *)record = head | this_cpu_read(grtrace_cpus.head);
	*(u64 *)&record->ring = place;
	buf->offset += sizeof(*record);
	record->cseq = this_cpu_read(grtrace_cpus.cseq);
	record->tid = current->pid;
	record->ctx = ctx;
	record->seqno = seqno;
	record->value = value;
	__this_cpu_inc(grtrace_cpus.cseq);
	__this_cpu_inc(grtrace_cpus.by_type[record->type]);
	record->ts_ns = ktime_get_mono_fast_ns();
	record->gseq = atomic64_fetch_inc_relaxed(&gseq);
	if (unlikely(!(u8)record->cseq))
		time_write(record->ts_ns);
	local_irq_restore(flags);
	return;
slowly:
	local_irq_restore(flags);
	emit_slowly(head, place, ctx, seqno, value);
}
EXPORT_SYMBOL_GPL(grtrace_emit);

static void drop_oversize(void)
{
	__this_cpu_inc(grtrace_cpus.cseq);
	__this_cpu_inc(grtrace_cpus.dropped[GRTRACE_DROP_OVERSIZE]);
}

void grtrace_emit_body(u64 head, u64 place, u64 ctx, u64 seqno, u64 value, const void *body,
		       size_t size)
{
	unsigned long flags;

	local_irq_save(flags);
	if (sizeof(struct grtrace_record) + size > GRTRACE_SIZE_MAX) {
		drop_oversize();
	} else if (write(head + size, place, ctx, seqno, value, body, size)) {
		__this_cpu_add(grtrace_cpus.long_bytes, sizeof(struct grtrace_record) + size);
		__this_cpu_inc(grtrace_cpus.long_count);
	}
	local_irq_restore(flags);
}

void grtrace_metadata(enum grtrace_metadata_kind kind, u8 device, u32 ring, u8 engine,
		      const char *text)
{
	struct grtrace_metadata body = { .kind = kind };

	strscpy(body.text, text, sizeof(body.text));
	grtrace_emit_body(GRTRACE_HEAD(GRTRACE_RECORD_SIZE, GRTRACE_METADATA, 0, device, engine),
			  GRTRACE_PLACE(ring, current->tgid), 0, 0, 0, &body, sizeof(body));
}

/* ---- CPUs ------------------------------------------------------------------------------- */

static void join(struct rchan_buf *buf, unsigned int number)
{
	struct grtrace_cpu *cpu = per_cpu_ptr(&grtrace_cpus, number);

	cpu->head = (u64)number << GRTRACE_HEAD_CPU_SHIFT;
	cpu->last_offset = buf->chan->subbuf_size - sizeof(struct grtrace_record);
	WRITE_ONCE(cpu->buf, buf);
}

static void join_all(struct rchan *chan)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct grtrace_cpu *own = per_cpu_ptr(&grtrace_cpus, cpu);

		own->cseq = 0;
		own->written_before = own->collected = own->overwritten = 0;
		if (*per_cpu_ptr(chan->buf, cpu))
			join(*per_cpu_ptr(chan->buf, cpu), cpu);
	}
}

void grtrace_leave(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu_ptr(&grtrace_cpus, cpu)->buf, &full_buf);
	synchronize_rcu(); /* writers have interrupts off */
}

/* ---- relay's callbacks ------------------------------------------------------------------- */

/* Called for a new buffer, too: a CPU that comes while a session runs takes part in it. */
static int subbuf_start(struct rchan_buf *buf, void *subbuf, void *prev_subbuf,
			size_t prev_padding)
{
	grtrace_reader_subbuf(buf, subbuf);
	if (!prev_subbuf && grtrace_running())
		join(buf, buf->cpu);
	return overwrite || !relay_buf_full(buf);
}

static struct dentry *create_buf_file(const char *filename, struct dentry *parent, umode_t mode,
				      struct rchan_buf *buf, int *is_global)
{
	return debugfs_create_file(filename, 0400, parent, buf, &grtrace_records_operations);
}

static int remove_buf_file(struct dentry *dentry)
{
	debugfs_remove(dentry);
	return 0;
}

static const struct rchan_callbacks callbacks = {
	.subbuf_start = subbuf_start,
	.create_buf_file = create_buf_file,
	.remove_buf_file = remove_buf_file,
};

/* ---- the session ------------------------------------------------------------------------- */

bool grtrace_running(void)
{
	return READ_ONCE(channel);
}

u64 grtrace_next_gseq(void)
{
	return atomic64_read(&gseq);
}

u64 grtrace_session_start_ns(void)
{
	return session_start_ns;
}

u64 grtrace_session_end_ns(void)
{
	return session_stop_ns ?: ktime_get_ns();
}

static void stream_info(const struct grtrace_config *config)
{
	struct grtrace_stream_info info = {
		.magic = GRTRACE_MAGIC,
		.major = GRTRACE_VERSION_MAJOR,
		.minor = GRTRACE_VERSION_MINOR,
		.features = (config->overwrite ? GRTRACE_FEATURE_OVERWRITE : 0) |
			    (grtrace_config_leaves_out(config) ? GRTRACE_FEATURE_FILTERED : 0),
		.start_monotonic_ns = ktime_get_ns(),
		.start_realtime_ns = ktime_get_real_ns(),
		.clock = GRTRACE_CLOCK_MONOTONIC,
		.cpu_count = num_possible_cpus(),
	};

	generate_random_uuid(info.session);
	session_start_ns = info.start_monotonic_ns;
	session_stop_ns = 0;
	grtrace_emit_body(GRTRACE_HEAD(GRTRACE_RECORD_SIZE, GRTRACE_STREAM_INFO, 0, 0, 0),
			  GRTRACE_PLACE(0, current->tgid), 0, 0, 0, &info, sizeof(info));
}

static void describe(const struct grtrace_config *config)
{
	stream_info(config);
	grtrace_metadata(GRTRACE_METADATA_KERNEL, 0, 0, 0, init_utsname()->release);
	grtrace_metadata(GRTRACE_METADATA_MODULE, 0, 0, 0, GRTRACE_MODULE_VERSION);
	grtrace_config_metadata();
	grtrace_rings_metadata();
}

void grtrace_close(void)
{
	if (stopped_channel)
		relay_close(stopped_channel);
	stopped_channel = NULL;
	grtrace_reader_end();
}

void grtrace_read_totals(u64 *collected, u64 *overwritten)
{
	mutex_lock(&grtrace_mutex);
	grtrace_reader_totals(channel ?: stopped_channel, collected, overwritten);
	mutex_unlock(&grtrace_mutex);
}

int grtrace_start(void)
{
	struct grtrace_config config;
	struct rchan *chan = NULL;

	if (unloading)
		return -ESHUTDOWN;
	if (channel)
		return -EALREADY;
	grtrace_close();
	rcu_read_lock();
	config = *grtrace_config_get();
	rcu_read_unlock();
	overwrite = config.overwrite;
	if (!grtrace_reader_begin(config.subbuf_count))
		chan = relay_open("records", grtrace_folder, config.subbuf_size,
				  config.subbuf_count, &callbacks, NULL);
	if (!chan) {
		grtrace_reader_end();
		return -ENOMEM;
	}
	atomic64_set(&gseq, 0);
	grtrace_stats_reset();
	cpus_read_lock();
	WRITE_ONCE(channel, chan);
	join_all(chan);
	cpus_read_unlock();
	describe(&config);
	grtrace_attach_start(config.level);
	grtrace_attach_metadata();
	return 0;
}

/* relay_flush() would switch other CPUs' buffers under their writers. */
static void flush(struct rchan *chan)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		if (*per_cpu_ptr(chan->buf, cpu))
			grtrace_complete(*per_cpu_ptr(chan->buf, cpu));
	}
}

void grtrace_flush(void)
{
	struct rchan *chan = channel ?: stopped_channel;

	if (chan)
		flush(chan);
}

void grtrace_stop(void)
{
	struct rchan *chan = channel;

	if (!chan)
		return;
	grtrace_attach_stop();
	grtrace_metadata(GRTRACE_METADATA_STOP, 0, 0, 0, "");
	cpus_read_lock();
	WRITE_ONCE(channel, NULL);
	grtrace_leave();
	cpus_read_unlock();
	session_stop_ns = ktime_get_ns();
	flush(chan);
	stopped_channel = chan;
}

void grtrace_shutdown(void)
{
	mutex_lock(&grtrace_mutex);
	grtrace_stop();
	unloading = true; /* `control` may be open still */
	mutex_unlock(&grtrace_mutex);
}
