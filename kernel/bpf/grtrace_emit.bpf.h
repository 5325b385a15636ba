/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Records, as grtrace/emit.c and gate.c of the module write them, into one ring buffer for all CPUs.
 * Included by grtrace.bpf.c alone.
 */
#ifndef GRTRACE_EMIT_BPF_H
#define GRTRACE_EMIT_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "kernel/include/grtrace_bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the tool sets it from the settings */
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct grtrace_bpf_cpu);
} cpus SEC(".maps");

/* Maps of their own, so that the tool finds them by name. */
struct grtrace_config config SEC(".data.config") = GRTRACE_CONFIG_DEFAULT;
struct grtrace_bpf_state state SEC(".data.state") = { 0 };

#define ADD(counter, value) __sync_fetch_and_add(&(counter), (value))

static __always_inline struct grtrace_bpf_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline void hist_add(struct grtrace_hist *hist, __u64 value)
{
	__u64 rest = value;
	__u32 bucket = value ? 1 : 0;

	if (rest >> 32) { rest >>= 32; bucket += 32; }
	if (rest >> 16) { rest >>= 16; bucket += 16; }
	if (rest >> 8) { rest >>= 8; bucket += 8; }
	if (rest >> 4) { rest >>= 4; bucket += 4; }
	if (rest >> 2) { rest >>= 2; bucket += 2; }
	if (rest >> 1) bucket++;
	if (bucket >= GRTRACE_HIST_BUCKETS)
		bucket = GRTRACE_HIST_BUCKETS - 1;
	ADD(hist->count[bucket], 1);
	ADD(hist->sum, value);
}

/* ---- what is left out -------------------------------------------------------------------- */

static __noinline int listed(const struct grtrace_list *list, __u64 value)
{
	for (__u32 i = 0; i < GRTRACE_LIST_MAX; i++) {
		if (i >= list->count)
			return 0;
		if (list->values[i] == value)
			return 1;
	}
	return 0;
}

static __always_inline int unwanted(const struct grtrace_list *allow,
				    const struct grtrace_list *deny, __u64 value)
{
	return (allow->count && !listed(allow, value)) || (deny->count && listed(deny, value));
}

static __noinline int filtered(const struct grtrace_record *r)
{
	if (!(config.filter_type_mask >> (r->type & 63) & 1) ||
	    !(config.filter_engine_mask >> (r->engine & 63) & 1))
		return 1;
	if (config.filter_ring_id >= 0 && r->ring != config.filter_ring_id)
		return 1;
	return unwanted(&config.pid_allow, &config.pid_deny, r->pid) ||
	       unwanted(&config.ctx_allow, &config.ctx_deny, r->ctx) ||
	       unwanted(&config.ring_allow, &config.ring_deny, r->ring);
}

static __always_inline __u64 fill_percent(void)
{
	__u64 size = bpf_ringbuf_query(&records, BPF_RB_RING_SIZE);

	return size ? bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) * 100 / size : 0;
}

/* Whole jobs are kept or left out, and the same ones as by the module: its hash_64(ctx, 16). */
static __noinline int sampled_out(const struct grtrace_record *r, struct grtrace_bpf_cpu *cpu)
{
	__u64 every = config.sample, number, full = config.adaptive_sampling ? fill_percent() : 0;

	if (r->seqno)
		number = r->seqno + (r->ctx * 0x61c8864680b583ebull >> 48);
	else
		number = ADD(cpu->sampled_whole, 1);
	if (full >= 50)
		every *= full >= 75 ? 8 : 2;
	return every > 1 && number % every != 0;
}

static __always_inline int window_full(__u64 now_ns)
{
	__u64 start_ns = state.window_start_ns;

	if (now_ns - start_ns >= 1000000000 &&
	    __sync_val_compare_and_swap(&state.window_start_ns, start_ns, now_ns) == start_ns)
		state.window_count = 0;
	return ADD(state.window_count, 1) >= config.max_events_per_sec;
}

/* A bucket of a tenth of a second's tokens, kept as the time up to which they are spent. */
static __always_inline int bucket_empty(__u64 now_ns)
{
	__u64 token_ns = 1000000000 / (config.max_events_per_sec ?: 1), depth_ns = 100000000;

	if (token_ns > depth_ns)
		depth_ns = token_ns;
	for (int i = 0; i < 8; i++) {
		__u64 old_ns = state.bucket_ns, spent_ns = old_ns;

		if (spent_ns + depth_ns < now_ns)
			spent_ns = now_ns - depth_ns;
		if (spent_ns + token_ns > now_ns)
			return 1;
		if (__sync_val_compare_and_swap(&state.bucket_ns, old_ns, spent_ns + token_ns) == old_ns)
			return 0;
	}
	return 1; /* others were quicker eight times */
}

static __noinline int too_many(void)
{
	__u64 now_ns = bpf_ktime_get_ns();

	return config.rate_limiter_mode ? bucket_empty(now_ns) : window_full(now_ns);
}

/* GRTRACE_DROP_COUNT to let it pass. */
static __noinline int gate(const struct grtrace_record *r, struct grtrace_bpf_cpu *cpu)
{
	if (!config.level)
		return GRTRACE_DROP_DISABLED;
	if (filtered(r))
		return GRTRACE_DROP_FILTERED;
	if (sampled_out(r, cpu))
		return GRTRACE_DROP_SAMPLED;
	if (config.backpressure_threshold && r->type != GRTRACE_ERROR &&
	    fill_percent() >= config.backpressure_threshold)
		return GRTRACE_DROP_BACKPRESSURE;
	if (config.max_events_per_sec && too_many())
		return GRTRACE_DROP_RATE;
	return GRTRACE_DROP_COUNT;
}

/* ---- records ----------------------------------------------------------------------------- */

/* Takes the record's cseq, unless it is left out. The CPU's counters, or NULL. */
static __always_inline struct grtrace_bpf_cpu *begin(const struct grtrace_record *draft, __u32 *cseq)
{
	struct grtrace_bpf_cpu *cpu = this_cpu();
	int drop = GRTRACE_DROP_COUNT;

	if (!cpu)
		return NULL;
	if (!state.running ||
	    (state.running == GRTRACE_BPF_ENDING && draft->type != GRTRACE_METADATA))
		drop = GRTRACE_DROP_DISABLED;
	else if (state.leaves_out && draft->type > GRTRACE_METADATA)
		drop = gate(draft, cpu);
	if (drop >= 0 && drop < GRTRACE_DROP_COUNT) {
		ADD(cpu->dropped[drop], 1);
		if (drop >= GRTRACE_LOST_FIRST)
			ADD(cpu->cseq, 1);
		return NULL;
	}
	*cseq = ADD(cpu->cseq, 1);
	return cpu;
}

/* Size, time and places in order; the rest is the draft's. Reserving comes first: what is numbered
 * is written, so gseq has no gaps. */
static __always_inline __u64 complete(struct grtrace_record *to, const struct grtrace_record *draft,
				     __u16 size, __u32 cseq, struct grtrace_bpf_cpu *cpu)
{
	*to = *draft;
	to->size = size;
	to->cpu = bpf_get_smp_processor_id();
	to->cseq = cseq;
	ADD(cpu->by_type[draft->type & (GRTRACE_BPF_TYPES - 1)], 1);
	to->ts_ns = bpf_ktime_get_ns();
	to->gseq = ADD(state.gseq, 1);
	return to->ts_ns;
}

/* Global: verified once, by itself. A static function is verified again from each state in which it is
 * called, and kernels before 6.4 tell states apart by every number in them. */
__noinline int emit(const struct grtrace_record *draft)
{
	struct grtrace_record *to;
	struct grtrace_bpf_cpu *cpu;
	__u64 ts_ns;
	__u32 cseq;

	if (!draft)
		return 0;
	cpu = begin(draft, &cseq);
	if (!cpu)
		return 0;
	to = bpf_ringbuf_reserve(&records, sizeof(*to), 0);
	if (!to) {
		ADD(cpu->dropped[GRTRACE_DROP_SHORT_WRITE], 1);
		return 0;
	}
	ts_ns = complete(to, draft, sizeof(*to), cseq, cpu);
	bpf_ringbuf_submit(to, BPF_RB_NO_WAKEUP); /* the tool looks often enough by itself */
	if (!(cseq & 0xff))
		hist_add(&cpu->write_ns, bpf_ktime_get_ns() - ts_ns);
	return 1;
}

/* With a body of `size` bytes; inlined, since the buffer wants to know a size beforehand. */
static __always_inline int emit_body(const struct grtrace_record *draft, const void *body,
				     const __u16 size)
{
	struct grtrace_record *to;
	struct grtrace_bpf_cpu *cpu;
	__u32 cseq;

	cpu = begin(draft, &cseq);
	if (!cpu)
		return 0;
	to = bpf_ringbuf_reserve(&records, sizeof(*to) + size, 0);
	if (!to) {
		ADD(cpu->dropped[GRTRACE_DROP_SHORT_WRITE], 1);
		return 0;
	}
	complete(to, draft, sizeof(*to) + size, cseq, cpu);
	__builtin_memcpy(to + 1, body, size);
	bpf_ringbuf_submit(to, BPF_RB_NO_WAKEUP);
	ADD(cpu->long_bytes, sizeof(*to) + size);
	ADD(cpu->long_count, 1);
	return 1;
}

#endif
