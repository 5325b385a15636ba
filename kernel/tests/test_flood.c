// SPDX-License-Identifier: GPL-2.0
/*
 * A reader beside writers that are faster than it: what it got, what was lost and what was overwritten
 * are together what was written, and nothing comes twice.
 */
#include "grtrace_session.h"
#include "session_files.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUS   2
#define ROUNDS 40
#define BURST  1000

/* Records of one CPU as they come. */
struct reading {
	int fd;
	uint64_t count, gaps, disorder, broken;
	uint32_t next_cseq;
	uint64_t last_gseq;
	bool any;
};

static struct reading readings[CPUS];
static int done; /* atomic: writers that have ended */

static void *writer(void *cpu)
{
	cpu_set_t set;
	char text[64];

	CPU_ZERO(&set);
	CPU_SET((int)(intptr_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	snprintf(text, sizeof(text), "type=12 ctx=%d count=%d", (int)(intptr_t)cpu, BURST);
	for (int i = 0; i < ROUNDS; i++)
		session_write("emit", text);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void take(struct reading *r, const struct grtrace_record *record)
{
	r->gaps += record->cseq - r->next_cseq;
	r->disorder += r->any && record->gseq <= r->last_gseq;
	r->next_cseq = record->cseq + 1;
	r->last_gseq = record->gseq;
	r->any = true;
	r->count++;
}

static bool read_once(struct reading *r, size_t room)
{
	static char bytes[65536];
	ssize_t got = read(r->fd, bytes, room), at = 0;

	while (at + (ssize_t)sizeof(struct grtrace_record) <= got) {
		const struct grtrace_record *record = (const void *)(bytes + at);

		if (record->size < sizeof(*record))
			break;
		take(r, record);
		at += record->size;
	}
	r->broken += got > 0 && at != got;
	return got > 0;
}

static void open_all(void)
{
	memset(readings, 0, sizeof(readings));
	for (int cpu = 0; cpu < CPUS; cpu++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/kernel/debug/grtrace/records%d", cpu);
		readings[cpu].fd = open(path, O_RDONLY | O_NONBLOCK);
	}
}

static uint64_t sum(size_t offset)
{
	uint64_t total = 0;

	for (int cpu = 0; cpu < CPUS; cpu++)
		total += *(uint64_t *)((char *)&readings[cpu] + offset);
	return total;
}
#define SUM(member) sum(offsetof(struct reading, member))

/* Adds the records missing after the last one. */
static void add_tail(struct reading *r, int cpu)
{
	char name[32];

	snprintf(name, sizeof(name), "cpu %d cseq", cpu);
	r->gaps += (uint32_t)session_number("pc_cseq", name) - r->next_cseq;
}

static void flood(size_t room, unsigned int pause_us)
{
	pthread_t threads[CPUS];

	done = 0;
	open_all();
	for (int cpu = 0; cpu < CPUS; cpu++)
		pthread_create(&threads[cpu], NULL, writer, (void *)(intptr_t)cpu);
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < CPUS) {
		for (int cpu = 0; cpu < CPUS; cpu++)
			read_once(&readings[cpu], room);
		usleep(pause_us);
	}
	for (int cpu = 0; cpu < CPUS; cpu++)
		pthread_join(threads[cpu], NULL);
	session_stop();
	for (int cpu = 0; cpu < CPUS; cpu++) {
		while (read_once(&readings[cpu], room)) {
		}
		close(readings[cpu].fd);
		add_tail(&readings[cpu], cpu);
	}
}

static void check(const char *config, size_t room, unsigned int pause_us)
{
	uint64_t written, lost, collected, overwritten;

	session_defaults();
	if (session_write("config", config) || session_start())
		tap_note("no session with %s", config);
	flood(room, pause_us);
	written = session_number("stats", "written");
	lost = session_number("stats", "lost");
	collected = session_number("stats", "collected");
	overwritten = session_number("stats", "overwritten");
	tap_note("written %llu, lost %llu, collected %llu, overwritten %llu, gaps %llu",
		 (unsigned long long)written, (unsigned long long)lost,
		 (unsigned long long)collected, (unsigned long long)overwritten,
		 (unsigned long long)SUM(gaps));
	tap_ok(written + lost >= (uint64_t)CPUS * ROUNDS * BURST, "all was written or lost");
	tap_ok(collected == SUM(count) && collected + overwritten == written,
	       "what was written was read or overwritten");
	tap_ok(SUM(gaps) == lost + overwritten && !SUM(disorder) && !SUM(broken),
	       "gaps are what is missing; nothing comes twice, nothing is torn");
}

int main(void)
{
	static const char *const sizes[] = { "subbuf_size 4096\nsubbuf_count 2",
					     "subbuf_size 4096\nsubbuf_count 16",
					     "subbuf_size 65536\nsubbuf_count 4" };
	char config[128];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (int overwrite = 0; overwrite < 2; overwrite++) {
			snprintf(config, sizeof(config), "overwrite %d\n%s", overwrite, sizes[i]);
			check(config, 65536, 0);
			check(config, i ? 65536 : 1024, 2000);
		}
	}
	session_defaults();
	return tap_finish();
}
