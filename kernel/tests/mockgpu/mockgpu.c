// SPDX-License-Identifier: GPL-2.0
/*
 * See mockgpu_uapi.h. A ring holds at most two jobs. It runs the one of the higher priority; one
 * that is put aside for it goes on later with what was left of its time. A hung job stays until the
 * scheduler's timeout takes it out.
 */
#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/sync_file.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/gpu_scheduler.h>

#include "mockgpu_uapi.h"

struct mock_ring {
	struct drm_gpu_scheduler sched;
	spinlock_t lock;
	struct list_head jobs; /* on the ring, oldest first */
	struct mock_job *running;
	struct hrtimer timer;
	u64 ctx, seqno; /* of hardware fences */
};

struct mock_device {
	struct drm_device drm;
	struct mock_ring rings[MOCKGPU_RING_COUNT];
};

struct mock_file {
	struct drm_sched_entity entities[MOCKGPU_RING_COUNT][2]; /* normal, high */
};

struct mock_job {
	struct drm_sched_job base;
	struct mock_ring *ring;
	struct list_head link;
	struct dma_fence *fence; /* the hardware's */
	bool hangs, high;
	u64 left_ns;
	ktime_t began;
};

static const char *const ring_names[MOCKGPU_RING_COUNT] = { "gfx0", "gfx1", "comp0", "dma0" };
static struct platform_device *platform;
static struct mock_device *mock;

/* ---- the hardware ------------------------------------------------------------------------ */

static const char *driver_name(struct dma_fence *fence)
{
	return "mockgpu";
}

static const char *timeline_name(struct dma_fence *fence)
{
	return "mockgpu ring";
}

static const struct dma_fence_ops mock_fence_ops = {
	.get_driver_name = driver_name,
	.get_timeline_name = timeline_name,
};

static void pause(struct mock_job *job)
{
	u64 ran_ns = ktime_to_ns(ktime_sub(ktime_get(), job->began));

	job->left_ns -= min(ran_ns, job->left_ns);
}

/* Under ring->lock: let the ring run what it should. */
static void pick(struct mock_ring *ring)
{
	struct mock_job *job, *best = NULL;

	list_for_each_entry(job, &ring->jobs, link) {
		if (!best || (job->high && !best->high))
			best = job;
	}
	if (best == ring->running)
		return;
	if (ring->running)
		pause(ring->running);
	ring->running = best;
	if (!best)
		return;
	best->began = ktime_get();
	if (best->hangs)
		hrtimer_try_to_cancel(&ring->timer);
	else
		hrtimer_start(&ring->timer, ns_to_ktime(best->left_ns), HRTIMER_MODE_REL);
}

/* Under ring->lock. */
static void end_job(struct mock_ring *ring, struct mock_job *job)
{
	struct dma_fence *fence = job->fence;

	list_del_init(&job->link);
	if (ring->running == job)
		ring->running = NULL;
	dma_fence_signal_locked(fence);
	dma_fence_put(fence);
	pick(ring);
}

static enum hrtimer_restart expired(struct hrtimer *timer)
{
	struct mock_ring *ring = container_of(timer, struct mock_ring, timer);
	unsigned long flags;
	u64 ran_ns;

	spin_lock_irqsave(&ring->lock, flags);
	if (ring->running && !ring->running->hangs) {
		ran_ns = ktime_to_ns(ktime_sub(ktime_get(), ring->running->began));
		if (ran_ns >= ring->running->left_ns) /* else it was meant for another */
			end_job(ring, ring->running);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return HRTIMER_NORESTART;
}

/* ---- the scheduler's side ---------------------------------------------------------------- */

static struct mock_job *job_of(struct drm_sched_job *base)
{
	return container_of(base, struct mock_job, base);
}

static struct dma_fence *run_job(struct drm_sched_job *base)
{
	struct mock_job *job = job_of(base);
	struct mock_ring *ring = job->ring;
	struct dma_fence *fence;
	unsigned long flags;

	if (base->s_fence->finished.error) /* again, after a timeout: it was this one */
		return ERR_PTR(base->s_fence->finished.error);
	fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		return ERR_PTR(-ENOMEM);
	dma_fence_init(fence, &mock_fence_ops, &ring->lock, ring->ctx, ++ring->seqno);
	job->fence = dma_fence_get(fence);
	spin_lock_irqsave(&ring->lock, flags);
	list_add_tail(&job->link, &ring->jobs);
	pick(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	return fence;
}

static void restart(struct drm_gpu_scheduler *sched)
{
#if defined(HAVE_START_RECOVERY)
	drm_sched_start(sched, true);
#elif defined(HAVE_START_ERRNO)
	drm_sched_start(sched, 0);
#else
	drm_sched_start(sched);
#endif
}

/* A reset: the ring forgets its jobs, and the scheduler sends those that are not to blame again. */
static enum drm_gpu_sched_stat timedout_job(struct drm_sched_job *base)
{
	struct mock_ring *ring = job_of(base)->ring;
	struct mock_job *job, *next;
	unsigned long flags;

	drm_sched_stop(&ring->sched, base);
	drm_sched_increase_karma(base);
	spin_lock_irqsave(&ring->lock, flags);
	ring->running = NULL;
	list_for_each_entry_safe(job, next, &ring->jobs, link) {
		list_del_init(&job->link);
		dma_fence_put(job->fence);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	dma_fence_set_error(&base->s_fence->finished, -ETIME);
	drm_sched_resubmit_jobs(&ring->sched);
	restart(&ring->sched);
#ifdef HAVE_STAT_RESET
	return DRM_GPU_SCHED_STAT_RESET;
#else
	return DRM_GPU_SCHED_STAT_NOMINAL;
#endif
}

static void free_job(struct drm_sched_job *base)
{
	drm_sched_job_cleanup(base);
	kfree(job_of(base));
}

static const struct drm_sched_backend_ops sched_ops = {
	.run_job = run_job,
	.timedout_job = timedout_job,
	.free_job = free_job,
};

/* ---- the program's side ------------------------------------------------------------------ */

static int init_job(struct mock_job *job, struct drm_sched_entity *entity, void *owner)
{
#if defined(HAVE_JOB_CLIENT)
	return drm_sched_job_init(&job->base, entity, 1, owner, 0);
#elif defined(HAVE_JOB_CREDITS)
	return drm_sched_job_init(&job->base, entity, 1, owner);
#else
	return drm_sched_job_init(&job->base, entity, owner);
#endif
}

static int add_dependency(struct mock_job *job, int fd)
{
	struct dma_fence *fence;

	if (fd < 0)
		return 0;
	fence = sync_file_get_fence(fd);
	return fence ? drm_sched_job_add_dependency(&job->base, fence) : -EINVAL;
}

static int make_job(struct mock_job **out, struct drm_file *file,
		    const struct mockgpu_submit *submit)
{
	struct mock_file *own = file->driver_priv;
	bool high = submit->flags & MOCKGPU_HIGH;
	struct mock_job *job;
	int error;

	if (submit->ring >= MOCKGPU_RING_COUNT || submit->exec_us > 10 * USEC_PER_SEC ||
	    submit->flags & ~(MOCKGPU_HANG | MOCKGPU_HIGH))
		return -EINVAL;
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		return -ENOMEM;
	job->ring = &mock->rings[submit->ring];
	job->high = high;
	job->hangs = submit->flags & MOCKGPU_HANG;
	job->left_ns = (u64)submit->exec_us * NSEC_PER_USEC;
	INIT_LIST_HEAD(&job->link);
	error = init_job(job, &own->entities[submit->ring][high], file);
	if (error) {
		kfree(job);
		return error;
	}
	error = add_dependency(job, submit->in_fence);
	if (error) {
		free_job(&job->base);
		return error;
	}
	*out = job;
	return 0;
}

static int submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct mockgpu_submit *submit = data;
	struct sync_file *sync;
	struct mock_job *job;
	int fd, error;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	error = make_job(&job, file, submit);
	if (error)
		goto no_job;
	drm_sched_job_arm(&job->base);
	sync = sync_file_create(&job->base.s_fence->finished);
	submit->ctx = job->base.s_fence->finished.context;
	submit->seqno = job->base.s_fence->finished.seqno;
	drm_sched_entity_push_job(&job->base);
	if (!sync) {
		error = -ENOMEM; /* the job runs all the same: it cannot be taken back */
		goto no_job;
	}
	fd_install(fd, sync->file);
	submit->out_fence = fd;
	return 0;
no_job:
	put_unused_fd(fd);
	return error;
}

static int open(struct drm_device *drm, struct drm_file *file)
{
	struct mock_file *own = kzalloc(sizeof(*own), GFP_KERNEL);

	if (!own)
		return -ENOMEM;
	for (int i = 0; i < MOCKGPU_RING_COUNT; i++) {
		struct drm_gpu_scheduler *sched = &mock->rings[i].sched;

		drm_sched_entity_init(&own->entities[i][0], DRM_SCHED_PRIORITY_NORMAL, &sched, 1,
				      NULL);
		drm_sched_entity_init(&own->entities[i][1], DRM_SCHED_PRIORITY_HIGH, &sched, 1,
				      NULL);
	}
	file->driver_priv = own;
	return 0;
}

static void postclose(struct drm_device *drm, struct drm_file *file)
{
	struct mock_file *own = file->driver_priv;

	for (int i = 0; i < MOCKGPU_RING_COUNT; i++) {
		drm_sched_entity_destroy(&own->entities[i][0]);
		drm_sched_entity_destroy(&own->entities[i][1]);
	}
	kfree(own);
}

/* ---- the device -------------------------------------------------------------------------- */

static const struct drm_ioctl_desc ioctls[] = {
	[0] = { .cmd = MOCKGPU_SUBMIT, .func = submit_ioctl, .flags = DRM_RENDER_ALLOW,
		.name = "MOCKGPU_SUBMIT" },
};

DEFINE_DRM_GEM_FOPS(fops);

static const struct drm_driver driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.open = open,
	.postclose = postclose,
	.ioctls = ioctls,
	.num_ioctls = ARRAY_SIZE(ioctls),
	.fops = &fops,
	.name = "mockgpu",
	.desc = "rings without a GPU",
#ifdef HAVE_DRIVER_DATE
	.date = "0",
#endif
	.major = 1,
};

static int init_ring(struct mock_ring *ring, const char *name, struct device *dev)
{
	long timeout = msecs_to_jiffies(MOCKGPU_TIMEOUT_MS);
#ifdef HAVE_SCHED_INIT_ARGS
	struct drm_sched_init_args args = {
		.ops = &sched_ops,
#ifdef HAVE_SCHED_NUM_RQS
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = 2,
		.timeout = timeout,
		.name = name,
		.dev = dev,
	};
#endif
	spin_lock_init(&ring->lock);
	INIT_LIST_HEAD(&ring->jobs);
	hrtimer_init(&ring->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	ring->timer.function = expired;
	ring->ctx = dma_fence_context_alloc(1);
#ifdef HAVE_SCHED_INIT_ARGS
	return drm_sched_init(&ring->sched, &args);
#else
	return drm_sched_init(&ring->sched, &sched_ops, 2, 0, timeout, NULL, NULL, name, dev);
#endif
}

static void finish_rings(int count)
{
	while (count--) {
		drm_sched_fini(&mock->rings[count].sched);
		hrtimer_cancel(&mock->rings[count].timer);
	}
}

static int probe(struct platform_device *pdev)
{
	int count, error = 0;

	mock = devm_drm_dev_alloc(&pdev->dev, &driver, struct mock_device, drm);
	if (IS_ERR(mock))
		return PTR_ERR(mock);
	for (count = 0; count < MOCKGPU_RING_COUNT; count++) {
		error = init_ring(&mock->rings[count], ring_names[count], &pdev->dev);
		if (error)
			goto failed;
	}
	error = drm_dev_register(&mock->drm, 0);
	if (!error)
		return 0;
failed:
	finish_rings(count);
	return error;
}

static struct platform_driver platform_driver = {
	.probe = probe,
	.driver.name = "mockgpu",
};

/* No file is open when the module goes: open files hold it. */
static int __init mockgpu_init(void)
{
	int error;

	platform = platform_device_register_simple("mockgpu", 0, NULL, 0);
	if (IS_ERR(platform))
		return PTR_ERR(platform);
	error = platform_driver_register(&platform_driver);
	if (error)
		platform_device_unregister(platform);
	return error;
}

static void __exit mockgpu_exit(void)
{
	if (mock) {
		drm_dev_unplug(&mock->drm);
		finish_rings(MOCKGPU_RING_COUNT);
	}
	platform_driver_unregister(&platform_driver);
	platform_device_unregister(platform);
}

module_init(mockgpu_init);
module_exit(mockgpu_exit);

MODULE_DESCRIPTION("DRM scheduler rings without hardware, for tests");
MODULE_AUTHOR("TraceSmith");
MODULE_LICENSE("GPL");
