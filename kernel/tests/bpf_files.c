// SPDX-License-Identifier: GPL-2.0
/*
 * eBPF in place of the module: its files are what the tool `grtrace`, found in PATH, makes of them.
 * Records are taken from the session's buffer itself, so that no collector stands between.
 */
#include "session_files.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDS	 "/sys/fs/bpf/grtrace/records"
#define WORD_MAX 64

/* Run the tool with `words` after `what`. What it says goes to `out`. Returns its exit status. */
static int run(const char *what, char **words, char *out, size_t size, size_t *used)
{
	char *argv[WORD_MAX + 4] = { "grtrace", (char *)what, "--backend=bpf" };
	int pipes[2], status;
	ssize_t got;
	pid_t child;

	for (int i = 0; i < WORD_MAX && words[i]; i++)
		argv[i + 3] = words[i];
	if (pipe(pipes) || (child = fork()) < 0)
		return -1;
	if (!child) {
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		close(pipes[0]);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(pipes[1]);
	*used = 0;
	while (*used < size && (got = read(pipes[0], out + *used, size - *used)) > 0)
		*used += got;
	close(pipes[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char last_read[32]; /* the file whose text is kept until something is written */

/* The tool's words: each line's "key value" as key=value, words of `emit` as they are. */
static int write_file(const char *file, const char *text)
{
	char copy[1024], said[512], *words[WORD_MAX + 1] = { 0 }, *rest = copy, *word;
	const char *separator = strcmp(file, "emit") ? "\n" : " ";
	size_t used, count = 0;
	int status;

	last_read[0] = 0;
	snprintf(copy, sizeof(copy), "%s", text);
	if (strcmp(file, "control") && strcmp(file, "config") && strcmp(file, "emit"))
		return -ENOENT;
	while (strcmp(file, "control") && count < WORD_MAX &&
	       (word = strsep(&rest, separator)) != NULL) {
		if (strchr(word, ' ') && !strchr(word, '='))
			*strchr(word, ' ') = '=';
		if (*word)
			words[count++] = word;
	}
	status = run(strcmp(file, "control") ? file : text, words, said, sizeof(said) - 1, &used);
	said[used] = 0;
	if (status == 0)
		return 0;
	printf("# %s", said);
	return strstr(said, "runs already")	     ? -EALREADY :
	       strstr(said, "while a session runs") ? -EBUSY :
						       -EINVAL;
}

static size_t read_file(const char *file, char *out, size_t size)
{
	char *words[] = { (char *)file, NULL };
	static char kept[64 << 10];
	static size_t used;

	if (strcmp(file, last_read) != 0) {
		snprintf(last_read, sizeof(last_read), "%s", file);
		if (!strcmp(file, "config"))
			words[0] = NULL;
		run(strcmp(file, "config") ? "status" : file, words, kept, sizeof(kept), &used);
	}
	if (used < size)
		size = used;
	memcpy(out, kept, size);
	return size;
}

/* ---- the buffer -------------------------------------------------------------------------- */

static int records_open(size_t *size)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr get = { .pathname = (uint64_t)(uintptr_t)RECORDS };
	union bpf_attr ask = { 0 };
	int fd = syscall(SYS_bpf, BPF_OBJ_GET, &get, sizeof(get));

	ask.info.bpf_fd = fd;
	ask.info.info_len = sizeof(info);
	ask.info.info = (uint64_t)(uintptr_t)&info;
	if (fd >= 0 && syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &ask, sizeof(ask)) == 0)
		*size = info.max_entries;
	return fd;
}

/* Each piece has a head of 8 bytes: its length, and whether it is being written or was given up. The
 * kernel maps the buffer twice, so that none is cut. */
static void take_all(uint64_t *consumed, const uint64_t *produced, const char *data, size_t size,
		     void (*take)(const void *bytes, size_t size))
{
	uint64_t at = *consumed, end = __atomic_load_n(produced, __ATOMIC_ACQUIRE);

	while (at < end) {
		const char *head = data + (at & (size - 1));
		uint32_t length = __atomic_load_n((const uint32_t *)(const void *)head, __ATOMIC_ACQUIRE);

		if (length & BPF_RINGBUF_BUSY_BIT)
			break;
		if (!(length & BPF_RINGBUF_DISCARD_BIT))
			take(head + BPF_RINGBUF_HDR_SZ, length);
		length &= ~BPF_RINGBUF_DISCARD_BIT;
		at += (length + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
		__atomic_store_n(consumed, at, __ATOMIC_RELEASE);
	}
}

static void load(void (*take)(const void *bytes, size_t size))
{
	size_t size = 0, page = sysconf(_SC_PAGESIZE);
	int fd = records_open(&size);
	void *consumer, *producer;

	if (fd < 0 || !size)
		return;
	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	producer = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, fd, page);
	if (consumer != MAP_FAILED && producer != MAP_FAILED)
		take_all(consumer, producer, (char *)producer + page, size, take);
	munmap(consumer, page);
	munmap(producer, page + 2 * size);
	close(fd);
}

const struct session_files bpf_files = { .write = write_file, .read = read_file, .load = load,
					 .goes_on = true };
