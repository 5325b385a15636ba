// SPDX-License-Identifier: GPL-2.0
/*
 * Which tracepoints there are, and which of them we listen to. Drivers come and go: the notifier
 * says so, also for those that were there before us. Probes are attached only while a session runs.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/tracepoint.h>

#include "core.h"

#define FOUND_MAX 64

static struct found {
	const struct grtrace_probe *probe;
	struct tracepoint *point; /* NULL: this place is free */
	struct module *module;    /* NULL: the kernel's own */
	char owner[MODULE_NAME_LEN];
	enum grtrace_check check;
	char difference[96];
	bool attached;
	int error;
} founds[FOUND_MAX];

/* Orders the notifier and start/stop. Taken inside grtrace_mutex and the tracepoint code's own
 * list mutex; the tracepoint code's other mutex is taken inside it. */
static DEFINE_MUTEX(attach_mutex);
static int level = -1; /* of the running session; -1: none */

static const struct grtrace_probe *const tables[] = {
	grtrace_sched_probes, grtrace_fence_probes, grtrace_virtio_probes, grtrace_driver_probes,
};

int grtrace_level(void)
{
	return READ_ONCE(level);
}

static bool known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		for (const struct grtrace_probe *probe = tables[i]; probe->name; probe++) {
			if (!strcmp(probe->name, name))
				return true;
		}
	}
	return false;
}

/* The row for tracepoint `name`: one whose prototype fits, else the last of that name. */
static void choose(struct found *found, const struct grtrace_btf *btf)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		for (const struct grtrace_probe *probe = tables[i]; probe->name; probe++) {
			if (strcmp(probe->name, found->point->name))
				continue;
			found->probe = probe;
			found->check = grtrace_btf_check(btf, probe, found->difference,
							 sizeof(found->difference));
			if (found->check != GRTRACE_CHECK_DIFFERS)
				return;
		}
	}
}

static void attach(struct found *found)
{
	if (found->attached || level < found->probe->level ||
	    found->check == GRTRACE_CHECK_DIFFERS)
		return;
	found->error = tracepoint_probe_register(found->point, found->probe->function, NULL);
	found->attached = !found->error;
}

static void detach(struct found *found)
{
	if (found->attached)
		tracepoint_probe_unregister(found->point, found->probe->function, NULL);
	found->attached = false;
}

static void add(struct tracepoint *point, struct module *module, const struct grtrace_btf *btf)
{
	struct found *found = NULL;

	for (size_t i = 0; i < FOUND_MAX && !found; i++) {
		if (!founds[i].point)
			found = &founds[i];
	}
	if (!found) {
		pr_warn_once("grtrace: too many tracepoints, %s is left out\n", point->name);
		return;
	}
	*found = (struct found){ .point = point, .module = module };
	strscpy(found->owner, module ? module_name(module) : "vmlinux", sizeof(found->owner));
	choose(found, btf);
	if (found->check == GRTRACE_CHECK_DIFFERS)
		pr_info("grtrace: %s of %s is left out: it is (%s), not (%s)\n", point->name,
			found->owner, found->difference, found->probe->prototype);
	if (level >= 0)
		attach(found);
}

/* ---- modules ----------------------------------------------------------------------------- */

static void come(struct tp_module *tp)
{
	struct module *module = tp->mod;
	struct grtrace_btf *btf = NULL;
	bool opened = false;

	for (unsigned int i = 0; i < module->num_tracepoints; i++) {
		struct tracepoint *point = tracepoint_ptr_deref(&module->tracepoints_ptrs[i]);

		if (!known(point->name))
			continue;
		if (!opened)
			btf = grtrace_btf_open(module_name(module));
		opened = true;
		add(point, module, btf);
	}
	grtrace_btf_close(btf);
	if (opened && level > 0)
		grtrace_timeout_attach();
}

static void go(struct tp_module *tp)
{
	bool ours = false;

	for (size_t i = 0; i < FOUND_MAX; i++) {
		if (!founds[i].point || founds[i].module != tp->mod)
			continue;
		detach(&founds[i]);
		founds[i].point = NULL;
		ours = true;
	}
	if (ours) {
		grtrace_timeout_detach(); /* it may be on this module; if not, it comes again */
		tracepoint_synchronize_unregister();
	}
	if (level > 0)
		grtrace_timeout_attach();
	grtrace_rings_forget();
	grtrace_fence_forget();
}

static int notify(struct notifier_block *block, unsigned long action, void *data)
{
	mutex_lock(&attach_mutex);
	if (action == MODULE_STATE_COMING)
		come(data);
	else if (action == MODULE_STATE_GOING)
		go(data);
	mutex_unlock(&attach_mutex);
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = notify };

static void add_kernels(struct tracepoint *point, void *btf)
{
	if (known(point->name))
		add(point, NULL, btf);
}

int grtrace_attach_init(void)
{
	struct grtrace_btf *btf = grtrace_btf_open(NULL);

	mutex_lock(&attach_mutex);
	for_each_kernel_tracepoint(add_kernels, btf);
	mutex_unlock(&attach_mutex);
	grtrace_btf_close(btf);
	return register_tracepoint_module_notifier(&notifier);
}

void grtrace_attach_finish(void)
{
	unregister_tracepoint_module_notifier(&notifier);
	grtrace_attach_stop();
}

/* ---- sessions ---------------------------------------------------------------------------- */

void grtrace_attach_start(u8 wanted)
{
	mutex_lock(&attach_mutex);
	WRITE_ONCE(level, wanted);
	for (size_t i = 0; i < FOUND_MAX; i++) {
		if (founds[i].point)
			attach(&founds[i]);
	}
	if (level > 0)
		grtrace_timeout_attach();
	mutex_unlock(&attach_mutex);
}

void grtrace_attach_stop(void)
{
	mutex_lock(&attach_mutex);
	WRITE_ONCE(level, -1);
	for (size_t i = 0; i < FOUND_MAX; i++) {
		if (founds[i].point)
			detach(&founds[i]);
	}
	grtrace_timeout_detach();
	mutex_unlock(&attach_mutex);
	tracepoint_synchronize_unregister();
}

void grtrace_attach_metadata(void)
{
	mutex_lock(&attach_mutex);
	for (size_t i = 0; i < FOUND_MAX; i++) {
		if (founds[i].point && founds[i].attached)
			grtrace_metadata(GRTRACE_METADATA_PROBE, 0, 0, 0, founds[i].point->name);
	}
	mutex_unlock(&attach_mutex);
}

int grtrace_attach_show(char *out, size_t size)
{
	static const char *const checks[] = { "unchecked", "verified", "differs" };
	int used = 0;

	mutex_lock(&attach_mutex);
	for (size_t i = 0; i < FOUND_MAX; i++) {
		const struct found *f = &founds[i];

		if (!f->point)
			continue;
		used += scnprintf(out + used, size - used, "probe %s %s %s %s", f->point->name,
				  f->owner, checks[f->check], f->attached ? "attached" : "detached");
		if (f->error)
			used += scnprintf(out + used, size - used, " error %d", f->error);
		if (f->check == GRTRACE_CHECK_DIFFERS)
			used += scnprintf(out + used, size - used, " (%s)", f->difference);
		used += scnprintf(out + used, size - used, "\n");
	}
	used += scnprintf(out + used, size - used, "kprobe drm_sched_job_timedout %s\n",
			  grtrace_timeout_attached() ? "attached" : "detached");
	mutex_unlock(&attach_mutex);
	return used;
}
