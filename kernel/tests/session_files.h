/* SPDX-License-Identifier: GPL-2.0 */
/* The files of one backend: the module's in debugfs, or what the tool `grtrace` makes of them. */
#ifndef GRTRACE_TESTS_SESSION_FILES_H
#define GRTRACE_TESTS_SESSION_FILES_H

#include <stddef.h>
#include <stdbool.h>

struct session_files {
	/* Write `text` to a file: 0 or -errno. */
	int (*write)(const char *file, const char *text);
	/* The file's text, at most `size` bytes of it. Returns how many. */
	size_t (*read)(const char *file, char *out, size_t size);
	/* Give all bytes of records that were not given yet to take(). */
	void (*load)(void (*take)(const void *bytes, size_t size));
	/* A session is dear to start: one that runs is used again where its buffers need not change. */
	bool goes_on;
};

extern const struct session_files module_files, bpf_files;

#endif
