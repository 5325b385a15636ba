/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Structs of the kernel, with those members that the programs look at. Loading finds each member's
 * place by its name in the running kernel's types (BTF), so neither order nor size matter here.
 */
#ifndef BPF_KERNEL_STRUCTS_H
#define BPF_KERNEL_STRUCTS_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kobject {
	const char *name;
};
struct device_driver {
	const char *name;
};
struct device {
	const char *init_name;
	struct kobject kobj;
	struct device_driver *driver;
};

struct dma_fence_ops;
struct dma_fence {
	void *lock;
	const struct dma_fence_ops *ops;
	__s64 timestamp;
	__u64 context;
	__u64 seqno;
	unsigned long flags;
	int error;
};
#define DMA_FENCE_FLAG_TIMESTAMP_BIT 1

struct work_struct;
struct delayed_work {
	long placeholder; /* never looked at */
};
struct drm_gpu_scheduler {
	const char *name;
	struct device *dev;
	struct delayed_work work_tdr;
};
struct drm_sched_fence {
	struct dma_fence finished;
	struct dma_fence *parent;
	struct drm_gpu_scheduler *sched;
};
enum drm_sched_priority { DRM_SCHED_PRIORITY_PLACEHOLDER };
struct drm_sched_job {
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
	enum drm_sched_priority s_priority;
};
struct drm_sched_entity;

struct amdgpu_job {
	struct drm_sched_job base;
};
struct amdgpu_iv_entry;

struct xe_sched_job {
	struct drm_sched_job drm;
};
struct xe_exec_queue;

struct intel_engine_cs {
	char name[8];
};
struct i915_request {
	struct dma_fence fence;
	struct intel_engine_cs *engine;
};

struct nouveau_fence_chan {
	int lock;
	char name[32];
};

struct virtio_device {
	struct device dev;
};
struct virtqueue {
	const char *name;
	struct virtio_device *vdev;
};
struct virtio_gpu_ctrl_hdr {
	__u32 type;
	__u32 flags;
	__u64 fence_id;
	__u32 ctx_id;
};
#define VIRTIO_GPU_FLAG_FENCE      1u
#define VIRTIO_GPU_RESP_ERR_UNSPEC 0x1200u

struct pcpu_hot___since_6_2 {
	int preempt_count;
};

#pragma clang attribute pop

#endif
