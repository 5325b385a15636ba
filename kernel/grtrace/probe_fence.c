// SPDX-License-Identifier: GPL-2.0
/*
 * dma_fence: the one thing that every driver has. What a fence stands for is told by its table of
 * functions, by that table's symbol.
 */
#include <linux/dma-fence.h>
#include <linux/kallsyms.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "core.h"

static const struct {
	const char *symbol;
	enum grtrace_fence_class class;
} classes[] = {
#define ROW(symbol_, class_) { symbol_, GRTRACE_CLASS_##class_ },
	GRTRACE_FENCE_CLASSES(ROW)
#undef ROW
};

#define KNOWN_MAX 32
static struct {
	const struct dma_fence_ops *ops;
	enum grtrace_fence_class class;
} knowns[KNOWN_MAX];
static unsigned int known_count;
static DEFINE_RAW_SPINLOCK(lock);

static enum grtrace_fence_class ask(const struct dma_fence_ops *ops)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(symbol, (unsigned long)ops);
	symbol[strcspn(symbol, " .")] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (!strcmp(symbol, classes[i].symbol))
			return classes[i].class;
	}
	return GRTRACE_CLASS_OTHER;
}

static enum grtrace_fence_class class_of(const struct dma_fence_ops *ops)
{
	unsigned int count = smp_load_acquire(&known_count);
	unsigned long flags;
	enum grtrace_fence_class class;

	for (unsigned int i = 0; i < count; i++) {
		if (knowns[i].ops == ops)
			return knowns[i].class;
	}
	class = ask(ops);
	raw_spin_lock_irqsave(&lock, flags);
	if (known_count < KNOWN_MAX) {
		knowns[known_count].ops = ops;
		knowns[known_count].class = class;
		smp_store_release(&known_count, known_count + 1);
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	return class;
}

/* A module has gone; another's table may come to lie where its was. */
void grtrace_fence_forget(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	smp_store_release(&known_count, 0);
	raw_spin_unlock_irqrestore(&lock, flags);
}

/* A fence context is a ring's, and its number is never used again. */
static struct grtrace_ring *ring_of(struct dma_fence *fence)
{
	return grtrace_ring_find((void *)(unsigned long)fence->context,
				 fence->ops->get_timeline_name(fence), NULL);
}

static void on_init(void *data, struct dma_fence *fence)
{
	enum grtrace_fence_class class = class_of(fence->ops);

	if (class == GRTRACE_CLASS_JOB)
		grtrace_job_note(GRTRACE_COMMIT, fence->context, fence->seqno, 0);
	else if (class == GRTRACE_CLASS_ALONE)
		grtrace_job_submit(ring_of(fence), fence->context, fence->seqno, 0);
	else if (grtrace_level() >= 3)
		grtrace_job_note(GRTRACE_FENCE, fence->context, fence->seqno, GRTRACE_FENCE_INIT);
}

static void on_emit(void *data, struct dma_fence *fence)
{
	grtrace_job_note(GRTRACE_FENCE, fence->context, fence->seqno, GRTRACE_FENCE_EMIT);
}

static void on_enable(void *data, struct dma_fence *fence)
{
	grtrace_job_note(GRTRACE_FENCE, fence->context, fence->seqno, GRTRACE_FENCE_ENABLE);
}

static void on_signaled(void *data, struct dma_fence *fence)
{
	switch (class_of(fence->ops)) {
	case GRTRACE_CLASS_JOB:
	case GRTRACE_CLASS_ALONE:
		grtrace_job_complete(NULL, fence->context, fence->seqno, fence->error);
		break;
	default:
		if (grtrace_level() >= 2)
			grtrace_job_note(GRTRACE_FENCE, fence->context, fence->seqno,
					 GRTRACE_FENCE_SIGNALED);
	}
}

static void on_wait_start(void *data, struct dma_fence *fence)
{
	grtrace_job_note(GRTRACE_SYNC_WAIT_ENTER, fence->context, fence->seqno, 0);
}

static void on_wait_end(void *data, struct dma_fence *fence)
{
	grtrace_job_note(GRTRACE_SYNC_WAIT_EXIT, fence->context, fence->seqno, 0);
}

const struct grtrace_member grtrace_fence_members[] = {
	GRTRACE_MEMBER(dma_fence, ops),   GRTRACE_MEMBER(dma_fence, context),
	GRTRACE_MEMBER(dma_fence, seqno), GRTRACE_MEMBER(dma_fence, error),
	GRTRACE_MEMBER(dma_fence, flags), {}
};

#define ROW(name_, function_, level_)                                                             \
	{ .name = name_, .function = function_, .prototype = "struct dma_fence *",                \
	  .level = level_, .members = grtrace_fence_members }

const struct grtrace_probe grtrace_fence_probes[] = {
	ROW("dma_fence_init", on_init, 1),
	ROW("dma_fence_emit", on_emit, 3),
	ROW("dma_fence_enable_signal", on_enable, 3),
	ROW("dma_fence_signaled", on_signaled, 1),
	ROW("dma_fence_wait_start", on_wait_start, 2),
	ROW("dma_fence_wait_end", on_wait_end, 2),
	{}
};
