// SPDX-License-Identifier: GPL-2.0
/* Leaves records out on request: filters, sampling, limits. Guarded by a static key, so that it
 * costs one no-op while nothing is asked for. */
#include <linux/hash.h>
#include <linux/math64.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "core.h"

DEFINE_STATIC_KEY_FALSE(grtrace_gated);

static bool listed(const struct grtrace_list *list, u64 value)
{
	for (u32 i = 0; i < list->count; i++) {
		if (list->values[i] == value)
			return true;
	}
	return false;
}

static bool wanted(const struct grtrace_list *allow, const struct grtrace_list *deny, u64 value)
{
	return (!allow->count || listed(allow, value)) && !listed(deny, value);
}

static bool filtered(const struct grtrace_config *config, u64 head, u32 ring, u32 pid, u64 ctx)
{
	if (!(config->filter_type_mask >> GRTRACE_HEAD_TYPE(head) & 1))
		return true;
	if (!(config->filter_engine_mask >> (GRTRACE_HEAD_ENGINE(head) & 63) & 1))
		return true;
	if (config->filter_ring_id >= 0 && ring != config->filter_ring_id)
		return true;
	return !wanted(&config->pid_allow, &config->pid_deny, pid) ||
	       !wanted(&config->ctx_allow, &config->ctx_deny, ctx) ||
	       !wanted(&config->ring_allow, &config->ring_deny, ring);
}

/* Percent of the sub-buffers that wait for a reader; the one that is being written never does. */
static unsigned int fill(const struct rchan_buf *buf)
{
	size_t waiting = buf->subbufs_produced - buf->subbufs_consumed;

	return min_t(size_t, waiting * 100 / (buf->chan->n_subbufs - 1), 100);
}

/* Whole jobs are kept or left out: what has a number is chosen by it. */
static bool sampled_out(const struct grtrace_config *config, struct grtrace_cpu *cpu, u64 ctx,
			u64 seqno)
{
	u64 every = config->sample;
	unsigned int full = config->adaptive_sampling ? fill(cpu->buf) : 0;
	u64 number = seqno ? seqno + hash_64(ctx, 16) : cpu->sampled_whole++;
	u64 left;

	if (full >= 50)
		every *= full >= 75 ? 8 : 2;
	div64_u64_rem(number, every, &left);
	return left != 0;
}

/* ---- rate -------------------------------------------------------------------------------- */

static struct {
	raw_spinlock_t lock;
	u64 window_start_ns;
	u64 window_count;
	u64 tokens_ns; /* time's worth of tokens: a token is 10^9 / rate of it */
	u64 filled_ns;
} rate = { .lock = __RAW_SPIN_LOCK_UNLOCKED(rate.lock) };

static bool window_full(u64 now_ns, u64 events_max)
{
	if (now_ns - rate.window_start_ns >= NSEC_PER_SEC) {
		rate.window_start_ns = now_ns;
		rate.window_count = 0;
	}
	return rate.window_count++ >= events_max;
}

/* The bucket holds a tenth of a second's events, at least one. */
static bool bucket_empty(u64 now_ns, u64 events_max)
{
	u64 token_ns = max_t(u64, NSEC_PER_SEC / events_max, 1);
	u64 depth_ns = max_t(u64, NSEC_PER_SEC / 10, token_ns);

	rate.tokens_ns = min(rate.tokens_ns + (now_ns - rate.filled_ns), depth_ns);
	rate.filled_ns = now_ns;
	if (rate.tokens_ns < token_ns)
		return true;
	rate.tokens_ns -= token_ns;
	return false;
}

static bool too_many(const struct grtrace_config *config)
{
	u64 now_ns;
	bool many;

	raw_spin_lock(&rate.lock);
	now_ns = ktime_get_mono_fast_ns();
	many = config->rate_limiter_mode ? bucket_empty(now_ns, config->max_events_per_sec)
					 : window_full(now_ns, config->max_events_per_sec);
	raw_spin_unlock(&rate.lock);
	return many;
}

enum grtrace_drop grtrace_gate(struct grtrace_cpu *cpu, u64 head, u64 place, u64 ctx, u64 seqno)
{
	const struct grtrace_config *config = grtrace_config_get();

	if (!config->level)
		return GRTRACE_DROP_DISABLED;
	if (filtered(config, head, GRTRACE_PLACE_RING(place), GRTRACE_PLACE_PID(place), ctx))
		return GRTRACE_DROP_FILTERED;
	if (sampled_out(config, cpu, ctx, seqno))
		return GRTRACE_DROP_SAMPLED;
	if (config->backpressure_threshold && GRTRACE_HEAD_TYPE(head) != GRTRACE_ERROR &&
	    fill(cpu->buf) >= config->backpressure_threshold)
		return GRTRACE_DROP_BACKPRESSURE;
	if (config->max_events_per_sec && too_many(config))
		return GRTRACE_DROP_RATE;
	return GRTRACE_DROP_COUNT;
}
