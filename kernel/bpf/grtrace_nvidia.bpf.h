/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * NVIDIA's open kernel module: groups of channels come, are allowed on their runlist, have tokens asked
 * for, and go. Its tracepoints are none, its structs differ from version to version: these are kprobes,
 * and places of members come from the tool. kchangrpConstruct and kchangrpDestruct, which other tools
 * probe, are empty functions in the driver; Init and Destroy are where groups get and lose their numbers.
 * Included by grtrace.bpf.c alone.
 */
#ifndef GRTRACE_NVIDIA_BPF_H
#define GRTRACE_NVIDIA_BPF_H

#include <bpf/bpf_tracing.h>

#include "grtrace_job.bpf.h"

#define GROUP_MAX 4096

struct grtrace_nvidia_layout layout SEC(".data.layout") = { 0 };

/* How often each {runlist, tsg} was given out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GROUP_MAX);
	__type(key, __u64);
	__type(value, __u32);
} group_counts SEC(".maps");

/* Generations of the groups that live, by the driver's object. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GROUP_MAX);
	__type(key, __u64);
	__type(value, __u32);
} groups SEC(".maps");

/* The group that a thread is making. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, __u64);
} making SEC(".maps");

/* A member's value as a number; false where its place is not known. */
static __noinline int member(__u64 *out, __u64 object, __u32 which)
{
	__u32 size, offset;

	*out = 0;
	if (which >= GRTRACE_NVIDIA_MEMBER_COUNT)
		return 0;
	size = layout.members[which].size;
	offset = layout.members[which].offset;
	if (!object || size < 1 || size > sizeof(*out))
		return 0;
	return bpf_probe_read_kernel(out, size, (const void *)(object + offset)) == 0;
}

#define MEMBER(out, object, structure, name)                                                      \
	member(out, object, GRTRACE_NVIDIA_##structure##_##name)

/* Reads the group's members. Global, as emit() is: six members, known or not in any combination,
 * would multiply with all that follows, up to what a kernel is willing to verify. */
__noinline int read_group(struct grtrace_channel_group *g, __u64 group)
{
	__u64 value;

	if (!g)
		return 0;
	if (MEMBER(&value, group, KernelChannelGroup, grpID)) {
		g->tsg = value;
		g->known |= GRTRACE_GROUP_HAS_TSG;
	}
	if (MEMBER(&value, group, KernelChannelGroup, runlistId)) {
		g->runlist = value;
		g->known |= GRTRACE_GROUP_HAS_RUNLIST;
	}
	if (MEMBER(&value, group, KernelChannelGroup, chanCount)) {
		g->channels = value;
		g->known |= GRTRACE_GROUP_HAS_CHANNELS;
	}
	if (MEMBER(&value, group, KernelChannelGroup, engineType)) {
		g->engine = value;
		g->known |= GRTRACE_GROUP_HAS_ENGINE;
	}
	if (MEMBER(&value, group, KernelChannelGroup, timesliceUs)) {
		g->timeslice_us = value;
		g->known |= GRTRACE_GROUP_HAS_TIMESLICE;
	}
	/* One for each subdevice; the first is what matters without SLI. */
	if (MEMBER(&value, group, KernelChannelGroup, pInterleaveLevel) && value &&
	    !bpf_probe_read_kernel(&g->interleave, sizeof(g->interleave), (const void *)value))
		g->known |= GRTRACE_GROUP_HAS_INTERLEAVE;
	return 1;
}

static __noinline __u32 generation_of(__u64 group, __u64 place, __u32 kind)
{
	__u32 first = 1, generation = 0, *known;

	if (kind == GRTRACE_GROUP_CREATE) {
		known = bpf_map_lookup_elem(&group_counts, &place);
		generation = known ? ADD(*known, 1) + 1 : 1;
		if (!known)
			bpf_map_update_elem(&group_counts, &place, &first, BPF_ANY);
		bpf_map_update_elem(&groups, &group, &generation, BPF_ANY);
		return generation;
	}
	known = bpf_map_lookup_elem(&groups, &group);
	generation = known ? *known : 0;
	if (kind == GRTRACE_GROUP_DESTROY)
		bpf_map_delete_elem(&groups, &group);
	return generation;
}

/* `g` has what the caller knows; the group's own numbers are added where it does not. */
static __noinline int tell_group(struct grtrace_channel_group *g, __u64 group, __u32 kind)
{
	struct grtrace_record draft;

	draft_begin(&draft, GRTRACE_CHANNEL_GROUP, (__u64)g->runlist << 32 | g->tsg, 0, kind);
	g->generation = generation_of(group, draft.ctx, kind);
	draft.seqno = g->generation;
	draft.pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(g->comm, sizeof(g->comm));
	return emit_body(&draft, g, sizeof(*g));
}

SEC("kprobe/kchangrpInit_IMPL")
int BPF_KPROBE(nvidia_init, void *gpu, __u64 group)
{
	__u64 thread = bpf_get_current_pid_tgid();

	return bpf_map_update_elem(&making, &thread, &group, BPF_ANY);
}

SEC("kretprobe/kchangrpInit_IMPL")
int BPF_KRETPROBE(nvidia_init_done, __u32 status)
{
	__u64 thread = bpf_get_current_pid_tgid(), group, *made;
	struct grtrace_channel_group g = { 0 };

	made = bpf_map_lookup_elem(&making, &thread);
	if (!made)
		return 0;
	group = *made;
	bpf_map_delete_elem(&making, &thread);
	if (status)
		return 0; /* none was made */
	read_group(&g, group);
	return tell_group(&g, group, GRTRACE_GROUP_CREATE);
}

SEC("kprobe/kchangrpDestroy_IMPL")
int BPF_KPROBE(nvidia_destroy, void *gpu, __u64 group)
{
	struct grtrace_channel_group g = { 0 };

	read_group(&g, group);
	return tell_group(&g, group, GRTRACE_GROUP_DESTROY);
}

/* NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS, which programs share with the driver, begins with bEnable. */
SEC("kprobe/kchangrpapiCtrlCmdGpFifoSchedule_IMPL")
int BPF_KPROBE(nvidia_schedule, __u64 api, const void *params)
{
	struct grtrace_channel_group g = { 0 };
	__u8 enable = 0;
	__u64 group;

	MEMBER(&group, api, KernelChannelGroupApi, pKernelChannelGroup);
	read_group(&g, group);
	if (!bpf_probe_read_kernel(&enable, sizeof(enable), params)) {
		g.allow = enable;
		g.known |= GRTRACE_GROUP_HAS_ALLOW;
	}
	return tell_group(&g, group, GRTRACE_GROUP_BIND);
}

SEC("kprobe/kchannelNotifyWorkSubmitToken_IMPL")
int BPF_KPROBE(nvidia_token, void *gpu, __u64 channel, __u32 token)
{
	struct grtrace_channel_group g = { .token = token, .known = GRTRACE_GROUP_HAS_TOKEN };
	__u64 value, api, group;

	MEMBER(&api, channel, KernelChannel, pKernelChannelGroupApi);
	MEMBER(&group, api, KernelChannelGroupApi, pKernelChannelGroup);
	read_group(&g, group);
	if (MEMBER(&value, channel, KernelChannel, ChID)) {
		g.channel = value;
		g.known |= GRTRACE_GROUP_HAS_CHANNEL;
	}
	return tell_group(&g, group, GRTRACE_GROUP_TOKEN);
}

SEC("kprobe/kchangrpSetInterleaveLevel_IMPL")
int BPF_KPROBE(nvidia_interleave, void *gpu, __u64 group, __u32 level)
{
	struct grtrace_channel_group g = { 0 };

	read_group(&g, group);
	g.interleave = level;
	g.known |= GRTRACE_GROUP_HAS_INTERLEAVE;
	return tell_group(&g, group, GRTRACE_GROUP_CHANGE);
}

/* NVA06C_CTRL_TIMESLICE_PARAMS is the timeslice in microseconds. */
SEC("kprobe/kchangrpapiCtrlCmdSetTimeslice_IMPL")
int BPF_KPROBE(nvidia_timeslice, __u64 api, const void *params)
{
	struct grtrace_channel_group g = { 0 };
	__u64 group;

	MEMBER(&group, api, KernelChannelGroupApi, pKernelChannelGroup);
	read_group(&g, group);
	if (!bpf_probe_read_kernel(&g.timeslice_us, sizeof(g.timeslice_us), params))
		g.known |= GRTRACE_GROUP_HAS_TIMESLICE;
	return tell_group(&g, group, GRTRACE_GROUP_CHANGE);
}

#endif
