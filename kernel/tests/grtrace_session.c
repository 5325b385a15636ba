// SPDX-License-Identifier: GPL-2.0
#include "grtrace_session.h"
#include "session_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_MAX 64

static bool running;
static uint32_t first_cseq[CPU_MAX]; /* of the records that count */

static const struct session_files *files(void)
{
	const char *backend = getenv("GRTRACE_BACKEND");

	return backend && !strcmp(backend, "bpf") ? &bpf_files : &module_files;
}

bool session_of_module(void)
{
	return files() == &module_files;
}

int session_write(const char *file, const char *text)
{
	return files()->write(file, text);
}

const char *session_read(const char *file)
{
	static char text[64 << 10];

	text[files()->read(file, text, sizeof(text) - 1)] = 0;
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

static uint64_t cseq_of(unsigned int cpu)
{
	char name[24];

	snprintf(name, sizeof(name), "cpu %u cseq", cpu);
	return session_number("pc_cseq", name);
}

int session_start(void)
{
	int error = session_write("control", "start");

	if (!error)
		memset(first_cseq, 0, sizeof(first_cseq));
	running |= !error;
	return error;
}

int session_stop(void)
{
	running = false;
	return session_write("control", "stop");
}

#define USUAL                                                                                      \
	"level 2\nsample 1\nadaptive_sampling 0\nmax_events_per_sec 0\n"                           \
	"rate_limiter_mode window\nbackpressure_threshold 0\n"                                     \
	"filter_engine_mask 0xffffffffffffffff\nfilter_ring_id -1\n"                               \
	"filter_type_mask 0xffffffffffffffff\npid_allow=\npid_deny=\nctx_allow=\n"                  \
	"ctx_deny=\nring_allow=\nring_deny=\ntrack_jobs 1\n"

void session_defaults(void)
{
	session_stop();
	if (session_of_module())
		session_write("rules", "\n");
	session_write("config", USUAL "overwrite 0\nsubbuf_size 65536\nsubbuf_count 16\n");
}

static void forget(const void *bytes __attribute__((unused)), size_t size __attribute__((unused)))
{
}

int session_renew(const char *config)
{
	char text[1024];
	int error;

	if (!running || !files()->goes_on || strstr(config, "subbuf")) {
		session_defaults();
		error = session_write("config", config);
		return error ? error : session_start();
	}
	snprintf(text, sizeof(text), USUAL "reset_stats 1\n%s", config);
	error = session_write("config", text);
	files()->load(forget);
	for (unsigned int cpu = 0; cpu < CPU_MAX; cpu++) {
		uint64_t next = cseq_of(cpu);

		first_cseq[cpu] = next == UINT64_MAX ? 0 : next;
	}
	return error;
}

void session_rest(void)
{
	if (!files()->goes_on)
		session_stop();
}

/* ---- records ----------------------------------------------------------------------------- */

static char *bytes;
static size_t byte_count, byte_room;
static struct records all;

static void take(const void *more, size_t size)
{
	while (byte_room - byte_count < size)
		bytes = realloc(bytes, byte_room += 1 << 20);
	memcpy(bytes + byte_count, more, size);
	byte_count += size;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = (*(const struct grtrace_record *const *)a)->gseq;
	uint64_t y = (*(const struct grtrace_record *const *)b)->gseq;

	return x < y ? -1 : x > y;
}

/* Reports the events that the kernel did not let eBPF record, so that a reader can tell them from a
 * mistake. */
static void tell_missed(void)
{
	uint64_t missed = session_number("stats", "missed");

	if (missed && missed != UINT64_MAX)
		printf("# missed %llu\n", (unsigned long long)missed);
}

const struct records *session_records(void)
{
	size_t room = 0;

	byte_count = 0;
	files()->load(take);
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
	tell_missed();
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

/* Adds up gaps with their signs: a record that an interrupt writes inside another one has its gseq
 * and its cseq in different orders. */
uint64_t session_gaps(const struct records *records)
{
	uint32_t next[CPU_MAX];
	int64_t gaps = 0;

	memcpy(next, first_cseq, sizeof(next));
	for (size_t i = 0; i < records->count; i++) {
		const struct grtrace_record *record = records->at[i];

		gaps += (int32_t)(record->cseq - next[record->cpu % CPU_MAX]);
		next[record->cpu % CPU_MAX] = record->cseq + 1;
	}
	for (unsigned int cpu = 0; cpu < CPU_MAX; cpu++) {
		uint64_t end = cseq_of(cpu);

		if (end != UINT64_MAX)
			gaps += (int32_t)((uint32_t)end - next[cpu]);
	}
	return gaps;
}
