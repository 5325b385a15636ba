/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Protocol between the collector of CPU events and its programs in the kernel
 * (kernel/bpf/cpu_events.bpf.c), apart from the records. */
#ifndef CPU_EVENTS_BPF_H
#define CPU_EVENTS_BPF_H

#include "kernel/include/grtrace.h"

/* Which events; 0: all. Switches and wake-ups count for both threads, others for the one that runs. */
struct cpu_events_filter {
	__u64 cgroup;
	__u32 pid, tid;
	__u32 device; /* block device: major << 20 | minor */
};

/* Counts of one CPU. */
struct cpu_events_count {
	__u64 lost;     /* the buffer was full */
	__u64 filtered; /* not asked for */
	__u64 pending;  /* lost since the CPU's last record: the next one says so in its cseq */
};

#endif
