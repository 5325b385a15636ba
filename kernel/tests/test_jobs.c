// SPDX-License-Identifier: GPL-2.0
/* Tests the records of jobs: order, pairs, times, owners, errors, preemption, dependencies. */
#include "mock_client.h"
#include "grtrace_session.h"
#include "tap.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOBS 64

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Two CPUs may read the clock and then count in the other order: times are in order on each CPU. eBPF
 * cannot keep interrupts away between the two, so that their records may come out of turn. */
static bool in_order(const struct records *records)
{
	uint64_t last_ns[64] = { 0 };
	bool may_differ = !session_of_module();

	for (size_t i = 0; i < records->count; i++) {
		const struct grtrace_record *record = records->at[i];

		if (record->gseq != i || record->cpu >= 64 || record->ts_ns < last_ns[record->cpu])
			return false;
		if (may_differ && record->flags & GRTRACE_FLAG_IRQ)
			continue;
		last_ns[record->cpu] = record->ts_ns;
	}
	return records->count > 0;
}

/* COMMIT <= SUBMIT <= START <= END <= COMPLETE of one job, and the ring's time. */
static bool whole(const struct records *records, const struct mockgpu_submit *job,
		  uint64_t exec_ns)
{
	static const enum grtrace_type steps[] = { GRTRACE_COMMIT, GRTRACE_SUBMIT, GRTRACE_START,
						   GRTRACE_END, GRTRACE_COMPLETE };
	const struct grtrace_record *record, *before = NULL, *start = NULL;

	for (int i = 0; i < 5; i++) {
		record = session_find(records, steps[i], job->ctx, job->seqno);
		if (!record || (before && before->gseq >= record->gseq))
			return false;
		if (i > 1 && (!record->ring || record->pid != (uint32_t)getpid()))
			return false;
		if (steps[i] == GRTRACE_START)
			start = record;
		if (steps[i] == GRTRACE_END && (record->ts_ns - start->ts_ns < exec_ns ||
						record->value > record->ts_ns))
			return false;
		before = record;
	}
	return true;
}

static void test_rings(const struct records *records)
{
	const char *names[] = { "gfx0", "gfx1", "comp0", "dma0" };
	unsigned char engines[] = { GRTRACE_ENGINE_RENDER, GRTRACE_ENGINE_RENDER,
				    GRTRACE_ENGINE_COMPUTE, GRTRACE_ENGINE_COPY };
	int rings = 0, devices = 0;

	for (size_t i = 0; i < records->count; i++) {
		const struct grtrace_record *record = records->at[i];
		const struct grtrace_metadata *body = (const void *)(record + 1);

		if (record->type != GRTRACE_METADATA)
			continue;
		if (body->kind == GRTRACE_METADATA_DEVICE)
			devices += !strcmp(body->text, "mockgpu mockgpu.0");
		for (int k = 0; k < 4 && body->kind == GRTRACE_METADATA_RING; k++)
			rings += !strcmp(body->text, names[k]) && record->engine == engines[k] &&
				 record->device == 1;
	}
	tap_ok(rings == 4 && devices == 1, "the device and its 4 rings are described, with engines");
}

static void test_order(int fd)
{
	struct mockgpu_submit jobs[JOBS];
	const struct records *records;
	uint64_t begin = now_ns();
	size_t good = 0;

	tap_ok(session_start() == 0, "a session starts");
	for (int i = 0; i < JOBS; i++)
		mock_submit(fd, &jobs[i], i % MOCKGPU_RING_COUNT, 200, 0, -1);
	for (int i = 0; i < JOBS; i++)
		good += mock_wait(&jobs[i], 10000);
	tap_ok(good == JOBS, "%zu of %d jobs complete", good, JOBS);
	tap_ok(session_stop() == 0, "the session stops");
	records = session_records();
	tap_ok(records->broken == 0 && in_order(records),
	       "%zu records, gseq without gaps, times of a CPU in its order", records->count);
	tap_ok(records->count > 2 && records->at[0]->type == GRTRACE_STREAM_INFO &&
		       records->at[1]->type == GRTRACE_METADATA,
	       "STREAM_INFO, then METADATA come first");
	tap_ok(records->at[0]->ts_ns >= begin && records->at[records->count - 1]->ts_ns <= now_ns(),
	       "times are CLOCK_MONOTONIC");
	good = 0;
	for (int i = 0; i < JOBS; i++)
		good += whole(records, &jobs[i], 200000);
	tap_ok(good == JOBS, "%zu of %d jobs have commit, submit, start, end, complete in order",
	       good, JOBS);
	tap_ok(session_gaps(records) == 0 && session_number("stats", "lost") == 0, "no loss");
	tap_ok(session_number("stats", "written") == records->count, "`stats` counts the same");
	tap_ok(session_number("events_by_type", "SUBMIT") == session_count(records, GRTRACE_SUBMIT),
	       "`events_by_type` counts the same");
	tap_ok(session_number("result_hist", "ok") == JOBS, "`result_hist` has them");
	test_rings(records);
}

/* Kernels differ in which errno the scheduler gives. */
static bool timed_out(uint32_t number)
{
	return number == ETIME || number == ECANCELED;
}

static void test_hang(int fd)
{
	int other = mock_open();
	struct mockgpu_submit hung, after;
	const struct grtrace_record *record;
	const struct records *records;

	session_start();
	mock_submit(fd, &hung, 0, 0, MOCKGPU_HANG, -1);
	mock_submit(other, &after, 0, 100, 0, -1);
	tap_ok(mock_wait(&hung, 20000) && mock_wait(&after, 20000),
	       "a hung job is taken off its ring, the next one runs");
	session_stop();
	records = session_records();
	record = session_find(records, GRTRACE_ERROR, hung.ctx, hung.seqno);
	tap_ok(record && timed_out(record->value), "ERROR tells of it, with its errno");
	record = session_find(records, GRTRACE_COMPLETE, hung.ctx, hung.seqno);
	tap_ok(record && timed_out(record->value), "COMPLETE has its errno");
	record = session_find(records, GRTRACE_COMPLETE, after.ctx, after.seqno);
	tap_ok(record && record->value == 0, "the next one has none");
	tap_ok(session_number("result_hist", "failed") == 1, "`result_hist` counts it");
	record = NULL;
	for (size_t i = 0; i < records->count; i++) {
		if (records->at[i]->type == GRTRACE_ERROR &&
		    records->at[i]->value >> 32 == GRTRACE_ERROR_TIMEOUT)
			record = records->at[i];
	}
	tap_ok(record && record->ring == session_find(records, GRTRACE_SUBMIT, hung.ctx,
						      hung.seqno)->ring,
	       "ERROR tells which ring the scheduler gave up");
	close(other);
}

/* A long job of normal priority is put aside for a short one of high priority. */
static void test_preemption(int fd)
{
	const struct grtrace_record *low_start, *low_end, *high_start, *high_end;
	struct mockgpu_submit low, high;
	const struct records *records;

	session_start();
	mock_submit(fd, &low, 1, 1000000, 0, -1);
	usleep(50000);
	mock_submit(fd, &high, 1, 1000, MOCKGPU_HIGH, -1);
	tap_ok(mock_wait(&high, 20000) && mock_wait(&low, 20000), "both complete");
	session_stop();
	records = session_records();
	low_start = session_find(records, GRTRACE_START, low.ctx, low.seqno);
	low_end = session_find(records, GRTRACE_END, low.ctx, low.seqno);
	high_start = session_find(records, GRTRACE_START, high.ctx, high.seqno);
	high_end = session_find(records, GRTRACE_END, high.ctx, high.seqno);
	tap_ok(low_start && low_end && high_start && high_end &&
		       low_start->gseq < high_start->gseq && high_end->gseq < low_end->gseq,
	       "the high one begins later and ends earlier");
	tap_ok(session_find(records, GRTRACE_CTX_SWITCH, high.ctx, high.seqno) != NULL,
	       "CTX_SWITCH tells of the change");
}

static void test_dependency(int fd)
{
	const struct grtrace_record *record = NULL;
	const struct grtrace_dependency *body;
	struct mockgpu_submit first, second;
	const struct records *records;

	session_start();
	mock_submit(fd, &first, 0, 20000, 0, -1);
	mock_submit(fd, &second, 3, 100, 0, first.out_fence);
	tap_ok(mock_wait(&second, 20000) && mock_wait(&first, 20000), "both complete");
	session_stop();
	records = session_records();
	for (size_t i = 0; i < records->count; i++) {
		if (records->at[i]->type == GRTRACE_FENCE &&
		    records->at[i]->value == GRTRACE_FENCE_DEPENDENCY)
			record = records->at[i];
	}
	body = (const void *)(record + 1);
	tap_ok(record && record->size == sizeof(*record) + sizeof(*body) &&
		       record->ctx == second.ctx && record->seqno == second.seqno,
	       "FENCE tells that a job waits");
	/* The scheduler may wait for the first job's "scheduled" fence where both share it. */
	tap_ok(record && body->ctx == first.ctx && body->seqno == first.seqno, "and for which");
}

int main(void)
{
	int fd = mock_open();

	if (!tap_ok(fd >= 0, "the mock driver is there"))
		return tap_finish();
	session_defaults();
	test_order(fd);
	test_hang(fd);
	test_preemption(fd);
	test_dependency(fd);
	close(fd);
	return tap_finish();
}
