// SPDX-License-Identifier: GPL-2.0
#include "session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER	"/sys/kernel/debug/grtrace/"
#define CPU_MAX 64

static int file_open(const char *file, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER "%s", file);
	return open(path, flags);
}

static int write_file(const char *file, const char *text)
{
	int fd = file_open(file, O_WRONLY);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = write(fd, text, strlen(text));
	got = got < 0 ? -errno : 0;
	close(fd);
	return got;
}

static size_t read_file(const char *file, char *out, size_t size)
{
	int fd = file_open(file, O_RDONLY);
	size_t used = 0;
	ssize_t got;

	while (fd >= 0 && (got = read(fd, out + used, size - used)) > 0)
		used += got;
	if (fd >= 0)
		close(fd);
	return used;
}

static void load(void (*take)(const void *bytes, size_t size))
{
	static char bytes[65536];
	char name[32];
	ssize_t got;
	int fd;

	for (unsigned int cpu = 0; cpu < CPU_MAX; cpu++) {
		snprintf(name, sizeof(name), "records%u", cpu);
		fd = file_open(name, O_RDONLY);
		while (fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0)
			take(bytes, got);
		if (fd >= 0)
			close(fd);
	}
}

const struct session_files module_files = { .write = write_file, .read = read_file, .load = load };
