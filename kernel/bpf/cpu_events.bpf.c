// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Records CPU events as in kernel/include/grtrace.h: thread switches, interrupts, block I/O. Events
 * that nobody asked for are left out here, before they cost anything. */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel/include/cpu_events_bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Structs of the kernel, found by name when this is loaded (kernel_structs.h has the GPU's). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
	unsigned long long id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
struct task_struct {
	int pid;
	int tgid;
	unsigned int __state;
	char comm[16];
	struct css_set *cgroups;
};
struct irqaction {
	const char *name;
};
struct gendisk {
	int major;
	int first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct request {
	struct request_queue *q;
	unsigned long long __sector;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22); /* the tool sets it */
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_events_count);
} counts SEC(".maps");

/* Constants: what is not asked for is not even compiled in. */
const volatile struct cpu_events_filter filter = {};

/* With room for a name: one size, so that the verifier knows it. */
struct out {
	struct grtrace_record record;
	char name[GRTRACE_CPU_NAME_SIZE];
};

static __always_inline int is_wanted(__u32 tid, __u32 pid, __u64 cgroup)
{
	return (!filter.pid || filter.pid == pid) && (!filter.tid || filter.tid == tid) &&
	       (!filter.cgroup || filter.cgroup == cgroup);
}

/* The thread that runs. */
static __always_inline int current_wanted(void)
{
	__u64 both = bpf_get_current_pid_tgid();

	return is_wanted((__u32)both, (__u32)(both >> 32), bpf_get_current_cgroup_id());
}

static __always_inline int task_wanted(struct task_struct *task)
{
	__u64 cgroup = filter.cgroup ? BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id) : 0;

	return is_wanted(task->pid, task->tgid, cgroup);
}

/* Room for an event, filled with what all have; NULL: the buffer is full, and that is counted. */
static __always_inline struct out *begin(__u8 type)
{
	__u64 both = bpf_get_current_pid_tgid();
	struct cpu_events_count *count;
	struct out *out;
	__u32 zero = 0;

	count = bpf_map_lookup_elem(&counts, &zero);
	if (!count)
		return NULL;
	out = bpf_ringbuf_reserve(&records, sizeof(*out), 0);
	if (!out) {
		__sync_fetch_and_add(&count->pending, 1);
		__sync_fetch_and_add(&count->lost, 1);
		return NULL;
	}
	__builtin_memset(out, 0, sizeof(*out));
	out->record.size = sizeof(*out);
	out->record.type = type;
	out->record.cpu = bpf_get_smp_processor_id();
	out->record.pid = both >> 32;
	out->record.tid = (__u32)both;
	/* An interrupt may come between: the tool numbers records, here is how many are missing. */
	out->record.cseq = __sync_lock_test_and_set(&count->pending, 0);
	out->record.ctx = bpf_get_current_cgroup_id();
	out->record.ts_ns = bpf_ktime_get_ns();
	return out;
}

static __always_inline int end(struct out *out)
{
	bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP); /* the tool looks often enough by itself */
	return 0;
}

static __always_inline int left_out(void)
{
	__u32 zero = 0;
	struct cpu_events_count *count = bpf_map_lookup_elem(&counts, &zero);

	if (count)
		__sync_fetch_and_add(&count->filtered, 1);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct out *out;

	if (!current_wanted() && !task_wanted(next))
		return left_out();
	out = begin(GRTRACE_CPU_SWITCH);
	if (!out)
		return 0;
	out->record.seqno = (__u64)next->tgid << 32 | (__u32)next->pid;
	out->record.value = preempt ? 0 : prev->__state & 0xff;
	bpf_probe_read_kernel(out->name, sizeof(out->name), next->comm);
	return end(out);
}

static __always_inline int on_wakeup(struct task_struct *task)
{
	struct out *out;

	if (!current_wanted() && !task_wanted(task))
		return left_out();
	out = begin(GRTRACE_CPU_WAKEUP);
	if (!out)
		return 0;
	out->record.seqno = (__u64)task->tgid << 32 | (__u32)task->pid;
	bpf_probe_read_kernel(out->name, sizeof(out->name), task->comm);
	return end(out);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *task)
{
	return on_wakeup(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *task)
{
	return on_wakeup(task);
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq, struct irqaction *action)
{
	struct out *out;

	if (!current_wanted())
		return left_out();
	out = begin(GRTRACE_CPU_IRQ_ENTER);
	if (!out)
		return 0;
	out->record.flags = GRTRACE_FLAG_IRQ;
	out->record.value = irq;
	bpf_probe_read_kernel_str(out->name, sizeof(out->name), action->name);
	return end(out);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq)
{
	struct out *out;

	if (!current_wanted())
		return left_out();
	out = begin(GRTRACE_CPU_IRQ_EXIT);
	if (!out)
		return 0;
	out->record.flags = GRTRACE_FLAG_IRQ;
	out->record.value = irq;
	return end(out);
}

static __always_inline int on_block(struct request *rq, __u8 type)
{
	struct gendisk *disk = NULL;
	__u32 device = 0;
	struct out *out;

	if (bpf_core_field_exists(rq->q->disk))
		disk = rq->q->disk;
	if (disk)
		device = (__u32)disk->major << 20 | (disk->first_minor & 0xfffff);
	if (filter.device && filter.device != device)
		return left_out();
	if (type == GRTRACE_CPU_BLOCK_ISSUE && !current_wanted())
		return left_out();
	out = begin(type);
	if (!out)
		return 0;
	out->record.seqno = rq->__sector;
	out->record.value = device;
	return end(out);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *rq)
{
	return on_block(rq, GRTRACE_CPU_BLOCK_ISSUE);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *rq)
{
	return on_block(rq, GRTRACE_CPU_BLOCK_COMPLETE);
}
