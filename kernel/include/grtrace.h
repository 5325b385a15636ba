/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Protocol between grtrace.ko and the programs that read it: the records in
 * /sys/kernel/debug/grtrace/records<cpu>, and nothing else. The same records come from the eBPF
 * backend and lie in the KERNEL_EVENTS chunks of a trace (docs/FORMAT.md).
 *
 * All numbers are in the CPU's byte order; only little-endian machines are supported. Every number
 * in an enum is in files: append only, never reuse.
 *
 * A reader goes from record to record by `size`, skips types that it does not know, and ignores
 * bytes after those that it knows.
 */
#ifndef GRTRACE_H
#define GRTRACE_H

#include <linux/types.h>

#define GRTRACE_VERSION_MAJOR 1
#define GRTRACE_VERSION_MINOR 0

#define GRTRACE_MAGIC       0x31545247u /* "GRT1", in STREAM_INFO */
#define GRTRACE_RECORD_SIZE 64u         /* of a record without body */
#define GRTRACE_SIZE_MAX    2048u       /* of any record; sizes are multiples of 8 */
#define GRTRACE_TEXT_SIZE   56u

enum grtrace_type {
	GRTRACE_STREAM_INFO = 1, /* first record of a session; body: struct grtrace_stream_info */
	GRTRACE_METADATA = 2,    /* body: struct grtrace_metadata */
	GRTRACE_COMMIT = 3,      /* the driver has made the job: from here on it has its number */
	GRTRACE_SUBMIT = 4,      /* the job is in its ring's software queue */
	GRTRACE_START = 5,       /* the ring took it */
	GRTRACE_END = 6,         /* the ring is done with it; value: ns at which the hardware said so */
	GRTRACE_COMPLETE = 7,    /* whoever waits for it may go on; value: 0 or errno, positive */
	GRTRACE_IRQ = 8,         /* value: number of the interrupt */
	GRTRACE_CTX_SWITCH = 9,  /* the ring goes on with another ctx; value: the one before */
	GRTRACE_SYNC_WAIT_ENTER = 10, /* a thread waits for fence {ctx, seqno} */
	GRTRACE_SYNC_WAIT_EXIT = 11,
	GRTRACE_FENCE = 12,      /* value: enum grtrace_fence; a DEPENDENCY has a body */
	GRTRACE_ERROR = 13,      /* value: enum grtrace_error << 32 | errno, positive */
	GRTRACE_CHANNEL_GROUP = 14,   /* value: enum grtrace_group; body: struct grtrace_channel_group;
				       * ctx: runlist << 32 | tsg; seqno: generation */
	GRTRACE_TYPE_END
};

/* NVIDIA's open kernel module: the life of a group of channels. By the eBPF backend only. */
enum grtrace_group {
	GRTRACE_GROUP_CREATE = 1,  /* elsewhere TASK_INIT */
	GRTRACE_GROUP_BIND = 2,    /* SCHEDULE: allowed on its runlist; no switch of contexts */
	GRTRACE_GROUP_TOKEN = 3,   /* WORK_SUBMIT: a program asks for the number with which it rings the
				    * doorbell itself; not a launch, launches are not seen */
	GRTRACE_GROUP_DESTROY = 4, /* TASK_DESTROY */
	GRTRACE_GROUP_CHANGE = 5,  /* its timeslice or interleave level was set */
	GRTRACE_GROUP_END
};

enum grtrace_fence {
	GRTRACE_FENCE_INIT = 1,
	GRTRACE_FENCE_EMIT = 2,
	GRTRACE_FENCE_ENABLE = 3,     /* somebody wants to be told when it signals */
	GRTRACE_FENCE_SIGNALED = 4,
	GRTRACE_FENCE_DEPENDENCY = 5, /* job {ctx, seqno} waits; body: struct grtrace_dependency */
};

enum grtrace_error {
	GRTRACE_ERROR_JOB = 1,     /* the job ended with errno */
	GRTRACE_ERROR_TIMEOUT = 2, /* the scheduler or driver gave up waiting for a ring */
	GRTRACE_ERROR_RESET = 3,   /* a ring, a queue or the device was reset */
};

/* CPU events during a recording, from a collector of their own or from a file of ftrace or perf:
 * never from the module. Such records form sessions of their own, with STREAM_INFO, METADATA and
 * gseq. pid and tid run while the event happens; ctx is their cgroup. Unknown members are 0. */
enum grtrace_cpu_type {
	GRTRACE_CPU_SWITCH = 64, /* tid goes, another comes; value: its state, low byte 0: it could run
				  * on; seqno: the other, see below */
	GRTRACE_CPU_WAKEUP = 65, /* a thread can run; seqno: the other, see below */
	GRTRACE_CPU_IRQ_ENTER = 66, /* value: number of the interrupt; body: its handler's name */
	GRTRACE_CPU_IRQ_EXIT = 67,
	GRTRACE_CPU_BLOCK_ISSUE = 68, /* seqno: sector; value: number of the block device */
	GRTRACE_CPU_BLOCK_COMPLETE = 69,
	GRTRACE_CPU_TYPE_END
};

/* seqno of SWITCH and WAKEUP: the other thread in the low half, its process in the high half. The
 * body is its name, or that of an interrupt's handler. */
#define GRTRACE_CPU_NAME_SIZE 16u

/* Kinds of ring hardware. */
enum grtrace_engine {
	GRTRACE_ENGINE_UNKNOWN = 0,
	GRTRACE_ENGINE_RENDER = 1,
	GRTRACE_ENGINE_COMPUTE = 2,
	GRTRACE_ENGINE_COPY = 3,
	GRTRACE_ENGINE_VIDEO = 4,
	GRTRACE_ENGINE_DISPLAY = 5,
	GRTRACE_ENGINE_CONTROL = 6, /* a paravirtual device's command queue */
};

/* flags of a record */
#define GRTRACE_FLAG_IRQ      0x01u /* tid is of whatever the interrupt interrupted */
#define GRTRACE_FLAG_SLOW     0x02u /* a rule's threshold was passed: see the file `rules` */
#define GRTRACE_FLAG_INJECTED 0x04u /* written through the file `emit` */

/*
 * A job is {device, ring, ctx, seqno} for as long as its device is there; ctx and seqno are those of
 * the dma_fence that the program waits for. Where a driver numbers nothing (virtio-gpu without
 * fence), seqno has bit 63 and counts.
 */
struct grtrace_record {
	__u16 size;   /* of the whole record, in bytes; a multiple of 8 */
	__u8 type;    /* enum grtrace_type */
	__u8 flags;   /* GRTRACE_FLAG_* */
	__u16 cpu;
	__u8 device;  /* of METADATA_DEVICE, 0 unknown */
	__u8 engine;  /* enum grtrace_engine */
	__u64 ts_ns;  /* CLOCK_MONOTONIC; on each CPU in the order of gseq, between CPUs nearly */
	__u64 gseq;   /* place among all records of the session, from 0, without gaps */
	__u32 ring;   /* of METADATA_RING, 0 none */
	__u32 pid;    /* process that the job belongs to; where not known, the one that runs */
	__u32 cseq;   /* place on this CPU: dropped records count, so a gap is a loss */
	__u32 tid;    /* thread that runs */
	__u64 ctx;
	__u64 seqno;
	__u64 value;
};

enum grtrace_metadata_kind {
	GRTRACE_METADATA_KERNEL = 1, /* text: release */
	GRTRACE_METADATA_MODULE = 2, /* text: version of the module */
	GRTRACE_METADATA_DEVICE = 3, /* record.device; text: "driver name" */
	GRTRACE_METADATA_RING = 4,   /* record.device, ring, engine; text: the driver's name of it */
	GRTRACE_METADATA_PROBE = 5,  /* text: a tracepoint that is attached */
	GRTRACE_METADATA_CONFIG = 6, /* text: "key value", for what is not as by default */
	GRTRACE_METADATA_STOP = 7,   /* the session ends here */
};

struct grtrace_metadata {
	__u32 kind;
	__u32 reserved;
	char text[GRTRACE_TEXT_SIZE]; /* zero-terminated */
};

enum grtrace_clock {
	GRTRACE_CLOCK_MONOTONIC = 1,
};

/* feature bits: what the session can show */
#define GRTRACE_FEATURE_OVERWRITE 0x01ull /* the newest records are kept, not the oldest */
#define GRTRACE_FEATURE_FILTERED  0x02ull /* records were left out on request */
#define GRTRACE_FEATURE_BPF       0x04ull /* written by the eBPF backend */
#define GRTRACE_FEATURE_CPU       0x08ull /* records of enum grtrace_cpu_type */

struct grtrace_stream_info {
	__u32 magic; /* GRTRACE_MAGIC */
	__u16 major, minor;
	__u8 session[16]; /* random */
	__u64 features;   /* GRTRACE_FEATURE_* */
	__u64 start_monotonic_ns;
	__u64 start_realtime_ns;
	__u32 clock; /* enum grtrace_clock: of ts_ns */
	__u32 cpu_count;
	__u64 reserved;
};

/* Numbers as the driver has them. `known` has a GRTRACE_GROUP_HAS_* for each that could be
 * read. */
struct grtrace_channel_group {
	__u64 timeslice_us;
	__u32 tsg;        /* number on its runlist; used again after the group's end */
	__u32 runlist;
	__u32 channels;   /* in the group */
	__u32 engine;
	__u32 interleave; /* 1 low, 2 medium, 3 high */
	__u32 channel;    /* TOKEN */
	__u32 token;      /* TOKEN */
	__u32 allow;      /* BIND: 1, or 0 to take it off */
	__u32 generation; /* of {runlist, tsg}, from 1; 0: made before the session */
	__u32 known;
	char comm[16];    /* of the thread */
};
#define GRTRACE_GROUP_HAS_TSG        0x01u
#define GRTRACE_GROUP_HAS_RUNLIST    0x02u
#define GRTRACE_GROUP_HAS_CHANNELS   0x04u
#define GRTRACE_GROUP_HAS_ENGINE     0x08u
#define GRTRACE_GROUP_HAS_INTERLEAVE 0x10u
#define GRTRACE_GROUP_HAS_CHANNEL    0x20u
#define GRTRACE_GROUP_HAS_TOKEN      0x40u
#define GRTRACE_GROUP_HAS_ALLOW      0x80u
#define GRTRACE_GROUP_HAS_TIMESLICE  0x100u

struct grtrace_dependency {
	__u64 ctx;
	__u64 seqno;
};

#endif
