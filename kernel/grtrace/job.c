// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs that are under way: who owns them, when they were submitted and taken, and the rules that
 * mark the slow ones. Two tables without chains: a collision forgets the older entry, and says so
 * in `result_hist` (untracked).
 */
#include <linux/hash.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "core.h"

/* ---- owners ------------------------------------------------------------------------------ */

#define OWNER_BITS 10

/* Written by one CPU at a time per ctx, read without lock: ctx is 0 while the rest changes. */
static struct {
	u64 ctx;
	struct grtrace_owner owner;
} owners[1 << OWNER_BITS];

struct grtrace_owner grtrace_owner_find(u64 ctx)
{
	u32 place = hash_64(ctx, OWNER_BITS);
	struct grtrace_owner owner = { 0 };

	if (ctx && smp_load_acquire(&owners[place].ctx) == ctx) {
		owner = owners[place].owner;
		smp_rmb();
		if (READ_ONCE(owners[place].ctx) != ctx)
			owner = (struct grtrace_owner){ 0 };
	}
	return owner;
}

void grtrace_owner_set(u64 ctx, struct grtrace_owner owner)
{
	u32 place = hash_64(ctx, OWNER_BITS);

	WRITE_ONCE(owners[place].ctx, 0);
	smp_wmb();
	owners[place].owner = owner;
	smp_store_release(&owners[place].ctx, ctx);
}

/* ---- rules ------------------------------------------------------------------------------- */

#define RULE_MAX 8

enum rule_metric { RULE_T_QUEUE, RULE_T_EXEC, RULE_METRICS };

static const char *const metric_names[] = { "t_queue", "t_exec" };

static struct rule {
	enum rule_metric metric;
	u64 above_ns;
	atomic64_t count;
} rules[RULE_MAX];
static unsigned int rule_count;
static u64 lowest_ns[RULE_METRICS] = { U64_MAX, U64_MAX };

static u8 apply_rules(enum rule_metric metric, u64 ns)
{
	if (likely(ns <= READ_ONCE(lowest_ns[metric])))
		return 0;
	for (unsigned int i = 0; i < smp_load_acquire(&rule_count); i++) {
		if (rules[i].metric == metric && ns > rules[i].above_ns)
			atomic64_inc(&rules[i].count);
	}
	return GRTRACE_FLAG_SLOW;
}

int grtrace_rules_show(char *out, size_t size)
{
	int used = 0;

	for (unsigned int i = 0; i < rule_count; i++)
		used += scnprintf(out + used, size - used, "%s %llu hits %lld\n",
				  metric_names[rules[i].metric], rules[i].above_ns,
				  atomic64_read(&rules[i].count));
	return used;
}

static int parse_rule(struct rule *rule, char *line)
{
	char *value = line + strcspn(line, " \t>");
	int metric;

	if (!*value)
		return -EINVAL;
	*value++ = 0;
	value += strspn(value, " \t>");
	metric = match_string(metric_names, ARRAY_SIZE(metric_names), line);
	if (metric < 0 || kstrtou64(value, 0, &rule->above_ns))
		return -EINVAL;
	rule->metric = metric;
	return 0;
}

/* Under grtrace_mutex. Lines "t_queue NANOSECONDS"; all rules are replaced, by none if empty. */
int grtrace_rules_write(char *text)
{
	struct rule made[RULE_MAX] = { 0 };
	u64 lowest[RULE_METRICS] = { U64_MAX, U64_MAX };
	unsigned int count = 0;
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		line = strim(line);
		if (!*line)
			continue;
		if (count == RULE_MAX || parse_rule(&made[count], line))
			return -EINVAL;
		lowest[made[count].metric] = min(lowest[made[count].metric],
						 made[count].above_ns);
		count++;
	}
	smp_store_release(&rule_count, 0);
	synchronize_rcu(); /* rules are looked at with interrupts off */
	memcpy(rules, made, sizeof(rules));
	memcpy(lowest_ns, lowest, sizeof(lowest_ns));
	smp_store_release(&rule_count, count);
	return 0;
}

/* ---- times ------------------------------------------------------------------------------- */

#define TRACK_BITS 11

static struct track {
	raw_spinlock_t lock;
	u64 ctx, seqno;
	u64 submit_ns, start_ns;
} *tracks;

static bool tracking(void)
{
	bool on;

	rcu_read_lock();
	on = grtrace_config_get()->track_jobs;
	rcu_read_unlock();
	return on && grtrace_running();
}

static struct track *track_lock(u64 ctx, u64 seqno, unsigned long *flags)
{
	struct track *track = &tracks[hash_64(ctx * 31 + seqno, TRACK_BITS)];

	raw_spin_lock_irqsave(&track->lock, *flags);
	return track;
}

static bool is(const struct track *track, u64 ctx, u64 seqno)
{
	return track->ctx == ctx && track->seqno == seqno;
}

static void track_submit(u64 ctx, u64 seqno)
{
	unsigned long flags;
	struct track *track = track_lock(ctx, seqno, &flags);

	if (track->ctx && !is(track, ctx, seqno))
		this_cpu_ptr(&grtrace_cpus)->jobs_untracked++;
	track->ctx = ctx;
	track->seqno = seqno;
	track->submit_ns = ktime_get_mono_fast_ns();
	track->start_ns = 0;
	raw_spin_unlock_irqrestore(&track->lock, flags);
}

static u8 track_start(u64 ctx, u64 seqno)
{
	unsigned long flags;
	struct track *track = track_lock(ctx, seqno, &flags);
	u8 marks = 0;

	if (is(track, ctx, seqno)) {
		track->start_ns = ktime_get_mono_fast_ns();
		grtrace_hist_add(&this_cpu_ptr(&grtrace_cpus)->queue_ns,
				 track->start_ns - track->submit_ns);
		marks = apply_rules(RULE_T_QUEUE, track->start_ns - track->submit_ns);
	}
	raw_spin_unlock_irqrestore(&track->lock, flags);
	return marks;
}

static u8 track_end(u64 ctx, u64 seqno)
{
	unsigned long flags;
	struct track *track = track_lock(ctx, seqno, &flags);
	u8 marks = 0;

	if (is(track, ctx, seqno)) {
		u64 exec_ns = ktime_get_mono_fast_ns() - track->start_ns;

		if (track->start_ns) {
			grtrace_hist_add(&this_cpu_ptr(&grtrace_cpus)->exec_ns, exec_ns);
			marks = apply_rules(RULE_T_EXEC, exec_ns);
		}
		track->ctx = 0;
	}
	raw_spin_unlock_irqrestore(&track->lock, flags);
	return marks;
}

/* ---- records ----------------------------------------------------------------------------- */

static u8 irq_flag(void)
{
	return in_hardirq() || in_serving_softirq() ? GRTRACE_FLAG_IRQ : 0;
}

static void emit(const struct grtrace_ring *ring, enum grtrace_type type, u8 flags, u32 pid,
		 u64 ctx, u64 seqno, u64 value)
{
	grtrace_emit(GRTRACE_HEAD(GRTRACE_RECORD_SIZE, type, flags | irq_flag(), ring->device,
				  ring->engine),
		     GRTRACE_PLACE(ring->id, pid ?: current->tgid), ctx, seqno, value);
}

void grtrace_job_submit(struct grtrace_ring *ring, u64 ctx, u64 seqno, u64 value)
{
	struct grtrace_owner owner = { .pid = current->tgid, .ring = ring->id,
				       .device = ring->device, .engine = ring->engine };

	grtrace_owner_set(ctx, owner);
	if (tracking())
		track_submit(ctx, seqno);
	emit(ring, GRTRACE_SUBMIT, 0, owner.pid, ctx, seqno, value);
}

void grtrace_job_start(struct grtrace_ring *ring, u64 ctx, u64 seqno)
{
	u8 marks = tracking() ? track_start(ctx, seqno) : 0;
	u32 pid = grtrace_owner_find(ctx).pid;
	u64 before = READ_ONCE(ring->last_ctx);

	if (before != ctx) {
		WRITE_ONCE(ring->last_ctx, ctx);
		emit(ring, GRTRACE_CTX_SWITCH, 0, pid, ctx, seqno, before);
	}
	emit(ring, GRTRACE_START, marks, pid, ctx, seqno, 0);
}

void grtrace_job_end(struct grtrace_ring *ring, u64 ctx, u64 seqno, u64 hardware_ns)
{
	u8 marks = tracking() ? track_end(ctx, seqno) : 0;

	emit(ring, GRTRACE_END, marks, grtrace_owner_find(ctx).pid, ctx, seqno, hardware_ns);
}

static void note(const struct grtrace_owner *owner, enum grtrace_type type, u64 ctx, u64 seqno,
		 u64 value)
{
	grtrace_emit(GRTRACE_HEAD(GRTRACE_RECORD_SIZE, type, irq_flag(), owner->device,
				  owner->engine),
		     GRTRACE_PLACE(owner->ring, owner->pid ?: current->tgid), ctx, seqno, value);
}

void grtrace_job_note(enum grtrace_type type, u64 ctx, u64 seqno, u64 value)
{
	struct grtrace_owner owner = grtrace_owner_find(ctx);

	note(&owner, type, ctx, seqno, value);
}

void grtrace_job_complete(const struct grtrace_ring *ring, u64 ctx, u64 seqno, int error)
{
	struct grtrace_owner owner = grtrace_owner_find(ctx);
	u32 number = error < 0 ? -error : error;
	struct grtrace_cpu *cpu;
	unsigned long flags;

	if (ring) {
		owner.ring = ring->id;
		owner.device = ring->device;
		owner.engine = ring->engine;
	}
	if (number)
		note(&owner, GRTRACE_ERROR, ctx, seqno, (u64)GRTRACE_ERROR_JOB << 32 | number);
	note(&owner, GRTRACE_COMPLETE, ctx, seqno, number);
	local_irq_save(flags);
	cpu = this_cpu_ptr(&grtrace_cpus);
	if (number) {
		cpu->jobs_failed++;
		cpu->jobs_by_errno[min_t(u32, number, GRTRACE_ERRNO_MAX)]++;
	} else {
		cpu->jobs_ok++;
	}
	local_irq_restore(flags);
}

void grtrace_rules_reset(void)
{
	for (unsigned int i = 0; i < rule_count; i++)
		atomic64_set(&rules[i].count, 0);
}

int grtrace_jobs_init(void)
{
	tracks = vzalloc(sizeof(*tracks) << TRACK_BITS);
	if (!tracks)
		return -ENOMEM;
	for (unsigned int i = 0; i < 1u << TRACK_BITS; i++)
		raw_spin_lock_init(&tracks[i].lock);
	return 0;
}

void grtrace_jobs_finish(void)
{
	vfree(tracks);
}
