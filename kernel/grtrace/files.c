// SPDX-License-Identifier: GPL-2.0
/*
 * The files in /sys/kernel/debug/grtrace/. All are root's. What is read is made at open, so that a
 * reader sees one moment; what is written is at most a page, and is taken as a whole or refused.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "core.h"

/* Room for a file's text: some have a line for each CPU. */
#define TEXT_MAX (32 << 10)
#define TEXT_CPU 320

struct dentry *grtrace_folder;

/* A file: a function that makes its text, one that takes what is written, or both. */
struct file_kind {
	const char *name;
	int (*show)(char *out, size_t size);
	int (*write)(struct file *file, char *text); /* under grtrace_mutex */
};

struct text {
	int size;
	char bytes[];
};

static int open(struct inode *inode, struct file *file)
{
	const struct file_kind *kind = inode->i_private;
	struct text *text;
	size_t room;

	if (!kind->show || !(file->f_mode & FMODE_READ))
		return 0;
	room = TEXT_MAX + nr_cpu_ids * TEXT_CPU;
	text = kvmalloc(sizeof(*text) + room, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	text->size = kind->show(text->bytes, room);
	file->private_data = text;
	return 0;
}

/* The open file that the session lives with; NULL: it lives until it is stopped. grtrace_mutex. */
static struct file *session_holder;

static void let_go(struct file *file)
{
	mutex_lock(&grtrace_mutex);
	if (session_holder == file) {
		session_holder = NULL;
		grtrace_stop();
	}
	mutex_unlock(&grtrace_mutex);
}

static int release(struct inode *inode, struct file *file)
{
	kvfree(file->private_data);
	let_go(file);
	return 0;
}

static ssize_t read(struct file *file, char __user *out, size_t size, loff_t *at)
{
	const struct text *text = file->private_data;

	return text ? simple_read_from_buffer(out, size, at, text->bytes, text->size) : 0;
}

static ssize_t write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	const struct file_kind *kind = file_inode(file)->i_private;
	char *text;
	int error;

	if (!kind->write)
		return -EINVAL;
	if (size >= PAGE_SIZE)
		return -E2BIG;
	text = memdup_user_nul(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	if (strlen(text) != size) {
		kfree(text);
		return -EINVAL; /* a zero byte inside */
	}
	mutex_lock(&grtrace_mutex);
	error = kind->write(file, text);
	mutex_unlock(&grtrace_mutex);
	kfree(text);
	return error ?: size;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.read = read,
	.write = write,
	.llseek = default_llseek,
};

/* ---- control ----------------------------------------------------------------------------- */

/* Under the mutex: "running" is said when all probes are attached. */
static int show_control(char *out, size_t size)
{
	bool running;

	mutex_lock(&grtrace_mutex);
	running = grtrace_running();
	mutex_unlock(&grtrace_mutex);
	return scnprintf(out, size, "%s\n", running ? "running" : "stopped");
}

/* `holder`: when it is closed, as at the end of its program, the session stops. */
static int start(struct file *holder)
{
	int error = grtrace_start();

	if (!error)
		session_holder = holder;
	return error;
}

static int stop(void)
{
	session_holder = NULL;
	grtrace_stop();
	return 0;
}

static int write_control(struct file *file, char *text)
{
	text = strim(text);
	if (!strcmp(text, "start"))
		return start(NULL);
	if (!strcmp(text, "start attached"))
		return start(file);
	if (!strcmp(text, "stop"))
		return stop();
	if (strcmp(text, "flush"))
		return -EINVAL;
	grtrace_flush();
	return 0;
}

/* ---- statistics -------------------------------------------------------------------------- */

static const char *const type_names[GRTRACE_TYPE_END] = { GRTRACE_TYPE_NAMES };

static u64 count_of(unsigned int type)
{
	return grtrace_counter(offsetof(struct grtrace_cpu, by_type) + type * sizeof(u64));
}

static u64 dropped_of(unsigned int drop)
{
	return grtrace_counter(offsetof(struct grtrace_cpu, dropped) + drop * sizeof(u64));
}

static u64 written(void)
{
	u64 sum = 0;

	for (unsigned int i = 1; i < GRTRACE_TYPE_END; i++)
		sum += count_of(i);
	return sum;
}

static int show_stats(char *out, size_t size)
{
	u64 lost = 0, collected, overwritten;
	int used;

	grtrace_read_totals(&collected, &overwritten);
	for (unsigned int i = GRTRACE_LOST_FIRST; i < GRTRACE_DROP_COUNT; i++)
		lost += dropped_of(i);
	used = scnprintf(out, size,
			 "version %s\nrunning %d\nstart_ns %llu\nnow_ns %llu\nwritten %llu\n"
			 "gseq %llu\nlost %llu\ncollected %llu\noverwritten %llu\n",
			 GRTRACE_MODULE_VERSION, grtrace_running(), grtrace_session_start_ns(),
			 ktime_get_ns(), written(), grtrace_next_gseq(), lost, collected,
			 overwritten);
	for (unsigned int i = 0; i < GRTRACE_DROP_COUNT; i++)
		used += scnprintf(out + used, size - used, "%s %llu\n", grtrace_drop_names[i],
				  dropped_of(i));
	used += grtrace_rings_show(out + used, size - used);
	return used + grtrace_attach_show(out + used, size - used);
}

static int show_types(char *out, size_t size)
{
	int used = 0;

	for (unsigned int i = 1; i < GRTRACE_TYPE_END; i++)
		used += scnprintf(out + used, size - used, "%s %llu\n", type_names[i],
				  count_of(i));
	return used;
}

/* "name sum ns" and then "[low, high) count" of each bucket that holds something. */
static int show_hist(char *out, size_t size, const char *name, size_t offset)
{
	struct grtrace_hist hist;
	int used;

	grtrace_hist_total(&hist, offset);
	used = scnprintf(out, size, "%s sum %llu\n", name, hist.sum);
	for (unsigned int i = 0; i < GRTRACE_HIST_BUCKETS; i++) {
		if (hist.count[i])
			used += scnprintf(out + used, size - used, "%s %llu %llu %llu\n", name,
					  i ? 1ull << (i - 1) : 0,
					  i == GRTRACE_HIST_BUCKETS - 1 ? U64_MAX : 1ull << i,
					  hist.count[i]);
	}
	return used;
}

static int show_latency(char *out, size_t size)
{
	int used = show_hist(out, size, "queue_ns", offsetof(struct grtrace_cpu, queue_ns));

	used += show_hist(out + used, size - used, "exec_ns",
			  offsetof(struct grtrace_cpu, exec_ns));
	return used + show_hist(out + used, size - used, "write_ns",
				offsetof(struct grtrace_cpu, write_ns));
}

static int show_results(char *out, size_t size)
{
	int used = scnprintf(out, size, "ok %llu\nfailed %llu\nuntracked %llu\n",
			     grtrace_total(jobs_ok), grtrace_total(jobs_failed),
			     grtrace_total(jobs_untracked));

	for (unsigned int i = 0; i <= GRTRACE_ERRNO_MAX; i++) {
		u64 count = grtrace_counter(offsetof(struct grtrace_cpu, jobs_by_errno) +
					    i * sizeof(u64));

		if (count)
			used += scnprintf(out + used, size - used, "errno %u %llu\n", i, count);
	}
	return used;
}

static int show_sizes(char *out, size_t size)
{
	u64 count = written(), with_body = grtrace_total(long_count);

	return scnprintf(out, size, "%u %llu\nlarger %llu bytes %llu\n", GRTRACE_RECORD_SIZE,
			 count - with_body, with_body, grtrace_total(long_bytes));
}

static u64 cpu_written(const struct grtrace_cpu *cpu)
{
	u64 sum = 0;

	for (unsigned int i = 0; i < GRTRACE_TYPE_END; i++)
		sum += cpu->by_type[i];
	return sum;
}

static int show_cpus(char *out, size_t size)
{
	int used = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		const struct grtrace_cpu *pc = per_cpu_ptr(&grtrace_cpus, cpu);

		used += scnprintf(out + used, size - used, "cpu %u written %llu", cpu,
				  cpu_written(pc));
		for (unsigned int i = 0; i < GRTRACE_DROP_COUNT; i++)
			used += scnprintf(out + used, size - used, " %s %llu",
					  grtrace_drop_names[i], pc->dropped[i]);
		used += scnprintf(out + used, size - used, "\n");
	}
	return used;
}

static int show_cseqs(char *out, size_t size)
{
	int used = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		used += scnprintf(out + used, size - used, "cpu %u cseq %u\n", cpu,
				  READ_ONCE(per_cpu_ptr(&grtrace_cpus, cpu)->cseq));
	return used;
}

/* Rates since the session began, or since the last reset_stats, until now or until it stopped. */
static int show_seconds(char *out, size_t size)
{
	u64 from = grtrace_stats_since_ns(), to = grtrace_session_end_ns();
	u64 ns = to > from ? to - from : 0, count = written(), dropped = 0;
	u64 ms = max_t(u64, div_u64(ns, NSEC_PER_MSEC), 1);

	for (unsigned int i = 0; i < GRTRACE_DROP_COUNT; i++)
		dropped += dropped_of(i);
	return scnprintf(out, size, "ms %llu\nwritten_per_sec %llu\ndropped_per_sec %llu\n", ms,
			 div64_u64(count * 1000, ms), div64_u64(dropped * 1000, ms));
}

/* ---- emit -------------------------------------------------------------------------------- */

/* A number for `name` in "type=.. ring=.. ctx=.. seqno=.. value=.. count=.. body=..". */
static int take_number(char *word, const char *name, u64 *out)
{
	size_t length = strlen(name);

	if (strncmp(word, name, length) || word[length] != '=')
		return -ENOENT;
	return kstrtou64(word + length + 1, 0, out) ? -EINVAL : 0;
}

struct injected {
	u64 type, ring, engine, pid, ctx, seqno, value, count, body;
};

static int parse_injected(struct injected *injected, char *text)
{
	static const char *const names[] = { "type", "ring", "engine", "pid", "ctx",
					     "seqno", "value", "count", "body" };
	u64 *numbers = &injected->type;
	char *word;

	while ((word = strsep(&text, " \t\n")) != NULL) {
		int error = *word ? -ENOENT : 0;

		for (size_t i = 0; i < ARRAY_SIZE(names) && error == -ENOENT; i++)
			error = take_number(word, names[i], &numbers[i]);
		if (error)
			return -EINVAL;
	}
	return injected->type < GRTRACE_COMMIT || injected->type >= GRTRACE_TYPE_END ||
	       injected->ring > 65535 || injected->engine > 255 || injected->pid > U32_MAX ||
	       injected->count > 1000000 || injected->body > 65536 || injected->body % 8 ?
		       -EINVAL : 0;
}

static int write_config(struct file *file, char *text)
{
	return grtrace_config_write(text);
}

static int write_rules(struct file *file, char *text)
{
	return grtrace_rules_write(text);
}

static int write_emit(struct file *file, char *text)
{
	struct injected in = { .count = 1 };
	void *body = NULL;
	u64 head, place;

	if (parse_injected(&in, text))
		return -EINVAL;
	if (in.body && !(body = kvzalloc(in.body, GFP_KERNEL)))
		return -ENOMEM;
	head = GRTRACE_HEAD(GRTRACE_RECORD_SIZE, in.type, GRTRACE_FLAG_INJECTED, 0, in.engine);
	place = GRTRACE_PLACE(in.ring, in.pid ?: current->tgid);
	for (u64 i = 0; i < in.count; i++) {
		if (body)
			grtrace_emit_body(head, place, in.ctx, in.seqno + i, in.value, body,
					  in.body);
		else
			grtrace_emit(head, place, in.ctx, in.seqno + i, in.value);
		if (!(i & 1023))
			cond_resched();
	}
	kvfree(body);
	return 0;
}

static const struct file_kind kinds[] = {
	{ "control", show_control, write_control },
	{ "config", grtrace_config_show, write_config },
	{ "rules", grtrace_rules_show, write_rules },
	{ "emit", NULL, write_emit },
	{ "stats", show_stats },
	{ "events_by_type", show_types },
	{ "latency_hist", show_latency },
	{ "result_hist", show_results },
	{ "size_hist", show_sizes },
	{ "pc_stats", show_cpus },
	{ "pc_cseq", show_cseqs },
	{ "sec_stats", show_seconds },
};

int grtrace_files_init(void)
{
	grtrace_folder = debugfs_create_dir("grtrace", NULL);
	if (IS_ERR(grtrace_folder))
		return PTR_ERR(grtrace_folder);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		debugfs_create_file(kinds[i].name,
				    (kinds[i].show ? 0400 : 0) | (kinds[i].write ? 0200 : 0),
				    grtrace_folder, (void *)&kinds[i], &operations);
	return 0;
}

void grtrace_files_finish(void)
{
	debugfs_remove(grtrace_folder);
}
