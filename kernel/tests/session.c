// SPDX-License-Identifier: GPL-2.0
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/sys/kernel/debug/grtrace/"
#define CPU_MAX 64

int session_write(const char *file, const char *text)
{
	char path[128];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), FOLDER "%s", file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	got = write(fd, text, strlen(text));
	got = got < 0 ? -errno : 0;
	close(fd);
	return got;
}

const char *session_read(const char *file)
{
	static char text[64 << 10];
	char path[128];
	size_t used = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), FOLDER "%s", file);
	fd = open(path, O_RDONLY);
	while (fd >= 0 && (got = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += got;
	if (fd >= 0)
		close(fd);
	text[used] = 0;
	return text;
}

uint64_t session_number(const char *file, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = session_read(file); line && *line;) {
		if (!strncmp(line, name, length) && line[length] == ' ')
			return strtoull(line + length + 1, NULL, 0);
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return UINT64_MAX;
}

int session_start(void)
{
	return session_write("control", "start");
}

int session_stop(void)
{
	return session_write("control", "stop");
}

void session_defaults(void)
{
	session_stop();
	session_write("rules", "\n");
	session_write("config",
		      "level 2\nsample 1\nadaptive_sampling 0\nmax_events_per_sec 0\n"
		      "rate_limiter_mode window\nbackpressure_threshold 0\n"
		      "filter_engine_mask 0xffffffffffffffff\nfilter_ring_id -1\n"
		      "filter_type_mask 0xffffffffffffffff\npid_allow=\npid_deny=\nctx_allow=\n"
		      "ctx_deny=\nring_allow=\nring_deny=\noverwrite 0\nsubbuf_size 65536\n"
		      "subbuf_count 16\ntrack_jobs 1\n");
}

/* ---- records ----------------------------------------------------------------------------- */

static char *bytes;
static size_t byte_count, byte_room;
static struct records all;

static void load(unsigned int cpu)
{
	char path[128];
	ssize_t got = 1;
	int fd;

	snprintf(path, sizeof(path), FOLDER "records%u", cpu);
	fd = open(path, O_RDONLY);
	while (fd >= 0 && got > 0) {
		if (byte_room - byte_count < 65536)
			bytes = realloc(bytes, byte_room += 1 << 20);
		got = read(fd, bytes + byte_count, byte_room - byte_count);
		byte_count += got > 0 ? got : 0;
	}
	if (fd >= 0)
		close(fd);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = (*(const struct grtrace_record *const *)a)->gseq;
	uint64_t y = (*(const struct grtrace_record *const *)b)->gseq;

	return x < y ? -1 : x > y;
}

const struct records *session_records(void)
{
	size_t room = 0;

	byte_count = 0;
	for (unsigned int cpu = 0; cpu < CPU_MAX; cpu++)
		load(cpu);
	all.count = all.broken = 0;
	for (size_t at = 0; at + sizeof(struct grtrace_record) <= byte_count;) {
		const struct grtrace_record *record = (const void *)(bytes + at);

		if (record->size < sizeof(*record) || record->size % 8 ||
		    record->size > byte_count - at) {
			all.broken = byte_count - at;
			break;
		}
		if (all.count == room) {
			room = room ? 2 * room : 4096;
			all.at = realloc(all.at, room * sizeof(*all.at));
		}
		all.at[all.count++] = record;
		at += record->size;
	}
	qsort(all.at, all.count, sizeof(*all.at), compare);
	return &all;
}

size_t session_count(const struct records *records, enum grtrace_type type)
{
	size_t count = 0;

	for (size_t i = 0; i < records->count; i++)
		count += records->at[i]->type == type;
	return count;
}

const struct grtrace_record *session_find(const struct records *records, enum grtrace_type type,
					  uint64_t ctx, uint64_t seqno)
{
	for (size_t i = 0; i < records->count; i++) {
		const struct grtrace_record *record = records->at[i];

		if (record->type == type && record->ctx == ctx && record->seqno == seqno)
			return record;
	}
	return NULL;
}

uint64_t session_gaps(const struct records *records)
{
	uint32_t next[CPU_MAX] = { 0 };
	uint64_t gaps = 0;
	char name[16];

	for (size_t i = 0; i < records->count; i++) {
		const struct grtrace_record *record = records->at[i];

		gaps += (uint32_t)(record->cseq - next[record->cpu % CPU_MAX]);
		next[record->cpu % CPU_MAX] = record->cseq + 1;
	}
	for (unsigned int cpu = 0; cpu < CPU_MAX; cpu++) {
		uint64_t end;

		snprintf(name, sizeof(name), "cpu %u cseq", cpu);
		end = session_number("pc_cseq", name);
		if (end != UINT64_MAX)
			gaps += (uint32_t)end - next[cpu];
	}
	return gaps;
}
