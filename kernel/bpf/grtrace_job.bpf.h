/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Jobs that are under way, as grtrace/job.c of the module follows them: who owns them, when they were
 * submitted and taken. Rules are the module's alone. Included by grtrace.bpf.c alone.
 */
#ifndef GRTRACE_JOB_BPF_H
#define GRTRACE_JOB_BPF_H

#include "grtrace_ring.bpf.h"

#define OWNER_MAX 1024
#define TRACK_MAX 4096

struct owner {
	__u32 pid;
	__u32 ring;
	__u8 device;
	__u8 engine;
	__u16 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OWNER_MAX);
	__type(key, __u64); /* ctx */
	__type(value, struct owner);
} owners SEC(".maps");

struct track_key {
	__u64 ctx, seqno;
};
struct track {
	__u64 submit_ns, start_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TRACK_MAX);
	__type(key, struct track_key);
	__type(value, struct track);
} tracks SEC(".maps");

/* One of the two is there: kernels since 6.2 keep it with other things of a CPU. */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot___since_6_2 pcpu_hot __ksym __weak;

#define SOFTIRQ_SERVED 0x100
#define HARDIRQ_BITS   0xf0000

static __always_inline __u8 irq_flag(void)
{
	__u32 count = 0;

	if (bpf_core_type_exists(struct pcpu_hot___since_6_2))
		count = ((const struct pcpu_hot___since_6_2 *)bpf_this_cpu_ptr(&pcpu_hot))
				->preempt_count;
	else if (&__preempt_count)
		count = *(const int *)bpf_this_cpu_ptr(&__preempt_count);
	return count & (HARDIRQ_BITS | SOFTIRQ_SERVED) ? GRTRACE_FLAG_IRQ : 0;
}

static __always_inline void draft_begin(struct grtrace_record *draft, __u8 type, __u64 ctx,
					__u64 seqno, __u64 value)
{
	__builtin_memset(draft, 0, sizeof(*draft));
	draft->type = type;
	draft->flags = irq_flag();
	draft->tid = bpf_get_current_pid_tgid();
	draft->ctx = ctx;
	draft->seqno = seqno;
	draft->value = value;
}

static __always_inline void draft_ring(struct grtrace_record *draft,
				       const struct grtrace_bpf_ring *ring)
{
	const struct owner *owner = bpf_map_lookup_elem(&owners, &draft->ctx);

	if (ring) {
		draft->ring = ring->id;
		draft->device = ring->device;
		draft->engine = ring->engine;
	}
	draft->pid = owner ? owner->pid : 0;
	if (!draft->pid)
		draft->pid = bpf_get_current_pid_tgid() >> 32;
}

static __noinline int job_submit(const struct grtrace_bpf_ring *ring, __u64 ctx, __u64 seqno,
				 __u64 value)
{
	struct owner owner = { .pid = bpf_get_current_pid_tgid() >> 32 };
	struct grtrace_record draft;

	if (ring) {
		owner.ring = ring->id;
		owner.device = ring->device;
		owner.engine = ring->engine;
	}
	if (ctx)
		bpf_map_update_elem(&owners, &ctx, &owner, BPF_ANY);
	if (config.track_jobs) {
		struct track_key key = { ctx, seqno };
		struct track track = { .submit_ns = bpf_ktime_get_ns() };

		bpf_map_update_elem(&tracks, &key, &track, BPF_ANY);
	}
	draft_begin(&draft, GRTRACE_SUBMIT, ctx, seqno, value);
	draft_ring(&draft, ring);
	draft.pid = owner.pid;
	return emit(&draft);
}

static __always_inline void track_start(__u64 ctx, __u64 seqno)
{
	struct track_key key = { ctx, seqno };
	struct track *track = bpf_map_lookup_elem(&tracks, &key);
	struct grtrace_bpf_cpu *cpu = this_cpu();

	if (!cpu)
		return;
	if (!track) {
		ADD(cpu->jobs_untracked, 1);
		return;
	}
	track->start_ns = bpf_ktime_get_ns();
	hist_add(&cpu->queue_ns, track->start_ns - track->submit_ns);
}

static __always_inline void track_end(__u64 ctx, __u64 seqno)
{
	struct track_key key = { ctx, seqno };
	struct track *track = bpf_map_lookup_elem(&tracks, &key);
	struct grtrace_bpf_cpu *cpu = this_cpu();

	if (!cpu || !track)
		return;
	if (track->start_ns)
		hist_add(&cpu->exec_ns, bpf_ktime_get_ns() - track->start_ns);
	bpf_map_delete_elem(&tracks, &key);
}

static __noinline int job_start(struct grtrace_bpf_ring *ring, __u64 ctx, __u64 seqno)
{
	__u64 before = ring ? ring->last_ctx : ctx;
	struct grtrace_record draft;

	if (config.track_jobs)
		track_start(ctx, seqno);
	draft_begin(&draft, GRTRACE_CTX_SWITCH, ctx, seqno, before);
	draft_ring(&draft, ring);
	if (ring && before != ctx) {
		ring->last_ctx = ctx;
		emit(&draft);
	}
	draft.type = GRTRACE_START;
	draft.value = 0;
	return emit(&draft);
}

static __noinline int job_end(const struct grtrace_bpf_ring *ring, __u64 ctx, __u64 seqno,
			      __u64 hardware_ns)
{
	struct grtrace_record draft;

	if (config.track_jobs)
		track_end(ctx, seqno);
	draft_begin(&draft, GRTRACE_END, ctx, seqno, hardware_ns);
	draft_ring(&draft, ring);
	return emit(&draft);
}

/* Any other record about {ctx, seqno}, with what is known of ctx; of `ring`, if that is not NULL. */
static __noinline int job_tell(const struct grtrace_bpf_ring *ring, __u32 type, __u64 ctx,
			       __u64 seqno, __u64 value)
{
	const struct owner *owner = bpf_map_lookup_elem(&owners, &ctx);
	struct grtrace_record draft;

	draft_begin(&draft, type, ctx, seqno, value);
	if (owner) {
		draft.ring = owner->ring;
		draft.device = owner->device;
		draft.engine = owner->engine;
		draft.pid = owner->pid;
	}
	if (ring) {
		draft.ring = ring->id;
		draft.device = ring->device;
		draft.engine = ring->engine;
	}
	if (!draft.pid)
		draft.pid = bpf_get_current_pid_tgid() >> 32;
	return emit(&draft);
}

static __always_inline int job_note(__u32 type, __u64 ctx, __u64 seqno, __u64 value)
{
	return job_tell(NULL, type, ctx, seqno, value);
}

static __noinline int job_complete(const struct grtrace_bpf_ring *ring, __u64 ctx, __u64 seqno,
				   int error)
{
	__u32 number = error < 0 ? -error : error;
	struct grtrace_bpf_cpu *cpu = this_cpu();

	if (number)
		job_tell(ring, GRTRACE_ERROR, ctx, seqno,
			 (__u64)GRTRACE_ERROR_JOB << 32 | number);
	if (cpu && number) {
		__u64 slot = number < GRTRACE_ERRNO_MAX ? number : GRTRACE_ERRNO_MAX;

		barrier_var(slot); /* the verifier wants to see a mask, the compiler none */
		ADD(cpu->jobs_failed, 1);
		ADD(cpu->jobs_by_errno[slot & (GRTRACE_BPF_ERRNOS - 1)], 1);
	} else if (cpu) {
		ADD(cpu->jobs_ok, 1);
	}
	return job_tell(ring, GRTRACE_COMPLETE, ctx, seqno, number);
}

#endif
