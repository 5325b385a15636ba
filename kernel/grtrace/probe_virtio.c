// SPDX-License-Identifier: GPL-2.0
/*
 * virtio-gpu: a ring is a virtqueue, a job is one command. A fenced command has its fence's number.
 * The others are numbered here, with bit 63: by the tracepoint's own number where it has one, else
 * by counting, which holds as long as the host answers unfenced commands in order.
 */
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/virtio_gpu.h>

#include "core.h"

#define COUNTED (1ull << 63)

static struct grtrace_ring *ring_of(struct virtqueue *queue)
{
	return grtrace_ring_find(queue, queue->name, &queue->vdev->dev);
}

static bool is_fenced(const struct virtio_gpu_ctrl_hdr *head)
{
	return le32_to_cpu(head->flags) & VIRTIO_GPU_FLAG_FENCE;
}

static u64 number_of(const struct virtio_gpu_ctrl_hdr *head, u64 *counter, u64 own)
{
	if (is_fenced(head))
		return le64_to_cpu(head->fence_id);
	return COUNTED | (own ?: ++*counter);
}

/* The host repeats the context in answers to fenced commands only: that of others is kept, for as many
 * as a queue may hold. */
#define KEPT_MAX 1024

static struct {
	u64 number;
	u32 ring, ctx;
} kept[KEPT_MAX];
static DEFINE_RAW_SPINLOCK(kept_lock);

static void keep(u32 ring, u64 number, u32 ctx)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&kept_lock, flags);
	kept[number % KEPT_MAX].number = number;
	kept[number % KEPT_MAX].ring = ring;
	kept[number % KEPT_MAX].ctx = ctx;
	raw_spin_unlock_irqrestore(&kept_lock, flags);
}

static u32 kept_of(u32 ring, u64 number)
{
	unsigned long flags;
	u32 ctx = 0;

	raw_spin_lock_irqsave(&kept_lock, flags);
	if (kept[number % KEPT_MAX].number == number && kept[number % KEPT_MAX].ring == ring)
		ctx = kept[number % KEPT_MAX].ctx;
	raw_spin_unlock_irqrestore(&kept_lock, flags);
	return ctx;
}

static void queued(struct virtqueue *queue, const struct virtio_gpu_ctrl_hdr *head, u64 own)
{
	struct grtrace_ring *ring = ring_of(queue);
	u64 number = number_of(head, &ring->submitted, own);
	u64 kind = le32_to_cpu(head->type) | (u64)le32_to_cpu(head->flags) << 32;

	if (!is_fenced(head))
		keep(ring->id, number, le32_to_cpu(head->ctx_id));
	grtrace_job_submit(ring, le32_to_cpu(head->ctx_id), number, kind);
}

/* The host's answer repeats flags and fence of the command. */
static void answered(struct virtqueue *queue, const struct virtio_gpu_ctrl_hdr *head, u64 own)
{
	struct grtrace_ring *ring = ring_of(queue);
	u64 number = number_of(head, &ring->responded, own);
	u32 ctx = is_fenced(head) ? le32_to_cpu(head->ctx_id) : kept_of(ring->id, number);

	grtrace_job_end(ring, ctx, number, 0);
	grtrace_job_complete(ring, ctx, number,
			     le32_to_cpu(head->type) >= VIRTIO_GPU_RESP_ERR_UNSPEC ? EIO : 0);
}

static void on_queue(void *data, struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *head)
{
	queued(queue, head, 0);
}

static void on_answer(void *data, struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *head)
{
	answered(queue, head, 0);
}

static void on_queue_numbered(void *data, struct virtqueue *queue,
			      struct virtio_gpu_ctrl_hdr *head, u32 seqno)
{
	queued(queue, head, seqno);
}

static void on_answer_numbered(void *data, struct virtqueue *queue,
			       struct virtio_gpu_ctrl_hdr *head, u32 seqno)
{
	answered(queue, head, seqno);
}

static const struct grtrace_member members[] = {
	GRTRACE_MEMBER(virtqueue, name),
	GRTRACE_MEMBER(virtqueue, vdev),
	{}
};

#define OLD "struct virtqueue *,struct virtio_gpu_ctrl_hdr *"
#define ROW(name_, function_, prototype_)                                                         \
	{ .name = name_, .function = function_, .prototype = prototype_, .level = 1,              \
	  .members = members }

/* Without BTF the first row of a name is taken, which fits both. */
const struct grtrace_probe grtrace_virtio_probes[] = {
	ROW("virtio_gpu_cmd_queue", on_queue, OLD),
	ROW("virtio_gpu_cmd_response", on_answer, OLD),
	ROW("virtio_gpu_cmd_queue", on_queue_numbered, OLD ",u32"),
	ROW("virtio_gpu_cmd_response", on_answer_numbered, OLD ",u32"),
	{}
};
