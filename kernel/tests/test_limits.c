// SPDX-License-Identifier: GPL-2.0
/* Whatever is left out is counted, by its reason; what is lost shows as gaps in cseq. */
#include "mock_client.h"
#include "grtrace_session.h"
#include "tap.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t counted(const char *name)
{
	return session_number("stats", name);
}

static void emit(const char *what)
{
	if (session_write("emit", what))
		tap_note("emit %s is refused", what);
}

static size_t injected(const struct records *records)
{
	size_t count = 0;

	for (size_t i = 0; i < records->count; i++)
		count += !!(records->at[i]->flags & GRTRACE_FLAG_INJECTED);
	return count;
}

/* A session with `config`, in which `what` is injected. */
static const struct records *session(const char *config, const char *what)
{
	if (session_renew(config))
		tap_note("no session with %s", config);
	emit(what);
	session_rest();
	return session_records();
}

static void test_full(void)
{
	const struct records *r = session("subbuf_size 4096\nsubbuf_count 4", "type=12 count=1000");
	size_t kept = injected(r);

	tap_ok(kept > 0 && kept < 1000 && counted("short_write") >= 1000 - kept,
	       "a full buffer keeps the oldest: %zu of 1000", kept);
	tap_ok(session_gaps(r) == counted("lost") && counted("lost") == counted("short_write"),
	       "gaps in cseq are %llu, as many as were lost",
	       (unsigned long long)session_gaps(r));
}

static void test_overwrite(void)
{
	const struct records *r = session("overwrite 1\nsubbuf_size 4096\nsubbuf_count 4",
					  "type=12 count=1000 seqno=1");
	const struct grtrace_record *last = NULL;
	bool in_order = true;

	for (size_t i = 0; i < r->count; i++) {
		const struct grtrace_record *record = r->at[i];

		if (!(record->flags & GRTRACE_FLAG_INJECTED))
			continue;
		in_order &= !last || record->seqno == last->seqno + 1;
		last = record;
	}
	tap_ok(last && last->seqno == 1000 && in_order && counted("lost") == 0,
	       "overwriting keeps the newest");
}

static void test_filters(void)
{
	const struct records *r;

	r = session("filter_type_mask 0x40", "type=12 count=10");
	tap_ok(injected(r) == 0 && counted("filtered") >= 10, "a type can be filtered");
	tap_ok(session_gaps(r) == 0 && counted("lost") == 0, "which is no loss");
	r = session("filter_engine_mask 2", "type=12 engine=3 count=10");
	tap_ok(injected(r) == 0 && counted("filtered") >= 10, "an engine");
	r = session("filter_ring_id 7", "type=12 ring=7 count=10");
	tap_ok(injected(r) == 10, "a ring passes");
	r = session("filter_ring_id 7", "type=12 ring=8 count=10");
	tap_ok(injected(r) == 0, "others do not");
	r = session("pid_allow=41,42", "type=12 pid=42 count=10");
	tap_ok(injected(r) == 10, "a process on the list passes");
	r = session("pid_allow=41,42", "type=12 pid=43 count=10");
	tap_ok(injected(r) == 0, "others do not");
	r = session("ctx_deny=5", "type=12 ctx=5 count=10");
	tap_ok(injected(r) == 0, "a ctx can be denied");
	r = session("ring_deny=5", "type=12 ring=6 count=10");
	tap_ok(injected(r) == 10, "others pass");
	r = session("level 0", "type=12 count=10");
	tap_ok(injected(r) == 0 && counted("disabled") >= 10, "level 0 records nothing");
}

static void test_stopped(void)
{
	session_defaults();
	session_write("config", "reset_stats 1");
	emit("type=12 count=10");
	tap_ok(counted("disabled") == 10, "nor does a stopped module");
}

/* The fuller the buffer, the fewer are kept; then none is lost. */
static void test_adaptive(void)
{
	const struct records *r = session("adaptive_sampling 1\nsubbuf_size 4096\nsubbuf_count 8",
					  "type=12 ctx=3 seqno=1 count=1000");
	uint64_t kept = injected(r), dense = 0, sparse = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (!(r->at[i]->flags & GRTRACE_FLAG_INJECTED))
			continue;
		dense += r->at[i]->seqno <= 100;
		sparse += r->at[i]->seqno > 900;
	}
	tap_ok(dense == 100 && sparse > 0 && sparse <= 13,
	       "adaptive sampling: of the first 100 %llu, of the last 100 %llu",
	       (unsigned long long)dense, (unsigned long long)sparse);
	tap_ok(kept + counted("sampled") == 1000 && session_gaps(r) == 0 && counted("lost") == 0,
	       "%llu left out of 1000, which is no loss", (unsigned long long)counted("sampled"));
}

static void test_sampling(void)
{
	const struct records *r = session("sample 10", "type=12 ctx=3 seqno=1 count=1000");

	tap_ok(injected(r) == 100 && counted("sampled") >= 900, "one job in ten: %zu of 1000",
	       injected(r));
	tap_ok(session_gaps(r) == 0, "which is no loss");
}

static void test_rate(const char *mode, size_t most)
{
	char config[96];
	const struct records *r;

	snprintf(config, sizeof(config), "rate_limiter_mode %s\nmax_events_per_sec 100", mode);
	r = session(config, "type=12 count=5000");
	tap_ok(injected(r) >= 1 && injected(r) <= most, "%s: %zu of 5000 with 100 a second", mode,
	       injected(r));
	tap_ok(session_gaps(r) == counted("lost") && counted("rate_limited") == counted("lost") &&
		       injected(r) + counted("rate_limited") >= 5000,
	       "gaps in cseq are as many as were lost");
}

static void test_backpressure(void)
{
	const struct records *r = session("backpressure_threshold 50\nsubbuf_size 4096\n"
					  "subbuf_count 8", "type=12 count=1000");

	tap_ok(counted("backpressure") > 0 && counted("short_write") == 0 &&
		       session_gaps(r) == counted("lost"),
	       "back-pressure leaves room: %llu left out",
	       (unsigned long long)counted("backpressure"));
}

static void test_oversize(void)
{
	const struct records *r = session("sample 1", "type=12 body=4096 count=3");

	tap_ok(counted("oversize") == 3 && session_gaps(r) == 3, "oversize records are a loss");
	r = session("sample 1", "type=12 body=1024 count=30");
	tap_ok(injected(r) == 30 && r->broken == 0, "large ones are not");
}

static void test_rules(int fd)
{
	const struct grtrace_record *end;
	struct mockgpu_submit job;

	session_defaults();
	tap_ok(session_write("rules", "t_exec 5000000\nt_queue > 1000000000000\n") == 0,
	       "rules are taken");
	session_start();
	mock_submit(fd, &job, 0, 20000, 0, -1);
	mock_wait(&job, 10000);
	session_stop();
	end = session_find(session_records(), GRTRACE_END, job.ctx, job.seqno);
	tap_ok(end && end->flags & GRTRACE_FLAG_SLOW, "a slow job is marked");
	tap_ok(session_number("rules", "t_exec 5000000 hits") == 1, "and counted");
	tap_ok(strstr(session_read("latency_hist"), "exec_ns 16777216 33554432 1") ||
		       session_number("latency_hist", "exec_ns sum") >= 20000000,
	       "`latency_hist` has its time");
	session_defaults();
}

int main(void)
{
	cpu_set_t one;
	int fd = mock_open();

	CPU_ZERO(&one); /* buffers and counters of one CPU */
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	test_full();
	if (session_of_module())
		test_overwrite();
	test_filters();
	test_sampling();
	test_rate("window", 300); /* two windows at most, and a slow machine's third */
	test_rate("token_bucket", 300);
	test_backpressure();
	test_adaptive();
	test_stopped();
	if (session_of_module())
		test_oversize();
	if (tap_ok(fd >= 0, "the mock driver is there") && session_of_module())
		test_rules(fd);
	return tap_finish();
}
