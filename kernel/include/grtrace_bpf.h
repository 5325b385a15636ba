/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Values of the maps that the eBPF programs (kernel/bpf/grtrace.bpf.c) share with the tool that
 * loads them. Both are built together, so none of them is an interface to others. */
#ifndef GRTRACE_BPF_H
#define GRTRACE_BPF_H

#include "grtrace_inside.h"

#define GRTRACE_BPF_VERSION "bpf 1.0"

#define GRTRACE_BPF_BODY_MAX 64u
#define GRTRACE_BPF_TYPES    16 /* a power of two above GRTRACE_TYPE_END */
#define GRTRACE_BPF_ERRNOS   256 /* and one above GRTRACE_ERRNO_MAX */

/* State of one CPU. Interrupts may nest, so each number is added to in one instruction. */
struct grtrace_bpf_cpu {
	__u64 cseq;
	__u64 by_type[GRTRACE_BPF_TYPES];
	__u64 dropped[GRTRACE_DROP_COUNT];
	__u64 sampled_whole; /* counts what has no job, for sampling */
	__u64 jobs_ok, jobs_failed, jobs_untracked;
	__u64 jobs_by_errno[GRTRACE_BPF_ERRNOS]; /* GRTRACE_ERRNO_MAX: and all above */
	__u64 long_bytes, long_count; /* of records with a body */
	struct grtrace_hist write_ns; /* every 256th write */
	struct grtrace_hist queue_ns;
	struct grtrace_hist exec_ns;
};

enum grtrace_bpf_running {
	GRTRACE_BPF_STOPPED,
	GRTRACE_BPF_RUNNING,
	GRTRACE_BPF_ENDING, /* METADATA alone is written */
};

/* State of the session. */
struct grtrace_bpf_state {
	__u64 running; /* enum grtrace_bpf_running */
	__u64 leaves_out; /* grtrace_config_leaves_out() */
	__u64 gseq;
	__u64 start_ns;
	__u64 ring_count, device_count;
	__u64 unloads; /* of modules: addresses may come again, and have to be looked at again */
	__u64 window_start_ns, window_count; /* rate_limiter_mode 0 */
	__u64 bucket_ns;                     /* 1: the time to which tokens are spent */
	__u64 owner; /* the process that records the session; 0: it goes on without one */
	__u64 missed; /* set at the end: programs that were not run, being interrupted by themselves */
};

/* The driver's object that stands for a ring, its name and its device: where they lie. */
struct grtrace_bpf_ring_key {
	__u64 object, name, device;
};

struct grtrace_bpf_ring {
	__u32 id;
	__u8 device;
	__u8 engine;
	__u16 reserved;
	char name[32]; /* zeroes after it */
	__u64 last_ctx;             /* that the ring ran */
	__u64 submitted, responded; /* jobs without number, counted */
	__u64 unloads;              /* when it was looked at last */
};

/* The ring of this name, whichever object it was last; by which a driver that comes again gets the same. */
struct grtrace_bpf_ring_name {
	char name[32];
	__u64 device;
};

struct grtrace_bpf_class {
	__u64 unloads;
	__u32 class; /* enum grtrace_fence_class */
	__u32 reserved;
};

struct grtrace_bpf_text {
	char text[GRTRACE_TEXT_SIZE];
};

/* Records that the tool puts into the stream by running the program `tell_record`. */
struct grtrace_bpf_told {
	__u64 type, flags;
	__u64 device, ring, engine;
	__u64 pid; /* 0: the tool's */
	__u64 ctx, seqno, value;
	__u64 count; /* of records without body: seqno counts on */
	__u64 body_size; /* 0 or GRTRACE_BPF_BODY_MAX */
	__u8 body[GRTRACE_BPF_BODY_MAX];
};

/* ---- NVIDIA ------------------------------------------------------------------------------ */

/* K(struct of the driver, member): what the programs read. Places differ from version to version; the
 * tool finds them in the module's types, or is told. */
#define GRTRACE_NVIDIA_MEMBERS(K)                                                                 \
	K(KernelChannelGroup, grpID)                                                              \
	K(KernelChannelGroup, runlistId)                                                          \
	K(KernelChannelGroup, chanCount)                                                          \
	K(KernelChannelGroup, engineType)                                                         \
	K(KernelChannelGroup, timesliceUs)                                                        \
	K(KernelChannelGroup, pInterleaveLevel)                                                   \
	K(KernelChannelGroupApi, pKernelChannelGroup)                                             \
	K(KernelChannel, pKernelChannelGroupApi)                                                  \
	K(KernelChannel, ChID)

enum grtrace_nvidia_member {
#define ROW(structure, member) GRTRACE_NVIDIA_##structure##_##member,
	GRTRACE_NVIDIA_MEMBERS(ROW)
#undef ROW
	GRTRACE_NVIDIA_MEMBER_COUNT
};

struct grtrace_nvidia_layout {
	struct {
		__u32 offset;
		__u32 size; /* 0: not known */
	} members[GRTRACE_NVIDIA_MEMBER_COUNT];
};

#endif
