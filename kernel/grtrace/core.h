/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside grtrace.ko. Records are made in three steps: a probe (probe_*.c) turns a driver's
 * tracepoint into a job or fence, job.c adds what is known of it and applies the rules, emit.c puts
 * the record into this CPU's relay buffer, behind the gate (gate.c) when there is one.
 */
#ifndef GRTRACE_CORE_H
#define GRTRACE_CORE_H

#include <linux/debugfs.h>
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/relay.h>
#include <linux/types.h>

#include "../include/grtrace_inside.h"

#define GRTRACE_MODULE_VERSION "1.0"

/* ---- counters ---------------------------------------------------------------------------- */

extern const char *const grtrace_drop_names[GRTRACE_DROP_COUNT];

/* Touched with interrupts off on its own CPU; read by anyone, racily. */
struct grtrace_cpu {
	struct rchan_buf *buf; /* of the session; one without room while none runs */
	u64 head;              /* the CPU's number, where a record's first 8 bytes have it */
	size_t last_offset;    /* in a sub-buffer, at which a record without body has room */
	u32 cseq;
	u64 written_before;         /* records of the session before reset_stats */
	u64 collected, overwritten; /* records of the session that were read, or never can be */
	u64 by_type[GRTRACE_TYPE_END];
	u64 dropped[GRTRACE_DROP_COUNT];
	u64 long_bytes; /* of records with a body */
	u64 long_count;
	struct grtrace_hist write_ns; /* every 256th write */
	struct grtrace_hist queue_ns; /* of jobs: submit to start */
	struct grtrace_hist exec_ns;  /* start to end */
	u64 sampled_whole;            /* counts what has no job, for sampling */
	u64 jobs_ok, jobs_failed, jobs_untracked;
	u64 jobs_by_errno[GRTRACE_ERRNO_MAX + 1]; /* the last takes the rest */
};

DECLARE_PER_CPU(struct grtrace_cpu, grtrace_cpus);

void grtrace_hist_add(struct grtrace_hist *hist, u64 value);
void grtrace_hist_total(struct grtrace_hist *out, size_t offset);
u64 grtrace_counter(size_t offset);
#define grtrace_total(member) grtrace_counter(offsetof(struct grtrace_cpu, member))
void grtrace_stats_reset(void);
u64 grtrace_stats_since_ns(void); /* the last reset */

/* ---- emit.c ------------------------------------------------------------------------------ */

/* The first 8 bytes of a record, without the CPU. */
#define GRTRACE_HEAD(size, type, flags, device, engine)                                           \
	((u64)(size) | (u64)(type) << 16 | (u64)(flags) << 24 | (u64)(device) << 48 |             \
	 (u64)(engine) << 56)
#define GRTRACE_HEAD_TYPE(head)   ((u8)((head) >> 16))
#define GRTRACE_HEAD_ENGINE(head) ((u8)((head) >> 56))
#define GRTRACE_HEAD_CPU_SHIFT    32

/* Bytes 24 to 31 of a record. */
#define GRTRACE_PLACE(ring, pid) ((u64)(ring) | (u64)(pid) << 32)
#define GRTRACE_PLACE_RING(place) ((u32)(place))
#define GRTRACE_PLACE_PID(place)  ((u32)((place) >> 32))

/* Any context but NMI. */
void grtrace_emit(u64 head, u64 place, u64 ctx, u64 seqno, u64 value);

/* With a body of `size` bytes, a multiple of 8. */
void grtrace_emit_body(u64 head, u64 place, u64 ctx, u64 seqno, u64 value, const void *body,
		       size_t size);

/* Tell what the session consists of; first records of a session, and again for what is new. */
void grtrace_metadata(enum grtrace_metadata_kind kind, u8 device, u32 ring, u8 engine,
		      const char *text);

bool grtrace_running(void);
void grtrace_leave(void); /* no CPU writes from here on */

/* Under grtrace_mutex. */
int grtrace_start(void);
void grtrace_stop(void);
void grtrace_flush(void);
void grtrace_close(void);
u64 grtrace_next_gseq(void);
/* Takes grtrace_mutex. */
void grtrace_read_totals(u64 *collected, u64 *overwritten);
u64 grtrace_session_start_ns(void);
u64 grtrace_session_end_ns(void); /* now, while it runs */

void grtrace_shutdown(void); /* stop, and start no more; takes the mutex itself */

extern struct mutex grtrace_mutex;
extern struct dentry *grtrace_folder;

/* ---- collect.c --------------------------------------------------------------------------- */

extern struct file_operations grtrace_records_operations;

void grtrace_reader_init(void);
int grtrace_reader_begin(size_t subbuf_count); /* before a channel is opened */
void grtrace_reader_end(void);                 /* after it is closed */

/* The writer begins a sub-buffer. Interrupts off. */
void grtrace_reader_subbuf(const struct rchan_buf *buf, const void *subbuf);
/* by_type is going to be zeroed. */
void grtrace_reader_reset(struct grtrace_cpu *cpu);

/*
 * May the writer go on to the next sub-buffer? relay must never come to have all of them produced: one
 * is always being written, so that a reader can tell complete ones from it.
 */
bool grtrace_may_switch(const struct rchan_buf *buf, bool overwrite);
/* Let readers have what is in the sub-buffer that is being written, unless there is no other. */
void grtrace_complete(struct rchan_buf *buf);
void grtrace_reader_totals(struct rchan *chan, u64 *collected, u64 *overwritten);

/* ---- gate.c ------------------------------------------------------------------------------ */

DECLARE_STATIC_KEY_FALSE(grtrace_gated);

/* Interrupts off. Returns GRTRACE_DROP_COUNT to let it pass. */
enum grtrace_drop grtrace_gate(struct grtrace_cpu *cpu, u64 head, u64 place, u64 ctx, u64 seqno);

/* ---- config.c ---------------------------------------------------------------------------- */

/* Under rcu_read_lock or with interrupts off. */
const struct grtrace_config *grtrace_config_get(void);
int grtrace_config_init(void);
void grtrace_config_finish(void);
/* "key value" of each that is not as by default, as METADATA. */
void grtrace_config_metadata(void);
int grtrace_config_show(char *out, size_t size);
int grtrace_config_write(char *text);

/* ---- ring.c ------------------------------------------------------------------------------ */

struct device;

struct grtrace_ring {
	const void *key;  /* the driver's object; NULL: its driver has gone */
	const char *name_at;
	struct device *dev_at;
	u32 id;
	u8 device;
	u8 engine;
	char name[32];
	u64 last_ctx; /* that the ring ran */
	u64 submitted, responded; /* jobs without number, counted */
};

/* Any context. Where there are too many: one of id 0. `name` and `dev` are looked at again. */
struct grtrace_ring *grtrace_ring_find(const void *key, const char *name, struct device *dev);
void grtrace_rings_forget(void); /* a driver has gone: addresses may come again */
void grtrace_rings_metadata(void);
int grtrace_rings_show(char *out, size_t size);
u8 grtrace_engine_of(const char *name);

/* ---- job.c ------------------------------------------------------------------------------- */

/* Owner of a fence context: who owns its jobs and where they run. */
struct grtrace_owner {
	u32 pid;
	u16 ring;
	u8 device;
	u8 engine;
};

struct grtrace_owner grtrace_owner_find(u64 ctx);
void grtrace_owner_set(u64 ctx, struct grtrace_owner owner);

void grtrace_job_submit(struct grtrace_ring *ring, u64 ctx, u64 seqno, u64 value);
void grtrace_job_start(struct grtrace_ring *ring, u64 ctx, u64 seqno);
void grtrace_job_end(struct grtrace_ring *ring, u64 ctx, u64 seqno, u64 hardware_ns);
/* `ring` NULL: that of ctx. */
void grtrace_job_complete(const struct grtrace_ring *ring, u64 ctx, u64 seqno, int error);
/* Any other record about {ctx, seqno}, with what is known of ctx. */
void grtrace_job_note(enum grtrace_type type, u64 ctx, u64 seqno, u64 value);
int grtrace_jobs_init(void);
void grtrace_jobs_finish(void);
void grtrace_rules_reset(void);

int grtrace_rules_show(char *out, size_t size);
int grtrace_rules_write(char *text);

/* ---- attach.c, probe_*.c ----------------------------------------------------------------- */

/* A member that the probes look at: where the headers have it. */
struct grtrace_member {
	const char *structure;
	const char *name;
	size_t offset;
};
#define GRTRACE_MEMBER(type, member) { #type, #member, offsetof(struct type, member) }

struct grtrace_probe {
	const char *name; /* of the tracepoint */
	void *function;
	const char *prototype; /* parameters as BTF has them: "struct drm_sched_job *,u32" */
	u8 level;              /* from which config.level on */
	const struct grtrace_member *members; /* to be where they are expected; ends with {} */
	const char *outer, *first; /* struct `outer` must begin with a struct `first`; or NULL */
};

/* Tables end with {}. Several rows of a name: the first whose prototype is that of the kernel. */
extern const struct grtrace_probe grtrace_sched_probes[], grtrace_fence_probes[],
	grtrace_virtio_probes[], grtrace_driver_probes[];
extern const struct grtrace_member grtrace_fence_members[];

int grtrace_level(void); /* of the running session, -1 none */
int grtrace_attach_init(void);
void grtrace_attach_finish(void);
void grtrace_attach_start(u8 level); /* under grtrace_mutex */
void grtrace_attach_stop(void);
int grtrace_attach_show(char *out, size_t size);
void grtrace_attach_metadata(void);
void grtrace_fence_forget(void);

struct drm_gpu_scheduler;
struct grtrace_ring *grtrace_sched_ring(const struct drm_gpu_scheduler *sched);

/* Under attach.c's mutex. */
void grtrace_timeout_attach(void);
void grtrace_timeout_detach(void);
bool grtrace_timeout_attached(void);

/* ---- btf.c ------------------------------------------------------------------------------- */

enum grtrace_check {
	GRTRACE_CHECK_UNKNOWN = 0, /* no BTF: believe the headers */
	GRTRACE_CHECK_SAME = 1,
	GRTRACE_CHECK_DIFFERS = 2,
};

struct grtrace_btf;

/* The types of `module` (NULL: the kernel's own), or NULL when there are none. May sleep. */
struct grtrace_btf *grtrace_btf_open(const char *module);
void grtrace_btf_close(struct grtrace_btf *btf);

/* Is tracepoint `probe->name` as the probe's functions expect it? On DIFFERS `found` says what
 * does. `btf` may be NULL. */
enum grtrace_check grtrace_btf_check(const struct grtrace_btf *btf,
				     const struct grtrace_probe *probe, char *found, size_t size);

/* ---- files.c ----------------------------------------------------------------------------- */

int grtrace_files_init(void);
void grtrace_files_finish(void);

#endif
