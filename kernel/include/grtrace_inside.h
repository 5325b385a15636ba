/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Shared parts of grtrace.ko and the eBPF backend: settings, and the reasons for which records are
 * left out. Programs that only read records need grtrace.h alone. */
#ifndef GRTRACE_INSIDE_H
#define GRTRACE_INSIDE_H

#include <linux/types.h>

#include "grtrace.h"

/* Why a record was not written. Those from GRTRACE_LOST_FIRST on have taken a cseq. */
enum grtrace_drop {
	GRTRACE_DROP_DISABLED, /* nothing runs, or level 0 */
	GRTRACE_DROP_FILTERED,
	GRTRACE_DROP_SAMPLED,
	GRTRACE_DROP_RATE,
	GRTRACE_DROP_BACKPRESSURE,
	GRTRACE_DROP_SHORT_WRITE, /* the buffer was full */
	GRTRACE_DROP_OVERSIZE,
	GRTRACE_DROP_COUNT
};
#define GRTRACE_LOST_FIRST GRTRACE_DROP_RATE
#define GRTRACE_DROP_NAMES                                                                        \
	"disabled", "filtered", "sampled", "rate_limited", "backpressure", "short_write", "oversize"

#define GRTRACE_ERRNO_MAX 132

#define GRTRACE_HIST_BUCKETS 40 /* bucket i: [2^(i-1), 2^i) ns; the last takes the rest */

struct grtrace_hist {
	__u64 count[GRTRACE_HIST_BUCKETS];
	__u64 sum;
};

/* Names of enum grtrace_type, from STREAM_INFO on. */
#define GRTRACE_TYPE_NAMES                                                                        \
	NULL, "STREAM_INFO", "METADATA", "COMMIT", "SUBMIT", "START", "END", "COMPLETE", "IRQ",    \
	"CTX_SWITCH", "SYNC_WAIT_ENTER", "SYNC_WAIT_EXIT", "FENCE", "ERROR",          \
	"CHANNEL_GROUP"

/* ---- settings ---------------------------------------------------------------------------- */

#define GRTRACE_LIST_MAX 32

struct grtrace_list {
	__u32 count;
	__u32 reserved;
	__u64 values[GRTRACE_LIST_MAX];
};

struct grtrace_config {
	__u64 level;  /* 0 nothing, 1 jobs, 2 also waits and fences' ends, 3 everything */
	__u64 sample; /* keep one job in so many */
	__u64 adaptive_sampling;
	__u64 max_events_per_sec;     /* 0: no limit */
	__u64 rate_limiter_mode;      /* 0 window, 1 token_bucket */
	__u64 backpressure_threshold; /* percent of the buffer; 0: none */
	__u64 filter_engine_mask;
	__s64 filter_ring_id; /* -1: all */
	__u64 filter_type_mask;
	struct grtrace_list pid_allow, pid_deny, ctx_allow, ctx_deny, ring_allow, ring_deny;
	__u64 overwrite;
	__u64 subbuf_size; /* bytes */
	__u64 subbuf_count;
	__u64 track_jobs; /* times of jobs, for histograms and rules */
};

enum grtrace_key_kind {
	GRTRACE_KEY_NUMBER,
	GRTRACE_KEY_RING, /* a number, or -1 for all */
	GRTRACE_KEY_MODE, /* a word of GRTRACE_MODE_NAMES */
	GRTRACE_KEY_LIST, /* numbers with commas */
};
#define GRTRACE_MODE_NAMES "window", "token_bucket"

/* K(member, kind, min, max, whether it cannot change while a session runs) */
#define GRTRACE_KEYS(K)                                                                           \
	K(level, NUMBER, 0, 3, 0)                                                                 \
	K(sample, NUMBER, 1, 1000000, 0)                                                          \
	K(adaptive_sampling, NUMBER, 0, 1, 0)                                                     \
	K(max_events_per_sec, NUMBER, 0, 1000000000, 0)                                           \
	K(rate_limiter_mode, MODE, 0, 1, 0)                                                       \
	K(backpressure_threshold, NUMBER, 0, 100, 0)                                              \
	K(filter_engine_mask, NUMBER, 0, ~0ull, 0)                                                \
	K(filter_ring_id, RING, 0, 65535, 0)                                                      \
	K(filter_type_mask, NUMBER, 0, ~0ull, 0)                                                  \
	K(pid_allow, LIST, 0, 0xffffffffull, 0)                                                   \
	K(pid_deny, LIST, 0, 0xffffffffull, 0)                                                    \
	K(ctx_allow, LIST, 0, ~0ull, 0)                                                           \
	K(ctx_deny, LIST, 0, ~0ull, 0)                                                            \
	K(ring_allow, LIST, 0, 65535, 0)                                                          \
	K(ring_deny, LIST, 0, 65535, 0)                                                           \
	K(overwrite, NUMBER, 0, 1, 1)                                                             \
	K(subbuf_size, NUMBER, 4096, 4 << 20, 1)                                                  \
	K(subbuf_count, NUMBER, 2, 1024, 1)                                                       \
	K(track_jobs, NUMBER, 0, 1, 0)

#define GRTRACE_CONFIG_DEFAULT                                                                    \
	{ .level = 2, .sample = 1, .filter_engine_mask = ~0ull, .filter_ring_id = -1,             \
	  .filter_type_mask = ~0ull, .subbuf_size = 64 << 10, .subbuf_count = 16, .track_jobs = 1 }

/* Memory for each CPU: 64 MiB of it are enough. */
#define GRTRACE_CPU_BUFFER_MAX (64u << 20)

/* Whether anything is left out on request or by limits. */
static inline int grtrace_config_leaves_out(const struct grtrace_config *c)
{
	return !c->level || c->sample > 1 || c->adaptive_sampling || c->max_events_per_sec ||
	       c->backpressure_threshold || c->filter_engine_mask != ~0ull ||
	       c->filter_ring_id >= 0 || c->filter_type_mask != ~0ull || c->pid_allow.count ||
	       c->pid_deny.count || c->ctx_allow.count || c->ctx_deny.count ||
	       c->ring_allow.count || c->ring_deny.count;
}

/* ---- engines ----------------------------------------------------------------------------- */

/* K(part of a ring's name, at most 8 letters; class): the first that is in the name counts. */
#define GRTRACE_ENGINE_WORDS(K)                                                                   \
	K("gfx", RENDER) K("rcs", RENDER) K("render", RENDER) K("comp", COMPUTE)                  \
	K("ccs", COMPUTE) K("sdma", COPY) K("dma", COPY) K("bcs", COPY) K("copy", COPY)           \
	K("vcn", VIDEO) K("vcs", VIDEO) K("vecs", VIDEO) K("uvd", VIDEO) K("vce", VIDEO)          \
	K("jpeg", VIDEO) K("cursor", DISPLAY) K("control", CONTROL)

/* ---- kinds of fences ---------------------------------------------------------------------- */

enum grtrace_fence_class {
	GRTRACE_CLASS_OTHER, /* a fence among others */
	GRTRACE_CLASS_JOB,   /* stands for a job that other probes submit */
	GRTRACE_CLASS_ALONE, /* stands for a job of a driver without tracepoints */
	GRTRACE_CLASS_PART,  /* of a job: that it was scheduled */
};

/* K(symbol of a fence's table of functions, class) */
#define GRTRACE_FENCE_CLASSES(K)                                                                  \
	K("drm_sched_fence_ops_finished", JOB) K("drm_sched_fence_ops_scheduled", PART)           \
	K("i915_fence_ops", JOB) K("nouveau_fence_ops_uevent", ALONE)                             \
	K("nouveau_fence_ops_legacy", ALONE)

#endif
